"""Compare systems on the same instances: differences, overlaps, ranks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import RunMismatchError, UndefinedScoreError
from evidencebench.execution.ask import answers_from, named_system, require_answerable
from evidencebench.execution.gathering import Inquiry, gather
from evidencebench.execution.waiting import Waiting
from evidencebench.scoring import significance
from evidencebench.scoring.evaluation import AnswerSource, Counts, TaskScores, evaluate
from evidencebench.scoring.selection import Selection
from evidencebench.scoring.significance import (
    DEFAULT_RESAMPLING,
    Estimate,
    Floats,
    PairedTest,
    Resampling,
    bootstrap_columns,
    bootstrap_defined,
    paired_test,
    paired_tests,
    rank_ranges,
)
from evidencebench.storage.reading import PathText
from evidencebench.system import NamedSystem, System
from evidencebench.systems.derangement import derange_hypotheses
from evidencebench.wording import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two systems on one task.

    Attributes
    ----------
    first, second
        Mean of each, over the instances where both are defined, as the difference is.
    test
        The paired difference, first - second.
    overlap
        How much the selections share, in 0..1 (see `overlap_of`); None where neither selects anything.
    first_counts, second_counts
        What happened to the answers of each.
    """

    task: Task
    first: Estimate
    second: Estimate
    test: PairedTest
    overlap: Estimate | None
    first_counts: Counts
    second_counts: Counts

    def __repr__(self) -> str:
        found = self.test.difference
        means = f"{self.task.name}: {self.first.mean:.3f} - {self.second.mean:.3f} = {found.mean:+.3f}"
        return one_line(
            self, means, f"[{found.low:+.3f}, {found.high:+.3f}]", f"p={self.test.p_value:.2g}", f"n={found.n}"
        )


