"""A system that needs no training: it sums features of a sentence, by weights that were set by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from evidencebench.errors import SystemSpecError
from evidencebench.query import AspectScope, Query, Wish
from evidencebench.system import Brief, Ranking, Traits
from evidencebench.systems.diverse import discounted_order
from evidencebench.systems.features import FEATURES, RELEVANCE_FEATURES, feature_table
from evidencebench.systems.paper_columns import Floats, PaperColumns, columns_of


class Weight(NamedTuple):
    """A feature's weight where all evidence is wanted, its weight where only results are, and the reason."""

    evidence: float
    results: float
    reason: str


WEIGHTS: Mapping[str, Weight] = MappingProxyType(
    {
        "is_abstract": Weight(0.6, 0.6, "An abstract is the authors' own choice of what matters."),
        "is_heading": Weight(-2.0, -2.0, "A heading states nothing."),
        "abstract_position": Weight(0.5, 0.7, "Abstracts go from what was known to what was found."),
        "abstract_results": Weight(0.9, 1.5, "A part labelled results holds them."),
        "abstract_methods": Weight(0.5, -0.3, "How a study was done is evidence, but no result."),
        "abstract_background": Weight(-1.2, -1.0, "What was known before is not the paper's finding."),
        "abstract_objective": Weight(0.0, -0.8, "What was meant to be done is no result."),
        "section_conclusion": Weight(0.3, 0.4, "Conclusions repeat the main findings."),
        "section_back_matter": Weight(-2.0, -2.0, "Thanks and funding are no evidence."),
        "evidence": Weight(0.1, 0.2, "Findings are worded with numbers, comparisons and negations."),
        "cue_number": Weight(0.3, 0.2, "Numbers say how much, and of whom."),
        "cue_increase": Weight(0.5, 0.7, "What went up, in whom, is the commonest finding."),
        "cue_significance": Weight(0.4, 0.6, "A statistical judgment is made of a finding."),
        "cue_p_value": Weight(0.2, 0.5, "So is a p-value."),
        "cue_interval": Weight(0.5, 0.8, "A confidence interval reports an estimate."),
        "cue_ours": Weight(0.5, 0.2, "'We' and 'this study' mark the paper's own work."),
        "cue_design": Weight(0.5, 0.0, "The design of a study is part of its evidence."),
        "cue_participants": Weight(0.2, 0.0, "So is who was studied,"),
        "cue_recruitment": Weight(0.2, 0.0, "and how they were found,"),
        "cue_animals": Weight(0.3, 0.1, "or on which animals."),
        "cue_procedure": Weight(-0.1, -0.2, "Reagents and devices are rarely what a reviewer notes."),
        "cue_previous": Weight(-0.3, -0.3, "What others found before is their evidence."),
        "cue_citation": Weight(-0.3, -0.2, "So is what is cited."),
        "cue_boilerplate": Weight(-0.7, -0.7, "Licences and addresses are no evidence."),
        "length_rank": Weight(0.5, 0.4, "A longer sentence says more."),
        "bm25_share": Weight(0.6, 0.6, "Evidence speaks of what the hypothesis speaks of,"),
        "terms_held": Weight(0.6, 0.6, "in the same words."),
        "centrality_rank": Weight(0.5, 0.4, "What a paper keeps coming back to is what it is about."),
        "to_nearest_abstract": Weight(1.2, 1.0, "What the abstract says too is central."),
    }
)
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
    """Place, wording, length and the hypothesis's words, weighed by hand; then an order that avoids repetition.

    A sentence's score is exp(sum of its features, weighted by `WEIGHTS`). Sentences are chosen one by one, and a
    sentence loses score the more similar it is to those chosen before (see `discounted_order`). Nothing is fitted. The
    weights were set by hand, with figures on the train split in view; see docs/systems.md.
    """

    strength: float = 0.85  # how much of its score a sentence loses that repeats a chosen one, in 0..1
    hypothesis: bool = True  # whether the hypothesis is read; if not, the features that read it count 0
    # "answer": what answers the hypothesis, by `ANSWER_WEIGHTS` too, and repetitions with it; "study": what a reviewer
    # would note of the study; None: what the query says, and "study" where it says nothing.
    wish: Wish | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise SystemSpecError(f"cues: strength: expected a number in 0..1, got {self.strength}")

    @property
    def traits(self) -> Traits:
        return Traits(reads_brief=True, reads_hypothesis=self.hypothesis)

    def rank(self, query: Query, brief: Brief) -> Ranking:
        return Ranking(sentences=_order(self, query, brief.scope))


@lru_cache(maxsize=4)  # each task asks about the same paper, under one of two scopes
def _order(cues: Cues, query: Query, scope: AspectScope) -> tuple[int, ...]:
    paper, table = _table(cues, query)
    if (cues.wish or query.wish) != "answer":
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
