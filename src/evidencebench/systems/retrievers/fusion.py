"""Make one answer of several systems' answers, by each sentence's places or by its scores."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evidencebench.errors import SystemSpecError
from evidencebench.query import Query
from evidencebench.system import Brief, NamedSystem, Ranking, merged_notes, rank_by_score
from evidencebench.systems.retrievers.scores import Floats, places_of, scores_of, standard_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuse:
    """Several systems' answers made one, by reciprocal ranks or standardised scores.

    Each sentence scores the weighted sum, over the systems, of

    * ``rrf``: 1 / (k + place), where the best sentence has place 1;
    * ``zscore``: (score - mean) / standard deviation, both over the paper. A system whose scores are all equal adds 0.
      If a system does not score every sentence, the negative places are its scores.

    Sentences of equal scores share the mean of their places. So do the sentences of a set without order. Sentences that
    an answer leaves out share the places behind those that it names. Equal sums are in paper order.

    Attributes
    ----------
    systems
        The systems to fuse, at least one.
    method
        ``"rrf"`` or ``"zscore"``.
    weights
        One finite number of at least 0 a system, not all 0; empty: all count the same.
    k
        For ``rrf``, at least 0: the higher, the less the first places stand out.

    References
    ----------
    .. [1] Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning
       Methods", SIGIR 2009, which sets k to 60.
    """

    systems: tuple[NamedSystem, ...]
    method: Literal["rrf", "zscore"] = "rrf"
    weights: tuple[float, ...] = ()
    k: float = 60.0

    def __post_init__(self) -> None:
        if not self.systems:
            raise SystemSpecError("fuse: systems: expected at least one, such as systems=[bm25+tfidf]")
        if self.weights and len(self.weights) != len(self.systems):
            raise SystemSpecError(f"fuse: weights: expected one a system, {len(self.systems)}, got {len(self.weights)}")
        if self.weights and not (all(0 <= weight < math.inf for weight in self.weights) and any(self.weights)):
            raise SystemSpecError(f"fuse: weights: expected numbers of at least 0, not all 0, got {self.weights}")
        if not 0 <= self.k < math.inf:
            raise SystemSpecError(f"fuse: k: expected a finite number of at least 0, got {self.k}")

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences by their fused score."""
        size = len(query.sentences)
        answers = [part.rank(query, brief) for part in self.systems]
        terms = [self._terms(answer, size) for answer in answers]
        weights = self.weights or (1.0,) * len(terms)
        # fsum is exact: the order of the systems then decides no tie.
        scores = [
            math.fsum(weight * float(term[index]) for weight, term in zip(weights, terms, strict=True))
            for index in range(size)
        ]
        return replace(rank_by_score(scores), notes=merged_notes(*(answer.notes for answer in answers)))

    def _terms(self, ranking: Ranking, size: int) -> Floats:
        if self.method == "zscore":
            return standard_scores(scores_of(ranking, size))
        return np.reciprocal(self.k + places_of(ranking, size))
