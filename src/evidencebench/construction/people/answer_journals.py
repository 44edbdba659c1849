"""A folder with a journal for each person who answers the tasks of a file.

Every action is a line, the whole answer to one task, and the last line of a task counts. So nothing is lost when a
server or a browser is killed.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

import msgspec

from evidencebench.errors import RunError, RunFormatError, RunMismatchError, StaleError
from evidencebench.runs.people.drafts import require_no_link
from evidencebench.runs.people.people_folder import utc_now
from evidencebench.runs.people.person import Clock
from evidencebench.runs.people.person_names import checked_name, file_stem
from evidencebench.storage.records import RecordFormat, Records, open_journal
from evidencebench.storage.text_file import read_bytes

ADJUDICATED = "adjudicated.jsonl"
"""The name of the journal of decisions; no annotator's file is named so."""


class AnnotationsHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: whose answers to which tasks. ``annotator`` is empty in the file of decisions."""

    format: Literal["evidencebench annotations"] = "evidencebench annotations"
    version: int = 1
    annotator: str
    tasks_sha256: str


class _Answer(Protocol):
    """What a person says of a task, as a struct; ``revision`` counts the person's actions on the task, from 1."""

    @property
    def task(self) -> str: ...

    @property
    def revision(self) -> int: ...

    @property
    def at(self) -> str: ...


AnswerT = TypeVar("AnswerT", bound=_Answer)


class AnswerFolder(Generic[AnswerT]):
    """What people answered, in a folder that is made when the first answer is appended. Threads may share it.

    ``check`` raises `PeopleError` for an answer that does not fit its task. Files are open only while a line is
    written, so that several servers may use one folder.
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
        self.folder, self.tasks, self._check, self._clock = folder, tasks, check, clock
        self._lock = threading.Lock()
        self._format = RecordFormat(
            header=AnnotationsHeader,
            record=answer,
            begins=b'{"format":"evidencebench annotations"',
            what="annotations",
            a_record="an annotation",
            made_by=made_by,
            check=lambda answer, _: check(answer),
        )

    def path_of(self, person: str) -> Path:
        """Return the path of a person's journal; raises `PeopleError` for a name that is not allowed."""
        return self.folder / f"{file_stem(checked_name(person))}.jsonl"

    def answers_of(self, person: str) -> Mapping[str, AnswerT]:
        """Return task id -> the answer that counts; empty for a new person."""
        return self._read(self.path_of(person))[1]

    def append(self, person: str, answer: AnswerT) -> AnswerT:
        """Append what a person says of a task, and return it with its time; it is on the disk then.

        Its ``revision`` must be one more than that of the last one. Raises `StaleError` where it is not, as when
        another tab was faster; `PeopleError` for an answer that is not allowed; `RunMismatchError` where the file is of
        other tasks; `RunError` where it cannot be written.
        """
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
                last = self._read(path)[1].get(answer.task)
                if last is not None and _at(last, answer.at) == answer:
                    return last  # sent again, since the reply to it was lost
                if answer.revision != (last.revision if last else 0) + 1:
                    raise StaleError(
                        f"task '{answer.task}' was changed elsewhere, as in another tab; look at it again",
                        sentences=getattr(last, "sentences", None) or (),
                        revision=last.revision if last else 0,
                    )
                timed = _at(answer, self._clock().isoformat(timespec="seconds"))
                journal.append(msgspec.json.encode(timed))
        return timed

    def _read(self, path: Path) -> tuple[str, Mapping[str, AnswerT]]:
        """Return a person's name, and task id -> the answer that counts; nothing where there is no whole header."""
        require_no_link(path)
        if not path.exists() or b"\n" not in (content := read_bytes(path)):
            return "", {}
        header, lines = self._format.scan(path, [content])
        if header.tasks_sha256 != self.tasks.sha256:
            raise RunMismatchError(
                f"{path}: annotates tasks with the checksum {header.tasks_sha256[:12]}, but {self.tasks.path} has "
                f"{self.tasks.sha256[:12]}; give the tasks that it was begun with, or choose another folder"
            )
        return header.annotator, {line.record.task: line.record for line in lines}


def _at(answer: AnswerT, at: str) -> AnswerT:
    return cast("AnswerT", msgspec.structs.replace(cast("Any", answer), at=at))
