"""Dense retrieval: order sentences by how similar their vectors are to the hypothesis's vector."""

import os
from dataclasses import dataclass, field
from typing import Literal

from evidencebench.errors import SystemSpecError
from evidencebench.extras import library_versions, require_extra
from evidencebench.models.embedding import onnx, transformer
from evidencebench.models.embedding.encoder import Embedded, Encoder
from evidencebench.models.embedding.folder import (
    MINILM_PACKAGE,
    PinnedDigest,
    minilm_folder,
    pinned_files,
    require_model,
)
from evidencebench.models.embedding.formats import (
    FORMATS,
    Floats,
    Pooling,
    Similarity,
    TextFormat,
    hypothesis_text,
    sentence_texts,
)
from evidencebench.models.embedding.transformer import Dtype, LocalModel
from evidencebench.models.model_card import fine_tuned_on
from evidencebench.query import AspectScope, Query
from evidencebench.storage.user_folders import cache_folder
from evidencebench.system import Brief, Ranking
from evidencebench.systems.retrievers.vectors import at_length, embed_texts, make_format, rank_vectors, require_format
from evidencebench.traits import Traits

Backend = Literal["torch", "onnx"]
FormatName = Literal["plain", "e5", "e5_mistral", "gritlm", "bge", "medcpt"]


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
    format: FormatName = "plain"
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
        """It reads the brief only if its texts hold an instruction, which is another for the Results tasks."""
        return Traits(
            reads_brief=self._text_format.reads_scope,
            versions=self._versions,
            trained_on=lambda: set().union(
                *(fine_tuned_on(name) for name in (self.model, self.sentence_model) if name)
            ),
        )

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences by the similarity of their vectors."""
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
        return transformer.transformer_encoder(local)

    @property
    def _text_format(self) -> TextFormat:
        prefixes = (self.query_prefix, self.sentence_prefix)
        return make_format(self.format, *prefixes, pooling=self.pooling, similarity=self.similarity)

    def _versions(self) -> dict[str, str]:
        """Return the versions of libraries, the digests of models, and the device if the option is ``auto``."""
        versions = library_versions(*(onnx.LIBRARIES if self.backend == "onnx" else transformer.LIBRARIES))
        for model, files in ((self.model, self._files), (self.sentence_model, self._sentence_files)):
            if files is not None:
                versions[f"model {model}"] = f"sha256:{files.digest()}"
        if self.backend == "torch" and self.device == "auto":
            versions["device"] = transformer.chosen_device(self.device)
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
        """It declares the versions and digests of its model and libraries."""
        return Traits(versions=self._versions)

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences by the cosine of their vectors to the hypothesis's."""
        return self._as_dense.rank(query, brief)

    def embed_sentences(self, query: Query) -> Floats:
        """Return the sentences' vectors in paper order: float32, of length 1, shape (sentences, 384)."""
        return self._as_dense.embed_sentences(query)

    def embed_hypothesis(self, query: Query) -> Floats:
        """Return the hypothesis's vector: float32, of length 1, shape (384,)."""
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
