"""The columns of Parquet files: readable ones, and as JSON what they do not say of an instance."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import compress
from typing import Any

import msgspec
import numpy as np

from evidencebench.data.instance import Evaluation, Instance
from evidencebench.data.json_format import (
    EVALUATION_KEYS,
    PublishedInstance,
    encode_instance,
    instance_from,
    not_utf8,
    published_fields,
)
from evidencebench.data.tasks import TASKS
from evidencebench.errors import FormatError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.query import Kind
from evidencebench.wording import counted

KEYS_KEY = "$keys"


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The values of the columns for one instance; ``sentence_aspects`` as the sentences of each aspect, in order."""

    id: str
    paper_id: str
    hypothesis: str
    sentences: tuple[str, ...]
    sentence_types: tuple[Kind, ...]
    aspects: tuple[str, ...]
    result_aspects: tuple[str, ...] | None
    sentence_aspects: tuple[tuple[int, ...], ...]
    selections: tuple[tuple[int, ...] | None, ...]  # one a task of `EVALUATION_KEYS`
    other: str | None = None


# The keys of ``other`` that an instance is made of; they count more than what follows from columns.
_Other = msgspec.defstruct(
    "_Other",
    [
        *(
            (field.name, field.type | msgspec.UnsetType, msgspec.UNSET)
            for field in msgspec.structs.fields(PublishedInstance)
        ),
        ("keys", tuple[str, ...] | None, msgspec.field(default=None, name=KEYS_KEY)),
    ],
    gc=False,
)

_COLUMN_OF_KEY = {
    "hypothesis": "hypothesis",
    "paper_as_candidate_pool": "sentences",
    "aspect_list_ids": "aspects",
    "results_aspect_list_ids": "result_aspects",
    "aspect2sentence_indices": "sentence_aspects",
    "sentence_types_in_candidate_pool": "sentence_types",
    "paper_id": "paper_id",
}
# Of each stored optimum: its key, whether all aspects count, and whether the task asks for the fewest.
_OPTIMA = tuple(
    (key, TASKS[task].scope == "all", TASKS[task].budget == "optimal") for task, key in EVALUATION_KEYS.items()
)


class RowOrigin:
    """The JSON object of a row, put together when it is asked for."""

    names_itself = False

    def __init__(self, row: Row) -> None:
        self._row = row

    @cached_property
    def raw(self) -> bytes:
        return record_of(self._row)


def instance_of(row: Row) -> Instance:
    """Return the instance of a row; raises `FormatError` where its columns contradict each other."""
    other = {}
    if row.other is not None:
        decoded = msgspec.structs.asdict(_parsed(row, _Other))
        other = {key: value for key, value in decoded.items() if value is not msgspec.UNSET and key != "keys"}
    fields = _column_fields(row, other)
    instance = instance_from(row.id, PublishedInstance(**(fields | other)), RowOrigin(row))
    for key, value in other.items():
        # Where a value differs from that of its column, it may be spelled otherwise, as indices in another order are.
        column = _COLUMN_OF_KEY.get(key, "selections")
        if fields.get(key, value) != value and _COLUMNS[column](instance) != getattr(row, column):
            column = ", ".join(SELECTIONS) if column == "selections" else column
            raise FormatError(
                f"{row.id}: {column} and other: expected the same, got two that differ; correct one of them, or set "
                "other to null, which loses the keys that only it holds"
            )
    return instance


def row_of(instance: Instance) -> Row:
    """Return the row of an instance, from which `instance_of` and `record_of` give it back."""
    row = Row(**{name: value(instance) for name, value in _COLUMNS.items()})
    try:
        fields = msgspec.json.decode(encode_instance(instance), type=dict[str, msgspec.Raw])
        if KEYS_KEY in fields:
            raise FormatError(f"{row.id}: expected no key '{KEYS_KEY}', which the column other needs for itself")
        derived = _derived(row)
        other: dict[str, Any] = {
            key: raw for key, raw in fields.items() if key not in derived or not _is_json_of(derived[key], raw)
        }
        if list(fields) != list(derived | other):
            other[KEYS_KEY] = list(fields)
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
                f"{row.id}: other: {KEYS_KEY}: the key '{missing[0]}' has no value; take {KEYS_KEY} out of other"
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
        return msgspec.json.decode(row.other or "{}", type=kind)
    except BROKEN_JSON as error:
        raise FormatError(f"{row.id}: other: expected a JSON object, or null: {error}") from error


