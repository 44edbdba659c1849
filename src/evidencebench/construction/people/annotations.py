"""What people answered: a folder with one journal an annotator, and one of the decisions of adjudication.

Every action is a line, the whole state of one task, and the last line of a task counts. So nothing is lost when a
server or a browser is killed.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.errors import PeopleError, RunError, RunFormatError, RunMismatchError, StaleError, UnreadableError
from evidencebench.runs.people.drafts import require_no_link
from evidencebench.runs.people.people_folder import utc_now
from evidencebench.runs.people.person import Clock
from evidencebench.runs.people.person_names import checked_name, file_stem
from evidencebench.storage.journal import open_journal
from evidencebench.storage.json_lines import is_whole_object, lines_of
from evidencebench.storage.reading import BROKEN_JSON, read_whole

ADJUDICATED = "adjudicated.jsonl"
"""The name of the journal of decisions; no annotator's file is named so."""

_BEGINS = b'{"format":"evidencebench annotations"'
_VERSION = 1
_MOST_NOTE = 5_000


class AnnotationsHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: whose annotations of which tasks. ``annotator`` is empty in the file of decisions."""

    format: Literal["evidencebench annotations"] = "evidencebench annotations"
    version: int = _VERSION
    annotator: str
    tasks_sha256: str


class TaskAnnotation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person says of one task.

    Attributes
    ----------
    sentences
        The sentences that hold the aspect, from 0, ascending; None where criteria are rated.
    ratings
        Criterion -> yes or no, of those that are rated so far; None where sentences are marked.
    is_done
        Whether the person is done with the task; an annotation that is not done is a draft, and no report counts it.
    revision
        Which action of its journal on this task it is, from 1.
    at
        When, ISO 8601, UTC.
    decided_by
        Who decided; only in the file of decisions.
    """

    task: str
    sentences: tuple[int, ...] | None = None
    ratings: dict[str, bool] | None = None
    note: str = ""
    is_done: bool = False
    revision: int = 1
    at: str = ""
    decided_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """What a folder holds: annotator -> task id -> the annotation that counts, and task id -> the decision."""

    by_annotator: Mapping[str, Mapping[str, TaskAnnotation]]
    adjudicated: Mapping[str, TaskAnnotation] = field(default_factory=dict)


class AnnotationFolder:
    """A folder of annotations of one file of tasks, made when the first one is appended. Threads may share it.

    Its files are open only while a line is written, so that several servers may use one folder.
    """

    def __init__(self, folder: Path, tasks: TasksFile, *, clock: Clock = utc_now) -> None:
        self.folder, self.tasks, self._clock = folder, tasks, clock
        self._lock = threading.Lock()

    def append(self, annotator: str, annotation: TaskAnnotation) -> TaskAnnotation:
        """Append what an annotator says of a task, and return it with its time; it is on the disk then.

        Its ``revision`` must be one more than that of the last one. Raises `StaleError` where it is not, as when
        another tab was faster; `PeopleError` for a name or an answer that is not allowed; `RunMismatchError` where the
        file is of other tasks; `RunError` where it cannot be written.
        """
        return self._append(self.path_of(annotator), checked_name(annotator), annotation)

    def decide(self, decided_by: str, annotation: TaskAnnotation) -> TaskAnnotation:
        """Append the decision of a task on which annotators differ; raises as `append`."""
        decided = msgspec.structs.replace(annotation, decided_by=checked_name(decided_by))
        return self._append(self.folder / ADJUDICATED, "", decided)

    def path_of(self, annotator: str) -> Path:
        """Return the path of an annotator's file; raises `PeopleError` for a name that is not allowed."""
        return self.folder / f"{file_stem(checked_name(annotator))}.jsonl"

    def annotations_of(self, annotator: str) -> Mapping[str, TaskAnnotation]:
        """Return task id -> the annotation that counts; empty for a new annotator."""
        path = self.path_of(annotator)
        return _read_journal(path, self.tasks)[1] if path.exists() else {}

    def decisions(self) -> Mapping[str, TaskAnnotation]:
        """Return task id -> the decision that counts."""
        path = self.folder / ADJUDICATED
        return _read_journal(path, self.tasks)[1] if path.exists() else {}

    def read(self) -> Annotations:
        """Return all annotations; raises as `read_annotations`, but an empty or missing folder has none."""
        found = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            if path.name != ADJUDICATED:
                name, annotations = _read_journal(path, self.tasks)
                if name in found:
                    raise RunFormatError(f"{path}: a second file of annotator '{name}'; remove one of them")
                found[name] = annotations
        return Annotations(by_annotator=found, adjudicated=self.decisions())

    def _append(self, path: Path, annotator: str, annotation: TaskAnnotation) -> TaskAnnotation:
        check_annotation(self.tasks, annotation)
        with self._lock:
            require_no_link(path)
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RunError(f"{self.folder}: no folder can be made here: {error.strerror}") from error
            with open_journal(path, _BEGINS) as journal:
                if journal.is_empty:
                    header = AnnotationsHeader(annotator=annotator, tasks_sha256=self.tasks.sha256)
                    journal.append(msgspec.json.encode(header))
                last = _read_journal(path, self.tasks)[1].get(annotation.task)
                if last is not None and msgspec.structs.replace(last, at=annotation.at) == annotation:
                    return last  # sent again, since the reply to it was lost
                if annotation.revision != (last.revision if last else 0) + 1:
                    raise StaleError(
                        f"task '{annotation.task}' was changed elsewhere, as in another tab; look at it again",
                        sentences=(last and last.sentences) or (),
                        revision=last.revision if last else 0,
                    )
                timed = msgspec.structs.replace(annotation, at=self._clock().isoformat(timespec="seconds"))
                journal.append(msgspec.json.encode(timed))
        return timed


