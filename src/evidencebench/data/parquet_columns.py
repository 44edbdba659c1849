"""The columns of Parquet files: readable ones, and the record as it was."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import compress
from typing import Any, TypeVar

import msgspec
import numpy as np

from evidencebench.data.instance import Evaluation, Instance, Labels
from evidencebench.data.json_format import (
    EVALUATION_KEYS,
    PublishedEvaluation,
    encode_instance,
    evaluation_of,
    not_utf8,
    published_fields,
)
from evidencebench.data.tasks import TASKS
from evidencebench.errors import FormatError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.query import Kind, Query, Wish
from evidencebench.wording import counted

# A row of a Parquet data file: what its columns say of an instance, and the way back to the instance's JSON.


KEYS_KEY = "$keys"

T = TypeVar("T")


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The values of the columns for one instance; ``sources`` holds the sentences of each aspect, in paper order."""

    id: str
    paper_id: str
    hypothesis: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]
    aspects: tuple[str, ...]
    results: tuple[str, ...] | None
    sources: tuple[tuple[int, ...], ...]
    selections: tuple[tuple[int, ...] | None, ...]  # one a task of `EVALUATION_KEYS`
    other: str | None = None


class _Other(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of ``other`` that an instance is made of; it counts more than what follows from columns."""

    aspect_list_ids: tuple[str, ...] | None = None
    results_aspect_list_ids: tuple[str, ...] | None = None
    aspect2sentence_indices: dict[str, tuple[int, ...]] | None = None
    sentence_types_in_candidate_pool: tuple[Kind, ...] | None = None
    evidence_retrieval_at_optimal_evaluation: PublishedEvaluation | msgspec.UnsetType | None = msgspec.UNSET
    evidence_retrieval_at_10_evaluation: PublishedEvaluation | msgspec.UnsetType | None = msgspec.UNSET
    results_evidence_retrieval_at_optimal_evaluation: PublishedEvaluation | msgspec.UnsetType | None = msgspec.UNSET
    results_evidence_retrieval_at_5_evaluation: PublishedEvaluation | msgspec.UnsetType | None = msgspec.UNSET
    aspect_id2aspect: dict[str, str] | None = None
    systematic_review_id: str | int | None = None
    wish: Wish | None = None
    hypothesis: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    paper_as_candidate_pool: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    paper_id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    keys: tuple[str, ...] | None = msgspec.field(default=None, name=KEYS_KEY)


_NO_OTHER = _Other()

# Of each stored optimum: its task, its key, whether all aspects count, and whether the task asks for the fewest.
_OPTIMA = tuple(
    (task, key, TASKS[task].scope == "all", TASKS[task].budget == "optimal") for task, key in EVALUATION_KEYS.items()
)


class RowOrigin:
    """The JSON object of a row, put together when it is asked for."""

    names_itself = False

    def __init__(self, row: Row) -> None:
        self._row = row

    @cached_property
    def raw(self) -> bytes:
        """The JSON object, UTF-8."""
        return record_of(self._row)


def instance_of(row: Row) -> Instance:
    """Return the instance of a row; raises `FormatError` where its columns contradict each other."""
    if len(row.kinds) != len(row.sentences):
        expected = f"one type for each of {counted(len(row.sentences), 'sentence')}"
        raise FormatError(f"{row.id}: sentence_types: expected {expected}, got {len(row.kinds)}")
    other = _decode_other(row)
    return Instance(query=_query_of(row, other), labels=_labels_of(row, other), origin=RowOrigin(row))


def row_of(instance: Instance) -> Row:
    """Return the row of an instance, from which `instance_of` and `record_of` give it back."""
    row = Row(**_column_values(instance))
    return msgspec.structs.replace(row, other=_other_of(row, encode_instance(instance)))


def record_of(row: Row) -> bytes:
    """Return the JSON object of a row, on one line; raises `FormatError`."""
    other = _parsed(row, dict[str, msgspec.Raw])
    record = published_fields(_plain_instance(row)) | other
    if (keys := _decode_other(row).keys) is not None:
        try:
            record = {key: record[key] for key in keys}
        except KeyError as error:
            raise FormatError(
                f"{row.id}: other: {KEYS_KEY}: the key {error} has no value; take {KEYS_KEY} out of other"
            ) from error
    return msgspec.json.encode(record)


def _other_of(row: Row, record: bytes) -> str | None:
    """Return what the columns of a row do not say of a record, as JSON; None where they say it all."""
    try:
        fields = msgspec.json.decode(record, type=dict[str, msgspec.Raw])
        if KEYS_KEY in fields:
            raise FormatError(f"{row.id}: expected no key '{KEYS_KEY}', which the column other needs for itself")
        derived = published_fields(_plain_instance(row))
        other: dict[str, Any] = {
            key: raw for key, raw in fields.items() if key not in derived or not _is_json_of(derived[key], raw)
        }
        if list(fields) != list(derived | other):
            other[KEYS_KEY] = list(fields)
        return msgspec.json.encode(other).decode() if other else None
    except UnicodeDecodeError as error:
        byte = f"{error.object[error.start]:#04x}"
        raise FormatError(f"{row.id}: expected UTF-8, got byte {byte} in a key that is not read") from error


def _is_json_of(value: Any, raw: msgspec.Raw) -> bool:
    encoded = msgspec.json.encode(value)
    if encoded == bytes(raw):
        return True
    try:  # it may be the same with other escapes
        return encoded == msgspec.json.encode(msgspec.json.decode(raw))
    except (*BROKEN_JSON, OverflowError):  # in a key that is not read
        return False


def _decode_other(row: Row) -> _Other:
    if row.other is None:
        return _NO_OTHER
    other = _parsed(row, _Other)
    if other.hypothesis is other.paper_as_candidate_pool is other.paper_id is msgspec.UNSET:
        return other
    keys = ("hypothesis", "paper_as_candidate_pool", "paper_id")
    key = next(key for key in keys if getattr(other, key) is not msgspec.UNSET)
    raise FormatError(f"{row.id}: other: expected what the columns do not say, got the key '{key}' again")


def _parsed(row: Row, kind: type[T]) -> T:
    try:
        return msgspec.json.decode("{}" if row.other is None else row.other, type=kind)
    except BROKEN_JSON as error:
        raise FormatError(f"{row.id}: other: expected a JSON object, or null: {error}") from error


def _column_values(instance: Instance) -> dict[str, Any]:
    """Return the values of all columns but ``other`` for an instance."""
    query, labels = instance.query, instance.labels
    evaluations = (labels.evaluations.get(task) for task in EVALUATION_KEYS)
    return {
        "id": query.instance_id,
        "paper_id": query.paper_id,
        "hypothesis": query.hypothesis,
        "sentences": query.sentences,
        "kinds": query.kinds,
        "aspects": labels.aspects,
        "results": labels.results or None,
        "sources": tuple(tuple(sorted(set(labels.sources.get(aspect, ())))) for aspect in labels.aspects),
        "selections": tuple(None if one is None else one.sentences for one in evaluations),
    }


def _plain_instance(row: Row) -> Instance:
    """Return the instance that follows from the columns alone."""
    return Instance(query=_query_of(row, _NO_OTHER), labels=_labels_of(row, _NO_OTHER))


def _query_of(row: Row, other: _Other) -> Query:
    stored = other.sentence_types_in_candidate_pool
    if stored is not None and stored != row.kinds:
        raise _contradiction(row, "kinds")
    return Query(
        instance_id=row.id,
        paper_id=row.paper_id,
        hypothesis=row.hypothesis,
        sentences=row.sentences,
        kinds=row.kinds,
        wish=other.wish,
    )


def _labels_of(row: Row, other: _Other) -> Labels:
    """Return the labels: what stands in ``other``, where it agrees with the columns, else what follows from them."""
    stored, ids, results = other.aspect2sentence_indices, other.aspect_list_ids, other.results_aspect_list_ids
    if ids is not None and tuple(dict.fromkeys(ids)) != row.aspects:
        raise _contradiction(row, "aspects")
    if results is not None and (tuple(dict.fromkeys(results)) or None) != row.results:
        raise _contradiction(row, "results")
    if stored is not None:
        for aspect, sentences in zip(row.aspects, row.sources, strict=True):
            indices = stored.get(aspect, ())
            if indices != sentences and tuple(sorted({*indices})) != sentences:
                raise _contradiction(row, "sources")
    review_id = other.systematic_review_id
    return Labels(
        aspects=row.aspects,
        results=row.results or (),
        sources=dict(zip(row.aspects, row.sources, strict=True)) if stored is None else stored,
        texts=other.aspect_id2aspect or {},
        review_id=None if review_id is None else str(review_id),
        evaluations=_evaluations(row, other),
    )


def _evaluations(row: Row, other: _Other) -> dict[str, Evaluation]:
    evaluations: dict[str, Evaluation] = {}
    for (task, key, is_all, is_fewest), selection in zip(_OPTIMA, row.selections, strict=True):
        record = getattr(other, key)
        if record is msgspec.UNSET:
            if selection is not None:
                hit = set(compress(row.aspects, map(frozenset(selection).intersection, row.sources)))
                covered = tuple([aspect for aspect in (row.aspects if is_all else row.results or ()) if aspect in hit])
                optimal = len(selection) if is_fewest else None
                evaluations[task] = Evaluation(sentences=selection, covered=covered, optimal=optimal)
        elif selection != (None if record is None else record.one_selection_of_sentences):
            raise _contradiction(row, "selections")
        elif record is not None:
            evaluations[task] = evaluation_of(record)
    return evaluations


def _contradiction(row: Row, name: str) -> FormatError:
    """Return the error where a column was changed and ``other`` was not, so that they say different things."""
    return FormatError(
        f"{row.id}: {_COLUMN_NAMES.get(name, name)} and other: expected the same, got two that differ; correct one of "
        "them, or set other to null, which loses the keys that only it holds"
    )


_COLUMN_NAMES = {
    "kinds": "sentence_types",
    "results": "result_aspects",
    "sources": "sentence_aspects",
    "selections": "er_optimal, er_10, result_er_optimal, result_er_5",
}


# The columns of a Parquet data file: their types, rows to columns, and columns to rows.


REQUIRED = ("id", "paper_id", "hypothesis", "sentences", "sentence_types", "aspects", "sentence_aspects")
SELECTIONS = ("er_optimal", "er_10", "result_er_optimal", "result_er_5")  # in the order of `EVALUATION_KEYS`
OPTIONAL = ("result_aspects", *SELECTIONS, "other")


@cache
def schema() -> Any:
    """Return the Arrow schema of the files that are written."""
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
            got = file_schema.field(wanted.name).type
            wrong.append(f"{wanted.name}: expected {_shown(wanted.type)}, got {_shown(got)}")
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


def _shown(type_: Any) -> str:
    return str(type_).replace("element: ", "").replace("item: ", "")


def table_of(rows: Sequence[Row]) -> Any:
    """Return rows as an Arrow table; raises `FormatError` where a number is too large for its column."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    columns: dict[str, list[Any]] = {
        "id": [row.id for row in rows],
        "paper_id": [row.paper_id for row in rows],
        "hypothesis": [row.hypothesis for row in rows],
        "sentences": [row.sentences for row in rows],
        "sentence_types": [row.kinds for row in rows],
        "aspects": [row.aspects for row in rows],
        "result_aspects": [row.results for row in rows],
        "sentence_aspects": [_by_sentence(row) for row in rows],
        **{name: [row.selections[place] for row in rows] for place, name in enumerate(SELECTIONS)},
        "other": [row.other for row in rows],
    }
    try:
        return pa.table(columns, schema=schema())
    except (pa.ArrowInvalid, OverflowError) as error:
        raise FormatError(f"'{rows[0].id}' to '{rows[-1].id}': cannot be written as columns: {error}") from error