# The columns but ``other``, and their values for an instance.
_COLUMNS: dict[str, Callable[[Instance], Any]] = {
    "id": lambda instance: instance.id,
    "paper_id": lambda instance: instance.query.paper_id,
    "hypothesis": lambda instance: instance.query.hypothesis,
    "sentences": lambda instance: instance.query.sentences,
    "sentence_types": lambda instance: instance.query.kinds,
    "aspects": lambda instance: instance.labels.aspects,
    "result_aspects": lambda instance: instance.labels.results or None,
    "sentence_aspects": lambda instance: tuple(
        [tuple(sorted({*instance.labels.sources.get(aspect, ())})) for aspect in instance.labels.aspects]
    ),
    "selections": lambda instance: tuple(
        [
            None if (stored := instance.labels.evaluations.get(task)) is None else stored.sentences
            for task in EVALUATION_KEYS
        ]
    ),
}


def _column_fields(row: Row, other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the published format that follow from the columns; of an optimum in ``other``, that one."""
    fields: dict[str, Any] = {key: getattr(row, column) for key, column in _COLUMN_OF_KEY.items()}
    fields["aspect2sentence_indices"] = dict(zip(row.aspects, row.sentence_aspects, strict=True))
    for (key, is_all, is_fewest), selection in zip(_OPTIMA, row.selections, strict=True):
        fields[key] = None
        if selection is None:
            continue
        fields[key] = stored = other.get(key)
        if stored is None or stored.sentences != selection:
            covered = set(compress(row.aspects, map(frozenset(selection).intersection, row.sentence_aspects)))
            aspects = row.aspects if is_all else row.result_aspects or ()
            fields[key] = Evaluation(
                sentences=selection,
                covered=tuple([aspect for aspect in aspects if aspect in covered]),
                optimal=len(selection) if is_fewest else None,
            )
    return fields


def _derived(row: Row) -> dict[str, Any]:
    """Return all fields of the published format that follow from the columns, in its order."""
    return published_fields(instance_from(row.id, PublishedInstance(**_column_fields(row, {}))))


REQUIRED = ("id", "paper_id", "hypothesis", "sentences", "sentence_types", "aspects", "sentence_aspects")
SELECTIONS = ("er_optimal", "er_10", "result_er_optimal", "result_er_5")  # in the order of `EVALUATION_KEYS`
OPTIONAL = ("result_aspects", *SELECTIONS, "other")


@cache
def schema() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    texts, numbers = pa.list_(pa.string()), pa.list_(pa.int32())
    return pa.schema(
        [
            ("id", pa.string()),
            ("paper_id", pa.string()),
            ("hypothesis", pa.string()),
            ("sentences", texts),
            ("sentence_types", texts),
            ("aspects", texts),
            ("result_aspects", texts),
            ("sentence_aspects", pa.list_(pa.list_(pa.int16()))),
            *((name, numbers) for name in SELECTIONS),
            ("other", pa.string()),
        ]
    )


def wrong_columns(file_schema: Any) -> list[str]:
    """Return what is wrong with the columns of a file's schema, each as ``column: expected ..., got ...``."""
    names = Counter(file_schema.names)
    wrong = [f"{name}: expected a column of this name, got none" for name in REQUIRED if name not in names]
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

    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows] for name in (*REQUIRED, *OPTIONAL) if name not in SELECTIONS
    }
    columns |= {name: [row.selections[index] for row in rows] for index, name in enumerate(SELECTIONS)}
    columns["sentence_aspects"] = [_by_sentence(row) for row in rows]
    try:
        return pa.table({name: columns[name] for name in schema().names}, schema=schema())
    except (pa.ArrowInvalid, OverflowError) as error:
        raise FormatError(f"'{rows[0].id}' to '{rows[-1].id}': cannot be written as columns: {error}") from error


