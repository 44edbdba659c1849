"""Compare systems on one task and the same instances: difference, certainty, overlap of what they select."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.errors import RunMismatchError, UndefinedScoreError
from evidencebench.scoring.measures import ASPECT_RECALL, MeasureOrName, measure_named
from evidencebench.scoring.resampling import (
    DEFAULT_RESAMPLING,
    Estimate,
    Floats,
    Resampling,
    bootstrap_columns,
    bootstrap_defined,
)
from evidencebench.scoring.selection import Selection
from evidencebench.scoring.sign_flips import PairedTest, paired_tests
from evidencebench.scoring.task_scores import Counts, TaskScores
from evidencebench.wording import one_line

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two systems on one task: means and paired difference (first - second) where both are defined, and overlap.

    The overlap of the selections is in 0..1 (see `overlap_of`); None where neither selects anything.
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
    measure: MeasureOrName = ASPECT_RECALL,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> Comparison:
    """Compare two systems' scores on the same task and instances.

    Parameters
    ----------
    first, second
        What `evaluate` returns for each; the difference is first - second.
    measure
        By which, or its name.
    resampling
        Of intervals and test.

    Raises
    ------
    RunMismatchError
        If the instances differ.
    UndefinedScoreError
        If there is no instance where the measure is defined for both.

    Examples
    --------
    >>> from evidencebench import BM25, evaluate, load_sample
    >>> scores = evaluate({"mine": {}, "bm25": BM25()}, load_sample()[:1], "er_at_10")
    >>> found = compare(scores["bm25"]["er_at_10"], scores["mine"]["er_at_10"])
    >>> found.test.difference.mean == scores["bm25"]["er_at_10"].estimate().mean
    True
    """
    require_same_instances([first, second])
    key = measure_named(measure).key
    values = np.column_stack([first.scores[key], second.scores[key]])
    defined = np.flatnonzero(~np.isnan(values).any(axis=1)).tolist()
    if not defined:
        raise UndefinedScoreError(f"task '{first.task.name}': {key} is undefined: no instance counts for both")
    means, (test,) = paired_tests(values[defined], [(0, 1)], [first.clusters[place] for place in defined], resampling)
    return _comparison(first, second, means, test, mean_overlaps([(first, second)], resampling)[0])


def compare_all(
    scores: Mapping[Name, TaskScores],
    pairs: Sequence[tuple[Name, Name]],
    *,
    resampling: Resampling = DEFAULT_RESAMPLING,
    with_overlaps: bool = True,
) -> list[Comparison]:
    """Compare pairs of systems on one task by aspect recall: the results of `compare` for each pair, in less time.

    ``with_overlaps`` says whether to measure how much the selections share.
    """
    if not pairs:
        return []
    require_same_instances(list(scores.values()))
    place_of = {name: place for place, name in enumerate(dict.fromkeys(name for pair in pairs for name in pair))}
    values = np.column_stack([scores[name].recalls for name in place_of])
    places = [(place_of[first], place_of[second]) for first, second in pairs]
    means, tests = paired_tests(values, places, next(iter(scores.values())).clusters, resampling)
    both = [(scores[first], scores[second]) for first, second in pairs]
    overlaps = mean_overlaps(both, resampling) if with_overlaps else [None] * len(pairs)
    return [
        _comparison(first, second, (means[a], means[b]), test, overlap)
        for (first, second), (a, b), test, overlap in zip(both, places, tests, overlaps, strict=True)
    ]


def _comparison(
    first: TaskScores, second: TaskScores, means: Sequence[Estimate], test: PairedTest, overlap: Estimate | None
) -> Comparison:
    return Comparison(
        task=first.task,
        first=means[0],
        second=means[1],
        test=test,
        overlap=overlap,
        first_counts=first.counts,
        second_counts=second.counts,
    )


def mean_recalls(columns: Sequence[TaskScores], resampling: Resampling = DEFAULT_RESAMPLING) -> list[Estimate]:
    """Return the mean aspect recall of each, all from the same draws: as `TaskScores.estimate`, in less time."""
    require_same_instances(columns)
    values = np.column_stack([column.recalls for column in columns])
    return bootstrap_columns(values, columns[0].clusters, resampling)


def require_same_instances(columns: Sequence[TaskScores]) -> None:
    """Raise unless there are scores, all of the same instances in the same order."""
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
    It is undefined if both are empty.

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


def overlaps(first: TaskScores, second: TaskScores) -> Floats:
    """Return the overlap on each instance; NaN where both select nothing."""
    if not (first.selections and second.selections):
        raise ValueError("expected scores from evaluate(..., with_selections=True)")
    pairs = zip(first.selections, second.selections, strict=True)
    return np.array([overlap_of(a, b) if a.size or b.size else np.nan for a, b in pairs])


def mean_overlaps(pairs: Sequence[tuple[TaskScores, TaskScores]], resampling: Resampling) -> list[Estimate | None]:
    """Return the mean overlap of each pair over the instances where either selects anything; None: nowhere."""
    columns = np.column_stack([overlaps(first, second) for first, second in pairs])
    return bootstrap_defined(columns, pairs[0][0].clusters, resampling)


def _probabilities(selection: Selection) -> dict[int, float]:
    certain = dict.fromkeys(selection.certain, 1.0)
    if not selection.n_drawn:
        return certain
    return certain | dict.fromkeys(selection.tied, selection.n_drawn / len(selection.tied))
