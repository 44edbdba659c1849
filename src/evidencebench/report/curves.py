"""Aspect recall at every budget, beside the most that the budget can cover."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.answering import answers_from
from evidencebench.cover import coverage_of
from evidencebench.evaluation import AnswerSource, Rules, answers_of, case_of
from evidencebench.grading import CONTROLS
from evidencebench.instance import Instance
from evidencebench.measures import aspect_recall
from evidencebench.query import AspectScope
from evidencebench.report.findings import Findings
from evidencebench.runs import Failure
from evidencebench.selection import Selection, check_answer, select
from evidencebench.significance import Estimate, Floats, Resampling, bootstrap_columns
from evidencebench.system import KNOWING_SYSTEMS
from evidencebench.systems import make_system
from evidencebench.tasks import Task, task_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One system's recall at budgets 1, 2, 3, ...

    Attributes
    ----------
    system
        Its name.
    is_control
        Whether it is one of ours.
    points
        Mean aspect recall with its interval, a budget each; None where it is undefined.
    """

    system: str
    is_control: bool
    points: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """The curves over the aspects in a scope.

    Attributes
    ----------
    scope
        Which aspects count.
    curves
        Runs, then controls.
    ceiling
        The most that each budget can cover, over the instances where that is proven.
    n
        Instances behind every curve.
    left_out
        Labels of the runs that hold answers for single tasks only, and so none at other budgets.
    """

    scope: AspectScope
    curves: tuple[Curve, ...]
    ceiling: Curve
    n: int
    left_out: tuple[str, ...]


def curves_of(findings: Findings, largest: int) -> tuple[Curves, ...]:
    """Return the curves up to a budget, over all aspects and over Results aspects, where any instance has such."""
    graded = findings.graded
    left_out = tuple(label for label, run in graded.runs.items() if any(task is not None for _, task in run.done))
    # A control is what it is, however runs are read.
    sources = {
        (label, False): (answers_of(run), graded.rules) for label, run in graded.runs.items() if label not in left_out
    }
    ran = {run.header.system.name for run in graded.runs.values() if run.header is not None}
    for name in CONTROLS if graded.controls else ():
        if name not in ran and name not in KNOWING_SYSTEMS:
            sources[name, True] = (answers_from(make_system(name)), Rules())
    rows: dict[AspectScope, list[list[list[float]]]] = {"all": [], "results": []}
    clusters: dict[AspectScope, list[str]] = {"all": [], "results": []}
    for instance in findings.dataset.instances(findings.n_instances):
        selections = [_selections(instance, source, rules, largest) for source, rules in sources.values()]
        for scope in rows:
            if instance.labels.that_count(scope):
                rows[scope].append(_row(instance, scope, selections, largest))
                clusters[scope].append(instance.cluster)
    names = [*sources, ("ceiling", True)]
    return tuple(
        _curves(scope, np.array(rows[scope]), clusters[scope], names, findings.resampling, left_out)
        for scope in rows
        if rows[scope]
    )


def _curves(
    scope: AspectScope,
    table: Floats,
    clusters: Sequence[str],
    names: Sequence[tuple[str, bool]],
    resampling: Resampling,
    left_out: tuple[str, ...],
) -> Curves:
    """Return the curves of a table of instances x systems x budgets, the ceiling last."""
    n_instances, _, largest = table.shape
    estimates = _estimates(table.reshape(n_instances, -1), clusters, resampling)
    *curves, highest = (
        Curve(system=name, is_control=is_control, points=tuple(estimates[start : start + largest]))
        for (name, is_control), start in zip(names, range(0, len(estimates), largest), strict=True)
    )
    return Curves(scope=scope, curves=tuple(curves), ceiling=highest, n=n_instances, left_out=left_out)


def _selections(instance: Instance, source: AnswerSource, rules: Rules, largest: int) -> list[Selection]:
    """Return what counts of an answer at every budget: as `evaluate` cuts it, checked once."""
    answer = source(instance, _task("all", 1))
    if answer is None or isinstance(answer, Failure):
        return [Selection(certain=())] * largest
    checked = check_answer(answer, len(instance.query.sentences), rules.out_of_range)
    return [
        select(checked.ranking, k, over_length=rules.over_length, ties=rules.ties) for k in range(1, largest + 1)
    ]


def _row(
    instance: Instance, scope: AspectScope, selections: Sequence[Sequence[Selection]], largest: int
) -> list[list[float]]:
    """Return recall by system and budget, then the ceiling."""
    coverage = coverage_of(instance.labels, scope)
    recalls = [[aspect_recall(selection, coverage) for selection in by_budget] for by_budget in selections]
    cases = (case_of(instance, _task(scope, k)) for k in range(1, largest + 1))
    return [*recalls, [float("nan") if case is None else case.ceiling for case in cases]]


def _task(scope: AspectScope, budget: int) -> Task:
    return task_named(f"{'result_' if scope == 'results' else ''}er_at_{budget}")


def _estimates(columns: Floats, clusters: Sequence[str], resampling: Resampling) -> list[Estimate | None]:
    """Return an estimate a column, over the rows where it is defined; None: nowhere."""
    found: list[Estimate | None] = [None] * columns.shape[1]
    alike: dict[bytes, list[int]] = {}
    for position, column in enumerate(columns.T):
        alike.setdefault(np.isnan(column).tobytes(), []).append(position)
    for positions in alike.values():
        defined = ~np.isnan(columns[:, positions[0]])
        if not defined.any():
            continue
        kept = [cluster for cluster, counts in zip(clusters, defined, strict=True) if counts]
        generator, n_draws, level = resampling.generator(), resampling.n_draws, resampling.level
        means = bootstrap_columns(columns[defined][:, positions], kept, generator, n_draws=n_draws, level=level)
        for position, mean in zip(positions, means, strict=True):
            found[position] = mean
    return found
