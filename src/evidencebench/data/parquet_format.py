"""Parquet: an instance a row, in readable columns; what these do not say of it stands as JSON in the column other.

Row groups are small, so that one is read without the others.
"""

import io
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import accumulate
from threading import Lock
from typing import Any

import msgspec

from evidencebench.data.instance import DataSource, Evaluation, Instance, Origin
from evidencebench.data.json_format import (
    EVALUATION_KEYS,
    PublishedInstance,
    encode_instance,
    instance_from,
    not_utf8,
    published_fields,
)
from evidencebench.data.tasks import TASKS
from evidencebench.decoding import prepared
from evidencebench.errors import FormatError, UnreadableError
from evidencebench.files.atomic import Output
from evidencebench.files.disk import BROKEN_JSON, Snapshot
from evidencebench.provenance import require_extra
from evidencebench.query import Kind
from evidencebench.runs.formats import arrow_errors
from evidencebench.wording import counted

_KEYS_KEY = "$keys"


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: str
    paper_id: str
    hypothesis: str
    sentences: tuple[str, ...]
    sentence_types: tuple[Kind, ...]
    aspects: tuple[str, ...]
    result_aspects: tuple[str, ...] | None = None
    sentence_aspects: tuple[tuple[int, ...], ...]  # of each sentence, the positions of its aspects
    er_optimal: tuple[int, ...] | None = None
    er_10: tuple[int, ...] | None = None
    result_er_optimal: tuple[int, ...] | None = None
    result_er_5: tuple[int, ...] | None = None
    other: str | None = None


# The keys of ``other`` that an instance is made of; they count more than what follows from columns.
_Other = msgspec.defstruct(
    "_Other",
    [
        *(
            (field.name, field.type | msgspec.UnsetType, msgspec.UNSET)
            for field in msgspec.structs.fields(PublishedInstance)
        ),
        ("keys", tuple[str, ...] | None, msgspec.field(default=None, name=_KEYS_KEY)),
    ],
    gc=False,
)

_COLUMN_OF_TASK = dict(zip(EVALUATION_KEYS, ("er_optimal", "er_10", "result_er_optimal", "result_er_5"), strict=True))


def instance_of(row: Row) -> Instance:
    """Return the instance of a row; raises `FormatError` where its columns contradict each other."""
    origin, fields = Origin(partial(record_of, row)), _column_fields(row)
    if row.other is None:
        return instance_from(row.id, PublishedInstance(**fields), origin)
    decoded = msgspec.structs.asdict(_parsed(row, _Other))
    other = {key: value for key, value in decoded.items() if value is not msgspec.UNSET and key != "keys"}
    instance = instance_from(row.id, PublishedInstance(**(fields | other)), origin)
    if any(fields.get(key, value) != value for key, value in other.items()):
        # Where a value differs from that of its column, it may be spelled otherwise, as indices in another order are.
        said = _columns_of(instance_from(row.id, PublishedInstance(**fields)))
        if differing := [column for column, value in _columns_of(instance).items() if value != said[column]]:
            raise FormatError(
                f"{row.id}: {differing[0]} and other: expected the same, got two that differ; correct one of them, or "
                "set other to null, which loses the keys that only it holds"
            )
    return instance


def row_of(instance: Instance) -> Row:
    """Return the row of an instance, from which `instance_of` and `record_of` give it back."""
    columns = _columns_of(instance)
    by_sentence: list[list[int]] = [[] for _ in instance.query.sentences]
    for position, sentences in enumerate(columns["sentence_aspects"]):
        for sentence in sentences:
            by_sentence[sentence].append(position)
    row = Row(**(columns | {"sentence_aspects": tuple(map(tuple, by_sentence))}))
    try:
        fields = msgspec.json.decode(encode_instance(instance), type=dict[str, msgspec.Raw])
        if _KEYS_KEY in fields:
            raise FormatError(f"{row.id}: expected no key '{_KEYS_KEY}', which the column other needs for itself")
        derived = _derived(row)
        other: dict[str, Any] = {
            key: raw for key, raw in fields.items() if key not in derived or not _is_json_of(derived[key], raw)
        }
        if list(fields) != list(derived | other):
            other[_KEYS_KEY] = list(fields)
        return msgspec.structs.replace(row, other=msgspec.json.encode(other).decode() if other else None)
    except UnicodeDecodeError as error:
        byte = f"{error.object[error.start]:#04x}"
        raise FormatError(f"{row.id}: expected UTF-8, got byte {byte} in a key that is not read") from error


def record_of(row: Row) -> bytes:
    """Return the JSON object of a row, on one line; raises `FormatError`."""
    record = _derived(row)
    if row.other is not None:
        record |= _parsed(row, dict[str, msgspec.Raw])
        keys = _parsed(row, _Other).keys
        if missing := [key for key in keys or () if key not in record]:
            raise FormatError(
                f"{row.id}: other: {_KEYS_KEY}: the key '{missing[0]}' has no value; take {_KEYS_KEY} out of other"
            )
        if keys is not None:
            record = {key: record[key] for key in keys}
    return msgspec.json.encode(record)


