"""Check data files against every rule of the published format."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import msgspec

from evidencebench.data.catalog import data_path
from evidencebench.data.instance import DataSource, Origin
from evidencebench.data.json_format import EVALUATION_KEYS, decode_instance, spells_with_spaces
from evidencebench.data.optima import derive_optima
from evidencebench.data.sources import DataFile, file_of, open_source
from evidencebench.data.tasks import TASKS
from evidencebench.engine.processes import engine_of
from evidencebench.engine.protocol import Engine, outcomes_in_order
from evidencebench.errors import DataError, FormatError, WorkerError
from evidencebench.files.disk import PathText
from evidencebench.query import Kind, Wish
from evidencebench.wording import counted, one_line

MISSING = object()  # in place of the value of a key that is not there
_MAX_SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Violation:
    """One place where a file departs from the format; a ``warning`` is what EvidenceBench-100k's dialect allows."""

    instance_id: str
    path: str
    rule: str
    expected: str
    got: str
    severity: str = "error"

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def __str__(self) -> str:
        return f"{self.instance_id}: {self.path}: expected {self.expected}, got {self.got}"


@dataclass(slots=True)
class CheckedRecord:
    """An instance that is checked: its fields that have the right type, and the violations found so far."""

    instance_id: str
    record: Mapping[str, Any]
    violations: list[Violation] = field(default_factory=list)
    is_dialect: bool = False
    sentences: list[str] | None = None
    aspects: list[str] | None = None
    sources: dict[str, list[int]] = field(default_factory=dict)

    def note(self, path: str, rule: str, expected: str, got: str, *, allowed_in_dialects: bool = False) -> None:
        """Record a violation; ``allowed_in_dialects`` makes it a warning in them."""
        severity = "warning" if allowed_in_dialects and self.is_dialect else "error"
        self.violations.append(Violation(self.instance_id, path, rule, expected, got, severity))

    def expect(self, path: str, value: Any, kind: type, expected: str) -> bool:
        """Say whether a value has its type; record a violation if not."""
        if has_type(kind, value):
            return True
        self.note(path, "type", expected, shown(value))
        return False

    def field(self, key: str, kind: type, expected: str) -> Any:
        """Return the value under a key; None, and a violation, if it has another type."""
        value = self.record.get(key, MISSING)
        return value if self.expect(f"$.{key}", value, kind, expected) else None

    def expect_strings(self, path: str, values: list[Any], expected: str = "a string") -> None:
        if not are_all(str, values):
            for index, value in enumerate(values):
                self.expect(f"{path}[{index}]", value, str, expected)

    def indices(self, path: str, values: list[Any]) -> list[int]:
        """Return the usable indices of a list, each bad or repeated one recorded."""
        n_sentences = len(self.sentences or ())
        if are_all(int, values) and min(values) >= 0 and max(values) < n_sentences and len(set(values)) == len(values):
            return values
        kept: dict[int, None] = {}
        for position, index in enumerate(values):
            here = f"{path}[{position}]"
            if not self.expect(here, index, int, "a sentence index"):
                continue
            if self.sentences is not None and not 0 <= index < n_sentences:
                self.note(here, "range", f"an index in 0..{n_sentences - 1}", str(index))
                continue
            if index in kept:
                self.note(here, "unique", "an index that stands once", f"{index} again", allowed_in_dialects=True)
            kept[index] = None
        return list(kept)


def are_all(kind: type, values: Iterable[Any]) -> bool:
    """Say whether values are all of this very type, and there is one."""
    return set(map(type, values)) == {kind}


def has_type(kind: type, value: Any) -> bool:
    """Say whether a value is of a type; a bool, which is an int in Python, is none here."""
    return isinstance(value, kind) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """Return a value as a message shows it: JSON-like, on one line, short."""
    if value is MISSING:
        return "nothing"
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}…"


def check_evaluation(checked: CheckedRecord, task: str) -> None:
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
    _check_covered(checked, f"$.{key}.covered_aspects", value, indices, aspects if isinstance(aspects, list) else [])


