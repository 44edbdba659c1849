"""The curves of aspect recall by budget, for every system and for the ceiling."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from evidencebench.data.cover import coverage_of
from evidencebench.data.dataset import reopen_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.sources import DataFile
from evidencebench.engine.local import InProcess
from evidencebench.engine.protocol import Engine, outcomes_in_order
from evidencebench.execution.answers import answers_from
from evidencebench.pages.figures.charts import line_chart
from evidencebench.pages.figures.data import ChartLine
from evidencebench.pages.html import Node, beginning_of, node
from evidencebench.pages.report.blocks import code, folding_part, note, section, table_node
from evidencebench.pages.report.data import Findings
from evidencebench.query import AspectScope
from evidencebench.runs.formats import open_run
from evidencebench.runs.run import RunFile
from evidencebench.scoring.breakdowns import BudgetedAnswers, ceilings_by_budget
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.resampling import Estimate, bootstrap_defined
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.significance import percent
from evidencebench.tables import Table
from evidencebench.wording import counted

# Of a chart, in units: two stand beside one another on a desk, and one fits on a phone.
_WIDTH = 400
_BLOCK_SIZE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One system's mean aspect recall at budgets 1, 2, 3, ...; None where it is undefined."""

    system: str
    is_control: bool
    points: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """The curves over the aspects of a scope, runs first, then controls; each is a mean over ``n`` instances.

    ``ceiling`` is the mean of the highest recall at each budget, over the instances where that is proven.
    ``asked_per_task`` are the labels of the runs that were asked each task separately, so they have few points.
    """

    scope: AspectScope
    curves: tuple[Curve, ...]
    ceiling: Curve
    n: int
    asked_per_task: tuple[str, ...]


def curves_of(
    findings: Findings,
    largest: int,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    engine: Engine | None = None,
) -> tuple[Curves, ...]:
    """Return curves up to the budget ``largest``: over all aspects, and over Results aspects where there are any."""
    scored, ids = findings.scored, findings.dataset.ids[: findings.n_instances]
    on_a_board = {row.system for rows in findings.standings.values() for row in rows if row.is_control}
    controls = [name for name in scored.controls if name in on_a_board and not CONTROLS[name].knows_labels]
    names = [*((label, False) for label in scored.runs), *((name, True) for name in controls)]
    answers = dict(zip(names, _answers(list(scored.runs.values()), scored.rules, controls), strict=True))
    blocks = [ids[start : start + _BLOCK_SIZE] for start in range(0, len(ids), _BLOCK_SIZE)]
    if engine is None or isinstance(engine, InProcess):
        parts = (_recalls(map(findings.dataset.__getitem__, block), [*answers.values()], largest) for block in blocks)
    else:
        paths = [run.path for run in scored.runs.values()]
        arguments = (findings.dataset.file, paths, scored.rules, controls, largest)
        parts = (outcome.value for outcome in outcomes_in_order(engine, _block_recalls, arguments, blocks))
    recalls: _Recalls = {"all": (array("d"), []), "results": (array("d"), [])}
    n_done = 0
    for block, part in zip(blocks, parts, strict=True):
        for scope, (table, clusters) in part.items():
            recalls[scope][0].extend(table)
            recalls[scope][1].extend(clusters)
        n_done += len(block)
        if on_progress is not None:
            on_progress(n_done, findings.n_instances)
    shape = (-1, len(answers) + 1, largest)
    return tuple(
        _curves(findings, scope, answers, np.frombuffer(table).reshape(shape), clusters)
        for scope, (table, clusters) in recalls.items()
        if table
    )


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
        systems = [one.recalls(instance, coverages, largest) for one in answers]
        systems.append([ceilings_by_budget(coverage, largest) for coverage in coverages.values()])
        for scope, *found in zip(scopes, *systems, strict=True):
            for points in found:
                recalls[scope][0].extend(points)
            recalls[scope][1].append(instance.cluster)
    return recalls


def _answers(runs: Sequence[RunFile], rules: Rules, controls: Sequence[str]) -> list[BudgetedAnswers]:
    """Return the answers of runs, then of controls, which are read by the default rules, whatever those for runs."""
    return [
        *(BudgetedAnswers.of_run(run, rules) for run in runs),
        *(BudgetedAnswers(source=answers_from(CONTROLS[name].named)) for name in controls),
    ]


