"""The JSON that the page gets: the contract between Python and the scripts in ``assets/``.

Systems and tasks are named once, in the `Overview`; everywhere else they stand by their position in it. None is null,
and so is a number that has no value.
"""

from typing import Literal

import msgspec

from evidencebench.pages.paper import PaperRecord
from evidencebench.query import AspectScope

Status = Literal["answered", "empty", "failed", "missing", "invalid"]
"""What came of a system's answer: sentences, none, an error, no line in the run, sentences that do not exist."""


Recalls = tuple[tuple[float | None, ...], ...]
"""Of one instance: ``[system][task]``, None where the task does not apply."""


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A task: how many sentences count (a number, ``"optimal"`` or None: any), and which aspects."""

    name: str
    scope: AspectScope
    budget: int | Literal["optimal"] | None


class SystemRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A system: its short label, all that decides its answers, and whether it is one of our controls."""

    label: str
    signature: str
    is_control: bool = False
    knows_labels: bool = False

    @property
    def is_oracle(self) -> bool:
        """Whether it is the control that covers as much as can be."""
        return self.is_control and self.label == "oracle"


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown: the data, the tasks and the systems, runs first, then controls."""

    title: str
    data: str
    n_instances: int
    tasks: tuple[TaskRecord, ...]
    systems: tuple[SystemRecord, ...]
    version: str


class ListRow(msgspec.Struct, frozen=True, kw_only=True):
    """An instance in the list."""

    position: int
    id: str
    paper_id: str
    hypothesis: str
    n_sentences: int
    n_aspects: int
    n_results: int
    recalls: Recalls


class AspectRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A study aspect; ``text`` is None where the data has none; without sentences it cannot be covered."""

    id: str
    text: str | None
    is_result: bool
    sentences: tuple[int, ...]


class TaskTerms(msgspec.Struct, frozen=True, kw_only=True):
    """A task for one instance: the budget (None: any number), aspects that count, and the highest recall it allows."""

    budget: int | None
    n_aspects: int
    ceiling: float | None


class GradedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What counts of one answer under one task."""

    status: Status
    error: str | None = None  # why it is ``failed`` or ``invalid``
    certain: tuple[int, ...] = ()  # sentences that count, in the answer's order
    tied: tuple[int, ...] = ()  # of an answer over the budget: ``n_drawn`` of these count, each choice equally likely
    n_drawn: int = 0
    recall: float = 0.0  # aspect recall, the mean over all choices


class GradedInstance(msgspec.Struct, frozen=True, kw_only=True):
    """An instance with its labels and every answer: ``terms[task]``, ``answers[system][task]``.

    Both are None where the task does not apply; an answer also where the system cannot answer the task.
    """

    paper: PaperRecord
    review_id: str | None
    aspects: tuple[AspectRecord, ...]
    terms: tuple[TaskTerms | None, ...]
    answers: tuple[tuple[GradedAnswer | None, ...], ...]


def recalls_of(record: GradedInstance) -> Recalls:
    """Return the recalls of an instance as its `ListRow` has them."""
    return tuple(tuple(None if one is None else one.recall for one in answers) for answers in record.answers)
