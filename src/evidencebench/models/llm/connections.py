"""Connections to one server: one exchange over HTTP at a time on each, bounded in time and size, nothing followed."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from evidencebench.errors import EndpointError, FailingServerError
from evidencebench.models.endpoints import PassingError, shown
from evidencebench.version import __version__

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_LONGEST_CONNECTING_SECONDS = 30.0
_IDLE_SECONDS = 4.0  # many servers close what was idle for 5
_DECODERS = {  # some wrap deflate and some do not
    "gzip": (zlib.MAX_WBITS | 16,),
    "x-gzip": (zlib.MAX_WBITS | 16,),
    "deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS),
}


class NotSentError(PassingError):
    """Nothing reached the server, so that nothing can have been charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What a server sent back, whatever its status; `headers` are found in any case of letters."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Connections:
    """The connections to one server, each in a client of its own, for one asyncio loop.

    The pool of httpx looks at all of its connections for each request: with 200 of them that took 12 ms of computing.

    Parameters
    ----------
    is_loopback
        Whether the server is on this machine, where proxies are not used.
    transport
        How requests travel; None: over the network.

    Raises
    ------
    FailingServerError
        If the environment's settings of certificates cannot be used.
    """

    def __init__(self, *, is_loopback: bool, transport: "httpx.AsyncBaseTransport | None" = None) -> None:
        self._new_client = _client_maker(is_loopback=is_loopback, transport=transport)
        self._idle: list[httpx.AsyncClient] = []

    async def exchange(
        self, address: str, *, headers: Mapping[str, str], body: bytes, seconds: float, max_bytes: int, key: str
    ) -> HttpAnswer:
        """Post JSON and return what comes back.

        Parameters
        ----------
        address
            Where to.
        headers
            Sent beside our own.
        body
            JSON.
        seconds
            From connecting to the last byte.
        max_bytes
            Of the reply.
        key
            What messages must not show.

        Raises
        ------
        NotSentError
            If the server was not reached.
        PassingError
            If no whole reply came in time.
        EndpointError
            If it is too large.
        FailingServerError
            If the environment's settings of proxies cannot be used.
        """
        import httpx  # noqa: PLC0415 - an extra

        kind = PassingError
        try:
            async with asyncio.timeout(seconds), self._client() as client:
                return await _posted(client, address, dict(headers), body, max_bytes)
        except TimeoutError:
            failure = f"no whole reply within {seconds:g} s"
        except httpx.TimeoutException:
            failure = f"no connection within {min(_LONGEST_CONNECTING_SECONDS, seconds):g} s"
            kind = NotSentError
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            failure = shown(str(error) or type(error).__name__, key)
            unsent = (httpx.ConnectError, httpx.ProxyError, httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError)
            kind = NotSentError if isinstance(error, unsent) else PassingError
        raise kind(failure)  # here, so that it does not hold the library's error, whose request holds the key

    async def aclose(self) -> None:
        """Close what is idle."""
        while self._idle:
            await self._idle.pop().aclose()

    @asynccontextmanager
    async def _client(self) -> "AsyncIterator[httpx.AsyncClient]":
        """Give a client that nobody else uses: the last one used, whose connection is the most likely to be open."""
        client = self._idle.pop() if self._idle else self._new_client()
        try:
            yield client
        except BaseException:
            await client.aclose()
            raise
        self._idle.append(client)


async def _posted(
    client: "httpx.AsyncClient", address: str, headers: dict[str, str], body: bytes, max_bytes: int
) -> HttpAnswer:
    async with client.stream("POST", address, content=body, headers=headers) as reply:
        content = bytearray()
        async for block in reply.aiter_raw():
            content += block
            if len(content) > max_bytes:
                raise EndpointError(f"{address.partition('?')[0]}: expected a reply of at most {max_bytes} bytes")
        decoded = _decoded(bytes(content), reply.headers.get("Content-Encoding", ""), max_bytes)
        if len(decoded) > max_bytes:
            raise EndpointError(f"{address.partition('?')[0]}: expected a reply of at most {max_bytes} bytes")
        return HttpAnswer(status=reply.status_code, headers=reply.headers, content=decoded)


def _decoded(content: bytes, coding: str, max_bytes: int) -> bytes:
    """Return a body out of its coding, which some proxies use unasked, or as it is where it cannot be decoded.

    Not by httpx, which may make a thousand bytes of each before the bound is looked at. Stops behind `max_bytes`.
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


def _client_maker(
    *, is_loopback: bool, transport: "httpx.AsyncBaseTransport | None"
) -> "Callable[[], httpx.AsyncClient]":
    from http.cookiejar import CookieJar, DefaultCookiePolicy  # noqa: PLC0415 - slow to import

    import httpx  # noqa: PLC0415 - an extra

    certificates = _made(lambda: httpx.create_ssl_context(trust_env=not is_loopback))  # slow to load: once a server

    def make() -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=transport,
            verify=certificates,
            timeout=httpx.Timeout(None, connect=_LONGEST_CONNECTING_SECONDS),
            limits=httpx.Limits(max_connections=1, keepalive_expiry=_IDLE_SECONDS),
            follow_redirects=False,
            trust_env=not is_loopback,  # proxies are for other machines
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "Content-Type": "application/json",
                "User-Agent": f"evidencebench/{__version__}",
            },
        )

    return lambda: _made(make)


def _made(make: Callable[[], T]) -> T:
    """Return what is made of the environment's settings; messages show none, since proxies have passwords."""
    import httpx  # noqa: PLC0415 - an extra

    try:
        return make()
    except ImportError:
        failure = "a SOCKS proxy is set, which needs socksio; pip install 'httpx[socks]', or unset ALL_PROXY"
    except (ValueError, httpx.InvalidURL):
        failure = "the proxy's address cannot be used; correct HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY"
    except OSError:  # also those of certificates
        failure = "the certificates cannot be loaded; correct SSL_CERT_FILE and SSL_CERT_DIR"
    raise FailingServerError(f"language models: the environment: {failure}")  # here, so that it holds no other error
