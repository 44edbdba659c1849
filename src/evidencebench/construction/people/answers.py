"""What people answer, annotations and verdicts alike: a folder with a journal for each person."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import msgspec

from evidencebench.construction.people.tasks import QUESTIONS, MissesFile, TasksFile
from evidencebench.errors import PeopleError, RunError, RunFormatError, RunMismatchError, StaleError
from evidencebench.files.disk import read_bytes
from evidencebench.files.records import RecordFormat, Records, open_journal
from evidencebench.runs.people import Clock, checked_name, file_stem, require_no_link, utc_now
from evidencebench.wording import did_you_mean


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What all answers have."""

    task: str
    note: str = ""
    revision: int = 1
    at: str = ""  # ISO 8601, UTC


class TaskAnnotation(Answer, frozen=True, kw_only=True, omit_defaults=True):
    sentences: tuple[int, ...] | None = None  # that hold the aspect, ascending; None where criteria are rated
    ratings: dict[str, bool] | None = None  # by criterion, those that are rated so far; None where sentences are marked
    is_done: bool = False  # else it is a draft, and no report counts it
    decided_by: str = ""  # only in the file of decisions
    is_imported: bool = False  # from a file of another tool, such as a spreadsheet; else it was given in the app


class Verdict(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """Of a miss, whose id is the task."""

    cause: str = ""  # empty where it was taken back


class Cause(msgspec.Struct, frozen=True):
    """Why a miss counts as one."""

    name: str  # in files
    words: str  # for people
    is_fault: bool = False  # of the system
    needs_note: bool = False


CAUSES: Mapping[str, Cause] = {name: Cause(name, **cause) for name, cause in QUESTIONS["causes"].items()}

ADJUDICATED = "adjudicated.jsonl"  # the name of the journal of decisions; no annotator's file is named so
TOGETHER, MODEL = "people together", "model"  # how what people say together and the labels are named among the raters

_MOST_NOTE = 5_000

AnswerT = TypeVar("AnswerT", bound=Answer)


class AnnotationsHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: whose answers to which tasks. ``annotator`` is empty in the file of decisions."""

    format: Literal["evidencebench annotations"] = "evidencebench annotations"
    version: int = 1
    annotator: str
    tasks_sha256: str


FileMark = tuple[int, int, int]
"""Inode, bytes, and the time of the last change: another one where a file has changed."""


def _mark_of(path: Path) -> FileMark:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def is_begun(content: bytes) -> bool:
    """Whether a file has its header; one that a full disk left empty has none, and nobody's answer."""
    return b"\n" in content


class AnswerFolder(Generic[AnswerT]):
    """What people answered, in a folder that threads and servers may share, made with the first answer.

    ``check`` raises `PeopleError` for an answer that does not fit its task.
    """

    def __init__(
        self,
        folder: Path,
        tasks: Records[Any, Any],
        answer: type[AnswerT],
        check: Callable[[AnswerT], object],
        *,
        made_by: str,
        clock: Clock = utc_now,
    ) -> None:
        self.folder, self.tasks, self._clock = folder, tasks, clock
        self._check: Callable[[AnswerT], object] = check
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[FileMark, tuple[str, Mapping[str, AnswerT]]]] = {}  # as the files were last
        self._format: RecordFormat[AnnotationsHeader, AnswerT] = RecordFormat(
            header=AnnotationsHeader,
            record=answer,
            begins=b'{"format":"evidencebench annotations"',
            what="annotations",
            a_record="an annotation",
            made_by=made_by,
            check=lambda answer, _: check(answer),
        )

    def path_of(self, person: str) -> Path:
        if (name := checked_name(person)) in {TOGETHER, MODEL}:
            raise PeopleError(f"'{name}' is what the report calls another rater; choose another name")
        return self.folder / f"{file_stem(name)}.jsonl"

    def answers_of(self, person: str) -> Mapping[str, AnswerT]:
        return self._read(self.path_of(person))[1]

    def append(self, person: str, answer: AnswerT) -> AnswerT:
        """Append an answer, and return it with its time; its revision is one more than the last one's."""
        return self._append(self.path_of(person), checked_name(person), answer)

    def read_all(self) -> dict[str, Mapping[str, AnswerT]]:
        """Return person -> task id -> the answer that counts, decisions left out; empty without such a folder."""
        answers_by_person: dict[str, Mapping[str, AnswerT]] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            person, answers = ("", {}) if path.name == ADJUDICATED else self._read(path)
            if person in answers_by_person:
                raise RunFormatError(f"{path}: a second file of annotator '{person}'; remove one of them")
            if person:
                answers_by_person[person] = answers
        return answers_by_person

    def _append(self, path: Path, person: str, answer: AnswerT) -> AnswerT:
        self._check(answer)
        with self._lock:
            require_no_link(path)
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RunError(f"{self.folder}: no folder can be made here: {error.strerror}") from error
            with open_journal(path, self._format.begins) as journal:
                header = AnnotationsHeader(annotator=person, tasks_sha256=self.tasks.sha256)
                journal.begin(msgspec.json.encode(header))
                answers = self._read(path)[1]
                last = answers.get(answer.task)
                if last is not None and msgspec.structs.replace(last, at=answer.at) == answer:
                    return last  # sent again, since the reply to it was lost
                if answer.revision != (last.revision if last else 0) + 1:
                    raise StaleError(f"task '{answer.task}' was changed elsewhere, as in another tab; look at it again")
                timed = msgspec.structs.replace(answer, at=self._clock().isoformat(timespec="seconds"))
                journal.append(msgspec.json.encode(timed))
                self._known[path] = _mark_of(path), (person, {**answers, timed.task: timed})
        return timed

    def _read(self, path: Path) -> tuple[str, Mapping[str, AnswerT]]:
        """Return a person's name, and task id -> the answer that counts; nothing where there is no whole header."""
        require_no_link(path)
        if not path.exists():
            return "", {}
        mark = _mark_of(path)
        if path in self._known and self._known[path][0] == mark:
            return self._known[path][1]
        if not is_begun(content := read_bytes(path)):
            return "", {}
        header, lines = self._format.scan(path, [content])
        if header.tasks_sha256 != self.tasks.sha256:
            raise RunMismatchError(
                f"{path}: annotates tasks with the checksum {header.tasks_sha256[:12]}, but {self.tasks.path} has "
                f"{self.tasks.sha256[:12]}; give the tasks that it was begun with, or choose another folder"
            )
        found = header.annotator, {line.record.task: line.record for line in lines}
        self._known[path] = mark, found
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    by_annotator: Mapping[str, Mapping[str, TaskAnnotation]]  # annotator -> task id -> the annotation that counts
    adjudicated: Mapping[str, TaskAnnotation] = field(default_factory=dict)  # task id -> the decision


