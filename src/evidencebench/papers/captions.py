"""How captions of tables and figures begin, in formats that do not mark them."""

import re

_CAPTION = re.compile(
    r"(?P<what>(?i:table|fig(?:ure|\.)?|box|scheme|chart|plate|panel|"
    r"(?:additional|supplementary) (?:file|table|figure)))\s*(?>(?:S?\d+|[IVX]+)(?:[A-Za-z]\b)?)\s*"
    r"(?:[.:|\u2014\u2013-]\s*(?![a-z])|$|(?=(?!Is |In )[A-Z(\u201c\[]))"
)
_PICTURES = ("fig", "scheme", "chart", "plate")


def captioned(text: str) -> str | None:
    """Return what a paragraph is the caption of, ``figure`` or ``table``; None where it is no caption."""
    match = _CAPTION.match(text)
    return None if match is None else "figure" if match["what"].lower().startswith(_PICTURES) else "table"
