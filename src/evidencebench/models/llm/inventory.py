"""Count and remove the replies in a cache."""

import sqlite3
import zlib
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from evidencebench.errors import CacheError
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.reply_cache import ReplyCache, unpack

_PAGE_ROWS = 64
_CHOSEN = "(?1 IS NULL OR model = ?1) AND (?2 IS NULL OR created < ?2)"
_BY_MODEL = f"""
SELECT model, count(*), CAST(total(prompt_tokens) AS INTEGER), CAST(total(completion_tokens) AS INTEGER),
    sum(cost_usd), count(*) - count(cost_usd), min(created), max(created)
FROM reply WHERE {_CHOSEN} GROUP BY model ORDER BY model
"""  # noqa: S608 - made of the constant above
_PAGE = "SELECT id, key, request FROM reply WHERE id > ? ORDER BY id LIMIT ?"
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


def replies_by_model(cache: ReplyCache, which: ReplyFilter = ALL_REPLIES) -> list[ModelReplies]:
    """Return counts of the replies of each model, in the order of their names."""
    with cache.reading() as connection:
        return [ModelReplies(*row) for row in connection.execute(_BY_MODEL, which)]


def damaged_keys(cache: ReplyCache) -> list[str]:
    """Return the keys of the replies that are damaged, with a few replies in memory at a time."""
    damaged, last = [], 0
    while True:
        with cache.reading() as connection:
            rows = connection.execute(_PAGE, (last, _PAGE_ROWS)).fetchall()
        damaged += [key.hex() for _, key, request in rows if _is_damaged(cache, key.hex(), request)]
        if len(rows) < _PAGE_ROWS:
            return damaged
        last = rows[-1][0]


def _is_damaged(cache: ReplyCache, key: str, packed: bytes) -> bool:
    try:
        cache.find(key)
        return msgspec.json.decode(unpack(packed), type=ChatRequest).key != key
    except (CacheError, zlib.error, ValueError, TypeError):
        return True


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
