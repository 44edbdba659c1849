"""The learned selector: features of a sentence, scored by several models, then an order that avoids repetition."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from evidencebench.errors import SystemSpecError
from evidencebench.models.embedding.folder import PinnedDigest
from evidencebench.models.model_card import card_digest
from evidencebench.query import AspectScope, Query
from evidencebench.system import Brief, Ranking
from evidencebench.systems.retrievers.dense import MiniLM
from evidencebench.systems.retrievers.scores import standard_scores
from evidencebench.systems.selectors.features import rank_fraction
from evidencebench.systems.selectors.paper_columns import Floats, PaperColumns, columns_of
from evidencebench.systems.selectors.reordering import discounted_order
from evidencebench.systems.selectors.selector_model import SelectorModel, load_model, require_lightgbm
from evidencebench.traits import Traits


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """A selector trained by ``evidencebench train selector``.

    It holds several models, its members. Their scores are standardised within the paper and averaged, those for all
    evidence and those for results apart. Then sentences are chosen one by one, and a score falls the more similar its
    sentence is to those chosen before (see `discounted_order`).

    Attributes
    ----------
    model
        The folder that training wrote.
    hypothesis_weight
        How much a sentence's similarity to the hypothesis counts beside the learned score, at least 0. Models learn
        little about the hypothesis; a weight above 0 makes it count, at a cost in recall.
    """

    model: Path
    hypothesis_weight: float = 0.0
    _card: PinnedDigest = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", Path(self.model))
        object.__setattr__(self, "_card", PinnedDigest(self.model, lambda: card_digest(self.model)))
        if not 0 <= self.hypothesis_weight < math.inf:
            raise SystemSpecError(
                f"selector: hypothesis_weight: expected a finite number of at least 0, got {self.hypothesis_weight}"
            )
        require_lightgbm("selector")
        model = self._load()
        if model.needs_embedder:
            MiniLM()

    @property
    def traits(self) -> Traits:
        """It reads the brief, for its scope; the card of its model says on which data it was trained."""
        return Traits(reads_brief=True, versions=self._versions, trained_on=self._trained_on)

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences in the order in which they are chosen."""
        return Ranking(sentences=_order(self._load(), self.hypothesis_weight, query, brief.scope))

    def _versions(self) -> dict[str, str]:
        found = {
            f"model {self.model}": f"sha256:{self._card.digest()}",
            "lightgbm": require_lightgbm("selector").__version__,
        }
        return {**found, **(MiniLM().traits.versions() if self._load().needs_embedder else {})}

    def _trained_on(self) -> frozenset[str]:
        return self._load().card.trained_on

    def _load(self) -> SelectorModel:
        return load_model(self.model, self._card.digest())


class Best(Selector):
    """As `selector`, trained by ``evidencebench train best``: its features have similarities of MiniLM vectors too."""

    __slots__ = ()


@lru_cache(maxsize=4)  # each task asks about the same paper, under one of two scopes
def _order(model: SelectorModel, hypothesis_weight: float, query: Query, scope: AspectScope) -> tuple[int, ...]:
    paper, scores = _score(model, query)
    likeness = (
        hypothesis_weight * hypothesis_similarity(paper, embedding=model.needs_embedder) if hypothesis_weight else 0.0
    )
    return order_by_scores(paper, scores[scope] + likeness, model.card.strength)


@lru_cache(maxsize=2)
def _score(model: SelectorModel, query: Query) -> tuple[PaperColumns, dict[AspectScope, Floats]]:
    paper = columns_of(query, MiniLM() if model.needs_embedder else None)
    return paper, model.scores(paper)


def hypothesis_similarity(paper: PaperColumns, *, embedding: bool) -> Floats:
    """Return each sentence's standardised similarity to the hypothesis, by words and, if asked, by vectors."""
    if paper.n == 0:
        return np.zeros(0)
    columns = [paper.bm25, paper.hypothesis_cosine, *([paper.vectors @ paper.hypothesis_vector] if embedding else [])]
    return standard_scores(np.mean([rank_fraction(column) for column in columns], axis=0))


def order_by_scores(paper: PaperColumns, scores: Floats, strength: float) -> tuple[int, ...]:
    """Return all sentences in `discounted_order`, by exp of their standard score."""
    return discounted_order(np.exp(standard_scores(scores)), paper.similarity.row, strength=strength)