def _by_sentence(row: Row) -> list[list[int]]:
    by_sentence: list[list[int]] = [[] for _ in row.sentences]
    for position, sentences in enumerate(row.sentence_aspects):
        for sentence in sentences:
            by_sentence[sentence].append(position)
    return by_sentence


class Rows:
    """The rows of an Arrow table whose columns `wrong_columns` accepts; raises Arrow's errors and `FormatError`."""

    def __init__(self, table: Any) -> None:
        columns = _cast(table)
        self._texts = [values_in(columns[name], name) for name in ("id", "paper_id", "hypothesis", "other")]
        makers = {"sentences": _TextsLater, "sentence_types": _kinds}
        names = ("sentences", "sentence_types", "aspects", "result_aspects", *SELECTIONS)
        self._lists = [_Lists(name, columns[name], makers.get(name, values_in)) for name in names]
        self._sentence_aspects = _SentenceAspects(columns["sentence_aspects"])

    def row(self, number: int) -> Row:
        instance_id, paper_id, hypothesis, other = [column[number] for column in self._texts]
        if paper_id is None or hypothesis is None:
            name = "hypothesis" if hypothesis is None else "paper_id"
            raise FormatError(f"{instance_id}: {name}: expected text, got null")
        try:
            sentences, kinds, aspects, results, *selections = [column.at(number) for column in self._lists]
            by_aspect = self._sentence_aspects.by_aspect(number, len(sentences), len(aspects))
        except FormatError as error:
            raise FormatError(f"{instance_id}: {error}") from error
        if len(kinds) != len(sentences):
            expected = f"one type for each of {counted(len(sentences), 'sentence')}"
            raise FormatError(f"{instance_id}: sentence_types: expected {expected}, got {len(kinds)}")
        return Row(
            id=instance_id,
            paper_id=paper_id,
            hypothesis=hypothesis,
            sentences=sentences,
            sentence_types=kinds,
            aspects=aspects,
            result_aspects=results or None,
            sentence_aspects=by_aspect,
            selections=tuple(selections),
            other=other,
        )


def _cast(table: Any) -> dict[str, Any]:
    """Return the columns, each in one piece and of the type of `schema`; optional ones that are missing are null."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    columns = {}
    for wanted in schema():
        if wanted.name not in table.column_names:
            columns[wanted.name] = pa.nulls(table.num_rows, wanted.type)
            continue
        column = table.column(wanted.name)
        is_kinds = wanted.name == "sentence_types" and pa.types.is_list(column.type)
        if not (is_kinds and pa.types.is_dictionary(column.type.value_type)) and column.type != wanted.type:
            column = column.cast(wanted.type)
        whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which copies even one
        if isinstance(whole, pa.ChunkedArray):  # more than 2 GB of text
            raise FormatError(f"{wanted.name}: expected at most 2 GB in a row group; write smaller row groups")
        columns[wanted.name] = whole
    return columns


def values_in(values: Any, name: str) -> list[Any]:
    """Return the values of an array or column, null as None; raises `FormatError` where a text is not UTF-8."""
    try:
        listed: list[Any] = values.to_pylist()
    except UnicodeDecodeError as error:  # pyarrow does not check what it reads
        raise FormatError(f"{name}: {not_utf8(error)}") from error
    return listed


class _TextsLater:
    """The texts of an array, of which those of a row are made when they are asked for: few fit a processor's cache."""

    def __init__(self, values: Any, name: str) -> None:
        self._values, self._name = values, name

    def __getitem__(self, row: slice) -> list[Any]:
        return values_in(self._values.slice(row.start, row.stop - row.start), self._name)


def _in_numpy(values: Any) -> Any:
    """Return 32-bit numbers as they lie in memory; pyarrow's ``to_numpy`` would import pandas, which takes a while."""
    n_values = len(values)
    return np.frombuffer(values.buffers()[1], np.int32, n_values, values.offset * 4) if n_values else np.zeros(0, int)


