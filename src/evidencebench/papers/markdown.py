"""Papers in Markdown, as CommonMark and tables define it."""

import re

from evidencebench.errors import UnreadableError
from evidencebench.papers.decoding import decoded
from evidencebench.papers.html import paper_of_page
from evidencebench.papers.html_tree import HEADINGS
from evidencebench.papers.layout import Layout, layout_of
from evidencebench.papers.markdown_tree import parse_markdown, with_levels
from evidencebench.papers.markup_tree import Characters, Element
from evidencebench.papers.paper import Paper
from evidencebench.papers.plain import LABELLED
from evidencebench.papers.section_titles import is_known_title

FORMAT = "Markdown"

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
    """Return the paper in a file of Markdown; raises `UnreadableError` if it has no sentence, or is too long."""
    text = decoded(content, name=name)
    if len(text) > MOST_CHARACTERS:
        raise UnreadableError(
            f"{name}: expected at most {MOST_CHARACTERS:,} characters of Markdown, got {len(text):,}; a paper has "
            "about a hundred thousand: ask about its papers or parts one by one"
        )
    front = _FRONT_MATTER.match(text)
    body = with_levels(parse_markdown(text, start=front.end() if front else 0))
    if front and (given := _TITLE.search(text, 0, front.end())):
        title: Element | None = Element("h1", children=[Characters(given["title"], *given.span("title"))])
    else:
        title = next((element for element in body.elements if element.text and not element.first("figure")), None)
        if title and (title.tag not in HEADINGS or is_known_title(title.text)):
            title = None
    return paper_of_page(body, title, name=name, file_format=FORMAT)