def read_annotations(folder: Path, tasks: TasksFile) -> Annotations:
    """Return what a folder holds.

    Raises `UnreadableError` if it has no annotations, `RunFormatError` if a file is damaged, and `RunMismatchError` if
    one is of other tasks.
    """
    found = AnnotationFolder(folder, tasks).read()
    if not found.by_annotator:
        raise UnreadableError(
            f"{folder}: expected a folder with annotations, which 'evidencebench agreement annotate' writes, got none"
        )
    return found


def check_annotation(tasks: TasksFile, annotation: TaskAnnotation) -> None:
    """Raise `PeopleError` where an annotation is of no task, of another sort, or names what is not there."""
    task = tasks.by_id.get(annotation.task)
    if task is None:
        raise PeopleError(f"no task '{annotation.task}'; the ids look like '{tasks.tasks[0].id}'")
    if len(annotation.note) > _MOST_NOTE:
        raise PeopleError(f"the note has {len(annotation.note)} characters; at most {_MOST_NOTE}, please")
    if tasks.header.sort == "sentences":
        if annotation.sentences is None or annotation.ratings is not None:
            raise PeopleError(f"task '{task.id}': expected marked sentences, and no ratings")
        check_sentences(task, annotation.sentences)
        return
    if annotation.ratings is None or annotation.sentences is not None:
        raise PeopleError(f"task '{task.id}': expected ratings, and no marked sentences")
    names = {criterion.name for criterion in tasks.header.criteria}
    for name in annotation.ratings.keys() - names:
        raise PeopleError(f"task '{task.id}': no criterion '{name}'; expected one of {', '.join(sorted(names))}")
    if annotation.is_done and len(annotation.ratings) < len(names):
        missing = ", ".join(sorted(names - annotation.ratings.keys()))
        raise PeopleError(f"task '{task.id}': is done, but not rated: {missing}")


def check_sentences(task: AnnotationTask, sentences: tuple[int, ...]) -> None:
    """Raise `PeopleError` unless these are sentences of a task's paper, ascending."""
    for index in sentences:
        if not 0 <= index < len(task.sentences):
            raise PeopleError(f"task '{task.id}': sentence {index}: the paper has 0..{len(task.sentences) - 1}")
    if list(sentences) != sorted(set(sentences)):
        raise PeopleError(f"task '{task.id}': expected the sentences ascending, each once, got {sentences}")


def _read_journal(path: Path, tasks: TasksFile) -> tuple[str, dict[str, TaskAnnotation]]:
    """Return an annotator's name, and task id -> the last annotation."""
    require_no_link(path)
    try:
        content = read_whole(path)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    header: AnnotationsHeader | None = None
    found: dict[str, TaskAnnotation] = {}
    for number, _, line, is_ended in lines_of(content):
        if not is_ended and not is_whole_object(line):
            break  # torn
        try:
            if header is None:
                header = msgspec.json.decode(line, type=AnnotationsHeader)
                _require_same_tasks(path, header, tasks)
                continue
            annotation = msgspec.json.decode(line, type=TaskAnnotation)
            check_annotation(tasks, annotation)
        except (*BROKEN_JSON, PeopleError) as error:
            what = "an annotation" if header else "the header of annotations"
            raise RunFormatError(f"{path}: line {number}: expected {what}: {error}") from error
        found[annotation.task] = annotation
    return (header.annotator if header else ""), found


def _require_same_tasks(path: Path, header: AnnotationsHeader, tasks: TasksFile) -> None:
    if header.version != _VERSION:
        raise RunFormatError(
            f"{path}: annotations of version {header.version}, but this version reads {_VERSION}; "
            "upgrade with 'pip install -U evidencebench'"
        )
    if header.tasks_sha256 != tasks.sha256:
        raise RunMismatchError(
            f"{path}: annotates tasks with the checksum {header.tasks_sha256[:12]}, but {tasks.path} has "
            f"{tasks.sha256[:12]}; give the tasks that it was begun with, or choose another folder"
        )
