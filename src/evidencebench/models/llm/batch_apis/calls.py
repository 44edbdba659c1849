"""HTTP calls to a provider about batches; files of any length are read from and written to the disk."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, TypeVar

from evidencebench.errors import EndpointError, MissingExtraError
from evidencebench.models.endpoints import shown, wait_before
from evidencebench.models.llm.chat import ChatReply
from evidencebench.models.llm.connections import certificates, content_of, exchange, new_client
from evidencebench.models.llm.credentials import Key, reply_without_key
from evidencebench.models.llm.providers import Server
from evidencebench.models.llm.refusals import failure_of
from evidencebench.web.transient import TransientError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_OK = range(200, 300)
_FIRST_SERVER_ERROR = 500
_REQUEST_TIMEOUT = 408
_CHUNK_BYTES = 1 << 20
_MOST_SHOWN_BYTES = 1 << 20
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
    longest_wait_seconds: float = 120.0  # before an attempt, even if the server asks for more
    settle_seconds: float = 60.0  # until a new batch is in the provider's list
    max_misses: int = 30  # how many looks at an open batch may fail in a row
    sleep: Callable[[float], Coroutine[Any, Any, object]] = asyncio.sleep
    jitter: Callable[[], float] = random.random  # a random number in 0..1, which makes waits differ
    today: Callable[[], datetime] = lambda: datetime.now(UTC)


class Calls:
    """Calls to one server. Use it as `async with calls_to(...) as calls`."""

    def __init__(self, client: "httpx.AsyncClient", server: Server, key: Key, settings: CallSettings) -> None:
        self._client, self._server, self._key, self.settings = client, server, key, settings

    @property
    def where(self) -> str:
        """The server's address, with which messages begin."""
        return self._server.base_url.partition("?")[0]

    async def fetch(self, path: str, into: IO[bytes], *, most_bytes: int) -> None:
        """Download a path into a file, which is emptied first; raises as `retry`."""

        async def attempt() -> None:
            into.seek(0)
            into.truncate()
            await self._exchange("GET", path, into, most_bytes)

        await self.retry(attempt)
        into.seek(0)

    async def retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return an attempt's result; repeat it after a `TransientError`, raise `EndpointError` after the last one."""
        number = 0
        while True:
            number += 1
            try:
                return await attempt()
            except TransientError as error:
                if number >= self.settings.max_attempts:
                    raise EndpointError(
                        f"{self.where}: no usable answer in {number} attempts, the last one: "
                        f"{self.shown(str(error))}; try again later"
                    ) from error
                seconds = wait_before(
                    number + 1,
                    asked_seconds=error.wait_seconds,
                    jitter=self.settings.jitter(),
                    longest_seconds=self.settings.longest_wait_seconds,
                )
            await self.settings.sleep(seconds)

    async def once(self, method: str, path: str, content: bytes | IO[bytes] | None = None, **more: Any) -> bytes:
        """Call once, with JSON from memory or a file, or httpx's arguments in `more`; return the body of the answer.

        Raises `UnsureError` if the server may have carried the call out, another `TransientError` if it did not and a
        further attempt may succeed, and `RefusedBatchError` if it refuses the content.
        """
        into = BytesIO()
        await self._exchange(method, path, into, _MOST_ANSWER_BYTES, content, **more)
        return into.getvalue()

    def shown(self, text: str) -> str:
        """Return the start of what a server said, on one line and without the key."""
        return shown(text, self._key.value)

    def without_key(self, reply: ChatReply) -> ChatReply:
        """Return a reply without the API key, which a server may repeat in it, so that it can be stored."""
        return reply_without_key(reply, self._key)

    async def _exchange(
        self,
        method: str,
        path: str,
        into: IO[bytes],
        most_bytes: int,
        content: bytes | IO[bytes] | None = None,
        **more: Any,
    ) -> None:
        """Call once, and write the body of a successful answer into a file."""

        async def read(reply: "httpx.Response") -> None:
            if reply.status_code not in _OK:
                raise self._refusal(path, reply, await content_of(reply, _MOST_SHOWN_BYTES))
            n_bytes = 0
            async for block in reply.aiter_raw():
                n_bytes += len(block)
                if n_bytes > most_bytes:
                    raise EndpointError(f"{self.where}{path}: expected an answer of at most {most_bytes} bytes")
                into.write(block)

        headers = {"Accept": "*/*"} | self._server.provider.headers(self._key.value)
        if content is not None:
            headers["Content-Type"] = "application/json"
            more["content"] = content
            if not isinstance(content, bytes):
                headers["Content-Length"] = str(content.seek(0, 2))  # httpx cannot know the length
                more["content"] = _blocks(content)
        await exchange(
            self._client,
            method,
            self._server.address(path),
            read,
            seconds=self.settings.total_timeout_seconds,
            key=self._key.value,
            unanswered=UnsureError,
            headers=headers,
            **more,
        )

    def _refusal(self, path: str, reply: "httpx.Response", content: bytes) -> Exception:
        status, now = reply.status_code, self.settings.today()
        where = f"{self.where}{path}"
        error = failure_of(status, reply.headers, content, where=where, key=self._key.value, now=now)
        is_unsure = status >= _FIRST_SERVER_ERROR or status == _REQUEST_TIMEOUT
        if isinstance(error, TransientError) and is_unsure:
            return UnsureError(str(error), error.wait_seconds)
        return RefusedBatchError(str(error)) if isinstance(error, EndpointError) else error


@asynccontextmanager
async def calls_to(
    server: Server, key: Key, settings: CallSettings, *, transport: "httpx.AsyncBaseTransport | None" = None
) -> AsyncIterator[Calls]:
    """Yield the `Calls` to a server; their connections are closed when the block ends."""
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            "batches: need httpx, which is not installed: pip install 'evidencebench[llm]'"
        ) from error
    async with new_client(
        is_loopback=server.is_loopback,
        transport=transport,
        verify=certificates(is_loopback=server.is_loopback),
        timeout=httpx.Timeout(settings.timeout_seconds),
        limits=httpx.Limits(),
    ) as client:
        yield Calls(client, server, key, settings)


async def _blocks(file: IO[bytes]) -> AsyncIterator[bytes]:
    file.seek(0)
    while block := file.read(_CHUNK_BYTES):
        yield block
