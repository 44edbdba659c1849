"""Titles of sections that papers share, and the outline that headings make."""

import re
from enum import StrEnum

from evidencebench.files.disk import packaged_table
from evidencebench.query import Kind


class SectionSort(StrEnum):
    ABSTRACT = "abstract"
    BODY = "body"
    REFERENCES = "references"
    BACK_MATTER = "other back matter"


_TABLE = packaged_table(__file__)

BACK_MATTER_STEMS = "|".join(_TABLE["stems"][SectionSort.BACK_MATTER])
"""How titles of back matter begin, which often go on, as in "Funding and support"; in small letters."""

# Titles in small letters.
_TITLES = {
    sort: re.compile("|".join((*_TABLE["stems"].get(sort, ()), *titles))) for sort, titles in _TABLE["titles"].items()
}
_PART, _OUTERMOST = (re.compile("|".join(_TABLE["others"][name])) for name in ("part", "outermost"))
_NUMBER = re.compile(r"(?:(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?|[IVX]{1,4}\.)\s+(?=[^\W\d_a-z])")


def plain_title(title: str) -> str:
    """Return a title without its number and its stop, in lower case."""
    return _NUMBER.sub("", title.strip(), count=1).rstrip(".: ").casefold()


def number_of(title: str) -> tuple[int, ...]:
    """Return the number that a title begins with, part by part; an empty one where there is none."""
    match = _NUMBER.match(title)
    return tuple(map(int, match["number"].split("."))) if match and match["number"] else ()


def level_of(title: str) -> int:
    """Return the level of a heading whose level is not marked, from 1: of its number, else 2 but for main sections."""
    is_main = section_of(title) is not None or _OUTERMOST.fullmatch(plain_title(title))
    return len(number_of(title)) or (1 if is_main else 2)


def section_of(title: str) -> SectionSort | None:
    """Return what a title announces; None where its words are the paper's own."""
    plain = plain_title(title)
    return next((SectionSort(sort) for sort, pattern in _TITLES.items() if pattern.fullmatch(plain)), None)


def is_abstract_title(title: str) -> bool:
    return section_of(title) is SectionSort.ABSTRACT


def is_abstract_part(title: str) -> bool:
    return _PART.fullmatch(plain_title(title)) is not None


def is_known_title(title: str) -> bool:
    """Say whether a title is one that the sections of many papers have."""
    is_outermost = _OUTERMOST.fullmatch(plain_title(title)) is not None
    return section_of(title) is not None or is_abstract_part(title) or is_outermost


class Outline:
    """The headings around a place; the abstract goes to the next heading that is not below its title."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self._labels: set[str] = set()  # of the abstract that is open
        self._is_structured = True  # by headings of its own level, as far as is known

    @property
    def path(self) -> tuple[str, ...]:
        """The titles of the sections around what comes next, outermost first."""
        return tuple(title for _, title in self._open)

    @property
    def kind(self) -> Kind:
        return Kind.ABSTRACT if any(is_abstract_title(title) for _, title in self._open) else Kind.BODY

    def enter(self, title: str, *, level: int) -> tuple[str, ...]:
        """Go into the section of a heading, of which level 1 is the outermost; return the path that leads to it."""
        del self._open[self._depth(title, level) :]
        above = self.path
        if is_abstract_title(title):
            self._labels, self._is_structured = set(), True
        elif self._open and is_abstract_title(self._open[-1][1]) and self._open[-1][0] < level:
            self._is_structured = False  # its parts are told by their level
        self._labels.add(plain_title(title))
        self._open.append((level, title))
        return above

    def pass_paragraph(self) -> None:
        """Take note of a paragraph: one right behind the abstract's title means that its parts have no titles."""
        if self._open and is_abstract_title(self._open[-1][1]):
            self._is_structured = False

    # Headings of a structured abstract may be of its level: the first stands behind its title, and none stands twice.
    def _depth(self, title: str, level: int) -> int:
        for depth, (of_open, open_title) in enumerate(self._open):
            if of_open < level or (
                of_open == level
                and is_abstract_title(open_title)
                and self._is_structured
                and is_abstract_part(title)
                and plain_title(title)
                not in {"introduction", *self._labels}  # the first of the body, not of an abstract
            ):
                continue
            return depth
        return len(self._open)
