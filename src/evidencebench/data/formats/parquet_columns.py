"""The columns of a Parquet data file: their types, rows to columns, and columns to rows.

Files of other programs may have other widths of numbers, large strings and lists, or dictionaries of strings: they are
cast. pyarrow is imported where it is used, since it is an extra.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evidencebench.data.formats.parquet_row import Row
from evidencebench.errors import FormatError
from evidencebench.query import Kind
from evidencebench.wording import counted

REQUIRED = ("id", "paper_id", "hypothesis", "sentences", "sentence_types", "aspects", "sentence_aspects")
SELECTIONS = ("er_optimal", "er_10", "result_er_optimal", "result_er_5")  # in the order of `EVALUATION_KEYS`
OPTIONAL = ("result_aspects", *SELECTIONS, "other")


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


def wrong_columns(found: Any) -> list[str]:
    """Return what is wrong with the columns of a file's schema, each as ``column: expected ..., got ...``."""
    names = set(found.names)
    wrong = [f"{name}: expected a column of this name, got none" for name in REQUIRED if name not in names]
    for field in schema():
        if field.name in names and not _can_hold(found.field(field.name).type, field.type):
            got = found.field(field.name).type
            wrong.append(f"{field.name}: expected {_shown(field.type)}, got {_shown(got)}")
    return wrong


def _can_hold(found: Any, wanted: Any) -> bool:
    """Say whether a column's type is read as the wanted one: lists as lists, text as text, whole numbers as such."""
    import pyarrow.types as of  # noqa: PLC0415 - an extra

    if of.is_null(found):
        return True
    if of.is_list(wanted):
        return bool(of.is_list(found) or of.is_large_list(found)) and _can_hold(found.value_type, wanted.value_type)
    if of.is_string(wanted):
        text = found.value_type if of.is_dictionary(found) else found
        return bool(of.is_string(text) or of.is_large_string(text) or of.is_string_view(text))
    return bool(of.is_integer(found))


def _shown(found: Any) -> str:
    return str(found).replace("element: ", "").replace("item: ", "")


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
    for sentence, position in row.sources:
        by_sentence[sentence].append(position)
    return by_sentence


class Rows:
    """The rows of an Arrow table whose columns `wrong_columns` accepts; an Arrow error where a number is too large."""

    def __init__(self, table: Any) -> None:
        columns = _cast(table)
        self._ids, self._papers, self._hypotheses = (columns[name].to_pylist() for name in REQUIRED[:3])
        self._sentences = _Lists(columns["sentences"], _texts)
        self._kinds = _Lists(columns["sentence_types"], _kinds)
        self._aspects, self._results = (_Lists(columns[name], _texts) for name in ("aspects", "result_aspects"))
        self._sources = _SentenceAspects(columns["sentence_aspects"])
        self._selections = [_Lists(columns[name], _numbers) for name in SELECTIONS]
        self._others = columns["other"].to_pylist()

    def row(self, place: int) -> Row:
        """Return a row; raises `FormatError` where something is null that must not be."""
        found = Row(
            id=self._ids[place],
            paper_id=self._papers[place],
            hypothesis=self._hypotheses[place],
            sentences=self._sentences.at(place),
            kinds=self._kinds.at(place),
            aspects=self._aspects.at(place),
            results=self._results.at(place) or None,
            sources=self._sources.pairs(place),
            selections=tuple([column.at(place) for column in self._selections]),
            other=self._others[place],
        )
        if found.paper_id is None or found.hypothesis is None:
            column = "hypothesis" if found.hypothesis is None else "paper_id"
            raise FormatError(f"{found.id}: {column}: expected text, got null")
        lists = (("sentences", self._sentences), ("sentence_types", self._kinds), ("aspects", self._aspects))
        for name, column in (
            *lists,
            ("result_aspects", self._results),
            *zip(SELECTIONS, self._selections, strict=True),
        ):
            column.require_values(f"{found.id}: {name}", place, is_optional=name in OPTIONAL)
        self._sources.require_values(f"{found.id}: sentence_aspects", place, len(found.sentences))
        return found


