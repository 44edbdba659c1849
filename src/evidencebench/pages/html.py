"""HTML and SVG as trees, JSON inside pages, scripts and styles, and pages in one file."""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import islice
from xml.etree import ElementTree as ET

import msgspec

from evidencebench.engine.local import Threads
from evidencebench.engine.protocol import map_in_order
from evidencebench.pages.paper import GradedInstance, ListRow, Overview

# HTML and SVG as trees, JSON inside HTML, and assets. Text from files is escaped, so it never becomes markup.

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
    return ET.tostring(root, encoding="unicode", method="html")


def as_xml(root: Node) -> str:
    return ET.tostring(root, encoding="unicode", method="xml")


def read_asset(name: str) -> str:
    return (files("evidencebench.pages") / "assets" / name).read_text(encoding="utf-8")


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


# The script and the style of a page: each is one text, joined from the files in ``assets/``.

REPORT_STYLES = ("tokens", "viewer", "paper", "figures", "report", "verdict")
APP_STYLES = ("tokens", "viewer", "paper", "people", "review")
FIND_STYLES = ("tokens", "viewer", "find_page")
FINDINGS_STYLES = ("tokens", "findings")
CONSTRUCTION_STYLES = ("tokens", "viewer", "paper", "people", "construction")

_IMPORT = re.compile(r'^import \{[^}]+\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)


@cache
def script(*modules: str, start: str = "") -> str:
    """Return the modules and all that they import as one text, inside a function, so that it has no global names.

    A module comes after those that it imports; all share one scope. ``start`` is run at the end.
    """
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        texts[name] = ""  # modules may import each other
        text = read_asset(f"{name}.js")
        for imported in _IMPORT.findall(text):
            if imported not in texts:
                add(imported)
        del texts[name]
        texts[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    for name in modules:
        if name not in texts:
            add(name)
    body = "\n".join((*texts.values(), start))
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


@cache
def style(names: Sequence[str]) -> str:
    return "\n".join(read_asset(f"{name}.css") for name in names)


def content_hash(text: str) -> str:
    """Return the expression with which a content-security policy allows one inline script or style: its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_parts(style_text: str, script_text: str = "") -> dict[str, str]:
    """Return style, script and content-security policy of a page in one file: it allows these, and no requests."""
    policy = (
        f"default-src 'none'; script-src {content_hash(script_text)}; style-src {content_hash(style_text)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return {"policy": policy, "style": style_text, "script": script_text}


def report_parts() -> dict[str, str]:
    return page_parts(style(REPORT_STYLES), script("report"))


def construction_parts() -> dict[str, str]:
    return page_parts(style(CONSTRUCTION_STYLES), script("construction"))


def one_file(title: str, body: Iterable[str], parts: Mapping[str, str]) -> str:
    """Return a page in one file; ``parts`` are its `page_parts`."""
    return "".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{parts["policy"]}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{escape(replace_forbidden(title))}</title>\n<style>{parts['style']}</style>\n</head>\n<body>\n",
            *body,
            f"\n<script>{parts['script']}</script>" if parts["script"] else "",
            "\n</body>\n</html>\n",
        )
    )


def static_page(title: str, *body: Node | str, module: str = "") -> str:
    """Return a page without requests, of elements and HTML."""
    parts = page_parts(style(FINDINGS_STYLES), script(module) if module else "")
    return one_file(title, (one if isinstance(one, str) else as_html(one) for one in body), parts)


PAPERS_A_PIECE = 16
"""So many papers are compressed together: more would be little smaller, and slower to open."""


def data_elements(
    overview: Overview, papers: Iterable[tuple[ListRow, GradedInstance]], asked: Iterable[object] = ()
) -> Iterator[str]:
    """Yield the script elements that hold the data of a page in one file; its script finds them by their ids.

    ``asked`` has for each paper, in the order of the rows, what language models were asked.
    """
    rows: list[ListRow] = []

    def lines() -> Iterator[bytes]:
        for row, record in papers:
            rows.append(row)
            yield encode_json(record)

    yield f'<script type="application/json" id="overview">{encode_json(overview).decode()}</script>\n'
    remaining = lines()
    joined = iter(lambda: b"\n".join(islice(remaining, PAPERS_A_PIECE)), b"")
    for number, piece in enumerate(map_in_order(Threads(2), lambda: compressed, (), joined)):
        yield f'<script type="text/plain" class="papers" id="papers-{number}">{piece}</script>\n'
    yield f'<script type="application/json" id="rows">{encode_json(rows).decode()}</script>\n'
    for number, packed in enumerate(map(compressed, map(encode_json, asked))):
        yield f'<script type="text/plain" class="exchanges" id="exchanges-{number}">{packed}</script>\n'


def compressed(piece: bytes) -> str:
    """Return what the script of a page unpacks when it is needed."""
    return base64.b64encode(zlib.compress(piece, 5)).decode()  # level 6 takes half as long again and saves 1 %
