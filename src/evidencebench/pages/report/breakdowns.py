"""Recall by budget and by kind of paper, for every system, and what the selected sentences add."""

from array import array
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from evidencebench.data.cover import Coverage, coverage_of
from evidencebench.data.dataset import reopen_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.sources import DataFile
from evidencebench.data.tasks import Task
from evidencebench.engine.local import InProcess
from evidencebench.engine.protocol import Engine, map_in_order
from evidencebench.execution.answers import answers_from
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
from evidencebench.query import AspectScope, Kind
from evidencebench.runs.formats import open_run
from evidencebench.runs.run import RunFile
from evidencebench.scoring.breakdowns import (
    N_AT_AN_END,
    SHARES,
    BudgetedAnswers,
    PickCounts,
    ceilings_by_budget,
    coverages_of,
    covered_at_ends,
    picks_of,
    share_group,
)
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.resampling import Estimate, bootstrap_columns, bootstrap_defined
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.significance import percent
from evidencebench.wording import counted

_BLOCK_SIZE = 32


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
    scored, ids = findings.scored, findings.dataset.ids[: findings.scored.n_instances]
    on_a_board = {row.system for board in findings.boards.values() for row in board.standings if row.is_control}
    controls = [name for name in scored.controls if name in on_a_board and not CONTROLS[name].knows_labels]
    names = [*((label, False) for label in scored.runs), *((name, True) for name in controls)]
    answers = _answers(list(scored.runs.values()), scored.rules, controls)
    blocks = [ids[start : start + _BLOCK_SIZE] for start in range(0, len(ids), _BLOCK_SIZE)]
    if not isinstance(engine, InProcess):
        paths = [run.path for run in scored.runs.values()]
        arguments = (findings.dataset.file, paths, scored.rules, controls, largest)
        parts = map_in_order(engine, _block_recalls, arguments, blocks)
    else:
        parts = (_recalls(map(findings.dataset.__getitem__, block), answers, largest) for block in blocks)
    recalls: _Recalls = {"all": (array("d"), []), "results": (array("d"), [])}
    for n_blocks, part in enumerate(parts, 1):
        for scope, (table, clusters) in part.items():
            recalls[scope][0].extend(table)
            recalls[scope][1].extend(clusters)
        on_progress(min(n_blocks * _BLOCK_SIZE, findings.scored.n_instances), findings.scored.n_instances)
    curves = []
    for scope, (table, clusters) in recalls.items():
        if table:
            columns = np.frombuffer(table).reshape(len(clusters), -1)
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


_Recalls: TypeAlias = dict[AspectScope, tuple["array[float]", list[str]]]
"""Recalls: instance after instance, of each every system, then the ceiling, of each every budget; and the clusters."""


def _block_recalls(
    data: DataFile, paths: Sequence[Path], rules: Rules, controls: Sequence[str], largest: int
) -> Callable[[Sequence[str]], _Recalls]:
    dataset = reopen_dataset(data)
    answers = _answers([open_run(path) for path in paths], rules, controls)
    return lambda ids: _recalls(map(dataset.__getitem__, ids), answers, largest)


def _recalls(instances: Iterable[Instance], answers: Sequence[BudgetedAnswers], largest: int) -> _Recalls:
    recalls: _Recalls = {"all": (array("d"), []), "results": (array("d"), [])}
    for instance in instances:
        scopes = [scope for scope in recalls if instance.labels.that_count(scope)]
        coverages = {scope: coverage_of(instance.labels, scope) for scope in scopes}
        systems = [answered.recalls(instance, coverages, largest) for answered in answers]
        systems.append([ceilings_by_budget(coverage, largest) for coverage in coverages.values()])
        for scope, *of_systems in zip(scopes, *systems, strict=True):
            for points in of_systems:
                recalls[scope][0].extend(points)
            recalls[scope][1].append(instance.cluster)
    return recalls


def _answers(runs: Sequence[RunFile], rules: Rules, controls: Sequence[str]) -> list[BudgetedAnswers]:
    """Return the answers of runs, then of controls, which are read by the default rules, whatever those for runs."""
    return [
        *(BudgetedAnswers.of_run(run, rules) for run in runs),
        *(BudgetedAnswers(source=answers_from(CONTROLS[name].named)) for name in controls),
    ]


