"""The rules of the published format, each a function over plain JSON values that yields what breaks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evidencebench.data.formats.json_instance import EVALUATION_KEYS, decode_instance, spells_with_spaces
from evidencebench.data.instance import Origin
from evidencebench.data.optima import derive_optima
from evidencebench.data.tasks import TASKS
from evidencebench.errors import DataError
from evidencebench.query import Kind
from evidencebench.wording import counted

_MAX_SHOWN_CHARACTERS = 80
# Both dialects' spellings, each once.
_KINDS = tuple(dict.fromkeys([*Kind, *(kind.replace("_", " ") for kind in Kind)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place where a file departs from the format.

    ``path`` is the field within the instance, such as ``$.aspect2sentence_indices['a1'][3]``; ``severity`` is
    ``"error"``, or ``"warning"`` for what the 100k dialect allows.
    """

    instance_id: str
    path: str
    rule: str
    expected: str
    got: str
    severity: str = "error"

    @property
    def is_error(self) -> bool:
        """Whether the rule is broken, not only departed from as the 100k dialect allows."""
        return self.severity == "error"

    def __str__(self) -> str:
        return f"{self.instance_id}: {self.path}: expected {self.expected}, got {self.got}"


@dataclass(slots=True)
class _Checked:
    """One instance under examination: its parts as far as they have the right type, and what was found."""

    instance_id: str
    record: Mapping[str, Any]
    found: list[Violation] = field(default_factory=list)
    is_100k: bool = False
    sentences: list[str] | None = None
    aspects: list[str] | None = None
    sources: dict[str, list[int]] = field(default_factory=dict)

    def note(self, path: str, rule: str, expected: str, got: str, *, allowed_in_100k: bool = False) -> None:
        """Record a violation; ``allowed_in_100k`` makes it a warning in that dialect."""
        severity = "warning" if allowed_in_100k and self.is_100k else "error"
        self.found.append(
            Violation(instance_id=self.instance_id, path=path, rule=rule, expected=expected, got=got, severity=severity)
        )

    def expect(self, path: str, value: Any, kind: type, expected: str) -> bool:
        """Say whether a value has its type; record it if not."""
        if _is(kind, value):
            return True
        self.note(path, "type", expected, _shown(value))
        return False

    def field(self, key: str, kind: type, expected: str) -> Any:
        """Return the value under a key; None, and a violation, if it has another type."""
        value = self.record.get(key, _MISSING)
        return value if self.expect(f"$.{key}", value, kind, expected) else None

    def in_range(self, path: str, index: Any) -> bool:
        """Say whether a value is the index of a sentence; record it if not."""
        if not self.expect(path, index, int, "a sentence index"):
            return False
        if self.sentences is not None and not 0 <= index < len(self.sentences):
            self.note(path, "range", f"an index in 0..{len(self.sentences) - 1}", str(index))
            return False
        return True


def check_record(instance_id: str, record: Any) -> list[Violation]:
    """Return everything in which an instance departs from the format, optimality aside."""
    place = _Checked(instance_id, record if isinstance(record, dict) else {})
    if not place.expect("$", record, dict, "an object"):
        return place.found
    place.is_100k = _is_100k(record)
    for check in (
        _check_texts,
        _check_extras,
        _check_kinds,
        _check_aspects,
        _check_sources,
        _check_inverse,
    ):
        check(place)
    for task in EVALUATION_KEYS:
        _check_evaluation(place, task)
    return place.found


def check_optima(instance_id: str, raw: bytes) -> list[Violation]:
    """Return where the stored optima of a valid instance are not optimal."""
    place = _Checked(instance_id, {})
    try:
        instance = decode_instance(instance_id, Origin(raw=raw))
        optima = derive_optima(instance)
    except DataError as error:
        place.note("$", "optimum", "an instance that can be solved", str(error))
        return place.found
    for task, evaluation in instance.labels.evaluations.items():
        best = optima.evaluations.get(task)
        path = f"$.{EVALUATION_KEYS[task]}"
        if best is None or task in optima.unproven:
            place.note(path, "optimum", "an optimum that can be proven", "one that was not")
        elif evaluation.optimal is not None and evaluation.optimal != best.optimal:
            place.note(f"{path}.optimal", "optimum", str(best.optimal), str(evaluation.optimal))
        elif len(evaluation.covered) != len(best.covered):
            expected, got = counted(len(best.covered), "aspect"), str(len(evaluation.covered))
            place.note(f"{path}.covered_aspects", "optimum", expected, got)
    return place.found


def _is_100k(record: Mapping[str, Any]) -> bool:
    kinds = record.get("sentence_types_in_candidate_pool")
    return "systematic_review_id" in record or (isinstance(kinds, list) and spells_with_spaces(kinds))