def _cast(table: Any) -> dict[str, Any]:
    """Return the columns, each in one piece and of the type of `schema`; optional ones that are missing are null."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    columns = {}
    for field in schema():
        if field.name not in table.column_names:
            columns[field.name] = pa.nulls(table.num_rows, field.type)
            continue
        column = table.column(field.name)
        is_kinds = field.name == "sentence_types" and pa.types.is_list(column.type)
        if not (is_kinds and pa.types.is_dictionary(column.type.value_type)) and column.type != field.type:
            column = column.cast(field.type)
        whole = column.combine_chunks()
        if isinstance(whole, pa.ChunkedArray):  # more than 2 GB of text
            raise FormatError(f"{field.name}: expected at most 2 GB in a row group; write smaller row groups")
        columns[field.name] = whole
    return columns


def _texts(values: Any) -> list[Any]:
    found: list[Any] = values.to_numpy(zero_copy_only=False).tolist()  # twice as fast as to_pylist()
    return found


def _numbers(values: Any) -> list[Any]:
    found: list[Any] = values.to_pylist() if values.null_count else values.to_numpy().tolist()
    return found


def _kinds(values: Any) -> list[Any]:
    """Return the kinds of sentences; text that is no kind as it is."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    encoded = values if isinstance(values, pa.DictionaryArray) else values.dictionary_encode()
    words = [_kind(word) for word in encoded.dictionary.to_pylist()]
    indices = encoded.indices
    if indices.null_count:
        return [None if index is None else words[index] for index in indices.to_pylist()]
    found: list[Any] = np.array([*words, None], object)[indices.to_numpy()].tolist()
    return found


def _words_in(values: Any) -> list[Any]:
    """Return the different texts of an array."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    found: list[Any] = (values.dictionary if isinstance(values, pa.DictionaryArray) else values.unique()).to_pylist()
    return found


def _kind(word: Any) -> Any:
    try:
        return Kind(word)
    except ValueError:
        return word


class _Lists:
    """A column of lists, with a function that returns the values of all."""

    def __init__(self, column: Any, values: Callable[[Any], list[Any]]) -> None:
        self._starts: list[int] = column.offsets.to_pylist()
        self._is_null: list[bool] | None = column.is_null().to_pylist() if column.null_count else None
        self._values = values(column.values)
        self._has_null = column.values.null_count > 0
        self._is_kinds = values is _kinds
        self._has_unknown = self._is_kinds and not all(
            isinstance(_kind(word), Kind) for word in _words_in(column.values)
        )

    def at(self, place: int) -> Any:
        """Return the values of a row as a tuple, or None."""
        if self._is_null is not None and self._is_null[place]:
            return None
        return tuple(self._values[self._starts[place] : self._starts[place + 1]])

    def require_values(self, where: str, place: int, *, is_optional: bool) -> None:
        """Raise `FormatError` where a row is null, or one of its values is, or is no kind."""
        if not (self._is_null or self._has_null or self._has_unknown):
            return
        found = self.at(place)
        if found is None and not is_optional:
            raise FormatError(f"{where}: expected a list, got null")
        for position, value in enumerate(found or ()):
            if value is None:
                raise FormatError(f"{where}: expected no null in the list, got one at position {position}")
            if self._is_kinds and not isinstance(value, Kind):
                expected = ", ".join(kind.value for kind in Kind)
                raise FormatError(f"{where}: expected one of {expected} for sentence {position}, got '{value}'")


class _SentenceAspects:
    """The column with a list for each sentence: the positions of its aspects."""

    def __init__(self, column: Any) -> None:
        by_sentence = column.values
        outer, inner = column.offsets.to_numpy(), by_sentence.offsets.to_numpy()
        first, last = int(outer[0]), int(outer[-1])
        sentence = np.arange(first, last) - np.repeat(outer[:-1], np.diff(outer))
        self._starts: list[int] = inner[outer].tolist()
        self._first = int(inner[first])
        self._sentences: list[int] = np.repeat(sentence, np.diff(inner)[first:last]).tolist()
        self._positions = _numbers(by_sentence.values)
        self._counts: list[int] = np.diff(outer).tolist()
        self._has_null = bool(column.null_count or by_sentence.null_count or by_sentence.values.null_count)

    def pairs(self, place: int) -> tuple[tuple[int, int], ...]:
        """Return (sentence, position of its aspect) of a row, by sentence."""
        start, stop = self._starts[place], self._starts[place + 1]
        sentences = self._sentences[start - self._first : stop - self._first]
        return tuple(zip(sentences, self._positions[start:stop], strict=True))

    def require_values(self, where: str, place: int, n_sentences: int) -> None:
        """Raise `FormatError` unless a row has a list for each sentence, and no null among the positions."""
        if self._counts[place] != n_sentences:
            expected = f"one list for each of {counted(n_sentences, 'sentence')}"
            raise FormatError(f"{where}: expected {expected}, got {self._counts[place]}")
        if self._has_null and any(position is None for _, position in self.pairs(place)):
            raise FormatError(f"{where}: expected positions in aspects, got null")
