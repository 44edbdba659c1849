"""The rules of the published format, each a function that checks plain JSON values and records violations."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, get_args

import msgspec

from evidencebench.data.formats.json_instance import EVALUATION_KEYS, decode_instance, spells_with_spaces
from evidencebench.data.formats.robbr_record import RENAMED, in_published_keys, is_robbr
from evidencebench.data.instance import Origin
from evidencebench.data.optima import derive_optima
from evidencebench.data.tasks import TASKS
from evidencebench.errors import DataError
from evidencebench.query import Kind, Wish
from evidencebench.wording import counted

_MAX_SHOWN_CHARACTERS = 80
# Both dialects' spellings, each once.
_KINDS = tuple(dict.fromkeys([*map(str, Kind), *(kind.replace("_", " ") for kind in Kind)]))
_KNOWN_KINDS = frozenset(_KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place where a file departs from the format.

    ``path`` is the field within the instance, such as ``$.aspect2sentence_indices['a1'][3]``; ``severity`` is
    ``"error"``, or ``"warning"`` for what the dialects allow (100k, RoBBR-SSR).
    """

    instance_id: str
    path: str
    rule: str
    expected: str
    got: str
    severity: str = "error"

    @property
    def is_error(self) -> bool:
        """Whether it is an error, not a warning about what the dialects allow."""
        return self.severity == "error"

    def __str__(self) -> str:
        return f"{self.instance_id}: {self.path}: expected {self.expected}, got {self.got}"


@dataclass(slots=True)
class _Checked:
    """An instance that is checked: its fields that have the right type, and the violations found so far."""

    instance_id: str
    record: Mapping[str, Any]
    found: list[Violation] = field(default_factory=list)
    is_dialect: bool = False
    sentences: list[str] | None = None
    aspects: list[str] | None = None
    sources: dict[str, list[int]] = field(default_factory=dict)

    def note(self, path: str, rule: str, expected: str, got: str, *, allowed_in_dialects: bool = False) -> None:
        """Record a violation; ``allowed_in_dialects`` makes it a warning in them."""
        severity = "warning" if allowed_in_dialects and self.is_dialect else "error"
        self.found.append(
            Violation(instance_id=self.instance_id, path=path, rule=rule, expected=expected, got=got, severity=severity)
        )

    def expect(self, path: str, value: Any, kind: type, expected: str) -> bool:
        """Say whether a value has its type; record a violation if not."""
        if _has_type(kind, value):
            return True
        self.note(path, "type", expected, _show(value))
        return False

    def field(self, key: str, kind: type, expected: str) -> Any:
        """Return the value under a key; None, and a violation, if it has another type."""
        value = self.record.get(key, _MISSING)
        return value if self.expect(f"$.{key}", value, kind, expected) else None

    def in_range(self, path: str, index: Any) -> bool:
        """Say whether a value is the index of a sentence; record a violation if not."""
        if not self.expect(path, index, int, "a sentence index"):
            return False
        if self.sentences is not None and not 0 <= index < len(self.sentences):
            self.note(path, "range", f"an index in 0..{len(self.sentences) - 1}", str(index))
            return False
        return True


def check_record(instance_id: str, record: Any) -> list[Violation]:
    """Return all violations in an instance, except those of optimality."""
    checked = _Checked(instance_id, record if isinstance(record, dict) else {})
    if not checked.expect("$", record, dict, "an object"):
        return checked.found
    if is_robbr(record):
        _check_robbr_types(checked)
        return checked.found or _in_robbr_keys(check_record(instance_id, in_published_keys(record)))
    checked.is_dialect = _is_dialect(record)
    for check in (_check_texts, _check_extras, _check_kinds, _check_aspects, _check_sources, _check_inverse):
        check(checked)
    for task in EVALUATION_KEYS:
        _check_evaluation(checked, task)
    return checked.found


