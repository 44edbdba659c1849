"""HTTP to one server, with limits on time and size, without redirects; errors tell whether the request was sent."""

import asyncio
import ssl
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from evidencebench.errors import EndpointError, FailingServerError
from evidencebench.models.endpoints import shown
from evidencebench.version import __version__
from evidencebench.web.transient import TransientError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_LONGEST_CONNECTING_SECONDS = 30.0
_IDLE_SECONDS = 4.0  # many servers close a connection after 5 idle seconds
_DECODERS = {  # window bits to try: servers send deflate with or without a header
    "gzip": (zlib.MAX_WBITS | 16,),
    "x-gzip": (zlib.MAX_WBITS | 16,),
    "deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS),
}


class NotSentError(TransientError):
    """The request did not reach the server, so that nothing was charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """A server's answer of any status; the names of `headers` are found in upper and lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Connections:
    """The connections to one server for one asyncio loop, each in an httpx client of its own.

    One client for all would be slow: its pool looks at every connection for each request, 12 ms for 200 connections.
    """

    def __init__(self, *, is_loopback: bool, transport: "httpx.AsyncBaseTransport | None" = None) -> None:
        self._is_loopback, self._transport = is_loopback, transport
        self._certificates = certificates(is_loopback=is_loopback)
        self._idle: list[httpx.AsyncClient] = []

    async def post(
        self, address: str, *, headers: Mapping[str, str], body: bytes, seconds: float, max_bytes: int, key: str
    ) -> HttpAnswer:
        """Post JSON and return the answer; `seconds` limits the time from connecting to the last byte."""

        async def read(reply: "httpx.Response") -> HttpAnswer:
            content = await content_of(reply, max_bytes)
            if len(content) > max_bytes:
                raise EndpointError(f"{address.partition('?')[0]}: expected a reply of at most {max_bytes} bytes")
            return HttpAnswer(status=reply.status_code, headers=reply.headers, content=content)

        sent: dict[str, Any] = {"content": body, "headers": {"Content-Type": "application/json", **headers}}
        client = self._idle.pop() if self._idle else self._new_client()  # the last one is most likely still open
        try:
            answer = await exchange(client, "POST", address, read, seconds=seconds, key=key, **sent)
        except BaseException:
            await client.aclose()
            raise
        self._idle.append(client)
        return answer

    async def aclose(self) -> None:
        """Close all idle connections."""
        while self._idle:
            await self._idle.pop().aclose()

    def _new_client(self) -> "httpx.AsyncClient":
        import httpx  # noqa: PLC0415 - an extra

        return new_client(
            is_loopback=self._is_loopback,
            transport=self._transport,
            verify=self._certificates,
            timeout=httpx.Timeout(None, connect=_LONGEST_CONNECTING_SECONDS),
            limits=httpx.Limits(max_connections=1, keepalive_expiry=_IDLE_SECONDS),
        )


async def exchange(
    client: "httpx.AsyncClient",
    method: str,
    address: str,
    read: Callable[["httpx.Response"], Awaitable[T]],
    *,
    seconds: float,
    key: str,
    unanswered: type[TransientError] = TransientError,
    **sent: Any,
) -> T:
    """Send a request and return what `read` returns for the answer; `seconds` limits the time for both.

    Raises `NotSentError` if the request did not reach the server, and `unanswered` if it may have.
    """
    import httpx  # noqa: PLC0415 - an extra

    unsent = (httpx.ConnectError, httpx.ProxyError, httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError)
    try:
        async with asyncio.timeout(seconds), client.stream(method, address, **sent) as reply:
            return await read(reply)
    except TimeoutError:
        failure = unanswered(f"no whole reply within {seconds:g} s")
    except (httpx.ConnectTimeout, httpx.PoolTimeout):
        failure = NotSentError(f"no connection within {min(_LONGEST_CONNECTING_SECONDS, seconds):g} s")
    except unsent as error:
        failure = NotSentError(shown(str(error) or type(error).__name__, key))
    except (httpx.HTTPError, ssl.SSLError) as error:
        failure = unanswered(shown(str(error) or type(error).__name__, key))
    raise failure  # raised here, so that it does not hold httpx's error, whose request holds the key


async def content_of(reply: "httpx.Response", max_bytes: int) -> bytes:
    """Return the body of an answer; if it is longer than `max_bytes`, only a start that is longer than that too."""
    content = bytearray()
    async for block in reply.aiter_raw():
        content += block
        if len(content) > max_bytes:
            break
    return _decode(bytes(content), reply.headers.get("Content-Encoding", ""), max_bytes)


def _decode(content: bytes, coding: str, max_bytes: int) -> bytes:
    """Return a body without its gzip or deflate coding, which some proxies add unasked; unchanged if decoding fails.

    httpx would decode a block as a whole, so that a small hostile body could fill the memory; and it would raise an
    error if the coding's name is wrong, so that a paid reply would be lost.
    """
    for window_bits in _DECODERS.get(coding.strip().lower(), ()):
        decoder = zlib.decompressobj(window_bits)
        try:
            decoded = decoder.decompress(content, max_bytes + 1)
        except zlib.error:
            continue
        if decoder.eof or len(decoded) > max_bytes:
            return decoded
    return content


def certificates(*, is_loopback: bool) -> ssl.SSLContext:
    """Return the trusted certificates. Loading them is slow, so call it once a server."""
    import httpx  # noqa: PLC0415 - an extra

    return _make_from_environment(lambda: httpx.create_ssl_context(trust_env=not is_loopback))


def new_client(
    *,
    is_loopback: bool,
    transport: "httpx.AsyncBaseTransport | None",
    verify: ssl.SSLContext,
    timeout: "httpx.Timeout",
    limits: "httpx.Limits",
) -> "httpx.AsyncClient":
    """Return a client that follows no redirect, keeps no cookie, and uses no proxy for this machine."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy  # noqa: PLC0415 - slow to import

    import httpx  # noqa: PLC0415 - an extra

    return _make_from_environment(
        lambda: httpx.AsyncClient(
            transport=transport,
            verify=verify,
            timeout=timeout,
            limits=limits,
            follow_redirects=False,
            trust_env=not is_loopback,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": f"evidencebench/{__version__}",
            },
        )
    )


def _make_from_environment(make: Callable[[], T]) -> T:
    """Return the result of `make`, which reads the environment; errors show no value of it, such as a password."""
    import httpx  # noqa: PLC0415 - an extra

    try:
        return make()
    except ImportError:
        failure = "a SOCKS proxy is set, which needs socksio; pip install 'httpx[socks]', or unset ALL_PROXY"
    except (ValueError, httpx.InvalidURL):
        failure = "the proxy's address cannot be used; correct HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY"
    except OSError:  # includes ssl.SSLError
        failure = "the certificates cannot be loaded; correct SSL_CERT_FILE and SSL_CERT_DIR"
    raise FailingServerError(f"servers of models: the environment: {failure}")  # here, so that it holds no other error
