"""Shared by the dense systems: formats with changed prefixes, vectors from the cache, and rankings by similarity."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from evidencebench.errors import ModelError, SystemSpecError
from evidencebench.models.embedding.encoder import Embedded, Encoder, embed, normalise
from evidencebench.models.embedding.formats import FORMATS, EncodedText, Floats, Pooling, Similarity, TextFormat
from evidencebench.models.embedding.vector_cache import VectorCache
from evidencebench.storage.user_folders import cache_folder
from evidencebench.system import Ranking, rank_by_score


def require_format(system: str, name: str, neighbours: int, formats: Collection[str]) -> None:
    """Raise `SystemSpecError` unless the format is known and the number of neighbours is at least 0."""
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
    """Return the vectors of texts, read from the cache folder or computed and put there; see `cache_folder`."""
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
