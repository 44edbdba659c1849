"""Orders that avoid saying the same thing twice: by marginal relevance, or by discounting what was said."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencebench.systems.retrievers.scores import Floats, checked_scores

Rows = Callable[[int], Floats]
"""Gives how alike each of n sentences is to the one of this index."""

# Decimals kept of a similarity: how a machine adds up a matrix product must not decide a tie.
_DECIMALS = 9


def discounted_order(scores: ArrayLike, rows: Rows, *, strength: float = 1.0) -> tuple[int, ...]:
    """Return all sentences in greedy order, each discounted by its likeness to those before it.

    Next comes the sentence with the highest ``score * product over those before it of (1 - strength * similarity)``.
    Equal products are ordered by score, then by place in the paper. Each sentence's product only falls, so the order
    does not depend on how many sentences will count. Scores are finite and at least 0, else it is a `ValueError`; the
    strength lies in 0..1, and of a similarity what lies outside 0..1 is cut off; the diagonal is not read.

    The second sentence repeats the first, so at a strength of 0.7 only 0.24 of its 0.8 is left:

    >>> alike = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> discounted_order([0.9, 0.8, 0.3], alike.__getitem__, strength=0.7)
    (0, 2, 1)
    """
    values = checked_scores(scores)
    if (values < 0).any():
        raise ValueError(f"expected scores of at least 0, got {values.min()}")
    by_score = np.argsort(-values, kind="stable")
    alike = _ordered(rows, by_score)
    left = values[by_score]
    is_open = np.ones(len(left), dtype=bool)
    order = []
    for _ in range(len(left)):
        chosen = int(left.argmax())
        order.append(int(by_score[chosen]))
        is_open[chosen] = False
        left[chosen] = -1.0  # below every product
        np.multiply(left, 1.0 - strength * alike(chosen), out=left, where=is_open)
    return tuple(order)


def mmr_order(scores: ArrayLike, rows: Rows, *, relevance: float = 0.7) -> tuple[int, ...]:
    """Return all sentences by maximal marginal relevance [1]_.

    Next comes the sentence with the highest ``relevance * score - (1 - relevance) * its highest similarity to any
    before it``. Equal values are ordered by score, then by place in the paper. Scores are finite and on the scale of
    the similarities, see `unit_scores`; the relevance, which the source calls lambda, lies in 0..1. Similarities are
    read as in `discounted_order`.

    .. [1] Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing
       Summaries", SIGIR 1998.
    """
    values = checked_scores(scores)
    by_score = np.argsort(-values, kind="stable")
    alike = _ordered(rows, by_score)
    worth = relevance * values[by_score]
    penalty = np.zeros_like(worth)
    order = []
    for _ in range(len(worth)):
        chosen = int((worth - penalty).argmax())
        order.append(int(by_score[chosen]))
        np.maximum(penalty, (1.0 - relevance) * alike(chosen), out=penalty)
        worth[chosen] = -np.inf
    return tuple(order)


def _ordered(rows: Rows, by_score: NDArray[np.intp]) -> Rows:
    """Return what gives a place's row of similarities, in this order, between 0 and 1 and free of rounding."""
    n = len(by_score)

    def row(place: int) -> Floats:
        found = rows(int(by_score[place]))
        if found.shape != (n,):  # vectors can be of somebody's own system
            raise ValueError(f"similarity: expected rows of {n} numbers, got shape {found.shape}")
        if np.isnan(found).any():
            raise ValueError("similarity: expected numbers, got NaN")
        return found[by_score].clip(0.0, 1.0).round(_DECIMALS)

    return row
