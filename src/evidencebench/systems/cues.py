"""A system that needs no training: it sums features of a sentence, by weights that were set by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from evidencebench.errors import SystemSpecError
from evidencebench.files.disk import packaged_table
from evidencebench.query import AspectScope, Goal, Query
from evidencebench.system import Ranking, RankingTask, Traits
from evidencebench.systems.diverse import discounted_order
from evidencebench.systems.features import FEATURES, RELEVANCE_FEATURES, feature_table
from evidencebench.systems.paper_columns import PaperColumns, columns_of
from evidencebench.systems.words import Floats


class Weight(NamedTuple):
    """A feature's weight where all evidence is wanted, its weight where only results are, and the reason."""

    evidence: float
    results: float
    reason: str


_TABLE = packaged_table(__file__)
WEIGHTS: Mapping[str, Weight] = MappingProxyType({name: Weight(**fields) for name, fields in _TABLE.items()})
"""Feature -> its weight in the sum. Each feature is described in `evidencebench.systems.features`."""

ANSWER_WEIGHTS: Mapping[str, float] = MappingProxyType({"outcome_held": 4.0, "match": 2.0, "cue_objective": -2.0})
"""Feature -> its weight, beside those for results, where what answers the hypothesis is wanted: it speaks of the
outcome, and of an intervention or a comparison too, but does not ask the question."""

_FEATURES = tuple(feature for feature in FEATURES if feature.name in WEIGHTS)
_WEIGHTS: dict[AspectScope, Floats] = {
    "all": np.array([WEIGHTS[feature.name].evidence for feature in _FEATURES]),
    "results": np.array([WEIGHTS[feature.name].results for feature in _FEATURES]),
}
_ANSWER_FEATURES = tuple(feature for feature in (*FEATURES, *RELEVANCE_FEATURES) if feature.name in ANSWER_WEIGHTS)
_ANSWER_WEIGHTS = np.array([ANSWER_WEIGHTS[feature.name] for feature in _ANSWER_FEATURES])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """Place, wording, length and the hypothesis's words, weighted by hand; then an order that avoids repetition.

    A sentence's score is exp(sum of its features, weighted by `WEIGHTS`). Sentences are chosen one by one, and a
    sentence loses score the more similar it is to those chosen before (see `discounted_order`). Nothing is fitted. The
    weights were set by hand, with figures on the train split in view; see docs/systems.md.
    """

    strength: float = 0.85  # how much of its score a sentence loses that repeats a chosen one, in 0..1
    hypothesis: bool = True  # whether the hypothesis is read; if not, the features that read it count 0
    # "answer": what answers the hypothesis, by `ANSWER_WEIGHTS` too, and repetitions with it; "study": what a reviewer
    # would note of the study; None: what the query says, and "study" where it says nothing.
    goal: Goal | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise SystemSpecError(f"cues: strength: expected a number in 0..1, got {self.strength}")

    @property
    def traits(self) -> Traits:
        return Traits(reads_task=True, reads_hypothesis=self.hypothesis)

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        return Ranking(sentences=_order(self, query, task.scope))


@lru_cache(maxsize=4)  # each task asks about the same paper, under one of two scopes
def _order(cues: Cues, query: Query, scope: AspectScope) -> tuple[int, ...]:
    paper, table = _table(cues, query)
    if (cues.goal or query.goal) != "answer":
        return discounted_order(np.exp(table @ _WEIGHTS[scope]), paper.similarity.row, strength=cues.strength)
    worth = table @ _WEIGHTS["results"]
    if cues.hypothesis:
        worth += feature_table(paper, _ANSWER_FEATURES) @ _ANSWER_WEIGHTS
    return tuple(np.argsort(-worth, kind="stable").tolist())


@lru_cache(maxsize=2)
def _table(cues: Cues, query: Query) -> tuple[PaperColumns, Floats]:
    paper = columns_of(query)
    table = np.maximum(feature_table(paper, _FEATURES), 0.0)  # some features are -1 outside the abstract
    if not cues.hypothesis:
        table[:, [feature.reads_hypothesis for feature in _FEATURES]] = 0.0
    return paper, table
