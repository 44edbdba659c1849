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
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from evidencebench.errors import CacheError
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.group_commit import Change, GroupCommit
from evidencebench.models.llm.reply_database import FILE_NAME, Reopening, cache_errors, opened
from evidencebench.models.llm.request_locks import RequestLocks
from evidencebench.storage.database import release_space, reserve_space

T = TypeVar("T")

_MOST_BYTES = 256 << 20  # of one request or reply, unpacked
_INSERT = """
INSERT INTO reply (key, model, base_url, created, prompt_tokens, completion_tokens, cost_usd, reply, digest, request)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
"""


class ReplyCache:
    """The replies in a folder's file, which others share; made when first used. `clock` gives seconds since 1970."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / FILE_NAME
        self.clock = clock
        self._writer = GroupCommit(self.path, partial(opened, self.path))
        self._forked: Reopening | None = None
        self._begin()

    def find(self, key: str) -> tuple[ChatReply, float | None] | None:
        """Return the reply to a request and what it cost in US dollars (None: its price is not known), or None.

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
            raise self._damaged(key)
        try:
            return msgspec.json.decode(unpacked(packed), type=ChatReply), cost_usd
        except (zlib.error, msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            raise self._damaged(key) from error

    async def put(self, request: ChatRequest, reply: ChatReply, cost_usd: float | None) -> None:
        """Keep one reply; returns when it is on the disk. What is there already stays."""
        await self.change(lambda connection: self._insert(connection, request, reply, cost_usd))

    def claim(self, key: str) -> bool:
        """Say whether no other process sends this request now; then none does until `give_back`, or our end."""
        self._notice_fork()
        return self._locks.take(key)

    def give_back(self, key: str) -> None:
        """Let other processes send a request that was claimed."""
        self._notice_fork()
        self._locks.give_back(key)

    async def require_writable(self) -> None:
        """Write something, so that nothing is paid for that cannot be kept.

        Raises `CacheError` if the file cannot be written: it belongs to another user, or the disk is full.
        """
        await self.change(reserve_space)
        await self.change(release_space)

    async def change(self, change: Change[T]) -> T:
        """Make any change of the file together with all that wait; return when it is on the disk."""
        with cache_errors(self.path):
            return await asyncio.wrap_future(self._writer.submit(change))

    def change_now(self, change: Change[T]) -> T:
        """Do what `change` does, without an event loop."""
        with cache_errors(self.path):
            return self._writer.submit(change).result()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give this process's reading connection, which no writer holds up; what goes wrong is a `CacheError`."""
        self._notice_fork()
        with self._lock, cache_errors(self.path):
            yield self._reading.connection()

    def close(self) -> None:
        """Finish all writing and close the file; the next use opens it again.

        Raises `CacheError` if another process holds the file for more than a few seconds.
        """
        try:
            self._writer.close()
        finally:
            self._free()

    def __del__(self) -> None:
        self._free()

    def _free(self) -> None:
        self._notice_fork()
        self._locks.close()
        with self._lock:
            self._reading.close()

    def _begin(self) -> None:
        self._lock, self._process_id = threading.Lock(), os.getpid()
        self._reading = Reopening(self.path, partial(opened, self.path))
        self._locks = RequestLocks(self.path.with_name(f"{FILE_NAME}.asking"))

    def _notice_fork(self) -> None:
        """Open the file again in a forked process, for which SQLite asks; the lock may be held by nobody there."""
        if self._process_id != os.getpid():
            self._forked = self._reading  # kept: closing it here would drop the other process's locks
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
            packed_request(request),
        )
        connection.execute(_INSERT, row)

    def _damaged(self, key: str) -> CacheError:
        return CacheError(
            f"{self.path}: the reply {key[:12]}... is damaged, so it is not used; remove all damaged ones with "
            "'evidencebench cache prune --damaged', and they are asked for again"
        )


def packed_request(request: ChatRequest) -> bytes:
    """Return the canonical JSON of a request, compressed, without the name of the key's variable."""
    without_name = msgspec.structs.replace(request, key_env=None)
    return zlib.compress(msgspec.json.encode(without_name, order="deterministic"), 1)


def unpacked(packed: bytes) -> bytes:
    """Return what was compressed; raise `zlib.error` or `ValueError` if it is damaged, or larger than what is kept."""
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(packed, _MOST_BYTES)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("damaged")
    return content


def _digest(key: str, packed: bytes, cost_usd: float | None) -> bytes:
    """Return what tells a row from a damaged one: it binds the reply and its cost to the request."""
    return hashlib.blake2b(f"{key} {cost_usd!r} ".encode() + packed, digest_size=16).digest()
