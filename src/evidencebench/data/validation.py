"""Check data files against every rule of the published format."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from evidencebench.data.catalog import data_path
from evidencebench.data.instance import DataSource, Origin
from evidencebench.data.json_format import EVALUATION_KEYS, decode_instance, spells_with_spaces
from evidencebench.data.optima import derive_optima
from evidencebench.data.sources import DataFile, file_of, open_source
from evidencebench.data.tasks import TASKS, Task
from evidencebench.engine.local import engine_of
from evidencebench.engine.protocol import Engine, outcomes_in_order
from evidencebench.errors import DataError, FormatError, WorkerError
from evidencebench.files.disk import PathText
from evidencebench.query import Goal, Kind
from evidencebench.wording import counted, one_line

_MISSING = object()  # in place of the value of a key that is not there
_FieldT = TypeVar("_FieldT")
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

    @property
    def is_missing_optimum(self) -> bool:
        """Whether it is an evaluation that is not stored, which ``data solve`` derives."""
        return self.path[2:] in EVALUATION_KEYS.values() and self.got in {_shown(_MISSING), _shown(None)}

    def __str__(self) -> str:
        return f"{self.instance_id}: {self.path}: expected {self.expected}, got {self.got}"


def _shown(value: Any) -> str:
    """Return a value as a message shows it: JSON-like, on one line, short."""
    if value is _MISSING:
        return "nothing"
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}…"


def _are_all(kind: type, values: Iterable[Any]) -> bool:
    """Say whether values are all of this very type, and there is one."""
    return set(map(type, values)) == {kind}


def _has_type(kind: type, value: Any) -> bool:
    """Say whether a value is of a type; a bool, which is an int in Python, is none here."""
    return isinstance(value, kind) and not isinstance(value, bool)


# How messages name the members of lists, a list of them, and one that is not repeated.
_WORDS: dict[type, tuple[str, str, str]] = {
    str: ("an aspect id", "a list of aspect ids", "an id that stands once"),
    int: ("a sentence index", "a list of sentence indices", "an index that stands once"),
}
# Both dialects' spellings, each once.
_KINDS = tuple(dict.fromkeys([*map(str, Kind), *(kind.replace("_", " ") for kind in Kind)]))
_KNOWN_KINDS = frozenset(_KINDS)


class _Checked:
    """An instance that is checked: its fields that have the right type, and the violations found so far."""

    def __init__(self, instance_id: str, record: Mapping[str, Any]) -> None:
        self.instance_id, self.record = instance_id, record
        self.violations: list[Violation] = []
        kinds = record.get("sentence_types_in_candidate_pool")
        # Of EvidenceBench-100k, whose aspects may lack sentences.
        self.is_dialect = "systematic_review_id" in record or (isinstance(kinds, list) and spells_with_spaces(kinds))
        self.sentences: list[str] | None = None
        self.aspects: list[str] | None = None
        self.sources: dict[str, list[int]] = {}

    def note(self, path: str, rule: str, expected: str, got: str, *, in_dialects: bool = True) -> None:
        """Record a violation; one that is none ``in_dialects`` is a warning there."""
        severity = "error" if in_dialects or not self.is_dialect else "warning"
        self.violations.append(Violation(self.instance_id, path, rule, expected, got, severity))

    def expect(self, path: str, value: Any, kind: type, expected: str) -> bool:
        if _has_type(kind, value):
            return True
        self.note(path, "type", expected, _shown(value))
        return False

    def field(self, key: str, kind: type[_FieldT], expected: str) -> _FieldT | None:
        """Return the value under a key; None, and a violation, if it has another type."""
        value = self.record.get(key, _MISSING)
        return value if self.expect(f"$.{key}", value, kind, expected) else None

    def members(self, path: str, values: Any, kind: type, *, once_in_dialects: bool = False) -> list[Any] | None:
        """Return the usable members of a list of indices or ids, each bad or repeated one recorded; None if no list."""
        one, several, once = _WORDS[kind]
        if not self.expect(path, values, list, several):
            return None
        n_sentences = len(self.sentences or ())
        is_usual = _are_all(kind, values) and len(set(values)) == len(values)
        if is_usual and (kind is str or (min(values) >= 0 and max(values) < n_sentences)):
            return list(values)
        kept: dict[Any, None] = {}
        for position, member in enumerate(values):
            here = f"{path}[{position}]"
            if not self.expect(here, member, kind, one):
                continue
            if kind is int and self.sentences is not None and not 0 <= member < n_sentences:
                self.note(here, "range", f"an index in 0..{n_sentences - 1}", str(member))
                continue
            if member in kept:
                self.note(here, "unique", once, f"{_shown(member)} again", in_dialects=once_in_dialects)
            kept[member] = None
        return list(kept)

    def check_texts(self) -> None:
        for key in ("hypothesis", "paper_id"):
            self.field(key, str, "a string")
        self.sentences = self.field("paper_as_candidate_pool", list, "a list of sentences")
        if self.sentences == []:
            self.note("$.paper_as_candidate_pool", "length", "at least one sentence", "none")
        if self.sentences and not _are_all(str, self.sentences):
            for index, sentence in enumerate(self.sentences):
                self.expect(f"$.paper_as_candidate_pool[{index}]", sentence, str, "a string")
        # What follows has only some files.
        texts = self.record.get("aspect_id2aspect")
        if texts is not None and self.expect("$.aspect_id2aspect", texts, dict, "an object: aspect id -> text"):
            for aspect, text in texts.items():
                self.expect(f"$.aspect_id2aspect[{_shown(aspect)}]", text, str, "a string")
        review = self.record.get("systematic_review_id")
        if not (review is None or isinstance(review, str) or _has_type(int, review)):
            self.note("$.systematic_review_id", "type", "a string or a whole number", _shown(review))
        goal = self.record.get("goal")
        if goal is not None and goal not in get_args(Goal):
            self.note("$.goal", "type", "'answer', 'study' or null", _shown(goal))

    def check_kinds(self) -> None:
        path = "$.sentence_types_in_candidate_pool"
        kinds = self.field("sentence_types_in_candidate_pool", list, "a list of sentence types")
        if kinds is None:
            return
        if self.sentences is not None and len(kinds) != len(self.sentences):
            expected = f"one type for each of {counted(len(self.sentences), 'sentence')}"
            self.note(path, "length", expected, str(len(kinds)))
        if _are_all(str, kinds) and _KNOWN_KINDS.issuperset(kinds):
            return
        for index, kind in enumerate(kinds):
            if not (isinstance(kind, str) and kind in _KNOWN_KINDS):
                self.note(f"{path}[{index}]", "kind", f"one of {', '.join(_KINDS)}", _shown(kind))

    def check_aspects(self) -> None:
        values = self.record.get("aspect_list_ids", _MISSING)
        self.aspects = self.members("$.aspect_list_ids", values, str, once_in_dialects=True)
        may_be_silent = self.record.get("goal") == "answer"  # a paper need not answer
        if self.aspects == [] and not may_be_silent:
            self.note("$.aspect_list_ids", "length", "at least one aspect", "none")
        key = "results_aspect_list_ids"
        if self.record.get(key) is None:
            if key not in self.record and not self.is_dialect:
                self.note(f"$.{key}", "type", "a list of aspect ids, or null", "nothing")
            return
        results = self.members(f"$.{key}", self.record[key], str, once_in_dialects=True)
        if results == []:
            self.note(f"$.{key}", "length", "null where there are no Results aspects", "an empty list")
        for index, aspect in enumerate(results or ()):
            if self.aspects is not None and aspect not in self.aspects:
                self.note(f"$.{key}[{index}]", "subset", "an id of aspect_list_ids", _shown(aspect))

    def check_sources(self) -> None:
        path = "$.aspect2sentence_indices"
        sources = self.field("aspect2sentence_indices", dict, "an object: aspect id -> sentence indices")
        if sources is None:
            return
        for aspect, values in sources.items():
            here = f"{path}[{_shown(aspect)}]"
            if self.aspects is not None and aspect not in self.aspects:
                self.note(here, "subset", "an id of aspect_list_ids", _shown(aspect))
            if (indices := self.members(here, values, int)) is not None:
                self.sources[aspect] = indices
        for aspect in self.aspects or ():
            if aspect not in sources or sources[aspect] == []:
                expected = "at least one sentence" if aspect in sources else "an entry for every aspect"
                self.note(f"{path}[{_shown(aspect)}]", "source", expected, "none", in_dialects=False)

    def check_inverse(self) -> None:
        path = "$.sentence_index2aspects"
        inverse = self.field("sentence_index2aspects", dict, "an object: sentence index -> aspect ids")
        if inverse is None:
            return
        expected: dict[str, list[str]] = {str(index): [] for index in range(len(self.sentences or ()))}
        for aspect, indices in self.sources.items():
            for index in indices:
                expected.setdefault(str(index), []).append(aspect)
        for key in sorted(expected.keys() - inverse.keys()):
            self.note(f"{path}['{key}']", "inverse", "a key for every sentence", "none")
        for key, values in inverse.items():
            wanted = expected.get(key)
            here = f"{path}[{_shown(key)}]" if values != wanted else ""  # most are alike, since they are empty
            if here and wanted is None and self.sentences is not None:
                self.note(here, "range", f"a sentence index in 0..{len(self.sentences) - 1}", _shown(key))
            if here and (aspects := self.members(here, values, str)) is not None:
                self._compare_aspects(here, aspects, wanted or [])

    def _compare_aspects(self, path: str, aspects: list[str], wanted: list[str]) -> None:
        for aspect in aspects:
            if aspect not in wanted:
                self.note(path, "inverse", "only aspects whose sources hold this sentence", _shown(aspect))
        for aspect in sorted({*wanted} - {*aspects}):
            self.note(path, "inverse", f"{_shown(aspect)}, whose sources hold this sentence", "a list without it")

    def check_evaluation(self, task: Task) -> None:
        key = EVALUATION_KEYS[task.name]
        path, value = f"$.{key}", self.record.get(key, _MISSING)
        aspects = self.record.get("results_aspect_list_ids") if task.scope == "results" else self.aspects
        if value is None or value is _MISSING:
            if aspects and not self.is_dialect:
                self.note(path, "type", "an evaluation, which 'data solve' derives", _shown(value))
            elif value is _MISSING and not self.is_dialect:
                expected = (
                    "null, since there are no Results aspects" if task.scope == "results" else "an evaluation, or null"
                )
                self.note(path, "type", expected, "nothing")
        elif self.expect(path, value, dict, "an object or null"):
            if task.scope == "results" and aspects is None:
                self.note(path, "type", "null, since there are no Results aspects", "an evaluation")
            else:
                self._check_selection(path, task, value, aspects if isinstance(aspects, list) else [])

    def _check_selection(self, path: str, task: Task, value: Mapping[str, Any], aspects: list[Any]) -> None:
        selection = value.get("one_selection_of_sentences", _MISSING)
        indices = self.members(f"{path}.one_selection_of_sentences", selection, int)
        if indices is None:
            return
        expected: Any = value.get("optimal", _MISSING)
        may_lack = value.get("optimal") is None and (self.is_dialect or task.budget != "optimal")
        if may_lack or not self.expect(f"{path}.optimal", expected, int, "a number of sentences"):
            expected = None
        if isinstance(task.budget, int):
            expected = task.budget if self.sentences is None else min(task.budget, len(self.sentences))
        if expected is not None and len(selection) != expected:
            expected = counted(expected, "sentence")
            self.note(f"{path}.one_selection_of_sentences", "length", expected, str(len(selection)))
        path = f"{path}.covered_aspects"
        covered = self.members(path, value.get("covered_aspects", _MISSING), str)
        if covered is None:
            return
        ids = (aspect for aspect in aspects if isinstance(aspect, str))
        actual = {aspect for aspect in ids if not set(indices).isdisjoint(self.sources.get(aspect, ()))}
        for aspect in sorted(actual - {*covered}):
            self.note(path, "covered", f"{_shown(aspect)}, which the selection covers", "a list without it")
        for aspect in sorted({*covered} - actual):
            self.note(path, "covered", "only aspects that the selection covers", _shown(aspect))


def check_record(instance_id: str, record: Any) -> list[Violation]:
    checked = _Checked(instance_id, record if isinstance(record, dict) else {})
    if checked.expect("$", record, dict, "an object"):
        checked.check_texts()
        checked.check_kinds()
        checked.check_aspects()
        checked.check_sources()
        checked.check_inverse()
        for task in EVALUATION_KEYS:
            checked.check_evaluation(TASKS[task])
    return checked.violations


def _check_optima(instance_id: str, raw: bytes) -> list[Violation]:
    """Return a violation for each stored optimum of a valid instance that is not optimal."""
    checked = _Checked(instance_id, {})
    try:
        instance = decode_instance(instance_id, Origin(raw))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
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
            violations += _check_optima(instance_id, msgspec.json.encode(record))
        paper_id = record.get("paper_id") if isinstance(record, dict) else None
        repeated = [
            Violation(instance_id, "$", "unique", "keys that stand once", f"'{key}' again") for key in repeated_keys
        ]
        return repeated + violations, paper_id if isinstance(paper_id, str) else None

    return check
