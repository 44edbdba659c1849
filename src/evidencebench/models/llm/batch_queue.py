"""Requests that wait for a batch, and open batches, in the file of the reply cache: on the disk before a call."""

import re
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import CacheError
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.replies import ReplyCache, pack_request, unpack

_UNSENT = (
    "batch IS NULL AND model = ? AND base_url IS ? AND key_env IS ? "
    "AND EXISTS (SELECT 1 FROM wanted WHERE wanted.key = waiting.key AND sender = ?)"
)
_BATCH = "SELECT model, base_url, key_env, id, intent, n_requests, created, name FROM batch WHERE"


class DamagedRequestError(CacheError):
    """A waiting request is damaged, so that its reply cannot be stored."""


class BatchGroup(NamedTuple):
    """Requests that may share a batch: one model of one server, asked with one key."""

    model: str
    base_url: str | None
    key_env: str | None


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A batch that is not collected yet; without a name, it may or may not have reached the provider."""

    group: BatchGroup
    id: int
    intent: str  # our own name of the batch, made before it is sent, to find it again
    n_requests: int
    created: float  # when the intent was written, in seconds since 1970
    name: str | None  # the provider's id; None until it is known


@dataclass(frozen=True, slots=True)
class BatchStatus:
    batch: BatchJob
    state: str  # the provider's word, or submitted, refused, found, unresolved, forgotten, not reached
    n_done: int = 0
    n_failed: int = 0
    message: str = ""  # further words for the user

    def __str__(self) -> str:
        batch, failed = self.batch, f", {self.n_failed} failed" if self.n_failed else ""
        name = "batch without an id" if batch.name is None else f"batch {batch.name}"
        counts = f"{self.n_done}/{batch.n_requests} done{failed}"
        return f"{name} ({batch.group.model}): {self.state}, {counts}" + (f": {self.message}" if self.message else "")


class BatchQueue:
    """The waiting requests and open batches of a cache, which all processes share."""

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache

    def record(self, request: ChatRequest, *, sender: str, n_bytes: int) -> None:
        """Store a request of `n_bytes` for the first of its senders that submits a batch; a stored one stays.

        Nothing is stored where the reply is: another process may have collected it since this one looked for it.
        """
        key, created = bytes.fromhex(request.key), self._cache.clock()

        def change(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO waiting (key, model, base_url, key_env, created, n_bytes, request) SELECT "
                "?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM reply WHERE key = ?1) "
                "ON CONFLICT (key) DO NOTHING",
                (key, request.model, request.base_url, request.key_env, created, n_bytes, pack_request(request)),
            )
            wanted = "INSERT OR IGNORE INTO wanted (key, sender) SELECT key, ? FROM waiting WHERE key = ?"
            connection.execute(wanted, (sender, key))

        self._cache.change(change)

    def groups(self, sender: str) -> list[BatchGroup]:
        rows = self._rows(
            "SELECT DISTINCT model, base_url, key_env FROM waiting JOIN wanted USING (key) "
            "WHERE batch IS NULL AND sender = ?",
            sender,
        )
        return [BatchGroup(*row) for row in rows]

    def intend(
        self, group: BatchGroup, *, sender: str, intent: str, most_requests: int, most_bytes: int
    ) -> BatchJob | None:
        created, unsent = self._cache.clock(), (*group, sender)

        def change(connection: sqlite3.Connection) -> BatchJob | None:
            waiting = connection.execute(
                f"SELECT id, n_bytes FROM waiting WHERE {_UNSENT} ORDER BY id LIMIT ?",  # noqa: S608 - names only
                (*unsent, most_requests),
            )
            n_requests, n_bytes, last = 0, 0, 0
            for row_id, size in waiting:
                if n_requests and n_bytes + size > most_bytes:
                    break
                n_requests, n_bytes, last = n_requests + 1, n_bytes + size, row_id
            if not n_requests:
                return None
            inserted = connection.execute(
                "INSERT INTO batch (intent, model, base_url, key_env, n_requests, created, state) "
                "VALUES (?, ?, ?, ?, ?, ?, 'intended')",
                (intent, *group, n_requests, created),
            )
            connection.execute(
                f"UPDATE waiting SET batch = ? WHERE {_UNSENT} AND id <= ?",  # noqa: S608 - names only
                (inserted.lastrowid, *unsent, last),
            )
            return _job(connection.execute(f"{_BATCH} intent = ?", (intent,)).fetchone())

        return self._cache.change(change)

    def name(self, batch: BatchJob, name: str) -> BatchJob:
        statement = "UPDATE batch SET name = ?, state = 'open' WHERE id = ?"
        self._cache.change(lambda connection: connection.execute(statement, (name, batch.id)))
        return replace(batch, name=name)

    def forget(self, batch: BatchJob) -> None:
        """Remove a batch and its requests; a search for the id of another batch still leaves out its id."""

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM waiting WHERE batch = ?", (batch.id,))
            connection.execute("DELETE FROM batch WHERE id = ? AND name IS NULL", (batch.id,))
            connection.execute("UPDATE batch SET state = 'over' WHERE id = ?", (batch.id,))

        self._cache.change(change)

    def known_names(self) -> set[str]:
        return {name for (name,) in self._rows("SELECT name FROM batch WHERE name IS NOT NULL")}

    def forget_older(self, created: float) -> None:
        statement = "DELETE FROM waiting WHERE batch IS NULL AND created < ?"
        self._cache.change(lambda connection: connection.execute(statement, (created,)))

    def batches(self) -> list[BatchJob]:
        return [_job(row) for row in self._rows(f"{_BATCH} state != 'over' ORDER BY id")]

    def is_wanted(self, batch: BatchJob, sender: str) -> bool:
        wanted = "SELECT 1 FROM waiting JOIN wanted USING (key) WHERE batch = ? AND sender = ? LIMIT 1"
        return bool(self._rows(wanted, batch.id, sender))

    def requests(self, batch: BatchJob) -> Iterator[ChatRequest]:
        """Yield the requests of a batch in its order, with one in memory at a time."""
        for key in self.keys(batch):
            if (request := self.request(batch, key)) is not None:
                yield request

    def keys(self, batch: BatchJob) -> list[str]:
        return [key.hex() for (key,) in self._rows("SELECT key FROM waiting WHERE batch = ? ORDER BY id", batch.id)]

    def batch_of(self, key: str) -> BatchJob | None:
        holding = "id = (SELECT batch FROM waiting WHERE key = ?)"
        rows = self._rows(f"{_BATCH} {holding}", bytes.fromhex(key))
        return _job(rows[0]) if rows else None

    def request(self, batch: BatchJob, key: str) -> ChatRequest | None:
        if not re.fullmatch("[0-9a-f]{64}", key):  # bytes.fromhex would take capitals and blanks too
            return None
        raw = bytes.fromhex(key)
        rows = self._rows("SELECT key_env, request FROM waiting WHERE key = ? AND batch = ?", raw, batch.id)
        if not rows:
            return None
        key_env, packed = rows[0]
        try:
            request = msgspec.json.decode(unpack(packed), type=prepared(ChatRequest))
        except (zlib.error, ValueError, TypeError):
            request = None
        if request is None or request.key != key:
            raise DamagedRequestError(
                f"{self._cache.path}: the waiting request {key[:12]}... is damaged; forget all that wait with "
                "'evidencebench cache prune --batches', and they are asked for again"
            )
        return msgspec.structs.replace(request, key_env=key_env)

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._cache.reading() as connection:
            return connection.execute(statement, values).fetchall()


def _job(row: tuple[Any, ...]) -> BatchJob:
    return BatchJob(BatchGroup(*row[:3]), *row[3:])
