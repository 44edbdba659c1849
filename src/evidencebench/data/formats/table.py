"""The table of data formats, and their interface. To add one, write a file beside this one and name it in `FORMATS`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evidencebench.data.formats.json_file import open_json, open_json_lines, write_json, write_json_lines
from evidencebench.data.formats.parquet_file import open_parquet, write_parquet
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.storage.snapshot import FileState, Snapshot, changed, open_snapshot
from evidencebench.storage.whole_file import Output, is_stream


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A data file as it was opened, so that another process reads the same file or none."""

    path: Path
    was: FileState | str  # its state; of a gzip file, which is unpacked, its checksum


class DataSource(Protocol):
    """The instances of a file, each decoded only when it is asked for."""

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
        """Return an instance as plain JSON values, and the keys in it that stand more than once.

        Raises `FormatError` if it is no JSON, and `UnreadableError` if it is no text.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFormat:
    """How files are read and written whose names end in one of the suffixes, or in one and ``.gz``.

    ``open`` raises `UnreadableError` if the file holds no instances.
    """

    suffixes: tuple[str, ...]
    open: Callable[[Snapshot], DataSource]
    write: Callable[[Output, Iterable[Instance]], None]


_JSON = DataFormat(suffixes=(".json",), open=open_json, write=write_json)
_JSON_LINES = DataFormat(suffixes=(".jsonl", ".ndjson"), open=open_json_lines, write=write_json_lines)
_PARQUET = DataFormat(suffixes=(".parquet",), open=open_parquet, write=write_parquet)

FORMATS = (_JSON, _JSON_LINES, _PARQUET)


def open_source(place: Path | DataFile) -> DataSource:
    """Return the instances of a data file; a file with another suffix is read as JSON.

    Raises `UnreadableError`, and `ChangedDataError` if a file that another process has opened is not the same.
    """
    path = place.path if isinstance(place, DataFile) else place
    snapshot = open_snapshot(path)
    if isinstance(place, DataFile) and place != file_of(snapshot):
        raise changed(path)  # checked before reading, so that no error is about another file
    return (_format_of(path) or _JSON).open(snapshot)


def file_of(snapshot: Snapshot) -> DataFile:
    """Return the description with which `open_source` opens the same file in another process."""
    # The same state means the same checksum, which takes seconds to compute.
    return DataFile(path=snapshot.path, was=snapshot.state or snapshot.sha256)


def format_to_write(path: Path) -> DataFormat:
    """Return the format of a file's suffix, JSON Lines for a stream without one; raises `DataError` for other names."""
    found = _format_of(path) or (_JSON_LINES if is_stream(path) else None)
    if found is None:
        *others, last = (suffix for one in FORMATS for suffix in one.suffixes)
        raise DataError(f"{path}: expected a name that ends in {', '.join(others)} or {last}, or .gz of these")
    return found


def _format_of(path: Path) -> DataFormat | None:
    name = path.name.removesuffix(".gz")
    return next((one for one in FORMATS if name.endswith(one.suffixes)), None)
