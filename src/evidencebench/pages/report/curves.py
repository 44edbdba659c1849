"""Aspect recall at every budget, beside the most that the budget can cover."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import Coverage, coverage_of
from evidencebench.data.tasks import Task, task_named
from evidencebench.execution.answering import answers_from
from evidencebench.pages.figures import ChartLine, line_chart
from evidencebench.pages.markup import Node
from evidencebench.pages.report.blocks import code, figure, note, section, shortened
from evidencebench.pages.report.findings import Findings
from evidencebench.query import AspectScope
from evidencebench.runs.answer_line import Answer
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.case import case_of
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.evaluate import AnswerSource, answers_of
from evidencebench.scoring.measures import aspect_recall
from evidencebench.scoring.resampling import Estimate, bootstrap_defined
from evidencebench.scoring.score_texts import percent
from evidencebench.scoring.selection import Rules, Selection, check_answer
from evidencebench.tables import Cell, Table
from evidencebench.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One system's mean aspect recall at budgets 1, 2, 3, ...; None where it is undefined."""

    system: str
    is_control: bool
    points: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """The curves over the aspects in a scope, of runs, then controls, with ``n`` instances behind each.

    The ``ceiling`` is the most that each budget can cover, over the instances where that is proven. ``apart`` are the
    labels of the runs that were asked each task apart, and so have points at those budgets only.
    """

    scope: AspectScope
    curves: tuple[Curve, ...]
    ceiling: Curve
    n: int
    apart: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answers:
    """A system's answers: where they come from, how they are read, and for which tasks apart (None: for every one)."""

    source: AnswerSource
    rules: Rules
    asked: frozenset[str] | None = None


def curves_of(findings: Findings, largest: int) -> tuple[Curves, ...]:
    """Return the curves up to a budget, over all aspects and over Results aspects, where any instance has such."""
    answers = _answers(findings)
    names = [*answers, ("ceiling", True)]
    apart = tuple(label for (label, _), one in answers.items() if one.asked is not None)
    rows: dict[AspectScope, list[list[list[float]]]] = {"all": [], "results": []}
    clusters: dict[AspectScope, list[str]] = {"all": [], "results": []}
    for instance in findings.dataset.instances(findings.n_instances):
        coverages = {scope: coverage_of(instance.labels, scope) for scope in rows if instance.labels.that_count(scope)}
        recalls = [_recalls(instance, coverages, one, largest) for one in answers.values()]
        for scope in coverages:
            rows[scope].append([*(found[scope] for found in recalls), _ceilings(instance, scope, largest)])
            clusters[scope].append(instance.cluster)
    found = []
    for scope, table in ((scope, np.array(members)) for scope, members in rows.items() if members):
        estimates = bootstrap_defined(table.reshape(len(table), -1), clusters[scope], findings.resampling)
        *curves, highest = _as_curves(names, estimates, largest)
        found.append(Curves(scope=scope, curves=tuple(curves), ceiling=highest, n=len(table), apart=apart))
    return tuple(found)


def _answers(findings: Findings) -> dict[tuple[str, bool], _Answers]:
    """Return the answers of runs and of the controls on a leaderboard, by (name, whether it is a control)."""
    scored = findings.scored
    found = {
        (label, False): _Answers(source=answers_of(run), rules=scored.rules, asked=_asked(run))
        for label, run in scored.runs.items()
    }
    on_a_board = {row.system for rows in findings.board.values() for row in rows if row.is_control}
    for name in scored.controls:
        if name in on_a_board and not CONTROLS[name].knows_labels:
            # A control is what it is, however runs are read.
            found[name, True] = _Answers(source=answers_from(CONTROLS[name].named), rules=Rules())
    return found


def _asked(run: RunFile) -> frozenset[str] | None:
    return frozenset(task for _, task in run.done if task is not None) or None


def _as_curves(
    names: Sequence[tuple[str, bool]], estimates: Sequence[Estimate | None], largest: int
) -> Iterator[Curve]:
    for (name, is_control), start in zip(names, range(0, len(estimates), largest), strict=True):
        yield Curve(system=name, is_control=is_control, points=tuple(estimates[start : start + largest]))


