"""Fine-tune a model of sentence-transformers by the loss of `listwise_trainer`; it is there whole or not at all."""

import hashlib
import platform
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import ModelError
from evidencebench.models.embedding.folder import library_versions, model_digest
from evidencebench.models.embedding.transformer import LIBRARIES, chosen_device, quietly
from evidencebench.models.model_card import FineTunedCard
from evidencebench.training.fine_tuning_options import FineTuning
from evidencebench.training.listwise import ListwiseExample
from evidencebench.training.training_folder import last_checkpoint, named_write_errors, put_model, training_folder
from evidencebench.version import __version__

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer

_OF_BASE = frozenset({"base", "revision"})  # a model's card holds these in fields of their own
_EMBEDDING = re.compile(r"embed|\bwte\b|\bwpe\b")
_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|block|blocks)\.(\d+)\.")


def fine_tune(
    training: FineTuning,
    instances: Sequence[Instance],
    examples: Sequence[ListwiseExample],
    folder: Path,
    *,
    load: Callable[[Path, str], "SentenceTransformer | CrossEncoder"],
    seed: int,
    data: Mapping[str, Any] | None,
    on_progress: Callable[[int, int], None] | None,
    similarity: str = "cosine",
    temperature: float = 1.0,
    hardness: float = 0.0,
) -> FineTunedCard:
    """Train the model of the base's folder, which ``load`` makes on a device, and put it in a folder.

    The examples are those of the instances. Similarity, temperature and hardness are an embedder's. It raises as
    `EmbedderTraining.fit`.
    """
    from evidencebench.training.listwise_trainer import make_trainer  # noqa: PLC0415 - imports torch

    folder = folder.expanduser().resolve()
    base = training.base_folder()
    options = {key: value for key, value in asdict(training).items() if key not in _OF_BASE} | {"seed": seed}
    described: dict[str, Any] = {
        "base": {
            "model": base.name if Path(training.base).expanduser().is_dir() else training.base,
            "revision": training.revision,
            "sha256": model_digest(base),
        },
        "data": _described_data(instances, data),
        "versions": {
            "evidencebench": __version__,
            "python": platform.python_version(),
            **library_versions(*LIBRARIES, "accelerate"),
        },
    }
    plan = {"trains": training.kind, **described, **options}
    del plan["checkpoint_steps"]  # which decides no weight, so that a training may go on with another
    with training_folder(folder) as part, quietly(), _own_randomness():
        checkpoint = last_checkpoint(part, plan)
        model = load(base, _one_device(training.device))
        _freeze(model, training.trained_layers)
        trainer = make_trainer(
            model,
            examples,
            training,
            part,
            seed=seed,
            similarity=similarity,
            temperature=temperature,
            hardness=hardness,
            on_progress=on_progress,
        )
        _train(trainer, checkpoint, part)
        card = FineTunedCard(
            evidencebench_model=training.kind,
            options=options,
            answers_with={"system": training.system, "options": training.answers_with},
            n_steps=trainer.state.global_step,
            loss=_losses(trainer.state.log_history),
            **described,
        )
        put_model(model, card, part, folder)
    return card


def _described_data(instances: Sequence[Instance], data: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a card says about the data: counts, a digest of all that training reads, and what the caller knows.

    ``sha256_of_instances`` is of the instances in their order, so it is not that of their file.
    """
    total = hashlib.sha256()
    for one in instances:
        labels = one.labels
        total.update(msgspec.json.encode([one.query, labels.aspects, labels.results, labels.sources, labels.texts]))
    return {
        "n_instances": len(instances),
        "n_papers": len({one.query.paper_id for one in instances}),
        "sha256_of_instances": total.hexdigest(),
        **(data or {}),
    }


def _freeze(module: "torch.nn.Module", trained_layers: int | None) -> None:
    """Let only the last layers of a model learn, and what stands behind them, such as a head.

    Where the model has no more layers than ``trained_layers``, all but the embeddings learns. None: everything.
    """
    if trained_layers is None:
        return
    number = {name: int(found[1]) for name, _ in module.named_parameters() if (found := _LAYER.search(name))}
    first = 1 + max(number.values(), default=-1) - trained_layers
    for name, one in module.named_parameters():
        one.requires_grad_(number[name] >= first if name in number else not _EMBEDDING.search(name))


def _one_device(device: str) -> str:
    """Return the device to train on; the trainer takes the first card that it sees, whatever it is told."""
    kind, _, number = chosen_device(device).partition(":")
    if number not in {"", "0"}:
        raise ModelError(
            f"device '{device}': a training takes the first card that it sees; set CUDA_VISIBLE_DEVICES={number} and "
            f"write device={kind}"
        )
    return kind


def _train(trainer: Any, checkpoint: Path | None, part: Path) -> None:
    """Train to the end, from a checkpoint on if there is one.

    Raises `ModelError` if one cannot be read or written, or the loss is not finite; then none is kept.
    """
    from evidencebench.training.listwise_trainer import NotFiniteError  # noqa: PLC0415 - imports torch

    try:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    except NotFiniteError:
        for path in part.glob("checkpoint-*"):
            shutil.rmtree(path)
        raise
    except Exception as error:  # a damaged file fails in as many ways as there are libraries below
        if checkpoint is not None and not trainer.has_begun:
            raise ModelError(f"{checkpoint}: cannot be read: {error}; delete {part} to start over") from error
        with named_write_errors(part, "the steps since the last checkpoint are lost; "):
            raise


def _losses(log_history: Sequence[Mapping[str, float]]) -> tuple[float, ...]:
    """Return the mean loss of each epoch, of what the trainer kept of each step."""
    of_epoch: dict[int, list[float]] = {}
    for entry in log_history:
        if "loss" in entry:
            of_epoch.setdefault(int(np.ceil(round(entry["epoch"], 6))), []).append(entry["loss"])
    return tuple(float(np.mean(of_epoch[epoch])) for epoch in sorted(of_epoch))


@contextmanager
def _own_randomness() -> Iterator[None]:
    """Leave the random numbers of the whole process, which the trainer seeds, as they were."""
    import torch  # noqa: PLC0415 - an extra, and slow to import

    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - what the trainer seeds
    with torch.random.fork_rng():
        try:
            yield
        finally:
            random.setstate(of_python)
            np.random.set_state(of_numpy)  # noqa: NPY002