def check_optima(instance_id: str, raw: bytes) -> list[Violation]:
    """Return a violation for each stored optimum of a valid instance that is not optimal."""
    checked = _Checked(instance_id, {})
    try:
        instance = decode_instance(instance_id, Origin(raw=raw))
        optima = derive_optima(instance)
    except DataError as error:
        checked.note("$", "optimum", "an instance that can be solved", str(error))
        return checked.found
    for task, evaluation in instance.labels.evaluations.items():
        best = optima.evaluations.get(task)
        path = f"$.{EVALUATION_KEYS[task]}"
        if best is None or task in optima.unproven:
            checked.note(path, "optimum", "an optimum that can be proven", "one that was not")
        elif evaluation.optimal is not None and evaluation.optimal != best.optimal:
            checked.note(f"{path}.optimal", "optimum", str(best.optimal), str(evaluation.optimal))
        elif len(evaluation.covered) != len(best.covered):
            expected, got = counted(len(best.covered), "aspect"), str(len(evaluation.covered))
            checked.note(f"{path}.covered_aspects", "optimum", expected, got)
    return _in_robbr_keys(checked.found) if is_robbr(msgspec.json.decode(raw)) else checked.found


def _is_dialect(record: Mapping[str, Any]) -> bool:
    """Say whether a record is 100k's, or RoBBR-SSR's in published keys: aspects may lack sentences in both."""
    kinds = record.get("sentence_types_in_candidate_pool")
    own_keys = {"systematic_review_id", "bias_definition"}
    return not own_keys.isdisjoint(record) or (isinstance(kinds, list) and spells_with_spaces(kinds))


def _check_robbr_types(checked: _Checked) -> None:
    """Check the fields of RoBBR-SSR that have no like in the published format, or another name there."""
    for key in ("bias", "bias_definition", "objective", "paper_doi"):
        checked.field(key, str, "a string")
    pico = checked.record.get("PICO", _MISSING)
    if not isinstance(pico, str | dict):
        checked.note(
            "$.PICO", "type", "an object with Methods, Participants, Intervention, Outcome, Notes", _show(pico)
        )
    checked.field("aspects", dict, "an object: aspect id -> text")
    sentences = checked.field("paper_as_candidate_pool", list, "a list of sentences")
    _check_strings(checked, "$.paper_as_candidate_pool", sentences or [])


def _in_robbr_keys(found: list[Violation]) -> list[Violation]:
    """Return violations of a record in published keys with the names that RoBBR-SSR has for them."""
    named = []
    for one in found:
        key = re.split(r"[.\[]", one.path.removeprefix("$."), maxsplit=1)[0]
        path = one.path.replace(f"$.{key}", f"$.{RENAMED.get(key, key)}", 1)
        named.append(replace(one, path=path))
    return named


def _check_texts(checked: _Checked) -> None:
    for key in ("hypothesis", "paper_id"):
        checked.field(key, str, "a string")
    checked.sentences = checked.field("paper_as_candidate_pool", list, "a list of sentences")
    if checked.sentences is not None:
        if not checked.sentences:
            checked.note("$.paper_as_candidate_pool", "length", "at least one sentence", "none")
        _check_strings(checked, "$.paper_as_candidate_pool", checked.sentences)


def _check_strings(checked: _Checked, path: str, values: list[Any], expected: str = "a string") -> None:
    if not _are_all(str, values):
        for index, value in enumerate(values):
            checked.expect(f"{path}[{index}]", value, str, expected)


def _check_extras(checked: _Checked) -> None:
    """Check the fields that only some files have."""
    texts = checked.record.get("aspect_id2aspect")
    if texts is not None and checked.expect("$.aspect_id2aspect", texts, dict, "an object: aspect id -> text"):
        for aspect, text in texts.items():
            checked.expect(f"$.aspect_id2aspect[{_show(aspect)}]", text, str, "a string")
    review = checked.record.get("systematic_review_id")
    if not (review is None or isinstance(review, str) or _has_type(int, review)):
        checked.note("$.systematic_review_id", "type", "a string or a whole number", _show(review))
    wish = checked.record.get("wish")
    if wish is not None and wish not in get_args(Wish):
        checked.note("$.wish", "type", "'answer', 'study' or null", _show(wish))


