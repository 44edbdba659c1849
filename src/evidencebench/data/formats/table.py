"""The formats of data files. To add one, write a file beside this one and name it in `FORMATS`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from evidencebench.data.formats.json_file import open_json, open_json_lines, write_json, write_json_lines
from evidencebench.data.instance import Instance
from evidencebench.data.source import DataFile, DataSource
from evidencebench.errors import DataError
from evidencebench.storage.whole_file import Output, is_stream


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFormat:
    """How a file is read and written whose name ends in one of the suffixes, or in one and ``.gz``.

    ``open`` raises `UnreadableError` or, unless the file is as it was opened elsewhere, `ChangedDataError`.
    """

    suffixes: tuple[str, ...]
    open: Callable[[Path, DataFile | None], DataSource]
    write: Callable[[Output, Iterable[Instance]], None]


_JSON = DataFormat(suffixes=(".json",), open=open_json, write=write_json)
_JSON_LINES = DataFormat(suffixes=(".jsonl", ".ndjson"), open=open_json_lines, write=write_json_lines)

FORMATS = (_JSON, _JSON_LINES)


def open_source(path: Path, as_opened: DataFile | None = None) -> DataSource:
    """Return what a data file holds; a name that says nothing is one of JSON.

    Parameters
    ----------
    path
        The file.
    as_opened
        The file as another process has opened it, where it must be the same.
    """
    return (_format_of(path) or _JSON).open(path, as_opened)


def format_to_write(path: Path) -> DataFormat:
    """Return the format that a file's suffix names, and for a stream without one that of lines.

    Raises
    ------
    DataError
        Naming the suffixes.
    """
    found = _format_of(path) or (_JSON_LINES if is_stream(path) else None)
    if found is None:
        *others, last = (suffix for one in FORMATS for suffix in one.suffixes)
        raise DataError(f"{path}: expected a name that ends in {', '.join(others)} or {last}, or .gz of these")
    return found


def _format_of(path: Path) -> DataFormat | None:
    name = path.name.removesuffix(".gz")
    return next((one for one in FORMATS if name.endswith(one.suffixes)), None)
