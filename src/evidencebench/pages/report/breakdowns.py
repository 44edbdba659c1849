"""Recall by budget and by kind of paper, for every system, and what the selected sentences add."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evidencebench.data.cover import Coverage
from evidencebench.data.tasks import Task
from evidencebench.engine.protocol import Engine
from evidencebench.pages.figures.charts import BROAD, NARROW, RowAxis, line_chart
from evidencebench.pages.figures.data import Series
from evidencebench.pages.html import Node, beginning_of, node
from evidencebench.pages.report.blocks import (
    by_task,
    figure,
    folding_part,
    interval_cell,
    interval_table,
    isolated_name,
    note,
    section,
    system_cell,
    table_node,
)
from evidencebench.pages.report.data import Findings
from evidencebench.pages.viewer import task_title
from evidencebench.query import AspectScope
from evidencebench.scoring.breakdowns import (
    N_AT_AN_END,
    NOTHING,
    PROPERTIES,
    PickCounts,
    coverages_of,
    picks_of,
    places_of,
    recalls_of_all,
)
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.resampling import Estimate, bootstrap_columns, bootstrap_defined
from evidencebench.scoring.significance import percent
from evidencebench.wording import counted


class Curves(NamedTuple):
    """Recall by budget over the aspects of a scope; each curve is a mean over ``n`` instances.

    Runs come first, then controls, then the ceiling: the mean of the highest recall at each budget, over the instances
    where that is proven.
    """

    scope: AspectScope
    curves: tuple[Series, ...]
    n: int


def curves_of(
    findings: Findings, largest: int, engine: Engine, on_progress: Callable[[int, int], object] = lambda *_: None
) -> tuple[Curves, ...]:
    """Return curves up to the budget ``largest``: over all aspects, and over Results aspects where there are any."""
    scored = findings.scored
    on_a_board = {row.system for board in findings.boards.values() for row in board.standings if row.is_control}
    controls = [name for name in scored.controls if name in on_a_board and not CONTROLS[name].knows_labels]
    names = [*((label, False) for label in scored.runs), *((name, True) for name in controls)]
    recalls = recalls_of_all(
        findings.dataset,
        scored.n_instances,
        scored.runs.values(),
        controls,
        largest,
        rules=scored.rules,
        engine=engine,
        on_progress=on_progress,
    )
    curves = []
    for scope, (columns, clusters) in recalls.items():
        if clusters:
            points = bootstrap_defined(columns, clusters, findings.resampling)
            drawn = (
                Series(
                    name=name,
                    is_control=is_control,
                    points=points[largest * place : largest * (place + 1)],
                    # The ceiling has the mark and colour of the oracle, whose curve is the same.
                    number=findings.number_of("oracle" if place == len(names) else name, is_control=is_control),
                )
                for place, (name, is_control) in enumerate([*names, ("ceiling", True)])
            )
            curves.append(Curves(scope, tuple(drawn), len(clusters)))
    return tuple(curves)


def curves_section(findings: Findings, by_scope: Sequence[Curves], largest: int) -> Node:
    runs = findings.scored.runs.items()
    asked_per_task = [label for label, run in runs if any(task is not None for _, task in run.done)]
    return section(
        "curves",
        "Recall by budget",
        note(
            f"How much a system finds if only its first 1 to {largest} sentences count. In colour: the best runs. "
            "Hollow: the best baseline, and the ceiling, which is the most that this number of sentences can cover. "
            "Thin lines: the other systems."
        ),
        *(_chart(findings, curves) for curves in by_scope),
        folding_part("All systems, with intervals, as tables", *map(_curve_table, by_scope)),
        note("No instance has Results aspects, so there is no curve for them.") if len(by_scope) == 1 else None,
        note(
            "Asked separately for each task, with its budget in the question, and so shown only at the budgets of "
            f"these tasks: {', '.join(map(beginning_of, asked_per_task))}."
        )
        if asked_per_task
        else None,
    )


def _chart(findings: Findings, curves: Curves) -> Node:
    tasks = [task for task in findings.tasks if task.scope == curves.scope] or findings.tasks
    named = {(row.system, row.is_control) for row in findings.foremost(tasks[0])} | {("ceiling", True)}
    lines = [
        replace(curve, is_context=(curve.name, curve.is_control) not in named)
        for curve in curves.curves
        if any(curve.points)
    ]
    caption = (
        f"Mean aspect recall over {_title(curves)[0].lower()}{_title(curves)[1:]}, by how many "
        f"sentences of an answer count. Shaded areas, and lines through single marks, are "
        f"{100 * findings.resampling.level:g} % intervals that resample papers, each for one budget."
    )
    title, x_name, y_name = _title(curves), "sentences that count", "aspect recall, %"
    drawn = (line_chart(lines, title=title, x_name=x_name, y_name=y_name, width=width) for width in (NARROW, BROAD))
    return figure(caption, *drawn)


def _curve_table(curves: Curves) -> Node | None:
    names = (f"{curve.name}\u00a0*" if curve.is_control else curve.name for curve in curves.curves)

    def cell(point: Estimate | None) -> str:
        # A mean over fewer than all instances, as of a ceiling, says over how many.
        few = "" if point is None or point.n == curves.n else f" ({point.n:,} of {counted(curves.n, 'instance')})"
        return "" if point is None else f"{percent(point, alone='')}{few}"

    by_budget = zip(*(curve.points for curve in curves.curves), strict=True)
    rows = [[str(k), *map(cell, points)] for k, points in enumerate(by_budget, 1)]
    return table_node(f"{_title(curves)}: aspect recall in %", ["sentences", *names], rows)


def _title(curves: Curves) -> str:
    return f"{'All' if curves.scope == 'all' else 'Results'} aspects, {counted(curves.n, 'instance')}"


# Aspect recall by properties of the papers, such as their length.

Bins = Mapping[str, Mapping[str, Estimate]]
"""Name of a bin of instances -> system -> mean aspect recall in the bin; bins without instances are left out."""


def breakdowns_of(findings: Findings) -> Mapping[str, Mapping[str, Bins]]:
    """Return by task the bins of each property of the instances, with the recall of every system of its leaderboard."""
    places: dict[AspectScope, list[tuple[int, ...]]] = {task.scope: [] for task in findings.tasks}
    for instance in findings.dataset.instances(findings.scored.n_instances):
        for scope, of_scope in places.items():
            if instance.labels.that_count(scope):
                of_scope.append(places_of(instance, scope))
    by_task: dict[str, dict[str, dict[str, dict[str, Estimate]]]] = {
        task.name: {title: {} for title in PROPERTIES} for task in findings.tasks
    }
    for scope, of_scope in places.items():
        columns = {task.name: findings.columns(task) for task in findings.tasks if task.scope == scope}
        keys = [(task, system) for task, scores in columns.items() for system in scores]
        recalls = np.column_stack([columns[task][system].recalls for task, system in keys])
        clusters = columns[keys[0][0]][keys[0][1]].clusters
        for place_of, (title, names) in zip(np.array(of_scope).T, PROPERTIES.items(), strict=True):
            for place, name in enumerate(names):
                inside = np.flatnonzero(place_of == place)
                if inside.size:
                    means = bootstrap_columns(recalls[inside], [clusters[n] for n in inside], findings.resampling)
                    for (task_name, system), mean in zip(keys, means, strict=True):
                        by_task[task_name][title].setdefault(name, {})[system] = mean
    return by_task


def breakdowns_section(findings: Findings) -> Node:
    bins = breakdowns_of(findings)
    return section(
        "breakdowns",
        "Recall by kind of paper",
        note(
            "Groups differ in difficulty: compare systems within a group, not groups. All, some or none in the "
            "abstract: its sentences cover all, some or none of the aspects that any sentence covers. The ends are the "
            f"first and the last {N_AT_AN_END} sentences; 'score --places' shows whether the length of papers explains "
            "their effect."
        ),
        *by_task(findings.tasks, lambda task: _block(findings, task, bins[task.name])),
    )


def _block(findings: Findings, task: Task, by_property: Mapping[str, Bins]) -> list[Node]:
    tables = []
    for property_name, bins in by_property.items():
        extents = {name: next(iter(recalls.values())).extent for name, recalls in bins.items()}
        heads = ["system", *(f"{name} ({extent})" for name, extent in extents.items())]
        systems = next(iter(bins.values()))
        cells = [[name, *(percent(recalls[name], alone="") for recalls in bins.values())] for name in systems]
        tables.append(table_node(f"By {property_name}: aspect recall in %", heads, cells))
    plots = (_plots(findings, task, name, bins) for name, bins in by_property.items())
    return [*plots, folding_part("All systems, with intervals, as tables", *tables)]


def _plots(findings: Findings, task: Task, name: str, bins: Bins) -> Node:
    """Return a table with a plot for each of a few systems in each bin; below one another they can be compared."""
    axis, drawn = RowAxis(), {name: recalls for name, recalls in bins.items() if name != NOTHING}
    columns = {f"{group} (n = {next(iter(recalls.values())).n:,})": axis for group, recalls in drawn.items()}

    def row(system: Standing) -> Node:
        own = [recalls[findings.name_of(system)] for recalls in drawn.values()]
        cells = (interval_cell(axis, findings.bar(system, one), f"{100 * one.mean:.1f}") for one in own)
        return node("tr", None, system_cell(*findings.names_of(system)), *cells)

    told = (
        f": aspect recall in % ({task_title(task)}), a column for each group of n instances. Lines are "
        f"{100 * findings.resampling.level:g} % intervals that resample the papers of the group."
    )
    return interval_table(f"By {name}", "", columns, map(row, findings.foremost(task)), told=told)


# What the selected sentences add, for each task: a stacked bar for each system, and its counts in words.

# Field of `PickCounts` -> its words for one sentence and for several, and what they mean.
_SORTS = {
    "new": ("new", "new", ": states an aspect that counts and that no earlier selection states"),
    "redundant": ("redundant", "redundant", ": adds nothing, since earlier selections state its aspects"),
    "heading": ("heading", "headings", ""),
    "no_evidence": ("no evidence", "no evidence", ": states no aspect that counts"),
}


def picks_section(findings: Findings) -> Node:
    scopes = list(dict.fromkeys(task.scope for task in findings.tasks))
    covered = coverages_of(findings.dataset.instances(findings.scored.n_instances), scopes)
    look = {"class": "pick-bar", "aria-hidden": "true"}
    meanings = (
        node("li", None, node("svg", look, node("rect", {"class": f"pick-{sort}", "width": "100%"})), word + meaning)
        for sort, (word, _, meaning) in _SORTS.items()
    )
    return section(
        "picks",
        "What each selection adds",
        note(
            "All sentences that a system selected, over all instances, in the order of its answer. Randomly drawn "
            "sentences count by their probability."
        ),
        node("ul", {"class": "legend"}, *meanings),
        *by_task(findings.tasks, lambda task: [_bars(findings, task, covered[task.scope])]),
    )


def _bars(findings: Findings, task: Task, covered: Mapping[str, tuple[Coverage, frozenset[int]]]) -> Node:
    picks = {
        name: picks_of((selection, *covered[id_]) for id_, selection in zip(scores.ids, scores.selections, strict=True))
        for name, scores in findings.columns(task).items()
    }
    most = max((counts.total for counts in picks.values()), default=0.0)
    rows = []
    for name, counts in picks.items():
        parts, start = [], 0.0
        for sort in _SORTS:
            if width := 100 * getattr(counts, sort) / (most or 1):
                parts.append(node("rect", {"class": f"pick-{sort}", "x": f"{start:.2f}%", "width": f"{width:.2f}%"}))
            start += width
        bar = node("svg", {"class": "pick-bar", "aria-hidden": "true"}, *parts)
        words = node("span", {"class": "value"}, _words(counts))
        rows.append(node("li", None, isolated_name(name), bar, words))
    return node("ul", {"class": "picks"}, *rows)


def _words(picks: PickCounts) -> str:
    """Return the counts in words.

    >>> _words(PickCounts(new=1.5, heading=1, redundant=4))
    '6.5 sentences: 1.5 new, 4 redundant, 1 heading'
    """

    def number(n: float, word: str, words: str) -> str:
        return f"{n:,.1f}".removesuffix(".0") + f" {word if n == 1 else words}"

    counts = {words[:2]: getattr(picks, sort) for sort, words in _SORTS.items()}
    sorts = ", ".join(number(n, *words) for words, n in counts.items() if n)
    return f"{number(picks.total, 'sentence', 'sentences')}{f': {sorts}' if sorts else ''}"
