"""The card of a trained model, ``card.json`` in its folder: what it was trained on, and how. All are read here."""

import hashlib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import ModelError
from evidencebench.files.disk import BROKEN_JSON, read_bytes
from evidencebench.wording import counted, one_line

CARD = "card.json"

SELECTORS_ARE_GONE = (
    "the systems 'selector', 'best' and 'set_selector' were taken away, since 'finder' finds as much; train and use "
    "'finder' instead (the last evidencebench that has them is commit f3daef3 of 0.1.0, 201c5db for 'set_selector')"
)


class ModelCard(msgspec.Struct, frozen=True, kw_only=True):
    data: dict[str, Any] = {}  # what it was trained on: sha256 of the file, or of each file, its name, and counts
    versions: dict[str, str] = {}  # of what trained it

    def __repr__(self) -> str:
        return one_line(self, repr(self.data.get("name", "")), counted(self.data.get("n_instances", 0), "instance"))

    @property
    def trained_on(self) -> frozenset[str]:
        sha256 = self.data.get("sha256")
        several = [sha256] if isinstance(sha256, str) else sha256
        return frozenset(map(str, several)) if isinstance(several, list | tuple) else frozenset()


class FineTunedCard(ModelCard, frozen=True, kw_only=True):
    evidencebench_model: str  # "embedder" or "reranker"
    base: dict[str, Any] = msgspec.field(default_factory=dict)  # model, revision and sha256; of a folder its name only
    options: dict[str, Any] = msgspec.field(default_factory=dict)  # of the training, seed included
    answers_with: dict[str, Any] = msgspec.field(default_factory=dict)  # the system, and its options beside model
    n_steps: int = 0
    loss: tuple[float, ...] = ()  # the mean of each epoch


Card = TypeVar("Card", bound=ModelCard)


def read_model_card(folder: Path, kind: type[Card], *, sha256: str | None = None) -> Card:
    path = folder / CARD
    content = _card_bytes(folder)
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise ModelError(f"{folder}: the model has changed since it was first used; start again")
    try:
        return msgspec.json.decode(content, type=prepared(kind))
    except BROKEN_JSON as error:
        if any(gone in content for gone in (b"evidencebench-selector/1", b"evidencebench-set-model/1")):
            raise ModelError(f"{path}: {SELECTORS_ARE_GONE}") from error
        raise ModelError(f"{path}: {error}; expected what 'evidencebench train' writes") from error


def card_digest(folder: Path) -> str:
    return hashlib.sha256(_card_bytes(folder)).hexdigest()


def fine_tuned_on(model: str) -> frozenset[str]:
    try:
        return read_model_card(Path(model).expanduser(), FineTunedCard).trained_on
    except ModelError:  # most models were not trained by this package, and have no card
        return frozenset()


def require_replaceable(folder: Path, kind: type[ModelCard]) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        read_model_card(folder, kind)
    except ModelError as error:
        raise ModelError(
            f"{folder}: holds something other than such a model, which would be lost; choose another folder ({error})"
        ) from error


def _card_bytes(folder: Path) -> bytes:
    path = folder / CARD
    if not path.is_file():
        raise ModelError(f"{folder}: no model: expected {CARD}, as 'evidencebench train' writes it")
    return read_bytes(path, error=ModelError)
