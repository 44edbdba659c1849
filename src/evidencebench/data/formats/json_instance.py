"""One instance as the published files spell it: no other module knows their keys."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import msgspec

from evidencebench.data.instance import Evaluation, Instance, Labels, StoredForm
from evidencebench.errors import FormatError
from evidencebench.query import Kind, Query, Wish
from evidencebench.storage.reading import BROKEN_JSON
from evidencebench.wording import counted

# Task name -> the key under which its stored optimum stands.
EVALUATION_KEYS: Mapping[str, str] = {
    "er_at_optimal": "evidence_retrieval_at_optimal_evaluation",
    "er_at_10": "evidence_retrieval_at_10_evaluation",
    "result_er_at_optimal": "results_evidence_retrieval_at_optimal_evaluation",
    "result_er_at_5": "results_evidence_retrieval_at_5_evaluation",
}


class PublishedEvaluation(msgspec.Struct):
    """A stored optimum."""

    one_selection_of_sentences: tuple[int, ...]
    covered_aspects: tuple[str, ...]
    optimal: int | None = None


class _PublishedInstance(msgspec.Struct):
    """The fields that are read; ``sentence_index2aspects``, the inverse of ``aspect2sentence_indices``, is skipped."""

    hypothesis: str
    paper_as_candidate_pool: tuple[str, ...]
    aspect_list_ids: tuple[str, ...]
    aspect2sentence_indices: dict[str, tuple[int, ...]]
    sentence_types_in_candidate_pool: tuple[Kind, ...]
    paper_id: str
    results_aspect_list_ids: tuple[str, ...] | None = None
    evidence_retrieval_at_optimal_evaluation: PublishedEvaluation | None = None
    evidence_retrieval_at_10_evaluation: PublishedEvaluation | None = None
    results_evidence_retrieval_at_optimal_evaluation: PublishedEvaluation | None = None
    results_evidence_retrieval_at_5_evaluation: PublishedEvaluation | None = None
    aspect_id2aspect: dict[str, str] | None = None
    systematic_review_id: str | int | None = None
    wish: Wish | None = None


_decoder = msgspec.json.Decoder(_PublishedInstance)


def decode_instance(instance_id: str, origin: StoredForm) -> Instance:
    """Return the instance in a published JSON object; ``instance_id`` is its id in the file.

    Raises `FormatError` if a field is missing or of the wrong type, if the kinds are not one a sentence, or if a source
    is out of range. `evidencebench.data.validation.validate` reports every such place; this stops at the first.
    """
    try:
        record = _decoder.decode(origin.raw)
    except BROKEN_JSON as error:
        raise FormatError(f"{instance_id}: {error}") from error
    _check_lengths(instance_id, record)
    query = Query(
        instance_id=instance_id,
        paper_id=record.paper_id,
        hypothesis=record.hypothesis,
        sentences=record.paper_as_candidate_pool,
        kinds=record.sentence_types_in_candidate_pool,
        wish=record.wish,
    )
    review_id = record.systematic_review_id
    labels = Labels(
        aspects=tuple(dict.fromkeys(record.aspect_list_ids)),
        results=tuple(dict.fromkeys(record.results_aspect_list_ids or ())),
        sources=record.aspect2sentence_indices,
        texts=record.aspect_id2aspect or {},
        review_id=None if review_id is None else str(review_id),
        evaluations={
            task: evaluation_of(found) for task, key in EVALUATION_KEYS.items() if (found := getattr(record, key))
        },
    )
    return Instance(query=query, labels=labels, origin=origin)


def evaluation_of(record: PublishedEvaluation) -> Evaluation:
    """Return a stored optimum as an `Evaluation`."""
    return Evaluation(
        sentences=record.one_selection_of_sentences, covered=record.covered_aspects, optimal=record.optimal
    )


def _check_lengths(instance_id: str, record: _PublishedInstance) -> None:
    n_sentences = len(record.paper_as_candidate_pool)
    if len(record.sentence_types_in_candidate_pool) != n_sentences:
        raise FormatError(
            f"{instance_id}: sentence_types_in_candidate_pool: expected one type for each of "
            f"{counted(n_sentences, 'sentence')}, got {len(record.sentence_types_in_candidate_pool)}"
        )
    used = tuple(chain.from_iterable(record.aspect2sentence_indices.values()))
    if not used or (min(used) >= 0 and max(used) < n_sentences):
        return
    for aspect, indices in record.aspect2sentence_indices.items():
        for wrong in (index for index in indices if not 0 <= index < n_sentences):
            raise FormatError(
                f"{instance_id}: aspect '{aspect}' points at sentence {wrong}, "
                f"but the paper has sentences 0..{n_sentences - 1}"
            )


def encode_instance(instance: Instance) -> bytes:
    """Return the published JSON object of an instance, on one line.

    Fields that were read and not changed are written as they were read: unknown keys, null or missing fields, the 100k
    dialect's spellings and duplicate indices all survive.
    """
    if instance.origin is None:
        return msgspec.json.encode(published_fields(instance))
    before = decode_instance(instance.id, instance.origin)
    if before == instance and not instance.origin.names_itself:
        return msgspec.json.format(bytes(instance.origin.raw), indent=-1)
    try:
        fields: dict[str, Any] = msgspec.json.decode(instance.origin.raw)
    except BROKEN_JSON as error:
        raise FormatError(f"{instance.id}: cannot be written with its unknown keys: {error}") from error
    if instance.origin.names_itself:
        del fields["id"]
    old, new = published_fields(before), published_fields(instance)
    for key in old.keys() - new.keys():
        del fields[key]
    changed = {key: value for key, value in new.items() if key not in old or old[key] != value}
    if "sentence_types_in_candidate_pool" in changed and spells_with_spaces(fields["sentence_types_in_candidate_pool"]):
        changed["sentence_types_in_candidate_pool"] = [kind.replace("_", " ") for kind in instance.query.kinds]
    if not changed.keys().isdisjoint(EVALUATION_KEYS.values()):
        changed |= {key: new[key] for key in EVALUATION_KEYS.values()}  # derived anew: all four, null included
    return msgspec.json.encode(fields | changed)


def has_key_id(fields: bytes) -> bool:
    """Say whether an encoded instance has a key ``id``, under which a line of JSON Lines would put its id."""
    return "id" in msgspec.json.decode(fields, type=dict[str, msgspec.Raw])


def spells_with_spaces(kinds: Iterable[Any]) -> bool:
    """Say whether sentence types are spelled as EvidenceBench-100k spells them."""
    return any(" " in kind for kind in {kind for kind in kinds if isinstance(kind, str)})


def published_fields(instance: Instance) -> dict[str, Any]:
    """Return an instance in the keys of the published format, in their order, whatever file it was read from."""
    query, labels = instance.query, instance.labels
    fields: dict[str, Any] = {
        "hypothesis": query.hypothesis,
        "paper_as_candidate_pool": query.sentences,
        "aspect_list_ids": labels.aspects,
        "results_aspect_list_ids": labels.results or None,
        "aspect2sentence_indices": {aspect: labels.sources.get(aspect, ()) for aspect in labels.aspects},
        "sentence_index2aspects": _inverse(labels, len(query.sentences)),
    }
    for task, key in EVALUATION_KEYS.items():
        fields[key] = None
        if (evaluation := labels.evaluations.get(task)) is not None:
            optimal = {} if evaluation.optimal is None else {"optimal": evaluation.optimal}
            fields[key] = {
                **optimal,
                "one_selection_of_sentences": evaluation.sentences,
                "covered_aspects": evaluation.covered,
            }
    fields["sentence_types_in_candidate_pool"] = query.kinds
    fields["paper_id"] = query.paper_id
    if labels.texts:
        fields["aspect_id2aspect"] = labels.texts
    if labels.review_id is not None:
        fields["systematic_review_id"] = labels.review_id
    if query.wish is not None:
        fields["wish"] = query.wish
    return fields


def _inverse(labels: Labels, n_sentences: int) -> dict[str, list[str]]:
    aspects_of: dict[str, list[str]] = {str(index): [] for index in range(n_sentences)}
    for aspect in labels.aspects:
        for index in dict.fromkeys(labels.sources.get(aspect, ())):
            aspects_of[str(index)].append(aspect)
    return aspects_of
