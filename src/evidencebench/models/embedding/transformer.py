"""Run any sentence-transformers model on torch, in batches of texts of similar length."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evidencebench.errors import ModelError
from evidencebench.extras import library_versions
from evidencebench.models.embedding.encoder import VectorBatch, loaded_once
from evidencebench.models.embedding.folder import model_digest, model_folder
from evidencebench.models.embedding.formats import EncodedText, Pooling

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Dtype = Literal["float32", "float16", "bfloat16"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A model's files and the settings that decide its vectors."""

    model: str  # a folder, or a hub id
    revision: str | None = None
    sha256: str | None = None  # the digest that its files must have, see `model_digest`; None: any
    pooling: Pooling = "model"  # how token vectors become one
    max_tokens: int | None = None  # longer texts are cut; None: at the limit in the model's own files
    dtype: Dtype = "float32"
    device: str = "cpu"  # cpu, cuda, mps, ...; auto: the first of cuda, mps and cpu that the machine has

    @property
    def folder(self) -> Path:
        """The folder of its files, fetched first if needed."""
        return model_folder(self.model, self.revision)

    def digest(self) -> str:
        """Return the digest of its files; raise `ModelError` if it is not `sha256`."""
        found = model_digest(self.folder)
        if self.sha256 not in {None, found}:
            raise ModelError(f"model '{self.model}': the model has changed since it was first used; start again")
        return found


# Tokens in a batch, padding included. Larger batches are not faster on a processor; a GPU needs larger ones.
_TOKENS_ON_CPU = 512
_TOKENS_ELSEWHERE = 16_384
LIBRARIES = ("torch", "sentence-transformers", "transformers", "tokenizers")


class TransformerEncoder:
    """A model loaded with sentence-transformers. Make one with `transformer_encoder`, which loads each model once."""

    def __init__(self, of: LocalModel) -> None:
        self._of = of
        self._device = chosen_device(of.device)
        self._model = load_transformer(of, self._device)
        versions = ",".join(f"{name}={number}" for name, number in library_versions(*LIBRARIES).items())
        self.identity = (
            f"torch|sha256={of.digest()}|pooling={of.pooling}|max_tokens={self._model.max_seq_length}|"
            f"dtype={of.dtype}|device={self._device.partition(':')[0]}|{versions}"
        )

    def batches(self, texts: Sequence[EncodedText]) -> Iterator[VectorBatch]:
        """Yield vectors, longest texts first."""
        lengths = token_lengths(self._model.tokenizer, texts)
        limit = self._model.max_seq_length or max(lengths, default=1)
        budget = _TOKENS_ON_CPU if self._device == "cpu" else _TOKENS_ELSEWHERE
        for positions in batches_of_like_length(texts, [min(length, limit) for length in lengths], budget):
            of_batch = [texts[position] for position in positions]
            vectors = self._model.encode(
                model_inputs(of_batch),
                prompt=of_batch[0].prefix or None,
                batch_size=len(of_batch),
                show_progress_bar=False,
                convert_to_tensor=True,
            )
            yield VectorBatch(
                positions=positions,
                vectors=vectors.float().cpu().numpy(),
                is_truncated=[lengths[position] > limit for position in positions],
            )


transformer_encoder = loaded_once(TransformerEncoder)
"""Return the encoder of a model, loaded at the first call in a process."""


def chosen_device(device: str) -> str:
    """Return the device to compute on, such as ``cuda`` for ``auto``; raise `ModelError` if the machine lacks it."""
    import torch  # noqa: PLC0415 - an extra, and slow to import

    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return next(name for name, is_there in has.items() if is_there)
    kind = device.partition(":")[0]
    if not has.get(kind, True):
        there = ", ".join(name for name, is_there in has.items() if is_there)
        raise ModelError(f"device '{device}': not on this machine, which has {there}")
    return device