def _check_kinds(checked: _Checked) -> None:
    path = "$.sentence_types_in_candidate_pool"
    kinds = checked.field("sentence_types_in_candidate_pool", list, "a list of sentence types")
    if kinds is None:
        return
    if checked.sentences is not None and len(kinds) != len(checked.sentences):
        checked.note(
            path, "length", f"one type for each of {counted(len(checked.sentences), 'sentence')}", str(len(kinds))
        )
    if _are_all(str, kinds) and _KNOWN_KINDS.issuperset(kinds):
        return
    for index, kind in enumerate(kinds):
        if not (isinstance(kind, str) and kind in _KNOWN_KINDS):
            checked.note(f"{path}[{index}]", "kind", f"one of {', '.join(_KINDS)}", _show(kind))


def _check_aspects(checked: _Checked) -> None:
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
            checked.note(f"$.{key}[{index}]", "subset", "an id of aspect_list_ids", _show(aspect))


def _id_list(checked: _Checked, key: str) -> list[str] | None:
    """Return the strings of a list of ids, each bad or repeated one recorded; None if it is no list."""
    values = checked.field(key, list, "a list of aspect ids")
    if values is None:
        return None
    seen: dict[str, None] = {}
    for index, value in enumerate(values):
        if not checked.expect(f"$.{key}[{index}]", value, str, "an aspect id"):
            continue
        if value in seen:
            checked.note(f"$.{key}[{index}]", "unique", "an id that stands once", f"{_show(value)} again")
        seen[value] = None
    return list(seen)


def _check_sources(checked: _Checked) -> None:
    path = "$.aspect2sentence_indices"
    sources = checked.field("aspect2sentence_indices", dict, "an object: aspect id -> sentence indices")
    if sources is None:
        return
    for aspect, indices in sources.items():
        here = f"{path}[{_show(aspect)}]"
        if checked.aspects is not None and aspect not in checked.aspects:
            checked.note(here, "subset", "an id of aspect_list_ids", _show(aspect))
        if checked.expect(here, indices, list, "a list of sentence indices"):
            checked.sources[aspect] = _indices(checked, here, indices)
    for aspect in checked.aspects or ():
        if aspect not in sources or sources[aspect] == []:
            expected = "at least one sentence" if aspect in sources else "an entry for every aspect"
            checked.note(f"{path}[{_show(aspect)}]", "source", expected, "none", allowed_in_dialects=True)


def _indices(checked: _Checked, path: str, values: list[Any]) -> list[int]:
    """Return the usable indices of a list, each bad or repeated one recorded."""
    n_sentences = len(checked.sentences or ())
    if _are_all(int, values) and min(values) >= 0 and max(values) < n_sentences and len(set(values)) == len(values):
        return values
    kept: dict[int, None] = {}
    for position, index in enumerate(values):
        if not checked.in_range(f"{path}[{position}]", index):
            continue
        if index in kept:
            checked.note(
                f"{path}[{position}]", "unique", "an index that stands once", f"{index} again", allowed_in_dialects=True
            )
        kept[index] = None
    return list(kept)


def _check_inverse(checked: _Checked) -> None:
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
        here = f"{path}[{_show(key)}]"
        if key not in expected and checked.sentences is not None:
            checked.note(here, "range", f"a sentence index in 0..{len(checked.sentences) - 1}", _show(key))
        if checked.expect(here, aspects, list, "a list of aspect ids"):
            _check_aspects_of_sentence(checked, here, aspects, expected.get(key, set()))


def _is_inverse(inverse: Mapping[str, Any], sources: Mapping[str, list[int]], n_sentences: int) -> bool:
    """Say whether an inverse is right and its sentences are in order; False may also mean another order."""
    if list(inverse) != _numerals(n_sentences) or not _are_all(list, inverse.values()):
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


