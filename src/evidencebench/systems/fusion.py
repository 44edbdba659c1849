"""Fuse; scores on one scale."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evidencebench.errors import AnswerError, SystemSpecError
from evidencebench.query import Query
from evidencebench.system import NamedSystem, Ranking, RankingTask, merged_notes, rank_by_score
from evidencebench.systems.words import Floats


def places_of(ranking: Ranking, n_sentences: int) -> Floats:
    """Return the place of each sentence, in paper order, from 1; equal ones share the mean, as `Fuse` says."""
    named = _score_of_sentence(ranking, n_sentences)
    left_out = [index for index in range(n_sentences) if index not in named]
    groups: dict[float | None, list[int]] = {}  # by score; without scores, each sentence of an order is its own group
    for index, score in named.items():
        key = None if not ranking.ordered else index if ranking.scores is None else score
        groups.setdefault(key, []).append(index)
    places = np.zeros(n_sentences)
    n_before = 0
    for group in (*groups.values(), left_out):
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


def unit_scores(scores: Floats) -> Floats:
    """Return the scores scaled to 0..1, so that the lowest is 0 and the highest 1; all 1 if all are equal."""
    if len(scores) == 0:
        return scores
    halved = scores / 2  # the difference of two halves cannot overflow
    lowest, highest = halved.min(), halved.max()
    if lowest == highest:
        return np.ones_like(scores)
    span = highest - lowest
    if span < np.finfo(np.float64).tiny:  # too small to divide by
        return np.where(halved == lowest, 0.0, 1.0)
    unit: Floats = np.minimum((halved - lowest) / span, 1.0)
    return unit


def standard_scores(scores: Floats) -> Floats:
    """Return (score - mean) / standard deviation of each score; all 0 if all are equal."""
    values = unit_scores(scores)
    if len(values) == 0 or values.min() == values.max():
        return np.zeros_like(values)
    standard: Floats = (values - values.mean()) / values.std()
    return standard


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuse:
    """Several systems' answers combined, by reciprocal ranks or standardised scores.

    Each sentence scores the weighted sum, over the systems, of

    * ``rrf``: 1 / (k + place), where the best sentence has place 1;
    * ``zscore``: (score - mean) / standard deviation, both over the paper. A system whose scores are all equal adds 0.
      If a system does not score every sentence, the negative places are its scores.

    Sentences of equal scores share the mean of their places. So do the sentences of a set without order. Sentences that
    an answer leaves out share the places behind those that it names. Equal sums are in paper order.

    References
    ----------
    .. [1] Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning
       Methods", SIGIR 2009, which sets k to 60.
    """

    systems: tuple[NamedSystem, ...]
    method: Literal["rrf", "zscore"] = "rrf"
    weights: tuple[float, ...] = ()  # one a system, at least 0 and not all 0; empty: all count the same
    k: float = 60.0  # for rrf, at least 0: the higher, the less the first places stand out

    def __post_init__(self) -> None:
        if not self.systems:
            raise SystemSpecError("fuse: systems: expected at least one, such as systems=[bm25+tfidf]")
        if self.weights and len(self.weights) != len(self.systems):
            raise SystemSpecError(f"fuse: weights: expected one a system, {len(self.systems)}, got {len(self.weights)}")
        if self.weights and not (all(0 <= weight < math.inf for weight in self.weights) and any(self.weights)):
            raise SystemSpecError(f"fuse: weights: expected numbers of at least 0, not all 0, got {self.weights}")
        if not 0 <= self.k < math.inf:
            raise SystemSpecError(f"fuse: k: expected a finite number of at least 0, got {self.k}")

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        size = len(query.sentences)
        answers = [part.rank(query, task) for part in self.systems]
        if self.method == "zscore":
            terms = [standard_scores(scores_of(answer, size)) for answer in answers]
        else:
            terms = [np.reciprocal(self.k + places_of(answer, size)) for answer in answers]
        weights = self.weights or (1.0,) * len(terms)
        # fsum is exact: the order of the systems then decides no tie.
        scores = [
            math.fsum(weight * float(term[index]) for weight, term in zip(weights, terms, strict=True))
            for index in range(size)
        ]
        return replace(rank_by_score(scores), notes=merged_notes(*(answer.notes for answer in answers)))
