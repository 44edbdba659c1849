"""A row of a Parquet data file: what its columns say of an instance, and the way back to the instance's JSON.

The columns say what nearly every record says in the same way. ``other`` is a JSON object with the rest: each key whose
value does not follow from the columns and, under `KEYS_KEY`, the keys of a record that has not those of the originals
in their order.
"""

from functools import cached_property
from itertools import compress
from typing import Any, TypeVar

import msgspec

from evidencebench.data.formats.json_instance import (
    EVALUATION_KEYS,
    PublishedEvaluation,
    encode_instance,
    evaluation_of,
    published_fields,
)
from evidencebench.data.instance import Evaluation, Instance, Labels
from evidencebench.data.tasks import TASKS
from evidencebench.errors import FormatError
from evidencebench.query import Kind, Query, Wish
from evidencebench.storage.reading import BROKEN_JSON
from evidencebench.wording import counted

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
