"""What the page is given, as JSON: the contract between Python and the scripts in ``assets/``.

Systems and tasks are named once, in the `Overview`; everywhere else they stand by their position in it. None is null,
and so is a number that has no value.
"""

import json
from typing import Literal

import msgspec

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


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown: the data, the tasks and the systems, runs first, then controls."""

    title: str
    data: str
    n_instances: int
    tasks: tuple[TaskRecord, ...]
    systems: tuple[SystemRecord, ...]
    version: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """An instance in the list."""

    position: int
    id: str
    paper_id: str
    hypothesis: str
    n_sentences: int
    n_aspects: int
    n_results: int
    recalls: Recalls


class PaperRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a system, or a person who picks, may see. ``kinds``: a letter a sentence, h(eading), a(bstract), b(ody)."""

    position: int
    id: str
    paper_id: str
    hypothesis: str
    sentences: tuple[str, ...]
    kinds: str


class AspectRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A study aspect; ``text`` is None where the data has none; without sentences it cannot be covered."""

    id: str
    text: str | None
    is_result: bool
    sentences: tuple[int, ...]


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """A task for one instance: the budget (None: any number), aspects that count, and the highest recall it allows."""

    budget: int | None
    n_aspects: int
    ceiling: float | None


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What counts of one answer under one task.

    Attributes
    ----------
    status, error
        What came of it, and why where it is ``failed`` or ``invalid``.
    certain
        Sentences that count, in the answer's order.
    tied, n_drawn
        Sentences of which so many count, every choice being equally likely; empty but for answers over the budget.
    recall
        Aspect recall, the mean over all choices.
    """

    status: Status
    error: str | None = None
    certain: tuple[int, ...] = ()
    tied: tuple[int, ...] = ()
    n_drawn: int = 0
    recall: float = 0.0


class InstanceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An instance with its labels and every answer: ``terms[task]``, ``answers[system][task]``.

    Both are None where the task does not apply; an answer also where the system cannot answer the task.
    """

    paper: PaperRecord
    review_id: str | None
    aspects: tuple[AspectRecord, ...]
    terms: tuple[Terms | None, ...]
    answers: tuple[tuple[Judged | None, ...], ...]


def recalls_of(record: InstanceRecord) -> Recalls:
    """Return the recalls of an instance as its `Row` has them."""
    return tuple(tuple(None if one is None else one.recall for one in answers) for answers in record.answers)


def encoded(record: object) -> bytes:
    r"""Return a record as JSON that may stand in an HTML page: it holds no ``<``, ``>`` or ``&``.

    Examples
    --------
    >>> encoded(["</script>"])
    b'["\\u003c/script\\u003e"]'
    """
    try:
        text = msgspec.json.encode(record)
    except UnicodeEncodeError:  # a file's name may hold bytes that are no text; the page shows them as U+FFFD
        text = json.dumps(msgspec.to_builtins(record)).encode()
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
