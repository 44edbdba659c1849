"""Aspect recall at every budget up to the largest, of an answer and of the best there is, in one pass over both."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, islice, repeat
from math import nan
from operator import or_

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.optimum.branch_and_bound import undominated
from evidencebench.data.optimum.cover import Coverage, ceiling, coverage_of, greedy_ranking
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import UndefinedScoreError
from evidencebench.execution.answering import answers_from
from evidencebench.execution.fitting import check_answers
from evidencebench.query import AspectScope
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.evaluate import AnswerSource, case_of, grade, strangers_of
from evidencebench.scoring.measures import aspect_recall, holders_of, missed_by_draws
from evidencebench.scoring.resampling import Estimate, Resampling, bootstrap_columns
from evidencebench.scoring.selection import DEFAULT_RULES, CheckedAnswer, Rules, check_answer
from evidencebench.systems.changed_queries import Stranger


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetedAnswers:
    """A system's answers, to be read at every budget.

    ``separate_tasks`` are the tasks that were asked separately; empty: one answer serves every task. ``strangers`` are
    the second papers that it was asked.
    """

    source: AnswerSource
    rules: Rules = DEFAULT_RULES
    separate_tasks: frozenset[str] = frozenset()
    strangers: Mapping[str, Stranger] = field(default_factory=dict)

    @classmethod
    def of_run(cls, run: RunFile, rules: Rules, strangers: Mapping[str, Stranger] | None = None) -> "BudgetedAnswers":
        """Return the answers of a run."""
        tasks = frozenset(task for _, task in run.done if task is not None)
        return cls(source=answers_from(run), rules=rules, separate_tasks=tasks, strangers=strangers or {})

    def recalls(self, instance: Instance, coverages: Mapping[AspectScope, Coverage], largest: int) -> list[list[float]]:
        """Return recall as [scope][budget]; NaN where the task was not asked. The numbers are those of `evaluate`."""
        stranger = self.strangers.get(instance.id)
        n_sentences = len(instance.query.sentences) + (0 if stranger is None else stranger.n_sentences)
        if not self.separate_tasks:
            checked = check_answer(self.source(instance, budget_task("all", 1)), n_sentences, self.rules)
            return [recalls_by_budget(checked, coverage, largest) for coverage in coverages.values()]

        def recall(task: Task) -> float:
            case = case_of(instance, task) if task.name in self.separate_tasks else None
            if case is None:
                return nan
            return grade(case, check_answer(self.source(instance, task), n_sentences, self.rules)).recall

        return [[recall(budget_task(scope, k)) for k in range(1, largest + 1)] for scope in coverages]


def budget_task(scope: AspectScope, budget: int) -> Task:
    """Return the task over a scope with a fixed budget."""
    return task_named(f"{'result_' if scope == 'results' else ''}er_at_{budget}")


def recall_curve(
    run: RunFile,
    dataset: Dataset,
    scope: AspectScope,
    largest: int,
    *,
    rules: Rules,
    resampling: Resampling,
    n_instances: int,
    on_progress: Callable[[int, int], None],
) -> list[Estimate]:
    """Return a run's mean aspect recall at the budgets 1 to ``largest``, over the instances that have an aspect.

    Raises `TaskError` where the run was asked its tasks separately, and not all of these.
    """
    for k in range(1, largest + 1):
        check_answers(run, budget_task(scope, k), dataset)
    answers = BudgetedAnswers.of_run(run, rules, strangers_of(run, dataset))
    recalls: list[list[float]] = []
    clusters: list[str] = []
    for n_done, instance in enumerate(islice(dataset, n_instances), 1):
        if instance.labels.that_count(scope):
            recalls += answers.recalls(instance, {scope: coverage_of(instance.labels, scope)}, largest)
            clusters.append(instance.cluster)
        on_progress(n_done, n_instances)
    return bootstrap_columns(np.array(recalls), clusters, resampling)


def recalls_by_budget(checked: CheckedAnswer, coverage: Coverage, largest: int) -> list[float]:
    """Return `aspect_recall` of an answer's selection at the budgets 1 to ``largest``, the same numbers in less time.

    >>> from evidencebench.data.optimum.cover import coverage_from
    >>> from evidencebench.scoring.selection import check_answer
    >>> from evidencebench.system import Ranking
    >>> recalls_by_budget(check_answer(Ranking(sentences=(1, 0)), 2), coverage_from({"a": [0], "b": [1]}), 3)
    [0.5, 1.0, 1.0]
    """
    ranking, rules = checked.ranking, checked.rules
    if ranking.ordered and rules.ties == "expected" and ranking.scores is not None:
        return [aspect_recall(checked.selection(k), coverage) for k in range(1, largest + 1)]
    if ranking.ordered or rules.over_length == "first":
        n_covered = _covered_by_first(ranking.sentences[:largest], coverage)
    else:
        n_covered = _covered_by_draws(ranking.sentences, coverage, largest)
    n_covered += [n_covered[-1] if n_covered else 0] * (largest - len(n_covered))
    return [n / coverage.n_aspects for n in n_covered]


def _covered_by_first(sentences: Iterable[int], coverage: Coverage) -> list[float]:
    """Return how many aspects the first k sentences cover, for k from 1."""
    return [mask.bit_count() for mask in accumulate(map(coverage.masks.get, sentences, repeat(0)), or_)]


def _covered_by_draws(sentences: tuple[int, ...], coverage: Coverage, largest: int) -> list[float]:
    """Return how many aspects any k of the sentences cover in expectation, as `expected_covered`, for k from 1.

    The last number is for all sentences, where they are no more than ``largest``.
    """
    n, n_coverable = len(sentences), coverage.coverable.bit_count()
    holders = holders_of(coverage.coverable, sentences, coverage)
    found = [n_coverable - missed_by_draws(holders, n, k) for k in range(1, min(largest, n - 1) + 1)]
    return found if n > largest else [*found, coverage.mask_of(sentences).bit_count()]


def ceilings_by_budget(coverage: Coverage, largest: int) -> list[float]:
    """Return the highest aspect recall at the budgets 1 to ``largest``; NaN where it could not be proven.

    A greedy choice is proven by bounds where it can be, which takes no search: the largest sentences cover no more, and
    of the best k sentences the k - 1 that cover most cover at least (k - 1) / k of it.

    >>> from evidencebench.data.optimum.cover import coverage_from
    >>> ceilings_by_budget(coverage_from({"a": [0], "b": [1], "c": []}), 3)
    [0.3333333333333333, 0.6666666666666666, 0.6666666666666666]
    """
    masks = undominated(coverage.coverable, coverage.masks.values())  # largest first
    reduced = Coverage(n_aspects=coverage.n_aspects, masks=dict(enumerate(masks)))  # has the same optima
    n_coverable, by_greed = coverage.coverable.bit_count(), _covered_by_first(greedy_ranking(reduced), reduced)
    most: int | None = 0
    found: list[float] = []
    for k in range(1, largest + 1):
        if most != n_coverable:
            bound = min(n_coverable, sum(mask.bit_count() for mask in masks[:k]))
            if most:
                bound = min(bound, most * k // (k - 1))
            most = bound if by_greed[k - 1] == bound else _proven(reduced, k)
        found.append(float("nan") if most is None else most / coverage.n_aspects)
    return found


def _proven(coverage: Coverage, budget: int) -> int | None:
    try:
        return ceiling(coverage, budget)
    except UndefinedScoreError:
        return None