def compare(
    first: TaskScores,
    second: TaskScores,
    *,
    measure: str = "aspect_recall",
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> Comparison:
    """Compare two systems' scores on the same task and instances.

    Raises
    ------
    RunMismatchError
        If the instances differ.
    UndefinedScoreError
        If there is no instance where the measure is defined for both.
    """
    require_same_instances([first, second])
    a, b = first.scores[measure], second.scores[measure]
    defined = ~(np.isnan(a) | np.isnan(b))
    if not defined.any():
        raise UndefinedScoreError(f"task '{first.task.name}': {measure} is undefined: no instance counts for both")
    clusters = [cluster for cluster, keep in zip(first.clusters, defined, strict=True) if keep]
    n_draws, level = resampling.n_draws, resampling.level
    test = paired_test(a[defined], b[defined], clusters, resampling.generator(), n_draws=n_draws, level=level)
    means = bootstrap_columns(
        np.column_stack([a[defined], b[defined]]), clusters, resampling.generator(), n_draws=n_draws, level=level
    )
    return Comparison(
        task=first.task,
        first=means[0],
        second=means[1],
        test=test,
        overlap=_mean_overlap(first, second, resampling),
        first_counts=first.counts,
        second_counts=second.counts,
    )


def compare_all(
    scores: Mapping[str, TaskScores],
    pairs: Sequence[tuple[str, str]],
    *,
    resampling: Resampling = DEFAULT_RESAMPLING,
    with_overlaps: bool = True,
) -> list[Comparison]:
    """Compare pairs of systems on one task by aspect recall: what `compare` returns for each, sooner.

    Parameters
    ----------
    scores
        System -> its scores.
    pairs
        The two systems of each comparison.
    resampling
        Of every comparison alike.
    with_overlaps
        Whether to measure how much the selections share.

    Raises
    ------
    RunMismatchError
        If the scores are not of the same instances.
    """
    if not pairs:
        return []
    require_same_instances(list(scores.values()))
    values = {
        name: scores[name].scores["aspect_recall"] for name in dict.fromkeys(name for pair in pairs for name in pair)
    }
    differences = np.column_stack([values[first] - values[second] for first, second in pairs])
    columns = np.column_stack([*values.values(), differences])
    clusters, generator = next(iter(scores.values())).clusters, resampling.generator()
    n_draws, level = resampling.n_draws, resampling.level
    means = bootstrap_columns(columns, clusters, generator, n_draws=n_draws, level=level)
    recalls = dict(zip(values, means[: len(values)], strict=True))
    tests = paired_tests(differences, clusters, generator, n_draws=n_draws, level=level, estimates=means[len(values) :])
    overlaps: list[Estimate | None] = [None] * len(pairs)
    if with_overlaps:
        overlaps = _mean_overlaps([(scores[first], scores[second]) for first, second in pairs], resampling)
    return [
        Comparison(
            task=scores[first].task,
            first=recalls[first],
            second=recalls[second],
            test=test,
            overlap=overlap,
            first_counts=scores[first].counts,
            second_counts=scores[second].counts,
        )
        for (first, second), test, overlap in zip(pairs, tests, overlaps, strict=True)
    ]


def estimates_of(columns: Sequence[TaskScores], resampling: Resampling = DEFAULT_RESAMPLING) -> list[Estimate]:
    """Return the mean aspect recall of each, all from the same draws: what `TaskScores.estimate` returns, sooner.

    Raises
    ------
    RunMismatchError
        If the scores are not of the same instances.
    UndefinedScoreError
        If there is no instance.
    """
    require_same_instances(columns)
    values = np.column_stack([column.scores["aspect_recall"] for column in columns])
    clusters, generator = columns[0].clusters, resampling.generator()
    return bootstrap_columns(values, clusters, generator, n_draws=resampling.n_draws, level=resampling.level)


def require_same_instances(columns: Sequence[TaskScores]) -> None:
    """Raise unless all scores are of the same instances in the same order.

    Raises
    ------
    RunMismatchError
        If they are not, or there are none.
    """
    if not columns:
        raise RunMismatchError("expected the scores of at least one system, got none")
    for other in columns[1:]:
        if other.ids != columns[0].ids:
            raise RunMismatchError(
                f"task '{other.task.name}': the runs cover different instances ({len(columns[0].ids)} and "
                f"{len(other.ids)}); run them on the same data with the same --limit"
            )


def overlap_of(first: Selection, second: Selection) -> float:
    """Return the Jaccard overlap of two selections: shared sentences / sentences in either.

    A sentence that is drawn counts with its probability: the sum of the smaller ones over the sum of the larger ones.

    Raises
    ------
    UndefinedScoreError
        If both are empty.

    Examples
    --------
    >>> overlap_of(Selection(certain=(1, 2)), Selection(certain=(2, 3)))
    0.3333333333333333
    """
    if not (first.n_drawn or second.n_drawn) and first.size + second.size:
        a, b = frozenset(first.certain), frozenset(second.certain)
        return len(a & b) / len(a | b)
    p, q = _probabilities(first), _probabilities(second)
    union = p.keys() | q.keys()
    if not union:
        raise UndefinedScoreError("the overlap of two empty selections is undefined")
    shared = sum(min(p.get(index, 0.0), q.get(index, 0.0)) for index in union)
    return shared / sum(max(p.get(index, 0.0), q.get(index, 0.0)) for index in union)


def _probabilities(selection: Selection) -> dict[int, float]:
    certain = dict.fromkeys(selection.certain, 1.0)
    if not selection.n_drawn:
        return certain
    return certain | dict.fromkeys(selection.tied, selection.n_drawn / len(selection.tied))


def _mean_overlap(first: TaskScores, second: TaskScores, resampling: Resampling) -> Estimate | None:
    return _mean_overlaps([(first, second)], resampling)[0]


def _mean_overlaps(pairs: Sequence[tuple[TaskScores, TaskScores]], resampling: Resampling) -> list[Estimate | None]:
    """Return the mean overlap of each pair over the instances where either selects anything; None: nowhere."""
    columns = np.column_stack([_overlaps(first, second) for first, second in pairs])
    return bootstrap_defined(columns, pairs[0][0].clusters, resampling)


def _overlaps(first: TaskScores, second: TaskScores) -> Floats:
    """Return the overlap on each instance; NaN where both select nothing."""
    if not (first.selections and second.selections):
        raise ValueError("expected scores from evaluate(..., with_selections=True)")
    pairs = zip(first.selections, second.selections, strict=True)
    return np.array([overlap_of(a, b) if a.size or b.size else np.nan for a, b in pairs])


def ranks(
    scores: Mapping[str, TaskScores], *, resampling: Resampling = DEFAULT_RESAMPLING
) -> dict[str, tuple[int, int]]:
    """Return the best and worst rank by aspect recall that each system can claim on one task (see `rank_ranges`).

    Raises
    ------
    RunMismatchError
        If the scores are not of the same instances.
    """
    values, clusters = _recalls(scores)
    return rank_ranges(values, clusters, resampling.generator(), n_draws=resampling.n_draws)


def pairwise_p_values(
    scores: Mapping[str, TaskScores], *, resampling: Resampling = DEFAULT_RESAMPLING
) -> dict[tuple[str, str], float]:
    """Return (system, system) -> the p-value that decides their `ranks` on one task.

    Raises
    ------
    RunMismatchError
        If the scores are not of the same instances.
    """
    values, clusters = _recalls(scores)
    return significance.pairwise_p_values(values, clusters, resampling.generator(), n_draws=resampling.n_draws)


def _recalls(scores: Mapping[str, TaskScores]) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Return the aspect recall of each system on each instance, and the clusters of the instances."""
    columns = list(scores.values())
    require_same_instances(columns)
    return {name: column.scores["aspect_recall"] for name, column in scores.items()}, columns[0].clusters


def wrong_hypothesis_control(
    system: NamedSystem | System,
    dataset: Dataset | PathText,
    tasks: TaskOrName | Iterable[TaskOrName],
    *,
    limit: int | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    on_progress: Callable[[int, int], None] | None = None,
) -> dict[str, Comparison]:
    """Return, for each task, a system asked with each paper's own hypothesis against it asked with another's.

    A system whose recall and selections stay the same did not use the hypothesis, however high it scores.

    Parameters
    ----------
    system
        What answers: what `make_system` returns, or any object with ``rank(query, brief)``.
    dataset
        What is asked; hypotheses are swapped over all of it.
    tasks
        What the answers are measured on: tasks or their names, or one alone.
    limit
        Only the first so many instances; None: all.
    resampling
        Of the intervals; its seed is the swap's too.
    waiting
        How a system that waits for a server is asked.
    on_progress
        Called with (instances done, instances in all).

    Raises
    ------
    UndefinedScoreError
        If hypotheses cannot be swapped between papers.
    RunMismatchError
        If the system builds on stored answers, which are for each paper's own hypothesis, or it may not be asked one of
        the instances.
    StopError
        If no more requests may be sent; what was replied is stored.
    TaskError
        If the system cannot answer a task.
    """
    system, dataset, tasks = named_system(system), dataset_from(dataset), tasks_from(tasks)
    inquiries = wrong_hypothesis_inquiries(system, dataset, tasks, limit=limit, resampling=resampling)
    sources: dict[str, AnswerSource]
    if system.waits:
        gathered = gather(
            list(inquiries.values()), dataset, tasks, limit=limit, waiting=waiting, on_progress=on_progress
        )
        sources = {name: one.answer for name, one in zip(inquiries, gathered, strict=True)}
        on_progress = None
    else:
        sources = {name: answers_from(one.system, one.hypotheses) for name, one in inquiries.items()}
    scores = evaluate(sources, dataset, tasks, limit=limit, on_progress=on_progress)
    return {
        name: compare(own, scores["wrong"][name], resampling=resampling)
        for name, own in scores["own"].items()
        if own.ids
    }


def wrong_hypothesis_inquiries(
    system: NamedSystem,
    dataset: Dataset,
    tasks: Sequence[Task],
    *,
    limit: int | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> dict[str, Inquiry]:
    """Return what `wrong_hypothesis_control` asks: each paper's own hypothesis, ``own``, and another's, ``wrong``.

    Parameters and errors are its own.
    """
    require_answerable(system, dataset, tasks, limit=limit, own_hypotheses=False)
    swapped = derange_hypotheses(dataset.queries(), resampling.generator())
    return {"own": Inquiry(system=system), "wrong": Inquiry(system=system, hypotheses=swapped)}
