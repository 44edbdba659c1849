"""What people are asked, blind: nothing in a file of tasks tells how a model judged.

A file of tasks is JSON Lines: a header, then a line a task.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from evidencebench.construction.entry_files import (
    EntriesFormat,
    FileDigest,
    read_entries,
    require_places,
    write_entries,
)
from evidencebench.errors import RunFormatError
from evidencebench.query import Kind
from evidencebench.storage.reading import PathText

TaskSort = Literal["sentences", "hypotheses", "aspects"]
"""What is asked: which sentences hold an aspect, or whether a hypothesis or an aspect meets criteria."""

VERSION = 1


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """What is rated yes or no: a name for files and tables, and the question that people read."""

    name: str
    question: str


class TasksHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line. ``criteria`` is empty where sentences are to be marked."""

    format: Literal["evidencebench tasks"] = "evidencebench tasks"
    version: int = VERSION
    sort: TaskSort
    seed: int
    data: FileDigest  # that they were drawn from
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
    write_entries(Path(path), header, tasks)


def read_tasks(path: PathText) -> TasksFile:
    """Return the tasks of a file.

    Raises `UnreadableError` if it cannot be read, and `RunFormatError`, with the line, if it is no file of tasks.
    """
    found = read_entries(Path(path), _FORMAT)
    return TasksFile(path=Path(path), header=found.header, tasks=found.entries, sha256=found.sha256)


def _check_header(path: Path, header: TasksHeader) -> None:
    if (header.sort == "sentences") is bool(header.criteria):
        raise RunFormatError(f"{path}: line 1: expected criteria for '{header.sort}' only if things are rated")


_FORMAT = EntriesFormat(
    header=TasksHeader,
    entry=AnnotationTask,
    version=VERSION,
    one="task",
    many="tasks",
    made_by="evidencebench agreement sample",
    check_entry=lambda where, task: require_places(where, task.sentences, task.kinds),
    check_header=_check_header,
)
