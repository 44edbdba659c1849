"""Markdown."""

import re
from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from evidencebench.errors import UnreadableError
from evidencebench.papers.html import paper_of_page
from evidencebench.papers.paper import Paper
from evidencebench.papers.plain import LABELLED, Layout, layout_of
from evidencebench.papers.sections import is_known_title, number_of
from evidencebench.papers.tree import HEADINGS, Characters, Element, decoded

_ATTRIBUTE = r"(?:[#.][\w:.-]+|[\w-]+=(?:\"[^\"\n]*\"|[^\s{}\"]+))"

# Marks of Pandoc and of tools that make Markdown of PDFs, which CommonMark lacks: a group, by the type of its token, is
# what is kept of it. No part can run on behind the next mark.
_MARK = re.compile(
    r"\$\$(?P<display_formula>[^$]{1,5000})\$\$"
    r"|\$(?=[^\s$])(?P<formula>[^$\n]{0,500}[^\s$\\])\$(?!\d)"
    r"|\^\[(?P<footnote>[^\[\]\n]{1,1000})\]"
    r"|(?<=[^\s^])\^(?P<sup>[^\s^~\[\]]{1,20})\^"
    r"|(?<=[^\s~])~(?P<sub>[^\s^~\[\]]{1,20})~(?!~)"
    rf"|(?:\{{{_ATTRIBUTE}(?: {_ATTRIBUTE}){{0,20}}\}}|(?:^|(?<=\n)):{{3,}}[^\n]{{0,200}})(?P<dropped>)"
)


