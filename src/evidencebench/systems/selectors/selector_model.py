"""Read a trained selector from its folder, and score the sentences of a paper with it."""

import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from evidencebench.errors import MissingExtraError, ModelError
from evidencebench.models.model_card import CARD, ModelCard, read_model_card, read_named_part
from evidencebench.query import AspectScope
from evidencebench.systems.retrievers.scores import standard_scores
from evidencebench.systems.selectors.features import FEATURES, Feature, feature_table
from evidencebench.systems.selectors.paper_columns import Floats, PaperColumns

_BY_NAME = {feature.name: feature for feature in FEATURES}


class Linear(msgspec.Struct, frozen=True, kw_only=True, tag="linear"):
    """A linear model: ``(table - center) / scale @ weights``; the three hold one number a feature."""

    scope: AspectScope
    target: str
    center: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]


class Trees(msgspec.Struct, frozen=True, kw_only=True, tag="trees"):
    """Boosted trees in LightGBM's text format, in a file beside the card."""

    scope: AspectScope
    target: str
    file: str
    sha256: str


class SelectorCard(ModelCard, frozen=True, kw_only=True):
    """The card of a trained selector."""

    format: Literal["evidencebench-selector/1"] = "evidencebench-selector/1"
    features: tuple[str, ...]  # names of the columns, in the order in which the members read them
    strength: float  # how much redundancy is discounted, see `discounted_order`
    members: tuple[Linear | Trees, ...]  # the models; the scores of those with the same scope are averaged
    training: dict[str, Any] = msgspec.field(default_factory=dict)  # how it was trained: for people, not read here
    cross_validated: dict[str, Any] = msgspec.field(default_factory=dict)


class SelectorModel:
    """A loaded model: its card, and file name -> text of each file of trees."""

    def __init__(self, card: SelectorCard, trees: Mapping[str, str]) -> None:
        self.card = card
        self.features: tuple[Feature, ...] = tuple(_BY_NAME[name] for name in card.features)
        self.trees = trees
        self._boosters = _load_boosters(trees, len(self.features)) if trees else {}

    @property
    def needs_embedder(self) -> bool:
        """Whether one of its features compares sentence vectors."""
        return any(feature.group == "embedding" for feature in self.features)

    @property
    def reads_hypothesis(self) -> bool:
        """Whether its scores depend on the hypothesis."""
        return any(feature.reads_hypothesis for feature in self.features)

    def scores(self, paper: PaperColumns) -> dict[AspectScope, Floats]:
        """Return scope -> the mean of the standard scores of the scope's members, one number a sentence.

        If no member is for results, because the training data labels none, both scopes have the scores of ``"all"``.
        """
        return self.scores_in(feature_table(paper, self.features))

    def scores_in(self, table: Floats) -> dict[AspectScope, Floats]:
        """Return the `scores` of a paper, given the table of its features."""
        if len(table) == 0:
            return {"all": np.zeros(0), "results": np.zeros(0)}
        found: dict[AspectScope, list[Floats]] = {}
        for member in self.card.members:
            found.setdefault(member.scope, []).append(standard_scores(self._member_scores(member, table)))
        found.setdefault("results", found["all"])
        return {scope: np.mean(columns, axis=0) for scope, columns in found.items()}

    def _member_scores(self, member: Linear | Trees, table: Floats) -> Floats:
        if isinstance(member, Trees):
            found: Floats = self._boosters[member.file].predict(table, num_threads=1)
        else:
            found = (table - member.center) / member.scale @ np.array(member.weights)
        if not np.isfinite(found).all():
            raise ModelError("selector: the model gives a score that is not finite; train it again")
        return found


def _load_boosters(trees: Mapping[str, str], n_features: int) -> dict[str, Any]:
    """Return file name -> LightGBM's model, made from the file's text."""
    lightgbm = require_lightgbm("selector")
    boosters = {}
    for file, text in trees.items():
        try:
            booster = lightgbm.Booster(model_str=text)
        except lightgbm.basic.LightGBMError as error:
            raise ModelError(f"{file}: LightGBM: {error}") from error
        if booster.num_feature() != n_features:
            raise ModelError(f"{file}: expected trees on {n_features} features, got {booster.num_feature()}")
        boosters[file] = booster
    return boosters


def require_lightgbm(system: str) -> Any:
    """Return the module lightgbm; raise `MissingExtraError`, which names the system, if it is not installed."""
    try:
        import lightgbm  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise MissingExtraError(f"{system}: needs LightGBM: pip install 'evidencebench[selector]'") from error
    return lightgbm


@lru_cache(maxsize=8)
def load_model(folder: Path, card_sha256: str) -> SelectorModel:
    """Return the model in a folder; raise `ModelError` if a file is missing or damaged, or the digest differs."""
    card = read_card(folder, card_sha256)
    trees = [member for member in card.members if isinstance(member, Trees)]
    try:
        return SelectorModel(card, {one.file: read_named_part(folder, one.file, one.sha256) for one in trees})
    except ModelError as error:
        raise ModelError(f"{folder}: {error}; train the model again") from error


def read_card(folder: Path, card_sha256: str | None = None) -> SelectorCard:
    """Return the card of a selector; raise `ModelError` if it is damaged, or has another digest than the given one."""
    path = folder / CARD
    card = read_model_card(folder, SelectorCard, sha256=card_sha256)
    if not card.features or len(set(card.features)) < len(card.features):
        raise ModelError(f"{path}: features: expected some, each once")
    if unknown := [name for name in card.features if name not in _BY_NAME]:
        raise ModelError(f"{path}: no feature '{unknown[0]}' in this version; train the model again")
    if not 0 <= card.strength <= 1:
        raise ModelError(f"{path}: strength: expected a number in 0..1, got {card.strength}")
    if not any(member.scope == "all" for member in card.members):
        raise ModelError(f"{path}: members: expected some of the scope 'all'")
    for member in card.members:
        if isinstance(member, Linear):
            _require_numbers(path, member, len(card.features))
    return card


def _require_numbers(path: Path, member: Linear, n: int) -> None:
    for numbers in (member.center, member.scale, member.weights):
        if len(numbers) != n or not all(map(math.isfinite, numbers)) or (numbers is member.scale and 0 in numbers):
            raise ModelError(f"{path}: a linear member: expected {n} finite numbers, scales other than 0")
