"""What people are asked: tasks for annotators, blind, and misses for auditors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.files.disk import PathText, packaged_table
from evidencebench.files.records import RecordFormat, Records
from evidencebench.query import Kind
from evidencebench.wording import counted

QUESTIONS = packaged_table(__file__, "questions.toml")

TaskSort = Literal["sentences", "pairs", "results", "passages", "hypotheses", "aspects"]
"""What is asked: which sentences of a paper hold an aspect, or whether one thing meets criteria."""

LABELLED_SORTS: frozenset[TaskSort] = frozenset({"sentences", "pairs", "results"})
"""Those of which the labels say something, too."""


class FileDigest(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    sha256: str


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """What is rated yes or no: a name for files and tables, and the question that people read."""

    name: str
    question: str


CRITERIA: Mapping[str, tuple[Criterion, ...]] = {
    sort: tuple(Criterion(name=name, question=question) for name, question in questions.items())
    for sort, questions in QUESTIONS["criteria"].items()
}


class TasksHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line. ``criteria`` is empty where sentences are to be marked."""

    format: Literal["evidencebench tasks"] = "evidencebench tasks"
    version: int = 1
    sort: TaskSort
    seed: int
    data: FileDigest  # that they were drawn from
    criteria: tuple[Criterion, ...] = ()
    population: dict[str, int] = {}  # how many there were to draw from, by group


class AnnotationTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str  # in the file, such as ``task_07``
    instance_id: str  # or, where a passage is rated, the draft's
    paper_id: str
    hypothesis: str = ""
    aspect_id: str = ""  # empty where a hypothesis or a passage is rated
    aspect: str = ""  # its text
    summary: str = ""  # what the review says of the paper, where it is known
    number: int | None = None  # of the one sentence that is rated
    text: str = ""  # that sentence, or the passage of a review
    before: str = ""  # what stands before it
    after: str = ""
    cited: str = ""  # how the review marks the paper that the passage is to be about
    sentences: tuple[str, ...] = ()  # the paper in reading order; empty where an aspect is rated
    kinds: tuple[Kind, ...] = ()  # one a sentence


def _check_header(header: TasksHeader, _line: memoryview) -> None:
    if (header.sort == "sentences") is bool(header.criteria):
        raise RunFormatError(f"expected criteria for '{header.sort}' only if things are rated")


def require_places(sentences: Sequence[str], kinds: Sequence[object], indices: Iterable[int] = ()) -> None:
    """Raise `RunFormatError` unless each sentence of a task has a kind, and each index is of a sentence."""
    n = len(sentences)
    if len(kinds) != n:
        raise RunFormatError(f"expected a kind for each of {counted(n, 'sentence')}, got {len(kinds)}")
    if outside := [index for index in indices if not 0 <= index < n]:
        raise RunFormatError(f"names sentence {outside[0]}, but the paper has 0..{n - 1}")


_FORMAT = RecordFormat(
    header=TasksHeader,
    record=AnnotationTask,
    begins=b'{"format":"evidencebench tasks"',
    what="a file of tasks",
    a_record="a task",
    made_by="evidencebench construct validate",
    check_header=_check_header,
    check=lambda task, _: require_places(task.sentences, task.kinds),
    grows=False,
)
TasksFile = Records[TasksHeader, AnnotationTask]


def read_tasks(path: PathText) -> TasksFile:
    return _FORMAT.read(path)


def write_tasks(path: PathText, header: TasksHeader, records: Iterable[AnnotationTask]) -> None:
    _FORMAT.write(path, header, records)


class MissesHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a file of misses, which auditors are shown: what they were drawn from, and how."""

    format: Literal["evidencebench misses"] = "evidencebench misses"
    version: int = 1
    system: str  # the run's signature
    run: FileDigest
    data: FileDigest
    task: str
    rules: dict[str, str] = {}  # those of `Rules` that are not the default
    seed: int
    n_instances: int
    n_misses: int
    score: float  # the mean aspect recall
    loss: float  # what all coverable misses take from it; what is left to 1 are aspects that no sentence covers
    n_drawn: int


class Miss(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An aspect that counts and could be covered, and that a selection does not cover."""

    id: str  # in the file, such as ``miss_07``
    instance_id: str
    paper_id: str
    hypothesis: str
    aspect_id: str
    aspect: str  # its text; empty where the data has none
    sentences: tuple[str, ...]  # the paper in reading order
    kinds: tuple[Kind, ...]  # one a sentence
    sources: tuple[int, ...]  # the sentences that hold the aspect, by the labels
    selected: tuple[int, ...]  # the selected sentences, in the run's order
    is_result: bool = False  # whether the aspect is labelled a result
    limit: str = ""  # where no selection of its size could have done better, the words that say so
    loss: float  # what it takes from the mean score
    stands_for: float  # what it and those that it stands for take: `loss` where it was sure to be drawn


_MISSES_FORMAT = RecordFormat(
    header=MissesHeader,
    record=Miss,
    begins=b'{"format":"evidencebench misses"',
    what="a file of misses",
    a_record="a miss",
    made_by="evidencebench audit sample",
    check=lambda miss, _: require_places(miss.sentences, miss.kinds, (*miss.sources, *miss.selected)),
    grows=False,
)
MissesFile = Records[MissesHeader, Miss]


def read_misses(path: PathText) -> MissesFile:
    return _MISSES_FORMAT.read(path)


def write_misses(path: PathText, header: MissesHeader, records: Iterable[Miss]) -> None:
    _MISSES_FORMAT.write(path, header, records)
