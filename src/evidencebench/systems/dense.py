"""Dense, MiniLM, DenseApi."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

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
from evidencebench.system import Brief, Ranking, Traits, rank_by_score


def require_format(system: str, name: str, neighbours: int, formats: Collection[str]) -> None:
    if name not in formats:
        raise SystemSpecError(f"{system}: format: expected one of {', '.join(formats)}, got '{name}'")
    if neighbours < 0:
        raise SystemSpecError(f"{system}: neighbours: expected at least 0, got {neighbours}")


def make_format(
    name: str,
    query_prefix: str | None,
    sentence_prefix: str | None,
    *,
    pooling: Pooling | None = None,
    similarity: Similarity | None = None,
) -> TextFormat:
    """Return the format of this name; what is given replaces its own value, None keeps it."""
    preset = FORMATS[name]
    return replace(
        preset,
        query_prefix=preset.query_prefix if query_prefix is None else query_prefix,
        sentence_prefix=preset.sentence_prefix if sentence_prefix is None else sentence_prefix,
        pooling=pooling or preset.pooling,
        similarity=similarity or preset.similarity,
    )


def embed_texts(encoder: Encoder, texts: Sequence[EncodedText]) -> Embedded:
    folder = cache_folder(os.environ)
    return embed(encoder, None if folder is None else _open_cache(folder, encoder.identity), texts)


@lru_cache(maxsize=8)  # each holds a file open
def _open_cache(folder: Path, identity: str) -> VectorCache:
    return VectorCache(folder, identity)


def at_length(vectors: Floats, similarity: Similarity) -> Floats:
    """Return vectors ready to be compared: scaled to length 1 for the cosine, unchanged for the dot product."""
    return vectors if similarity == "dot" else normalise(vectors)


def rank_vectors(sentences: Embedded, hypothesis: Floats, similarity: Similarity) -> Ranking:
    """Return all sentences by the similarity of their vectors to the hypothesis's, which went through `at_length`."""
    vectors = at_length(sentences.vectors, similarity)
    if len(vectors) and vectors.shape[1] != len(hypothesis):
        raise ModelError(
            f"dense: expected sentences of {len(hypothesis)} numbers as the hypothesis has, got {vectors.shape[1]}; "
            "give a sentence_model that belongs to the model"
        )
    scores = vectors.astype(np.float64) @ hypothesis.astype(np.float64) if len(vectors) else np.empty(0)
    ranking = rank_by_score(np.round(scores, 5).tolist())  # noise in the last bits decides no order
    return replace(ranking, notes={"truncated_sentences": sentences.n_truncated} if sentences.n_truncated else {})


