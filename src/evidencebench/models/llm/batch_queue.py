"""Requests that wait for a batch, and the batches they are in: in the cache's file, durable before they are used."""

import re
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from evidencebench.errors import CacheError
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.reply_cache import ReplyCache, packed_request, unpacked

State = Literal["intended", "open"]
"""Whether a batch may or may not be at the provider (nobody has seen its id), or is there.

In the file there are those that are over, too: their ids must not be taken for that of a batch in doubt.
"""

_PAGE_ROWS = 64
_KEY = re.compile("[0-9a-f]{64}")
_UNSENT = (
    "batch IS NULL AND model = ? AND base_url IS ? AND key_env IS ? "
    "AND EXISTS (SELECT 1 FROM wanted WHERE wanted.key = waiting.key AND sender = ?)"
)
_COLUMNS = "id, intent, model, base_url, key_env, n_requests, created, name, state"


class DamagedRequestError(CacheError):
    """A waiting request cannot be read any more, so that its reply cannot be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchGroup:
    """Requests that may share a batch: one model of one server, asked with one key."""

    model: str
    base_url: str | None
    key_env: str | None

    @classmethod
    def of(cls, request: ChatRequest) -> "BatchGroup":
        """Return the group of a request."""
        return cls(model=request.model, base_url=request.base_url, key_env=request.key_env)

    @property
    def provider(self) -> str:
        """What stands before the first slash of `model`."""
        return self.model.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchJob:
    """A batch that is not collected yet.

    Attributes
    ----------
    id
        Its number in the file.
    intent
        A name of ours, made before anything is sent, by which the batch is found again.
    group, n_requests
        What is in it.
    created
        When it was intended, in seconds since 1970.
    name
        The provider's id; None as long as nobody has seen it.
    state
        See `State`.
    """

    id: int
    intent: str
    group: BatchGroup
    n_requests: int
    created: float
    name: str | None
    state: State


class BatchQueue:
    """The waiting requests and open batches of a cache, which all processes share.

    Parameters
    ----------
    cache
        Whose file it is.
    """

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache

    async def record(self, request: ChatRequest, *, sender: str, n_bytes: int) -> None:
        """Keep a request until its batch is over; one that is in a batch already stays there.

        Parameters
        ----------
        request
            What is to be asked.
        sender
            Who wants the reply. Whoever of those that do comes first submits it.
        n_bytes
            Its length in a batch.
        """

        def prepare() -> "_Recording":
            return _Recording(request, self._cache.clock(), sender, n_bytes)

        await self._cache.change(prepare)

    def groups(self, sender: str) -> list[BatchGroup]:
        """Return the groups of the requests that one sender has waiting."""
        with self._cache.reading() as connection:
            rows = connection.execute(
                "SELECT DISTINCT model, base_url, key_env FROM waiting JOIN wanted USING (key) "
                "WHERE batch IS NULL AND sender = ?",
                (sender,),
            ).fetchall()
        return [BatchGroup(model=model, base_url=base_url, key_env=key_env) for model, base_url, key_env in rows]

    async def intend(
        self, group: BatchGroup, *, sender: str, intent: str, most_requests: int, most_bytes: int
    ) -> BatchJob | None:
        """Put as many waiting requests as fit into a new batch; None where none waits."""
        created = self._cache.clock()

        def change(connection: sqlite3.Connection) -> BatchJob | None:
            last, n_requests = _fitting(connection, group, sender, most_requests, most_bytes)
            if not n_requests:
                return None
            made = connection.execute(
                "INSERT INTO batch (intent, model, base_url, key_env, n_requests, created, state) "
                "VALUES (?, ?, ?, ?, ?, ?, 'intended')",
                (intent, group.model, group.base_url, group.key_env, n_requests, created),
            )
            connection.execute(
                f"UPDATE waiting SET batch = ? WHERE {_UNSENT} AND id <= ?",  # noqa: S608 - names only
                (made.lastrowid, *_unsent(group, sender), last),
            )
            found = connection.execute(f"SELECT {_COLUMNS} FROM batch WHERE intent = ?", (intent,))  # noqa: S608
            return _batch(found.fetchone())

        return await self._cache.change(lambda: change)

    async def name(self, batch: BatchJob, name: str) -> None:
        """Keep the provider's id of a batch."""
        await self._execute("UPDATE batch SET name = ?, state = 'open' WHERE id = ?", name, batch.id)

    async def forget(self, batch: BatchJob) -> None:
        """Forget a batch and its requests: their replies are stored, or they are asked again. Its id is kept."""

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM waiting WHERE batch = ?", (batch.id,))
            connection.execute("DELETE FROM batch WHERE id = ? AND name IS NULL", (batch.id,))
            connection.execute("UPDATE batch SET state = 'over' WHERE id = ?", (batch.id,))

        await self._cache.change(lambda: change)

    def known_names(self) -> set[str]:
        """Return the ids of all batches that were ever submitted here."""
        with self._cache.reading() as connection:
            rows = connection.execute("SELECT name FROM batch WHERE name IS NOT NULL").fetchall()
        return {name for (name,) in rows}

    async def forget_older(self, created: float) -> None:
        """Forget requests that were recorded before a time and never submitted."""
        await self._execute("DELETE FROM waiting WHERE batch IS NULL AND created < ?", created)

    def batches(self) -> list[BatchJob]:
        """Return all that are not collected, oldest first."""
        with self._cache.reading() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM batch WHERE state != 'over' ORDER BY id").fetchall()  # noqa: S608 - names only
        return [_batch(row) for row in rows]

    def is_wanted(self, batch: BatchJob, sender: str) -> bool:
        """Say whether a batch holds a request whose reply this sender wants."""
        with self._cache.reading() as connection:
            found = connection.execute(
                "SELECT 1 FROM waiting JOIN wanted USING (key) WHERE batch = ? AND sender = ? LIMIT 1",
                (batch.id, sender),
            ).fetchone()
        return found is not None

    def requests(self, batch: BatchJob) -> Iterator[tuple[str, ChatRequest]]:
        """Yield the keys and requests of a batch, a few at a time in memory."""
        last = 0
        while True:
            with self._cache.reading() as connection:
                rows = connection.execute(
                    "SELECT id, key, key_env, request FROM waiting WHERE batch = ? AND id > ? ORDER BY id LIMIT ?",
                    (batch.id, last, _PAGE_ROWS),
                ).fetchall()
            for _, key, key_env, packed in rows:
                yield key.hex(), self._request(key, key_env, packed)
            if len(rows) < _PAGE_ROWS:
                return
            last = rows[-1][0]

    def keys(self, batch: BatchJob) -> Iterator[str]:
        """Yield the keys of a batch."""
        with self._cache.reading() as connection:
            rows = connection.execute("SELECT key FROM waiting WHERE batch = ? ORDER BY id", (batch.id,)).fetchall()
        yield from (key.hex() for (key,) in rows)

    def batch_of(self, key: str) -> BatchJob | None:
        """Return the batch that is not collected and holds a request, or None where there is none."""
        with self._cache.reading() as connection:
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM batch WHERE id = (SELECT batch FROM waiting WHERE key = ?)",  # noqa: S608 - names only
                (bytes.fromhex(key),),
            ).fetchone()
        return None if row is None else _batch(row)

    def request(self, batch: BatchJob, key: str) -> ChatRequest | None:
        """Return one request of a batch, or None where the batch holds none of this key, as we write it.

        Raises
        ------
        DamagedRequestError
            If it is damaged.
        """
        if not _KEY.fullmatch(key):
            return None
        raw = bytes.fromhex(key)  # which takes capitals and blanks too
        with self._cache.reading() as connection:
            row = connection.execute(
                "SELECT key_env, request FROM waiting WHERE key = ? AND batch = ?", (raw, batch.id)
            ).fetchone()
        return None if row is None else self._request(raw, *row)

    def _request(self, key: bytes, key_env: str | None, packed: bytes) -> ChatRequest:
        try:
            request = msgspec.json.decode(unpacked(packed), type=ChatRequest)
        except (zlib.error, ValueError, TypeError) as error:
            raise self._damaged(key) from error
        if request.key != key.hex():
            raise self._damaged(key)
        return msgspec.structs.replace(request, key_env=key_env)

    def _damaged(self, key: bytes) -> DamagedRequestError:
        return DamagedRequestError(
            f"{self._cache.path}: the waiting request {key.hex()[:12]}... is damaged; forget all that wait with "
            "'evidencebench cache prune --batches', and they are asked for again"
        )

    async def _execute(self, statement: str, *values: object) -> None:
        def change(connection: sqlite3.Connection) -> None:
            connection.execute(statement, values)

        await self._cache.change(lambda: change)


