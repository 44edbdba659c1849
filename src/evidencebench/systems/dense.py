"""Dense, MiniLM, DenseApi."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from evidencebench.errors import ModelError, SystemSpecError
from evidencebench.files.places import cache_folder
from evidencebench.models.embedding import local as local_models
from evidencebench.models.embedding import onnx
from evidencebench.models.embedding.encoder import (
    FORMATS,
    Embedded,
    EncodedText,
    Encoder,
    Floats,
    Pooling,
    Similarity,
    TextFormat,
    VectorCache,
    embed,
    hypothesis_text,
    normalise,
    sentence_texts,
)
from evidencebench.models.embedding.local import (
    MINILM_PACKAGE,
    Dtype,
    LocalModel,
    PinnedDigest,
    minilm_folder,
    pinned_files,
    require_model,
)
from evidencebench.models.embedding.server import Endpoint, endpoint_encoder
from evidencebench.models.model_card import fine_tuned_on
from evidencebench.provenance import library_versions, require_extra
from evidencebench.query import AspectScope, Query
from evidencebench.system import Ranking, RankingTask, Traits, rank_by_score


def require_neighbours(system: str, neighbours: int) -> None:
    if neighbours < 0:
        raise SystemSpecError(f"{system}: neighbours: expected at least 0, got {neighbours}")


def make_format(name: str, **given: Any) -> TextFormat:
    """Return the format of this name; what is given replaces its own value, None keeps it."""
    return replace(FORMATS[name], **{key: value for key, value in given.items() if value is not None})


def embed_texts(encoder: Encoder, texts: Sequence[EncodedText]) -> Embedded:
    folder = cache_folder(os.environ)
    return embed(encoder, None if folder is None else _open_cache(folder, encoder.identity), texts)


@lru_cache(maxsize=8)  # each holds a file open
def _open_cache(folder: Path, identity: str) -> VectorCache:
    return VectorCache(folder, identity)


def at_length(vectors: Floats, similarity: Similarity) -> Floats:
    """Return vectors ready to be compared: scaled to length 1 for the cosine, unchanged for the dot product."""
    return vectors if similarity == "dot" else normalise(vectors)


def rank_vectors(hypothesis: Floats, sentences: Floats, n_truncated: int = 0) -> Ranking:
    """Return all sentences by the similarity of their vectors to the hypothesis's; all went through `at_length`."""
    if len(sentences) and sentences.shape[1] != len(hypothesis):
        raise ModelError(
            f"dense: expected sentences of {len(hypothesis)} numbers as the hypothesis has, got {sentences.shape[1]}; "
            "give a sentence_model that belongs to the model"
        )
    scores = sentences.astype(np.float64) @ hypothesis.astype(np.float64) if len(sentences) else np.empty(0)
    ranking = rank_by_score(np.round(scores, 5).tolist())  # noise in the last bits decides no order
    return replace(ranking, notes={"truncated_sentences": n_truncated} if n_truncated else {})


