"""What a system may read: the hypothesis and the paper with its sections, never the answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Literal

from evidencebench.tables import Cell, excerpt_html, printable
from evidencebench.wording import counted, one_line

_N_SHOWN = 8

Goal = Literal["answer", "study"]
"""Which sentences are wanted: those that answer the hypothesis, or all that a reviewer would note of the study."""

AspectScope = Literal["all", "results"]
"""Which aspects count: all of them, or those labelled Results. A system is told the scope, never the aspects."""


class Kind(StrEnum):
    """The kind of a sentence in its paper. The values are the spellings of the original data set.

    Examples
    --------
    >>> Kind("normal paragraph") is Kind.BODY  # as EvidenceBench-100k spells it
    True
    """

    HEADING = "section_name"
    ABSTRACT = "abstract"
    BODY = "normal_paragraph"


# The spellings with spaces become further values of the same members: they are decoded as fast, unlike by `_missing_`.
# Python 3.13 has `_add_value_alias_` for this, which writes to the same table.
for _kind in Kind:
    Kind._value2member_map_[_kind.value.replace("_", " ")] = _kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One hypothesis asked of one paper.

    Attributes
    ----------
    instance_id
        Name of the instance in its data set.
    paper_id
        Name of the paper, such as ``pmc_1280405``; two queries can share a paper.
    hypothesis
        One sentence.
    sentences
        The paper in reading order, headings included. A sentence is named by its 0-based index.
    kinds
        One `Kind` a sentence, in the same order.
    goal
        Which sentences the data set's makers marked: those that answer the hypothesis (``"answer"``), or all that a
        reviewer would note of the study (``"study"``); None where the data set does not say, as in the published files,
        which are of the second sort.
    n_beside
        How many of the last sentences stand beside the running text, such as rows of tables and captions.

    Examples
    --------
    >>> query = Query(
    ...     instance_id="q1",
    ...     paper_id="p1",
    ...     hypothesis="Tea lowers blood pressure.",
    ...     sentences=("Results", "Tea lowered systolic pressure by 3 mmHg."),
    ...     kinds=(Kind.HEADING, Kind.BODY),
    ... )
    >>> query.indices_of(Kind.BODY)
    (1,)
    """

    instance_id: str
    paper_id: str
    hypothesis: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]
    goal: Goal | None = None
    n_beside: int = 0

    def __repr__(self) -> str:
        sentences = counted(len(self.sentences), "sentence")
        return one_line(self, repr(self.instance_id), f"paper {self.paper_id!r}", sentences, repr(self.hypothesis))

    def _repr_html_(self) -> str:
        pairs = list(zip(self.kinds, self.sentences, strict=True))[:_N_SHOWN]
        rows: list[list[Cell]] = [[index, kind.name.lower(), text] for index, (kind, text) in enumerate(pairs)]
        title = f"{self!r}\n{printable(self.hypothesis)}"
        return excerpt_html(title, ["index", "kind", "sentence"], rows, len(self.sentences))

    def indices_of(self, *kinds: Kind) -> tuple[int, ...]:
        """Return the indices of the sentences of these kinds, in paper order."""
        return tuple([index for index, kind in enumerate(self.kinds) if kind in kinds])


@dataclass(frozen=True, slots=True)
class Section:
    """Sentences ``start``..``stop - 1``; `has_heading` says whether the first of them is a heading."""

    start: int
    stop: int
    has_heading: bool

    @property
    def sentences(self) -> range:
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
    if kind is Kind.HEADING:
        return True
    return before is not Kind.HEADING and (before is Kind.ABSTRACT) != (kind is Kind.ABSTRACT)
