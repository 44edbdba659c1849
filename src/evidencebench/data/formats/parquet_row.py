"""A row of a Parquet data file: what its columns say of an instance, and the way back to the instance's JSON.

The columns say what nearly every record says in the same way. ``other`` is a JSON object with the rest: each key whose
value does not follow from the columns, and under `SPELLING_KEY` how the record was spelled (`Spelling`).
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import msgspec

from evidencebench.data.formats.json_instance import (
    EVALUATION_KEYS,
    PublishedEvaluation,
    decode_instance,
    encode_instance,
    evaluation_of,
    published_fields,
)
from evidencebench.data.instance import Evaluation, Instance, Labels, Origin
from evidencebench.data.tasks import TASKS
from evidencebench.errors import FormatError
from evidencebench.query import Kind, Query, Wish
from evidencebench.storage.reading import BROKEN_JSON
from evidencebench.wording import counted

SPELLING_KEY = "$json"
"""The key of `other` under which the spelling of the record stands."""

_KINDS_KEY = "sentence_types_in_candidate_pool"


class Spelling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a record was spelled: the order of its keys, where it is not that of the originals.

    ``ascii``: other characters are escaped, as Python's json module does; ``spaces``: the kinds are spelled as
    EvidenceBench-100k spells them. ``text`` is the whole record, where all this does not give it back to the byte.
    """

    keys: tuple[str, ...] | None = None
    ascii: bool = False
    spaces: bool = False
    text: str | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The values of the columns for one instance; ``sources`` holds (sentence, position of its aspect) pairs."""

    id: str
    paper_id: str
    hypothesis: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]
    aspects: tuple[str, ...]
    results: tuple[str, ...] | None
    sources: tuple[tuple[int, int], ...]
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
    bias: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # only RoBBR-SSR has it
    spelling: Spelling = msgspec.field(default=Spelling(), name=SPELLING_KEY)


_other_decoder = msgspec.json.Decoder(_Other)


class RowOrigin:
    """The JSON object of a row, put together when it is asked for."""

    __slots__ = ("__dict__", "_row")
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
    plain = _plain_instance(row)
    if row.other is None:
        return Instance(query=plain.query, labels=plain.labels, origin=RowOrigin(row))
    other = _decode_other(row)
    if other.spelling.text is not None or other.bias is not msgspec.UNSET:
        found = decode_instance(row.id, Origin(raw=record_of(row)))
        query, labels = found.query, found.labels
    else:
        query, labels = _with_other(plain, other)
    found = Instance(query=query, labels=labels, origin=RowOrigin(row))
    _require_agreement(row, found)
    return found


def row_of(instance: Instance) -> Row:
    """Return the row of an instance, from which `instance_of` and `record_of` give it back."""
    row = _columns_of(instance)
    return msgspec.structs.replace(row, other=_other_of(row, encode_instance(instance)))


def record_of(row: Row) -> bytes:
    """Return the JSON object of a row, on one line, as the instance was spelled; raises `FormatError`."""
    other = _decode_other(row) if row.other is not None else _Other()
    if other.spelling.text is not None:
        return other.spelling.text.encode()
    try:
        fields: dict[str, Any] = {} if row.other is None else msgspec.json.decode(row.other)
    except BROKEN_JSON as error:
        raise FormatError(f"{row.id}: other: {error}") from error
    fields.pop(SPELLING_KEY, None)
    return _spelled(row, _derived(row, other.spelling), fields, other.spelling)


def _spelled(row: Row, derived: Mapping[str, Any], other: Mapping[str, Any], spelling: Spelling) -> bytes:
    record = {**derived, **other}
    if spelling.keys is not None:
        try:
            record = {key: record[key] for key in spelling.keys}
        except KeyError as error:
            raise FormatError(
                f"{row.id}: other: {SPELLING_KEY}: the key {error} has no value; take {SPELLING_KEY} out of other"
            ) from error
    if spelling.ascii:
        return json.dumps(record, separators=(",", ":")).encode()
    return msgspec.json.encode(record)


def _derived(row: Row, spelling: Spelling) -> dict[str, Any]:
    """Return the published record that follows from the columns alone."""
    derived = published_fields(_plain_instance(row))
    if spelling.spaces:
        derived[_KINDS_KEY] = [kind.replace("_", " ") for kind in row.kinds]
    return derived


def _other_of(row: Row, record: bytes) -> str | None:
    """Return what the columns of a row do not say of a record, as JSON; None where they say it all."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(record)
    except BROKEN_JSON:  # in a key that this version does not know
        fields = {SPELLING_KEY: None}
    if SPELLING_KEY not in fields:
        kinds = fields.get(_KINDS_KEY)
        is_spaced = isinstance(kinds, list) and kinds == [kind.replace("_", " ") for kind in row.kinds]
        spelling = Spelling(ascii=b"\\u" in record, spaces=is_spaced and kinds != list(row.kinds))
        derived = _derived(row, spelling)
        other = {
            key: value
            for key, value in fields.items()
            if key not in derived or msgspec.json.encode(derived[key]) != msgspec.json.encode(value)
        }
        if list(fields) != list(derived | other):
            spelling = msgspec.structs.replace(spelling, keys=tuple(fields))
        try:
            if _spelled(row, derived, other, spelling) == record:
                if spelling != Spelling():
                    other[SPELLING_KEY] = spelling
                return msgspec.json.encode(other).decode() if other else None
        except (ValueError, RecursionError):  # what Python can read of JSON and not write
            pass
    return msgspec.json.encode({SPELLING_KEY: Spelling(text=_text_of(row, record))}).decode()


