"""The people of a folder, each with files of their own."""

import platform
import threading
from datetime import UTC, datetime
from pathlib import Path

from evidencebench.errors import RunError
from evidencebench.people.names import checked_name, file_stem
from evidencebench.people.person import Clock, Person
from evidencebench.runs import DataHeader, RunHeader, SystemHeader
from evidencebench.version import __version__

SYSTEM_NAME = "person"
"""What people are called as a system."""


def utc_now() -> datetime:
    """Return what time it is."""
    return datetime.now(UTC)


class PeopleFolder:
    """Who picks sentences, on one task of one data set; their runs lie in one folder.

    Parameters
    ----------
    folder
        Made if it does not exist.
    data, task, limit
        What they answer, as in a run's header.
    clock
        What time it is.

    Raises
    ------
    RunError
        If the folder cannot be made, or is none.
    """

    def __init__(self, folder: Path, *, data: DataHeader, task: str, limit: int | None, clock: Clock = utc_now) -> None:
        self.folder, self.task, self.limit = folder, task, limit
        self._data, self._clock = data, clock
        self._people: dict[str, Person] = {}
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: no folder can be made here: {error.strerror}") from error

    def person(self, name: str) -> Person:
        """Return a person by name, with what was picked before.

        Raises
        ------
        PeopleError
            If nobody can be called that.
        RunError, RunFormatError, RunMismatchError
            As `Person` does.
        """
        name = checked_name(name)
        with self._lock:
            if name not in self._people:
                stem = f"{file_stem(name)}.{self.task}"
                self._people[name] = Person(
                    self.folder / f"{stem}.jsonl",
                    self.folder / f"{stem}.drafts.json",
                    header=self._header(name),
                    clock=self._clock,
                )
            return self._people[name]

    def close(self) -> None:
        """Let go of all files."""
        with self._lock:
            for person in self._people.values():
                person.close()
            self._people.clear()

    def _header(self, name: str) -> RunHeader:
        return RunHeader(
            system=SystemHeader(name=SYSTEM_NAME, options={"name": name}),
            data=self._data,
            tasks=(self.task,),
            per_task=True,
            limit=self.limit,
            versions={"evidencebench": __version__, "python": platform.python_version()},
            created=self._clock().isoformat(timespec="seconds"),
        )
