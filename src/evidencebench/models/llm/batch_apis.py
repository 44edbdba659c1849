"""OpenAI's and Anthropic's batches."""

import random
import re
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from evidencebench.errors import CacheError, EndpointError, FailingServerError, MissingExtraError
from evidencebench.models.http import OK, Http, HttpAnswer, ask_often, hide_key
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.providers import Key, Server, Wire, reply_without_key
from evidencebench.models.llm.replies import ReplyCache, pack_request, unpack
from evidencebench.models.llm.sender import failure_of
from evidencebench.models.llm.wire import read_reply as reply_of
from evidencebench.web.fetch import decode_served
from evidencebench.web.retry import Retry, TransientError

if TYPE_CHECKING:
    import httpx


# HTTP calls to a provider about batches; files of any length are read from and written to the disk.


T = TypeVar("T")

_SERVER_ERROR = 500
_REQUEST_TIMEOUT = 408
_MOST_ANSWER_BYTES = 64 << 20


class RefusedBatchError(EndpointError):
    """The server refuses a batch for its content."""


class UnsureError(TransientError):
    """A call without an answer, which the server may have carried out: a further attempt could do it twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """How often and how long calls about batches are tried."""

    max_attempts: int = 6  # for each call, the first included
    timeout_seconds: float = 120.0  # without a byte sent or received
    total_timeout_seconds: float = 3600.0  # for one attempt
    longest_wait_seconds: float = 120.0  # before an attempt, unless the server asks for more
    settle_seconds: float = 60.0  # until a new batch is in the provider's list
    max_misses: int = 30  # how many looks at an open batch may fail in a row
    sleep: Callable[[float], object] = time.sleep
    jitter: Callable[[], float] = random.random  # a random number in 0..1, which makes waits differ
    today: Callable[[], datetime] = lambda: datetime.now(UTC)


class Calls:
    """Calls to one server. Use it as `with calls_to(...) as calls`."""

    def __init__(self, http: Http, server: Server, key: Key, settings: CallSettings) -> None:
        self._http, self._server, self._key, self.settings = http, server, key, settings
        self._retry = Retry(
            max_attempts=settings.max_attempts,
            longest_wait_seconds=settings.longest_wait_seconds,
            counts_busy=True,
            sleep=settings.sleep,
            jitter=settings.jitter,
        )

    @property
    def where(self) -> str:
        """The server's address, with which messages begin."""
        return self._server.base_url.partition("?")[0]

    def fetch(self, path: str, into: IO[bytes], *, most_bytes: int) -> None:
        """Download a path into a file, which is emptied first; raises as `retry`."""

        def attempt() -> None:
            into.seek(0)
            into.truncate()
            self._exchange("GET", path, into, most_bytes)

        self.retry(attempt)
        into.seek(0)

    def retry(self, attempt: Callable[[], T]) -> T:
        """Return an attempt's result; repeat it after a `TransientError`, raise `EndpointError` after the last one."""
        return ask_often(self._retry, lambda _: attempt(), self.where)

    def once(self, method: str, path: str, content: bytes | IO[bytes] | None = None, **more: Any) -> bytes:
        """Call once, with JSON from memory or a file, or httpx's arguments in `more`; return the body of the answer.

        Raises `UnsureError` if the server may have carried the call out, another `TransientError` if it did not and a
        further attempt may succeed, and `RefusedBatchError` if it refuses the content.
        """
        into = BytesIO()
        self._exchange(method, path, into, _MOST_ANSWER_BYTES, content, **more)
        return into.getvalue()

    def shown(self, text: str) -> str:
        """Return the start of what a server said, on one line and without the key."""
        return hide_key(text, self._key.value)

    def without_key(self, reply: ChatReply) -> ChatReply:
        """Return a reply without the API key, which a server may repeat in it, so that it can be stored."""
        return reply_without_key(reply, self._key)

    def _exchange(
        self,
        method: str,
        path: str,
        into: IO[bytes],
        most_bytes: int,
        content: bytes | IO[bytes] | None = None,
        **more: Any,
    ) -> None:
        """Call once, and write the body of a successful answer into a file."""
        answer = self._http.request(
            method,
            self._server.address(path),
            headers={"Accept": "*/*"} | self._server.provider.headers(self._key.value),
            body=content,
            into=into,
            seconds=self.settings.total_timeout_seconds,
            idle_seconds=self.settings.timeout_seconds,
            most_bytes=most_bytes,
            key=self._key.value,
            unanswered=UnsureError,
            **more,
        )
        if answer.status not in OK:
            raise self._refusal(path, answer)

    def _refusal(self, path: str, answer: HttpAnswer) -> Exception:
        status, now, where = answer.status, self.settings.today(), f"{self.where}{path}"
        error = failure_of(status, answer.headers, answer.content, where=where, key=self._key.value, now=now)
        is_unsure = status >= _SERVER_ERROR or status == _REQUEST_TIMEOUT
        if isinstance(error, TransientError) and is_unsure:
            return UnsureError(str(error), error.wait_seconds)
        return RefusedBatchError(str(error)) if isinstance(error, EndpointError) else error


