"""Vectors on disk: one SQLite file for all models and processes, each batch committed as it comes.

A killed process loses the batch it was computing and nothing else. Any number of processes may use the file at once.
"""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evidencebench.errors import CacheError
from evidencebench.models.embedding.formats import EncodedText, Floats
from evidencebench.storage.database import DatabaseFormat, compact, connect, release_space, reserve_space

FILE_NAME = "embeddings.sqlite"
_MOST_PARAMETERS = 500
_N_CHECK_BYTES = 8
_TABLES = """
CREATE TABLE encoder (
    id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL
);
CREATE TABLE embedding (
    encoder INTEGER NOT NULL, text BLOB NOT NULL, is_truncated INTEGER NOT NULL, vector BLOB NOT NULL,
    UNIQUE (encoder, text)
);
"""
EMBEDDINGS = DatabaseFormat(keeps="embeddings", application_id=0x45424D42, version=0, tables=_TABLES)  # "EBMB"


@dataclass(frozen=True, slots=True)
class CachedVector:
    """One text's vector, and whether the text was cut, since it is too long for the model."""

    vector: Floats
    is_truncated: bool


class VectorCache:
    """The vectors of one encoder, in a file that all encoders and processes share."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.path = folder / FILE_NAME
        self._identity = identity
        self._lock = threading.Lock()
        self._connection: tuple[int, sqlite3.Connection] | None = None
        self._is_writable = False

    def dimension(self) -> int | None:
        """Return the length of the stored vectors; None if there are none."""
        with self._open() as connection:
            row = self._encoder(connection)
            return None if row is None else row[1]

    def get(self, texts: Sequence[EncodedText]) -> dict[EncodedText, CachedVector]:
        """Return text -> vector for the texts that are stored; damaged vectors are left out and so computed again."""
        keys = {digest_of(text): text for text in texts}
        found: dict[EncodedText, CachedVector] = {}
        with self._open() as connection:
            row = self._encoder(connection)
            if row is None:
                return {}
            asked = list(keys)
            for start in range(0, len(asked), _MOST_PARAMETERS):
                some = asked[start : start + _MOST_PARAMETERS]
                marks = ",".join("?" * len(some))
                for key, is_truncated, blob in connection.execute(
                    f"SELECT text, is_truncated, vector FROM embedding WHERE encoder = ? AND text IN ({marks})",  # noqa: S608 - marks only
                    (row[0], *some),
                ):
                    vector = self._vector(key, is_truncated, blob)
                    if vector is not None and len(vector) == row[1] and key in keys:
                        found[keys[key]] = CachedVector(vector, bool(is_truncated))
        return found

    def require_writable(self) -> None:
        """Test once that the file can be written, so that no vector is computed or paid that cannot be stored."""
        if not self._is_writable:
            for change in (reserve_space, release_space):
                with self._open() as connection:
                    connection.execute("BEGIN IMMEDIATE")
                    change(connection)
                    connection.execute("COMMIT")
            self._is_writable = True

    def put(self, texts: Sequence[EncodedText], vectors: Floats, is_truncated: Sequence[bool]) -> None:
        """Store one batch, as a whole or not at all; damaged vectors of the same texts are replaced."""
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT OR IGNORE INTO encoder (identity, dimension) VALUES (?, ?)", (self._identity, rows.shape[1])
            )
            row = self._encoder(connection)
            if row is None or row[1] != rows.shape[1]:
                raise CacheError(
                    f"{self.path}: expected vectors of {row and row[1]} numbers for this model, got {rows.shape[1]}; "
                    "it has changed under its name: delete the file, or set EVIDENCEBENCH_CACHE to another folder"
                )
            connection.executemany(
                "INSERT OR REPLACE INTO embedding (encoder, text, is_truncated, vector) VALUES (?, ?, ?, ?)",
                (
                    (row[0], key, int(is_cut), vector.tobytes() + self._check(key, int(is_cut), vector.tobytes()))
                    for key, is_cut, vector in zip(map(digest_of, texts), is_truncated, rows, strict=True)
                ),
            )
            connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._connection[0] == os.getpid():
                self._connection[1].close()
            self._connection = None

    def __del__(self) -> None:
        self.close()

    def _encoder(self, connection: sqlite3.Connection) -> tuple[int, int] | None:
        row: tuple[int, int] | None = connection.execute(
            "SELECT id, dimension FROM encoder WHERE identity = ?", (self._identity,)
        ).fetchone()
        return row

    def _vector(self, key: object, is_truncated: object, blob: object) -> Floats | None:
        """Return the vector of a row; None if the row is damaged, or was written without a checksum."""
        if not (isinstance(key, bytes) and isinstance(blob, bytes) and is_truncated in {0, 1}):
            return None
        content, check = blob[:-_N_CHECK_BYTES], blob[-_N_CHECK_BYTES:]
        if check != self._check(key, int(bool(is_truncated)), content) or len(content) % 4:
            return None
        return np.frombuffer(content, dtype="<f4").astype(np.float32)

    def _check(self, key: bytes, is_truncated: int, content: bytes) -> bytes:
        """Return the checksum that is stored with a vector."""
        whole = hashlib.sha256(f"{self._identity}\0{is_truncated}\0".encode(errors="surrogateescape") + key + content)
        return whole.digest()[:_N_CHECK_BYTES]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection of this process; roll back a transaction that an error left open."""
        with self._lock:
            try:
                if self._connection is None or self._connection[0] != os.getpid():  # a forked process needs its own
                    self._connection = (os.getpid(), connect(self.path, EMBEDDINGS))
                    self._connection[1].execute("PRAGMA synchronous = NORMAL")
                connection = self._connection[1]
                try:
                    yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except (sqlite3.Error, OSError) as error:
                raise CacheError(
                    f"{self.path}: cannot be used to keep embeddings: {error}; set EVIDENCEBENCH_CACHE to a folder "
                    "that can be written, or to 'off' to keep none"
                ) from error


def digest_of(text: EncodedText) -> bytes:
    """Return the key of a text: the SHA-256 of text, prefix and title."""
    return hashlib.sha256(json.dumps([text.text, text.prefix, text.title]).encode()).digest()


@dataclass(frozen=True, slots=True)
class EncoderVectors:
    """The number of stored vectors of one encoder, and their length."""

    identity: str
    dimension: int
    n_vectors: int


def vectors_by_encoder(path: Path) -> list[EncoderVectors]:
    """Return the counts of each encoder in a file, the oldest encoder first."""
    with _open_existing(path) as connection:
        rows = connection.execute(
            "SELECT identity, dimension, (SELECT count(*) FROM embedding WHERE encoder = encoder.id) "
            "FROM encoder ORDER BY id"
        )
        return [EncoderVectors(*row) for row in rows]


def remove_vectors(path: Path) -> None:
    """Remove all vectors, and give their space back to the disk."""
    with _open_existing(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM embedding")
        connection.execute("DELETE FROM encoder")
        connection.execute("COMMIT")
        compact(path, EMBEDDINGS)


@contextmanager
def _open_existing(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(connect(path, EMBEDDINGS, is_made=False)) as connection:
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise CacheError(
            f"{path}: cannot be used: {error}; make it yours to write, or delete it, and it is filled again"
        ) from error
