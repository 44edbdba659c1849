"""Fine-tune a model of sentence-transformers with the loss of `listwise_trainer`, and write it to a folder."""

import hashlib
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import ModelError, SystemSpecError
from evidencebench.extras import require_extra
from evidencebench.models.embedding.folder import (
    MINILM_PACKAGE,
    minilm_folder,
    model_digest,
    model_folder,
    require_model,
)
from evidencebench.models.embedding.transformer import LIBRARIES, chosen_device, quietly
from evidencebench.models.model_card import FineTunedCard
from evidencebench.storage.reading import PathText
from evidencebench.training.card_entries import data_entries, version_entries
from evidencebench.training.listwise import (
    Anchors,
    Floats,
    ListwiseBatch,
    ListwiseExample,
    Scope,
    batch_of,
    draw_positions,
)
from evidencebench.training.training_folder import last_checkpoint, named_write_errors, put_model, training_folder

if TYPE_CHECKING:
    import torch

MINILM = "minilm"
"""The base model whose weights are in an installed package."""

_TINY = 1e-12
_OF_BASE = frozenset({"base", "revision"})  # options that have fields of their own in a model's card
_EMBEDDING = re.compile(r"embed|\bwte\b|\bwpe\b")
_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|block|blocks)\.(\d+)\.")

