"""Turn texts into vectors: the protocol of encoders, the check of every vector, and the use of the cache."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import ParamSpec, Protocol, TypeVar

import numpy as np

from evidencebench.errors import CacheError, ModelError
from evidencebench.models.embedding.formats import EncodedText, Floats
from evidencebench.models.embedding.vector_cache import CachedVector, VectorCache

Given = ParamSpec("Given")
Loaded = TypeVar("Loaded")


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorBatch:
    """The vectors of some of the texts that an encoder was given."""

    positions: Sequence[int]  # the texts' positions among those given
    vectors: Floats  # shape (texts, dimensions), float32, not normalised
    is_truncated: Sequence[bool]  # whether a text was cut, since it is too long; False for servers, which do not say


class Encoder(Protocol):
    """An object that turns texts into vectors."""

    @property
    def identity(self) -> str:
        """Return a text of all settings that decide vectors: with equal identities, equal texts have equal vectors."""
        ...

    def batches(self, texts: Sequence[EncodedText]) -> Iterator[VectorBatch]:
        """Yield vectors batch by batch, in any order, each text once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The vectors of some texts."""

    vectors: Floats  # shape (texts, dimensions), float32, not normalised
    n_truncated: int  # how many texts were cut, since they are too long


def embed(encoder: Encoder, cache: VectorCache | None, texts: Sequence[EncodedText]) -> Embedded:
    """Return one vector a text, in the order of the texts; vectors not in the cache are computed and stored there."""
    known: dict[EncodedText, CachedVector] = {} if cache is None else cache.get(texts)
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    dimension = next((len(found.vector) for found in known.values()), None)
    if missing and cache is not None:
        cache.require_writable()
        dimension = cache.dimension() if dimension is None else dimension
    for batch in encoder.batches(missing) if missing else ():
        of_batch = [missing[position] for position in batch.positions]
        if fault := vector_faults(batch.vectors, len(of_batch), dimension):
            raise ModelError(f"{encoder.identity}: {fault}; nothing of this batch is kept")
        dimension = batch.vectors.shape[1]
        if cache is not None:
            cache.put(of_batch, batch.vectors, batch.is_truncated)
        new = map(CachedVector, batch.vectors, map(bool, batch.is_truncated))
        known |= dict(zip(of_batch, new, strict=True))
    found = [known[text] for text in texts]
    vectors = np.stack([one.vector for one in found]) if found else np.empty((0, dimension or 0), np.float32)
    return Embedded(vectors=vectors, n_truncated=sum(one.is_truncated for one in found))


def vector_faults(vectors: object, n_texts: int, dimension: int | None) -> str | None:
    """Return the fault of a batch of vectors as "expected ..., got ..."; None if it has none.

    `dimension` is the length of the model's vectors so far; None if these are its first.
    """
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2:  # noqa: PLR2004 - a matrix
        return f"expected a vector a text, got {type(vectors).__name__}"
    n_vectors, length = vectors.shape
    faults = {
        f"expected {n_texts} vectors, got {n_vectors}": n_vectors != n_texts,
        f"expected vectors of {dimension or 'some'} numbers, got {length}": length != (dimension or length or None),
        "expected finite numbers, got others": not np.isfinite(vectors).all(),
        "expected vectors with a direction, got one of zeros only": not vectors.any(axis=1).all(),
    }
    return next((fault for fault, is_there in faults.items() if is_there), None)


def normalise(vectors: Floats) -> Floats:
    """Return the vectors scaled to length 1."""
    wide = vectors.astype(np.float64)
    short: Floats = (wide / np.linalg.norm(wide, axis=-1, keepdims=True)).astype(np.float32)
    return short


def loaded_once(load: Callable[Given, Loaded]) -> Callable[Given, Loaded]:
    """Return `load` with a memory of its last four results, errors included, so that no failure is tried again."""

    @lru_cache(maxsize=4)
    def outcome(*given: Given.args, **named: Given.kwargs) -> Loaded | ModelError | CacheError:
        try:
            return load(*given, **named)
        except (ModelError, CacheError) as error:
            return error

    @wraps(load)
    def loaded(*given: Given.args, **named: Given.kwargs) -> Loaded:
        found = outcome(*given, **named)  # type: ignore[arg-type] # frozen data, which is hashable
        if isinstance(found, ModelError | CacheError):
            raise type(found)(str(found)) from found
        return found

    return loaded
