"""HTTP calls to a provider about batches; files of any length are read from and written to the disk."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, TypeVar

from evidencebench.errors import EndpointError, MissingExtraError
from evidencebench.models.http import OK, Http, HttpAnswer, ask_often, hide_key
from evidencebench.models.llm.chat import ChatReply
from evidencebench.models.llm.credentials import Key, reply_without_key
from evidencebench.models.llm.providers import Server
from evidencebench.models.llm.refusals import failure_of
from evidencebench.web.transient import Retry, TransientError

if TYPE_CHECKING:
    import httpx

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