def read_mark(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as the parser calls it
    """Read the mark where the parser stands; the markup of its token is all that is written."""
    match = _MARK.match(state.src, state.pos, state.posMax)
    if match and not silent:
        token = state.push(str(match.lastgroup), "", 0)
        token.content, token.markup = match[str(match.lastgroup)], match[0]
    state.pos = match.end() if match else state.pos
    return match is not None


_LINE_END = re.compile(r"\r\n|\r|\n")
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
            block = _MarkdownBlock(text, lines[first : stop + 1], token.tag, after).element
            is_below = body.children and isinstance(last := body.children[-1], Element) and last.tag == "table"
            is_table = _GRID_TABLE.match(after.content) or (is_below and after.content.startswith(": "))
            sorts = [child.type for child in after.children or () if child.type != "text" or child.content.strip()]
            is_bold = sorts[:1] == ["strong_open"] and sorts.index("strong_close") == len(sorts) - 1
            is_heading = is_bold and is_known_title(block.text)
            tag = "table" if is_table else "h6" if is_heading else block.tag
            body.children.append(Element(tag, block.attributes, block.children))
            until = stop
    return body


def with_levels(body: Element) -> Element:
    """Return a body with the levels of headings as their numbers say, where all but a first one are of one level."""
    headings = [element for element in body.elements if element.tag in HEADINGS][1:]
    if len({heading.tag for heading in headings}) != 1:
        return body
    level = HEADINGS.index(headings[0].tag)
    tags = {id(one): HEADINGS[min(level + max(1, len(number_of(one.text))) - 1, 5)] for one in headings}
    children = (replace(element, tag=tags.get(id(element), element.tag)) for element in body.elements)
    return Element(body.tag, children=[*children])


def _tables_of_pandoc(text: str, lines: list[int]) -> dict[int, int]:
    """Return the first line of each table whose columns are told by rules -> the line behind it."""
    rows = [text[start:stop].strip("\r\n") for start, stop in pairwise(lines)]
    ends: dict[int, int] = {}
    until = 0
    for number, row in enumerate(rows):
        if number >= until and _RULES.fullmatch(row):
            first = next((above + 1 for above in range(number - 1, until - 1, -1) if not rows[above].strip()), until)
            is_whole = _RULE.fullmatch(rows[first]) is not None
            below = range(number + 1, min(number + _MOST_ROWS, len(rows)))
            is_last = _RULE.fullmatch if is_whole else lambda row: not row.strip()
            last = next((line for line in below if is_last(rows[line])), max(below.stop, number))
            until = ends[first] = min(last + is_whole, len(rows))
    return ends


class _MarkdownBlock:
    """Puts the ``element`` of a heading or paragraph together, given its token of inline content."""

    def __init__(self, text: str, lines: list[int], tag: str, inline: Token) -> None:
        self._content = inline.content  # the lines without what marks the blocks around them
        self._at = 0  # the offset in the content
        # For each line, where it begins in the content and in the text.
        self._begins = [0, *(line_end.end() for line_end in re.finditer("\n", self._content))]
        self._line_starts = [
            start + max(0, text[start:stop].rfind(line))
            for line, (start, stop) in zip(self._content.split("\n"), pairwise(lines), strict=False)
        ]
        self.element = Element(tag, {"class": "fn"} if _FOOTNOTE.match(self._content) else {})
        self._open = [self.element]
        for token in inline.children or ():
            self._add(token)

    def _add(self, token: Token) -> None:
        match token.type:
            case "text" | "text_special":
                self._add_characters(token.content, token.markup)
            case "softbreak":
                self._add_characters("\n")
            case "code_inline":
                self._add_characters(token.content)
                self._at += len(token.markup)
            case "hardbreak":
                self._begin("br")
                self._at = self._find("\n")
            case "link_open":
                self._begin("a", href=str(token.attrs.get("href", "")))
            case "link_close":
                self._end("a")
                if token.markup != "autolink":
                    self._pass_link()
            case "image":
                self._add_element("figure", token.content)
                self._pass_link()
            case _:
                self._add_mark(token)

    def _add_mark(self, token: Token) -> None:
        if token.type == "html_inline":
            self._at = self._find(token.content) + len(token.content)
            if match := _INLINE_HTML.fullmatch(token.content):
                add = self._end if match["end"] else self._begin
                add(match["tag"].lower())
        elif token.type in _MARK.groupindex:
            start = self._at = self._find(token.markup)
            if tag := _MARKED.get(token.type):
                self._add_element(tag, token.content, **{"class": "tex-math"} if tag == "span" else {})
            self._at = start + len(token.markup)

    def _begin(self, tag: str, **attributes: str) -> None:
        element = Element(tag, attributes)
        self._open[-1].children.append(element)
        if tag != "br":
            self._open.append(element)

    def _end(self, tag: str) -> None:
        if self._open[-1].tag == tag and len(self._open) > 1:
            self._open.pop()

    def _add_element(self, tag: str, content: str = "", **attributes: str) -> None:
        self._begin(tag, **attributes)
        self._add_characters(content)
        self._end(tag)

    def _add_characters(self, piece: str, written: str = "") -> None:
        written = written or piece
        if piece:
            start = self._find(written)
            line = min(bisect_right(self._begins, start), len(self._line_starts)) - 1
            at = self._line_starts[line] + start - self._begins[line]
            self._open[-1].children.append(Characters(piece, at, at + len(written)))
            self._at = start + len(written)

    def _pass_link(self) -> None:
        if end := _LINK_END.match(self._content, self._find("]")):
            self._at = end.end()

    def _find(self, piece: str) -> int:
        return max(self._at, self._content.find(piece, self._at))


MOST_CHARACTERS = 1_000_000
"""The most characters of one file: the time grows with them, up to two minutes where the file is made for it."""

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?P<lines>(?:[^\r\n]*\r?\n){1,200}?)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")
_TITLE = re.compile(r"^title:[ \t]*(?P<quote>[\"']?)(?P<title>[^\r\n]{1,1000}?)(?P=quote)[ \t]*\r?$", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
# Underlined titles, fences, tables, links, images and bold words. A file of one sentence a line may have headings too.
# No part of it can run over the beginning of another link, so that the time is linear.
_MARKS = re.compile(
    r"^[^\s#|>*-][^\n]*\n(?:={3,}|-{3,})[ \t]*$|^(?:```|~~~)|^\|?[ \t]*:?-{3,}:?[ \t]*\||\[[^\[\]\n]+\]\([^\s\[)]+\)"
    r"|\*\*(?=\w)[^*\n]{0,200}\w\*\*(?!\*)",
    re.MULTILINE,
)


# Anchors before a heading, as marker writes them: behind its signs, they keep it a heading.
_ANCHORED = re.compile(
    r"^(?P<anchors>(?:<(?:span|a)\b[^<>\n]{0,200}></(?:span|a)>){1,20})(?P<signs>#{1,6}[ \t]+)", re.MULTILINE
)


def is_markdown(content: bytes) -> bool:
    """Say whether content is Markdown: has its marks, or headings with ``#`` over more than one sentence a line."""
    try:
        text = decoded(content, name="")
    except UnreadableError:
        return False
    if "\0" in text or LABELLED.search(text) or text.lstrip().startswith(("<", "{", "\\")):
        return False
    if _FRONT_MATTER.match(text) or _MARKS.search(text):
        return True
    lines = filter(None, map(str.strip, text.splitlines()))
    return _HEADING.search(text) is not None and layout_of(lines) is not Layout.SENTENCES


def read_markdown(content: bytes, name: str) -> Paper:
    text = _ANCHORED.sub(r"\g<signs>\g<anchors>", decoded(content, name=name, at_most=MOST_CHARACTERS))
    front = _FRONT_MATTER.match(text)
    body = with_levels(parse_markdown(text, start=front.end() if front else 0))
    title = next((element for element in body.elements if element.text and not element.first("figure")), None)
    if front and (given := _TITLE.search(text, 0, front.end())):
        title = Element("h1", children=[Characters(given["title"], *given.span("title"))])
    elif title and (title.tag not in HEADINGS or is_known_title(title.text)):
        title = None
    return paper_of_page(body, title, name=name, file_format="Markdown")
