"""The formats of data files, and what each gives. To add one, write a file beside this one and name it in `FORMATS`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evidencebench.data.formats.json_file import open_json, open_json_lines, write_json, write_json_lines
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.storage.snapshot import FileState, Snapshot, changed, open_snapshot
from evidencebench.storage.whole_file import Output, is_stream


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A data file as it was opened, for another process that must not read any other."""

    path: Path
    was: FileState | str  # its state, or the checksum of what was unpacked, which has none


class DataSource(Protocol):
    """The instances of a file, none of them decoded before it is asked for."""

    @property
    def snapshot(self) -> Snapshot:
        """Return the file as it was when it was opened."""
        ...

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the instances, in file order."""
        ...

    @property
    def repeated_ids(self) -> tuple[str, ...]:
        """Return the ids that stand more than once; one instance of each can be read."""
        ...

    def __contains__(self, instance_id: object) -> bool:
        """Say whether there is an instance of an id."""
        ...

    def instance(self, instance_id: str) -> Instance:
        """Return an instance; raises `FormatError` if it breaks the format, `ChangedDataError` if the file changed."""
        ...

    def fields(self, instance_id: str) -> tuple[Any, list[str]]:
        """Return what stands under an id as plain JSON values, and the keys in it that stand more than once.

        Raises `FormatError` if it is no JSON, and `UnreadableError` if it is no text.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFormat:
    """How a file is read and written whose name ends in one of the suffixes, or in one and ``.gz``.

    ``open`` raises `UnreadableError` if the file holds no instances.
    """

    suffixes: tuple[str, ...]
    open: Callable[[Snapshot], DataSource]
    write: Callable[[Output, Iterable[Instance]], None]


_JSON = DataFormat(suffixes=(".json",), open=open_json, write=write_json)
_JSON_LINES = DataFormat(suffixes=(".jsonl", ".ndjson"), open=open_json_lines, write=write_json_lines)

FORMATS = (_JSON, _JSON_LINES)


def open_source(place: Path | DataFile) -> DataSource:
    """Return what a data file holds; a name that says nothing is one of JSON.

    Raises `UnreadableError`, or `ChangedDataError` unless a file that another process has opened is the same.
    """
    path = place.path if isinstance(place, DataFile) else place
    snapshot = open_snapshot(path)
    if isinstance(place, DataFile) and place != file_of(snapshot):
        raise changed(path)  # checked before it is read, so that no error is about another file
    return (_format_of(path) or _JSON).open(snapshot)


def file_of(snapshot: Snapshot) -> DataFile:
    """Return that by which `open_source` opens the same file in another process."""
    # Of a file that is the same by its state the checksum is too, and reading all of it takes seconds.
    return DataFile(path=snapshot.path, was=snapshot.state or snapshot.sha256)


def format_to_write(path: Path) -> DataFormat:
    """Return the format that a file's suffix names, and for a stream without one that of lines; raises `DataError`."""
    found = _format_of(path) or (_JSON_LINES if is_stream(path) else None)
    if found is None:
        *others, last = (suffix for one in FORMATS for suffix in one.suffixes)
        raise DataError(f"{path}: expected a name that ends in {', '.join(others)} or {last}, or .gz of these")
    return found


def _format_of(path: Path) -> DataFormat | None:
    name = path.name.removesuffix(".gz")
    return next((one for one in FORMATS if name.endswith(one.suffixes)), None)
