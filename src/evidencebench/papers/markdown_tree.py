"""Markdown into the elements of a web page, whose text knows where it stands in the file.

markdown-it-py tells the blocks with their lines, and the pieces of each line's text in order, but not their places:
these are found again here, from the end of one piece to the next.
"""

import re
from bisect import bisect_right
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from evidencebench.papers.html_tree import HEADINGS
from evidencebench.papers.markdown_marks import MARKS, read_mark
from evidencebench.papers.markup_tree import Characters, Element
from evidencebench.papers.section_titles import is_known_title, number_of

_LINE_END = re.compile(r"\r\n|\r|\n")
_LOWEST = "h6"  # the level of a line in bold that is a known title
_WHOLE = {"table_open": "table", "fence": "pre", "code_block": "pre", "html_block": "html-block"}
# Type of a mark -> the element of a web page; others are dropped.
_MARKED = {"display_formula": "display-formula", "formula": "span", "footnote": "footnote", "sup": "sup", "sub": "sub"}
_INLINE_HTML = re.compile(r"<(?P<end>/?)(?P<tag>sup|sub|br)\s*/?>", re.IGNORECASE)
# Tables of Pandoc: a grid, or a line of rules between head and rows, perhaps with a whole rule above and below.
_GRID_TABLE = re.compile(r"\+[-=+:]+\+\n[+|]")
_RULES = re.compile(r" *-{2,}(?: +-{2,})+ *")
_RULE = re.compile(r" *-{3,} *")
_MOST_ROWS = 200
_FOOTNOTE = re.compile(r"\[\^[^\]\n]+\]:")
# What follows the text of a link: an address with at most one pair of brackets in it and a title, or a name.
_LINK_END = re.compile(
    r"""\](?:\(\s*(?:<[^>\n]*>|(?:[^\s()]|\([^\s()]*\))*)(?:\s+(?:"[^"]*"|'[^']*'|\([^)]*\)))?\s*\)|\[[^\]]*\])?"""
)


def parse_markdown(text: str, *, start: int = 0) -> Element:
    """Return a ``body`` of headings and paragraphs; ``start`` is where the Markdown begins in the text."""
    lines = [start, *(line_end.end() for line_end in _LINE_END.finditer(text, start)), len(text)]
    body = Element("body")
    until = 0  # the line up to which all is in the tree
    parser = MarkdownIt("commonmark").enable("table").disable("text_join")
    parser.inline.ruler.before("escape", "marks", read_mark)
    tables = _tables_of_pandoc(text, lines)
    for token, after in pairwise([*parser.parse(text[start:]), Token("", "", 0)]):
        if token.map is None or token.map[0] < until:
            continue
        first, stop = token.map
        stop = tables.get(first, stop)
        if token.type in _WHOLE or first in tables:
            characters = Characters(text[lines[first] : lines[stop]], lines[first], lines[stop])
            is_comment = characters.text.lstrip().startswith("<!--")
            tag = "table" if first in tables else "comment" if is_comment else _WHOLE[token.type]
            body.children.append(Element(tag, children=[characters]))
            until = stop
        elif after.type == "inline":
            block = _MarkdownBlock(text, lines[first : stop + 1], after.content).element(token.tag, after)
            is_below = body.children and isinstance(last := body.children[-1], Element) and last.tag == "table"
            is_table = _GRID_TABLE.match(after.content) or (is_below and after.content.startswith(": "))
            sorts = [child.type for child in after.children or () if child.type != "text" or child.content.strip()]
            is_bold = sorts[:1] == ["strong_open"] and sorts.index("strong_close") == len(sorts) - 1
            is_heading = is_bold and is_known_title(block.text)
            tag = "table" if is_table else _LOWEST if is_heading else block.tag
            body.children.append(Element(tag, block.attributes, block.children))
            until = stop
    return body


def with_levels(body: Element) -> Element:
    """Return a body with the levels of headings as their numbers say, where all but a first one are of one level."""
    headings = [element for element in body.elements if element.tag in HEADINGS][1:]
    if len({heading.tag for heading in headings}) != 1:
        return body
    levels = {
        id(heading): HEADINGS.index(heading.tag) + max(1, len(number_of(heading.text))) - 1 for heading in headings
    }
    children = [
        Element(HEADINGS[min(levels[id(element)], 5)], element.attributes, element.children)
        if id(element) in levels
        else element
        for element in body.elements
    ]
    return Element(body.tag, children=[*children])


