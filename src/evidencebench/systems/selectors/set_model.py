"""The set model: a small network that reads a whole paper and was trained to cover aspects, as a system."""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
import numpy as np

from evidencebench.errors import ModelError
from evidencebench.models.embedding.folder import Steady, library_versions, require_extra
from evidencebench.query import AspectScope, Query
from evidencebench.system import Brief, Ranking
from evidencebench.systems.retrievers.dense import MiniLM
from evidencebench.systems.retrievers.scores import standard_scores
from evidencebench.systems.selectors.features import FEATURES, feature_table
from evidencebench.systems.selectors.model import CARD, card_digest, read_card_bytes, read_part
from evidencebench.systems.selectors.page import Floats, Page
from evidencebench.systems.selectors.selector import selected

if TYPE_CHECKING:
    from evidencebench.systems.selectors.set_network import SetNetwork

MOST_NETWORKS = 100
MOST_LAYERS = 100
DEFAULT_BUDGET = 10
"""The number of sentences that scores are made for where the task sets none."""

MOST_SENTENCES = 8000
"""Sentences of a paper that attend to each other: more would need gigabytes."""

_SCOPES: tuple[AspectScope, ...] = ("all", "results")
_BY_NAME = {feature.name: feature for feature in FEATURES}


class SetCard(msgspec.Struct, frozen=True, kw_only=True):
    """What a set model's ``card.json`` holds.

    Attributes
    ----------
    format
        What sort of file it is.
    features
        Names of the columns, in the order in which the network reads them.
    network
        Arguments of each `SetNetwork`; the scores of all are averaged.
    n_networks
        How many there are in the file of weights.
    strength
        How much repetition is discounted, see `discounted_order`.
    scopes
        What the networks learned; where that is not results, what they learned of all aspects serves both.
    file, sha256
        The file of weights, beside the card.
    data, training, versions
        How it came to be: for readers, not read here.
    """

    format: Literal["evidencebench-set-model/1"] = "evidencebench-set-model/1"
    features: tuple[str, ...]
    network: dict[str, int | float]
    n_networks: int
    strength: float
    scopes: tuple[AspectScope, ...]
    file: str
    sha256: str
    data: dict[str, Any] = {}
    training: dict[str, Any] = {}
    versions: dict[str, str] = {}


