"""Parquet files of data, an instance a row, in small row groups, so that one is read without the others."""

import io
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from evidencebench.data.instance import DataSource, Instance
from evidencebench.data.parquet_columns import (
    OPTIONAL,
    REQUIRED,
    Row,
    Rows,
    instance_of,
    record_of,
    row_of,
    schema,
    table_of,
    values_in,
    wrong_columns,
)
from evidencebench.errors import FormatError, UnreadableError
from evidencebench.files.atomic import Output
from evidencebench.files.disk import Snapshot
from evidencebench.provenance import require_extra

ROWS_IN_A_GROUP = 128  # the most that are written: some 5 MB, of which one instance is read in milliseconds
_MOST_GROUP_BYTES = 32 << 20  # of a row group that is written
_MOST_ROWS_READ = 1024  # of a row group of another program, which is read in parts where it has more
_HELD_PARTS = 2


class _SnapshotStream(io.RawIOBase):
    """A snapshot as a file for pyarrow: a change of the file on the disk is an error of each reading."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self._snapshot, self._position = snapshot, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._snapshot.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        end = self._snapshot.size
        stop = end if size is None or size < 0 else min(self._position + size, end)
        content = self._snapshot.read(min(self._position, stop), stop)
        self._position = max(self._position, stop)
        return content


@dataclass(frozen=True, slots=True)
class _RowSpan:
    """Rows of a file that are read together: a row group, or ``n_rows`` of a large one, beginning at ``skipped``."""

    group: int
    skipped: int
    n_rows: int
    is_whole: bool


@dataclass(kw_only=True)
class ParquetFile(DataSource):
    """The ids of the rows, and the row groups that were read last."""

    snapshot: Snapshot
    file: Any  # pyarrow.parquet.ParquetFile
    parts: tuple[_RowSpan, ...]
    places: Mapping[str, int]  # id -> row
    repeated_ids: tuple[str, ...]
    _held: OrderedDict[int, Rows] = field(default_factory=OrderedDict)
    _batches: tuple[int, Iterator[Any]] | None = None  # the part that comes next, of a large row group
    _lock: Any = field(default_factory=Lock)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(part.n_rows for part in self.parts))

    def instance(self, instance_id: str) -> Instance:
        return instance_of(self._row(instance_id))

    def fields(self, instance_id: str) -> tuple[Any, list[str]]:
        row = self._row(instance_id)
        instance_of(row)  # raises where its columns contradict each other
        return msgspec.json.decode(record_of(row)), []

    def forget(self) -> None:
        with self._lock:
            self._held.clear()
            self._batches = None

    def _row(self, instance_id: str) -> Row:
        row = self.places[instance_id]
        number = bisect_right(self._ends, row)
        with self._lock:  # pyarrow's reader is not for several threads at once
            rows = self._held.get(number)
            if rows is None:
                rows = self._held[number] = self._read(number)
                if len(self._held) > _HELD_PARTS:
                    self._held.popitem(last=False)
            self._held.move_to_end(number)
        return rows.row(row - (self._ends[number] - self.parts[number].n_rows))

    def _read(self, number: int) -> Rows:
        part = self.parts[number]
        names = [name for name in (*REQUIRED, *OPTIONAL) if name in self.file.schema_arrow.names]
        with arrow_errors(self.snapshot.path):
            if part.is_whole:
                return Rows(self.file.read_row_group(part.group, columns=names, use_threads=False))
            return Rows(self._batch(number, names))

    def _batch(self, number: int, names: list[str]) -> Any:
        """Return a part of a large row group, going on where the last reading stopped if that is before."""
        import pyarrow as pa  # noqa: PLC0415 - an extra

        part = self.parts[number]
        first = number - part.skipped // _MOST_ROWS_READ
        next_number, batches = self._batches or (first, None)
        if batches is None or not first < next_number <= number:
            batches = self.file.iter_batches(_MOST_ROWS_READ, row_groups=[part.group], columns=names, use_threads=False)
            next_number = first
        for _ in range(number - next_number):
            next(batches)
        batch = next(batches)
        self._batches = (number + 1, batches)
        return pa.Table.from_batches([batch])


def open_parquet(snapshot: Snapshot) -> ParquetFile:
    path = snapshot.path
    require_extra(str(path), "parquet", "pyarrow")
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    with arrow_errors(path):
        metadata = pq.read_metadata(_SnapshotStream(snapshot))
        spans = tuple(_spans(metadata))
        leaves = (metadata.schema.column(index).path for index in range(metadata.num_columns))
        file = pq.ParquetFile(
            _SnapshotStream(snapshot),
            metadata=metadata,
            pre_buffer=False,
            buffer_size=0 if all(span.is_whole for span in spans) else 1 << 20,
            page_checksum_verification=True,
            read_dictionary=[leaf for leaf in leaves if leaf.startswith("sentence_types.")],
        )
        if {"error", "sentences"} <= set(file.schema_arrow.names) and "hypothesis" not in file.schema_arrow.names:
            raise UnreadableError(f"{path}: is a run, and no data; expected the data that it was made on")
        if wrong := wrong_columns(file.schema_arrow):
            raise UnreadableError(f"{path}: is no Parquet file of instances: {'; '.join(wrong)}")
        ids = values_in(file.read(columns=["id"], use_threads=False).column("id"), "id")
    if not ids:
        raise UnreadableError(f"{path}: holds no instance; expected at least one row")
    places = {instance_id: row for row, instance_id in enumerate(ids)}
    if None in places:
        raise UnreadableError(f"{path}: row {ids.index(None)}: id: expected text, got null")
    repeated = [name for name, n in Counter(ids).items() if n > 1] if len(places) < len(ids) else []
    return ParquetFile(snapshot=snapshot, file=file, parts=spans, places=places, repeated_ids=tuple(repeated))


def _spans(metadata: Any) -> Iterator[_RowSpan]:
    for group in range(metadata.num_row_groups):
        n_rows = metadata.row_group(group).num_rows
        for start in range(0, n_rows, _MOST_ROWS_READ):
            n_read = min(_MOST_ROWS_READ, n_rows - start)
            yield _RowSpan(group, start, n_read, is_whole=n_read == n_rows)


@contextmanager
def arrow_errors(path: Path) -> Iterator[None]:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    damage = (pa.ArrowException, OSError, OverflowError, MemoryError, StopIteration, IndexError, UnicodeDecodeError)
    try:
        yield
    except damage as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UnreadableError(f"{path}: cannot be read as Parquet: {reason}") from error
    except FormatError as error:
        raise UnreadableError(f"{path}: {error}") from error


def write_parquet(file: Output, instances: Iterable[Instance]) -> None:
    require_extra("Parquet", "parquet", "pyarrow")
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    with pq.ParquetWriter(
        file,
        schema(),
        compression="zstd",
        compression_level=6,  # 18 % of the JSON; level 1 has 27 %, and takes a fifth less time to convert
        data_page_size=8 << 20,  # a page a column and row group, which compresses best
        use_dictionary=["sentence_types.list.element"],
        write_statistics=["id"],
        write_page_checksum=True,
    ) as writer:
        for rows in _groups(map(row_of, instances)):
            writer.write_table(table_of(rows), row_group_size=len(rows))


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(map(len, row.sentences))
        if len(group) == ROWS_IN_A_GROUP or size > _MOST_GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
