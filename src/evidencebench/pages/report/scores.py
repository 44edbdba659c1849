"""The leaderboard of each task, its forest plot, and every pair of systems."""

from collections.abc import Sequence
from itertools import combinations, count, product
from string import ascii_lowercase

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.pages.figures.charts import RowAxis, row_mark
from evidencebench.pages.html import Child, Node, encode_json, node
from evidencebench.pages.report.blocks import (
    axis_head,
    by_task,
    folding_part,
    framed_table,
    isolated_name,
    note,
    section,
    table_node,
)
from evidencebench.pages.report.data import Findings
from evidencebench.pages.viewer import task_title
from evidencebench.runs.oddities import TRAINED_ON_IT
from evidencebench.scoring.compare import Pair, mean_overlaps
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.leaderboard import COLUMNS, Standing
from evidencebench.scoring.significance import ALPHA, p_text, percent
from evidencebench.tables import Cell, shortened_apart


def leaderboard_section(findings: Findings) -> Node:
    is_seen = any(map(findings.scored.trained_on_it, findings.scored.runs))
    return section(
        "leaderboard",
        "Leaderboard",
        note(
            "A system ranks above another only if their difference is significant, so it has a range of ranks. "
            "* A baseline, computed here; oracle knows the labels: it is the ceiling and has no rank.",
            f" † {TRAINED_ON_IT.capitalize()}." if is_seen else "",
        ),
        *by_task(findings.tasks, lambda task: [_board(findings, task)]),
        folding_part("All tasks, in one table", _overview(findings)) if len(findings.tasks) > 1 else None,
    )


def _overview(findings: Findings) -> Node | None:
    rows: dict[tuple[str, bool], dict[str, Standing]] = {}
    for task, board in findings.boards.items():
        for row in board.standings:
            for system in row.systems:
                rows.setdefault((system, row.is_control), {})[task] = row
    lines: dict[str, list[Cell]] = {}
    for (system, _), of_system in rows.items():
        names = {_name(findings, row) for row in of_system.values()}
        cells: list[Cell] = [_in_short(of_system.get(task)) for task in findings.boards]
        lines.setdefault(names.pop() if len(names) == 1 else system, cells)
    title = "Mean aspect recall in % [interval] (ranks), by task"
    cells_of = [[name, *cells] for name, cells in lines.items()]
    return table_node(title, ["system", *findings.boards], cells_of)


def _in_short(row: Standing | None) -> str:
    return "" if row is None else f"{percent(row.recall, alone='')}{f' ({row.rank_text})' if row.rank else ''}"


def _name(findings: Findings, row: Standing) -> str:
    return f"{findings.name_of(row)}{chr(0xA0) + '†' if row.trained_on_it else ''}"


def _board(findings: Findings, task: Task) -> Node | None:
    columns = [column for column in COLUMNS if column.page_heading]
    rows: list[list[Cell]] = []
    for row in findings.boards[task.name].standings:
        unfinished = f" ({row.unfinished} done)" if row.unfinished else ""
        recall = percent(row.recall, alone=f"{row.recall.alone}: no interval")
        cells = (recall if column.name == "mean" else column.shown(row) for column in columns)
        rows.append([f"{_name(findings, row)}{unfinished}", *cells])
    return table_node(task.name, ["system", *(column.page_heading for column in columns)], rows)


# The forest plot of a task: every system in order, its interval, and which systems cannot be told apart.


def forest(findings: Findings, task: Task) -> list[Node]:
    """Return the plot as a table, a row for each system, with the ceiling as a line; and what explains it."""
    board = findings.boards[task.name]
    ceiling = next((row for row in board.standings if row.is_control and CONTROLS[row.system].knows_labels), None)
    axis = RowAxis(rule=None if ceiling is None else ceiling.recall.mean)
    rows = [row for row in board.standings if row is not ceiling]
    names = ("".join(letters) for length in count(1) for letters in product(ascii_lowercase, repeat=length))
    groups = [(tuple(map(rows.index, group)), name) for group, name in zip(board.level_groups(), names, strict=False)]
    heads = (
        node("th", {"scope": "col", "class": "forest-ranks"}, "ranks"),
        node("th", {"scope": "col"}, "system"),
        axis_head("plot", axis),
        node("th", {"scope": "col"}, "aspect recall, %"),
        node("th", {"scope": "colgroup", "colspan": len(groups)}, "group") if groups else None,
    )
    body = []
    for position, row in enumerate(rows):
        mean, space, ends = percent(row.recall, alone="").partition(" ")
        interval = node("span", {"class": "muted"}, ends) if ends else None
        cells = (
            node("td", {"class": "forest-ranks"}, row.rank_text.replace("-", "–")),
            node("th", {"scope": "row", "class": "forest-name"}, *_system_name(findings, row)),
            node("td", {"class": "forest-plot"}, row_mark(axis, findings.bar(row))),
            node("td", {"class": "forest-value"}, mean, space, interval),
        )
        body.append(node("tr", None, *cells, *(_level(position, group, letter) for group, letter in groups)))
    chart = framed_table(f"Chart: mean aspect recall, {task_title(task)}", "forest", heads, body)
    return [chart, note(_explanation(findings, task, ceiling, has_groups=bool(groups)))]


def _system_name(findings: Findings, row: Standing) -> list[Child]:
    seen = "\u00a0†" if row.trained_on_it else ""
    few = node("span", {"class": "muted"}, f" ({row.unfinished} done)") if row.unfinished else None
    return [isolated_name(*findings.names_of(row)), seen, few]


