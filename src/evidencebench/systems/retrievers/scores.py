"""Turn an answer into one number a sentence, in paper order, on a scale that is the same for all systems."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencebench.errors import AnswerError
from evidencebench.system import Ranking

Floats = NDArray[np.float64]


def places_of(ranking: Ranking, n_sentences: int) -> Floats:
    """Return the place of each sentence, in paper order, from 1; equal ones share the mean, as `Fuse` says."""
    named = _score_of_sentence(ranking, n_sentences)
    left_out = [index for index in range(n_sentences) if index not in named]
    if not ranking.ordered:
        groups = [list(named)]
    elif ranking.scores is None:
        groups = [[index] for index in named]
    else:
        by_score: dict[float, list[int]] = {}
        for index, score in named.items():
            by_score.setdefault(score, []).append(index)
        groups = list(by_score.values())
    places = np.zeros(n_sentences)
    n_before = 0
    for group in (*groups, left_out):
        places[group] = n_before + (len(group) + 1) / 2
        n_before += len(group)
    return places


def full_order(ranking: Ranking, n_sentences: int) -> tuple[int, ...]:
    """Return every sentence in an answer's order, a set in paper order, then those that it leaves out."""
    named = _score_of_sentence(ranking, n_sentences)
    left_out = (index for index in range(n_sentences) if index not in named)
    return (*(named if ranking.ordered else sorted(named)), *left_out)


def scores_of(ranking: Ranking, n_sentences: int) -> Floats:
    """Return the score of each sentence, in paper order; the negative places if not every sentence has a score."""
    named = _score_of_sentence(ranking, n_sentences)
    if ranking.scores is None or not ranking.ordered or len(named) < n_sentences:
        return -places_of(ranking, n_sentences)
    return np.array([named[index] for index in range(n_sentences)])


def _score_of_sentence(ranking: Ranking, n_sentences: int) -> dict[int, float]:
    """Return sentence -> score in the answer's order, each sentence once; the scores are 0 if the answer has none."""
    named: dict[int, float] = {}
    for index, score in zip(ranking.sentences, ranking.scores or (0.0,) * len(ranking.sentences), strict=True):
        if not 0 <= index < n_sentences:
            raise AnswerError(f"expected sentences 0..{n_sentences - 1}, got {index}")
        named.setdefault(index, score)
    return named


def unit_scores(scores: ArrayLike) -> Floats:
    """Return the scores scaled to 0..1, so that the lowest is 0 and the highest 1; all 1 if all are equal."""
    values = checked_scores(scores)
    if len(values) == 0:
        return values
    halved = values / 2  # the difference of two halves cannot overflow
    lowest, highest = halved.min(), halved.max()
    if lowest == highest:
        return np.ones_like(values)
    span = highest - lowest
    if span < np.finfo(np.float64).tiny:  # too small to divide by
        return np.where(halved == lowest, 0.0, 1.0)
    unit: Floats = np.minimum((halved - lowest) / span, 1.0)
    return unit


def standard_scores(scores: ArrayLike) -> Floats:
    """Return (score - mean) / standard deviation of each score; all 0 if all are equal."""
    values = unit_scores(scores)
    if len(values) == 0 or values.min() == values.max():
        return np.zeros_like(values)
    standard: Floats = (values - values.mean()) / values.std()
    return standard


def checked_scores(scores: ArrayLike) -> Floats:
    """Return scores as a new array of shape (n,); raise `ValueError` if a score is not finite."""
    values = np.array(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"expected one score a sentence, got an array of shape {values.shape}")
    if not np.isfinite(values).all():
        position = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"sentence {position}: expected a finite score, got {values[position]}")
    return values
