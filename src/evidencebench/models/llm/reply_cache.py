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
from evidencebench.models.llm.reply_database import FILE_NAME, Reopening, explained, opened
from evidencebench.models.llm.request_locks import RequestLocks
from evidencebench.storage.database import give_room_back, take_room

T = TypeVar("T")

_MOST_BYTES = 256 << 20  # of one request or reply, unpacked
_INSERT = """
INSERT INTO reply (key, model, base_url, created, prompt_tokens, completion_tokens, cost_usd, reply, digest, request)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
"""


class ReplyCache:
    """The replies in a file that others share; made when first used.

    Parameters
    ----------
    folder
        Where the file lies.
    clock
        Seconds since 1970, for the time that a row was made.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / FILE_NAME
        self.clock = clock
        self._lock, self._process_id = threading.Lock(), os.getpid()
        self._reading = self._unopened()
        self._forked: Reopening | None = None
        self._writer = GroupCommit(self.path, partial(opened, self.path))
        self._claims = self._unclaimed()

    async def get(self, key: str) -> tuple[ChatReply, float | None] | None:
        """Return the reply to a request and what it cost in US dollars (None: its price is not known), or None.

        Parameters
        ----------
        key
            `ChatRequest.key`.

        Raises
        ------
        CacheError
            If the file cannot be read, is not a cache, or the row is damaged.
        """
        return self.find(key)  # some ten microseconds: a thread would cost more than it frees

    def find(self, key: str) -> tuple[ChatReply, float | None] | None:
        """Return what `get` does, without an event loop."""
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
        """Keep one reply; returns when it is on the disk. What is there already stays.

        Parameters
        ----------
        request, reply
            What was asked, and what came back.
        cost_usd
            What it cost; None: the price is not known.

        Raises
        ------
        CacheError
            If the file cannot be written.
        """
        await self.change(lambda: self._insertion(request, reply, cost_usd))

    def claim(self, key: str) -> bool:
        """Say whether no other process sends this request now; then none does until `give_back`, or our end."""
        self._notice_fork()
        return self._claims.take(key)

    def give_back(self, key: str) -> None:
        """Let other processes send a request that was claimed."""
        self._notice_fork()
        self._claims.give_back(key)

    async def require_writable(self) -> None:
        """Write something, so that nothing is paid for that cannot be kept.

        Raises
        ------
        CacheError
            If the file cannot be written: it belongs to another user, or the disk is full.
        """
        await self.change(lambda: take_room)
        await self.change(lambda: give_room_back)

    async def change(self, prepare: Callable[[], Change[T]]) -> T:
        """Make any change of the file together with all that wait; return when it is on the disk."""
        with explained(self.path):
            return await asyncio.wrap_future(self._writer.submit(prepare))

    def change_now(self, prepare: Callable[[], Change[T]]) -> T:
        """Do what `change` does, without an event loop."""
        with explained(self.path):
            return self._writer.submit(prepare).result()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give this process's reading connection, which no writer holds up.

        Raises
        ------
        CacheError
            For whatever goes wrong with the file.
        """
        self._notice_fork()
        with self._lock, explained(self.path):
            yield self._reading.connection()

    def close(self) -> None:
        """Finish all writing and give the file back; the next use opens it again.

        Raises
        ------
        CacheError
            If another process holds the file for more than a few seconds.
        """
        try:
            self._writer.close()
        finally:
            self._free()

    def __del__(self) -> None:
        self._free()

    def _free(self) -> None:
        self._notice_fork()
        self._claims.close()
        with self._lock:
            self._reading.close()

    def _notice_fork(self) -> None:
        """Open the file again in a forked process, for which SQLite asks; the lock may be held by nobody there."""
        if self._process_id != os.getpid():
            self._forked = self._reading  # kept: closing it here would drop the other process's locks
            self._lock, self._process_id = threading.Lock(), os.getpid()
            self._reading, self._claims = self._unopened(), self._unclaimed()

    def _unclaimed(self) -> RequestLocks:
        return RequestLocks(self.path.with_name(f"{FILE_NAME}.asking"))

    def _unopened(self) -> Reopening:
        return Reopening(self.path, partial(opened, self.path))

    def _insertion(self, request: ChatRequest, reply: ChatReply, cost_usd: float | None) -> Change[None]:
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
            packed_request(msgspec.structs.replace(request, key_env=None)),
        )

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute(_INSERT, row)

        return insert

    def _damaged(self, key: str) -> CacheError:
        return CacheError(
            f"{self.path}: the reply {key[:12]}... is damaged, so it is not used; remove all damaged ones with "
            "'evidencebench cache prune --damaged', and they are asked for again"
        )


def packed_request(request: ChatRequest) -> bytes:
    """Return the canonical JSON of a request, compressed."""
    return zlib.compress(msgspec.json.encode(request, order="deterministic"), 1)


def unpacked(packed: bytes) -> bytes:
    """Return what was compressed.

    Raises
    ------
    zlib.error, ValueError
        If it is damaged, or larger than anything that is kept.
    """
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(packed, _MOST_BYTES)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("damaged")
    return content


def _digest(key: str, packed: bytes, cost_usd: float | None) -> bytes:
    """Return what tells a row from a damaged one: it binds the reply and its cost to the request."""
    return hashlib.blake2b(f"{key} {cost_usd!r} ".encode() + packed, digest_size=16).digest()
