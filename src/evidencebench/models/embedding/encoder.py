"""The protocol of encoders, which turn texts into vectors, and the checks that every vector passes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evidencebench.models.embedding.formats import EncodedText

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorBatch:
    """Vectors as an encoder hands them over."""

    positions: Sequence[int]  # which of the texts asked for they belong to
    vectors: Floats  # texts x dimensions, float32, as the model gives them: not normalised here
    is_truncated: Sequence[bool]  # which texts the model could not read to their end; endpoints do not say: False


class Encoder(Protocol):
    """Anything that turns texts into vectors."""

    @property
    def identity(self) -> str:
        """Return all that decides a vector but the text: vectors of equal identity may stand in for each other."""
        ...

    def batches(self, texts: Sequence[EncodedText]) -> Iterator[VectorBatch]:
        """Yield vectors batch by batch, in any order, each text once."""
        ...


def vector_faults(vectors: object, n_texts: int, dimension: int | None) -> str | None:
    """Return what is wrong with a batch of vectors as "expected ..., got ...", or None.

    `dimension` is how long vectors of this model have been so far; None when these are its first.

    Examples
    --------
    >>> vector_faults(np.ones((2, 3), np.float32), 2, 4)
    'expected vectors of 4 numbers, got 3'
    >>> vector_faults(np.array([[np.nan]], np.float32), 1, None)
    'expected finite numbers, got others'
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


def normalised(vectors: Floats) -> Floats:
    """Return the vectors at length 1.

    Examples
    --------
    >>> normalised(np.array([[3.0, 4.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    wide = vectors.astype(np.float64)
    short: Floats = (wide / np.linalg.norm(wide, axis=-1, keepdims=True)).astype(np.float32)
    return short
