"""Texts to vectors through the cache: known vectors are read, new ones are computed once and kept batch by batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.errors import ModelError
from evidencebench.models.embedding.encoder import Encoder, Floats, vector_faults
from evidencebench.models.embedding.formats import EncodedText
from evidencebench.models.embedding.vector_cache import CachedVector, VectorCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The vectors of some texts."""

    vectors: Floats  # texts x dimensions, float32, as the model gives them
    n_truncated: int  # texts that the model could not read to their end


def embed(encoder: Encoder, cache: VectorCache | None, texts: Sequence[EncodedText]) -> Embedded:
    """Return one vector a text, in the order of the texts."""
    known: dict[EncodedText, CachedVector] = {} if cache is None else cache.get(texts)
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    dimension = next((len(found.vector) for found in known.values()), None)
    if missing and cache is not None:
        cache.require_writable()
        dimension = cache.dimension() if dimension is None else dimension
    if missing:
        for batch in encoder.batches(missing):
            of_batch = [missing[position] for position in batch.positions]
            if fault := vector_faults(batch.vectors, len(of_batch), dimension):
                raise ModelError(f"{encoder.identity}: {fault}; nothing of this batch is kept")
            dimension = batch.vectors.shape[1]
            if cache is not None:
                cache.put(of_batch, batch.vectors, batch.is_truncated)
            known |= {
                text: CachedVector(vector, bool(is_cut))
                for text, vector, is_cut in zip(of_batch, batch.vectors, batch.is_truncated, strict=True)
            }
    found = [known[text] for text in texts]
    vectors = np.stack([one.vector for one in found]) if found else np.empty((0, dimension or 0), np.float32)
    return Embedded(vectors=vectors, n_truncated=sum(one.is_truncated for one in found))
