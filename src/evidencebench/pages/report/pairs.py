"""Every pair of ranked systems of a task, by the tests that decide its leaderboard."""

from evidencebench.pages.markup import Node
from evidencebench.pages.report.blocks import note, points_text, section, table_node
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.report.opening import why_not_significant
from evidencebench.scoring.leaderboard import RankedPair
from evidencebench.scoring.score_texts import p_text
from evidencebench.tables import Cell, Table


def pairs_section(findings: Findings) -> Node:
    """Return the section with every pair of ranked systems of each task."""
    columns = ["first", "second", "task", "difference, points", "p (Holm)"]
    columns += ["better", "equal", "worse", "detectable, points", "n"]
    rows = [_row(findings, task.name, pair) for task in findings.tasks for pair in findings.boards[task.name].pairs]
    reason = why_not_significant(findings, findings.tasks[0])
    return section(
        "pairs",
        "Pair by pair",
        note(
            "Differences are first − second in points of aspect recall, on the same instances. p is from sign flips of "
            "each paper's difference, adjusted by Holm over the pairs of the task's leaderboard. The detectable "
            "difference is what this data would find at the 5 % level with 80 % power."
        ),
        table_node(Table(title="Ranked systems", columns=columns, rows=rows)),
        note(reason) if reason else None,
    )


def _row(findings: Findings, task: str, pair: RankedPair) -> list[Cell]:
    test = pair.test
    return [
        findings.name_of(pair.first),
        findings.name_of(pair.second),
        task,
        points_text(test.difference),
        p_text(pair.adjusted),
        test.n_better,
        test.n_equal,
        test.n_worse,
        None if test.minimum_detectable is None else 100 * test.minimum_detectable,
        test.difference.n,
    ]