def _check_aspects_of_sentence(checked: _Checked, path: str, aspects: list[Any], expected: set[str]) -> None:
    seen: set[str] = set()
    for aspect in aspects:
        if not checked.expect(path, aspect, str, "an aspect id"):
            continue
        if aspect in seen:
            checked.note(path, "unique", "an id that stands once", f"{_show(aspect)} again", allowed_in_dialects=True)
        elif aspect not in expected:
            checked.note(path, "inverse", "only aspects whose sources hold this sentence", _show(aspect))
        seen.add(aspect)
    for aspect in sorted(expected - seen):
        checked.note(path, "inverse", f"{_show(aspect)}, whose sources hold this sentence", "a list without it")


def _check_evaluation(checked: _Checked, task: str) -> None:
    key = EVALUATION_KEYS[task]
    value = checked.record.get(key, _MISSING)
    scope = TASKS[task].scope
    aspects = checked.record.get("results_aspect_list_ids") if scope == "results" else checked.aspects
    if value is None or value is _MISSING:
        if aspects and not checked.is_dialect:
            checked.note(f"$.{key}", "type", "an evaluation, which 'data solve' derives", _show(value))
        elif key not in checked.record and not checked.is_dialect:
            expected = "null, since there are no Results aspects" if scope == "results" else "an evaluation, or null"
            checked.note(f"$.{key}", "type", expected, "nothing")
        return
    if not checked.expect(f"$.{key}", value, dict, "an object or null"):
        return
    if scope == "results" and aspects is None:
        checked.note(f"$.{key}", "type", "null, since there are no Results aspects", "an evaluation")
        return
    selection = value.get("one_selection_of_sentences", _MISSING)
    here = f"$.{key}.one_selection_of_sentences"
    if not checked.expect(here, selection, list, "a list of sentence indices"):
        return
    indices = _indices(checked, here, selection)
    _check_selection_length(checked, task, value, len(selection))
    _check_covered(checked, f"$.{key}.covered_aspects", value, indices, _strings_in(aspects))


def _check_selection_length(checked: _Checked, task: str, value: Mapping[str, Any], length: int) -> None:
    path = f"$.{EVALUATION_KEYS[task]}"
    budget = TASKS[task].budget
    if isinstance(budget, int):
        if value.get("optimal") is not None:
            checked.expect(f"{path}.optimal", value["optimal"], int, "a number of sentences")
        expected: Any = min(budget, len(checked.sentences)) if checked.sentences is not None else budget
    else:
        expected = value.get("optimal", _MISSING)
        if checked.is_dialect and value.get("optimal") is None:
            return
        if not checked.expect(f"{path}.optimal", expected, int, "a number of sentences"):
            return
    if length != expected:
        checked.note(f"{path}.one_selection_of_sentences", "length", counted(expected, "sentence"), str(length))


def _check_covered(
    checked: _Checked, path: str, value: Mapping[str, Any], indices: list[int], aspects: list[str]
) -> None:
    covered = value.get("covered_aspects", _MISSING)
    if not checked.expect(path, covered, list, "a list of aspect ids"):
        return
    _check_strings(checked, path, covered, "an aspect id")
    stored = _strings_in(covered)
    if len(set(stored)) != len(stored):
        checked.note(path, "unique", "each aspect once", "an aspect more than once", allowed_in_dialects=True)
    chosen = set(indices)
    actual = {aspect for aspect in aspects if not chosen.isdisjoint(checked.sources.get(aspect, ()))}
    for aspect in sorted(actual - set(stored)):
        checked.note(path, "covered", f"{_show(aspect)}, which the selection covers", "a list without it")
    for aspect in sorted(set(stored) - actual):
        checked.note(path, "covered", "only aspects that the selection covers", _show(aspect))


_MISSING = object()


def _strings_in(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _are_all(kind: type, values: Iterable[Any]) -> bool:
    """Say whether values are all of this very type, and there is one."""
    return set(map(type, values)) == {kind}


def _has_type(kind: type, value: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)  # a bool is an int in Python


def _show(value: Any) -> str:
    """Return a value as a message shows it: JSON-like, on one line, short."""
    if value is _MISSING:
        return "nothing"
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}…"