@contextmanager
def calls_to(
    server: Server, key: Key, settings: CallSettings, *, transport: "httpx.AsyncBaseTransport | None" = None
) -> Iterator[Calls]:
    """Yield the `Calls` to a server; their connections are closed when the block ends."""
    try:
        http = Http(is_loopback=server.is_loopback, transport=transport)
    except ImportError as error:
        raise MissingExtraError(
            "batches: need httpx, which is not installed: pip install 'evidencebench[llm]'"
        ) from error
    try:
        yield Calls(http, server, key, settings)
    finally:
        http.close()


# Waiting requests and open batches, in the file of the reply cache: on the disk before they are sent.


_KEY = re.compile("[0-9a-f]{64}")
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

    @classmethod
    def of(cls, request: ChatRequest) -> "BatchGroup":
        """Return the group of a request."""
        return cls(request.model, request.base_url, request.key_env)


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A batch that is not collected yet.

    If it has no name, it may or may not have reached the provider. The file keeps the names of batches that are over
    too, so that a search for the name of this batch leaves them out.
    """

    group: BatchGroup
    id: int
    intent: str  # our own name of the batch, made before it is sent, to find it again
    n_requests: int
    created: float  # when the intent was written, in seconds since 1970
    name: str | None  # the provider's id; None until it is known

    @property
    def state(self) -> str:
        """``open`` if its name is known, else ``intended``."""
        return "intended" if self.name is None else "open"

    @property
    def where(self) -> str:
        """The beginning of messages about the batch."""
        return f"{self.group.model}: batch {self.name}"


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The status of a batch, reported while it is submitted, awaited and collected.

    `state` is in the provider's words, or one of ours: ``submitted``, ``refused``, ``found``, ``unresolved``,
    ``forgotten``, ``not reached``.
    """

    batch: BatchJob
    state: str
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
        """Store a request until its batch is over; a request that is in a batch already stays there.

        Several senders may want its reply; the first that submits takes it. `n_bytes` is its length in a batch.
        """

        def change(connection: sqlite3.Connection) -> None:
            key = bytes.fromhex(request.key)
            connection.execute(
                "INSERT INTO waiting (key, model, base_url, key_env, created, n_bytes, request) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
                (key, *BatchGroup.of(request), self._cache.clock(), n_bytes, pack_request(request)),
            )
            connection.execute("INSERT OR IGNORE INTO wanted (key, sender) VALUES (?, ?)", (key, sender))

        self._cache.change(change)

    def groups(self, sender: str) -> list[BatchGroup]:
        """Return the groups of the waiting requests of one sender."""
        rows = self._rows(
            "SELECT DISTINCT model, base_url, key_env FROM waiting JOIN wanted USING (key) "
            "WHERE batch IS NULL AND sender = ?",
            sender,
        )
        return [BatchGroup(*row) for row in rows]

    def intend(
        self, group: BatchGroup, *, sender: str, intent: str, most_requests: int, most_bytes: int
    ) -> BatchJob | None:
        """Return a new batch with as many waiting requests as fit; None if none waits."""
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
            made = connection.execute(
                "INSERT INTO batch (intent, model, base_url, key_env, n_requests, created, state) "
                "VALUES (?, ?, ?, ?, ?, ?, 'intended')",
                (intent, *group, n_requests, created),
            )
            connection.execute(
                f"UPDATE waiting SET batch = ? WHERE {_UNSENT} AND id <= ?",  # noqa: S608 - names only
                (made.lastrowid, *unsent, last),
            )
            return _job(connection.execute(f"{_BATCH} intent = ?", (intent,)).fetchone())

        return self._cache.change(change)

    def name(self, batch: BatchJob, name: str) -> BatchJob:
        """Store the provider's id of a batch; return the batch with it."""
        self._execute("UPDATE batch SET name = ?, state = 'open' WHERE id = ?", name, batch.id)
        return replace(batch, name=name)

    def forget(self, batch: BatchJob) -> None:
        """Remove a batch and its requests, whose replies are stored or asked for again; its name stays."""

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM waiting WHERE batch = ?", (batch.id,))
            connection.execute("DELETE FROM batch WHERE id = ? AND name IS NULL", (batch.id,))
            connection.execute("UPDATE batch SET state = 'over' WHERE id = ?", (batch.id,))

        self._cache.change(change)

    def known_names(self) -> set[str]:
        """Return the ids of all batches that were ever submitted here."""
        return {name for (name,) in self._rows("SELECT name FROM batch WHERE name IS NOT NULL")}

    def forget_older(self, created: float) -> None:
        """Remove requests that were recorded before a time, in seconds since 1970, and never submitted."""
        self._execute("DELETE FROM waiting WHERE batch IS NULL AND created < ?", created)

    def batches(self) -> list[BatchJob]:
        """Return all batches that are not collected, oldest first."""
        return [_job(row) for row in self._rows(f"{_BATCH} state != 'over' ORDER BY id")]

    def is_wanted(self, batch: BatchJob, sender: str) -> bool:
        """Return whether a batch holds a request whose reply this sender wants."""
        wanted = "SELECT 1 FROM waiting JOIN wanted USING (key) WHERE batch = ? AND sender = ? LIMIT 1"
        return bool(self._rows(wanted, batch.id, sender))

    def requests(self, batch: BatchJob) -> Iterator[tuple[str, ChatRequest]]:
        """Yield (key, request) of a batch, with one request in memory at a time."""
        for key in self.keys(batch):
            if (request := self.request(batch, key)) is not None:
                yield key, request

    def keys(self, batch: BatchJob) -> list[str]:
        """Return the keys of a batch's requests, in its order."""
        return [key.hex() for (key,) in self._rows("SELECT key FROM waiting WHERE batch = ? ORDER BY id", batch.id)]

    def batch_of(self, key: str) -> BatchJob | None:
        """Return the open batch that holds the request of this key; None if there is none."""
        holding = "id = (SELECT batch FROM waiting WHERE key = ?)"
        rows = self._rows(f"{_BATCH} {holding}", bytes.fromhex(key))
        return _job(rows[0]) if rows else None

    def request(self, batch: BatchJob, key: str) -> ChatRequest | None:
        """Return the request of a key in a batch; None if the batch has no such key. Raises `DamagedRequestError`."""
        if not _KEY.fullmatch(key):  # bytes.fromhex would take capitals and blanks too
            return None
        raw = bytes.fromhex(key)
        rows = self._rows("SELECT key_env, request FROM waiting WHERE key = ? AND batch = ?", raw, batch.id)
        if not rows:
            return None
        key_env, packed = rows[0]
        try:
            request = msgspec.json.decode(unpack(packed), type=ChatRequest)
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

    def _execute(self, statement: str, *values: object) -> None:
        self._cache.change(lambda connection: connection.execute(statement, values))


