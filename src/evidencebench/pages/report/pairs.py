"""Every pair of runs, and every run against every control that reads no labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from evidencebench.pages.report.findings import Findings
from evidencebench.scoring.compare import Comparison, compare_all
from evidencebench.scoring.ranks import enough_draws, holm
from evidencebench.scoring.resampling import Resampling


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two systems on one task.

    Attributes
    ----------
    first, second
        Their names.
    comparison
        first - second.
    p_value
        Adjusted by Holm over all pairs that were compared together.
    """

    first: str
    second: str
    comparison: Comparison
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs that were compared together.

    Attributes
    ----------
    members
        Task by task.
    resampling
        With as many draws as Holm over so many pairs needs.
    """

    members: tuple[Pair, ...]
    resampling: Resampling


def pairs_of_runs(findings: Findings) -> Pairs:
    """Compare every pair of runs on every task, as ``evidencebench compare`` does."""
    return _compared(findings, [list(combinations(findings.graded.runs, 2))] * len(findings.tasks), with_overlaps=True)


def pairs_with_controls(findings: Findings) -> Pairs:
    """Compare every run with every control that reads no labels, on every task."""
    asked = []
    for task in findings.tasks:
        controls = findings.label_free_controls(task)
        runs = [findings.name_of(row) for row in findings.board[task.name] if not row.is_control]
        asked.append([(run, control) for run in runs if run not in controls for control in controls])
    return _compared(findings, asked, with_overlaps=False)


def _compared(findings: Findings, asked: Sequence[Sequence[tuple[str, str]]], *, with_overlaps: bool) -> Pairs:
    n_draws = max(findings.resampling.n_draws, enough_draws(sum(map(len, asked))))
    resampling = replace(findings.resampling, n_draws=n_draws)
    found: list[tuple[str, str, Comparison]] = []
    for task, pairs in zip(findings.tasks, asked, strict=True):
        comparisons = compare_all(findings.columns(task), pairs, resampling=resampling, with_overlaps=with_overlaps)
        found += [(*pair, comparison) for pair, comparison in zip(pairs, comparisons, strict=True)]
    adjusted = holm([comparison.test.p_value for *_, comparison in found])
    return Pairs(
        members=tuple(
            Pair(first=first, second=second, comparison=comparison, p_value=p_value)
            for (first, second, comparison), p_value in zip(found, adjusted, strict=True)
        ),
        resampling=resampling,
    )
