"""The examples of a selector: the features of each sentence and the share of aspects that it states."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.query import AspectScope
from evidencebench.systems.selectors.features import Feature, feature_table
from evidencebench.systems.selectors.paper_columns import Floats, PaperColumns, TextEmbedder

Target = Literal["share", "relative", "any"]
"""What a model predicts for a sentence: the share of aspects that it states; that share divided by the paper's highest;
or whether it states any aspect."""

SCOPES: tuple[AspectScope, ...] = ("all", "results")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorExample:
    """One instance as training reads it.

    ``shares`` maps each scope that has aspects to the share of them that each sentence states.
    """

    instance: Instance
    paper: PaperColumns
    table: Floats
    shares: dict[AspectScope, Floats]

    def target(self, scope: AspectScope, target: Target) -> Floats:
        """Return the value to predict for each sentence."""
        shares = self.shares[scope]
        if target == "share":
            return shares
        return shares / max(shares.max(), 1e-9) if target == "relative" else (shares > 0).astype(float)


def examples_of(
    instances: Sequence[Instance], features: tuple[Feature, ...], embedder: TextEmbedder | None = None
) -> list[SelectorExample]:
    """Return one example an instance; the features of the group ``embedding`` need an embedder."""
    found = []
    for instance in instances:
        paper = PaperColumns(instance.query, embedder)
        table = feature_table(paper, features)
        shares = {scope: _shares(instance, scope) for scope in SCOPES if instance.labels.that_count(scope)}
        found.append(SelectorExample(instance=instance, paper=paper, table=table, shares=shares))
    return found


def _shares(instance: Instance, scope: AspectScope) -> Floats:
    aspects = instance.labels.that_count(scope)
    shares = np.zeros(len(instance.query.sentences))
    for aspect in aspects:
        shares[list(set(instance.labels.sources.get(aspect, ())))] += 1 / len(aspects)
    return shares
