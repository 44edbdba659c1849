"""Markdown into the elements of a web page, whose text knows where it stands in the file.

markdown-it-py tells the blocks with their lines, and the pieces of each line's text in order, but not their places:
these are found again here, from the end of one piece to the next.
"""

import re
from bisect import bisect_right
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from evidencebench.papers.markup_tree import Characters, Element

_LINE_END = re.compile(r"\r\n|\r|\n")
_WHOLE = {"table_open": "table", "fence": "pre", "code_block": "pre", "html_block": "html-block"}
_INLINE_HTML = re.compile(r"<(?P<end>/?)(?P<tag>sup|sub|br)\s*/?>", re.IGNORECASE)
_FOOTNOTE = re.compile(r"\[\^[^\]\n]+\]:")
# What follows the text of a link: an address with at most one pair of brackets in it and a title, or a name.
_LINK_END = re.compile(
    r"""\](?:\(\s*(?:<[^>\n]*>|(?:[^\s()]|\([^\s()]*\))*)(?:\s+(?:"[^"]*"|'[^']*'|\([^)]*\)))?\s*\)|\[[^\]]*\])?"""
)


def parse_markdown(text: str, *, start: int = 0) -> Element:
    r"""Return a ``body`` of headings and paragraphs; ``start`` is where the Markdown begins in the text.

    >>> body = parse_markdown("# Tea\n\nIt *fell* by 3 mm[Hg](https://x.org).\n")
    >>> [(one.tag, one.text) for one in body.elements]
    [('h1', 'Tea'), ('p', 'It fell by 3 mmHg.')]
    """
    lines = [start, *(found.end() for found in _LINE_END.finditer(text, start)), len(text)]
    body = Element("body")
    until = 0  # the line up to which all is in the tree
    tokens = MarkdownIt("commonmark").enable("table").disable("text_join").parse(text[start:])
    for token, after in pairwise([*tokens, Token("", "", 0)]):
        if token.map is None or token.map[0] < until:
            continue
        first, stop = token.map
        if token.type in _WHOLE:
            characters = Characters(text[lines[first] : lines[stop]], lines[first], lines[stop])
            is_comment = characters.text.lstrip().startswith("<!--")
            body.children.append(Element("comment" if is_comment else _WHOLE[token.type], children=[characters]))
            until = stop
        elif after.type == "inline":
            body.children.append(_MarkdownBlock(text, lines[first : stop + 1], after.content).element(token.tag, after))
            until = stop
    return body


class _MarkdownBlock:
    """Puts a heading or paragraph together; ``content`` is its lines without what marks the blocks around it."""

    def __init__(self, text: str, lines: list[int], content: str) -> None:
        self._content = content
        self._at = 0  # the place in the content
        # For each line, where it begins in the content and in the text.
        self._begins = [0, *(found.end() for found in re.finditer("\n", content))]
        self._places = [
            start + max(0, text[start:stop].rfind(line))
            for line, (start, stop) in zip(content.split("\n"), pairwise(lines), strict=False)
        ]
        self._open = [Element("")]

    def element(self, tag: str, inline: Token) -> Element:
        """Return the element of this tag that holds the text."""
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
                self._open[-1].children.append(Characters(token.content, self._place(start), self._place(stop)))
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
                pass

    def _add_html(self, tag: str) -> None:
        self._at = self._find(tag) + len(tag)
        found = _INLINE_HTML.fullmatch(tag)
        if not found:
            return
        name = found["tag"].lower()
        if name == "br":
            self._open[-1].children.append(Element("br"))
        elif found["end"]:
            self._end(name)
        else:
            self._begin(Element(name))

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
        place = self._place(start)
        self._open[-1].children.append(Characters(piece, place, place + len(piece)))
        self._at = start + len(piece)

    def _pass_link(self) -> None:
        found = _LINK_END.match(self._content, self._find("]"))
        self._at = found.end() if found else self._at

    def _find(self, piece: str) -> int:
        """Return where a piece stands in the content, behind the pieces before it."""
        return max(self._at, self._content.find(piece, self._at))

    def _place(self, position: int) -> int:
        """Return where a character of the content stands in the text."""
        line = min(bisect_right(self._begins, position), len(self._places)) - 1
        return self._places[line] + position - self._begins[line]
