"""Count, read and remove the replies in a cache."""

import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from evidencebench.errors import CacheError
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.reply_cache import ReplyCache, unpack

_PAGE_ROWS = 64
_CHOSEN = "(?1 IS NULL OR model = ?1) AND (?2 IS NULL OR created < ?2)"
_BY_MODEL = f"""
SELECT model, count(*), CAST(total(prompt_tokens) AS INTEGER), CAST(total(completion_tokens) AS INTEGER),
    sum(cost_usd), count(*) - count(cost_usd), min(created), max(created)
FROM reply WHERE {_CHOSEN} GROUP BY model ORDER BY model
"""  # noqa: S608 - made of the constant above
_PAGE = f"SELECT id, key, created, request FROM reply WHERE {_CHOSEN} AND id > ?3 ORDER BY id LIMIT ?4"  # noqa: S608
_REMOVE = f"DELETE FROM reply WHERE {_CHOSEN}"  # noqa: S608


class ReplyFilter(NamedTuple):
    """Chooses replies: of a model (None: any), kept before a time in seconds since 1970 (None: any)."""

    model: str | None = None
    before: float | None = None


ALL_REPLIES = ReplyFilter()


@dataclass(frozen=True, slots=True)
class ModelReplies:
    """The replies of one model. Tokens are summed over them; a reply that does not tell its tokens counts 0."""

    model: str
    n_replies: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None  # of the replies whose price was known; None where none was
    n_unpriced: int
    oldest: float  # when the oldest was kept, in seconds since 1970
    newest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReply:
    """One reply with its request, under the request's key."""

    key: str
    created: float  # seconds since 1970
    cost_usd: float | None  # None: not known
    request: ChatRequest
    reply: ChatReply


def replies_by_model(cache: ReplyCache, which: ReplyFilter = ALL_REPLIES) -> list[ModelReplies]:
    """Return counts of the replies of each model, in the order of their names."""
    with cache.reading() as connection:
        return [ModelReplies(*row) for row in connection.execute(_BY_MODEL, which)]


def kept_replies(cache: ReplyCache, which: ReplyFilter = ALL_REPLIES) -> Iterator[KeptReply | str]:
    """Yield every reply, oldest first, with a few in memory at a time; of a damaged one, its key alone.

    Other processes may write meanwhile: a reply that comes during the loop may be yielded too.
    """
    last = 0
    while True:
        with cache.reading() as connection:
            rows = connection.execute(_PAGE, (*which, last, _PAGE_ROWS)).fetchall()
        for _, key, created, packed in rows:
            yield _read_kept(cache, key.hex(), created, packed) or key.hex()
        if len(rows) < _PAGE_ROWS:
            return
        last = rows[-1][0]


def _read_kept(cache: ReplyCache, key: str, created: float, packed: bytes) -> KeptReply | None:
    try:
        found = cache.find(key)
        request = msgspec.json.decode(unpack(packed), type=ChatRequest)
    except (CacheError, zlib.error, ValueError, TypeError):
        return None
    if found is None or request.key != key:
        return None
    return KeptReply(key=key, created=created, cost_usd=found[1], request=request, reply=found[0])


def damaged_keys(cache: ReplyCache) -> list[str]:
    """Return the keys of the replies that are damaged."""
    return [found for found in kept_replies(cache) if isinstance(found, str)]


def remove_replies(cache: ReplyCache, which: ReplyFilter) -> None:
    """Remove the replies that a filter chooses."""
    cache.change(lambda connection: connection.execute(_REMOVE, which))


def remove_keys(cache: ReplyCache, keys: list[str]) -> None:
    """Remove the replies of these keys."""
    rows = [(bytes.fromhex(key),) for key in keys]
    cache.change(lambda connection: connection.executemany("DELETE FROM reply WHERE key = ?", rows))


def n_waiting(cache: ReplyCache) -> int:
    """Return how many requests are recorded for a batch and not submitted."""
    with cache.reading() as connection:
        count: int = connection.execute("SELECT count(*) FROM waiting WHERE batch IS NULL").fetchone()[0]
    return count


def remove_batches(cache: ReplyCache) -> None:
    """Forget all open batches and all requests that wait for a batch."""

    def remove(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM waiting")
        connection.execute("DELETE FROM batch WHERE name IS NULL")
        connection.execute("UPDATE batch SET state = 'over'")

    cache.change(remove)