def _job(row: tuple[Any, ...]) -> BatchJob:
    return BatchJob(BatchGroup(*row[:3]), *row[3:])


# The protocol of batch interfaces, and the reading of servers' answers, which are checked before use.


_ID = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_KEYS = re.compile(rb'"custom_id"\s*:\s*"([0-9a-fA-F]{64})"')
_MOST_LINE_BYTES = 64 << 20
_FRACTION = re.compile(r"\.\d+")
_PAGE = "100"
_MOST_PAGES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBatch:
    """A batch as its provider describes it."""

    state: str  # in the provider's words
    is_over: bool  # whether nothing will change any more
    n_done: int
    n_failed: int
    paths: tuple[str, ...] = ()  # paths of the results, to be put behind the base URL
    fault: str = ""  # why the whole batch was refused
    row_faults: Mapping[int, str] = field(default_factory=dict)  # row number, from 1 -> why that row was refused

    @property
    def is_refused(self) -> bool:
        """Whether the batch was refused, so that none of its requests ran."""
        return bool(self.fault or self.row_faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """The result of one request of a batch."""

    key: str  # the request's key, as the server says; empty if it cannot be read
    reply: ChatReply | None = None
    failure: str = ""  # why there is no reply; empty if the batch ended before the request's turn
    is_done: bool = False  # whether the provider says that the request was answered, even if the reply is unreadable
    is_damaged: bool = False  # whether the row cannot be read
    is_cut: bool = False  # whether the file ends within the row, so that more rows may be missing


class UnresolvedError(FailingServerError):
    """A batch may or may not have been submitted; it stays in the queue and is searched for later."""


class BatchApi(Protocol):
    """One provider's batch interface."""

    most_requests: int  # the most requests in a batch
    most_bytes: int  # the largest size of a batch

    def row_of(self, key: str, request: ChatRequest) -> bytes:
        """Return a request as a row of a batch."""
        ...

    def prepare(self, calls: Calls, rows: Iterable[bytes], body: IO[bytes], intent: str) -> bytes | IO[bytes]:
        """Write the rows into a file and take all steps that cost nothing; return the body that `create` sends."""
        ...

    def create(self, calls: Calls, prepared: bytes | IO[bytes]) -> str:
        """Submit a batch in one attempt; return the provider's id. Raises as `Calls.once`."""
        ...

    def find(self, calls: Calls, queue: BatchQueue, batch: BatchJob) -> str | None:
        """Return the id of a batch that may have been submitted; None if it was not."""
        ...

    def look(self, calls: Calls, name: str) -> RemoteBatch:
        """Return a batch's status, counts and faults."""
        ...

    def rows(self, file: IO[bytes]) -> Iterator[ResultRow]:
        """Yield the result of each request, line by line; a damaged line is a row of its own."""
        ...


class HasId(msgspec.Struct, frozen=True):
    """Any answer of a server that has an id."""

    id: str


class ListedBatch(HasId, frozen=True, kw_only=True):
    """The id and time of a batch in a provider's list."""

    created_at: Any = None

    @property
    def created(self) -> float:
        """Seconds since 1970; infinity if the provider names no time, so that no batch is skipped for its age."""
        if isinstance(self.created_at, int | float):
            return self.created_at
        try:
            return datetime.fromisoformat(_FRACTION.sub("", self.created_at)).timestamp()
        except (ValueError, OverflowError, TypeError):
            return float("inf")


BatchT = TypeVar("BatchT", bound=ListedBatch)


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A page of a provider's list."""

    data: list[T]
    has_more: bool = False


def fetch_as(calls: Calls, path: str, form: type[T], what: str, **queries: str) -> T:
    """Return the JSON at a path as a `form`; raise `EndpointError` if no attempt gets such JSON."""

    def attempt() -> T:
        return decode_as(calls.once("GET", path, params=queries or None), form, what)

    return calls.retry(attempt)


def list_batches(calls: Calls, path: str, form: type[Page[BatchT]], *, since: float, after: str) -> Iterator[BatchT]:
    """Yield the batches in a provider's list, newest first, up to the page that reaches back to the time `since`.

    `after` is the name of the query parameter that says after which id a page begins.
    """
    behind: dict[str, str] = {}
    for _ in range(_MOST_PAGES):
        page = fetch_as(calls, path, form, "a list of batches", limit=_PAGE, **behind)
        yield from page.data
        if not page.data or not page.has_more or page.data[-1].created < since:
            return
        behind = {after: safe_id(page.data[-1].id)}


def decode_as(content: bytes, form: type[T], what: str) -> T:
    """Return an answer's JSON as a `form`; raise `TransientError` if it is not such JSON."""
    try:
        return decode_served(content, form)
    except msgspec.DecodeError as error:
        raise TransientError(f"expected {what} as JSON: {error}") from error


def submitted_id(content: bytes) -> str:
    """Return the id in the answer to a submission; raise `UnsureError` if it has none."""
    try:
        return safe_id(decode_as(content, HasId, "a batch").id)
    except (TransientError, EndpointError) as error:
        raise UnsureError(str(error)) from error


def safe_id(name: str) -> str:
    """Return an id if it may be part of a URL; else raise `EndpointError`."""
    if not _ID.fullmatch(name) or set(name) == {"."}:
        raise EndpointError("expected an id of letters, digits, '-', '_' and '.', got something else from the server")
    return name


def read_rows(file: IO[bytes], form: type[T], row_of: Callable[[T], ResultRow]) -> Iterator[ResultRow]:
    """Yield a row for each line that is not empty; an unreadable line is a damaged row, with its key if possible."""
    while line := file.readline(_MOST_LINE_BYTES):
        if len(line) == _MOST_LINE_BYTES:
            raise TransientError(f"expected lines of at most {_MOST_LINE_BYTES} bytes")
        if line.strip():
            try:
                yield row_of(decode_served(line, form))
            except msgspec.DecodeError:
                found = set(_KEYS.findall(line))
                key = key_of(found.pop().decode()) if len(found) == 1 else ""
                yield ResultRow(key=key, is_damaged=True, is_cut=not line.endswith(b"\n"))


def answered_row(key: str, wire: Wire, content: msgspec.Raw) -> ResultRow:
    """Return the row of a request that was answered: with its reply, or with the reason why it cannot be read."""
    try:
        return ResultRow(key=key, reply=reply_of(wire, content), is_done=True)
    except TransientError as error:
        return ResultRow(key=key, failure=str(error), is_done=True)


def key_of(custom_id: str) -> str:
    """Return the request's key in a row's id: a server may have changed its case."""
    return custom_id.strip().lower()
