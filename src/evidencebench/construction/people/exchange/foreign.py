"""What the readers of other tools' exports share: what was read, and whether it is of these tasks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evidencebench.construction.people.annotations import TaskAnnotation, check_annotation
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.errors import PeopleError, RunFormatError, RunMismatchError
from evidencebench.runs.people.person_names import checked_name

SOURCE = "source"
"""The label of a sentence that holds the aspect."""

YES, NO = "yes", "no"


@dataclass(kw_only=True)
class ForeignAnnotations:
    """What a file holds: annotator -> task id -> annotation; ``problems`` are what a reader must know, counted."""

    path: Path
    tasks: TasksFile
    by_annotator: dict[str, dict[str, TaskAnnotation]] = field(default_factory=dict)
    problems: dict[str, int] = field(default_factory=dict)

    def add(self, annotator: str, annotation: TaskAnnotation, where: str) -> None:
        """Keep an annotation; a later one of the same annotator and task replaces it. ``where`` is for messages."""
        try:
            check_annotation(self.tasks, annotation)
            name = checked_name(annotator)
        except PeopleError as error:
            raise RunFormatError(f"{self.path}: {where}: {error}") from error
        self.by_annotator.setdefault(name, {})[annotation.task] = annotation

    def count(self, problem: str, n: int = 1) -> None:
        """Count something that was left out, or not understood."""
        self.problems[problem] = self.problems.get(problem, 0) + n

    def require_same_tasks(self, sha256: object, where: str) -> None:
        """Raise `RunMismatchError` unless an item was exported from these tasks."""
        if sha256 != tasks_mark(self.tasks):
            raise RunMismatchError(
                f"{self.path}: {where}: is of other tasks than {self.tasks.path}: expected the mark "
                f"'{tasks_mark(self.tasks)}', got {sha256!r}; give the tasks that were exported to this tool"
            )

    def rated(self, task: str, given: Mapping[str, bool]) -> TaskAnnotation:
        """Return ratings, done where every criterion has one."""
        is_done = {criterion.name for criterion in self.tasks.header.criteria} <= given.keys()
        return TaskAnnotation(task=task, ratings=dict(given), is_done=is_done)


def tasks_mark(tasks: TasksFile) -> str:
    """Return the beginning of the checksum of a file of tasks, which every exported item holds, as no number."""
    return f"sha256:{tasks.sha256[:16]}"


def shown_texts(task: AnnotationTask) -> Iterator[tuple[str, str]]:
    """Yield the names and texts that people read above a paper, in order; an empty one is left out."""
    for name in ("hypothesis", "aspect", "summary"):
        text: str = getattr(task, name)
        if text:
            yield name, text
