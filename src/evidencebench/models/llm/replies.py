"""ReplyCache: one SQLite file of replies for all models and processes, each reply durable before it is used."""

import asyncio
import hashlib
import os
import sqlite3
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import CacheError, EvidenceBenchError
from evidencebench.files.places import cache_folder, lock_byte, unlock_byte
from evidencebench.files.sqlite import Database, DatabaseFormat, release_space, reserve_space
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Received

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

_MOST_BYTES = 256 << 20  # of one request or reply, unpacked
_PLACE_DIGITS = 15  # hexadecimal digits of a key: bytes before 2**60 can be locked on every system
_INSERT = """
INSERT INTO reply (key, model, base_url, created, prompt_tokens, completion_tokens, cost_usd, reply, digest, request)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
"""


class ReplyCache:
    """The replies in a folder's file, made at its first use. `clock`: seconds since 1970."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path: Path = folder / FILE_NAME
        self.clock = clock
        self._reader, self._writer = Database(self.path, REPLIES, "FULL"), Database(self.path, REPLIES, "FULL")
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._claims: BinaryIO | None = None  # the file whose bytes are locked
        self._threads = ThreadPoolExecutor(1, "evidencebench-replies")
        self._to_put: list[tuple[Callable[[], tuple[Any, ...]], asyncio.Future[None]]] = []
        self._putting: asyncio.Task[None] | None = None
        self._waiting: deque[_Waiting] = deque()

    def find(self, key: str) -> Received | None:
        with self.reading() as connection:
            row = connection.execute(
                "SELECT reply, cost_usd, digest FROM reply WHERE key = ?", (bytes.fromhex(key),)
            ).fetchone()
        if row is None:
            return None
        packed, cost_usd, digest = row
        with suppress(zlib.error, ValueError):
            if isinstance(packed, bytes) and digest == _digest(key, packed, cost_usd):
                return Received(msgspec.json.decode(unpack(packed), type=prepared(ChatReply)), cost_usd)
        raise CacheError(
            f"{self.path}: the reply {key[:12]}... is damaged, so it is not used; remove all damaged ones with "
            "'evidencebench cache prune --damaged', and they are asked for again"
        )

    def put(self, request: ChatRequest, reply: ChatReply, cost_usd: float | None) -> None:
        """Store one reply; it is on the disk when this returns. A reply that is stored already stays."""
        row = self._row(request, reply, cost_usd)
        self.change(lambda connection: connection.execute(_INSERT, row))

    async def putting(self, request: ChatRequest, reply: ChatReply, cost_usd: float | None) -> None:
        """Do as `put`, on an event loop: replies that come together are stored together, by a thread of its own."""
        stored = asyncio.get_running_loop().create_future()
        self._to_put.append((partial(self._row, request, reply, cost_usd), stored))
        if self._putting is None:
            self._putting = asyncio.ensure_future(self._put_all())
        await stored

    async def _put_all(self) -> None:
        """Store what is to be put, in groups, until nothing is left: those who come meanwhile need not."""
        loop = asyncio.get_running_loop()
        while self._to_put:
            puts, self._to_put = self._to_put, []
            try:
                await loop.run_in_executor(self._threads, self._store, [row for row, _ in puts])
            except Exception as error:  # noqa: BLE001 - all who wait must get it
                _settle([stored for _, stored in puts], error)
            else:
                _settle([stored for _, stored in puts], None)
        self._putting = None

    def _store(self, made: list[Callable[[], tuple[Any, ...]]]) -> None:
        rows = [row() for row in made]
        self.change(lambda connection: connection.executemany(_INSERT, rows))

    def _row(self, request: ChatRequest, reply: ChatReply, cost_usd: float | None) -> tuple[Any, ...]:
        key, packed = request.key, zlib.compress(msgspec.json.encode(reply), 1)
        cost_usd = None if cost_usd is None else float(cost_usd)
        return (
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

    @contextmanager
    def claimed(self, key: str) -> Iterator[bool]:
        """Yield whether no other process sends this request; then none does as long as the block runs."""
        if self._claims is None:
            with cache_errors(self.path):
                self._claims = self.path.with_name(f"{FILE_NAME}.asking").open("ab")
        file, place = self._claims, int(key[:_PLACE_DIGITS], 16)
        if not lock_byte(file.fileno(), place):
            yield False
            return
        try:
            yield True
        finally:
            if not file.closed:
                unlock_byte(file.fileno(), place)

    def require_writable(self) -> None:
        self.change(reserve_space)
        self.change(release_space)

    def change(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Return a result when what changed is on the disk; one of the threads that wait commits for all of them."""
        mine = _Waiting(change)
        self._waiting.append(mine)
        with self._writing:
            while not mine.is_done:
                self._commit()
        if mine.error is not None:
            with cache_errors(self.path):
                raise mine.error
        return cast("T", mine.result)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield this process's connection for reading, which waits for no writer; errors become `CacheError`."""
        with self._lock, cache_errors(self.path):
            yield self._reader.connection()

    def close(self, seconds: float = 5.0) -> None:
        is_free = self._writing.acquire(timeout=seconds)
        try:
            if not is_free:
                raise CacheError(
                    f"{self.path}: another process holds it, so what came last is not written yet, and is lost if "
                    "this process ends first; end the other one, such as 'evidencebench cache prune', and run again"
                )
            self._writer.close()
        finally:
            if is_free:
                self._writing.release()
            self._release_claims()
            with self._lock:
                self._reader.close()

    def __del__(self) -> None:
        self._release_claims()

    def _release_claims(self) -> None:
        file, self._claims = self._claims, None
        if file is not None:
            file.close()

    def _commit(self) -> None:
        group = [self._waiting.popleft() for _ in range(min(1024, len(self._waiting)))]
        connection: sqlite3.Connection | None = None
        try:
            connection = self._writer.connection()
            # In milliseconds, for a process that compacts the file, since the replies that wait may be paid.
            connection.execute("PRAGMA busy_timeout = 600000")
            connection.execute("BEGIN IMMEDIATE")
            for waiting in group:
                waiting.make(connection)
            connection.execute("COMMIT")
        except BaseException as error:  # noqa: BLE001 - all who wait must get it
            with suppress(sqlite3.Error):
                if connection is not None and connection.in_transaction:
                    connection.execute("ROLLBACK")
            if not isinstance(error, EvidenceBenchError):
                self._writer.close()
            for waiting in group:
                waiting.error = error
        for waiting in group:
            waiting.is_done = True


