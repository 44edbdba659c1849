"""The records that pages give to their scripts: papers, tasks, systems, graded answers."""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from evidencebench.papers.paper import Paper
from evidencebench.query import AspectScope, Kind, Query

_LETTERS = {Kind.HEADING: "h", Kind.ABSTRACT: "a", Kind.BODY: "b"}


class PaperRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A paper without its labels. ``kinds`` has a letter for each sentence: h(eading), a(bstract) or b(ody)."""

    position: int
    id: str
    paper_id: str
    hypothesis: str
    sentences: tuple[str, ...]
    kinds: str


def paper_of(position: int, query: Query) -> PaperRecord:
    """Return the paper of a query; ``position`` is the query's 0-based place in the data."""
    return PaperRecord(
        position=position,
        id=query.instance_id,
        paper_id=query.paper_id,
        hypothesis=query.hypothesis,
        sentences=query.sentences,
        kinds=kind_letters(query.kinds),
    )


def kind_letters(kinds: Iterable[Kind]) -> str:
    return "".join(_LETTERS[kind] for kind in kinds)


def text_record(paper: Paper) -> dict[str, object]:
    """Return the text of a paper that a page sets: its sentences, with their kinds, paragraphs and depths."""
    return {
        "name": paper.name,
        "title": paper.title,
        "sentences": paper.sentences,
        "kinds": kind_letters(paper.kinds),
        "paragraphs": [place.paragraph for place in paper.places],
        "levels": [len(place.section) for place in paper.places],
    }


# The JSON records of a page: the contract between Python and the scripts in ``assets/``.

Status = Literal["answered", "empty", "failed", "missing", "invalid"]
"""A system's answer has sentences, has none, is an error, is not in the run, or names sentences that do not exist."""


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    scope: AspectScope
    budget: int | float | Literal["optimal", "aspects"] | None  # None: any number of sentences
    title: str = ""  # in words
    best: tuple[int, ...] = ()  # the runs, the best first; empty where the scores come later than the page


class SystemRecord(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    shown: str = ""  # the label where there is little room, not that of another system
    signature: str
    is_control: bool = False  # one that this package adds
    knows_labels: bool = False
    unfinished: str = ""  # how many instances a run answered where some have no answer, such as ``3 of 12``
    asks_model: bool = False  # it is known how to make its requests to a language model again
    # Whether it counts among the systems that find an aspect; those that know the labels do not, nor do runs on changed
    # queries, nor a control that stands also as a run.
    is_counted: bool = True

    @property
    def is_oracle(self) -> bool:
        return self.is_control and self.signature == "oracle"


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The data set, the tasks and the systems of a page; runs come first, then controls. Labels are distinct here."""

    title: str
    data: str
    n_instances: int
    tasks: tuple[TaskRecord, ...]
    systems: tuple[SystemRecord, ...]
    version: str
    has_exchanges: bool = False


class RowGrades(msgspec.Struct, frozen=True, kw_only=True):
    """What the list knows of the answers to one instance."""

    recalls: tuple[tuple[float | None, ...], ...]  # ``[system][task]``; None where the task does not apply
    unanswered: tuple[Mapping[int, Status], ...]  # by task the systems whose answer does not count, and why
    # By task the aspects that no system, one, two ... of the counted systems find (also by chance), of those that count
    # and that a sentence states; zeros at the end are left out.
    found: tuple[tuple[int, ...], ...]


class Hits(msgspec.Struct, frozen=True):
    """The sentences of a paper with a searched word: how many, and the first with most of the words."""

    n: int
    index: int
    text: str


class ListRow(RowGrades, frozen=True, kw_only=True, omit_defaults=True):
    position: int
    id: str
    paper_id: str
    hypothesis: str
    n_sentences: int
    n_aspects: int | None  # None: it has no labels
    n_results: int | None
    hits: Hits | None = None  # of a search in its text


class AspectRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A study aspect. ``text`` is None where the data has none. An aspect without ``sentences`` cannot be covered."""

    id: str
    text: str | None
    is_result: bool
    sentences: tuple[int, ...]


class TaskTerms(msgspec.Struct, frozen=True, kw_only=True):
    budget: int | None  # None: any number
    n_aspects: int  # that count; 0 only where the instance has no labels
    ceiling: float | None  # of recall


class GradedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The part of one answer that counts under one task."""

    status: Status
    error: str | None = None  # the reason why it is ``failed`` or ``invalid``
    certain: tuple[int, ...] = ()  # sentences that count, in the answer's order
    tied: tuple[int, ...] = ()  # ``n_drawn`` of these count too; every choice of so many is equally likely
    n_drawn: int = 0
    recall: float | None = 0.0  # the mean of aspect recall over all these choices; None where there are no labels
    picks: str = ""  # the sort of each sentence, certain ones first: the letters of `pick_letters`


class GradedInstance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An instance with its labels and every system's answer: ``terms[task]`` and ``answers[system][task]``.

    Both are None where the task does not apply. An answer is None also where the system cannot answer the task.
    ``spent[system][task]`` has the requests, tokens and dollars of an answer in words, of systems that ask a model.
    """

    paper: PaperRecord
    review_id: str | None
    aspects: tuple[AspectRecord, ...]
    terms: tuple[TaskTerms | None, ...]
    answers: tuple[tuple[GradedAnswer | None, ...], ...]
    spent: dict[int, tuple[str, ...]] = {}
