"""Where a model is trained: beside the folder that it will have, which is there whole or not at all."""

import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evidencebench.errors import ModelError
from evidencebench.storage.reading import read_whole
from evidencebench.storage.whole_file import sync_to_disk

if TYPE_CHECKING:
    import torch

CARD = "card.json"
"""The file of a trained model that says what it was trained from and how."""

_CHECKPOINT = "checkpoint.safetensors"
_MAX_SHOWN = 3


class FineTunedCard(msgspec.Struct, frozen=True, kw_only=True):
    """What a fine-tuned model was trained from, and how.

    Attributes
    ----------
    evidencebench_model
        ``"embedder"`` or ``"reranker"``.
    base
        ``model`` and ``revision`` as given, but of a folder its name only; ``sha256`` of its files.
    data
        ``n_instances``, ``n_papers``, ``sha256`` of what was read of the instances, and what the caller adds.
    options
        Of the training, seed included.
    answers_with
        ``system`` and the ``options`` beside ``model`` that it needs to read texts as in training.
    n_steps
        Steps taken.
    loss
        Mean loss of each epoch.
    versions
        Of libraries.
    """

    evidencebench_model: str
    base: dict[str, Any]
    data: dict[str, Any]
    options: dict[str, Any]
    answers_with: dict[str, Any]
    n_steps: int
    loss: tuple[float, ...]
    versions: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a training is.

    Attributes
    ----------
    step
        Steps taken.
    losses
        Sum of the losses of each epoch that was begun.
    """

    step: int = 0
    losses: tuple[float, ...] = ()


class Workplace:
    """The folder beside a model's own where its training keeps what it has so far. Make one with `open_workplace`."""

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self._folder = folder
        self._part = part_of(folder)
        self._plan = msgspec.json.decode(msgspec.json.encode(plan), type=dict[str, Any])

    def load(self) -> tuple["dict[str, torch.Tensor]", Position] | None:
        """Return the tensors and the position of the last checkpoint, or None where there is none.

        Raises
        ------
        ModelError
            If it cannot be read, or is of another training.
        """
        from safetensors import SafetensorError, safe_open  # noqa: PLC0415 - an extra

        path = self._part / _CHECKPOINT
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                notes = file.metadata() or {}
                plan = msgspec.json.decode(notes["plan"], type=dict[str, Any])
                position = msgspec.json.decode(notes["position"], type=Position)
                self._require_same(plan)
                return {name: file.get_tensor(name) for name in file.keys()}, position  # noqa: SIM118 - no mapping
        except (SafetensorError, OSError, KeyError, msgspec.DecodeError) as error:
            raise ModelError(f"{path}: cannot be read: {error}; delete {self._part} to start over") from error

    def save(self, tensors: "Mapping[str, torch.Tensor]", position: Position) -> None:
        """Replace the checkpoint in one step, so that a process which is killed leaves the old one or the new one.

        It is left to the system when it reaches the disk: only a power cut can lose it.

        Raises
        ------
        ModelError
            If it cannot be written.
        """
        from safetensors.torch import save_file  # noqa: PLC0415 - an extra

        notes = {"plan": msgspec.json.encode(self._plan).decode(), "position": msgspec.json.encode(position).decode()}
        with self._written("the steps since the last checkpoint are lost; "):
            draft = self._part / "checkpoint.new"
            save_file(dict(tensors), draft, metadata=notes)
            draft.replace(self._part / _CHECKPOINT)

    def finish(self, write: Callable[[Path], None], card: FineTunedCard) -> None:
        """Put the model in its place, and what stood there and this folder away.

        Parameters
        ----------
        write
            Writes the model's files into a folder that it makes.
        card
            Goes with them.

        Raises
        ------
        ModelError
            If it cannot be written.
        """
        with self._written("the training itself is done and kept; "):
            model, old = self._part / "model", self._part / "old"
            for left in (model, old):
                shutil.rmtree(left, ignore_errors=True)
            write(model)
            (model / CARD).write_bytes(msgspec.json.format(msgspec.json.encode(card), indent=1))
            mode = stat.S_IMODE((model / CARD).stat().st_mode)
            for path in model.rglob("*"):
                if path.is_file():
                    path.chmod(mode)  # safetensors gives its files to their owner alone
                    sync_to_disk(path)
            if self._folder.exists():
                self._folder.rename(old)
            model.rename(self._folder)
            shutil.rmtree(self._part)

    def discard(self) -> None:
        """Forget the checkpoint."""
        (self._part / _CHECKPOINT).unlink(missing_ok=True)

    def _require_same(self, plan: Mapping[str, Any]) -> None:
        differ = [key for key in {**plan, **self._plan} if plan.get(key) != self._plan.get(key)]
        if differ:
            shown = "; ".join(f"{key}: {plan.get(key)}, not {self._plan.get(key)}" for key in differ[:_MAX_SHOWN])
            raise ModelError(
                f"{self._part}: holds an unfinished training with other options or data ({shown}); finish it with "
                "those, delete it to start over, or choose another folder"
            )

    @contextmanager
    def _written(self, state: str) -> Iterator[None]:
        """Say what to do where a file cannot be written, and leave no part of one."""
        from safetensors import SafetensorError  # noqa: PLC0415 - an extra

        try:
            yield
        except (OSError, SafetensorError) as error:
            (self._part / "checkpoint.new").unlink(missing_ok=True)
            shutil.rmtree(self._part / "model", ignore_errors=True)
            reason = getattr(error, "strerror", None) or str(error)
            raise ModelError(
                f"{self._part}: cannot be written: {reason}; {state}make room and run the same again to go on"
            ) from error


def part_of(folder: Path) -> Path:
    """Return the folder that stands beside a model's own while it is trained.

    Examples
    --------
    >>> part_of(Path("models/mine")).as_posix()
    'models/mine.part'
    """
    return folder.with_name(f"{folder.name}.part")


@contextmanager
def open_workplace(folder: Path, plan: Mapping[str, Any]) -> Iterator[Workplace]:
    """Open the place where a model is trained, for this process alone; made where it does not exist.

    Parameters
    ----------
    folder
        Where the model will be. What stands there is replaced if it is a fine-tuned model, and else left alone.
    plan
        All that decides the model, in JSON values.

    Raises
    ------
    ModelError
        If something else stands there, it cannot be written, or another process trains there.
    """
    folder = Path(folder).expanduser().resolve()
    _require_replaceable(folder)
    part = part_of(folder)
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
        yield Workplace(folder, plan)
    finally:
        os.close(descriptor)


def _require_replaceable(folder: Path) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        msgspec.json.decode(read_whole(folder / CARD), type=FineTunedCard)
    except (OSError, msgspec.DecodeError) as error:
        raise ModelError(
            f"{folder}: holds something other than a fine-tuned model, which would be lost; choose another folder"
        ) from error