def _is_json_of(value: Any, raw: msgspec.Raw) -> bool:
    encoded = msgspec.json.encode(value)
    if encoded == bytes(raw):
        return True
    try:  # it may be the same with other escapes
        return encoded == msgspec.json.encode(msgspec.json.decode(raw))
    except (*BROKEN_JSON, OverflowError):  # in a key that is not read
        return False


def _parsed(row: Row, kind: Any) -> Any:
    try:
        return msgspec.json.decode(row.other or "{}", type=prepared(kind))
    except BROKEN_JSON as error:
        raise FormatError(f"{row.id}: other: expected a JSON object, or null: {error}") from error


def _columns_of(instance: Instance) -> dict[str, Any]:
    """Return the values of all columns but ``other``; ``sentence_aspects`` as the sentences of each aspect."""
    query, labels = instance.query, instance.labels
    return {
        "id": query.instance_id,
        "paper_id": query.paper_id,
        "hypothesis": query.hypothesis,
        "sentences": query.sentences,
        "sentence_types": query.kinds,
        "aspects": labels.aspects,
        "result_aspects": labels.results or None,
        "sentence_aspects": [{*labels.sources.get(aspect, ())} for aspect in labels.aspects],
        **{
            column: stored.sentences if (stored := labels.evaluations.get(task)) is not None else None
            for task, column in _COLUMN_OF_TASK.items()
        },
    }


def _column_fields(row: Row) -> dict[str, Any]:
    """Return the fields of the published format that follow from the columns; raises `FormatError`."""
    for name in ("sentence_types", "sentence_aspects"):
        if (n_values := len(getattr(row, name))) != len(row.sentences):
            expected = f"one for each of {counted(len(row.sentences), 'sentence')}"
            raise FormatError(f"{row.id}: {name}: expected {expected}, got {n_values}")
    by_aspect: list[list[int]] = [[] for _ in row.aspects]
    for sentence, positions in enumerate(row.sentence_aspects):
        for position in positions:
            if not 0 <= position < len(by_aspect):
                raise FormatError(
                    f"{row.id}: sentence_aspects: expected positions in aspects, of which there are {len(by_aspect)}, "
                    f"got {position} for sentence {sentence}"
                )
            by_aspect[position].append(sentence)
    sources = dict(zip(row.aspects, map(tuple, by_aspect), strict=True))
    fields: dict[str, Any] = {
        "hypothesis": row.hypothesis,
        "paper_as_candidate_pool": row.sentences,
        "aspect_list_ids": row.aspects,
        "results_aspect_list_ids": row.result_aspects or None,
        "aspect2sentence_indices": sources,
        "sentence_types_in_candidate_pool": row.sentence_types,
        "paper_id": row.paper_id,
    }
    for task, column in _COLUMN_OF_TASK.items():
        selection: tuple[int, ...] | None = getattr(row, column)
        aspects = row.aspects if TASKS[task].scope == "all" else row.result_aspects or ()
        if selection is not None:
            fields[EVALUATION_KEYS[task]] = Evaluation(
                sentences=selection,
                covered=tuple([one for one in aspects if not set(selection).isdisjoint(sources.get(one, ()))]),
                optimal=len(selection) if TASKS[task].budget == "optimal" else None,
            )
    return fields


def _derived(row: Row) -> dict[str, Any]:
    return published_fields(instance_from(row.id, PublishedInstance(**_column_fields(row))))


@cache
def schema() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    texts = pa.list_(pa.string())
    types = {
        **dict.fromkeys(("sentences", "sentence_types", "aspects", "result_aspects"), texts),
        "sentence_aspects": pa.list_(pa.list_(pa.int16())),
        **dict.fromkeys(_COLUMN_OF_TASK.values(), pa.list_(pa.int32())),
    }
    return pa.schema([(name, types.get(name, pa.string())) for name in Row.__struct_fields__])


def _wrong_columns(file_schema: Any) -> list[str]:
    """Return what is wrong with the columns of a file's schema, each as ``column: expected ..., got ...``."""
    names = Counter(file_schema.names)
    required = [column.name for column in msgspec.structs.fields(Row) if column.required]
    wrong = [f"{name}: expected a column of this name, got none" for name in required if name not in names]
    for wanted in schema():
        if names[wanted.name] > 1:
            wrong.append(f"{wanted.name}: expected one column of this name, got {names[wanted.name]}")
        elif wanted.name in names and not _can_hold(file_schema.field(wanted.name).type, wanted.type):
            types = (str(field.type) for field in (wanted, file_schema.field(wanted.name)))
            expected, got = (text.replace("element: ", "").replace("item: ", "") for text in types)
            wrong.append(f"{wanted.name}: expected {expected}, got {got}")
    return wrong


