"""Encoder protocol, formats of texts, vectors on disk."""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from types import MappingProxyType
from typing import Literal, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evidencebench.errors import CacheError, ModelError
from evidencebench.files.sqlite import Database, DatabaseFormat, compact, connect, release_space, reserve_space
from evidencebench.query import AspectScope, Query, headings_of, sections_of

Given = ParamSpec("Given")
Loaded = TypeVar("Loaded")
Floats = NDArray[np.float32]
Similarity = Literal["cosine", "dot"]
Pooling = Literal["model", "mean", "cls", "last"]

INSTRUCTIONS: Mapping[AspectScope, str] = MappingProxyType(
    {
        "all": (
            "Given a biomedical hypothesis, find the sentences of a paper that hold its evidence for or against the "
            "hypothesis: who or what was studied, how, and what was found"
        ),
        "results": (
            "Given a biomedical hypothesis, find the sentences of a paper that report results for or against the "
            "hypothesis: measured outcomes and the analyses of them"
        ),
    }
)
"""Scope of the aspects that count -> the instruction for models that take one."""

_INSTRUCTION = "{instruction}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    query_prefix: str = ""  # before the hypothesis; {instruction} is replaced by the instruction for the scope
    sentence_prefix: str = ""
    has_titles: bool = False  # whether the input is a pair: the section's title, then the sentence
    pooling: Pooling = "model"  # how token vectors become one; "model": as the model's own files say
    similarity: Similarity = "cosine"  # how vectors are compared

    @property
    def reads_scope(self) -> bool:
        return _INSTRUCTION in self.query_prefix or _INSTRUCTION in self.sentence_prefix


FORMATS: Mapping[str, TextFormat] = MappingProxyType(
    {
        "plain": TextFormat(),
        "e5": TextFormat(query_prefix="query: ", sentence_prefix="passage: "),
        "e5_mistral": TextFormat(query_prefix="Instruct: {instruction}\nQuery: "),
        "gritlm": TextFormat(query_prefix="<|user|>\n{instruction}\n<|embed|>\n", sentence_prefix="<|embed|>\n"),
        "bge": TextFormat(query_prefix="Represent this sentence for searching relevant passages: "),
        "medcpt": TextFormat(has_titles=True, pooling="cls", similarity="dot"),
    }
)
"""Preset name -> format. Source: the model cards of intfloat/e5-large-v2, intfloat/e5-mistral-7b-instruct,
GritLM/GritLM-7B, BAAI/bge-large-en-v1.5, and ncbi/MedCPT-Query-Encoder with ncbi/MedCPT-Article-Encoder."""


@dataclass(frozen=True, slots=True)
class EncodedText:
    text: str
    prefix: str = ""  # put before the text; a field of its own, since some models leave it out when they pool
    title: str | None = None  # the first text of a pair; None: the text is read alone


def hypothesis_text(query: Query, text_format: TextFormat, scope: AspectScope) -> EncodedText:
    prefix = text_format.query_prefix.replace(_INSTRUCTION, INSTRUCTIONS[scope])
    return EncodedText(query.hypothesis, prefix)


def sentence_texts(
    query: Query, text_format: TextFormat, scope: AspectScope, *, neighbours: int = 0, title: bool = False
) -> list[EncodedText]:
    """`neighbours` on each side, in the section, are joined in. A format that reads pairs always has the title."""
    prefix = text_format.sentence_prefix.replace(_INSTRUCTION, INSTRUCTIONS[scope])
    texts = []
    around = [section.sentences for section in sections_of(query.kinds) for _ in range(section.start, section.stop)]
    for index, (title_index, section) in enumerate(zip(headings_of(query.kinds), around, strict=True)):
        heading = "" if title_index is None else query.sentences[title_index]
        first, last = max(section.start, index - neighbours), min(section.stop, index + neighbours + 1)
        text = " ".join(query.sentences[first:last]) if index in section else query.sentences[index]
        if text_format.has_titles:
            texts.append(EncodedText(text, prefix, heading))
        else:
            texts.append(EncodedText(f"{heading}: {text}" if title and heading else text, prefix))
    return texts


