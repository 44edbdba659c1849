"""Markdown."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape, unescape

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from evidencebench.errors import UnreadableError
from evidencebench.papers.html import paper_of_page
from evidencebench.papers.paper import Paper
from evidencebench.papers.plain import LABELLED, Layout, layout_of
from evidencebench.papers.sections import is_known_title, number_of
from evidencebench.papers.tree import HEADINGS, Element, decoded, parse_html

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


# Type of a mark -> what a web page has for it; others are dropped.
_MARKED = {
    "display_formula": "<display-formula>{}</display-formula>",
    "formula": '<span class="tex-math">{}</span>',
    "footnote": "<footnote>{}</footnote>",
    "sup": "<sup>{}</sup>",
    "sub": "<sub>{}</sub>",
}


def _write_mark(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    return _MARKED.get(tokens[index].type, "").format(escape(tokens[index].content))


# What Pandoc and other tools mean by paragraphs, and what a web page has for that.
_MEANT = (
    (re.compile(r'<p><img src="[^"]*" alt="([^"]*)"[^<>]*></p>'), r"<figure><figcaption>\1</figcaption></figure>"),
    (re.compile(r"<p>(?=\[\^[^\]\n]+\]:)"), '<p class="fn">'),
    (re.compile(r"</table>\s{0,9}<p>: ((?:(?!</?p>).){0,1000})</p>", re.DOTALL), r"<caption>\1</caption></table>"),
)
_BOLD_ALONE = re.compile(r"<p><strong>([^<>]*)</strong></p>")


def page_of(text: str) -> str:
    """Return the web page that Markdown makes."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.inline.ruler.before("escape", "marks", read_mark)
    for mark in _MARK.groupindex:
        parser.add_render_rule(mark, _write_mark)
    html: str = parser.render(_with_tables_of_html(text))
    for paragraph, meant in _MEANT:
        html = paragraph.sub(meant, html)
    return _BOLD_ALONE.sub(lambda bold: f"<h6>{bold[1]}</h6>" if is_known_title(unescape(bold[1])) else bold[0], html)


def with_levels(body: Element) -> Element:
    """Return a body with the levels of headings as their numbers say, where all but a first one are of one level."""
    headings = [element for element in body.elements if element.tag in HEADINGS][1:]
    if len({heading.tag for heading in headings}) != 1:
        return body
    level = HEADINGS.index(headings[0].tag)
    tags = {id(one): HEADINGS[min(level + max(1, len(number_of(one.text))) - 1, 5)] for one in headings}
    children = (replace(element, tag=tags.get(id(element), element.tag)) for element in body.elements)
    return Element(body.tag, children=[*children])


# Tables of Pandoc: a grid, or a line of rules between head and rows, perhaps with a whole rule above and below.
_GRID = re.compile(r"\+[-=+:]+\+")
_RULES = re.compile(r" *-{2,}(?: +-{2,})+ *")
_RULE = re.compile(r" *-{3,} *")
_MOST_ROWS = 200


def _with_tables_of_html(text: str) -> str:
    """Return Markdown whose tables of Pandoc are those of a web page."""
    lines = re.split(r"\r\n?|\n", text)
    written: list[str] = []
    until = 0  # the line up to which all is written
    is_code = False
    for number, line in enumerate(lines):
        if number < until:
            continue
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
            until = number + 1
        if is_code:
            written.append(line)
            continue
        if _GRID.fullmatch(line):
            first = number
            until = next((at for at in range(number, len(lines)) if lines[at][:1] not in ("+", "|")), len(lines))
        elif _RULES.fullmatch(line):
            first = next((above + 1 for above in range(number - 1, until - 1, -1) if not lines[above].strip()), until)
            until = _end_of_rules(lines, first, number)
            del written[len(written) - (number - first) :]
        else:
            written.append(line)
            continue
        rows = (row for row in lines[first:until] if any(map(str.isalnum, row)))
        cells = (re.split(r"\||\s{2,}", row.strip(" |")) for row in rows)
        table = ("".join(f"<td>{escape(cell.strip())}</td>" for cell in row) for row in cells)
        written += ["", f"<table>{''.join(f'<tr>{row}</tr>' for row in table)}</table>", ""]
    return "\n".join(written)


def _end_of_rules(lines: Sequence[str], first: int, rules: int) -> int:
    """Return the line behind a table that begins at a line, and has its rules at another one."""
    is_whole = _RULE.fullmatch(lines[first]) is not None
    for number in range(rules + 1, min(rules + _MOST_ROWS, len(lines))):
        if is_whole and _RULE.fullmatch(lines[number]):
            return number + 1
        if not is_whole and not lines[number].strip():
            return number
    return min(rules + _MOST_ROWS, len(lines))


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
    """Return the paper of a file of Markdown, by way of the page that it makes."""
    text = _ANCHORED.sub(r"\g<signs>\g<anchors>", decoded(content, name=name, at_most=MOST_CHARACTERS))
    given = None
    if front := _FRONT_MATTER.match(text):
        given = _TITLE.search(text, 0, front.end())
        text = text[front.end() :]
    head = f"<title>{escape(given['title'])}</title>" if given else ""
    page = parse_html(head + page_of(text), name=name)
    body = with_levels(page.first("body") or page)
    title = page.first("title") or next((element for element in body.elements if element.text), None)
    is_title = title and title.tag in ("title", *HEADINGS) and not is_known_title(title.text)
    return paper_of_page(body, title if is_title else None, name=name, file_format="Markdown")
