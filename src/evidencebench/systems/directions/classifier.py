"""Say what a sentence reports of a hypothesis's outcome, with the weights that come with the package."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from evidencebench.errors import ModelError
from evidencebench.storage.reading import BROKEN_JSON
from evidencebench.systems.directions.features import (
    MarkedParts,
    direction_features,
    marked_words,
    reports_comparison,
    turned_to_intervention,
)
from evidencebench.systems.selectors.hypothesis_parts import abbreviations

SHIPPED = Path(__file__).with_name("shipped_directions.json")


class ReportedDirection(StrEnum):
    """What a sentence reports of the outcome, under the intervention."""

    INCREASE = "increase"
    DECREASE = "decrease"
    NO_DIFFERENCE = "no difference"
    NOT_SAID = "not said"


LEARNED = (ReportedDirection.INCREASE, ReportedDirection.DECREASE, ReportedDirection.NO_DIFFERENCE)
OPPOSITE = {
    ReportedDirection.INCREASE: ReportedDirection.DECREASE,
    ReportedDirection.DECREASE: ReportedDirection.INCREASE,
    ReportedDirection.NO_DIFFERENCE: ReportedDirection.NO_DIFFERENCE,
}


DirectionReader = Callable[[str, Sequence[str], Sequence[int]], Mapping[int, ReportedDirection]]
"""Given a hypothesis, a paper's sentences and the indices of some: what these report, by index."""


class DirectionWeights(msgspec.Struct, frozen=True, kw_only=True):
    """A linear model: for each of `LEARNED` a start, and a weight of each feature."""

    format: Literal["evidencebench-directions/1"] = "evidencebench-directions/1"
    data: dict[str, Any]  # what it was trained on: for people
    starts: tuple[float, float, float]
    weights: dict[str, tuple[float, float, float]]

    def direction(self, words: Sequence[str]) -> ReportedDirection:
        """Return which of `LEARNED` the marked words of a sentence report."""
        turned, is_turned = turned_to_intervention(words)
        direction = self.of_features(direction_features(turned))
        return OPPOSITE[direction] if is_turned else direction

    def of_features(self, features: Collection[str]) -> ReportedDirection:
        """Return which of `LEARNED` fits features best; those that are not known count for nothing."""
        known = [self.weights[name] for name in features if name in self.weights]
        share = 1 / math.sqrt(max(1, len(known)))  # long sentences have more features, and are no surer
        scores = [start + share * math.fsum(of_place) for start, *of_place in zip(self.starts, *known, strict=True)]
        return LEARNED[scores.index(max(scores))]


def read_weights(path: Path) -> DirectionWeights:
    """Return the weights of a file; raises `ModelError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=DirectionWeights)
    except (OSError, *BROKEN_JSON) as error:
        wrong = f"cannot be read as weights of directions: {error}"
        raise ModelError(f"{path}: {wrong}; install the package again") from error


@cache
def shipped_weights() -> DirectionWeights:
    """Return the weights that come with the package. They were trained on Evidence Inference alone."""
    return read_weights(SHIPPED)


def reported_directions(
    hypothesis: str, sentences: Sequence[str], indices: Sequence[int]
) -> Mapping[int, ReportedDirection]:
    """Return what some sentences of a paper report of the hypothesis's outcome, by their index."""
    parts = MarkedParts.of(hypothesis, abbreviations(sentences))
    weights = shipped_weights()
    directions: dict[int, ReportedDirection] = {}
    for index in indices:
        words = marked_words(sentences[index], parts)
        directions[index] = weights.direction(words) if reports_comparison(words) else ReportedDirection.NOT_SAID
    return directions
