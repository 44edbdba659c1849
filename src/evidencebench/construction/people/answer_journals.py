"""A folder with a journal for each person who answers the tasks of a file.

Every action is a line, the whole answer to one task, and the last line of a task counts. So nothing is lost when a
server or a browser is killed.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

import msgspec

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


class AnnotationsHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: whose answers to which tasks. ``annotator`` is empty in the file of decisions."""

    format: Literal["evidencebench annotations"] = "evidencebench annotations"
    version: int = _VERSION
    annotator: str
    tasks_sha256: str


class AnswerRecord(Protocol):
    """What a person says of a task, as a struct; ``revision`` counts the person's actions on the task, from 1."""

    @property
    def task(self) -> str:
        """The task's id."""

    @property
    def revision(self) -> int:
        """Which action it is."""

    @property
    def at(self) -> str:
        """When, ISO 8601, UTC; set where it is written."""


class AskedFile(Protocol):
    """A file of tasks."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def sha256(self) -> str:
        """Its checksum."""


Record = TypeVar("Record", bound=AnswerRecord)


class AnswerJournals(Generic[Record]):
    """The journals of a folder, made when the first answer is appended. Threads may share it.

    ``check`` raises `PeopleError` for an answer that does not fit its task. Files are open only while a line is
    written, so that several servers may use one folder.
    """

    def __init__(
        self,
        folder: Path,
        asked: AskedFile,
        shape: type[Record],
        check: Callable[[Record], None],
        *,
        clock: Clock = utc_now,
    ) -> None:
        self.folder, self._asked, self._shape, self._check, self._clock = folder, asked, shape, check, clock
        self._lock = threading.Lock()

    def path_of(self, person: str) -> Path:
        """Return the path of a person's journal; raises `PeopleError` for a name that is not allowed."""
        return self.folder / f"{file_stem(checked_name(person))}.jsonl"

    def append(self, path: Path, person: str, answer: Record) -> Record:
        """Append an answer to a journal, and return it with its time; it is on the disk then.

        Its ``revision`` must be one more than that of the last one. Raises `StaleError` where it is not, as when
        another tab was faster; `PeopleError` for an answer that is not allowed; `RunMismatchError` where the file is of
        other tasks; `RunError` where it cannot be written.
        """
        self._check(answer)
        with self._lock:
            require_no_link(path)
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RunError(f"{self.folder}: no folder can be made here: {error.strerror}") from error
            with open_journal(path, _BEGINS) as journal:
                if journal.is_empty:
                    header = AnnotationsHeader(annotator=person, tasks_sha256=self._asked.sha256)
                    journal.append(msgspec.json.encode(header))
                last = self.read(path)[1].get(answer.task)
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

    def read_all(self) -> dict[str, Mapping[str, Record]]:
        """Return person -> task id -> the answer that counts, decisions left out; empty without such a folder."""
        found: dict[str, Mapping[str, Record]] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            if path.name != ADJUDICATED:
                name, answers = self.read(path)
                if name in found:
                    raise RunFormatError(f"{path}: a second file of annotator '{name}'; remove one of them")
                found[name] = answers
        return found

    def read(self, path: Path) -> tuple[str, Mapping[str, Record]]:
        """Return a person's name, and task id -> the answer that counts; nothing where there is no file."""
        require_no_link(path)
        try:
            content = read_whole(path)
        except FileNotFoundError:
            return "", {}
        except OSError as error:
            raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
        header: AnnotationsHeader | None = None
        found: dict[str, Record] = {}
        for number, _, line, is_ended in lines_of(content):
            if not is_ended and not is_whole_object(line):
                break  # torn
            try:
                if header is None:
                    header = msgspec.json.decode(line, type=AnnotationsHeader)
                    self._require_same_tasks(path, header)
                    continue
                answer = msgspec.json.decode(line, type=self._shape)
                self._check(answer)
            except (*BROKEN_JSON, PeopleError) as error:
                what = "an annotation" if header else "the header of annotations"
                raise RunFormatError(f"{path}: line {number}: expected {what}: {error}") from error
            found[answer.task] = answer
        return (header.annotator if header else ""), found

    def _require_same_tasks(self, path: Path, header: AnnotationsHeader) -> None:
        if header.version != _VERSION:
            raise RunFormatError(
                f"{path}: annotations of version {header.version}, but this version reads {_VERSION}; "
                "upgrade with 'pip install -U evidencebench'"
            )
        if header.tasks_sha256 != self._asked.sha256:
            raise RunMismatchError(
                f"{path}: annotates tasks with the checksum {header.tasks_sha256[:12]}, but {self._asked.path} has "
                f"{self._asked.sha256[:12]}; give the tasks that it was begun with, or choose another folder"
            )


def _at(answer: Record, at: str) -> Record:
    return cast("Record", msgspec.structs.replace(cast("Any", answer), at=at))