def _can_hold(given: Any, wanted: Any) -> bool:
    """Say whether a column's type is read as the wanted one: lists as lists, text as text, whole numbers as such."""
    import pyarrow.types as of  # noqa: PLC0415 - an extra

    if of.is_null(given):
        return True
    if of.is_list(wanted):
        return bool(of.is_list(given) or of.is_large_list(given)) and _can_hold(given.value_type, wanted.value_type)
    if of.is_string(wanted):
        text = given.value_type if of.is_dictionary(given) else given
        return bool(of.is_string(text) or of.is_large_string(text) or of.is_string_view(text))
    return bool(of.is_integer(given))


def table_of(rows: Sequence[Row]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    columns = {name: [getattr(row, name) for row in rows] for name in Row.__struct_fields__}
    try:
        return pa.table(columns, schema=schema())
    except (pa.ArrowInvalid, OverflowError) as error:
        raise FormatError(f"'{rows[0].id}' to '{rows[-1].id}': cannot be written as columns: {error}") from error


# Files: their rows are read a row group at a time.

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


@dataclass(kw_only=True)
class ParquetFile(DataSource):
    """The ids of the rows, and the row groups that were read last."""

    snapshot: Snapshot
    file: Any  # pyarrow.parquet.ParquetFile
    parts: tuple[_RowSpan, ...]
    places: Mapping[str, int]  # id -> row
    repeated_ids: tuple[str, ...]
    _held: OrderedDict[int, dict[str, Any]] = field(default_factory=OrderedDict)  # part -> its Arrow columns
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
            columns = self._held.get(number)
            if columns is None:
                columns = self._held[number] = self._read(number)
                if len(self._held) > _HELD_PARTS:
                    self._held.popitem(last=False)
            self._held.move_to_end(number)
        place = row - (self._ends[number] - self.parts[number].n_rows)
        try:
            return msgspec.convert(
                {name: _plain(column[place], name) for name, column in columns.items()}, prepared(Row)
            )
        except (msgspec.ValidationError, FormatError) as error:
            raise FormatError(f"{instance_id}: {error}") from error

    def _read(self, number: int) -> dict[str, Any]:
        """Return the columns of a part; of a large row group, the last reading goes on if it stopped before."""
        import pyarrow as pa  # noqa: PLC0415 - an extra

        part = self.parts[number]
        columns = [column for column in schema() if column.name in self.file.schema_arrow.names]
        names = [column.name for column in columns]
        first = number - part.skipped // _MOST_ROWS_READ
        next_number, batches = self._batches or (first, None)
        self._batches = None  # until this has ended well
        with arrow_errors(self.snapshot.path, "Parquet", UnreadableError):
            if batches is None or not first < next_number <= number:
                next_number = first
                batches = self.file.iter_batches(
                    _MOST_ROWS_READ, row_groups=[part.group], columns=names, use_threads=False
                )
            for _ in range(number - next_number):
                next(batches)
            table = pa.Table.from_batches([next(batches)]).select(names).cast(pa.schema(columns))
        self._batches = (number + 1, batches)
        return dict(zip(names, table.columns, strict=True))


def _plain(value: Any, name: str) -> Any:
    """Return the value of an Arrow scalar or array; raises `FormatError` where a text is not UTF-8."""
    try:
        return value.as_py() if hasattr(value, "as_py") else value.to_pylist()
    except UnicodeDecodeError as error:  # pyarrow does not check what it reads
        raise FormatError(f"{name}: {not_utf8(error)}") from error


def open_parquet(snapshot: Snapshot) -> ParquetFile:
    path = snapshot.path
    require_extra(str(path), "parquet", "pyarrow")
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    with arrow_errors(path, "Parquet", UnreadableError):
        metadata = pq.read_metadata(_SnapshotStream(snapshot))
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        parts = tuple(
            _RowSpan(group, start, min(_MOST_ROWS_READ, size - start))
            for group, size in enumerate(sizes)
            for start in range(0, size, _MOST_ROWS_READ)
        )
        file = pq.ParquetFile(
            _SnapshotStream(snapshot),
            metadata=metadata,
            pre_buffer=False,
            buffer_size=1 << 20 if max(sizes, default=0) > _MOST_ROWS_READ else 0,
            page_checksum_verification=True,
        )
        if {"error", "sentences"} <= set(file.schema_arrow.names) and "hypothesis" not in file.schema_arrow.names:
            raise UnreadableError(f"{path}: is a run, not data; give the data that it was made on")
        if wrong := _wrong_columns(file.schema_arrow):
            raise UnreadableError(f"{path}: is no Parquet file of instances: {'; '.join(wrong)}")
        ids = _plain(file.read(columns=["id"], use_threads=False).column("id"), "id")
    if not ids:
        raise UnreadableError(f"{path}: holds no instance; expected at least one row")
    places = {instance_id: row for row, instance_id in enumerate(ids)}
    if None in places:
        raise UnreadableError(f"{path}: row {ids.index(None)}: id: expected text, got null")
    repeated = [name for name, n in Counter(ids).items() if n > 1] if len(places) < len(ids) else []
    return ParquetFile(snapshot=snapshot, file=file, parts=parts, places=places, repeated_ids=tuple(repeated))


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
