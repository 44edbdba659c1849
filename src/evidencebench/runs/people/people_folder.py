"""The people of a folder, each with files of their own."""

import platform
import threading
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path

from evidencebench.errors import RunError
from evidencebench.runs.header import DataHeader, RunHeader, SystemHeader
from evidencebench.runs.people.person import Clock, Person
from evidencebench.runs.people.person_names import checked_name, file_stem
from evidencebench.version import __version__

SYSTEM_NAME = "person"
"""The name of the system that every person is."""


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class PeopleFolder:
    """The people who pick sentences, on one task of one data set; their files lie in one folder, made if missing."""

    def __init__(
        self,
        folder: Path,
        *,
        data: DataHeader,
        task: str,
        limit: int | None,
        clock: Clock = utc_now,
        most_open: int = 200,  # people with open files
    ) -> None:
        self.folder, self.task, self.limit = folder, task, limit
        self._data, self._clock, self._most_open = data, clock, most_open
        self._people: OrderedDict[str, Person] = OrderedDict()
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: no folder can be made here: {error.strerror}") from error

    def person(self, name: str) -> Person:
        """Return a person by name, with the earlier picks; raises `PeopleError` for a name, and what `Person` raises.

        Ask again for each action: the files of people who were not asked for lately are closed, and read again here.
        """
        name = checked_name(name)
        with self._lock:
            if name in self._people:
                self._people.move_to_end(name)
            else:
                header = RunHeader(
                    system=SystemHeader(name=SYSTEM_NAME, options={"name": name}),
                    data=self._data,
                    tasks=(self.task,),
                    per_task=True,
                    limit=self.limit,
                    versions={"evidencebench": __version__, "python": platform.python_version()},
                    created=self._clock().isoformat(timespec="seconds"),
                )
                files = [self.folder / f"{file_stem(name)}.{self.task}.{end}" for end in ("jsonl", "drafts.json")]
                self._people[name] = Person(*files, header=header, clock=self._clock)
            while len(self._people) > self._most_open:
                self._people.popitem(last=False)[1].close()
            return self._people[name]

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            for person in self._people.values():
                person.close()
            self._people.clear()