def check_optima(instance_id: str, raw: bytes) -> list[Violation]:
    """Return a violation for each stored optimum of a valid instance that is not optimal."""
    checked = CheckedRecord(instance_id, {})
    try:
        instance = decode_instance(instance_id, Origin(raw=raw))
        optima = derive_optima(instance)
    except DataError as error:
        checked.note("$", "optimum", "an instance that can be solved", str(error))
        return checked.violations
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
    return checked.violations


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
    checked: CheckedRecord, path: str, value: Mapping[str, Any], indices: list[int], aspects: list[Any]
) -> None:
    covered = value.get("covered_aspects", MISSING)
    if not checked.expect(path, covered, list, "a list of aspect ids"):
        return
    checked.expect_strings(path, covered, "an aspect id")
    stored = [aspect for aspect in covered if isinstance(aspect, str)]
    if len(set(stored)) != len(stored):
        checked.note(path, "unique", "each aspect once", "an aspect more than once", allowed_in_dialects=True)
    chosen = set(indices)
    ids = (aspect for aspect in aspects if isinstance(aspect, str))
    actual = {aspect for aspect in ids if not chosen.isdisjoint(checked.sources.get(aspect, ()))}
    for aspect in sorted(actual - set(stored)):
        checked.note(path, "covered", f"{shown(aspect)}, which the selection covers", "a list without it")
    for aspect in sorted(set(stored) - actual):
        checked.note(path, "covered", "only aspects that the selection covers", shown(aspect))


# Both dialects' spellings, each once.
_KINDS = tuple(dict.fromkeys([*map(str, Kind), *(kind.replace("_", " ") for kind in Kind)]))
_KNOWN_KINDS = frozenset(_KINDS)


def check_record(instance_id: str, record: Any) -> list[Violation]:
    """Return all violations in an instance, except those of optimality."""
    checked = CheckedRecord(instance_id, record if isinstance(record, dict) else {})
    if not checked.expect("$", record, dict, "an object"):
        return checked.violations
    kinds = record.get("sentence_types_in_candidate_pool")
    # Of EvidenceBench-100k, whose aspects may lack sentences.
    checked.is_dialect = "systematic_review_id" in record or (isinstance(kinds, list) and spells_with_spaces(kinds))
    for check in (_check_texts, _check_kinds, _check_aspects, _check_sources, _check_inverse):
        check(checked)
    for task in EVALUATION_KEYS:
        check_evaluation(checked, task)
    return checked.violations