def load_transformer(of: LocalModel, device: str) -> "SentenceTransformer":
    """Return a model, loaded from safetensors in local files; code that comes with a model is not run."""
    import torch  # noqa: PLC0415 - an extra, and slow to import
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from sentence_transformers.sentence_transformer import modules  # noqa: PLC0415

    folder = str(of.folder)
    kwargs: dict[str, Any] = {
        "model_kwargs": {"use_safetensors": True, "dtype": getattr(torch, of.dtype), "local_files_only": True},
    }
    with quiet_loading() as made_up:
        try:
            if of.pooling == "model" and (of.folder / "modules.json").is_file():
                model = SentenceTransformer(folder, device=device, local_files_only=True, **kwargs)
            else:
                backbone = modules.Transformer(folder, **kwargs)
                mode = "mean" if of.pooling == "model" else {"last": "lasttoken"}.get(of.pooling, of.pooling)
                pooled = modules.Pooling(backbone.get_embedding_dimension(), pooling_mode=mode)
                model = SentenceTransformer(modules=[backbone, pooled], device=device)
        except Exception as error:  # broken files can fail in any library
            raise ModelError(f"{folder}: cannot be loaded as an embedding model: {error}") from error
    if made_up:
        raise ModelError(
            f"{folder}: expected weights for every part of the model, got none for '{made_up[0]}' "
            f"({len(made_up)} in all); fetch it again"
        )
    if of.max_tokens is not None:
        model.max_seq_length = of.max_tokens
    for name, weights in model.named_parameters():
        if not torch.isfinite(weights).all():
            raise ModelError(f"{folder}: expected finite weights, got others in '{name}'; fetch or train it again")
    return model.eval()


@contextmanager
def quiet_loading() -> Iterator[list[str]]:
    """Silence the loading libraries; yield a list that gets the names of missing weights, which are random then."""
    made_up: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        report = record.getMessage()
        names = re.findall(r"^(\S+)\s*\| MISSING", report, re.MULTILINE)
        names += re.findall(r"'([\w.]+)'", report.partition("newly initialized:")[2])  # the words of versions below 5
        made_up.extend(name for name in names if not name.startswith("pooler."))  # embeddings do not use the pooler
        return False

    reporting = logging.getLogger("transformers.modeling_utils")
    with quietly():
        level = reporting.level
        reporting.setLevel(logging.WARNING)
        reporting.addFilter(keep)
        try:
            yield made_up
        finally:
            reporting.removeFilter(keep)
            reporting.setLevel(level)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the messages and progress bars of transformers off the terminal."""
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


def model_inputs(texts: Sequence[EncodedText]) -> list[str | tuple[str, str]]:
    """Return texts or pairs for sentence-transformers; prefixes are left out, since they are given as prompts."""
    return [text.text if text.title is None else (text.title, text.text) for text in texts]


def token_lengths(tokenizer: Any, texts: Sequence[EncodedText]) -> list[int]:
    """Return the number of tokens of each text, before any is cut."""
    first = [text.prefix + (text.text if text.title is None else text.title) for text in texts]
    second = [text.text for text in texts] if texts and texts[0].title is not None else None
    found = tokenizer(first, second, truncation=False, padding=False, verbose=False)
    return [len(ids) for ids in found["input_ids"]]


def batches_of_like_length(
    texts: Sequence[EncodedText], lengths: Sequence[int], tokens_a_batch: int
) -> Iterator[list[int]]:
    """Yield the positions of each batch, longest texts first; a batch has one prefix, and texts only or pairs only."""
    order = sorted(range(len(texts)), key=lambda at: (texts[at].prefix, texts[at].title is not None, -lengths[at], at))
    batch: list[int] = []
    for position in order:
        text = texts[position]
        if batch:
            first = texts[batch[0]]
            is_alike = (first.prefix, first.title is None) == (text.prefix, text.title is None)
            if not is_alike or (len(batch) + 1) * lengths[batch[0]] > tokens_a_batch:
                yield batch
                batch = []
        batch.append(position)
    if batch:
        yield batch
