"""Lines of printed text: how they join, captions."""

import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

_HYPHENS = "-\u2010"
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_BROKEN = re.compile(rf"\b\w+[{_HYPHENS}][^\S\n]*+\n\s*+\w+")
_PART = re.compile(r"[^\W_]+")
_LONGEST_PART = 60
_CONJUNCTIONS = frozenset({"and", "or", "to"})  # "pre- and post-operative": the hyphen and the space stay
_LINKS = frozenset({"a", "and", "at", "by", "for", "in", "of", "on", "the", "to", "up"})  # within a compound
# Words that a compound hardly begins with, but a word that is broken does: "no-table".
_SYLLABLES = re.compile("an|are|as|at|be|do|he|her|his|is|it|no|or|so|the|we")


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in small letters, those that a line's end breaks apart."""
    return frozenset(word.replace("\u2010", "-") for word in _WORD.findall(_BROKEN.sub(" ", text).lower()))


def joint(line: str, after: str, words: AbstractSet[str]) -> tuple[int, str]:
    """Return how many characters of a line's end go, and what stands between it and the line behind it.

    A hyphen stays where the text has the word with it, or both parts as words, in a chain ("off-the-shelf"), behind one
    letter ("p-value"), and before a capital or a digit unless the text has the joined word. ``words``: of `words_of`.
    """
    if line.endswith("\u00ad"):  # a soft hyphen
        return 1, ""
    reversed_left = _PART.match(line[:-1][-_LONGEST_PART:][::-1]) if line.endswith(tuple(_HYPHENS)) else None
    right = _PART.match(after)
    if not (reversed_left and right) or right[0] in _CONJUNCTIONS:
        return 0, " "
    left = reversed_left[0][::-1]
    first, second = left.lower(), right[0].lower()
    is_joined = first + second in words and f"{first}-{second}" not in words
    is_chain = "-" in line.rsplit(maxsplit=1)[-1][:-1] and first in _LINKS and not is_joined  # "off-the-shelf"
    stays = (
        (not (left.isalpha() and right[0][0].islower()) and not (is_joined and right[0].isalpha()))
        or len(first) == 1  # no word is broken behind its first letter
        or is_chain
        or f"{first}-{second}" in words
        or (first + second not in words and first in words and second in words and not _SYLLABLES.fullmatch(first))
    )
    return (0 if stays else 1), ""


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
    has_pages = "\f" in text
    for whole in text.splitlines(keepends=True):
        stripped = whole.strip()
        if stripped:
            start = position + len(whole) - len(whole.lstrip())
            lines.append(Line(stripped, start, page if has_pages else None, after_blank))
        n_feeds = whole.count("\f")
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


# How captions of tables and figures begin, in formats that do not mark them.
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


def split_caption(text: str) -> tuple[str, str]:
    """Return the label that a caption begins with, empty where it has none, and the rest."""
    match = _CAPTION.match(text)
    return (match[0].rstrip(" .:|\u2014\u2013-"), text[match.end() :]) if match else ("", text)
