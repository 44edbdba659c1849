"""The sections of a paper, read from the kinds of its sentences: the one place that says where a section begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from evidencebench.query import Kind


@dataclass(frozen=True, slots=True)
class Section:
    """Sentences ``start``..``stop - 1``; `has_heading` says whether the first of them is a heading."""

    start: int
    stop: int
    has_heading: bool

    @property
    def sentences(self) -> range:
        """Its sentences without the heading."""
        return range(self.start + self.has_heading, self.stop)


def sections_of(kinds: Sequence[Kind]) -> tuple[Section, ...]:
    """Return the sections of a paper: every sentence is in exactly one, in paper order.

    Each heading opens a section. An abstract is a section of its own, with the heading before it and without the
    sentences behind it. The sentences before the first heading are a section too.

    >>> kinds = [Kind.BODY, Kind.HEADING, Kind.ABSTRACT, Kind.BODY, Kind.HEADING, Kind.BODY]
    >>> [(section.start, section.stop) for section in sections_of(kinds)]
    [(0, 1), (1, 3), (3, 4), (4, 6)]
    """
    starts = [index for index in range(len(kinds)) if index == 0 or _opens_section(kinds[index - 1], kinds[index])]
    return tuple(
        Section(start, stop, has_heading=kinds[start] is Kind.HEADING)
        for start, stop in pairwise([*starts, len(kinds)])
    )


def headings_of(kinds: Sequence[Kind]) -> list[int | None]:
    """Return for each sentence the index of the heading above it; None for a heading itself, and where there is none.

    A heading holds until the next one, but not beyond the end of an abstract.

    >>> headings_of([Kind.HEADING, Kind.BODY, Kind.ABSTRACT, Kind.BODY])
    [None, 0, 0, None]
    """
    headings: list[int | None] = []
    heading: int | None = None
    for section in sections_of(kinds):
        if section.has_heading:
            heading = section.start
            headings.append(None)
        elif section.start and kinds[section.start - 1] is Kind.ABSTRACT:
            heading = None
        headings += [heading] * len(section.sentences)
    return headings


def _opens_section(before: Kind, kind: Kind) -> bool:
    """Say whether a sentence opens a section, given what stands before it."""
    if kind is Kind.HEADING:
        return True
    return before is not Kind.HEADING and (before is Kind.ABSTRACT) != (kind is Kind.ABSTRACT)
