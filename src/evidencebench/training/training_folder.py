"""The folder ``MODEL.part``, in which the model of folder ``MODEL`` is trained: locked, and removed at the end."""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evidencebench.errors import DataError, ModelError
from evidencebench.models.model_card import CARD, FineTunedCard, require_replaceable
from evidencebench.storage.locks import try_lock
from evidencebench.storage.reading import BROKEN_JSON, read_whole
from evidencebench.storage.whole_file import restore_folder, swap_folder, write_whole

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer

_PLAN = "plan.json"
_MAX_SHOWN = 3


@contextmanager
def training_folder(folder: Path) -> Iterator[Path]:
    """Yield the locked folder in which the model of ``folder`` is trained; raise `ModelError` if it cannot be used."""
    require_replaceable(folder, FineTunedCard)
    part = folder.with_name(f"{folder.name}.part")
    try:
        part.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(part / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise ModelError(f"{part}: cannot be written: {error.strerror}; choose another folder") from error
    try:
        if not try_lock(descriptor):
            raise ModelError(f"{part}: another process trains here; wait for it, or choose another folder")
        restore_folder(folder, part / "old")
        yield part
    finally:
        os.close(descriptor)


def last_checkpoint(part: Path, plan: Mapping[str, Any]) -> Path | None:
    """Return the last complete checkpoint in a folder; incomplete ones are removed.

    Raises `ModelError`, and removes no complete one, if it is of another plan or of an earlier version.
    """
    if (part / "checkpoint.safetensors").exists():
        raise ModelError(
            f"{part}: holds a training that an earlier evidencebench began (0.1.0 up to commit 201c5db); finish it "
            "with that, delete it to start over, or choose another folder"
        )
    found: Path | None = None
    for path in sorted(part.glob("checkpoint-*"), key=lambda path: path.stat().st_mtime_ns):
        if (path / "trainer_state.json").is_file():  # the trainer writes this file last
            found = path
        else:
            shutil.rmtree(path)
    now = msgspec.json.decode(msgspec.json.encode(plan), type=dict[str, Any])
    if found is not None:
        _require_same_plan(part, now)
    with named_write_errors(part, ""):
        write_whole(part / _PLAN, msgspec.json.encode(now))
    return found


def _require_same_plan(part: Path, now: Mapping[str, Any]) -> None:
    try:
        begun = msgspec.json.decode(read_whole(part / _PLAN), type=dict[str, Any])
    except (OSError, *BROKEN_JSON) as error:
        raise ModelError(f"{part / _PLAN}: cannot be read: {error}; delete {part} to start over") from error
    if differ := [key for key in {**begun, **now} if begun.get(key) != now.get(key)]:
        shown = "; ".join(f"{key}: {begun.get(key)}, not {now.get(key)}" for key in differ[:_MAX_SHOWN])
        raise ModelError(
            f"{part}: holds an unfinished training with other options or data ({shown}); finish it with those, "
            "delete it to start over, or choose another folder"
        )


def put_model(model: "SentenceTransformer | CrossEncoder", card: FineTunedCard, part: Path, folder: Path) -> None:
    """Write a model into the folder where it was trained, then move it to its own folder in place of what was there."""
    draft = part / "model"
    shutil.rmtree(draft, ignore_errors=True)
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    if tokenizer is not None:  # otherwise its file would hold the last limits of cutting and padding
        tokenizer.no_truncation()
        tokenizer.no_padding()
    with named_write_errors(part, "the training itself is done and kept; "):
        model.save_pretrained(str(draft), create_model_card=False)
        write_whole(draft / CARD, msgspec.json.format(msgspec.json.encode(card), indent=1))
        mode = stat.S_IMODE((draft / CARD).stat().st_mode)
        for path in draft.rglob("*"):
            if path.is_file():
                path.chmod(mode)  # safetensors writes files that only their owner may read
        swap_folder(draft, folder, part / "old")
        shutil.rmtree(part)


@contextmanager
def named_write_errors(part: Path, state: str) -> Iterator[None]:
    """Turn errors of writing files into a `ModelError` that says what to do; ``state`` is part of its message."""
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