def _by_sentence(row: Row) -> list[list[int]]:
    by_sentence: list[list[int]] = [[] for _ in row.sentences]
    for position, sentences in enumerate(row.sources):
        for sentence in sentences:
            by_sentence[sentence].append(position)
    return by_sentence


class Rows:
    """The rows of an Arrow table whose columns `wrong_columns` accepts; raises Arrow's errors and `FormatError`."""

    def __init__(self, table: Any) -> None:
        columns = _cast(table)
        self._ids, self._papers, self._hypotheses, self._others = (
            texts_in(columns[name], name) for name in ("id", "paper_id", "hypothesis", "other")
        )
        self._sentences = _Lists("sentences", columns["sentences"], _TextsLater)
        self._kinds = _Lists("sentence_types", columns["sentence_types"], _kinds)
        self._aspects, self._results = (_Lists(name, columns[name], texts_in) for name in ("aspects", "result_aspects"))
        self._sources = _SentenceAspects(columns["sentence_aspects"])
        self._selections = [_Lists(name, columns[name], _numbers) for name in SELECTIONS]
        lists = (self._sentences, self._kinds, self._aspects, self._results, *self._selections)
        self._suspects = [one for one in lists if one.is_suspect]

    def row(self, number: int) -> Row:
        """Return a row; raises `FormatError` where something is null that must not be, or no text."""
        try:
            return self._row(number)
        except FormatError as error:
            raise FormatError(f"{self._ids[number]}: {error}") from error

    def _row(self, number: int) -> Row:
        paper, hypothesis = self._papers[number], self._hypotheses[number]
        if paper is None or hypothesis is None:
            raise FormatError(f"{'hypothesis' if hypothesis is None else 'paper_id'}: expected text, got null")
        for suspect in self._suspects:
            suspect.require_values(number)
        sentences, aspects = self._sentences.at(number), self._aspects.at(number)
        return Row(
            id=self._ids[number],
            paper_id=paper,
            hypothesis=hypothesis,
            sentences=sentences,
            kinds=self._kinds.at(number),
            aspects=aspects,
            results=self._results.at(number) or None,
            sources=self._sources.by_aspect(number, len(sentences), len(aspects)),
            selections=tuple([column.at(number) for column in self._selections]),
            other=self._others[number],
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


def texts_in(values: Any, name: str) -> list[Any]:
    """Return the texts of an array or column, null as None; raises `FormatError` where one is not UTF-8."""
    try:
        texts: list[Any] = values.to_pylist()
    except UnicodeDecodeError as error:  # pyarrow does not check what it reads
        raise FormatError(f"{name}: {not_utf8(error)}") from error
    return texts


class _TextsLater:
    """The texts of an array, of which those of a row are made when they are asked for: few fit a processor's cache."""

    def __init__(self, values: Any, name: str) -> None:
        self._values, self._name = values, name

    def __getitem__(self, part: slice) -> list[Any]:
        return texts_in(self._values.slice(part.start, part.stop - part.start), self._name)


def _numbers(values: Any, _name: str) -> list[Any]:
    numbers: list[Any] = values.to_pylist()
    return numbers


def _in_numpy(values: Any) -> Any:
    """Return 32-bit numbers as they lie in memory; pyarrow's ``to_numpy`` would import pandas, which takes a while."""
    n_values = len(values)
    return np.frombuffer(values.buffers()[1], np.int32, n_values, values.offset * 4) if n_values else np.zeros(0, int)


def _kinds(values: Any, name: str) -> list[Any]:
    """Return the kinds of sentences; text that is no kind as it is."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    encoded = values if isinstance(values, pa.DictionaryArray) else values.dictionary_encode()
    words = [_kind(word) for word in texts_in(encoded.dictionary, name)]
    indices = encoded.indices
    if indices.null_count:
        return [None if index is None else words[index] for index in indices.to_pylist()]
    kinds: list[Any] = np.array([*words, None], object)[_in_numpy(indices.cast("int32"))].tolist()
    return kinds


def _kinds_in(values: Any, name: str) -> list[Any]:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    words = values.dictionary if isinstance(values, pa.DictionaryArray) else values.unique()
    return list(map(_kind, texts_in(words, name)))


def _kind(word: Any) -> Any:
    try:
        return Kind(word)
    except ValueError:
        return word


class _Lists:
    """A column of lists, with a function that returns the values of all, or something that is sliced as they are."""

    def __init__(self, name: str, column: Any, values: Callable[[Any, str], Any]) -> None:
        self._name, self._is_kinds = name, values is _kinds
        self._starts: list[int] = column.offsets.to_pylist()
        self._is_null: list[bool] | None = column.is_null().to_pylist() if column.null_count else None
        self._values = values(column.values, name)
        is_allowed_null = self._is_null is None or name in OPTIONAL
        has_unknown = self._is_kinds and not all(isinstance(kind, Kind) for kind in _kinds_in(column.values, name))
        self.is_suspect = not is_allowed_null or column.values.null_count > 0 or has_unknown

    def at(self, row: int) -> Any:
        """Return the values of a row as a tuple, or None; raises `FormatError` where a text is not UTF-8."""
        if self._is_null is not None and self._is_null[row]:
            return None
        return tuple(self._values[self._starts[row] : self._starts[row + 1]])

    def require_values(self, row: int) -> None:
        """Raise `FormatError` where a row is null and must not be, or one of its values is null or no kind."""
        values = self.at(row)
        if values is None and self._name not in OPTIONAL:
            raise FormatError(f"{self._name}: expected a list, got null")
        for position, value in enumerate(values or ()):
            if value is None:
                raise FormatError(f"{self._name}: expected no null in the list, got one at position {position}")
            if self._is_kinds and not isinstance(value, Kind):
                expected = ", ".join(kind.value for kind in Kind)
                raise FormatError(f"{self._name}: expected one of {expected} for sentence {position}, got '{value}'")


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
        self._positions = _numbers(by_sentence.values, "sentence_aspects")
        self._counts: list[int] = np.diff(outer).tolist()
        self._has_null = bool(column.null_count or by_sentence.null_count or by_sentence.values.null_count)

    def by_aspect(self, row: int, n_sentences: int, n_aspects: int) -> tuple[tuple[int, ...], ...]:
        """Return the sentences of each aspect of a row, in the paper's order.

        Raises `FormatError` unless there is a list for each sentence, and each position in it is that of an aspect.
        """
        if self._counts[row] != n_sentences:
            expected = f"one list for each of {counted(n_sentences, 'sentence')}"
            raise FormatError(f"sentence_aspects: expected {expected}, got {self._counts[row]}")
        start, stop = self._starts[row], self._starts[row + 1]
        sentences, positions = self._sentences[start - self._first : stop - self._first], self._positions[start:stop]
        if self._has_null and None in positions:
            raise FormatError("sentence_aspects: expected positions in aspects, got null")
        if positions and not 0 <= min(positions) <= max(positions) < n_aspects:
            at = next(index for index, position in enumerate(positions) if not 0 <= position < n_aspects)
            raise FormatError(
                f"sentence_aspects: expected positions in aspects, of which there are {n_aspects}, got "
                f"{positions[at]} for sentence {sentences[at]}"
            )
        sentences_by_aspect: list[list[int]] = [[] for _ in range(n_aspects)]
        for sentence, position in zip(sentences, positions, strict=True):
            sentences_by_aspect[position].append(sentence)
        return tuple(map(tuple, sentences_by_aspect))
