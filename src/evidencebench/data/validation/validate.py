"""Every rule of the published format, every violation with its place."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evidencebench.data.catalog import data_path
from evidencebench.data.dataset import DataFile, file_of, index_again, index_file
from evidencebench.data.formats.indexing import Index, not_utf8
from evidencebench.data.instance import Origin
from evidencebench.data.validation.rules import Violation, check_optima, check_record
from evidencebench.engine.ordering import map_in_order
from evidencebench.engine.processes import engine_of
from evidencebench.errors import UnreadableError
from evidencebench.one_line import counted, one_line
from evidencebench.storage.reading import PathText
from evidencebench.storage.repeated_keys import repeated_keys

_MIN_INSTANCES_A_JOB = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What validation found in one file.

    Attributes
    ----------
    path
        The file.
    n_instances
        Instances read.
    violations
        Rules broken, in file order.
    warnings
        What is unusual but allowed in the file's dialect, in file order.
    """

    path: str
    n_instances: int
    violations: tuple[Violation, ...]
    warnings: tuple[Violation, ...]

    def __repr__(self) -> str:
        violations, warnings = counted(len(self.violations), "violation"), counted(len(self.warnings), "warning")
        return one_line(self, repr(self.path), counted(self.n_instances, "instance"), violations, warnings)

    @property
    def is_valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def validate_record(instance_id: str, record: Any, *, optima: bool = False) -> list[Violation]:
    """Return every violation and warning of one instance, given as plain JSON values.

    Parameters
    ----------
    instance_id
        The key under which it stands.
    record
        What stands there; anything that JSON can hold.
    optima
        Whether to solve the instance again and compare the stored optima.

    Examples
    --------
    >>> validate_record("x", [])[0].expected
    'an object'
    """
    found = check_record(instance_id, record)
    if optima and not any(violation.is_error for violation in found):
        found += check_optima(instance_id, msgspec.json.encode(record))
    return found


def validate_file(path: PathText, *, optima: bool = False, jobs: int = 1) -> FileReport:
    """Return every violation in a file; see `validate_files`."""
    return validate_files([path], optima=optima, jobs=jobs)[0]


def validate_files(
    paths: PathText | Iterable[PathText],
    *,
    optima: bool = False,
    jobs: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[FileReport]:
    """Return a report for each file; a paper that stands in two of them is a violation of the later one.

    Parameters
    ----------
    paths
        Data files or catalogue names, as `open_dataset` takes them.
    optima
        Whether to solve every instance again and compare the stored optima.
    jobs
        Processes.
    on_progress
        Called with (instances done, instances in all) of each file in turn.

    Raises
    ------
    UnreadableError
        If a file cannot be opened, decoded or parsed.
    ChangedDataError
        If one becomes another meanwhile.
    """
    reports = []
    file_of_paper: dict[str, Path] = {}
    for path in map(data_path, [paths] if isinstance(paths, str | os.PathLike) else paths):
        index = index_file(path)
        ids = list(index.places)
        found = [_repeated(instance_id) for instance_id in index.duplicates]
        engine = engine_of(min(jobs, 1 + len(ids) // _MIN_INSTANCES_A_JOB))
        opened = index if engine.shares_memory else file_of(path, index)
        results = map_in_order(engine, _checker, (path, opened, optima), ids)
        for n_done, (instance_id, (violations, paper_id)) in enumerate(zip(ids, results, strict=True), 1):
            found += violations
            if paper_id is not None and file_of_paper.setdefault(paper_id, path) != path:
                found.append(_shared(instance_id, paper_id, file_of_paper[paper_id]))
            if on_progress is not None:
                on_progress(n_done, len(ids))
        reports.append(
            FileReport(
                path=str(path),
                n_instances=len(ids),
                violations=tuple(violation for violation in found if violation.is_error),
                warnings=tuple(violation for violation in found if not violation.is_error),
            )
        )
    return reports


def count_by_rule(violations: Iterable[Violation]) -> Counter[str]:
    """Return how often each rule is broken."""
    return Counter(violation.rule for violation in violations)


def _checker(
    path: Path,
    opened: Index | DataFile,
    optima: bool,  # noqa: FBT001 - sent to workers by position
) -> Callable[[str], tuple[list[Violation], str | None]]:
    index = index_again(opened) if isinstance(opened, DataFile) else opened

    def check(instance_id: str) -> tuple[list[Violation], str | None]:
        try:
            record, found = _decoded(instance_id, index.origin(instance_id))
        except UnicodeDecodeError as error:
            raise UnreadableError(f"{path}: {instance_id}: {not_utf8(error)}") from error
        if record is None and found:
            return found, None
        paper_id = record.get("paper_id") if isinstance(record, dict) else None
        found += validate_record(instance_id, record, optima=optima)
        return found, paper_id if isinstance(paper_id, str) else None

    return check


def _decoded(instance_id: str, origin: Origin) -> tuple[Any, list[Violation]]:
    """Return the JSON value, and what keeps it from being read, or from being read in one way only."""
    raw = bytes(origin.raw)
    try:
        record = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        return None, [
            Violation(instance_id=instance_id, path="$", rule="json", expected="JSON that can be read", got=str(error))
        ]
    # Colons behind a quote that ends a string: one a key, so that a repeated key shows without a slower parser.
    compact = msgspec.json.format(raw, indent=-1)
    if compact.count(b'":') - compact.count(b'\\":') == _n_keys(record):
        return record, []
    return record, [
        Violation(
            instance_id=instance_id, path="$", rule="unique", expected="keys that stand once", got=f"'{key}' again"
        )
        for key in _repeated_keys(raw)
    ]


def _n_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_n_keys, value.values()))
    return sum(map(_n_keys, value)) if isinstance(value, list) else 0


def _repeated_keys(raw: bytes) -> list[str]:
    repeated: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        repeated.extend(repeated_keys(pairs))

    json.loads(raw, object_pairs_hook=note, parse_int=str)
    return repeated


def _repeated(instance_id: str) -> Violation:
    return Violation(
        instance_id=instance_id, path="$", rule="unique", expected="an id that stands once", got="the id more than once"
    )


def _shared(instance_id: str, paper_id: str, other: Path) -> Violation:
    return Violation(
        instance_id=instance_id,
        path="$.paper_id",
        rule="paper",
        expected="a paper that stands in one split only",
        got=f"'{paper_id}', which is also in {other}",
    )
