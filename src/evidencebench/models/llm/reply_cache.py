"""Replies on disk: one SQLite file for all models and processes, every reply durable before it is used.

A killed process loses no reply whose `ReplyCache.put` has returned. Any number of processes may use the file at once.
"""

import asyncio
import hashlib
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from evidencebench.errors import CacheError
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.group_commit import Change, GroupCommit, Reopening
from evidencebench.models.llm.request_locks import RequestLocks
from evidencebench.storage.database import DatabaseFormat, connect, release_space, reserve_space

T = TypeVar("T")

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
_MOST_BYTES = 256 << 20  # of one request or reply, unpacked
_INSERT = """
INSERT INTO reply (key, model, base_url, created, prompt_tokens, completion_tokens, cost_usd, reply, digest, request)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
"""


class ReplyCache:
    """The replies in a folder's file, which all processes share; made at its first use. `clock`: seconds since 1970."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / FILE_NAME
        self.clock = clock
        self._forked: Reopening | None = None
        self._begin()

    def find(self, key: str) -> tuple[ChatReply, float | None] | None:
        """Return (reply, cost in US dollars) of a request; None if it is not stored. A cost of None is not known.

        Raises `CacheError` if the row or the file is damaged.
        """
        with self.reading() as connection:
            row = connection.execute(
                "SELECT reply, cost_usd, digest FROM reply WHERE key = ?", (bytes.fromhex(key),)
            ).fetchone()
        if row is None:
            return None
        packed, cost_usd, digest = row
        if not isinstance(packed, bytes) or digest != _digest(key, packed, cost_usd):
            raise self._damaged_error(key)
        try:
            return msgspec.json.decode(unpack(packed), type=ChatReply), cost_usd
        except (zlib.error, ValueError) as error:
            raise self._damaged_error(key) from error

    async def put(self, request: ChatRequest, reply: ChatReply, cost_usd: float | None) -> None:
        """Store one reply; it returns when the reply is on the disk. A reply that is stored already stays."""
        await self.change(lambda connection: self._insert(connection, request, reply, cost_usd))

    def claim(self, key: str) -> bool:
        """Return whether no other process sends this request; if so, none does until `give_back`, or this one ends."""
        self._notice_fork()
        return self._locks.take(key)

    def give_back(self, key: str) -> None:
        """Let other processes send a request that this process claimed."""
        self._notice_fork()
        self._locks.give_back(key)

    async def require_writable(self) -> None:
        """Test that the file can be written, so that no reply is paid that cannot be stored.

        Raises `CacheError` if it cannot: it belongs to another user, or the disk is full.
        """
        await self.change(reserve_space)
        await self.change(release_space)

    async def change(self, change: Change[T]) -> T:
        """Make a change of the file, in one commit with other waiting changes; return its result when it is on disk."""
        self._notice_fork()
        with cache_errors(self.path):
            return await asyncio.wrap_future(self._writer.submit(change))

    def change_now(self, change: Change[T]) -> T:
        """Make a change as `change` does, from a thread without an event loop."""
        self._notice_fork()
        with cache_errors(self.path):
            return self._writer.submit(change).result()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield this process's connection for reading, which waits for no writer; errors become `CacheError`."""
        self._notice_fork()
        with self._lock, cache_errors(self.path):
            yield self._reading.connection()

    def close(self) -> None:
        """Finish all writing and close the file; the next use opens it again.

        Raises `CacheError` if another process holds the file for more than a few seconds.
        """
        self._notice_fork()
        try:
            self._writer.close()
        finally:
            self._free()

    def __del__(self) -> None:
        self._notice_fork()
        self._free()

    def _free(self) -> None:
        self._locks.close()
        with self._lock:
            self._reading.close()

    def _begin(self) -> None:
        self._lock, self._process_id = threading.Lock(), os.getpid()
        self._writer, self._reading = GroupCommit(self.path, connect_durably), Reopening(self.path, connect_durably)
        self._locks = RequestLocks(self.path.with_name(f"{FILE_NAME}.asking"))

    def _notice_fork(self) -> None:
        """Open the file again in a forked process, as SQLite requires, with a new lock, since the old may be held."""
        if self._process_id != os.getpid():
            self._forked = self._reading  # not closed: that would drop the other process's locks
            self._begin()

    def _insert(
        self, connection: sqlite3.Connection, request: ChatRequest, reply: ChatReply, cost_usd: float | None
    ) -> None:
        key, packed = request.key, zlib.compress(msgspec.json.encode(reply), 1)
        cost_usd = None if cost_usd is None else float(cost_usd)
        row = (
            bytes.fromhex(key),
            request.model,
            request.base_url,
            self.clock(),
            reply.usage.prompt_tokens,
            reply.usage.completion_tokens,
            cost_usd,
            packed,
            _digest(key, packed, cost_usd),
            pack_request(request),
        )
        connection.execute(_INSERT, row)

    def _damaged_error(self, key: str) -> CacheError:
        return CacheError(
            f"{self.path}: the reply {key[:12]}... is damaged, so it is not used; remove all damaged ones with "
            "'evidencebench cache prune --damaged', and they are asked for again"
        )


@contextmanager
def stored_replies(folder: Path | None) -> Iterator[ReplyCache | None]:
    """Yield the replies in a folder, to be read; None where it has none, or is None."""
    cache = None if folder is None or not (folder / FILE_NAME).exists() else ReplyCache(folder)
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()


def connect_durably(path: Path) -> sqlite3.Connection:
    """Return a connection whose commits are on the disk when they return; make the file if there is none."""
    connection = connect(path, REPLIES)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


@contextmanager
def cache_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the disk into `CacheError`, which names the file and says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last: SQLite's own message is damaged
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details in the higher bits
        advice = (
            f"it is damaged: move it and the files beside it whose names begin with {path.name} away; what is lost "
            "with it is asked for again"
            if isinstance(error, UnicodeDecodeError) or code in _DAMAGE_CODES
            else "free the disk, or set EVIDENCEBENCH_CACHE to a folder that can be written, or to 'off' to keep none"
        )
        raise CacheError(f"{path}: cannot be used to keep replies: {error}; {advice}") from error


def pack_request(request: ChatRequest) -> bytes:
    """Return the canonical JSON of a request, compressed, without the name of the API key's variable."""
    without_name = msgspec.structs.replace(request, key_env=None)
    return zlib.compress(msgspec.json.encode(without_name, order="deterministic"), 1)


def unpack(packed: bytes) -> bytes:
    """Return the content of a compressed value; raise `zlib.error` or `ValueError` if it is damaged or too large."""
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(packed, _MOST_BYTES)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("damaged")
    return content


def _digest(key: str, packed: bytes, cost_usd: float | None) -> bytes:
    """Return the checksum of a row, over the request's key, the reply and its cost; a damaged row has another."""
    return hashlib.blake2b(f"{key} {cost_usd!r} ".encode() + packed, digest_size=16).digest()
