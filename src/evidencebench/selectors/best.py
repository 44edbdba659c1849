"""The learned selector and the set model, averaged: the best finder here that needs neither a key nor a GPU."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

from evidencebench.errors import ModelError, SystemSpecError
from evidencebench.query import AspectScope, Query
from evidencebench.retrievers.dense import MiniLM
from evidencebench.retrievers.scores import standard_scores
from evidencebench.selectors.model import SelectorModel, card_digest, load_model
from evidencebench.selectors.page import Floats, Page
from evidencebench.selectors.selector import Selector, hypothesis_likeness, selected
from evidencebench.selectors.set_model import DEFAULT_BUDGET, SetSelector, load_set_model
from evidencebench.system import Brief, Ranking

SELECTOR, SET_MODEL = "selector", "set_selector"
"""The folders of the parts within the model's folder."""

# What the parts' standard scores count: the selector's, the set model's.
_WEIGHTS = {"both": (2.0, 1.0), "selector": (1.0, 0.0), "set_selector": (0.0, 1.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The learned selector with vectors, and the set model: their standard scores averaged, two to one.

    Trained by ``evidencebench train best``. Sentences are chosen one by one, discounted for repetition as the selector
    does.

    Attributes
    ----------
    model
        The folder that training wrote.
    hypothesis_weight
        As in `Selector`.
    part
        ``both``, or only the ``selector`` or the ``set_selector`` in it.
    """

    reads_brief: ClassVar[bool] = True

    model: Path
    hypothesis_weight: float = 0.0
    part: Literal["both", "selector", "set_selector"] = "both"

    def __post_init__(self) -> None:
        if not self.hypothesis_weight >= 0:
            raise SystemSpecError(f"best: hypothesis_weight: expected at least 0, got {self.hypothesis_weight}")
        for part in (SELECTOR, SET_MODEL):
            if not (self.model / part).is_dir():
                raise ModelError(f"{self.model}: no folder '{part}', as 'evidencebench train best' writes it")
        Selector(model=self.model / SELECTOR)
        SetSelector(model=self.model / SET_MODEL)

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences in the order in which they are chosen."""
        selector = load_model(self.model / SELECTOR, card_digest(self.model / SELECTOR))
        networks = load_set_model(self.model / SET_MODEL, card_digest(self.model / SET_MODEL))
        page, learned = _scored(selector, query)
        covering = networks.scores(page, brief.scope, DEFAULT_BUDGET if brief.budget is None else brief.budget)
        of_selector, of_networks = _WEIGHTS[self.part]
        scores = of_selector * standard_scores(learned[brief.scope]) + of_networks * standard_scores(covering)
        if self.hypothesis_weight:
            likeness = hypothesis_likeness(page, embedding=True)
            scores = standard_scores(scores) + self.hypothesis_weight * likeness
        return Ranking(sentences=selected(page, scores, selector.card.strength))

    def versions(self) -> dict[str, str]:
        """Return the digests of the models and the versions of what computes their scores."""
        parts = (Selector(model=self.model / SELECTOR), SetSelector(model=self.model / SET_MODEL))
        return {name: value for part in parts for name, value in part.versions().items()}


@lru_cache(maxsize=2)  # a paper is asked once for each task
def _scored(selector: SelectorModel, query: Query) -> tuple[Page, dict[AspectScope, Floats]]:
    page = Page(query, MiniLM())
    return page, selector.scores(page)
