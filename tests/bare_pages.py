"""A page in one file that shows the papers of a data set and nothing else: the viewer without report or app."""

from html import escape

from evidencebench.pages.html import SHARED_SCRIPTS, data_elements, replace_forbidden, script, security_policy, style
from evidencebench.pages.viewer import ViewerData

_START = """(() => {
document.querySelector(".page-head").append(h("p", { class: "page-title" }, document.title), themeButton());
if (readRoute().place !== "papers") history.replaceState(null, "", "#/papers");
window.source = new EmbeddedSource();
showViewer(document.getElementById("viewer"), source);
})();
"""


def bare_page(viewed: ViewerData) -> str:
    """Return the page; its script is the viewer's, with a start of its own."""
    script_text = script((*SHARED_SCRIPTS, "embedded_source")).removesuffix("})();\n") + _START + "})();\n"
    style_text = style(("tokens", "viewer", "paper"))
    papers = ((viewed.row(*one), viewed.record(*one)) for one in enumerate(viewed.dataset))
    return "".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{security_policy(script_text, style_text)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{escape(replace_forbidden(viewed.title))}</title>\n<style>{style_text}</style>\n</head>\n<body>\n",
            '<header class="page-head"></header>\n<main id="viewer"></main>\n',
            *data_elements(viewed.overview(), papers),
            f"<script>{script_text}</script>\n</body>\n</html>\n",
        )
    )