def _level(position: int, group: Sequence[int], letter: str) -> Node:
    """Return a row's cell in the column of a group: its letter on a bar, or the line between two members."""
    first, last = min(group), max(group)
    if position in group:
        looks = {"level-in": True, "level-first": position == first, "level-last": position == last}
    else:
        looks = {"level-between": first < position < last}
    look = " ".join(["level", *(name for name, holds in looks.items() if holds)])
    return node("td", {"class": look}, node("span", None, letter) if position in group else None)


def _explanation(findings: Findings, task: Task, ceiling: Standing | None, *, has_groups: bool) -> str:
    board = findings.boards[task.name]
    words = []
    if has_groups:
        words.append(
            f"Systems that share a letter do not differ significantly (p ≥ {ALPHA}, {findings.resampling.test_name} "
            "over papers, adjusted for the number of pairs). Systems that share none do."
        )
    words.append(f"Lines: {100 * findings.resampling.level:g} % intervals.")
    if ceiling is not None:
        words.append(f"Dashed: the ceiling, {100 * ceiling.recall.mean:.1f} %.")
    if any(row.unfinished for row in board.standings):
        words.append("Hollow with a dashed line: unfinished; missing answers count as 0.")
    if any(row.is_control for row in board.ranked):
        words.append("* A baseline, computed here.")
    if board.sameness:
        words.append(f"{board.sameness}.")
    return " ".join(words)


_LONGEST_HEAD = 20  # characters of a name that stands upright

# Every pair of ranked systems of a task as a matrix, by the tests that decide its leaderboard; and the pair in detail.


def pairs_section(findings: Findings, *, has_papers: bool) -> Node:
    return section(
        "pairs",
        "Pair by pair",
        note(
            "Difference in aspect recall, row - column, in points. Tinted, with a star: significant by the test that "
            "decides the ranks. Choose a pair to see its interval",
            " and its papers." if has_papers else ". The papers are left out of this page.",
        ),
        *by_task(findings.tasks, lambda task: [_matrix(findings, task)]),
        node("div", {"id": "scatter", "tabindex": "-1"}),  # the name of older links
        node("script", {"type": "application/json", "id": "pairs-data"}, encode_json(_pairs_data(findings)).decode()),
        node("noscript", None, note("Opening a pair needs JavaScript; 'evidencebench compare' prints the same.")),
    )


def _matrix(findings: Findings, task: Task) -> Node:
    board = findings.boards[task.name]
    ranked = board.ranked
    if not board.pairs:
        return note("There is only one system, so there are no pairs.")

    def cell(pair: Pair[Standing]) -> Node:
        shown = f"{100 * pair.test.difference.mean:.1f}"
        return node("td", {"class": "apart"}, f"{shown}*") if pair.is_significant else node("td", None, shown)

    rows = []
    for position, row in enumerate(ranked[:-1]):
        empty = node("td", {"colspan": position}) if position else None
        name = node("th", {"scope": "row", "class": "pair-name"}, *_system_name(findings, row))
        cells = (cell(pair) for pair in board.pairs if pair.first is row)
        rows.append(node("tr", None, name, empty, *cells))
    names = (isolated_name(*findings.names_of(row, _LONGEST_HEAD)) for row in ranked[1:])
    heads = (node("th", {"scope": "col"}, node("span", None, name)) for name in names)
    return framed_table(f"Differences of all pairs, {task_title(task)}", "pairs", [node("td"), *heads], rows)


def _pairs_data(findings: Findings) -> dict[str, object]:
    """Return what the page's script shows of pairs.

    ``names`` are those of the systems in the page's addresses, ``shown`` has them as they are cut. ``tasks`` has by
    task's name: the places of its systems in ``names``, the best first; of these the two best runs, or a run and the
    best control; those that share another's row; and the pairs. A pair is
    [places of the first and the second on the leaderboard, difference in points, both ends of its interval, p as text,
    whether it is significant, papers on which the first is better, equal and worse, detectable difference, overlap of
    the selections in %]; None where there is no such number.
    """
    rows = [row for board in findings.boards.values() for row in board.ranked]
    firsts = [_address(findings, row) for row in rows]
    names = list(dict.fromkeys([*firsts, *(system for row in rows for system in row.same_answers)]))
    tasks: dict[str, dict[str, object]] = {}
    for task in findings.tasks:
        board, columns = findings.boards[task.name], findings.columns(task)
        ranked = board.ranked
        runs = [row for row in findings.best_runs(task) if row.rank]
        controls = [row for row in ranked if row.is_control]
        overlaps = (
            mean_overlaps([columns[findings.name_of(row)] for row in ranked]) if board.pairs else np.zeros((0, 0))
        )
        pairs = []
        for places, pair in zip(combinations(range(len(ranked)), 2), board.pairs, strict=True):
            test = pair.test
            difference = map(_points, (test.difference.mean, *(test.difference.interval or (None, None))))
            counts = (test.n_better, test.n_equal, test.n_worse)
            p = p_text(pair.adjusted, "p")
            ends = (_points(test.minimum_detectable), _points(overlaps[places]))
            pairs.append([*places, *difference, p, pair.is_significant, *counts, *ends])
        tasks[task.name] = {
            "systems": [names.index(_address(findings, row)) for row in ranked],
            "best": [names.index(_address(findings, row)) for row in (*runs, *controls)[:2]],
            "same": [(system, row.system) for row in ranked for system in row.same_answers],
            "pairs": pairs,
            "told": f"p: {findings.resampling.test_name} over papers, adjusted for the number of pairs (Holm).",
        }
    return {"names": names, "shown": list(shortened_apart(names).values()), "tasks": tasks}


def _address(findings: Findings, row: Standing) -> str:
    """Return the name that the page's addresses have for a system; a control and a run may have one label."""
    return f"{row.system} (baseline)" if row.is_control and row.system in findings.scored.runs else row.system


def _points(share: float | None) -> float | None:
    return None if share is None or np.isnan(share) else round(100 * float(share), 1) + 0.0
