"""Dense retrieval with a model behind a server."""

from dataclasses import dataclass
from typing import Literal

from evidencebench.extras import require_extra
from evidencebench.models.embedding.encoder import Embedded
from evidencebench.models.embedding.endpoint import Endpoint, endpoint_encoder
from evidencebench.models.embedding.formats import (
    FORMATS,
    Floats,
    Similarity,
    TextFormat,
    hypothesis_text,
    sentence_texts,
)
from evidencebench.query import AspectScope, Query
from evidencebench.system import Brief, Ranking
from evidencebench.systems.retrievers.vectors import at_length, embed_texts, make_format, rank_vectors, require_format
from evidencebench.traits import Traits


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
        """It reads the brief only if its texts hold an instruction, which is another for the Results tasks."""
        return Traits(reads_brief=self._text_format.reads_scope)

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences by the similarity of their vectors."""
        vectors = self._embed(query, brief.scope)
        sentences = Embedded(vectors=vectors[1:], n_truncated=0)
        return rank_vectors(sentences, at_length(vectors[:1], self.similarity)[0], self.similarity)

    def embed_sentences(self, query: Query, scope: AspectScope = "all") -> Floats:
        """Return one float32 vector a sentence, of length 1 unless the similarity is ``dot``."""
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
