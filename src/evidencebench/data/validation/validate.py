"""Validate data files: every violation of the published format, with its place."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from evidencebench.data.catalog import data_path
from evidencebench.data.formats.table import DataFile, DataSource, file_of, open_source
from evidencebench.data.validation.checked_record import Violation
from evidencebench.data.validation.evaluation_rules import check_optima
from evidencebench.data.validation.rules import check_record
from evidencebench.engine.processes import engine_of
from evidencebench.engine.protocol import Engine
from evidencebench.engine.results import outcomes_in_order
from evidencebench.errors import FormatError, WorkerError
from evidencebench.storage.reading import PathText
from evidencebench.wording import counted, one_line

_MIN_INSTANCES_A_JOB = 200


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
        """Whether every instance was checked, and no rule is broken."""
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
        once, again = "an id that stands once", "the id more than once"
        unchecked: dict[str, str] = {}
        all_violations = [_violation(instance_id, "unique", once, again) for instance_id in source.repeated_ids]
        runs_on = engine_of(engine, jobs, at_most=1 + len(source.ids) // _MIN_INSTANCES_A_JOB)
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
                in_one = "a paper that stands in one split only"
                all_violations.append(_violation(instance_id, "paper", in_one, got, path="$.paper_id"))
            if on_progress is not None:
                on_progress(n_done, len(source.ids))
        reports.append(
            FileReport(
                path=str(path),
                n_instances=len(source.ids),
                violations=tuple(violation for violation in all_violations if violation.is_error),
                warnings=tuple(violation for violation in all_violations if not violation.is_error),
                unchecked=unchecked,
            )
        )
    return reports


def count_by_rule(violations: Iterable[Violation]) -> Counter[str]:
    """Return how often each rule is broken."""
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
            return [_violation(instance_id, "json", "an instance that can be read", why)], None
        violations = check_record(instance_id, record)
        if optima and not any(violation.is_error for violation in violations):
            violations += check_optima(instance_id, msgspec.json.encode(record))
        paper_id = record.get("paper_id") if isinstance(record, dict) else None
        repeated = [
            _violation(instance_id, "unique", "keys that stand once", f"'{key}' again") for key in repeated_keys
        ]
        return repeated + violations, paper_id if isinstance(paper_id, str) else None

    return check


def _violation(instance_id: str, rule: str, expected: str, got: str, *, path: str = "$") -> Violation:
    return Violation(instance_id=instance_id, path=path, rule=rule, expected=expected, got=got)