# Option -> its lowest value.
_LEAST = {
    "neighbours": 0,
    "epochs": 1,
    "batch_size": 1,
    "learning_rate": _TINY,
    "temperature": _TINY,
    "positives": 1,
    "negatives": 1,
    "hardness": 0,
    "trained_layers": 1,
    "max_tokens": 8,
    "checkpoint_steps": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuning(ABC):
    """A fine-tuning, with the options that `EmbedderTraining` and `RerankerTraining` share.

    Attributes
    ----------
    base
        The model to start from: a folder, an id on the Hugging Face hub, or ``minilm``, an installed package.
    revision
        Commit, branch or tag; required for a model of the hub.
    anchors
        What sentences are compared with: ``hypothesis``, ``aspects`` (their texts, which EvidenceBench-100k has) or
        ``both``.
    scope
        Whose sources are to be found: those of ``all`` aspects, those of the ``results``, or ``both``, one anchor each.
    epochs
        How often each instance is read.
    batch_size
        Instances in a step.
    learning_rate
        The highest learning rate; it rises to this, then falls to 0.
    positives, negatives
        The most sentences with and without evidence that are drawn of a paper in a step.
    trained_layers
        How many of the last layers are trained, at least 1; None: all, and the token embeddings too, which is slower.
    max_tokens
        Texts are cut to this many tokens in training; None: to the base's own limit.
    checkpoint_steps
        Steps between checkpoints: a killed training loses at most so many.
    device
        ``cpu``, ``cuda``, ``mps``, or ``auto`` for the fastest that the machine has.
    """

    kind: ClassVar[str]  # the kind of model in its card, such as "embedder"
    system: ClassVar[str]  # the system that answers with the model

    base: str = MINILM
    revision: str | None = None
    anchors: Anchors = "hypothesis"
    scope: Scope = "both"
    epochs: int = 2
    batch_size: int = 4
    learning_rate: float = 1e-4
    positives: int = 12
    negatives: int = 24
    trained_layers: int | None = 3
    max_tokens: int | None = 64
    checkpoint_steps: int = 10
    device: str = "auto"

    def __post_init__(self) -> None:
        name = f"train {self.kind}"
        for option, value in asdict(self).items():
            lowest = _LEAST.get(option)
            if lowest is not None and value is not None and not lowest <= value < float("inf"):
                raise SystemSpecError(f"{name}: {option}: expected at least {lowest}, got {value}")
        require_extra(name, "finetune", "torch", "sentence_transformers", "accelerate", "datasets")
        if self.base != MINILM:
            require_model(name, self.base, self.revision)
            return
        require_extra(name, MINILM, MINILM_PACKAGE)
        if self.revision is not None:
            raise SystemSpecError(f"{name}: revision: '{MINILM}' lies in a package, which has none; leave it out")

    @property
    def answers_with(self) -> dict[str, Any]:
        """The options of the system, beside ``model``, that make it write texts as in training."""
        return {}

    @abstractmethod
    def _examples(self, instances: Sequence[Instance]) -> list[ListwiseExample]:
        """Return the training examples of instances; raise `DataError` if no instance has a source to find."""

    @abstractmethod
    def _load(self, folder: Path, device: str, seed: int) -> Any:
        """Return the base model in a folder, loaded with sentence-transformers; raise `ModelError` if that fails."""

    @abstractmethod
    def _loss(self, model: Any) -> "torch.nn.Module":
        """Return the loss, which the trainer minimises."""

    def _weights(self, model: Any, examples: Sequence[ListwiseExample]) -> Sequence[Floats | None]:  # noqa: ARG002
        """Return, for each example, the weight of each text when negatives are drawn; None: equal weights."""
        return [None] * len(examples)

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> FineTunedCard:
        """Fine-tune the base and save it as a sentence-transformers folder, which the system loads.

        Checkpoints are written to ``FOLDER.part``; after an interruption, the same call goes on from the last one. A
        fine-tuned model in the folder is replaced; other content is never replaced. ``seed`` decides a new head's
        weights, the order, the draws and dropout. ``data`` is written into the card. ``on_progress`` is called with
        (steps taken, steps in all).

        It raises `DataError` if no instance has a source to find. It raises `ModelError` if the base cannot be loaded,
        the folder cannot be written or has other content, an unfinished training has other options or data, or the
        loss is not finite.
        """
        from evidencebench.training.listwise_trainer import make_trainer, own_randomness  # noqa: PLC0415 - torch

        examples = self._examples(instances)
        folder = Path(folder).expanduser().resolve()
        base = self._base_folder()
        options = {key: value for key, value in asdict(self).items() if key not in _OF_BASE} | {"seed": seed}
        described: dict[str, Any] = {
            "base": {
                "model": base.name if Path(self.base).expanduser().is_dir() else self.base,
                "revision": self.revision,
                "sha256": model_digest(base),
            },
            "data": data_entries(
                [one.query.paper_id for one in instances], data, sha256_of_instances=_digest(instances)
            ),
            "versions": version_entries(*LIBRARIES, "accelerate"),
        }
        plan = {"trains": self.kind, **described, **options}
        del plan["checkpoint_steps"]  # decides no weight, so a training may go on with another value
        with training_folder(folder) as part, quietly(), own_randomness():
            checkpoint = last_checkpoint(part, plan)
            model = self._load(base, _one_device(self.device), seed)
            _freeze(model, self.trained_layers)
            weights = self._weights(model, examples)

            def draw(places: Sequence[int], epoch: int) -> ListwiseBatch:
                parts = []
                for place in places:
                    generator = np.random.default_rng([seed, epoch, place])
                    of = draw_positions(examples[place], self.positives, self.negatives, generator, weights[place])
                    parts.append((examples[place], of))
                return batch_of(parts)

            trainer = make_trainer(
                model,
                self._loss(model),
                draw,
                part,
                n_examples=len(examples),
                max_tokens=self.max_tokens,
                on_progress=on_progress,
                num_train_epochs=self.epochs,
                per_device_train_batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                save_steps=self.checkpoint_steps,
                seed=seed,
            )
            _train(trainer, checkpoint, part)
            card = FineTunedCard(
                evidencebench_model=self.kind,
                options=options,
                answers_with={"system": self.system, "options": self.answers_with},
                n_steps=trainer.state.global_step,
                loss=_losses(trainer.state.log_history),
                **described,
            )
            put_model(model, card, part, folder)
        return card

    def _base_folder(self) -> Path:
        return minilm_folder() if self.base == MINILM else model_folder(self.base, self.revision)


def _digest(instances: Sequence[Instance]) -> str:
    """Return the sha256 of all that training reads of the instances; it is not the digest of their file."""
    total = hashlib.sha256()
    for one in instances:
        labels = one.labels
        total.update(msgspec.json.encode([one.query, labels.aspects, labels.results, labels.sources, labels.texts]))
    return total.hexdigest()


def _freeze(module: "torch.nn.Module", trained_layers: int | None) -> None:
    """Freeze all weights but those of the last layers and of modules outside the layers, such as a head.

    Token embeddings are frozen too. If the model has fewer layers, all its layers are trained. None: freeze nothing.
    """
    if trained_layers is None:
        return
    number = {name: int(found[1]) for name, _ in module.named_parameters() if (found := _LAYER.search(name))}
    first = 1 + max(number.values(), default=-1) - trained_layers
    for name, one in module.named_parameters():
        one.requires_grad_(number[name] >= first if name in number else not _EMBEDDING.search(name))


def _one_device(device: str) -> str:
    """Return the kind of device to train on; raise `ModelError` unless it is the first one, which the trainer uses."""
    kind, _, number = chosen_device(device).partition(":")
    if number not in {"", "0"}:
        raise ModelError(
            f"device '{device}': a training takes the first card that it sees; set CUDA_VISIBLE_DEVICES={number} and "
            f"write device={kind}"
        )
    return kind


def _train(trainer: Any, checkpoint: Path | None, part: Path) -> None:
    """Train to the end, from a checkpoint on if there is one.

    Raises `ModelError` if a checkpoint cannot be read or written, or the loss is not finite; in the last case, all
    checkpoints are removed.
    """
    from evidencebench.training.listwise_trainer import NotFiniteError  # noqa: PLC0415 - imports torch

    try:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    except NotFiniteError:
        for path in part.glob("checkpoint-*"):
            shutil.rmtree(path)
        raise
    except Exception as error:  # damaged files can fail in any library
        if checkpoint is not None and not trainer.has_begun:
            raise ModelError(f"{checkpoint}: cannot be read: {error}; delete {part} to start over") from error
        with named_write_errors(part, "the steps since the last checkpoint are lost; "):
            raise


def _losses(log_history: Sequence[Mapping[str, float]]) -> tuple[float, ...]:
    """Return the mean loss of each epoch, from the trainer's log of steps."""
    of_epoch: dict[int, list[float]] = {}
    for entry in log_history:
        if "loss" in entry:
            of_epoch.setdefault(int(np.ceil(round(entry["epoch"], 6))), []).append(entry["loss"])
    return tuple(float(np.mean(of_epoch[epoch])) for epoch in sorted(of_epoch))
