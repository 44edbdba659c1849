"""What servers answer about batches, checked before it is used."""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from typing import IO, Any, Generic, TypeVar

import msgspec

from evidencebench.errors import EndpointError
from evidencebench.models.llm.batch_apis.calls import Calls, UnsureError
from evidencebench.models.llm.batch_apis.contract import ResultRow
from evidencebench.models.llm.providers import Wire
from evidencebench.models.llm.wire import reply_of
from evidencebench.web import served_json
from evidencebench.web.transient import TransientError

T = TypeVar("T")

_ID = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_KEYS = re.compile(rb'"custom_id"\s*:\s*"([0-9a-fA-F]{64})"')
_MOST_LINE_BYTES = 64 << 20
_FRACTION = re.compile(r"\.\d+")
_PAGE = "100"
_MOST_PAGES = 100


class HasId(msgspec.Struct, frozen=True):
    """Anything with an id."""

    id: str


class ListedBatch(HasId, frozen=True, kw_only=True):
    """What every provider's batches have in common."""

    created_at: Any = None

    @property
    def created(self) -> float:
        """Seconds since 1970; infinity if the provider does not say, so that no batch is skipped for its age."""
        if isinstance(self.created_at, int | float):
            return self.created_at
        try:
            return datetime.fromisoformat(_FRACTION.sub("", self.created_at)).timestamp()
        except (ValueError, OverflowError, TypeError):
            return float("inf")


BatchT = TypeVar("BatchT", bound=ListedBatch)


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a provider's list."""

    data: list[T]
    has_more: bool = False


async def fetched(calls: Calls, path: str, form: type[T], what: str, **queries: str) -> T:
    """Return what stands at a path, in its form; raise `EndpointError` if it has not that form in all attempts."""

    async def attempt() -> T:
        return decoded(await calls.once("GET", path, params=queries or None), form, what)

    return await calls.tried(attempt)


async def listed(
    calls: Calls, path: str, form: type[Page[BatchT]], *, since: float, after: str
) -> AsyncIterator[BatchT]:
    """Yield the batches in a provider's list, newest first, up to the page that reaches back to a time.

    `after` is the query that gives the id behind which a page begins.
    """
    behind: dict[str, str] = {}
    for _ in range(_MOST_PAGES):
        page = await fetched(calls, path, form, "a list of batches", limit=_PAGE, **behind)
        for batch in page.data:
            yield batch
        if not page.data or not page.has_more or page.data[-1].created < since:
            return
        behind = {after: safe_id(page.data[-1].id)}


def decoded(content: bytes, form: type[T], what: str) -> T:
    """Return an answer in its form, or raise `TransientError`."""
    try:
        return served_json.decoded(content, form)
    except msgspec.DecodeError as error:
        raise TransientError(f"expected {what} as JSON: {error}") from error


def submitted_id(content: bytes) -> str:
    """Return the id in the answer to a submission; raise `UnsureError` if it has none."""
    try:
        return safe_id(decoded(content, HasId, "a batch").id)
    except (TransientError, EndpointError) as error:
        raise UnsureError(str(error)) from error


def safe_id(name: str) -> str:
    """Return an id that may stand in an address, or raise `EndpointError`."""
    if not _ID.fullmatch(name) or set(name) == {"."}:
        raise EndpointError("expected an id of letters, digits, '-', '_' and '.', got something else from the server")
    return name


def read_rows(file: IO[bytes], form: type[T], row_of: Callable[[T], ResultRow]) -> Iterator[ResultRow]:
    """Yield a row for each line that is not empty; one that cannot be read is a damaged row, with its key if possible.

    Raises `TransientError` if a line is too long for any reply.
    """
    while line := file.readline(_MOST_LINE_BYTES):
        if len(line) == _MOST_LINE_BYTES:
            raise TransientError(f"expected lines of at most {_MOST_LINE_BYTES} bytes")
        if line.strip():
            try:
                yield row_of(served_json.decoded(line, form))
            except msgspec.DecodeError:
                found = set(_KEYS.findall(line))
                key = key_of(found.pop().decode()) if len(found) == 1 else ""
                yield ResultRow(key=key, is_damaged=True, is_cut=not line.endswith(b"\n"))


def answered_row(key: str, wire: Wire, content: msgspec.Raw) -> ResultRow:
    """Return the row of a request that was answered: the reply, or why it cannot be read."""
    try:
        return ResultRow(key=key, reply=reply_of(wire, content), is_done=True)
    except TransientError as error:
        return ResultRow(key=key, failure=str(error), is_done=True)


def key_of(custom_id: str) -> str:
    """Return a row's id as we write it."""
    return custom_id.strip().lower()
