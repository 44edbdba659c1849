"""The protocol of batch interfaces, and the reading of servers' answers, which are checked before use."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any, Generic, Protocol, TypeVar

import msgspec

from evidencebench.errors import EndpointError, FailingServerError
from evidencebench.models.llm.batch_apis.calls import Calls, UnsureError
from evidencebench.models.llm.batch_queue import BatchJob, BatchQueue
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.providers import Wire
from evidencebench.models.llm.wire import reply_of
from evidencebench.web.served_json import decode_served
from evidencebench.web.transient import TransientError

T = TypeVar("T")

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