def _check_texts(place: _Checked) -> None:
    for key in ("hypothesis", "paper_id"):
        place.field(key, str, "a string")
    place.sentences = place.field("paper_as_candidate_pool", list, "a list of sentences")
    if place.sentences is not None:
        if not place.sentences:
            place.note("$.paper_as_candidate_pool", "length", "at least one sentence", "none")
        for index, sentence in enumerate(place.sentences):
            place.expect(f"$.paper_as_candidate_pool[{index}]", sentence, str, "a string")


def _check_extras(place: _Checked) -> None:
    """Check what only some files have."""
    texts = place.record.get("aspect_id2aspect")
    if texts is not None and place.expect("$.aspect_id2aspect", texts, dict, "an object: aspect id -> text"):
        for aspect, text in texts.items():
            place.expect(f"$.aspect_id2aspect[{_shown(aspect)}]", text, str, "a string")
    review = place.record.get("systematic_review_id")
    if not (review is None or isinstance(review, str) or _is(int, review)):
        place.note("$.systematic_review_id", "type", "a string or a whole number", _shown(review))


def _check_kinds(place: _Checked) -> None:
    path = "$.sentence_types_in_candidate_pool"
    kinds = place.field("sentence_types_in_candidate_pool", list, "a list of sentence types")
    if kinds is None:
        return
    if place.sentences is not None and len(kinds) != len(place.sentences):
        place.note(path, "length", f"one type for each of {counted(len(place.sentences), 'sentence')}", str(len(kinds)))
    for index, kind in enumerate(kinds):
        if not (isinstance(kind, str) and kind in _KINDS):
            place.note(f"{path}[{index}]", "kind", f"one of {', '.join(_KINDS)}", _shown(kind))


def _check_aspects(place: _Checked) -> None:
    place.aspects = _id_list(place, "aspect_list_ids")
    if place.aspects == []:
        place.note("$.aspect_list_ids", "length", "at least one aspect", "none")
    key = "results_aspect_list_ids"
    if place.record.get(key) is None:
        if key not in place.record and not place.is_100k:
            place.note(f"$.{key}", "type", "a list of aspect ids, or null", "nothing")
        return
    results = _id_list(place, key)
    if results is None:
        return
    if not results:
        place.note(f"$.{key}", "length", "null where there are no Results aspects", "an empty list")
    for index, aspect in enumerate(results):
        if place.aspects is not None and aspect not in place.aspects:
            place.note(f"$.{key}[{index}]", "subset", "an id of aspect_list_ids", _shown(aspect))


def _id_list(place: _Checked, key: str) -> list[str] | None:
    """Return the strings of a list of ids, each bad or repeated one recorded; None if it is no list."""
    values = place.field(key, list, "a list of aspect ids")
    if values is None:
        return None
    seen: dict[str, None] = {}
    for index, value in enumerate(values):
        if not place.expect(f"$.{key}[{index}]", value, str, "an aspect id"):
            continue
        if value in seen:
            place.note(f"$.{key}[{index}]", "unique", "an id that stands once", f"{_shown(value)} again")
        seen[value] = None
    return list(seen)


def _check_sources(place: _Checked) -> None:
    path = "$.aspect2sentence_indices"
    sources = place.field("aspect2sentence_indices", dict, "an object: aspect id -> sentence indices")
    if sources is None:
        return
    for aspect, indices in sources.items():
        here = f"{path}[{_shown(aspect)}]"
        if place.aspects is not None and aspect not in place.aspects:
            place.note(here, "subset", "an id of aspect_list_ids", _shown(aspect))
        if place.expect(here, indices, list, "a list of sentence indices"):
            place.sources[aspect] = _indices(place, here, indices)
    for aspect in place.aspects or ():
        if aspect not in sources or sources[aspect] == []:
            expected = "at least one sentence" if aspect in sources else "an entry for every aspect"
            place.note(f"{path}[{_shown(aspect)}]", "source", expected, "none", allowed_in_100k=True)


def _indices(place: _Checked, path: str, values: list[Any]) -> list[int]:
    """Return the usable indices of a list, each bad or repeated one recorded."""
    kept: dict[int, None] = {}
    for position, index in enumerate(values):
        if not place.in_range(f"{path}[{position}]", index):
            continue
        if index in kept:
            place.note(
                f"{path}[{position}]", "unique", "an index that stands once", f"{index} again", allowed_in_100k=True
            )
        kept[index] = None
    return list(kept)