Backend = Literal["torch", "onnx"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """Any sentence-transformers model: the sentences whose vectors are most similar to the hypothesis's.

    Attributes
    ----------
    model
        A folder with the model's files, or its id on the Hugging Face hub (``owner/name``). If a folder of that name
        exists, it is used.
    revision
        Commit, branch or tag; required for a model of the hub.
    sentence_model, sentence_revision
        A second model for the sentences; None: ``model`` encodes them too. Both must give vectors of the same length.
    format
        How hypothesis and sentences are written: ``plain``, ``e5``, ``e5_mistral`` (also for other models that want
        ``Instruct: ... Query: ...``), ``gritlm``, ``bge`` or ``medcpt``.
    query_prefix, sentence_prefix
        The text put before the hypothesis or a sentence; None: the format's own. ``{instruction}`` in it is replaced
        by the benchmark's instruction for the task.
    pooling, similarity
        As in `TextFormat`; None: the format's own.
    neighbours
        How many sentences before and after a sentence, within its section, are encoded with it, at least 0.
    title
        Whether the title of its section is encoded with a sentence.
    max_tokens
        Longer texts are cut to this many tokens; None: to the limit in the model's own files.
    backend
        ``torch``, or ``onnx``: the model is converted for ONNX Runtime, which is faster without a GPU.
    dtype
        For ``torch``: ``float32``, ``float16`` or ``bfloat16``.
    device
        For ``torch``: ``cpu``, ``cuda``, ``mps``, or ``auto`` for the fastest that the machine has.

    References
    ----------
    .. [1] Reimers and Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", EMNLP 2019.
    """

    model: str
    revision: str | None = None
    sentence_model: str | None = None
    sentence_revision: str | None = None
    format: Literal["plain", "e5", "e5_mistral", "gritlm", "bge", "medcpt"] = "plain"
    query_prefix: str | None = None
    sentence_prefix: str | None = None
    pooling: Pooling | None = None
    similarity: Similarity | None = None
    neighbours: int = 0
    title: bool = False
    max_tokens: int | None = None
    backend: Backend = "torch"
    dtype: Dtype = "float32"
    device: str = "auto"
    _files: PinnedDigest = field(init=False, repr=False, compare=False)
    _sentence_files: PinnedDigest | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        of_sentences = self.sentence_model and pinned_files(self.sentence_model, self.sentence_revision)
        object.__setattr__(self, "_files", pinned_files(self.model, self.revision))
        object.__setattr__(self, "_sentence_files", of_sentences or None)
        require_format("dense", self.format, self.neighbours, FORMATS)
        if self.max_tokens is not None and self.max_tokens < 3:  # noqa: PLR2004 - one word between two marks
            raise SystemSpecError(f"dense: max_tokens: expected at least 3, got {self.max_tokens}")
        if self.backend == "onnx" and (self.dtype != "float32" or self.device not in {"auto", "cpu"}):
            raise SystemSpecError("dense: backend: 'onnx' computes on the processor, in float32")
        require_extra("dense", "dense", "torch", "sentence_transformers")
        if self.backend == "onnx":
            require_extra("dense", "onnx", "onnx", "onnxruntime")
        require_model("dense", self.model, self.revision)
        if self.sentence_model is not None:
            require_model("dense", self.sentence_model, self.sentence_revision)
        elif self.sentence_revision is not None:
            raise SystemSpecError("dense: sentence_revision: is of sentence_model, which is not given")

    @property
    def traits(self) -> Traits:
        return Traits(
            reads_brief=self._text_format.reads_scope,
            versions=self._versions,
            trained_on=lambda: set().union(
                *(fine_tuned_on(name) for name in (self.model, self.sentence_model) if name)
            ),
        )

    def rank(self, query: Query, brief: Brief) -> Ranking:
        sentences = self._embed(query, brief.scope)
        return rank_vectors(sentences, self.embed_hypothesis(query, brief.scope), self._text_format.similarity)

    def embed_sentences(self, query: Query, scope: AspectScope = "all") -> Floats:
        """Return one float32 vector a sentence, of length 1 unless the similarity is ``dot``."""
        return at_length(self._embed(query, scope).vectors, self._text_format.similarity)

    def embed_hypothesis(self, query: Query, scope: AspectScope = "all") -> Floats:
        """Return the hypothesis's float32 vector, of length 1 unless the similarity is ``dot``."""
        text = hypothesis_text(query, self._text_format, scope)
        embedded = embed_texts(self._encoder(self.model, self.revision, self._files), [text])
        vector: Floats = at_length(embedded.vectors, self._text_format.similarity)[0]
        return vector

    def _embed(self, query: Query, scope: AspectScope) -> Embedded:
        texts = sentence_texts(query, self._text_format, scope, neighbours=self.neighbours, title=self.title)
        if self.sentence_model is not None and self._sentence_files is not None:
            return embed_texts(self._encoder(self.sentence_model, self.sentence_revision, self._sentence_files), texts)
        return embed_texts(self._encoder(self.model, self.revision, self._files), texts)

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
        prefixes = (self.query_prefix, self.sentence_prefix)
        return make_format(self.format, *prefixes, pooling=self.pooling, similarity=self.similarity)

    def _versions(self) -> dict[str, str]:
        versions = library_versions(*(onnx.LIBRARIES if self.backend == "onnx" else local_models.LIBRARIES))
        for model, files in ((self.model, self._files), (self.sentence_model, self._sentence_files)):
            if files is not None:
                versions[f"model {model}"] = f"sha256:{files.digest()}"
        if self.backend == "torch" and self.device == "auto":
            versions["device"] = local_models.chosen_device(self.device)
        return versions


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniLM:
    """The small embedder all-MiniLM-L6-v2, from an installed package: no network, no key.

    Attributes
    ----------
    neighbours, title
        As in `Dense`.
    backend
        ``onnx``, the faster, or ``torch``.

    References
    ----------
    .. [1] Wang et al., "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
       Transformers", NeurIPS 2020; the weights are sentence-transformers/all-MiniLM-L6-v2.
    """

    neighbours: int = 0
    title: bool = False
    backend: Backend = "onnx"

    def __post_init__(self) -> None:
        require_extra("minilm", "minilm", "torch", "sentence_transformers", MINILM_PACKAGE)
        if self.backend == "onnx":
            require_extra("minilm", "minilm", "onnx", "onnxruntime")
        self._as_dense  # noqa: B018 - checks the options

    @property
    def traits(self) -> Traits:
        return Traits(versions=self._versions)

    def rank(self, query: Query, brief: Brief) -> Ranking:
        return self._as_dense.rank(query, brief)

    def embed_sentences(self, query: Query) -> Floats:
        return self._as_dense.embed_sentences(query)

    def embed_hypothesis(self, query: Query) -> Floats:
        return self._as_dense.embed_hypothesis(query)

    def _versions(self) -> dict[str, str]:
        versions = self._as_dense.traits.versions()
        return {"model minilm" if name.startswith("model ") else name: value for name, value in versions.items()}

    @property
    def _as_dense(self) -> Dense:
        return Dense(
            model=str(minilm_folder()),
            neighbours=self.neighbours,
            title=self.title,
            backend=self.backend,
            device="auto" if self.backend == "onnx" else "cpu",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseApi:
    """Dense retrieval with a model behind any server that speaks OpenAI's ``/v1/embeddings``.

    Attributes
    ----------
    model
        The model's name on the server.
    base_url
        The address up to ``/embeddings``, such as ``https://api.openai.com/v1``; without user, password or query.
    key_env
        The environment variable that holds the key; empty: no key is sent. The key is written to no file or message.
    format, query_prefix, sentence_prefix, neighbours, title
        As in `Dense`, without ``medcpt``: that format encodes pairs of texts, and a request holds single texts.
    similarity
        ``cosine`` or ``dot``.
    dimensions
        The length of vectors to ask for; None: the model's own.
    batch_texts, batch_characters
        The most texts and characters in a request.
    timeout_seconds
        The longest wait for a connection, and for a whole reply.
    max_attempts
        How often a request is sent at most, at least 1.
    """

    model: str
    base_url: str
    key_env: str = "OPENAI_API_KEY"
    format: Literal["plain", "e5", "e5_mistral", "gritlm", "bge"] = "plain"
    query_prefix: str | None = None
    sentence_prefix: str | None = None
    similarity: Similarity = "cosine"
    neighbours: int = 0
    title: bool = False
    dimensions: int | None = None
    batch_texts: int = 128
    batch_characters: int = 100_000
    timeout_seconds: float = 60.0
    max_attempts: int = 5

    def __post_init__(self) -> None:
        known = [name for name, preset in FORMATS.items() if not preset.has_titles]  # a request holds single texts
        require_format("dense_api", self.format, self.neighbours, known)
        require_extra("dense_api", "llm", "httpx")
        self._endpoint.require_sound("dense_api")

    @property
    def traits(self) -> Traits:
        return Traits(reads_brief=self._text_format.reads_scope)

    def rank(self, query: Query, brief: Brief) -> Ranking:
        vectors = self._embed(query, brief.scope)
        sentences = Embedded(vectors=vectors[1:], n_truncated=0)
        return rank_vectors(sentences, at_length(vectors[:1], self.similarity)[0], self.similarity)

    def embed_sentences(self, query: Query, scope: AspectScope = "all") -> Floats:
        return at_length(self._embed(query, scope)[1:], self.similarity)

    def _embed(self, query: Query, scope: AspectScope) -> Floats:
        """Return one vector a row: the hypothesis's first, then the sentences'. A short paper needs one request."""
        texts = sentence_texts(query, self._text_format, scope, neighbours=self.neighbours, title=self.title)
        texts = [hypothesis_text(query, self._text_format, scope), *texts]
        return embed_texts(endpoint_encoder(self._endpoint), texts).vectors

    @property
    def _text_format(self) -> TextFormat:
        return make_format(self.format, self.query_prefix, self.sentence_prefix, similarity=self.similarity)

    @property
    def _endpoint(self) -> Endpoint:
        return Endpoint(
            base_url=self.base_url,
            model=self.model,
            key_env=self.key_env,
            dimensions=self.dimensions,
            batch_texts=self.batch_texts,
            batch_characters=self.batch_characters,
            timeout_seconds=self.timeout_seconds,
            max_attempts=self.max_attempts,
        )
