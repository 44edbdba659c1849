"""The rules of the published format, each a function that checks plain JSON values and records violations."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_args

from evidencebench.data.formats.json_instance import EVALUATION_KEYS, spells_with_spaces
from evidencebench.data.validation.checked_record import (
    CheckedRecord,
    Violation,
    are_all,
    has_type,
    shown,
)
from evidencebench.data.validation.evaluation_rules import check_evaluation
from evidencebench.query import Kind, Wish
from evidencebench.wording import counted

# Both dialects' spellings, each once.
_KINDS = tuple(dict.fromkeys([*map(str, Kind), *(kind.replace("_", " ") for kind in Kind)]))
_KNOWN_KINDS = frozenset(_KINDS)


def check_record(instance_id: str, record: Any) -> list[Violation]:
    """Return all violations in an instance, except those of optimality."""
    checked = CheckedRecord(instance_id, record if isinstance(record, dict) else {})
    if not checked.expect("$", record, dict, "an object"):
        return checked.found
    kinds = record.get("sentence_types_in_candidate_pool")
    # Of EvidenceBench-100k, whose aspects may lack sentences.
    checked.is_dialect = "systematic_review_id" in record or (isinstance(kinds, list) and spells_with_spaces(kinds))
    for check in (_check_texts, _check_extras, _check_kinds, _check_aspects, _check_sources, _check_inverse):
        check(checked)
    for task in EVALUATION_KEYS:
        check_evaluation(checked, task)
    return checked.found


def _check_texts(checked: CheckedRecord) -> None:
    for key in ("hypothesis", "paper_id"):
        checked.field(key, str, "a string")
    checked.sentences = checked.field("paper_as_candidate_pool", list, "a list of sentences")
    if checked.sentences is not None:
        if not checked.sentences:
            checked.note("$.paper_as_candidate_pool", "length", "at least one sentence", "none")
        checked.expect_strings("$.paper_as_candidate_pool", checked.sentences)


def _check_extras(checked: CheckedRecord) -> None:
    """Check the fields that only some files have."""
    texts = checked.record.get("aspect_id2aspect")
    if texts is not None and checked.expect("$.aspect_id2aspect", texts, dict, "an object: aspect id -> text"):
        for aspect, text in texts.items():
            checked.expect(f"$.aspect_id2aspect[{shown(aspect)}]", text, str, "a string")
    review = checked.record.get("systematic_review_id")
    if not (review is None or isinstance(review, str) or has_type(int, review)):
        checked.note("$.systematic_review_id", "type", "a string or a whole number", shown(review))
    wish = checked.record.get("wish")
    if wish is not None and wish not in get_args(Wish):
        checked.note("$.wish", "type", "'answer', 'study' or null", shown(wish))


def _check_kinds(checked: CheckedRecord) -> None:
    path = "$.sentence_types_in_candidate_pool"
    kinds = checked.field("sentence_types_in_candidate_pool", list, "a list of sentence types")
    if kinds is None:
        return
    if checked.sentences is not None and len(kinds) != len(checked.sentences):
        checked.note(
            path, "length", f"one type for each of {counted(len(checked.sentences), 'sentence')}", str(len(kinds))
        )
    if are_all(str, kinds) and _KNOWN_KINDS.issuperset(kinds):
        return
    for index, kind in enumerate(kinds):
        if not (isinstance(kind, str) and kind in _KNOWN_KINDS):
            checked.note(f"{path}[{index}]", "kind", f"one of {', '.join(_KINDS)}", shown(kind))


def _check_aspects(checked: CheckedRecord) -> None:
    checked.aspects = _id_list(checked, "aspect_list_ids")
    if checked.aspects == []:
        checked.note("$.aspect_list_ids", "length", "at least one aspect", "none")
    key = "results_aspect_list_ids"
    if checked.record.get(key) is None:
        if key not in checked.record and not checked.is_dialect:
            checked.note(f"$.{key}", "type", "a list of aspect ids, or null", "nothing")
        return
    results = _id_list(checked, key)
    if results is None:
        return
    if not results:
        checked.note(f"$.{key}", "length", "null where there are no Results aspects", "an empty list")
    for index, aspect in enumerate(results):
        if checked.aspects is not None and aspect not in checked.aspects:
            checked.note(f"$.{key}[{index}]", "subset", "an id of aspect_list_ids", shown(aspect))


def _id_list(checked: CheckedRecord, key: str) -> list[str] | None:
    """Return the strings of a list of ids, each bad or repeated one recorded; None if it is no list."""
    values = checked.field(key, list, "a list of aspect ids")
    if values is None:
        return None
    seen: dict[str, None] = {}
    for index, value in enumerate(values):
        if not checked.expect(f"$.{key}[{index}]", value, str, "an aspect id"):
            continue
        if value in seen:
            checked.note(f"$.{key}[{index}]", "unique", "an id that stands once", f"{shown(value)} again")
        seen[value] = None
    return list(seen)


def _check_sources(checked: CheckedRecord) -> None:
    path = "$.aspect2sentence_indices"
    sources = checked.field("aspect2sentence_indices", dict, "an object: aspect id -> sentence indices")
    if sources is None:
        return
    for aspect, indices in sources.items():
        here = f"{path}[{shown(aspect)}]"
        if checked.aspects is not None and aspect not in checked.aspects:
            checked.note(here, "subset", "an id of aspect_list_ids", shown(aspect))
        if checked.expect(here, indices, list, "a list of sentence indices"):
            checked.sources[aspect] = checked.indices(here, indices)
    for aspect in checked.aspects or ():
        if aspect not in sources or sources[aspect] == []:
            expected = "at least one sentence" if aspect in sources else "an entry for every aspect"
            checked.note(f"{path}[{shown(aspect)}]", "source", expected, "none", allowed_in_dialects=True)


def _check_inverse(checked: CheckedRecord) -> None:
    path = "$.sentence_index2aspects"
    inverse = checked.field("sentence_index2aspects", dict, "an object: sentence index -> aspect ids")
    if inverse is None:
        return
    if _is_inverse(inverse, checked.sources, len(checked.sentences or ())):
        return
    expected: dict[str, set[str]] = {str(index): set() for index in range(len(checked.sentences or ()))}
    for aspect, indices in checked.sources.items():
        for index in indices:
            expected.setdefault(str(index), set()).add(aspect)
    for key in sorted(expected.keys() - inverse.keys()):
        checked.note(f"{path}['{key}']", "inverse", "a key for every sentence", "none")
    for key, aspects in inverse.items():
        here = f"{path}[{shown(key)}]"
        if key not in expected and checked.sentences is not None:
            checked.note(here, "range", f"a sentence index in 0..{len(checked.sentences) - 1}", shown(key))
        if checked.expect(here, aspects, list, "a list of aspect ids"):
            _check_aspects_of_sentence(checked, here, aspects, expected.get(key, set()))


def _is_inverse(inverse: Mapping[str, Any], sources: Mapping[str, list[int]], n_sentences: int) -> bool:
    """Say whether an inverse is right and its sentences are in order; False may also mean another order."""
    if list(inverse) != _numerals(n_sentences) or not are_all(list, inverse.values()):
        return False
    # As many aspects as there should be, and each that should be there is: so no other is, and none stands twice.
    if sum(map(len, inverse.values())) != sum(map(len, sources.values())):
        return False
    numerals = _numerals(n_sentences)
    return all(
        index < n_sentences and aspect in inverse[numerals[index]]
        for aspect, indices in sources.items()
        for index in indices
    )


@lru_cache(maxsize=1024)
def _numerals(stop: int) -> list[str]:
    return [str(index) for index in range(stop)]


def _check_aspects_of_sentence(checked: CheckedRecord, path: str, aspects: list[Any], expected: set[str]) -> None:
    seen: set[str] = set()
    for aspect in aspects:
        if not checked.expect(path, aspect, str, "an aspect id"):
            continue
        if aspect in seen:
            checked.note(path, "unique", "an id that stands once", f"{shown(aspect)} again", allowed_in_dialects=True)
        elif aspect not in expected:
            checked.note(path, "inverse", "only aspects whose sources hold this sentence", shown(aspect))
        seen.add(aspect)
    for aspect in sorted(expected - seen):
        checked.note(path, "inverse", f"{shown(aspect)}, whose sources hold this sentence", "a list without it")
