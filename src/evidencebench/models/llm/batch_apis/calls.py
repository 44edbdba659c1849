"""Plain HTTP calls to a provider, with files of any length from and to the disk."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import IO, TYPE_CHECKING, Any, TypeVar

from evidencebench.errors import EndpointError, MissingExtraError
from evidencebench.models.endpoints import PassingError, shown, wait_before
from evidencebench.models.llm.chat import ChatReply
from evidencebench.models.llm.credentials import Key, reply_without_key
from evidencebench.models.llm.providers import Server
from evidencebench.models.llm.refusals import failure_of
from evidencebench.version import __version__

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_OK = range(200, 300)
_FIRST_SERVER_ERROR = 500
_REQUEST_TIMEOUT = 408
_CHUNK_BYTES = 1 << 20
_MOST_SHOWN_BYTES = 1 << 20


class RefusedBatchError(EndpointError):
    """The server refuses what was sent, for what stands in it."""


class UnsureError(PassingError):
    """What was sent may have been done, though no answer says so: doing it again could do it twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """How long calls are tried.

    Attributes
    ----------
    max_attempts
        For each call, the first included.
    timeout_seconds
        Without a byte coming or going.
    total_timeout_seconds
        For one attempt.
    longest_wait_seconds
        The most that is waited before an attempt, also where the server asks for more.
    sleep, jitter, today
        What waits, a number in 0..1 by which waits are spread, and the time for a date that a server asks to wait for.
    """

    max_attempts: int = 6
    timeout_seconds: float = 120.0
    total_timeout_seconds: float = 3600.0
    longest_wait_seconds: float = 120.0
    sleep: Callable[[float], Coroutine[Any, Any, object]] = asyncio.sleep
    jitter: Callable[[], float] = random.random
    today: Callable[[], datetime] = lambda: datetime.now(UTC)


