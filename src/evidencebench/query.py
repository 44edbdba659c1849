"""What a system may read: the hypothesis and the paper, never the answers."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from evidencebench.tables import Cell, excerpt_html, printable
from evidencebench.wording import counted, one_line

_N_SHOWN = 8

Wish = Literal["answer", "study"]
"""Which sentences are wanted: those that answer the hypothesis, or all that a reviewer would note of the study."""

AspectScope = Literal["all", "results"]
"""Which aspects count: all of them, or those labelled Results. A system is told the scope, never the aspects."""


class Kind(StrEnum):
    """The kind of a sentence in its paper. The values are the spellings of the original data set.

    EvidenceBench-100k's spellings, with spaces, are the same kinds:

    >>> Kind("normal paragraph") is Kind.BODY
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
    wish
        Which sentences the data set's makers marked: those that answer the hypothesis (``"answer"``), or all that a
        reviewer would note of the study (``"study"``); None where the data set does not say, as in the published files,
        which are of the second sort.

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
    wish: Wish | None = None

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
        return tuple(index for index, kind in enumerate(self.kinds) if kind in kinds)
