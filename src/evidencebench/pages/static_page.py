"""A page in one file, for reading: without scripts or requests."""

from html import escape

from evidencebench.pages.markup import Node, as_html, replace_forbidden
from evidencebench.pages.viewer.page_parts import FINDINGS_STYLES, security_policy, style


def static_page(title: str, body: Node) -> str:
    """Return a page with this title and body; its style is inside, and its policy forbids everything else."""
    style_text = style(FINDINGS_STYLES)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{security_policy("", style_text)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(replace_forbidden(title))}</title>\n<style>{style_text}</style>\n</head>\n"
        f"<body>{as_html(body)}</body>\n</html>\n"
    )
