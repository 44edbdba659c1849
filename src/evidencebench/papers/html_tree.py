"""HTML into a tree whose text knows where it stands in the file; any text at all becomes a tree, in linear time.

The parser of the standard library tells places too, but takes time that is quadratic in a hostile file (Python before
3.13.6); lxml and selectolax do not tell places.
"""

import re
from collections import Counter
from html import unescape

from evidencebench.errors import UnreadableError
from evidencebench.papers.markup_tree import MOST_DEPTH, MOST_NODES, Characters, Element

# A name, and what follows it up to the end of the tag. A quote counts only behind an equals sign, as in browsers.
_TAG = re.compile(r"""<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)(?P<rest>(?:=\s*+(?:"[^"]*+"|'[^']*+')|[^>])*+)>""")
_ATTRIBUTE = re.compile(r"""([^\s/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|(\S++)))?+""")
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?")
_KEPT_ATTRIBUTES = frozenset(
    {"aria-hidden", "charset", "class", "close", "content", "encoding", "hidden", "href", "id", "name", "open"}
    | {"property", "role", "style"}
)

_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
_RAW = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})
_HAVE_REFERENCES = frozenset({"textarea", "title"})  # of these
_FOREIGN = frozenset({"svg", "math"})

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "dir"),
        *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "head", "header", "hgroup", "hr"),
        *("html", "li", "main", "menu", "nav", "ol", "p", "pre", "search", "section", "summary", "table", "tbody"),
        *("td", "tfoot", "th", "thead", "title", "tr", "ul", *HEADINGS),
    }
)
"""Elements that stand for themselves, not within a line of text."""

_CLOSES_P = BLOCKS - {"body", "head", "html", "title", "caption", "td", "th", "tr", "tbody", "thead", "tfoot", "li"}
# Element that begins -> elements that end there, and what they must be looked for in.
_ENDED_BY = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu", "dir"})),
    **dict.fromkeys(("dt", "dd"), (frozenset({"dt", "dd"}), frozenset({"dl"}))),
    **dict.fromkeys(("td", "th"), (frozenset({"td", "th"}), frozenset({"tr", "table"}))),
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    **dict.fromkeys(("thead", "tbody", "tfoot"), (frozenset({"thead", "tbody", "tfoot"}), frozenset({"table"}))),
    "option": (frozenset({"option"}), frozenset({"select"})),
}
_P_LIES_IN = frozenset({"table", "td", "th", "caption", "button", "object"})
_CELLS = frozenset({"td", "th", "caption"})
_TABLE_PARTS = frozenset({"table", "tr", "tbody", "thead", "tfoot"}) | _CELLS


def parse_html(text: str, *, name: str) -> Element:
    """Return an element that holds all of a page, with the end tags that browsers add; comments are left out."""
    builder = _HtmlBuilder(name, is_xhtml=text.lstrip().startswith("<?xml"))
    position = 0
    while (start := text.find("<", position)) >= 0:
        builder.add_text(text, position, start)
        position = builder.add_markup(text, start)
    builder.add_text(text, position, len(text))
    return builder.top


class _HtmlBuilder:
    def __init__(self, name: str, *, is_xhtml: bool) -> None:
        self.top = Element("")
        self._name = name
        self._is_xhtml = is_xhtml
        self._open = [self.top]
        self._n_open: Counter[str] = Counter()
        self._n_nodes = 0

    def add_text(self, text: str, start: int, stop: int) -> None:
        """Add the characters start..stop-1 of the file, character references read."""
        position = start
        for reference in _REFERENCE.finditer(text, start, stop):
            read = unescape(reference[0])
            if read != reference[0]:
                self._add_characters(text[position : reference.start()], position, reference.start())
                self._add_characters(read, reference.start(), reference.end())
                position = reference.end()
        self._add_characters(text[position:stop], position, stop)

    def add_markup(self, text: str, start: int) -> int:
        """Add what the ``<`` at ``start`` begins; returns where that ends."""
        if text.startswith("<!--", start):
            return _behind(text, "-->", start + 2)
        if text.startswith("<![CDATA[", start):
            return _behind(text, "]]>", start)
        if text.startswith(("<!", "<?"), start):
            return _behind(text, ">", start)
        match = _TAG.match(text, start)
        if not match:
            is_tag = text[start + 1 : start + 2].isalpha() or text.startswith("</", start)
            stop = len(text) if is_tag else start + 1  # a tag without an end takes the rest; "p < 0.05" is text
            if not is_tag:
                self.add_text(text, start, stop)
            return stop
        tag = match["name"].lower()
        if match["end"]:
            self._end(tag)
            return match.end()
        self._start(tag, match["rest"])
        return self._add_raw(text, tag, match.end()) if tag in _RAW and self._open[-1].tag == tag else match.end()

    def _add_raw(self, text: str, tag: str, start: int) -> int:
        """Add the text of an element in which there are no tags; returns where it ends."""
        end = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(text, start)
        stop = end.start() if end else len(text)
        if tag in _HAVE_REFERENCES:
            self.add_text(text, start, stop)
        else:
            self._add_characters(text[start:stop], start, stop)
        return stop

    def _start(self, tag: str, rest: str) -> None:
        if tag in _CLOSES_P:
            self._end_open(frozenset({"p"}), _P_LIES_IN)
        if tag in _ENDED_BY:
            self._end_open(*_ENDED_BY[tag])
        attributes = ((match[1].lower(), match[2] or match[3] or match[4] or "") for match in _ATTRIBUTE.finditer(rest))
        element = Element(tag, {key: unescape(value) for key, value in attributes if key in _KEPT_ATTRIBUTES})
        self._add(element)
        # What lies deeper than the deepest holds nothing: its text belongs to the innermost of these.
        ends_itself = rest.endswith("/") and (self._is_xhtml or any(self._n_open[name] for name in _FOREIGN))
        if tag not in _VOID and not ends_itself and len(self._open) <= MOST_DEPTH:
            self._open.append(element)
            self._n_open[tag] += 1

    def _end(self, tag: str) -> None:
        """End the innermost open element of a name; one of a line's text ends no block, and none but a table a cell."""
        if not self._n_open[tag]:
            return
        stops = BLOCKS if tag not in BLOCKS else frozenset() if tag in _TABLE_PARTS else _CELLS
        self._end_open(frozenset({tag}), stops)

    def _end_open(self, tags: frozenset[str], stops: frozenset[str]) -> None:
        """End the innermost open element of these names, unless one of ``stops`` lies within it."""
        if not any(self._n_open[tag] for tag in tags):
            return
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag in tags:
                for element in self._open[depth:]:
                    self._n_open[element.tag] -= 1
                del self._open[depth:]
                return
            if self._open[depth].tag in stops:
                return

    def _add_characters(self, text: str, start: int, stop: int) -> None:
        if text:
            self._add(Characters(text, start, stop))

    def _add(self, node: Element | Characters) -> None:
        self._n_nodes += 1
        if self._n_nodes > MOST_NODES:
            raise UnreadableError(
                f"{self._name}: expected at most {MOST_NODES:,} elements and pieces of text, got more; split the file"
            )
        self._open[-1].children.append(node)


def _behind(text: str, end: str, start: int) -> int:
    """Return the place behind the next ``end``; the end of the file if there is none."""
    at = text.find(end, start)
    return len(text) if at < 0 else at + len(end)