class AnnotationFolder(AnswerFolder[TaskAnnotation]):
    tasks: TasksFile

    def __init__(self, folder: Path, tasks: TasksFile, *, clock: Clock = utc_now) -> None:
        check, made_by = partial(check_annotation, tasks), "evidencebench construct validate"
        super().__init__(folder, tasks, TaskAnnotation, check, made_by=made_by, clock=clock)

    def decide(self, decided_by: str, annotation: TaskAnnotation) -> TaskAnnotation:
        decided = msgspec.structs.replace(annotation, decided_by=checked_name(decided_by))
        return self._append(self.folder / ADJUDICATED, "", decided)

    def decisions(self) -> Mapping[str, TaskAnnotation]:
        return self._read(self.folder / ADJUDICATED)[1]

    def read(self) -> Annotations:
        return Annotations(by_annotator=self.read_all(), adjudicated=self.decisions())


def check_note(note: str) -> None:
    if len(note) > _MOST_NOTE:
        raise PeopleError(f"the note has {len(note)} characters; at most {_MOST_NOTE}, please")


def check_annotation(tasks: TasksFile, annotation: TaskAnnotation) -> None:
    task = tasks.by_id.get(annotation.task)
    if task is None:
        raise PeopleError(f"no task '{annotation.task}'; the ids look like '{tasks.records[0].id}'")
    check_note(annotation.note)
    sentences, ratings, where = annotation.sentences, annotation.ratings, f"task '{task.id}'"
    if tasks.header.sort == "sentences":
        if sentences is None or ratings is not None:
            raise PeopleError(f"{where}: expected marked sentences, and no ratings")
        if outside := [index for index in sentences if not 0 <= index < len(task.sentences)]:
            raise PeopleError(f"{where}: sentence {outside[0]}: the paper has 0..{len(task.sentences) - 1}")
        if list(sentences) != sorted(set(sentences)):
            raise PeopleError(f"{where}: expected the sentences ascending, each once, got {sentences}")
        return
    if ratings is None or sentences is not None:
        raise PeopleError(f"{where}: expected ratings, and no marked sentences")
    names = {criterion.name for criterion in tasks.header.criteria}
    if unknown := ratings.keys() - names:
        raise PeopleError(f"{where}: no criterion '{min(unknown)}'; expected one of {', '.join(sorted(names))}")
    if annotation.is_done and (missing := names - ratings.keys()):
        raise PeopleError(f"{where}: is done, but not rated: {', '.join(sorted(missing))}")


def verdict_folder(folder: Path, misses: MissesFile, *, clock: Clock = utc_now) -> AnswerFolder[Verdict]:
    check, made_by = partial(_check_verdict, misses), "evidencebench audit review"
    return AnswerFolder(folder, misses, Verdict, check, made_by=made_by, clock=clock)


def _check_verdict(misses: MissesFile, verdict: Verdict) -> None:
    if verdict.task not in misses.by_id:
        raise PeopleError(f"no miss '{verdict.task}'; the ids look like '{misses.records[0].id}'")
    check_note(verdict.note)
    if not verdict.cause:
        return
    cause = CAUSES.get(verdict.cause)
    if cause is None:
        hint = did_you_mean(verdict.cause, CAUSES)
        raise PeopleError(f"miss '{verdict.task}': no cause '{verdict.cause}'{hint}; one of {', '.join(CAUSES)}")
    if cause.needs_note and not verdict.note.strip():
        raise PeopleError(f"miss '{verdict.task}': cause '{cause.name}' needs a note that says which")