class Calls:
    """Calls to one server. Use it as `async with calls_to(...) as calls`.

    Parameters
    ----------
    client
        What carries them.
    server, key
        Who is asked, and with which key.
    patience
        How long they are tried.
    """

    def __init__(self, client: "httpx.AsyncClient", server: Server, key: Key, patience: CallSettings) -> None:
        self._client, self._server, self._key, self._patience = client, server, key, patience

    @property
    def where(self) -> str:
        """What messages begin with."""
        return self._server.base_url.partition("?")[0]

    async def fetch(self, path: str, into: IO[bytes], *, most_bytes: int) -> None:
        """Write what stands at a path into a file, from its beginning; raises as `tried`."""

        async def attempt() -> None:
            into.seek(0)
            into.truncate()
            n_bytes = 0
            async with self._asked("GET", path, {}, b"", {}) as blocks:
                async for block in blocks:
                    n_bytes += len(block)
                    if n_bytes > most_bytes:
                        raise EndpointError(f"{self.where}{path}: expected at most {most_bytes} bytes")
                    into.write(block)

        await self.tried(attempt)
        into.seek(0)

    async def tried(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return what an attempt returns, made again while it raises `PassingError`.

        Raises
        ------
        EndpointError
            If it does so in all attempts allowed.
        """
        for number in range(1, self._patience.max_attempts + 1):
            try:
                return await attempt()
            except PassingError as error:
                await self.waited(error, number)
        raise AssertionError

    async def waited(self, error: PassingError, number: int) -> None:
        """Wait after a failed attempt, counted from 1.

        Raises
        ------
        EndpointError
            If it was the last one.
        """
        if number >= self._patience.max_attempts:
            raise EndpointError(
                f"{self.where}: no usable answer in {number} attempts, the last one: {self.shown(str(error))}; "
                "try again later"
            )
        await self.nap(
            wait_before(
                number + 1,
                asked_seconds=error.wait_seconds,
                jitter=self._patience.jitter(),
                longest_seconds=self._patience.longest_wait_seconds,
            )
        )

    async def nap(self, seconds: float) -> None:
        """Wait."""
        await self._patience.sleep(seconds)

    async def once(
        self,
        method: str,
        path: str,
        *,
        content: bytes | IO[bytes] = b"",
        content_type: str = "application/json",
        queries: Mapping[str, str] | None = None,
        most_bytes: int = 64 << 20,
    ) -> bytes:
        """Return the body of the answer to one attempt.

        Parameters
        ----------
        method, path, queries
            What is asked; the path stands behind the base URL.
        content, content_type
            What is sent, in memory or from the beginning of a file.
        most_bytes
            The longest answer.

        Raises
        ------
        UnsureError
            If it may have been done.
        PassingError
            If it was not, and the next attempt may succeed.
        RefusedError
            If it is refused for what was sent.
        EndpointError, FailingServerError
            If no attempt will succeed.
        """
        headers = {"Content-Type": content_type} if method == "POST" else {}
        found = bytearray()
        async with self._asked(method, path, queries or {}, content, headers) as blocks:
            async for block in blocks:
                found += block
                if len(found) > most_bytes:
                    raise EndpointError(f"{self.where}{path}: expected an answer of at most {most_bytes} bytes")
        return bytes(found)

    def shown(self, text: str) -> str:
        """Return the start of what a server said, on one line and without the key."""
        return shown(text, self._key.value)

    def without_key(self, reply: ChatReply) -> ChatReply:
        """Return a reply that can be stored: a server may tell the key back in it."""
        return reply_without_key(reply, self._key)

    @asynccontextmanager
    async def _asked(
        self, method: str, path: str, queries: Mapping[str, str], content: bytes | IO[bytes], headers: dict[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give the blocks of an answer of status 200; what goes wrong while they are read is told apart here too."""
        import httpx  # noqa: PLC0415 - an extra

        body, length = _sendable(content)
        sent = {**headers, **self._server.provider.headers(self._key.value), **length}
        failure: Exception
        try:
            async with (
                asyncio.timeout(self._patience.total_timeout_seconds),
                self._client.stream(
                    method, self._server.address(path), params=queries or None, content=body, headers=sent
                ) as reply,
            ):
                if reply.status_code not in _OK:
                    raise self._refusal(path, reply, await _start(reply))
                yield reply.aiter_raw()
                return
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            failure = PassingError(self.shown(str(error) or "no connection"))
        except (httpx.TransportError, TimeoutError) as error:
            failure = UnsureError(self.shown(str(error) or f"no whole answer in time: {type(error).__name__}"))
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            failure = EndpointError(f"{self.where}{path}: cannot be asked: {self.shown(str(error))}")
        raise failure  # here, so that it does not hold the library's error, whose request holds the key

    def _refusal(self, path: str, reply: "httpx.Response", content: bytes) -> Exception:
        status = reply.status_code
        error = failure_of(
            status,
            reply.headers,
            content,
            where=f"{self.where}{path}",
            key=self._key.value,
            now=self._patience.today(),
        )
        is_unsure = status >= _FIRST_SERVER_ERROR or status == _REQUEST_TIMEOUT
        if isinstance(error, PassingError) and is_unsure:
            return UnsureError(str(error), error.wait_seconds)
        return RefusedBatchError(str(error)) if isinstance(error, EndpointError) else error


@asynccontextmanager
async def calls_to(
    server: Server, key: Key, patience: CallSettings, *, transport: "httpx.AsyncBaseTransport | None" = None
) -> AsyncIterator[Calls]:
    """Give calls to a server, over connections that are closed when the block ends.

    Raises
    ------
    MissingExtraError
        If httpx is not installed.
    """
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            "batches: need httpx, which is not installed: pip install 'evidencebench[llm]'"
        ) from error
    async with httpx.AsyncClient(
        transport=transport,
        timeout=patience.timeout_seconds,
        follow_redirects=False,
        trust_env=not server.is_loopback,  # proxies are for other machines
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        headers={"Accept-Encoding": "identity", "User-Agent": f"evidencebench/{__version__}"},
    ) as client:
        yield Calls(client, server, key, patience)


def _sendable(content: bytes | IO[bytes]) -> tuple[bytes | AsyncIterator[bytes], dict[str, str]]:
    """Return content as httpx takes it, and the header that it cannot know: a file's length."""
    if isinstance(content, bytes):
        return content, {}
    length = content.seek(0, 2)
    return _blocks(content), {"Content-Length": str(length)}


async def _blocks(file: IO[bytes]) -> AsyncIterator[bytes]:
    file.seek(0)
    while block := file.read(_CHUNK_BYTES):
        yield block


async def _start(reply: "httpx.Response") -> bytes:
    """Return enough of a refusal to tell what it says."""
    content = bytearray()
    async for block in reply.aiter_raw():
        content += block
        if len(content) > _MOST_SHOWN_BYTES:
            break
    return bytes(content)
