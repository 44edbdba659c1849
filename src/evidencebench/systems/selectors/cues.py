"""An evidence finder that needs no training: a linear rule over label-free features, its constants set by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from evidencebench.errors import SystemSpecError
from evidencebench.query import AspectScope, Query
from evidencebench.system import Brief, Ranking, Traits
from evidencebench.systems.selectors.features import FEATURES, feature_table
from evidencebench.systems.selectors.paper_columns import Floats, PaperColumns
from evidencebench.systems.selectors.reordering import discounted_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """How much one feature counts where all evidence is wanted and where results are, and why it is so."""

    evidence: float
    results: float
    reason: str


WEIGHTS: Mapping[str, Weight] = MappingProxyType(
    {
        "is_abstract": Weight(
            evidence=0.6, results=0.6, reason="An abstract is the authors' own choice of what matters."
        ),
        "is_heading": Weight(evidence=-2.0, results=-2.0, reason="A heading states nothing."),
        "abstract_position": Weight(
            evidence=0.5, results=0.7, reason="Abstracts go from what was known to what was found."
        ),
        "abstract_results": Weight(evidence=0.9, results=1.5, reason="A part labelled results holds them."),
        "abstract_methods": Weight(
            evidence=0.5, results=-0.3, reason="How a study was done is evidence, but no result."
        ),
        "abstract_background": Weight(
            evidence=-1.2, results=-1.0, reason="What was known before is not the paper's finding."
        ),
        "abstract_objective": Weight(evidence=0.0, results=-0.8, reason="What was meant to be done is no result."),
        "section_conclusion": Weight(evidence=0.3, results=0.4, reason="Conclusions repeat the main findings."),
        "section_back_matter": Weight(evidence=-2.0, results=-2.0, reason="Thanks and funding are no evidence."),
        "evidence": Weight(
            evidence=0.1, results=0.2, reason="Findings are worded with numbers, comparisons and negations."
        ),
        "cue_number": Weight(evidence=0.3, results=0.2, reason="Numbers say how much, and of whom."),
        "cue_increase": Weight(evidence=0.5, results=0.7, reason="What went up, in whom, is the commonest finding."),
        "cue_significance": Weight(evidence=0.4, results=0.6, reason="A statistical judgment is made of a finding."),
        "cue_p_value": Weight(evidence=0.2, results=0.5, reason="So is a p-value."),
        "cue_interval": Weight(evidence=0.5, results=0.8, reason="A confidence interval reports an estimate."),
        "cue_ours": Weight(evidence=0.5, results=0.2, reason="'We' and 'this study' mark the paper's own work."),
        "cue_design": Weight(evidence=0.5, results=0.0, reason="The design of a study is part of its evidence."),
        "cue_participants": Weight(evidence=0.2, results=0.0, reason="So is who was studied,"),
        "cue_recruitment": Weight(evidence=0.2, results=0.0, reason="and how they were found,"),
        "cue_animals": Weight(evidence=0.3, results=0.1, reason="or on which animals."),
        "cue_procedure": Weight(
            evidence=-0.1, results=-0.2, reason="Reagents and devices are rarely what a reviewer notes."
        ),
        "cue_previous": Weight(evidence=-0.3, results=-0.3, reason="What others found before is their evidence."),
        "cue_citation": Weight(evidence=-0.3, results=-0.2, reason="So is what is cited."),
        "cue_boilerplate": Weight(evidence=-0.7, results=-0.7, reason="Licences and addresses are no evidence."),
        "length_rank": Weight(evidence=0.5, results=0.4, reason="A longer sentence says more."),
        "bm25_share": Weight(evidence=0.6, results=0.6, reason="Evidence speaks of what the hypothesis speaks of,"),
        "terms_held": Weight(evidence=0.6, results=0.6, reason="in the same words."),
        "centrality_rank": Weight(
            evidence=0.5, results=0.4, reason="What a paper keeps coming back to is what it is about."
        ),
        "to_nearest_abstract": Weight(evidence=1.2, results=1.0, reason="What the abstract says too is central."),
    }
)
"""Feature -> its weight in the sum. Each feature is described in `evidencebench.systems.selectors.features`."""

STRENGTH = 0.85

_FEATURES = tuple(feature for feature in FEATURES if feature.name in WEIGHTS)
_WEIGHTS: dict[AspectScope, Floats] = {
    "all": np.array([WEIGHTS[feature.name].evidence for feature in _FEATURES]),
    "results": np.array([WEIGHTS[feature.name].results for feature in _FEATURES]),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """Place, wording, length and the hypothesis's words, weighed by hand; then an order that avoids repetition.

    A sentence's worth is e to the power of the weighted sum of `WEIGHTS`; sentences are chosen one by one, each worth
    less the more it is like those chosen before (see `discounted_order`). Nothing is fitted. The reasons for the
    weights are general; their sizes were set by hand in view of figures on the train split, see docs/systems.md.

    Attributes
    ----------
    strength
        How much likeness to what was chosen is discounted, in 0..1.
    hypothesis
        Whether the hypothesis is read; without it the weight of its words is 0.
    """

    strength: float = STRENGTH
    hypothesis: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise SystemSpecError(f"cues: strength: expected a number in 0..1, got {self.strength}")

    @property
    def traits(self) -> Traits:
        """What it declares."""
        return Traits(reads_brief=True, reads_hypothesis=self.hypothesis)

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences in the order in which they are chosen."""
        return Ranking(sentences=_order(self, query, brief.scope))


@lru_cache(maxsize=4)  # a paper is asked once for each task, of two scopes
def _order(cues: Cues, query: Query, scope: AspectScope) -> tuple[int, ...]:
    paper, table = _table(cues, query)
    return discounted_order(np.exp(table @ _WEIGHTS[scope]), paper.similarity.row, strength=cues.strength)


@lru_cache(maxsize=2)
def _table(cues: Cues, query: Query) -> tuple[PaperColumns, Floats]:
    paper = PaperColumns(query)
    table = np.maximum(feature_table(paper, _FEATURES), 0.0)  # features of the abstract are -1 outside
    if not cues.hypothesis:
        table[:, [feature.reads_hypothesis for feature in _FEATURES]] = 0.0
    return paper, table
