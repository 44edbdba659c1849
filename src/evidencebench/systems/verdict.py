"""Whether a paper answers a question: signs of the paper as a whole, weighed by a linear model."""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from evidencebench.system import PaperChance
from evidencebench.systems.relevance import Part, Relevance
from evidencebench.systems.words import Floats

# The comparator is left out: many questions have none, and it is the other part that tells papers apart.
_PARTS: tuple[Part, ...] = ("intervention", "outcome", "whole")
_N_TOP = 3
SIGNS = ("top", f"top_{_N_TOP}", *(f"{part}_{sign}" for part in _PARTS for sign in ("mentioned", "most")))
"""Of a paper: its highest score and the mean of its three highest; and of each part's words, weighed by how rare they
are in papers, the share that it has at all, and the highest that one sentence has."""

LEAST_SHARE = 0.05
"""A word that fewer papers have counts as rare as one that this share of them has."""

# A short text, such as an abstract, mentions less of what it answers. With this power of its share of so many sentences
# on the bound of "none", it is told of about as many questions of other papers as of whole papers.
_N_WHOLE, _POWER = 100, 1.75


def parts_held(relevance: Relevance, common: Mapping[str, float]) -> list[float]:
    """Return the signs that need no scores; ``common`` is the share of papers that have a root, of the common ones."""
    shares = []
    for part in _PARTS:
        rarity = {word: -math.log(max(LEAST_SHARE, common.get(word, 0.0))) for word in relevance.wanted[part]}
        total = sum(rarity.values())
        mentioned = sum(weight for word, weight in rarity.items() if word in relevance.idf)
        most = max((sum(rarity[word] for word in rarity if word in count) for count in relevance.counts), default=0.0)
        shares += [mentioned / total, most / total] if total else [1.0, 1.0]
    return shares


def paper_signs(scores: Floats, of_parts: Sequence[float]) -> list[float]:
    top = np.sort(scores)[-_N_TOP:]
    return [float(top[-1]), float(top.mean()), *of_parts]


class VerdictWeights(msgspec.Struct, frozen=True, kw_only=True):
    """A logistic regression on `SIGNS`, and from which chances on a paper answers, or does not."""

    signs: tuple[str, ...]
    weights: tuple[float, ...]
    start: float
    none_below: float
    found_from: float
    common: dict[str, float]  # root -> the share of papers that have it, if it is over `LEAST_SHARE`
    right_first: dict[str, float] = {}  # kind of question, see `kind_asked` -> how often the first line answered it

    def chance(self, signs: Sequence[float], n_sentences: int = _N_WHOLE, kind: str = "") -> PaperChance:
        total = self.start + math.fsum(sign * weight for sign, weight in zip(signs, self.weights, strict=True))
        none_below = self.none_below * min(1.0, n_sentences / _N_WHOLE) ** _POWER
        chance = 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
        return PaperChance(chance, none_below, self.found_from, self.right_first.get(kind))