class SetModel:
    """A loaded set model."""

    def __init__(self, card: SetCard, networks: "list[SetNetwork]") -> None:
        self.card = card
        self._features = tuple(_BY_NAME[name] for name in card.features)
        self._networks = networks

    def scores(self, page: Page, scope: AspectScope, budget: int) -> Floats:
        """Return the mean of the networks' standard scores, one a sentence, if ``budget`` sentences are chosen.

        Raises
        ------
        ModelError
            If the paper is longer than `MOST_SENTENCES`, or the network gives a number that is not finite.
        """
        import torch  # noqa: PLC0415 - an extra, and slow to import

        if page.n == 0:
            return np.zeros(0)
        if page.n > MOST_SENTENCES:  # what attends to what is an array of all pairs
            raise ModelError(
                f"set_selector: reads a whole paper at once, at most {MOST_SENTENCES} sentences; got {page.n}; take "
                "selector or cues"
            )
        table = torch.from_numpy(feature_table(page, self._features)).float()[None]
        vectors = torch.from_numpy(page.vectors).float()[None]
        absent = torch.zeros(1, page.n, dtype=torch.bool)
        column = _SCOPES.index(scope if scope in self.card.scopes else "all")
        columns = []
        with torch.inference_mode():
            for network in self._networks:
                found = network(table, vectors, absent, torch.tensor([float(max(1, budget))]))
                columns.append(found[0, :, column].double().numpy())
        if not np.isfinite(columns).all():
            raise ModelError("set_selector: the network gives a score that is not finite; train it again")
        scores: Floats = np.mean([standard_scores(column) for column in columns], axis=0)
        return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSelector:
    """A set model trained by ``evidencebench train set_selector``.

    A small network reads the features and the vectors of the whole paper, how many sentences will be chosen, and was
    trained to cover aspects with that many. Its scores are then discounted for repetition as those of `selector` are.

    Attributes
    ----------
    model
        The folder that training wrote.
    """

    reads_brief: ClassVar[bool] = True

    model: Path
    _card: Steady = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_card", Steady(self.model, lambda: card_digest(self.model)))
        object.__setattr__(self, "model", Path(self.model))
        require_extra("set_selector", "minilm", "torch", "safetensors")
        MiniLM()
        read_weights(self.model, read_set_card(self.model))

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences in the order in which they are chosen."""
        model = load_set_model(self.model, self._card.digest())
        page = _page(query)
        scores = model.scores(page, brief.scope, DEFAULT_BUDGET if brief.budget is None else brief.budget)
        return Ranking(sentences=selected(page, scores, model.card.strength))

    def trained_on(self) -> frozenset[str]:
        """Return the sha256 of the data that the model was trained on, if its card says."""
        return frozenset(filter(None, [read_set_card(self.model).data.get("sha256")]))

    def versions(self) -> dict[str, str]:
        """Return the digest of the model and the versions of what computes its scores."""
        own = {f"model {self.model}": f"sha256:{self._card.digest()}"}
        return own | library_versions("torch") | MiniLM().versions()


@lru_cache(maxsize=2)  # a paper is asked once for each task
def _page(query: Query) -> Page:
    return Page(query, MiniLM())


@lru_cache(maxsize=8)
def load_set_model(folder: Path, card_sha256: str) -> SetModel:
    """Return the model that a folder holds.

    Parameters
    ----------
    folder
        Written by ``evidencebench train set_selector``.
    card_sha256
        Digest of its card, see `card_digest`.

    Raises
    ------
    ModelError
        If a file is missing, damaged, or not of this format.
    """
    from safetensors import SafetensorError  # noqa: PLC0415 - an extra
    from safetensors.torch import load  # noqa: PLC0415 - an extra
    from torch import device  # noqa: PLC0415 - an extra

    from evidencebench.systems.selectors.set_network import SetNetwork  # noqa: PLC0415 - imports torch

    card = read_set_card(folder, card_sha256)
    try:
        tensors = load(read_weights(folder, card))
    except SafetensorError as error:
        raise ModelError(f"{folder / card.file}: {error}; train the model again") from error
    networks = []
    for number in range(card.n_networks):
        prefix = f"{number}."
        mine = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        try:
            with device("meta"):  # which makes no room, however large the card says that it is
                network = SetNetwork(**card.network)  # type: ignore[arg-type]
            network.load_state_dict(mine, assign=True)
        except (RuntimeError, TypeError, ValueError, AssertionError) as error:
            raise ModelError(f"{folder}: the card and the weights do not fit together: {error}") from error
        networks.append(network.eval())
    return SetModel(card, networks)


def read_weights(folder: Path, card: SetCard) -> bytes:
    """Return the file of weights that the card was written for.

    Raises
    ------
    ModelError
        If it is missing, elsewhere or another.
    """
    path = folder / card.file
    if Path(card.file).name == card.file and path.is_file():
        content = read_part(path)
        if hashlib.sha256(content).hexdigest() == card.sha256:
            return content
    raise ModelError(f"{path}: expected the file whose sha256 is in the card, {card.sha256}; train the model again")


def read_set_card(folder: Path, card_sha256: str | None = None) -> SetCard:
    """Return a set model's card, which must be the one of a digest unless that is None.

    Raises
    ------
    ModelError
        If it is missing or not what a card must be.
    """
    path = folder / CARD
    try:
        card = msgspec.json.decode(read_card_bytes(folder, card_sha256), type=SetCard)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: {error}; expected what 'evidencebench train set_selector' writes") from error
    if unknown := [name for name in card.features if name not in _BY_NAME]:
        raise ModelError(f"{path}: no feature '{unknown[0]}' in this version; train the model again")
    if not 0 <= card.strength <= 1:
        raise ModelError(f"{path}: strength: expected a number in 0..1, got {card.strength}")
    if "all" not in card.scopes:
        raise ModelError(f"{path}: scopes: expected 'all' among them")
    if card.network.get("n_features") != len(card.features):
        raise ModelError(f"{path}: expected networks on {len(card.features)} features, as the card has")
    if not 1 <= card.network.get("n_layers", 1) <= MOST_LAYERS:
        raise ModelError(f"{path}: network: n_layers: expected 1..{MOST_LAYERS}, got {card.network['n_layers']}")
    if not 1 <= card.n_networks <= MOST_NETWORKS:
        raise ModelError(f"{path}: n_networks: expected 1..{MOST_NETWORKS}, got {card.n_networks}")
    return card
