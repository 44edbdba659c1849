"""What a cache of replies holds: counted, read one after the other, and removed."""

import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from evidencebench.errors import CacheError
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.reply_cache import ReplyCache, unpacked

_PAGE_ROWS = 64
# Which replies: those of a model if one is given, and of before a time if one is given.
_BY_MODEL = """
SELECT model, count(*), total(prompt_tokens), total(completion_tokens), sum(cost_usd), count(cost_usd),
    min(created), max(created)
FROM reply WHERE (?1 IS NULL OR model = ?1) AND (?2 IS NULL OR created < ?2) GROUP BY model ORDER BY model
"""
_PAGE = """
SELECT id, key, created, request FROM reply
WHERE (?1 IS NULL OR model = ?1) AND (?2 IS NULL OR created < ?2) AND id > ?3 ORDER BY id LIMIT ?4
"""
_REMOVE = "DELETE FROM reply WHERE (?1 IS NULL OR model = ?1) AND (?2 IS NULL OR created < ?2)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplies:
    """The replies of one model.

    Attributes
    ----------
    model
        ``provider/name``.
    n_replies
        How many there are.
    prompt_tokens, completion_tokens
        Of all of them; those that do not say count 0.
    cost_usd
        Of those whose price was known; None where it was of none.
    n_unpriced
        Those whose price was not known.
    oldest, newest
        When they were kept, in seconds since 1970.
    """

    model: str
    n_replies: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    n_unpriced: int
    oldest: float
    newest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFilter:
    """Which replies are meant.

    Attributes
    ----------
    model
        ``provider/name``; None: any.
    before
        Those kept before this time, in seconds since 1970; None: at any time.
    """

    model: str | None = None
    before: float | None = None

    @property
    def values(self) -> tuple[str | None, float | None]:
        """What stands for the question marks of the condition on replies."""
        return self.model, self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReply:
    """One reply with its request.

    Attributes
    ----------
    key
        Its name in the cache.
    created
        When it was kept, in seconds since 1970.
    cost_usd
        What it cost; None: not known.
    request, reply
        What was asked, and what came back.
    """

    key: str
    created: float
    cost_usd: float | None
    request: ChatRequest
    reply: ChatReply


def replies_by_model(cache: ReplyCache, which: ReplyFilter = ReplyFilter()) -> list[ModelReplies]:
    """Return what a cache holds of each model, in the order of their names.

    Raises
    ------
    CacheError
        If the file cannot be read.
    """
    with cache.reading() as connection:
        rows = connection.execute(_BY_MODEL, which.values).fetchall()
    return [
        ModelReplies(
            model=model,
            n_replies=n_replies,
            prompt_tokens=int(prompt_tokens),
            completion_tokens=int(completion_tokens),
            cost_usd=cost_usd,
            n_unpriced=n_replies - n_priced,
            oldest=oldest,
            newest=newest,
        )
        for model, n_replies, prompt_tokens, completion_tokens, cost_usd, n_priced, oldest, newest in rows
    ]


def kept_replies(cache: ReplyCache, which: ReplyFilter = ReplyFilter()) -> Iterator[KeptReply | str]:
    """Yield every reply, oldest first, with a few in memory; the key alone of one that is damaged.

    Others may write meanwhile: what comes while this runs may be yielded too.

    Raises
    ------
    CacheError
        If the file cannot be read.
    """
    last = 0
    while True:
        with cache.reading() as connection:
            rows = connection.execute(_PAGE, (*which.values, last, _PAGE_ROWS)).fetchall()
        for _, key, created, packed in rows:
            yield _kept(cache, key.hex(), created, packed) or key.hex()
        if len(rows) < _PAGE_ROWS:
            return
        last = rows[-1][0]


def _kept(cache: ReplyCache, key: str, created: float, packed: bytes) -> KeptReply | None:
    try:
        found = cache.find(key)
        request = msgspec.json.decode(unpacked(packed), type=ChatRequest)
    except (CacheError, zlib.error, ValueError, TypeError):
        return None
    if found is None or request.key != key:
        return None
    return KeptReply(key=key, created=created, cost_usd=found[1], request=request, reply=found[0])


def damaged_keys(cache: ReplyCache) -> list[str]:
    """Return the keys of the replies that are damaged."""
    return [found for found in kept_replies(cache) if isinstance(found, str)]


def remove_replies(cache: ReplyCache, which: ReplyFilter) -> None:
    """Remove replies."""
    cache.change_now(lambda: lambda connection: connection.execute(_REMOVE, which.values))


def remove_keys(cache: ReplyCache, keys: list[str]) -> None:
    """Remove the replies of these keys."""

    def remove(connection: sqlite3.Connection) -> None:
        connection.executemany("DELETE FROM reply WHERE key = ?", [(bytes.fromhex(key),) for key in keys])

    cache.change_now(lambda: remove)


def n_waiting(cache: ReplyCache) -> int:
    """Return how many requests are written down for batches and not submitted."""
    with cache.reading() as connection:
        count: int = connection.execute("SELECT count(*) FROM waiting WHERE batch IS NULL").fetchone()[0]
    return count


def remove_batches(cache: ReplyCache) -> None:
    """Forget all open batches and all requests that wait."""

    def remove(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM waiting")
        connection.execute("DELETE FROM batch WHERE name IS NULL")
        connection.execute("UPDATE batch SET state = 'over'")

    cache.change_now(lambda: remove)