def _text_of(row: Row, record: bytes) -> str:
    try:
        return record.decode()
    except UnicodeDecodeError as error:
        byte = f"{error.object[error.start]:#04x}"
        raise FormatError(f"{row.id}: expected UTF-8, got byte {byte} in a key that is not read") from error


def _decode_other(row: Row) -> _Other:
    try:
        other = _other_decoder.decode(row.other or "")
    except BROKEN_JSON as error:
        raise FormatError(f"{row.id}: other: expected a JSON object, or null: {error}") from error
    for key in ("hypothesis", "paper_as_candidate_pool", "paper_id"):
        if getattr(other, key) is not msgspec.UNSET:
            raise FormatError(f"{row.id}: other: expected what the columns do not say, got the key '{key}' again")
    return other


def _columns_of(instance: Instance) -> Row:
    query, labels = instance.query, instance.labels
    positions = {aspect: position for position, aspect in enumerate(labels.aspects)}
    pairs = {
        (sentence, positions[aspect])
        for aspect, sentences in labels.sources.items()
        if aspect in positions
        for sentence in sentences
    }
    evaluations = (labels.evaluations.get(task) for task in EVALUATION_KEYS)
    return Row(
        id=query.instance_id,
        paper_id=query.paper_id,
        hypothesis=query.hypothesis,
        sentences=query.sentences,
        kinds=query.kinds,
        aspects=labels.aspects,
        results=labels.results or None,
        sources=tuple(sorted(pairs)),
        selections=tuple(None if one is None else one.sentences for one in evaluations),
    )


def _plain_instance(row: Row) -> Instance:
    """Return the instance that follows from the columns alone."""
    indices: list[list[int]] = [[] for _ in row.aspects]
    for sentence, position in row.sources:
        if not 0 <= position < len(indices):
            raise FormatError(
                f"{row.id}: sentence_aspects: expected positions in aspects, of which there are {len(indices)}, got "
                f"{position} for sentence {sentence}"
            )
        indices[position].append(sentence)
    results = row.results or ()
    evaluations = {}
    for task, selection in zip(EVALUATION_KEYS, row.selections, strict=True):
        if selection is not None:
            chosen = frozenset(selection)
            hit = {row.aspects[position] for sentence, position in row.sources if sentence in chosen}
            counted_aspects = row.aspects if TASKS[task].scope == "all" else results
            optimal = len(selection) if TASKS[task].budget == "optimal" else None
            covered = tuple(filter(hit.__contains__, counted_aspects))
            evaluations[task] = Evaluation(sentences=selection, covered=covered, optimal=optimal)
    query = Query(
        instance_id=row.id,
        paper_id=row.paper_id,
        hypothesis=row.hypothesis,
        sentences=row.sentences,
        kinds=row.kinds,
    )
    sources = dict(zip(row.aspects, map(tuple, indices), strict=True))
    return Instance(
        query=query, labels=Labels(aspects=row.aspects, results=results, sources=sources, evaluations=evaluations)
    )


def _with_other(plain: Instance, other: _Other) -> tuple[Query, Labels]:
    query, labels = plain.query, plain.labels
    if other.wish is not None or other.sentence_types_in_candidate_pool is not None:
        kinds = other.sentence_types_in_candidate_pool or query.kinds
        query = replace(query, kinds=kinds, wish=other.wish)
    evaluations = dict(labels.evaluations)
    for task, key in EVALUATION_KEYS.items():
        stored: PublishedEvaluation | msgspec.UnsetType | None = getattr(other, key)
        if stored is None:
            evaluations.pop(task, None)
        elif stored is not msgspec.UNSET:
            evaluations[task] = evaluation_of(stored)
    review_id, ids, results = other.systematic_review_id, other.aspect_list_ids, other.results_aspect_list_ids
    return query, Labels(
        aspects=labels.aspects if ids is None else tuple(dict.fromkeys(ids)),
        results=labels.results if results is None else tuple(dict.fromkeys(results)),
        sources=labels.sources if other.aspect2sentence_indices is None else other.aspect2sentence_indices,
        texts=other.aspect_id2aspect or {},
        review_id=None if review_id is None else str(review_id),
        evaluations=evaluations,
    )


def _require_agreement(row: Row, found: Instance) -> None:
    """Raise where a column was changed and ``other`` was not, so that they say different things."""
    columns = _columns_of(found)
    for name in _COMPARED:
        if getattr(row, name) != getattr(columns, name):
            raise FormatError(
                f"{row.id}: {_COLUMN_NAMES.get(name, name)} and other: expected the same, got two that differ; correct "
                "one of them, or set other to null, which loses the keys that only it holds"
            )


_COMPARED = tuple(name for name in Row.__struct_fields__ if name != "other")
_COLUMN_NAMES = {
    "kinds": "sentence_types",
    "results": "result_aspects",
    "sources": "sentence_aspects",
    "selections": "er_optimal, er_10, result_er_optimal, result_er_5",
}
