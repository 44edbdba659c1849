"""The leaderboard of each task, with intervals and the range of ranks of every system."""

from evidencebench.data.tasks import Task
from evidencebench.pages.markup import Node
from evidencebench.pages.report.blocks import by_task, folding_part, note, section, table_node
from evidencebench.pages.report.findings import Findings
from evidencebench.scoring.cautions import TRAINED_ON_IT
from evidencebench.scoring.leaderboard import COLUMNS, BoardColumn, Standing
from evidencebench.scoring.score_texts import percent
from evidencebench.tables import Cell, Table


def leaderboard_section(findings: Findings) -> Node:
    """Return the section with a table of all tasks, then a table for each task."""
    is_seen = any(map(findings.scored.trained_on_it, findings.scored.runs))
    return section(
        "leaderboard",
        "Leaderboard",
        note(
            "The plot above as a table for each task, with the answers that failed, and all tasks beside one another. "
            "A system ranks above another only where their difference is significant, so it has a range of ranks. "
            "* A control, computed here; oracle knows the labels: it is the ceiling and has no rank.",
            f" † {TRAINED_ON_IT.capitalize()}." if is_seen else "",
        ),
        folding_part("All tasks, in one table", table_node(_overview(findings))) if len(findings.tasks) > 1 else None,
        *by_task(findings.tasks, lambda task: [folding_part("This task, as a table", _board(findings, task))]),
    )


def _overview(findings: Findings) -> Table:
    shown = {
        task.name: {_name(findings, row): _mean_and_ranks(row) for row in findings.standings[task.name]}
        for task in findings.tasks
    }
    names = dict.fromkeys(name for rows in shown.values() for name in rows)
    return Table(
        title="Mean aspect recall in % [interval] (ranks), by task",
        columns=["system", *shown],
        rows=[[name, *(rows.get(name) for rows in shown.values())] for name in names],
    )


def _name(findings: Findings, row: Standing) -> str:
    return f"{findings.name_of(row)}{chr(0xA0) + '†' if row.trained_on_it else ''}"


def _mean_and_ranks(row: Standing) -> str:
    mean = percent(row.recall, alone="")
    return f"{mean} ({row.rank_text})" if row.rank else mean


def _board(findings: Findings, task: Task) -> Node:
    columns = [column for column in COLUMNS if column.page_heading]
    rows = []
    for row in findings.standings[task.name]:
        unfinished = f" ({row.unfinished} done)" if row.unfinished else ""
        rows.append([f"{_name(findings, row)}{unfinished}", *(_cell(column, row) for column in columns)])
    return table_node(
        Table(title=task.name, columns=["system", *(column.page_heading for column in columns)], rows=rows)
    )


def _cell(column: BoardColumn, row: Standing) -> Cell:
    is_recall = column.name == "mean"
    return percent(row.recall, alone=f"{row.recall.alone}: no interval") if is_recall else column.shown(row)
