"""What people are asked, blind: nothing in a file of tasks tells how a model judged.

A file of tasks is JSON Lines: a header, then a line a task.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from evidencebench.errors import RunFormatError, UnreadableError
from evidencebench.query import Kind
from evidencebench.storage.json_lines import lines_of
from evidencebench.storage.reading import BROKEN_JSON, PathText, read_whole
from evidencebench.storage.whole_file import write_whole
from evidencebench.wording import counted

TaskSort = Literal["sentences", "hypotheses", "aspects"]
"""What is asked: which sentences hold an aspect, or whether a hypothesis or an aspect meets criteria."""

VERSION = 1
_MOST_BYTES = 1 << 30


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """What is rated yes or no: a name for files and tables, and the question that people read."""

    name: str
    question: str


class SourceData(msgspec.Struct, frozen=True, kw_only=True):
    """The data set that the tasks were drawn from."""

    name: str
    sha256: str


class TasksHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line. ``criteria`` is empty where sentences are to be marked."""

    format: Literal["evidencebench tasks"] = "evidencebench tasks"
    version: int = VERSION
    sort: TaskSort
    seed: int
    data: SourceData
    criteria: tuple[Criterion, ...] = ()


class AnnotationTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that a person is asked.

    Attributes
    ----------
    id
        Its name in the file, such as ``task_07``.
    aspect_id, aspect
        The study aspect, and its text; empty where a hypothesis is rated.
    summary
        What the review says of the paper, where it is known.
    sentences, kinds
        The paper in reading order, a kind a sentence; empty where an aspect is rated.
    """

    id: str
    instance_id: str
    paper_id: str
    hypothesis: str
    aspect_id: str = ""
    aspect: str = ""
    summary: str = ""
    sentences: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TasksFile:
    """The tasks of a file, in its order, and the file's checksum."""

    path: Path
    header: TasksHeader
    tasks: tuple[AnnotationTask, ...]
    sha256: str

    @cached_property
    def by_id(self) -> Mapping[str, AnnotationTask]:
        """Task id -> task."""
        return {task.id: task for task in self.tasks}


def write_tasks(path: PathText, header: TasksHeader, tasks: Iterable[AnnotationTask]) -> None:
    """Write a file of tasks; it appears whole or not at all. Raises `DataError` if it cannot be written."""
    lines = (header, *tasks)
    write_whole(Path(path), (msgspec.json.encode(line) + b"\n" for line in lines))


def read_tasks(path: PathText) -> TasksFile:
    """Return the tasks of a file.

    Raises `UnreadableError` if it cannot be read, and `RunFormatError`, with the line, if it is no file of tasks.
    """
    path = Path(path)
    try:
        content = read_whole(path, at_most=_MOST_BYTES)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    header: TasksHeader | None = None
    tasks: dict[str, AnnotationTask] = {}
    for number, _, line, _ in lines_of(content):
        try:
            if header is None:
                header = _checked_header(path, msgspec.json.decode(line, type=TasksHeader))
                continue
            task = msgspec.json.decode(line, type=AnnotationTask)
        except BROKEN_JSON as error:
            what = "a task" if header else "the header of a file of tasks, which 'evidencebench agreement sample' makes"
            raise RunFormatError(f"{path}: line {number}: expected {what}: {error}") from error
        if task.id in tasks:
            raise RunFormatError(f"{path}: line {number}: task '{task.id}' stands more than once")
        if len(task.kinds) != len(task.sentences):
            raise RunFormatError(
                f"{path}: line {number}: expected a kind for each of {counted(len(task.sentences), 'sentence')}, "
                f"got {len(task.kinds)}"
            )
        tasks[task.id] = task
    if header is None or not tasks:
        raise RunFormatError(f"{path}: expected a header and a task a line, got {'no task' if header else 'nothing'}")
    return TasksFile(path=path, header=header, tasks=tuple(tasks.values()), sha256=hashlib.sha256(content).hexdigest())


def _checked_header(path: Path, header: TasksHeader) -> TasksHeader:
    if header.version != VERSION:
        raise RunFormatError(
            f"{path}: tasks of version {header.version}, but this version reads {VERSION}; "
            "upgrade with 'pip install -U evidencebench'"
        )
    if (header.sort == "sentences") is bool(header.criteria):
        raise RunFormatError(f"{path}: line 1: expected criteria for '{header.sort}' only if things are rated")
    return header
