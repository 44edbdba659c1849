"""HTML and SVG as trees, JSON inside HTML, and assets. Text from files is escaped, so it never becomes markup."""

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from xml.etree import ElementTree as ET

import msgspec

Node = ET.Element
Child = Node | str | None

# Characters that XML forbids; browsers replace them in HTML too.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def node(tag: str, attributes: Mapping[str, object] | None = None, *children: Child) -> Node:
    """Return an element with attributes and children; a child is an element, a text, or None (left out).

    >>> as_html(node("p", {"class": "note"}, "1 < 2 ", node("b", None, "& so on")))
    '<p class="note">1 &lt; 2 <b>&amp; so on</b></p>'
    """
    made = ET.Element(tag, {name: replace_forbidden(str(value)) for name, value in (attributes or {}).items()})
    for child in children:
        if isinstance(child, ET.Element):
            made.append(child)
        elif child and len(made):
            made[-1].tail = (made[-1].tail or "") + replace_forbidden(child)
        elif child:
            made.text = (made.text or "") + replace_forbidden(child)
    return made


def replace_forbidden(text: str) -> str:
    """Return text with the characters that XML forbids (control characters, lone surrogates) replaced by U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", text)


def beginning_of(text: str, most: int = 300) -> str:
    """Return the first ``most`` characters of a text; where it is longer, the last of them is "…".

    >>> beginning_of("bm25"), beginning_of("x" * 1_000_000, most=4)
    ('bm25', 'xxx…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def as_html(root: Node) -> str:
    """Return a tree as HTML."""
    return ET.tostring(root, encoding="unicode", method="html")


def as_xml(root: Node) -> str:
    """Return a tree as XML, as an SVG file needs it."""
    return ET.tostring(root, encoding="unicode", method="xml")


def read_asset(name: str) -> str:
    """Return the text of a script or style sheet in ``viewer/assets/``."""
    return (files("evidencebench.pages.viewer") / "assets" / name).read_text(encoding="utf-8")


def encode_json(record: object) -> bytes:
    r"""Return a record as JSON that is safe inside an HTML page: it holds no ``<``, ``>`` or ``&``.

    >>> encode_json(["</script>"])
    b'["\\u003c/script\\u003e"]'
    """
    try:
        text = msgspec.json.encode(record)
    except UnicodeEncodeError:  # a file name may hold bytes that are not UTF-8; the page shows them as U+FFFD
        text = json.dumps(msgspec.to_builtins(record)).encode()
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
