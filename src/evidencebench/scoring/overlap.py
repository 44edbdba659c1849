"""How much two systems' selections share."""

from collections.abc import Sequence

import numpy as np

from evidencebench.errors import UndefinedScoreError
from evidencebench.scoring.resampling import Estimate, Floats, Resampling, bootstrap_defined
from evidencebench.scoring.selection import Selection
from evidencebench.scoring.task_scores import TaskScores


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