def _tables_of_pandoc(text: str, lines: list[int]) -> dict[int, int]:
    """Return the first line of each table whose columns are told by rules -> the line behind it."""
    rows = [text[start:stop].strip("\r\n") for start, stop in pairwise(lines)]
    ends: dict[int, int] = {}
    until = 0
    for number, row in enumerate(rows):
        if number < until or not _RULES.fullmatch(row):
            continue
        first = number
        while first > until and rows[first - 1].strip():
            first -= 1
        is_whole = _RULE.fullmatch(rows[first]) is not None
        last = most = min(number + _MOST_ROWS, len(rows))
        for below in range(number + 1, most):
            if _RULE.fullmatch(rows[below]) if is_whole else not rows[below].strip():
                last = below
                break
        until = ends[first] = min(last + is_whole, len(rows))
    return ends


class _MarkdownBlock:
    """Puts a heading or paragraph together; ``content`` is its lines without what marks the blocks around it."""

    def __init__(self, text: str, lines: list[int], content: str) -> None:
        self._content = content
        self._at = 0  # the place in the content
        # For each line, where it begins in the content and in the text.
        self._begins = [0, *(line_end.end() for line_end in re.finditer("\n", content))]
        self._line_starts = [
            start + max(0, text[start:stop].rfind(line))
            for line, (start, stop) in zip(content.split("\n"), pairwise(lines), strict=False)
        ]
        self._open = [Element("")]

    def element(self, tag: str, inline: Token) -> Element:
        is_footnote = _FOOTNOTE.match(self._content) is not None
        self._open = [Element(tag, {"class": "fn"} if is_footnote else {})]
        for token in inline.children or ():
            self._add(token)
        return self._open[0]

    def _add(self, token: Token) -> None:
        match token.type:
            case "text" | "softbreak":
                self._add_characters(token.content or "\n")
            case "text_special":
                start = self._find(token.markup)
                stop = start + len(token.markup)
                self._open[-1].children.append(Characters(token.content, self._in_text(start), self._in_text(stop)))
                self._at = stop
            case "code_inline":
                self._add_characters(token.content)
                self._at += len(token.markup)
            case "hardbreak":
                self._open[-1].children.append(Element("br"))
                self._at = self._find("\n")
            case "link_open":
                self._begin(Element("a", {"href": str(token.attrs.get("href", ""))}))
            case "link_close":
                self._end("a")
                if token.markup != "autolink":
                    self._pass_link()
            case "image":
                self._begin(Element("figure"))
                self._add_characters(token.content)
                self._end("figure")
                self._pass_link()
            case "html_inline":
                self._add_html(token.content)
            case _:
                self._add_mark(token)

    def _add_html(self, tag: str) -> None:
        self._at = self._find(tag) + len(tag)
        match = _INLINE_HTML.fullmatch(tag)
        name = match["tag"].lower() if match else ""
        if name == "br":
            self._open[-1].children.append(Element("br"))
        elif match and match["end"]:
            self._end(name)
        elif match:
            self._begin(Element(name))

    def _add_mark(self, token: Token) -> None:
        sort = token.type
        if sort not in MARKS:
            return
        start = self._find(token.markup)
        self._at = start + len(token.markup)
        if sort in _MARKED:
            at = self._in_text(start + token.markup.find(token.content))
            attributes = {"class": "tex-math"} if sort == "formula" else {}
            characters = Characters(token.content, at, at + len(token.content))
            self._open[-1].children.append(Element(_MARKED[sort], attributes, [characters]))

    def _begin(self, element: Element) -> None:
        self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, tag: str) -> None:
        if self._open[-1].tag == tag and len(self._open) > 1:
            self._open.pop()

    def _add_characters(self, piece: str) -> None:
        if not piece:
            return
        start = self._find(piece)
        at = self._in_text(start)
        self._open[-1].children.append(Characters(piece, at, at + len(piece)))
        self._at = start + len(piece)

    def _pass_link(self) -> None:
        if end := _LINK_END.match(self._content, self._find("]")):
            self._at = end.end()

    def _find(self, piece: str) -> int:
        return max(self._at, self._content.find(piece, self._at))

    def _in_text(self, position: int) -> int:
        line = min(bisect_right(self._begins, position), len(self._line_starts)) - 1
        return self._line_starts[line] + position - self._begins[line]
