"""The rules of stored evaluations: a selection of the right length, the aspects that it covers, its optimality."""

from collections.abc import Mapping
from typing import Any

from evidencebench.data.formats.json_instance import EVALUATION_KEYS, decode_instance
from evidencebench.data.instance import Origin
from evidencebench.data.optima import derive_optima
from evidencebench.data.tasks import TASKS
from evidencebench.data.validation.checked_record import (
    MISSING,
    CheckedRecord,
    Violation,
    shown,
    strings_in,
)
from evidencebench.errors import DataError
from evidencebench.wording import counted


def check_evaluation(checked: CheckedRecord, task: str) -> None:
    """Check what is stored for a task."""
    key = EVALUATION_KEYS[task]
    value = checked.record.get(key, MISSING)
    scope = TASKS[task].scope
    aspects = checked.record.get("results_aspect_list_ids") if scope == "results" else checked.aspects
    if value is None or value is MISSING:
        if aspects and not checked.is_dialect:
            checked.note(f"$.{key}", "type", "an evaluation, which 'data solve' derives", shown(value))
        elif key not in checked.record and not checked.is_dialect:
            expected = "null, since there are no Results aspects" if scope == "results" else "an evaluation, or null"
            checked.note(f"$.{key}", "type", expected, "nothing")
        return
    if not checked.expect(f"$.{key}", value, dict, "an object or null"):
        return
    if scope == "results" and aspects is None:
        checked.note(f"$.{key}", "type", "null, since there are no Results aspects", "an evaluation")
        return
    selection = value.get("one_selection_of_sentences", MISSING)
    here = f"$.{key}.one_selection_of_sentences"
    if not checked.expect(here, selection, list, "a list of sentence indices"):
        return
    indices = checked.indices(here, selection)
    _check_selection_length(checked, task, value, len(selection))
    _check_covered(checked, f"$.{key}.covered_aspects", value, indices, strings_in(aspects))


def check_optima(instance_id: str, raw: bytes) -> list[Violation]:
    """Return a violation for each stored optimum of a valid instance that is not optimal."""
    checked = CheckedRecord(instance_id, {})
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
    return checked.found


def _check_selection_length(checked: CheckedRecord, task: str, value: Mapping[str, Any], length: int) -> None:
    path = f"$.{EVALUATION_KEYS[task]}"
    budget = TASKS[task].budget
    if isinstance(budget, int):
        if value.get("optimal") is not None:
            checked.expect(f"{path}.optimal", value["optimal"], int, "a number of sentences")
        expected: Any = min(budget, len(checked.sentences)) if checked.sentences is not None else budget
    else:
        expected = value.get("optimal", MISSING)
        if checked.is_dialect and value.get("optimal") is None:
            return
        if not checked.expect(f"{path}.optimal", expected, int, "a number of sentences"):
            return
    if length != expected:
        checked.note(f"{path}.one_selection_of_sentences", "length", counted(expected, "sentence"), str(length))


def _check_covered(
    checked: CheckedRecord, path: str, value: Mapping[str, Any], indices: list[int], aspects: list[str]
) -> None:
    covered = value.get("covered_aspects", MISSING)
    if not checked.expect(path, covered, list, "a list of aspect ids"):
        return
    checked.expect_strings(path, covered, "an aspect id")
    stored = strings_in(covered)
    if len(set(stored)) != len(stored):
        checked.note(path, "unique", "each aspect once", "an aspect more than once", allowed_in_dialects=True)
    chosen = set(indices)
    actual = {aspect for aspect in aspects if not chosen.isdisjoint(checked.sources.get(aspect, ()))}
    for aspect in sorted(actual - set(stored)):
        checked.note(path, "covered", f"{shown(aspect)}, which the selection covers", "a list without it")
    for aspect in sorted(set(stored) - actual):
        checked.note(path, "covered", "only aspects that the selection covers", shown(aspect))