Backend = Literal["torch", "onnx"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """Any sentence-transformers model: the sentences whose vectors are most similar to the hypothesis's.

    References
    ----------
    .. [1] Reimers and Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", EMNLP 2019.
    """

    model: str  # a folder, or a hub id (owner/name); if a folder of that name exists, it is used
    revision: str | None = None  # commit, branch or tag; required for a model of the hub
    sentence_model: str | None = None  # a second model for the sentences, with vectors of the same length
    sentence_revision: str | None = None
    # How hypothesis and sentences are written; e5_mistral also for other models that want "Instruct: ... Query: ...".
    format: Literal["plain", "e5", "e5_mistral", "gritlm", "bge", "medcpt"] = "plain"
    # What is put before the hypothesis or a sentence; {instruction} is replaced by the benchmark's for the task. These
    # and the two below: None is the format's own.
    query_prefix: str | None = None
    sentence_prefix: str | None = None
    pooling: Pooling | None = None
    similarity: Similarity | None = None
    neighbours: int = 0  # how many sentences before and after a sentence, within its section, are encoded with it
    title: bool = False  # whether the title of its section is encoded with a sentence
    max_tokens: int | None = None  # longer texts are cut; None: at the limit in the model's own files
    backend: Backend = "torch"  # onnx: converted for ONNX Runtime, which is faster without a GPU
    dtype: Dtype = "float32"  # for torch
    device: str = "auto"  # for torch: cpu, cuda, mps; auto: the fastest that the machine has
    # Model, revision and digest: of what encodes the hypothesis, and of what encodes sentences if that is another.
    _models: tuple[tuple[str, str | None, PinnedDigest], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_neighbours("dense", self.neighbours)
        if self.max_tokens is not None and self.max_tokens < 3:  # noqa: PLR2004 - one word between two marks
            raise SystemSpecError(f"dense: max_tokens: expected at least 3, got {self.max_tokens}")
        if self.backend == "onnx" and (self.dtype != "float32" or self.device not in {"auto", "cpu"}):
            raise SystemSpecError("dense: backend: 'onnx' computes on the processor, in float32")
        require_extra("dense", "dense", "torch", "sentence_transformers")
        if self.backend == "onnx":
            require_extra("dense", "onnx", "onnx", "onnxruntime")
        models = [(self.model, self.revision)]
        if self.sentence_model is not None:
            models.append((self.sentence_model, self.sentence_revision))
        elif self.sentence_revision is not None:
            raise SystemSpecError("dense: sentence_revision: is of sentence_model, which is not given")
        for model, revision in models:
            require_model("dense", model, revision)
        pinned = tuple((model, revision, pinned_files(model, revision)) for model, revision in models)
        object.__setattr__(self, "_models", pinned)

    @property
    def traits(self) -> Traits:
        return Traits(
            reads_task=self._text_format.reads_scope,
            versions=self._versions,
            trained_on=lambda: set().union(*(fine_tuned_on(model) for model, _, _ in self._models)),
        )

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        sentences = self.embed_sentences(query, task.scope)
        return rank_vectors(self.embed_hypothesis(query, task.scope), sentences.vectors, sentences.n_truncated)

    def embed_sentences(self, query: Query, scope: AspectScope = "all") -> Embedded:
        """Return one float32 vector a sentence, of length 1 unless the similarity is ``dot``."""
        texts = sentence_texts(query, self._text_format, scope, neighbours=self.neighbours, title=self.title)
        embedded = embed_texts(self._encoder(*self._models[-1]), texts)
        return replace(embedded, vectors=at_length(embedded.vectors, self._text_format.similarity))

    def embed_hypothesis(self, query: Query, scope: AspectScope = "all") -> Floats:
        """Return the hypothesis's float32 vector, of length 1 unless the similarity is ``dot``."""
        embedded = embed_texts(self._encoder(*self._models[0]), [hypothesis_text(query, self._text_format, scope)])
        vector: Floats = at_length(embedded.vectors, self._text_format.similarity)[0]
        return vector

    def _encoder(self, model: str, revision: str | None, files: PinnedDigest) -> Encoder:
        local = LocalModel(
            sha256=files.digest(),
            model=model,
            revision=revision,
            pooling=self._text_format.pooling,
            max_tokens=self.max_tokens,
            dtype=self.dtype,
            device=self.device,
        )
        if self.backend == "onnx":
            return onnx.onnx_encoder(local, folder=cache_folder(os.environ))
        return local_models.transformer_encoder(local)

    @property
    def _text_format(self) -> TextFormat:
        return make_format(
            self.format,
            query_prefix=self.query_prefix,
            sentence_prefix=self.sentence_prefix,
            pooling=self.pooling,
            similarity=self.similarity,
        )

    def _versions(self) -> dict[str, str]:
        versions = library_versions(*(onnx.LIBRARIES if self.backend == "onnx" else local_models.LIBRARIES))
        versions |= {f"model {model}": f"sha256:{files.digest()}" for model, _, files in self._models}
        if self.backend == "torch" and self.device == "auto":
            versions["device"] = local_models.chosen_device(self.device)
        return versions


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniLM:
    """The small embedder all-MiniLM-L6-v2, from an installed package: no network, no key.

    References
    ----------
    .. [1] Wang et al., "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
       Transformers", NeurIPS 2020; the weights are sentence-transformers/all-MiniLM-L6-v2.
    """

    neighbours: int = 0
    title: bool = False
    backend: Backend = "onnx"
    as_dense: Dense = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_extra("minilm", "minilm", "torch", "sentence_transformers", MINILM_PACKAGE)
        if self.backend == "onnx":
            require_extra("minilm", "minilm", "onnx", "onnxruntime")
        device = "auto" if self.backend == "onnx" else "cpu"
        options: dict[str, Any] = {"neighbours": self.neighbours, "title": self.title, "backend": self.backend}
        object.__setattr__(self, "as_dense", Dense(model=str(minilm_folder()), device=device, **options))

    @property
    def traits(self) -> Traits:
        return Traits(versions=self._versions)

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        return self.as_dense.rank(query, task)

    def _versions(self) -> dict[str, str]:
        versions = self.as_dense.traits.versions()
        return {"model minilm" if name.startswith("model ") else name: value for name, value in versions.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseApi:
    """Dense retrieval with a model behind any server that speaks OpenAI's ``/v1/embeddings``.

    The key is written to no file or message. The options are those of `Dense`, without ``medcpt``: that format encodes
    pairs of texts, and a request holds single texts.
    """

    endpoint: Endpoint  # its fields are options of this system
    format: Literal["plain", "e5", "e5_mistral", "gritlm", "bge"] = "plain"
    query_prefix: str | None = None
    sentence_prefix: str | None = None
    similarity: Similarity = "cosine"
    neighbours: int = 0
    title: bool = False

    def __post_init__(self) -> None:
        require_neighbours("dense_api", self.neighbours)
        self.endpoint.require_sound("dense_api")

    @property
    def traits(self) -> Traits:
        return Traits(reads_task=self._text_format.reads_scope)

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        """Return all sentences by their vectors; a short paper needs one request."""
        texts = sentence_texts(query, self._text_format, task.scope, neighbours=self.neighbours, title=self.title)
        texts = [hypothesis_text(query, self._text_format, task.scope), *texts]
        vectors = at_length(embed_texts(endpoint_encoder(self.endpoint), texts).vectors, self.similarity)
        return rank_vectors(vectors[0], vectors[1:])

    @property
    def _text_format(self) -> TextFormat:
        return make_format(self.format, query_prefix=self.query_prefix, sentence_prefix=self.sentence_prefix)
