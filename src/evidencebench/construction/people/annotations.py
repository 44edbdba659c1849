"""What people answered: a folder with one journal an annotator, and one of the decisions of adjudication."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from evidencebench.construction.people.answer_journals import ADJUDICATED, AnswerFolder
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.errors import PeopleError, UnreadableError
from evidencebench.runs.people.people_folder import utc_now
from evidencebench.runs.people.person import Clock
from evidencebench.runs.people.person_names import checked_name

_MOST_NOTE = 5_000


class TaskAnnotation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person says of one task."""

    task: str
    sentences: tuple[int, ...] | None = None  # that hold the aspect, ascending; None where criteria are rated
    ratings: dict[str, bool] | None = None  # by criterion, those that are rated so far; None where sentences are marked
    note: str = ""
    is_done: bool = False  # else it is a draft, and no report counts it
    revision: int = 1  # counts the actions of its journal on this task
    at: str = ""  # ISO 8601, UTC
    decided_by: str = ""  # only in the file of decisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """What a folder holds: annotator -> task id -> the annotation that counts, and task id -> the decision."""

    by_annotator: Mapping[str, Mapping[str, TaskAnnotation]]
    adjudicated: Mapping[str, TaskAnnotation] = field(default_factory=dict)


class AnnotationFolder(AnswerFolder[TaskAnnotation]):
    """The annotations of a file of tasks, and the decisions of adjudication."""

    tasks: TasksFile

    def __init__(self, folder: Path, tasks: TasksFile, *, clock: Clock = utc_now) -> None:
        super().__init__(
            folder,
            tasks,
            TaskAnnotation,
            lambda annotation: check_annotation(tasks, annotation),
            made_by="evidencebench agreement annotate",
            clock=clock,
        )

    def decide(self, decided_by: str, annotation: TaskAnnotation) -> TaskAnnotation:
        """Append the decision of a task on which annotators differ; raises as `append`."""
        decided = msgspec.structs.replace(annotation, decided_by=checked_name(decided_by))
        return self._append(self.folder / ADJUDICATED, "", decided)

    def decisions(self) -> Mapping[str, TaskAnnotation]:
        """Return task id -> the decision that counts."""
        return self._read(self.folder / ADJUDICATED)[1]

    def read(self) -> Annotations:
        """Return all annotations; raises as `read_annotations`, but an empty or missing folder has none."""
        return Annotations(by_annotator=self.read_all(), adjudicated=self.decisions())


def read_annotations(folder: Path, tasks: TasksFile) -> Annotations:
    """Return what a folder holds; raises `UnreadableError`, `RunFormatError`, or `RunMismatchError`: of other tasks."""
    annotations = AnnotationFolder(folder, tasks).read()
    if not annotations.by_annotator:
        raise UnreadableError(
            f"{folder}: expected a folder with annotations, which 'evidencebench agreement annotate' writes, got none"
        )
    return annotations


def check_annotation(tasks: TasksFile, annotation: TaskAnnotation) -> None:
    """Raise `PeopleError` where an annotation is of no task, of another sort, or names what is not there."""
    task = tasks.by_id.get(annotation.task)
    if task is None:
        raise PeopleError(f"no task '{annotation.task}'; the ids look like '{tasks.records[0].id}'")
    if len(annotation.note) > _MOST_NOTE:
        raise PeopleError(f"the note has {len(annotation.note)} characters; at most {_MOST_NOTE}, please")
    if tasks.header.sort == "sentences":
        if annotation.sentences is None or annotation.ratings is not None:
            raise PeopleError(f"task '{task.id}': expected marked sentences, and no ratings")
        _check_sentences(task, annotation.sentences)
        return
    if annotation.ratings is None or annotation.sentences is not None:
        raise PeopleError(f"task '{task.id}': expected ratings, and no marked sentences")
    names = {criterion.name for criterion in tasks.header.criteria}
    for name in annotation.ratings.keys() - names:
        raise PeopleError(f"task '{task.id}': no criterion '{name}'; expected one of {', '.join(sorted(names))}")
    if annotation.is_done and len(annotation.ratings) < len(names):
        missing = ", ".join(sorted(names - annotation.ratings.keys()))
        raise PeopleError(f"task '{task.id}': is done, but not rated: {missing}")


def _check_sentences(task: AnnotationTask, sentences: tuple[int, ...]) -> None:
    for index in sentences:
        if not 0 <= index < len(task.sentences):
            raise PeopleError(f"task '{task.id}': sentence {index}: the paper has 0..{len(task.sentences) - 1}")
    if list(sentences) != sorted(set(sentences)):
        raise PeopleError(f"task '{task.id}': expected the sentences ascending, each once, got {sentences}")
