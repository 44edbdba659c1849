"""Whether a paper answers a question: signs of the paper as a whole, weighed by a linear model."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from evidencebench.system import PaperChance
from evidencebench.systems.paper_columns import Floats
from evidencebench.systems.relevance import PARTS, Relevance

SIGN_FEATURES = tuple(f"{part}_held" for part in PARTS)
"""The features that signs are computed from, beside scores and which words a paper has at all."""

_PART_SIGNS = ("mentioned", "most")
SIGNS = ("top", "top_3", "together", "best_together", *(f"{part}_{sign}" for part in PARTS for sign in _PART_SIGNS))
"""The signs of a paper, in the order of `paper_signs`: whether scores are high, and how much of each part is there."""

_N_BEST, _N_TOP = 5, 3


def mentioned_shares(relevance: Relevance) -> tuple[float, ...]:
    """Return, for each part, the share of its words that the paper has at all; NaN for a part without words."""
    return tuple(
        sum(word in relevance.idf for word in words) / len(words) if words else math.nan
        for words in (relevance.wanted[part] for part in PARTS)
    )


def paper_signs(held: Floats, mentioned: Sequence[float], scores: Floats) -> Floats:
    """Return the signs of a paper: ``held`` has a row a sentence and a column a part, as `SIGN_FEATURES` says.

    A part without words counts as one that is there, so that a question without a comparator is no worse.
    """
    best = np.argsort(-scores, kind="stable")[:_N_BEST]
    arms = np.minimum(held[:, PARTS.index("intervention")], held[:, PARTS.index("outcome")])
    signs = [scores[best[0]], scores[best[:_N_TOP]].mean(), arms.max(), arms[best].max()]
    for share, column in zip(mentioned, held.T, strict=True):
        if math.isnan(share):
            signs += [1.0] * len(_PART_SIGNS)
        else:
            signs += [share, column.max()]
    return np.array(signs, dtype=float)


class VerdictWeights(msgspec.Struct, frozen=True, kw_only=True):
    """A logistic regression on `SIGNS`, and from which chances on a paper answers, or does not."""

    signs: tuple[str, ...]
    weights: tuple[float, ...]
    start: float
    none_below: float
    found_from: float

    def chance(self, signs: Floats) -> PaperChance:
        total = self.start + float(signs @ np.array(self.weights))
        return PaperChance(1 / (1 + math.exp(-max(-30.0, min(30.0, total)))), self.none_below, self.found_from)
