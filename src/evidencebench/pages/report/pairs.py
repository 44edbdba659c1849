"""Every pair of ranked systems of a task as a matrix, by the tests that decide its leaderboard; and the pair in detail.

The page's script opens a pair below the matrix: its interval, its test, and its papers. It reads `pairs_data`.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.pages.markup import Node, encode_json, node
from evidencebench.pages.report.blocks import by_task, framed, isolated_name, note, section
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.report.forest import system_name
from evidencebench.pages.task_title import task_title
from evidencebench.scoring.compare import Pair, holm_text, mean_overlaps
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.score_texts import p_text


def pairs_section(findings: Findings, *, has_papers: bool) -> Node:
    """Return the section with the matrix of each task, and the place where the page's script opens a pair."""
    return section(
        "pairs",
        "Pair by pair",
        note(
            "By how many points of aspect recall the system of the row is above that of the column. "
            "Tinted, with a star: significantly, by the test that decides the ranks. Choose a pair to see its interval",
            " and its papers." if has_papers else ". Its papers are left out of this page.",
        ),
        *by_task(findings.tasks, lambda task: [_matrix(findings, task)]),
        node("div", {"id": "scatter", "tabindex": "-1"}),  # the name of older links
        node("script", {"type": "application/json", "id": "pairs-data"}, encode_json(pairs_data(findings)).decode()),
        node("noscript", None, note("A pair is opened by the page's script; 'evidencebench compare' prints it.")),
    )


def _matrix(findings: Findings, task: Task) -> Node:
    board = findings.boards[task.name]
    ranked = board.ranked
    if not board.pairs:
        return note("There is one system here, so no pair.")
    cells = [_cell(pair) for pair in board.pairs]
    rows, start = [], 0
    for place, row in enumerate(ranked[:-1]):
        n_behind = len(ranked) - 1 - place
        empty = node("td", {"colspan": place}) if place else None
        name = node("th", {"scope": "row", "class": "pair-name"}, *system_name(findings, row))
        rows.append(node("tr", None, name, empty, *cells[start : start + n_behind]))
        start += n_behind
    heads = (
        node("th", {"scope": "col"}, node("span", None, isolated_name(findings.name_of(row)))) for row in ranked[1:]
    )
    head = node("thead", None, node("tr", None, node("td"), *heads))
    table = node("table", {"class": "pairs"}, head, node("tbody", None, *rows))
    return framed(f"Differences of all pairs, {task_title(task)}", table)


def _cell(pair: Pair[Standing]) -> Node:
    shown = f"{100 * pair.test.difference.mean:.1f}"
    return node("td", {"class": "apart"}, f"{shown}*") if pair.is_significant else node("td", None, shown)


def pairs_data(findings: Findings) -> dict[str, Any]:
    """Return what the page's script shows of pairs.

    ``names`` are those of the systems in the page's addresses. ``tasks`` has by task's name: the places of its systems
    in ``names``, the best first; of these the two best runs, or a run and the best control; and the pairs. A pair is
    [places of the first and the second on the leaderboard, difference in points, both ends of its interval, p as text,
    whether it is significant, papers on which the first is better, equal and worse, detectable difference, overlap of
    the selections in %]; None where there is no such number.
    """
    rows = (row for task in findings.tasks for row in findings.boards[task.name].ranked)
    names = list(dict.fromkeys(_address(findings, row) for row in rows))
    return {"names": names, "tasks": {task.name: _task_data(findings, task, names) for task in findings.tasks}}


def _task_data(findings: Findings, task: Task, names: Sequence[str]) -> dict[str, Any]:
    board, columns = findings.boards[task.name], findings.columns(task)
    ranked = board.ranked
    runs = [row for row in findings.best_runs(task) if row.rank]
    controls = [row for row in ranked if row.is_control]
    shared = mean_overlaps([columns[findings.name_of(row)] for row in ranked]) if board.pairs else np.zeros((0, 0))
    return {
        "systems": [names.index(_address(findings, row)) for row in ranked],
        "best": [names.index(_address(findings, row)) for row in (*runs, *controls)[:2]],
        "pairs": [
            [*places, *_pair_data(pair), _points(shared[places])]
            for places, pair in zip(combinations(range(len(ranked)), 2), board.pairs, strict=True)
        ],
        "told": f"p is by sign flips of papers, {holm_text(board.pairs)}.",
    }


def _pair_data(pair: Pair[Standing]) -> list[Any]:
    test = pair.test
    return [
        *map(_points, (test.difference.mean, *(test.difference.interval or (None, None)))),
        p_text(pair.adjusted, "p"),
        pair.is_significant,
        *(test.n_better, test.n_equal, test.n_worse),
        _points(test.minimum_detectable),
    ]


def _address(findings: Findings, row: Standing) -> str:
    """Return the name that the page's addresses have for a system; a control and a run may have one label."""
    return f"{row.system} (control)" if row.is_control and row.system in findings.scored.runs else row.system


def _points(share: float | None) -> float | None:
    return None if share is None or np.isnan(share) else round(100 * float(share), 1) + 0.0
