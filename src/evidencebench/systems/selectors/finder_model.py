"""Read the model of a finder from its folder, and score sentences with it; needs numpy alone."""

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from evidencebench.errors import ModelError
from evidencebench.models.model_card import CARD, ModelCard, read_model_card, read_named_part
from evidencebench.query import AspectScope, Wish
from evidencebench.systems.selectors.features import FEATURES, Feature, feature_table
from evidencebench.systems.selectors.paper_columns import Floats, PaperColumns
from evidencebench.systems.selectors.relevance_features import RELEVANCE_FEATURES
from evidencebench.systems.selectors.trees import Forest

Table = NDArray[np.float32]

FINDER_FEATURES: tuple[Feature, ...] = (*FEATURES, *RELEVANCE_FEATURES)
"""The columns that training gives a finder."""

FEATURE_NAMES = tuple(feature.name for feature in FINDER_FEATURES)
_COLUMN = {name: column for column, name in enumerate(FEATURE_NAMES)}
_BLIND = tuple(feature for feature in FINDER_FEATURES if not feature.reads_hypothesis)
_LISTENING = tuple(feature for feature in FINDER_FEATURES if feature.reads_hypothesis)
_ORDER = np.argsort([_COLUMN[feature.name] for feature in (*_BLIND, *_LISTENING)])


class FinderMember(msgspec.Struct, frozen=True, kw_only=True):
    """What scores for one wish and scope: trees, in a file beside the card, and weights of a linear model, if any."""

    wish: Wish
    scope: AspectScope
    file: str
    sha256: str
    weights: tuple[float, ...] = ()  # one a feature


class Regression(NamedTuple):
    """Trees and, if there are weights, a linear model: what they predict is added up."""

    forest: Forest
    weights: tuple[float, ...] = ()

    def predict(self, table: Table) -> Floats:
        """Return one number a row."""
        scores = self.forest.predict(table)
        return scores + table @ np.array(self.weights) if self.weights else scores


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What a score means: the share of evidence among held-back sentences of such scores; both lists ascend."""

    scores: tuple[float, ...]
    shares: tuple[float, ...]

    def chances(self, scores: Floats) -> Floats:
        """Return the share for each score, linear between two of the table, and the end's beyond the ends."""
        return np.interp(scores, self.scores, self.shares)


class FinderCard(ModelCard, frozen=True, kw_only=True):
    """The card of a trained finder."""

    format: Literal["evidencebench-finder/1"] = "evidencebench-finder/1"
    features: tuple[str, ...]  # names of the columns, in the order in which the trees read them
    members: tuple[FinderMember, ...]
    strengths: dict[Wish, float]  # how much redundancy is discounted, see `discounted_order`
    calibrations: dict[Wish, Calibration] = msgspec.field(default_factory=dict)  # of all evidence, if computed
    training: dict[str, Any] = msgspec.field(default_factory=dict)  # how it was trained: for people, not read here


class FinderModel:
    """A loaded model: its card, and file name -> trees."""

    def __init__(self, card: FinderCard, forests: dict[str, Forest]) -> None:
        self.card = card
        self.forests = forests
        self._columns = [_COLUMN[name] for name in card.features]
        self._members = {
            (member.wish, member.scope): Regression(forests[member.file], member.weights) for member in card.members
        }

    @property
    def wishes(self) -> frozenset[Wish]:
        """The wishes that it was trained for."""
        return frozenset(member.wish for member in self.card.members)

    def scores(self, paper: PaperColumns, wish: Wish, scope: AspectScope) -> Floats:
        """Return one number a sentence, for a wish that it was trained for.

        Where the training data labels no results, the trees for all evidence serve both scopes.
        """
        if paper.n == 0:
            return np.zeros(0)
        regression = self._members.get((wish, scope)) or self._members[wish, "all"]
        return regression.predict(finder_table(paper)[:, self._columns])


def finder_table(paper: PaperColumns) -> Table:
    """Return the table of `FINDER_FEATURES`, in single precision, so that machines that differ in a last bit agree."""
    blind = paper.of_paper(_BLIND, lambda: feature_table(paper, _BLIND))
    return np.column_stack([blind, feature_table(paper, _LISTENING)])[:, _ORDER].astype(np.float32)


@lru_cache(maxsize=8)
def load_finder(folder: Path, card_sha256: str) -> FinderModel:
    """Return the model in a folder; raise `ModelError` if a file is missing or damaged, or the digest differs."""
    card = read_model_card(folder, FinderCard, sha256=card_sha256)
    try:
        _require_sound(card)
        forests = {member.file: _read_forest(folder, member, len(card.features)) for member in card.members}
    except ModelError as error:
        raise ModelError(f"{folder}: {error}; train the model again") from error
    return FinderModel(card, forests)


def _read_forest(folder: Path, member: FinderMember, n_features: int) -> Forest:
    forest = Forest.from_text(read_named_part(folder, member.file, member.sha256))
    if forest.n_features != n_features:
        raise ModelError(f"{member.file}: expected trees on {n_features} features, got {forest.n_features}")
    return forest


def _require_sound(card: FinderCard) -> None:
    if not card.features or len(set(card.features)) < len(card.features):
        raise ModelError(f"{CARD}: features: expected some, each once")
    if unknown := [name for name in card.features if name not in _COLUMN]:
        raise ModelError(f"{CARD}: no feature '{unknown[0]}' in this version")
    wishes, all_weights = {member.wish for member in card.members}, [member.weights for member in card.members]
    if not wishes or wishes != {member.wish for member in card.members if member.scope == "all"}:
        raise ModelError(f"{CARD}: members: expected one of the scope 'all' for each wish")
    if any(len(weights) not in {0, len(card.features)} or not _are_finite(weights) for weights in all_weights):
        raise ModelError(f"{CARD}: members: expected no weights, or a finite one for each feature")
    if any(not 0 <= card.strengths.get(wish, -1) <= 1 for wish in wishes):
        raise ModelError(f"{CARD}: strengths: expected a number in 0..1 for each wish")
    for table in card.calibrations.values():
        numbers = [*table.scores, *table.shares]
        ascends = list(table.scores) == sorted(table.scores) and list(table.shares) == sorted(table.shares)
        if not numbers or len(table.scores) != len(table.shares) or not ascends or not _are_finite(numbers):
            raise ModelError(f"{CARD}: calibrations: expected scores and shares, as many of both, ascending")


def _are_finite(numbers: Sequence[float]) -> bool:
    return all(map(math.isfinite, numbers))