def curves_section(findings: Findings, by_scope: Sequence[Curves], largest: int) -> Node:
    runs = findings.scored.runs.items()
    asked_per_task = [label for label, run in runs if any(task is not None for _, task in run.done)]
    return section(
        "curves",
        "Recall by budget",
        note(
            f"How much a system finds when only its first 1 to {largest} sentences count. In colour are the best runs, "
            "hollow the best control and the ceiling, the most that so many sentences can cover; thin lines are the "
            "other systems."
        ),
        *(_chart(findings, curves) for curves in by_scope),
        folding_part("All systems, with intervals, as tables", *map(_curve_table, by_scope)),
        note("No paper has Results aspects, so there is no curve for them.") if len(by_scope) == 1 else None,
        note(
            "Asked each task apart, with its budget in the question, and so with a mark at the budgets of its tasks "
            f"only: {', '.join(map(beginning_of, asked_per_task))}."
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
        f"sentences of an answer count. Shades, and lines through single marks, are "
        f"{100 * findings.resampling.level:g} % intervals that resample papers, each for one budget alone."
    )
    title, x_name, y_name = _title(curves), "sentences that count", "aspect recall, %"
    drawn = (line_chart(lines, title=title, x_name=x_name, y_name=y_name, width=width) for width in (NARROW, BROAD))
    return figure(caption, *drawn)


def _curve_table(curves: Curves) -> Node | None:
    names = (f"{curve.name}\u00a0*" if curve.is_control else curve.name for curve in curves.curves)

    def cell(point: Estimate | None) -> str:
        # A mean over fewer than all instances, as of a ceiling, says over how many.
        few = "" if point is None or point.n == curves.n else f" ({point.n:,} of {counted(curves.n, 'paper')})"
        return "" if point is None else f"{percent(point, alone='')}{few}"

    by_budget = zip(*(curve.points for curve in curves.curves), strict=True)
    rows = [[str(k), *map(cell, points)] for k, points in enumerate(by_budget, 1)]
    return table_node(f"{_title(curves)}: aspect recall in %", ["sentences", *names], rows)


def _title(curves: Curves) -> str:
    return f"{'All' if curves.scope == 'all' else 'Results'} aspects, {counted(curves.n, 'paper')}"


# Aspect recall by properties of the papers, such as their length.

_ASPECT_BINS = (5, 9, 13)
_LENGTH_BINS = (100, 150, 200, 300)
_NOTHING = "no aspect can be covered"

Bins = Mapping[str, Mapping[str, Estimate]]
"""Name of a bin of instances -> system -> mean aspect recall in the bin; bins without instances are left out."""


def breakdowns_of(findings: Findings) -> Mapping[str, Mapping[str, Bins]]:
    """Return by task the bins of each property of the instances, with the recall of every system of its leaderboard."""
    places: dict[AspectScope, list[tuple[int, ...]]] = {task.scope: [] for task in findings.tasks}
    for instance in findings.dataset.instances(findings.scored.n_instances):
        for scope, of_scope in places.items():
            if instance.labels.that_count(scope):
                of_scope.append(_places(instance, scope))
    by_task: dict[str, dict[str, dict[str, dict[str, Estimate]]]] = {
        task.name: {title: {} for title in _PROPERTIES} for task in findings.tasks
    }
    for scope, of_scope in places.items():
        columns = {task.name: findings.columns(task) for task in findings.tasks if task.scope == scope}
        keys = [(task, system) for task, scores in columns.items() for system in scores]
        recalls = np.column_stack([columns[task][system].recalls for task, system in keys])
        clusters = columns[keys[0][0]][keys[0][1]].clusters
        for place_of, (title, names) in zip(np.array(of_scope).T, _PROPERTIES.items(), strict=True):
            for place, name in enumerate(names):
                inside = np.flatnonzero(place_of == place)
                if inside.size:
                    means = bootstrap_columns(recalls[inside], [clusters[n] for n in inside], findings.resampling)
                    for (task_name, system), mean in zip(keys, means, strict=True):
                        by_task[task_name][title].setdefault(name, {})[system] = mean
    return by_task


def _names(starts: Sequence[int], unit: str) -> tuple[str, ...]:
    spans = (f"{first}–{after - 1} {unit}" for first, after in pairwise((1, *starts)))
    return (*spans, f"{starts[-1]} {unit} or more")


_PROPERTIES = {
    "the number of aspects that count": _names(_ASPECT_BINS, "aspects"),
    "the length of the paper": _names(_LENGTH_BINS, "sentences"),
    "what the abstract covers": (*(f"{share} in the abstract" for share in ("all", "some", "none")), _NOTHING),
    "what the ends of the paper cover": (*(f"{share} of the aspects" for share in SHARES), _NOTHING),
}
"""Each property of an instance, with the names of its bins; `_places` has an instance's bin in each."""


def _places(instance: Instance, scope: AspectScope) -> tuple[int, int, int, int]:
    """Return the positions of an instance's bins: by aspects, by length, by the abstract, by the ends of the paper."""
    by_aspects = bisect(_ASPECT_BINS, len(instance.labels.that_count(scope)))
    by_length = bisect(_LENGTH_BINS, len(instance.query.sentences))
    coverage = coverage_of(instance.labels, scope)
    if not coverage.coverable:
        return by_aspects, by_length, 3, len(SHARES)  # nothing can be covered
    covered = coverage.mask_of(instance.query.indices_of(Kind.ABSTRACT))
    by_abstract = 0 if covered == coverage.coverable else 1 if covered else 2
    n_at_ends, n_coverable, _ = covered_at_ends(instance, scope)
    return by_aspects, by_length, by_abstract, share_group(n_at_ends, n_coverable)


def breakdowns_section(findings: Findings) -> Node:
    bins = breakdowns_of(findings)
    return section(
        "breakdowns",
        "Recall by kind of paper",
        note(
            "Groups differ in how hard they are: compare systems within a "
            "group, not groups. All, some or none in the abstract: its sentences cover all, some or none of the "
            f"aspects that any sentence covers. The ends are the first and the last {N_AT_AN_END} sentences; "
            "'score --places' tells whether the length of papers explains what they seem to do."
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
    axis, drawn = RowAxis(), {name: recalls for name, recalls in bins.items() if name != _NOTHING}
    columns = {f"{group} (n = {next(iter(recalls.values())).n:,})": axis for group, recalls in drawn.items()}

    def row(system: Standing) -> Node:
        own = [recalls[findings.name_of(system)] for recalls in drawn.values()]
        cells = (interval_cell(axis, findings.bar(system, one), f"{100 * one.mean:.1f}") for one in own)
        return node("tr", None, system_cell(*findings.names_of(system)), *cells)

    told = (
        f": aspect recall in % ({task_title(task)}), a column for each group of n papers. Lines are "
        f"{100 * findings.resampling.level:g} % intervals that resample the papers of the group."
    )
    return interval_table(f"By {name}", "", columns, map(row, findings.foremost(task)), told=told)


# What the selected sentences add, for each task: a stacked bar for each system, and its counts in words.

# Field of `PickCounts` -> its words for one sentence and for several, and what they mean.
_SORTS = {
    "new": ("new", "new", ": states an aspect that counts and that no earlier pick states"),
    "redundant": ("redundant", "redundant", ": adds nothing, since earlier picks state its aspects"),
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
        "What the picks add",
        note(
            "Every sentence that a system selected, on all papers, read in the order of its answer. Where chance draws "
            "among sentences, each counts as often as it is drawn, beside the certain ones."
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
    '6.5 picks: 1.5 new, 4 redundant, 1 heading'
    """

    def number(n: float, word: str, words: str) -> str:
        return f"{n:,.1f}".removesuffix(".0") + f" {word if n == 1 else words}"

    counts = {words[:2]: getattr(picks, sort) for sort, words in _SORTS.items()}
    sorts = ", ".join(number(n, *words) for words, n in counts.items() if n)
    return f"{number(picks.total, 'pick', 'picks')}{f': {sorts}' if sorts else ''}"