def _curves(
    findings: Findings,
    scope: AspectScope,
    answers: Mapping[tuple[str, bool], BudgetedAnswers],
    recalls: np.ndarray[tuple[int, int, int], np.dtype[np.float64]],
    clusters: list[str],
) -> Curves:
    """Return the curves of an array of recalls with the axes instance, system (the ceiling last), budget."""
    n, _, largest = recalls.shape
    points = bootstrap_defined(recalls.reshape(n, -1), clusters, findings.resampling)
    *curves, ceiling = (
        Curve(system=name, is_control=is_control, points=tuple(points[largest * place : largest * (place + 1)]))
        for place, (name, is_control) in enumerate([*answers, ("ceiling", True)])
    )
    asked_per_task = tuple(label for (label, _), one in answers.items() if one.separate_tasks)
    return Curves(scope=scope, curves=tuple(curves), ceiling=ceiling, n=n, asked_per_task=asked_per_task)


def curves_section(findings: Findings, found: Sequence[Curves], largest: int) -> Node:
    """Return the section with a chart for each scope that has aspects, and folded tables of all systems."""
    asked_per_task = list(dict.fromkeys(label for curves in found for label in curves.asked_per_task))
    drawn = [curves for curves in found if curves.curves]
    return section(
        "curves",
        "Recall by budget",
        note(
            f"Mean aspect recall when 1 to {largest} sentences count. Named are the best runs, the best control and "
            "the ceiling, the most that so many sentences can cover; the other systems are the thin lines behind."
        ),
        node("div", {"class": "panels"}, *(_chart(findings, curves) for curves in drawn)),
        folding_part("All systems, with intervals, as tables", *(table_node(_table(curves)) for curves in drawn))
        if drawn
        else note("There is no curve to draw."),
        None
        if any(curves.scope == "results" for curves in found)
        else note("No paper has Results aspects, so there is no curve for them."),
        note(
            "Asked each task apart, with its budget in the question, and so with a mark at the budgets of its tasks "
            f"only: {', '.join(map(beginning_of, asked_per_task))}. Other budgets can be asked, as in ",
            code("evidencebench run ... --task er_at_5 --task er_at_15"),
            ".",
        )
        if asked_per_task
        else None,
    )


def _chart(findings: Findings, curves: Curves) -> Node:
    tasks = [task for task in findings.tasks if task.scope == curves.scope] or findings.tasks
    named = {(row.system, row.is_control) for row in findings.foremost(tasks[0])}
    lines = [
        _line(
            curve,
            findings.series_of(curve.system, is_control=curve.is_control),
            is_context=(curve.system, curve.is_control) not in named,
        )
        for curve in curves.curves
        if any(curve.points)
    ]
    if any(curves.ceiling.points):  # with the mark and colour of the oracle, whose curve is the same
        lines.append(_line(curves.ceiling, findings.series_of("oracle", is_control=True)))
    title = f"{_scope(curves)}, {counted(curves.n, 'paper')}"
    return line_chart(lines, title=title, x_name="sentences that count", y_name="aspect recall, %", width=_WIDTH)


def _table(curves: Curves) -> Table:
    shown = (*curves.curves, curves.ceiling)
    columns = ["sentences", *(f"{curve.system}\u00a0*" if curve.is_control else curve.system for curve in shown)]
    by_budget = zip(*(curve.points for curve in shown), strict=True)
    rows = [[str(k), *(_cell(point, curves.n) for point in points)] for k, points in enumerate(by_budget, 1)]
    return Table(
        title=f"{_scope(curves)}, {counted(curves.n, 'paper')}: aspect recall in %", columns=columns, rows=rows
    )


def _scope(curves: Curves) -> str:
    return "All aspects" if curves.scope == "all" else "Results aspects"


def _line(curve: Curve, series: int, *, is_context: bool = False) -> ChartLine:
    points = [(k, float("nan") if point is None else point.mean) for k, point in enumerate(curve.points, 1)]
    return ChartLine(
        name=curve.system, points=points, is_control=curve.is_control, series=series, is_context=is_context
    )


def _cell(point: Estimate | None, n: int) -> str:
    """Return a mean as text; a mean over fewer than all ``n`` instances, as of a ceiling, says over how many."""
    if point is None:
        return ""
    mean = percent(point, alone="")
    return mean if point.n == n else f"{mean} ({point.n:,} of {counted(n, 'paper')})"