FILE_NAME = "embeddings.sqlite"
_MOST_PARAMETERS = 500
_N_CHECK_BYTES = 8
_VECTORS = "SELECT text, is_truncated, vector FROM embedding WHERE encoder = ? AND text IN"
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
    vector: Floats
    is_truncated: bool


class VectorCache:
    """The vectors of one encoder, in a file that all encoders and processes share."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.path: Path = folder / FILE_NAME
        self._identity = identity
        self._lock, self._database = threading.Lock(), Database(self.path, EMBEDDINGS, "NORMAL")
        self._is_writable = False

    def get(self, texts: Sequence[EncodedText]) -> dict[EncodedText, CachedVector]:
        """Return text -> vector for the texts that are stored; damaged vectors are left out and so computed again."""
        by_key = {digest_of(text): text for text in texts}
        keys, stored = list(by_key), dict[EncodedText, CachedVector]()
        with self._open() as connection:
            encoder, length = self._encoder(connection) or (None, 0)
            for start in range(0, len(keys), _MOST_PARAMETERS):
                window = keys[start : start + _MOST_PARAMETERS]
                statement = f"{_VECTORS} ({','.join('?' * len(window))})"
                for key, is_truncated, blob in connection.execute(statement, (encoder, *window)):
                    vector = self._vector(key, is_truncated, blob)
                    if vector is not None and len(vector) == length and key in by_key:
                        stored[by_key[key]] = CachedVector(vector, bool(is_truncated))
        return stored

    def require_writable(self) -> None:
        """Test once that the file can be written, so that no vector is computed or paid that cannot be stored."""
        for change in () if self._is_writable else (reserve_space, release_space):
            with self._open() as connection:
                connection.execute("BEGIN IMMEDIATE")
                change(connection)
                connection.execute("COMMIT")
        self._is_writable = True

    def put(self, texts: Sequence[EncodedText], vectors: Floats, is_truncated: Sequence[bool]) -> None:
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT OR IGNORE INTO encoder (identity, dimension) VALUES (?, ?)", (self._identity, rows.shape[1])
            )
            encoder, length = self._encoder(connection) or (None, None)
            if length != rows.shape[1]:
                raise CacheError(
                    f"{self.path}: expected vectors of {length} numbers for this model, got {rows.shape[1]}; it has "
                    "changed under its name: delete the file, or set EVIDENCEBENCH_CACHE to another folder"
                )
            connection.executemany(
                "INSERT OR REPLACE INTO embedding (encoder, text, is_truncated, vector) VALUES (?, ?, ?, ?)",
                (
                    (encoder, key, int(is_cut), vector.tobytes() + self._check(key, int(is_cut), vector.tobytes()))
                    for key, is_cut, vector in zip(map(digest_of, texts), is_truncated, rows, strict=True)
                ),
            )
            connection.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _encoder(self, connection: sqlite3.Connection) -> tuple[int, int] | None:
        row: tuple[int, int] | None = connection.execute(
            "SELECT id, dimension FROM encoder WHERE identity = ?", (self._identity,)
        ).fetchone()
        return row

    def _vector(self, key: object, is_truncated: object, blob: object) -> Floats | None:
        if not (isinstance(key, bytes) and isinstance(blob, bytes) and is_truncated in {0, 1}):
            return None
        content, check = blob[:-_N_CHECK_BYTES], blob[-_N_CHECK_BYTES:]
        if check != self._check(key, int(bool(is_truncated)), content) or len(content) % 4:
            return None
        return np.frombuffer(content, dtype="<f4").astype(np.float32)

    def _check(self, key: bytes, is_truncated: int, content: bytes) -> bytes:
        whole = hashlib.sha256(f"{self._identity}\0{is_truncated}\0".encode(errors="surrogateescape") + key + content)
        return whole.digest()[:_N_CHECK_BYTES]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                connection = self._database.connection()
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
    return hashlib.sha256(json.dumps([text.text, text.prefix, text.title]).encode()).digest()


@dataclass(frozen=True, slots=True)
class EncoderVectors:
    identity: str
    dimension: int
    n_vectors: int


def vectors_by_encoder(path: Path) -> list[EncoderVectors]:
    with _open_existing(path) as connection:
        rows = connection.execute(
            "SELECT identity, dimension, (SELECT count(*) FROM embedding WHERE encoder = encoder.id) "
            "FROM encoder ORDER BY id"
        )
        return [EncoderVectors(*row) for row in rows]


def remove_vectors(path: Path) -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorBatch:
    positions: Sequence[int]  # the texts' positions among those given
    vectors: Floats  # shape (texts, dimensions), float32, not normalised
    is_truncated: Sequence[bool]  # whether a text was cut, since it is too long; False for servers, which do not say


class Encoder(Protocol):
    @property
    def identity(self) -> str:
        """Return a text of all settings that decide vectors: with equal identities, equal texts have equal vectors."""

    def batches(self, texts: Sequence[EncodedText]) -> Iterator[VectorBatch]:
        """Yield vectors batch by batch, in any order, each text once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    vectors: Floats  # shape (texts, dimensions), float32, not normalised
    n_truncated: int  # how many texts were cut, since they are too long


