"""Put sentences into an order that avoids repetition: by discounted scores, or by maximal marginal relevance."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencebench.systems.retrievers.scores import Floats, checked_scores

Rows = Callable[[int], Floats]
"""Sentence index -> the similarities of all n sentences to that sentence, shape (n,)."""

MOST_CHOSEN = 2_000
"""The most sentences that are chosen one by one, which takes time for all n sentences each. Papers have hundreds."""

# The similarities of so many sentences are made ready together, 2 MB of them: row by row takes longer.
_MOST_TOGETHER = 512

# Decimals of a similarity: rounding removes differences between machines, which would decide ties.
_DECIMALS = 9


def discounted_order(scores: ArrayLike, rows: Rows, *, strength: float = 1.0) -> tuple[int, ...]:
    """Return all sentences, chosen one by one; a score falls the more similar its sentence is to those chosen before.

    Chosen next is the sentence with the highest ``score * product of (1 - strength * similarity)``, the product taken
    over the sentences chosen before. Equal values are ordered by score, then by place in the paper. Values only fall,
    so the order does not depend on the budget. Behind the first `MOST_CHOSEN`, the others follow by the value that they
    have then. The strength lies in 0..1. Similarities are clipped to 0..1, and that of
    a sentence to itself is not read. It raises `ValueError` if a score is not finite or below 0.
    """
    values = checked_scores(scores)
    if (values < 0).any():
        raise ValueError(f"expected scores of at least 0, got {values.min()}")
    by_score = np.argsort(-values, kind="stable")
    alike = _rows_by_place(rows, by_score)
    worth = values[by_score]
    is_open = np.ones(len(worth), dtype=bool)
    order = []
    for _ in range(min(len(worth), MOST_CHOSEN)):
        chosen = int(worth.argmax())
        order.append(chosen)
        is_open[chosen] = False
        worth[chosen] = -1.0  # below every product
        np.multiply(worth, 1.0 - strength * alike(chosen), out=worth, where=is_open)
    return _with_the_others(order, worth, by_score)


def mmr_order(scores: ArrayLike, rows: Rows, *, relevance: float = 0.7) -> tuple[int, ...]:
    """Return all sentences, chosen one by one by maximal marginal relevance [1]_.

    Chosen next is the sentence with the highest ``relevance * score - (1 - relevance) * similarity``, the similarity
    being the highest to a sentence chosen before. Equal values are ordered by score, then by place in the paper. Scores
    are finite and in 0..1, as `unit_scores` makes them. The relevance lies in 0..1; the paper calls it lambda.
    Similarities are treated as in `discounted_order`.

    .. [1] Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing
       Summaries", SIGIR 1998.
    """
    values = checked_scores(scores)
    by_score = np.argsort(-values, kind="stable")
    alike = _rows_by_place(rows, by_score)
    worth = relevance * values[by_score]
    penalty = np.zeros_like(worth)
    order = []
    for _ in range(min(len(worth), MOST_CHOSEN)):
        chosen = int((worth - penalty).argmax())
        order.append(chosen)
        np.maximum(penalty, (1.0 - relevance) * alike(chosen), out=penalty)
        worth[chosen] = -np.inf
    return _with_the_others(order, worth - penalty, by_score)


def _with_the_others(chosen: list[int], values: Floats, by_score: NDArray[np.intp]) -> tuple[int, ...]:
    """Return the chosen ones, which have the lowest values, and behind them the others, highest value first."""
    others = np.argsort(-values, kind="stable")[: len(values) - len(chosen)]
    return tuple(by_score[[*chosen, *others]].tolist()) if len(values) else ()


def _rows_by_place(rows: Rows, by_score: NDArray[np.intp]) -> Rows:
    """Return a function: place in the order -> the similarities to its sentence, in that order, clipped and rounded."""
    n = len(by_score)

    def checked(place: int) -> Floats:
        row = rows(int(by_score[place]))
        if row.shape != (n,):  # the vectors may come from a user's own system
            raise ValueError(f"similarity: expected rows of {n} numbers, got shape {row.shape}")
        return row

    def ready(similarities: Floats) -> Floats:
        if np.isnan(similarities).any():
            raise ValueError("similarity: expected numbers, got NaN")
        return similarities[..., by_score].clip(0.0, 1.0).round(_DECIMALS)

    if 0 < n <= _MOST_TOGETHER:
        together: Rows = ready(np.stack([checked(place) for place in range(n)])).__getitem__
        return together
    return lambda place: ready(checked(place))
