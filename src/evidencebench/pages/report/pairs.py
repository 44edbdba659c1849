"""Every pair of runs, and every run against every control that reads no labels, on every task."""

from itertools import combinations

from evidencebench.pages.report.findings import Findings
from evidencebench.scoring.pairs import Pairs, compare_pairs


def pairs_of_runs(findings: Findings) -> Pairs:
    """Compare every pair of runs, as ``evidencebench compare`` does."""
    pairs = list(combinations(findings.scored.runs, 2))
    return compare_pairs([(findings.columns(task), pairs) for task in findings.tasks], findings.resampling)


def pairs_with_controls(findings: Findings) -> Pairs:
    """Compare every run with every control that reads no labels."""
    asked = []
    for task in findings.tasks:
        controls = findings.label_free_controls(task)
        runs = [findings.name_of(row) for row in findings.board[task.name] if not row.is_control]
        asked.append((findings.columns(task), [(run, one) for run in runs if run not in controls for one in controls]))
    return compare_pairs(asked, findings.resampling, with_overlaps=False)