def embed(encoder: Encoder, cache: VectorCache | None, texts: Sequence[EncodedText]) -> Embedded:
    stored: dict[EncodedText, CachedVector] = {} if cache is None else cache.get(texts)
    missing = [text for text in dict.fromkeys(texts) if text not in stored]
    dimension = next((len(cached.vector) for cached in stored.values()), None)
    if missing and cache is not None:
        cache.require_writable()
    for batch in encoder.batches(missing) if missing else ():
        batch_texts = [missing[position] for position in batch.positions]
        if fault := vector_faults(batch.vectors, len(batch_texts), dimension):
            raise ModelError(f"{encoder.identity}: {fault}; nothing of this batch is kept")
        dimension = batch.vectors.shape[1]
        if cache is not None:
            cache.put(batch_texts, batch.vectors, batch.is_truncated)
        new = map(CachedVector, batch.vectors, map(bool, batch.is_truncated))
        stored |= dict(zip(batch_texts, new, strict=True))
    entries = [stored[text] for text in texts]
    vectors = np.stack([entry.vector for entry in entries]) if texts else np.empty((0, dimension or 0), np.float32)
    return Embedded(vectors=vectors, n_truncated=sum(entry.is_truncated for entry in entries))


def vector_faults(vectors: object, n_texts: int, dimension: int | None) -> str | None:
    """`dimension`: the length of the model's vectors so far; None if these are its first."""
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2:  # noqa: PLR2004 - a matrix
        return f"expected a vector a text, got {type(vectors).__name__}"
    n_vectors, length = vectors.shape
    faults = {
        f"expected {n_texts} vectors, got {n_vectors}": n_vectors != n_texts,
        f"expected vectors of {dimension or 'some'} numbers, got {length}": length != (dimension or length or None),
        "expected finite numbers, got others": not np.isfinite(vectors).all(),
        "expected vectors that point somewhere, got one of zeros only": not vectors.any(axis=1).all(),
    }
    return next((fault for fault, is_there in faults.items() if is_there), None)


def normalise(vectors: Floats) -> Floats:
    wide = vectors.astype(np.float64)
    return (wide / np.linalg.norm(wide, axis=-1, keepdims=True)).astype(np.float32)  # type: ignore[no-any-return]


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
        result = outcome(*given, **named)  # type: ignore[arg-type] # frozen data, which is hashable
        if isinstance(result, ModelError | CacheError):
            raise type(result)(str(result)) from result
        return result

    return loaded
