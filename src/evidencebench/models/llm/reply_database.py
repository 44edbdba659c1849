"""The tables of ``replies.sqlite``: replies, requests that wait for a batch, and batches."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evidencebench.errors import CacheError
from evidencebench.storage.database import DatabaseFormat, connect

FILE_NAME = "replies.sqlite"

_TABLES = """
CREATE TABLE reply (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, model TEXT NOT NULL, base_url TEXT, created REAL NOT NULL,
    prompt_tokens INTEGER, completion_tokens INTEGER, cost_usd REAL,
    reply BLOB NOT NULL, digest BLOB NOT NULL, request BLOB NOT NULL
);
CREATE INDEX reply_by_model ON reply (model, created, prompt_tokens, completion_tokens, cost_usd);
CREATE TABLE batch (
    id INTEGER PRIMARY KEY AUTOINCREMENT, intent TEXT NOT NULL UNIQUE, model TEXT NOT NULL, base_url TEXT, key_env TEXT,
    n_requests INTEGER NOT NULL, created REAL NOT NULL, name TEXT, state TEXT NOT NULL
);
CREATE TABLE waiting (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, model TEXT NOT NULL, base_url TEXT, key_env TEXT,
    created REAL NOT NULL, n_bytes INTEGER NOT NULL, batch INTEGER REFERENCES batch (id), request BLOB NOT NULL
);
CREATE INDEX waiting_by_batch ON waiting (batch, model, base_url, key_env);
CREATE TABLE wanted (key BLOB NOT NULL, sender TEXT NOT NULL, PRIMARY KEY (key, sender)) WITHOUT ROWID;
CREATE TRIGGER waiting_is_over AFTER DELETE ON waiting BEGIN DELETE FROM wanted WHERE key = OLD.key; END;
"""
REPLIES = DatabaseFormat(keeps="replies", application_id=0x45425250, version=1, tables=_TABLES)  # "EBRP"

_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def opened(path: Path) -> sqlite3.Connection:
    """Return a connection whose commits are on the disk when they return; the file is made where there is none."""
    connection = connect(path, REPLIES)
    try:
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


class Reopening:
    """A connection that is opened when needed, and again when its file has been moved away or replaced."""

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path, self._connect = path, connect
        self._opened: tuple[sqlite3.Connection, tuple[int, int]] | None = None

    def connection(self) -> sqlite3.Connection:
        """Return the connection to the file that is there now."""
        if self._opened is not None and self._opened[1] != _identity(self._path):
            self.close()
        if self._opened is None:
            connection = self._connect()
            identity = _identity(self._path)
            if identity is None:
                connection.close()
                raise CacheError(f"{self._path}: vanished while it was being opened")
            self._opened = (connection, identity)
        return self._opened[0]

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._opened is not None:
            self._opened[0].close()
            self._opened = None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def cache_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the disk into `CacheError`, which names the file and says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last: damage in what SQLite says itself
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details in the higher bits
        advice = (
            f"it is damaged: move it and the files beside it whose names begin with {path.name} away; what is lost "
            "with it is asked for again"
            if isinstance(error, UnicodeDecodeError) or code in _DAMAGE_CODES
            else "free the disk, or set EVIDENCEBENCH_CACHE to a folder that can be written, or to 'off' to keep none"
        )
        raise CacheError(f"{path}: cannot be used to keep replies: {error}; {advice}") from error