@dataclass(slots=True, eq=False)
class _Waiting:
    change: Callable[[sqlite3.Connection], Any]
    is_done: bool = False
    result: Any = None
    error: BaseException | None = None

    def make(self, connection: sqlite3.Connection) -> None:
        connection.execute("SAVEPOINT change")
        try:
            self.result = self.change(connection)
        except Exception as error:
            if not connection.in_transaction:  # SQLite has undone the whole transaction, such as on a full disk
                raise
            connection.execute("ROLLBACK TO change")
            self.error = error
        connection.execute("RELEASE change")


def open_cache(environ: Mapping[str, str] | None = None) -> ReplyCache | None:
    """Return the cache that the environment names, by default this process's; None where it says to keep none."""
    folder = cache_folder(os.environ if environ is None else environ)
    return None if folder is None else ReplyCache(folder)


@contextmanager
def stored_replies(folder: Path | None) -> Iterator[ReplyCache | None]:
    cache = None if folder is None or not (folder / FILE_NAME).exists() else ReplyCache(folder)
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()


@contextmanager
def cache_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last: SQLite's own message is damaged
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details in the higher bits
        advice = (
            f"it is damaged: move it and the files beside it whose names begin with {path.name} away; what is lost "
            "with it is asked for again"
            if isinstance(error, UnicodeDecodeError) or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
            else "free the disk, or set EVIDENCEBENCH_CACHE to a folder that can be written, or to 'off' to keep none"
        )
        raise CacheError(f"{path}: cannot be used to keep replies: {error}; {advice}") from error