class _Recording:
    """The change that records a request; what takes long is done when it is made."""

    def __init__(self, request: ChatRequest, created: float, sender: str, n_bytes: int) -> None:
        self._key = bytes.fromhex(request.key)
        group = (request.model, request.base_url, request.key_env)
        packed = packed_request(msgspec.structs.replace(request, key_env=None))
        self._row, self._sender = (self._key, *group, created, n_bytes, packed), sender

    def __call__(self, connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO waiting (key, model, base_url, key_env, created, n_bytes, request) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            self._row,
        )
        connection.execute("INSERT OR IGNORE INTO wanted (key, sender) VALUES (?, ?)", (self._key, self._sender))


def _fitting(
    connection: sqlite3.Connection, group: BatchGroup, sender: str, most_requests: int, most_bytes: int
) -> tuple[int, int]:
    """Return the last row that a batch has room for, counted from the oldest, and how many rows that makes."""
    waiting = connection.execute(
        f"SELECT id, n_bytes FROM waiting WHERE {_UNSENT} ORDER BY id LIMIT ?",  # noqa: S608 - names only
        (*_unsent(group, sender), most_requests),
    )
    n_requests, n_bytes, last = 0, 0, 0
    for row_id, size in waiting:
        if n_requests and n_bytes + size > most_bytes:
            break
        n_requests, n_bytes, last = n_requests + 1, n_bytes + size, row_id
    return last, n_requests


def _unsent(group: BatchGroup, sender: str) -> tuple[str | None, ...]:
    return (group.model, group.base_url, group.key_env, sender)


def _batch(row: tuple[int, str, str, str | None, str | None, int, float, str | None, State]) -> BatchJob:
    number, intent, model, base_url, key_env, n_requests, created, name, state = row
    group = BatchGroup(model=model, base_url=base_url, key_env=key_env)
    return BatchJob(
        id=number, intent=intent, group=group, n_requests=n_requests, created=created, name=name, state=state
    )
