"""Recall by what an instance is like."""

from collections.abc import Sequence

from evidencebench.data.tasks import Task
from evidencebench.pages.figures import BarGroup, grouped_chart
from evidencebench.pages.markup import Node
from evidencebench.pages.report.blocks import figure, note, section
from evidencebench.pages.report.breakdowns import Breakdown
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.report.sections.opening import described
from evidencebench.scoring.score_texts import percent
from evidencebench.tables import Cell, Table


def breakdowns_section(findings: Findings, task: Task, found: Sequence[Breakdown]) -> Node:
    """Return a grouped chart and its table for each trait."""
    return section(
        "breakdowns",
        "Recall by kind of instance",
        note(
            f"On {task.name} ({described(task)}). Intervals resample papers within the group; a group of one paper has "
            "none. Groups differ in how hard they are, so compare systems within a group, not groups. All, some or "
            "none in the abstract: its sentences cover all, some or none of the aspects that any sentence covers."
        ),
        *(_figure(findings, task, one) for one in found),
    )


def _figure(findings: Findings, task: Task, breakdown: Breakdown) -> Node:
    controls = {findings.name_of(row): row.system for row in findings.board[task.name] if row.is_control}
    groups = [
        BarGroup(
            name=f"{one.name} (n = {one.n})",
            bars=[
                findings.bar(controls.get(name, name), mean, is_control=name in controls)
                for name, mean in one.recalls.items()
            ],
        )
        for one in breakdown.bins
    ]
    title = f"By {breakdown.trait}"
    return figure(grouped_chart(groups, title=title), _table(title, breakdown))


def _table(title: str, breakdown: Breakdown) -> Table:
    systems = list(breakdown.bins[0].recalls) if breakdown.bins else []
    rows: list[list[Cell]] = [
        [one.name, one.n, one.n_clusters, *(percent(one.recalls[system], alone="") for system in systems)]
        for one in breakdown.bins
    ]
    return Table(title=f"{title}: aspect recall in %", columns=["group", "n", "papers", *systems], rows=rows)
