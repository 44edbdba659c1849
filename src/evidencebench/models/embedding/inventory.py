"""What a cache of embeddings holds: counted and removed."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evidencebench.errors import CacheError
from evidencebench.models.embedding.vector_cache import EMBEDDINGS
from evidencebench.storage.database import compact, connect


@dataclass(frozen=True, slots=True)
class EncoderVectors:
    """How many vectors there are of one encoder, and how many numbers each has."""

    identity: str
    dimension: int
    n_vectors: int


def vectors_by_encoder(path: Path) -> list[EncoderVectors]:
    """Return what a file holds of each encoder, in the order in which they came."""
    with _opened(path) as connection:
        rows = connection.execute(
            "SELECT identity, dimension, (SELECT count(*) FROM embedding WHERE encoder = encoder.id) "
            "FROM encoder ORDER BY id"
        )
        return [EncoderVectors(*row) for row in rows]


def remove_vectors(path: Path) -> None:
    """Remove all vectors, and give their space back to the disk."""
    with _opened(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM embedding")
        connection.execute("DELETE FROM encoder")
        connection.execute("COMMIT")
        compact(path, EMBEDDINGS)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        connection = connect(path, EMBEDDINGS, is_made=False)
        try:
            yield connection
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        raise CacheError(
            f"{path}: cannot be used: {error}; make it yours to write, or delete it, and it is filled again"
        ) from error