def _kinds(values: Any, name: str) -> list[Any]:
    """Return the kinds of sentences; text that is no kind as it is."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    encoded = values if isinstance(values, pa.DictionaryArray) else values.dictionary_encode()
    words = [*map(_kind, values_in(encoded.dictionary, name)), None]
    if encoded.indices.null_count:
        return [words[-1 if index is None else index] for index in encoded.indices.to_pylist()]
    kinds: list[Any] = np.array(words, object)[_in_numpy(encoded.indices.cast("int32"))].tolist()
    return kinds


def _kind(word: Any) -> Any:
    try:
        return Kind(word)
    except ValueError:
        return word


class _Lists:
    """A column of lists, with a function that returns the values of all, or something that is sliced as they are."""

    def __init__(self, name: str, column: Any, values: Callable[[Any, str], Any]) -> None:
        self._name = name
        self._starts: list[int] = column.offsets.to_pylist()
        self._is_null: list[bool] | None = column.is_null().to_pylist() if column.null_count else None
        self._values = values(column.values, name)
        is_unknown = values is _kinds and not {*column.values.unique().to_pylist()} <= {*Kind}
        self._is_suspect = is_unknown or column.values.null_count > 0

    def at(self, row: int) -> Any:
        """Return the values of a row as a tuple, or None; raises `FormatError` where it is null and must not be."""
        if self._is_null is not None and self._is_null[row]:
            if self._name not in OPTIONAL:
                raise FormatError(f"{self._name}: expected a list, got null")
            return None
        values = tuple(self._values[self._starts[row] : self._starts[row + 1]])
        for index, value in enumerate(values if self._is_suspect else ()):
            if value is None:
                raise FormatError(f"{self._name}: expected no null in the list, got one at position {index}")
            if self._name == "sentence_types" and not isinstance(value, Kind):
                raise FormatError(
                    f"{self._name}: expected one of {', '.join(Kind)} for sentence {index}, got '{value}'"
                )
        return values


class _SentenceAspects:
    """The column with a list for each sentence: the positions of its aspects."""

    def __init__(self, column: Any) -> None:
        by_sentence = column.values
        outer, inner = _in_numpy(column.offsets), _in_numpy(by_sentence.offsets)
        first, last = int(outer[0]), int(outer[-1])
        sentence = np.arange(first, last) - np.repeat(outer[:-1], np.diff(outer))
        self._starts: list[int] = inner[outer].tolist()
        self._first = int(inner[first])
        self._sentences: list[int] = np.repeat(sentence, np.diff(inner)[first:last]).tolist()
        self._positions = values_in(by_sentence.values, "sentence_aspects")
        self._counts: list[int] = np.diff(outer).tolist()
        self._has_null = bool(column.null_count or by_sentence.null_count or by_sentence.values.null_count)

    def by_aspect(self, row: int, n_sentences: int, n_aspects: int) -> tuple[tuple[int, ...], ...]:
        """Return the sentences of each aspect of a row, in the paper's order; raises `FormatError`."""
        if self._counts[row] != n_sentences:
            expected = f"one list for each of {counted(n_sentences, 'sentence')}"
            raise FormatError(f"sentence_aspects: expected {expected}, got {self._counts[row]}")
        start, stop = self._starts[row], self._starts[row + 1]
        sentences, positions = self._sentences[start - self._first : stop - self._first], self._positions[start:stop]
        if self._has_null and None in positions:
            raise FormatError("sentence_aspects: expected positions in aspects, got null")
        if positions and not 0 <= min(positions) <= max(positions) < n_aspects:
            wrong = next(index for index, position in enumerate(positions) if not 0 <= position < n_aspects)
            raise FormatError(
                f"sentence_aspects: expected positions in aspects, of which there are {n_aspects}, got "
                f"{positions[wrong]} for sentence {sentences[wrong]}"
            )
        sentences_by_aspect: list[list[int]] = [[] for _ in range(n_aspects)]
        for sentence, position in zip(sentences, positions, strict=True):
            sentences_by_aspect[position].append(sentence)
        return tuple(map(tuple, sentences_by_aspect))
