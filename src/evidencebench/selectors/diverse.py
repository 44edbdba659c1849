"""Any system, its answer put in an order that avoids saying the same thing twice."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from evidencebench.errors import SystemSpecError
from evidencebench.query import Query
from evidencebench.retrievers.scores import scores_of, unit_scores
from evidencebench.selectors.redundancy import Similarity, discounted_order, mmr_order, tfidf_similarity
from evidencebench.system import Brief, NamedSystem, Ranking

SIMILARITIES: Mapping[str, Similarity] = MappingProxyType({"tfidf": tfidf_similarity})
"""Name -> function from the sentences to how alike each pair is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverse:
    """Another system's answer, sentences like those before them moved back.

    The system's scores are stretched to 0..1 within the paper; where it has none for every sentence, minus the places
    are. Then the sentences are chosen one by one, see `discounted_order` and `mmr_order`.

    Attributes
    ----------
    system
        The system to reorder.
    method
        ``"discount"``: multiply a score by 1 - strength * similarity for each sentence chosen before. ``"mmr"``:
        maximal marginal relevance, the score against the highest similarity to any sentence chosen before.
    strength
        For ``discount``, in 0..1; 0: the system's own order.
    relevance
        For ``mmr``: weight of the score, in 0..1; 1: the system's own order.
    similarity
        How likeness is measured. ``"tfidf"``: cosine of the words, weighted within the paper.
    """

    system: NamedSystem
    method: Literal["discount", "mmr"] = "discount"
    strength: float = 0.7
    relevance: float = 0.7
    similarity: Literal["tfidf"] = "tfidf"

    def __post_init__(self) -> None:
        for name, value in (("strength", self.strength), ("relevance", self.relevance)):
            if not 0 <= value <= 1:
                raise SystemSpecError(f"diverse: {name}: expected a number in 0..1, got {value}")

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences in the new order, without scores."""
        scores = unit_scores(scores_of(self.system.rank(query, brief), len(query.sentences)))
        similarity = SIMILARITIES[self.similarity](query.sentences)
        if self.method == "mmr":
            return Ranking(sentences=mmr_order(scores, similarity, relevance=self.relevance))
        return Ranking(sentences=discounted_order(scores, similarity, strength=self.strength))
