"""The lines of a plain text, with their pages; what repeats at the edges of pages is told apart."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_FORM_FEED = "\f"
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"(?:p(?:age|\.)?\s*)?0(?:\s*(?:of|/)\s*0)?", re.IGNORECASE)
# Lines at a page's top and bottom that may be running heads, and the fewest pages that one stands on: heads of left and
# of right pages often differ, and titles' pages have none.
_EDGE = 2
_FEWEST_PAGES = 3
_SHARE_OF_PAGES = 0.3


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not empty: its text without white space around it, and where that starts in the file."""

    text: str
    start: int
    page: int | None
    after_blank: bool
    """Whether the line before it is empty, or there is none on its page."""


def lines_of(text: str) -> list[Line]:
    """Return the lines of a text that are not empty; it has pages if it has form feeds."""
    lines: list[Line] = []
    position, page, after_blank = 0, 1, True
    has_pages = _FORM_FEED in text
    for whole in text.splitlines(keepends=True):
        stripped = whole.strip()
        if stripped:
            start = position + len(whole) - len(whole.lstrip())
            lines.append(Line(stripped, start, page if has_pages else None, after_blank))
        n_feeds = whole.count(_FORM_FEED)
        page += n_feeds
        after_blank = not stripped or n_feeds > 0
        position += len(whole)
    return lines


def page_edges(lines: Sequence[Line]) -> set[int]:
    """Return which lines, by their places in the list, are page numbers or repeat at the edges of pages."""
    pages: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        if line.page is not None:
            pages.setdefault(line.page, []).append(number)
    edges = [{*numbers[:_EDGE], *numbers[-_EDGE:]} for numbers in pages.values()]
    shapes = {number: _DIGITS.sub("0", lines[number].text) for edge in edges for number in edge}
    n_pages = Counter(shape for edge in edges for shape in {shapes[number] for number in edge})
    fewest = max(_FEWEST_PAGES, _SHARE_OF_PAGES * len(pages))
    outermost = {number for numbers in pages.values() for number in (numbers[0], numbers[-1])}
    return {
        number
        for number, shape in shapes.items()
        if n_pages[shape] >= fewest or (number in outermost and _PAGE_NUMBER.fullmatch(shape))
    }