def _check_inverse(place: _Checked) -> None:
    path = "$.sentence_index2aspects"
    inverse = place.field("sentence_index2aspects", dict, "an object: sentence index -> aspect ids")
    if inverse is None:
        return
    expected: dict[str, set[str]] = {str(index): set() for index in range(len(place.sentences or ()))}
    for aspect, indices in place.sources.items():
        for index in indices:
            expected.setdefault(str(index), set()).add(aspect)
    for key in sorted(expected.keys() - inverse.keys()):
        place.note(f"{path}['{key}']", "inverse", "a key for every sentence", "none")
    for key, aspects in inverse.items():
        here = f"{path}[{_shown(key)}]"
        if key not in expected and place.sentences is not None:
            place.note(here, "range", f"a sentence index in 0..{len(place.sentences) - 1}", _shown(key))
        if place.expect(here, aspects, list, "a list of aspect ids"):
            _check_aspects_of_sentence(place, here, aspects, expected.get(key, set()))


def _check_aspects_of_sentence(place: _Checked, path: str, aspects: list[Any], expected: set[str]) -> None:
    seen: set[str] = set()
    for aspect in aspects:
        if not place.expect(path, aspect, str, "an aspect id"):
            continue
        if aspect in seen:
            place.note(path, "unique", "an id that stands once", f"{_shown(aspect)} again", allowed_in_100k=True)
        elif aspect not in expected:
            place.note(path, "inverse", "only aspects whose sources hold this sentence", _shown(aspect))
        seen.add(aspect)
    for aspect in sorted(expected - seen):
        place.note(path, "inverse", f"{_shown(aspect)}, whose sources hold this sentence", "a list without it")


def _check_evaluation(place: _Checked, task: str) -> None:
    key = EVALUATION_KEYS[task]
    value = place.record.get(key, _MISSING)
    scope = TASKS[task].scope
    aspects = place.record.get("results_aspect_list_ids") if scope == "results" else place.aspects
    if value is None or value is _MISSING:
        if aspects and not place.is_100k:
            place.note(f"$.{key}", "type", "an evaluation, which 'data solve' derives", _shown(value))
        elif key not in place.record and not place.is_100k:
            expected = "null, since there are no Results aspects" if scope == "results" else "an evaluation, or null"
            place.note(f"$.{key}", "type", expected, "nothing")
        return
    if not place.expect(f"$.{key}", value, dict, "an object or null"):
        return
    if scope == "results" and aspects is None:
        place.note(f"$.{key}", "type", "null, since there are no Results aspects", "an evaluation")
        return
    selection = value.get("one_selection_of_sentences", _MISSING)
    here = f"$.{key}.one_selection_of_sentences"
    if not place.expect(here, selection, list, "a list of sentence indices"):
        return
    indices = _indices(place, here, selection)
    _check_selection_length(place, task, value, len(selection))
    _check_covered(place, f"$.{key}.covered_aspects", value, indices, _texts(aspects))


def _check_selection_length(place: _Checked, task: str, value: Mapping[str, Any], length: int) -> None:
    path = f"$.{EVALUATION_KEYS[task]}"
    budget = TASKS[task].budget
    if isinstance(budget, int):
        if value.get("optimal") is not None:
            place.expect(f"{path}.optimal", value["optimal"], int, "a number of sentences")
        expected: Any = min(budget, len(place.sentences)) if place.sentences is not None else budget
    else:
        expected = value.get("optimal", _MISSING)
        if place.is_100k and value.get("optimal") is None:
            return
        if not place.expect(f"{path}.optimal", expected, int, "a number of sentences"):
            return
    if length != expected:
        place.note(f"{path}.one_selection_of_sentences", "length", counted(expected, "sentence"), str(length))


def _check_covered(
    place: _Checked, path: str, value: Mapping[str, Any], indices: list[int], aspects: list[str]
) -> None:
    covered = value.get("covered_aspects", _MISSING)
    if not place.expect(path, covered, list, "a list of aspect ids"):
        return
    for position, aspect in enumerate(covered):
        place.expect(f"{path}[{position}]", aspect, str, "an aspect id")
    stored = _texts(covered)
    if len(set(stored)) != len(stored):
        place.note(path, "unique", "each aspect once", "an aspect more than once", allowed_in_100k=True)
    chosen = set(indices)
    actual = {aspect for aspect in aspects if chosen & set(place.sources.get(aspect, ()))}
    for aspect in sorted(actual - set(stored)):
        place.note(path, "covered", f"{_shown(aspect)}, which the selection covers", "a list without it")
    for aspect in sorted(set(stored) - actual):
        place.note(path, "covered", "only aspects that the selection covers", _shown(aspect))


_MISSING = object()


def _texts(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _is(kind: type, value: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)  # which Python takes for a number


def _shown(value: Any) -> str:
    """Return a value as a message shows it: JSON-like, on one line, short."""
    if value is _MISSING:
        return "nothing"
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}…"
