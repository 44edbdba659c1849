"""Reorder another system's answer, so that similar sentences do not follow each other."""

from dataclasses import dataclass
from typing import Any, Literal

from evidencebench.errors import SystemSpecError
from evidencebench.query import Query
from evidencebench.system import Brief, NamedSystem, Ranking
from evidencebench.systems.retrievers.scores import scores_of, unit_scores
from evidencebench.systems.selectors.reordering import discounted_order, mmr_order
from evidencebench.systems.selectors.similarity import VectorSimilarity, WordSimilarity


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverse:
    """Another system's answer, sentences like those before them moved back.

    The system's scores are scaled to 0..1 within the paper; if it does not score every sentence, the negative places
    are its scores. Then the sentences are chosen one by one, see `discounted_order` and `mmr_order`.

    Attributes
    ----------
    system
        The system to reorder.
    method
        ``"discount"``: multiply a score by 1 - strength * similarity for each sentence chosen before. ``"mmr"``:
        maximal marginal relevance, the weighted score less the weighted highest similarity to a sentence chosen before.
    strength
        For ``discount``, in 0..1; 0: the system's own order.
    relevance
        For ``mmr``: weight of the score, in 0..1; 1: the system's own order. The similarity's is 1 - relevance.
    embedder
        A system with sentence vectors, such as ``minilm``: similarity is the vectors' cosine. None: similarity is the
        cosine of the sentences' words, weighted by TF-IDF within the paper.
    """

    system: NamedSystem
    method: Literal["discount", "mmr"] = "discount"
    strength: float = 0.2
    relevance: float = 0.9
    embedder: NamedSystem | None = None

    def __post_init__(self) -> None:
        for name, value in (("strength", self.strength), ("relevance", self.relevance)):
            if not 0 <= value <= 1:
                raise SystemSpecError(f"diverse: {name}: expected a number in 0..1, got {value}")
        if self.embedder is not None and not hasattr(self.embedder.system, "embed_sentences"):
            raise SystemSpecError(
                f"diverse: embedder: expected a system with sentence vectors, such as minilm, got {self.embedder.name}"
            )

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences in the new order, without scores."""
        answer = self.system.rank(query, brief)
        scores = unit_scores(scores_of(answer, len(query.sentences)))
        similarity = self._similarity(query).row
        if self.method == "mmr":
            order = mmr_order(scores, similarity, relevance=self.relevance)
        else:
            order = discounted_order(scores, similarity, strength=self.strength)
        return Ranking(sentences=order, notes=answer.notes)

    def _similarity(self, query: Query) -> VectorSimilarity | WordSimilarity:
        if self.embedder is None:
            return WordSimilarity(query.sentences)
        embedder: Any = self.embedder.system
        return VectorSimilarity(embedder.embed_sentences(query))