def _recalls(
    instance: Instance, coverages: Mapping[AspectScope, Coverage], answers: _Answers, largest: int
) -> dict[AspectScope, list[float]]:
    """Return recall at every budget, NaN at those that were not asked: as `evaluate` measures it, in less time.

    An answer that serves every task is checked once, and cut once for both scopes.
    """
    source, rules = answers.source, answers.rules
    if answers.asked is None:
        selections = _cut(instance, source(instance, _task("all", 1)), rules, range(1, largest + 1))
        return {
            scope: [aspect_recall(selection, coverage) for selection in selections]
            for scope, coverage in coverages.items()
        }
    found: dict[AspectScope, list[float]] = {scope: [float("nan")] * largest for scope in coverages}
    for scope, coverage in coverages.items():
        for k in range(1, largest + 1):
            task = _task(scope, k)
            if task.name in answers.asked:
                (selection,) = _cut(instance, source(instance, task), rules, (k,))
                found[scope][k - 1] = aspect_recall(selection, coverage)
    return found


def _cut(instance: Instance, answer: Answer | None, rules: Rules, budgets: Sequence[int]) -> list[Selection]:
    """Return what counts of an answer at each budget."""
    checked = check_answer(answer, len(instance.query.sentences), rules)
    return [checked.selection(budget) for budget in budgets]


def _ceilings(instance: Instance, scope: AspectScope, largest: int) -> list[float]:
    """Return the most that each budget can cover; NaN where it could not be proven."""
    found: list[float] = []
    coverable = coverage_of(instance.labels, scope)
    highest = coverable.coverable.bit_count() / coverable.n_aspects
    for k in range(1, largest + 1):
        case = None if found and found[-1] == highest else case_of(instance, _task(scope, k))
        found.append(highest if case is None else case.ceiling)
    return found


def _task(scope: AspectScope, budget: int) -> Task:
    return task_named(f"{'result_' if scope == 'results' else ''}er_at_{budget}")


_SCOPES = {"all": "All aspects", "results": "Results aspects"}


def curves_section(findings: Findings, found: Sequence[Curves], largest: int) -> Node:
    """Return a chart and a table for each scope that has aspects."""
    scopes = {curves.scope for curves in found}
    apart = list(dict.fromkeys(label for curves in found for label in curves.apart))
    return section(
        "curves",
        "Recall by budget",
        note(
            f"Mean aspect recall when 1 to {largest} sentences count. The ceiling is the most that so many sentences "
            "can cover, proven for each instance; no system can be above it. Where it could not be proven for all, it "
            "is the mean over those where it was, and the table says over how many."
        ),
        *(_figure(findings, curves) for curves in found if curves.curves),
        None if "results" in scopes else note("No instance has Results aspects, so there is no curve for them."),
        None if any(curves.curves for curves in found) else note("There is no curve to draw."),
        note(
            "Asked each task apart, with its budget in the question, and so without answers at other budgets than ",
            f"those of its tasks: {', '.join(map(shortened, apart))}. Other budgets can be asked, as in ",
            code("evidencebench run ... --task er_at_5 --task er_at_15"),
            ".",
        )
        if apart
        else None,
    )


def _figure(findings: Findings, curves: Curves) -> Node:
    lines = [
        _line(curve, findings.series_of(curve.system, is_control=curve.is_control))
        for curve in curves.curves
        if any(curve.points)
    ]
    if any(curves.ceiling.points):  # the oracle draws the same curve
        lines.append(_line(curves.ceiling, findings.series_of("oracle", is_control=True)))
    title = f"{_SCOPES[curves.scope]}, {counted(curves.n, 'instance')}"
    chart = line_chart(lines, title=title, x_name="sentences that count", y_name="aspect recall, %")
    return figure(chart, _table(title, curves))


def _line(curve: Curve, series: int) -> ChartLine:
    points = [(k, float("nan") if point is None else point.mean) for k, point in enumerate(curve.points, 1)]
    return ChartLine(name=curve.system, points=points, is_control=curve.is_control, series=series)


def _table(title: str, curves: Curves) -> Table:
    shown = (*curves.curves, curves.ceiling)
    rows: list[list[Cell]] = [
        [str(k), *(_cell(point, curves.n) for point in points)]
        for k, points in enumerate(zip(*(curve.points for curve in shown), strict=True), 1)
    ]
    columns = ["sentences", *(f"{curve.system}\u00a0*" if curve.is_control else curve.system for curve in shown)]
    return Table(title=f"{title}: aspect recall in %", columns=columns, rows=rows)


def _cell(point: Estimate | None, n: int) -> str:
    """Return a mean, with the instances behind it where those are not all: of a ceiling that is not always proven."""
    if point is None:
        return ""
    told = percent(point, alone="")
    return told if point.n == n else f"{told} ({point.n:,} of {counted(n, 'instance')})"