def _check_texts(checked: CheckedRecord) -> None:
    for key in ("hypothesis", "paper_id"):
        checked.field(key, str, "a string")
    checked.sentences = checked.field("paper_as_candidate_pool", list, "a list of sentences")
    if checked.sentences is not None:
        if not checked.sentences:
            checked.note("$.paper_as_candidate_pool", "length", "at least one sentence", "none")
        checked.expect_strings("$.paper_as_candidate_pool", checked.sentences)
    # What follows has only some files.
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
    if inverse is None or _is_inverse(inverse, checked.sources, len(checked.sentences or ())):
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
    numerals = _numerals(n_sentences)
    if list(inverse) != numerals or not are_all(list, inverse.values()):
        return False
    # As many aspects as there should be, and each that should be there is: so no other is, and none stands twice.
    if sum(map(len, inverse.values())) != sum(map(len, sources.values())):
        return False
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What validation found in one file, in file order."""

    path: str
    n_instances: int
    violations: tuple[Violation, ...]
    warnings: tuple[Violation, ...]  # what is unusual but allowed in the file's dialect
    unchecked: Mapping[str, str] = field(default_factory=dict)  # instance id -> why it could not be checked

    def __repr__(self) -> str:
        violations, warnings = counted(len(self.violations), "violation"), counted(len(self.warnings), "warning")
        unchecked = [f"{len(self.unchecked)} not checked"] if self.unchecked else []
        return one_line(self, repr(self.path), counted(self.n_instances, "instance"), violations, warnings, *unchecked)

    @property
    def is_valid(self) -> bool:
        return not self.violations and not self.unchecked


def validate_file(path: PathText, *, optima: bool = False, jobs: int = 1, engine: Engine | None = None) -> FileReport:
    """Return every violation in a file.

    Parameters
    ----------
    path
        A data file or catalogue name, as `open_dataset` takes it.
    optima
        Whether to solve every instance again and compare the stored optima.
    jobs
        Processes; fewer for small data.
    engine
        Where the work runs instead, such as ``evidencebench.Threads(4)``; None: on ``jobs``.

    Raises
    ------
    UnreadableError
        If the file cannot be opened, decoded or parsed.
    ChangedDataError
        If the file changes meanwhile.

    Examples
    --------
    >>> validate_file("sample").is_valid
    True
    """
    return validate_files([path], optima=optima, jobs=jobs, engine=engine)[0]


def validate_files(
    paths: PathText | Iterable[PathText],
    *,
    optima: bool = False,
    jobs: int = 1,
    engine: Engine | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[FileReport]:
    """Return a report for each file; a paper that stands in two of them is a violation of the later one."""
    reports = []
    file_of_paper: dict[str, Path] = {}
    for path in map(data_path, [paths] if isinstance(paths, str | os.PathLike) else paths):
        source = open_source(path)
        unchecked: dict[str, str] = {}
        all_violations = [
            Violation(instance_id, "$", "unique", "an id that stands once", "the id more than once")
            for instance_id in source.repeated_ids
        ]
        runs_on = engine_of(engine, jobs, at_most=1 + len(source.ids) // 200)  # fewer are not worth a process
        if not runs_on.is_one_machine:
            _ = source.snapshot.sha256  # other machines know the file by it
        opened = source if runs_on.shares_memory else file_of(source)
        for n_done, outcome in enumerate(outcomes_in_order(runs_on, _checker, (opened, optima), source.ids), 1):
            instance_id = outcome.item
            if isinstance(outcome.error, WorkerError):
                unchecked[instance_id] = str(outcome.error)
                continue
            violations, paper_id = outcome.value
            all_violations += violations
            if paper_id is not None and file_of_paper.setdefault(paper_id, path) != path:
                got = f"'{paper_id}', which is also in {file_of_paper[paper_id]}"
                expected = "a paper that stands in one split only"
                all_violations.append(Violation(instance_id, "$.paper_id", "paper", expected, got))
            if on_progress is not None:
                on_progress(n_done, len(source.ids))
        reports.append(
            FileReport(
                path=str(path),
                n_instances=len(source.ids),
                violations=tuple(violation for violation in all_violations if violation.is_error),
                warnings=tuple(warning for warning in all_violations if not warning.is_error),
                unchecked=unchecked,
            )
        )
    return reports


def count_by_rule(violations: Iterable[Violation]) -> Counter[str]:
    return Counter(violation.rule for violation in violations)


def _checker(
    opened: DataSource | DataFile,
    optima: bool,  # noqa: FBT001 - sent to workers by position
) -> Callable[[str], tuple[list[Violation], str | None]]:
    source = open_source(opened) if isinstance(opened, DataFile) else opened

    def check(instance_id: str) -> tuple[list[Violation], str | None]:
        try:
            record, repeated_keys = source.fields(instance_id)
        except FormatError as error:
            why = str(error).removeprefix(f"{instance_id}: ")
            return [Violation(instance_id, "$", "json", "an instance that can be read", why)], None
        violations = check_record(instance_id, record)
        if optima and not any(violation.is_error for violation in violations):
            violations += check_optima(instance_id, msgspec.json.encode(record))
        paper_id = record.get("paper_id") if isinstance(record, dict) else None
        repeated = [
            Violation(instance_id, "$", "unique", "keys that stand once", f"'{key}' again") for key in repeated_keys
        ]
        return repeated + violations, paper_id if isinstance(paper_id, str) else None

    return check