def _settle(stored: "list[asyncio.Future[None]]", error: Exception | None) -> None:
    for one in stored:
        if one.done():  # whoever waited was cancelled
            continue
        if error is None:
            one.set_result(None)
        else:
            one.set_exception(error)


def pack_request(request: ChatRequest) -> bytes:
    without_name = msgspec.structs.replace(request, key_env=None, stream=None)
    return zlib.compress(msgspec.json.encode(without_name, order="deterministic"), 1)


def unpack(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(packed, _MOST_BYTES)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("damaged")
    return content


def _digest(key: str, packed: bytes, cost_usd: float | None) -> bytes:
    return hashlib.blake2b(f"{key} {cost_usd!r} ".encode() + packed, digest_size=16).digest()


_CHOSEN = "(?1 IS NULL OR model = ?1) AND (?2 IS NULL OR created < ?2)"
_BY_MODEL = f"""
SELECT model, count(*), CAST(total(prompt_tokens) AS INTEGER), CAST(total(completion_tokens) AS INTEGER),
    sum(cost_usd), count(*) - count(cost_usd), min(created), max(created)
FROM reply WHERE {_CHOSEN} GROUP BY model ORDER BY model
"""  # noqa: S608 - made of the constant above
_REMOVE = f"DELETE FROM reply WHERE {_CHOSEN}"  # noqa: S608


class ReplyFilter(NamedTuple):
    """Chooses replies: of a model (None: any), kept before a time in seconds since 1970 (None: any)."""

    model: str | None = None
    before: float | None = None


ALL_REPLIES = ReplyFilter()


@dataclass(frozen=True, slots=True)
class ModelReplies:
    """The replies of one model. Tokens are summed over them; a reply that does not say its tokens counts 0."""

    model: str
    n_replies: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None  # of the replies whose price was known; None where none was
    n_unpriced: int
    oldest: float  # when the oldest was kept, in seconds since 1970
    newest: float


def replies_by_model(cache: ReplyCache, which: ReplyFilter = ALL_REPLIES) -> list[ModelReplies]:
    with cache.reading() as connection:
        return [ModelReplies(*row) for row in connection.execute(_BY_MODEL, which)]


def damaged_keys(cache: ReplyCache) -> list[str]:
    with cache.reading() as connection:
        keys = connection.execute("SELECT key FROM reply ORDER BY id").fetchall()
    return [key.hex() for (key,) in keys if _is_damaged(cache, key)]


def _is_damaged(cache: ReplyCache, key: bytes) -> bool:
    try:
        cache.find(key.hex())
        with cache.reading() as connection:
            (packed,) = connection.execute("SELECT request FROM reply WHERE key = ?", (key,)).fetchone()
        return msgspec.json.decode(unpack(packed), type=prepared(ChatRequest)).key != key.hex()
    except (CacheError, zlib.error, ValueError, TypeError):
        return True


def remove_replies(cache: ReplyCache, which: ReplyFilter) -> None:
    cache.change(lambda connection: connection.execute(_REMOVE, which))


def remove_keys(cache: ReplyCache, keys: list[str]) -> None:
    rows = [(bytes.fromhex(key),) for key in keys]
    cache.change(lambda connection: connection.executemany("DELETE FROM reply WHERE key = ?", rows))


def n_waiting(cache: ReplyCache) -> int:
    with cache.reading() as connection:
        count: int = connection.execute("SELECT count(*) FROM waiting WHERE batch IS NULL").fetchone()[0]
    return count


def remove_batches(cache: ReplyCache) -> None:
    def remove(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM waiting")
        connection.execute("DELETE FROM batch WHERE name IS NULL")
        connection.execute("UPDATE batch SET state = 'over'")

    cache.change(remove)
