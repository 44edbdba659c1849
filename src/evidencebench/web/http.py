"""HTTP to servers: addresses and keys are checked, time and size are limited, failures are tried again."""

import asyncio
import atexit
import base64
import concurrent.futures
import html
import io
import ipaddress
import json
import math
import os
import re
import secrets
import ssl
import threading
import time
import weakref
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import parse_qsl, quote, quote_plus, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from evidencebench.errors import DrainingError, EndpointError, FailingServerError, SystemSpecError
from evidencebench.tables import printable
from evidencebench.version import __version__
from evidencebench.web.retry import Retry, TooLongWaitError, TransientError, Tries
from evidencebench.wording import counted

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

OK = range(200, 300)
_CONNECT_SECONDS = 30.0
_HEAD_SILENCES = 2  # so many longest silences may pass before the head is whole; of a silent server, one ends
_MOST_HEADER_BYTES = 1 << 16  # of one header, or of the status line
_ENVIRONMENT = "servers of models: the environment"
_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": f"evidencebench/{__version__}",
}
CLOSED = "the client was closed before all replies came; make a new client to resume"
_WINDOW_BITS = (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS)  # with the header of gzip or deflate, and deflate without one


class NotSentError(TransientError):
    """The request did not reach the server, so nothing was charged."""


class UntrustedError(NotSentError):
    """Nobody whom this machine trusts vouches for the server's certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """A server's answer of any status; `headers` ignore case."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""  # empty where something else received it
    reason: str = ""

    @property
    def said_status(self) -> str:
        """The status as the server put it: ``404 Not Found``."""
        return f"{self.status} {self.reason}".strip()

    @property
    def length(self) -> int | None:
        """The bytes of the content, where they are told."""
        value = self.headers.get("Content-Length", "")
        return int(value) if value.isdigit() else None


Receive = Callable[[HttpAnswer], Callable[[bytes], object] | None]
"""Given an answer before its content, returns what takes that a block at a time; None: it is kept in the answer."""


_OPEN: "weakref.WeakSet[Http]" = weakref.WeakSet()


@atexit.register
def _close_open() -> None:
    for http in list(_OPEN):
        http.close()


class Http:
    """Connections to one server: no redirects, no cookies, no proxy for this machine. Any thread may use it."""

    def __init__(self, base_url: str, transport: "Transport | None" = None) -> None:
        self._transport = transport
        self._trusts_env = not is_this_machine(base_url)
        self._proxy = _proxy_of(base_url) if self._trusts_env else None
        self._certificates = _certificates(base_url, trusts_env=self._trusts_env)
        self._sessions: list[aiohttp.ClientSession] = []  # one, once something was asked
        self._running: set[asyncio.Task[HttpAnswer]] = set()  # of the loop
        self._is_closed = False
        weakref.finalize(self, _close_forgotten, self._sessions).atexit = False
        _OPEN.add(self)

    def request(self, method: str, address: str, **more: Any) -> HttpAnswer:
        """Return the answer to a plain thread; the arguments are those of `requesting`, and so are the errors."""
        return wait_for(self.requesting(method, address, **more))

    async def requesting(
        self,
        method: str,
        address: str,
        *,
        headers: Mapping[str, str],
        seconds: float,  # for all
        most_bytes: int,  # of the answer
        key: str,
        body: bytes | IO[bytes] | None = None,
        upload: "Upload | None" = None,  # in place of a body
        queries: Mapping[str, str] | None = None,
        receive: Receive = lambda _: None,
        idle_seconds: float | None = None,  # without a byte
        least_bytes_a_second: float = 0.0,  # over `idle_seconds`; the head comes within two of them then
        unanswered: type[TransientError] = TransientError,
        on_first_byte: Callable[[], object] = lambda: None,  # of the answer's content
    ) -> HttpAnswer:
        """Raise `NotSentError` if the request did not reach the server, and `unanswered` if it may have."""
        import aiohttp  # noqa: PLC0415 - takes a tenth of a second
        from yarl import URL  # noqa: PLC0415 - comes with it

        body_headers, content = _content_of(body if upload is None else upload)
        all_headers = _HEADERS | body_headers | dict(headers)
        if queries:
            address = f"{address}{'&' if '?' in address else '?'}{urlencode(queries)}"
        try:
            url = URL(address, encoded=True)
        except ValueError as error:
            raise NotSentError(hide_key(str(error), key)) from None

        async def exchange() -> HttpAnswer:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                if self._transport is not None:
                    sent = b"".join([block async for block in _read_blocks(content)])
                    answer = await _over(self._transport, method, address, all_headers, sent)
                    _require_size(len(answer.content), most_bytes, address)
                    return answer
                async with asyncio.timeout(
                    _HEAD_SILENCES * idle_seconds if least_bytes_a_second and idle_seconds else None
                ):
                    reply = await self._session().request(
                        method,
                        url,
                        headers=all_headers,
                        data=content,
                        proxy=self._proxy,
                        timeout=aiohttp.ClientTimeout(
                            total=None, sock_connect=_CONNECT_SECONDS, sock_read=idle_seconds
                        ),
                        allow_redirects=False,
                    )
                pace = _Pace(least_bytes_a_second, idle_seconds or 0.0)
                async with reply:
                    return await _read(reply, most_bytes, receive, address, on_first_byte, pace=pace)

        work = asyncio.ensure_future(exchange())
        self._running.add(work)
        if self._is_closed:
            work.cancel()
        try:
            return await work
        except (TimeoutError, aiohttp.ClientError, ssl.SSLError) as error:
            failure = _failure(error, unanswered, seconds=seconds, idle_seconds=idle_seconds, key=key)
        except (asyncio.CancelledError, RuntimeError):  # the latter: aiohttp's, of a connection that is closed
            task = asyncio.current_task()
            if not self._is_closed or (task is not None and task.cancelling()):
                raise
            failure = DrainingError(CLOSED)
        finally:
            self._running.discard(work)
        raise failure  # here, so that it does not hold aiohttp's error, whose request holds the key

    def close(self) -> None:
        """End what runs; nothing begins after this."""
        self._is_closed = True
        if self._running or self._sessions:
            wait_for(self._end())

    async def _end(self) -> None:
        for work in list(self._running):
            work.cancel()
        await _close_all(self._sessions)

    def _session(self) -> "aiohttp.ClientSession":
        """Return the session of this server; called on the loop, where it belongs."""
        import aiohttp  # noqa: PLC0415 - takes a tenth of a second

        if not self._sessions:
            connector = aiohttp.TCPConnector(
                limit=0,  # the caller keeps one
                keepalive_timeout=4.0,  # many servers close idle connections after 5 s
                ssl=self._certificates,
            )
            self._sessions.append(
                aiohttp.ClientSession(
                    connector=connector,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    auto_decompress=False,
                    trust_env=False,
                    max_line_size=_MOST_HEADER_BYTES,
                    max_field_size=_MOST_HEADER_BYTES,
                )
            )
        return self._sessions[0]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as a form's field ``file``, beside fields of text; its size is known before it is sent."""

    fields: Mapping[str, str]
    name: str
    media_type: str
    file: IO[bytes]
    _mark: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def headers(self) -> dict[str, str]:
        size = len(self._beginning) + self.file.seek(0, io.SEEK_END) + len(self._end)
        return {"Content-Type": f"multipart/form-data; boundary={self._mark}", "Content-Length": str(size)}

    async def blocks(self) -> AsyncIterator[bytes]:
        yield self._beginning
        async for block in _blocks(self.file):
            yield block
        yield self._end

    @property
    def _beginning(self) -> bytes:
        disposition = "Content-Disposition: form-data; name"
        parts = [f'--{self._mark}\r\n{disposition}="{name}"\r\n\r\n{text}\r\n' for name, text in self.fields.items()]
        of_file = f'{disposition}="file"; filename="{self.name}"\r\nContent-Type: {self.media_type}'
        return "".join([*parts, f"--{self._mark}\r\n{of_file}\r\n\r\n"]).encode()

    @property
    def _end(self) -> bytes:
        return f"\r\n--{self._mark}--\r\n".encode()


_Content = io.BytesIO | AsyncIterator[bytes] | None


def _content_of(body: bytes | IO[bytes] | Upload | None) -> tuple[dict[str, str], _Content]:
    """Return the headers and the content of a request's body."""
    if body is None:
        return {}, None
    if isinstance(body, Upload):
        return body.headers, body.blocks()
    if isinstance(body, bytes):
        return {"Content-Type": "application/json"}, io.BytesIO(body)
    size = body.seek(0, io.SEEK_END)
    return {"Content-Type": "application/json", "Content-Length": str(size)}, _blocks(body)


class Transport(Protocol):
    """What answers in place of the network, as httpx's transports do: for tests of what asks servers."""

    async def handle_async_request(self, request: Any, /) -> Any:
        """Return the response to a request, both httpx's."""


async def _over(
    transport: Transport, method: str, address: str, headers: Mapping[str, str], content: bytes
) -> HttpAnswer:
    import httpx  # noqa: PLC0415 - of whoever made the transport

    try:
        reply = await transport.handle_async_request(
            httpx.Request(method, address, headers=dict(headers), content=content)
        )
        read = b"".join([block async for block in reply.aiter_raw()])
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NotSentError(str(error)) from None
    except httpx.HTTPError as error:
        raise TransientError(str(error) or type(error).__name__) from None
    return HttpAnswer(status=reply.status_code, headers=reply.headers, content=read)


async def _read_blocks(content: _Content) -> AsyncIterator[bytes]:
    if isinstance(content, io.BytesIO):
        yield content.getvalue()
    elif content is not None:
        async for block in content:
            yield block


async def _close_all(sessions: "list[aiohttp.ClientSession]") -> None:
    while sessions:
        await sessions.pop().close()


def _close_forgotten(sessions: "list[aiohttp.ClientSession]") -> None:
    """Close the connections of an `Http` that nobody holds any more."""
    if sessions:
        asyncio.run_coroutine_threadsafe(_close_all(sessions), loop())


# Callers are plain threads. Only on a loop can the whole time of a request be limited, and one in flight be cancelled.
_LOOPS: list[asyncio.AbstractEventLoop] = []  # one, once something was asked
_LOOP_LOCK = threading.RLock()  # which a signal's handler may take again


def loop() -> asyncio.AbstractEventLoop:
    if not _LOOPS:
        with _LOOP_LOCK:
            if not _LOOPS:
                made = asyncio.new_event_loop()
                threading.Thread(target=made.run_forever, name="evidencebench-http", daemon=True).start()
                _LOOPS.append(made)
    return _LOOPS[0]


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Return a coroutine's result to a plain thread, whose interrupt cancels it; it runs on the loop of all servers."""
    future = asyncio.run_coroutine_threadsafe(work, loop())
    try:
        return future.result()
    finally:
        future.cancel()  # does nothing if the work is done


async def in_thread(work: Callable[[], T]) -> T:
    """Return what a blocking function returns, from a thread that the end of the program does not wait for."""
    future = concurrent.futures.Future[T]()

    def call() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            future.set_exception(error)

    threading.Thread(target=call, name="evidencebench-blocking", daemon=True).start()
    return await asyncio.wrap_future(future)


def _failure(
    error: BaseException, unanswered: type[TransientError], *, seconds: float, idle_seconds: float | None, key: str
) -> Exception:
    import aiohttp  # noqa: PLC0415 - takes a tenth of a second

    unsent = (
        aiohttp.ConnectionTimeoutError
        | aiohttp.ClientConnectorError
        | aiohttp.ClientHttpProxyError
        | aiohttp.InvalidURL
    )
    kind = NotSentError if isinstance(error, unsent) else unanswered
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        kind = UntrustedError
    return kind(hide_key(_reason(error, seconds=seconds, idle_seconds=idle_seconds), key))


def _reason(error: BaseException, *, seconds: float, idle_seconds: float | None) -> str:
    import aiohttp  # noqa: PLC0415 - as above

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"no connection within {min(_CONNECT_SECONDS, seconds):g} s"
    if isinstance(error, aiohttp.SocketTimeoutError):
        return f"no byte came for {idle_seconds:g} s"
    if isinstance(error, TimeoutError):
        what, limit = ("whole reply", seconds)
        if math.isinf(seconds):  # of the head alone
            what, limit = ("answer", _HEAD_SILENCES * (idle_seconds or 0))
        return f"no {what} within {limit:g} s"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the connection ended before the answer did"
    if isinstance(error, OSError) and (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)
    return str(error) or type(error).__name__


class _Pace:
    """The least speed of an answer's content: a server that sends a byte now and then would have no end."""

    def __init__(self, least_bytes_a_second: float, seconds: float) -> None:
        self._least, self._seconds, self._began_at = least_bytes_a_second, seconds, time.monotonic()

    def check(self, n_bytes: int) -> None:
        taken = time.monotonic() - self._began_at
        if taken > self._seconds and n_bytes < self._least * taken:
            raise TransientError(f"fewer than {self._least:,} bytes a second came for {taken:.3g} s")


async def _read(
    reply: "aiohttp.ClientResponse",
    most_bytes: int,
    receive: Receive,
    address: str,
    on_first_byte: Callable[[], object],
    *,
    pace: "_Pace",
) -> HttpAnswer:
    """Read an answer, decoded unless something else receives it; a small body could be decoded into a huge one."""
    content, n_bytes = io.BytesIO(), 0
    begun = HttpAnswer(status=reply.status, headers=reply.headers, reason=reply.reason or "")
    _require_size(begun.length or 0, most_bytes, address)
    take = receive(begun) or content.write
    async for block in reply.content.iter_any():
        if not n_bytes:
            on_first_byte()
        n_bytes += len(block)
        if n_bytes > most_bytes:
            break
        take(block)
        pace.check(n_bytes)
    decoded = _decode(content.getvalue(), reply.headers.get("Content-Encoding", ""), most_bytes)
    _require_size(max(n_bytes, len(decoded)), most_bytes, address)
    return replace(begun, content=decoded)


def _require_size(n_bytes: int, most_bytes: int, address: str) -> None:
    if n_bytes > most_bytes:
        raise EndpointError(f"{address.partition('?')[0]}: expected a reply of at most {most_bytes} bytes")


def _decode(content: bytes, coding: str, most_bytes: int) -> bytes:
    """Undo gzip or deflate, which some proxies add unasked. If that fails, keep the content: a paid reply counts."""
    for window_bits in _WINDOW_BITS if coding.strip().lower() in {"gzip", "x-gzip", "deflate"} else ():
        decoder = zlib.decompressobj(window_bits)
        try:
            decoded = decoder.decompress(content, most_bytes + 1)
        except zlib.error:
            continue
        if decoder.eof or len(decoded) > most_bytes:
            return decoded
    return content


async def _blocks(file: IO[bytes]) -> AsyncIterator[bytes]:
    file.seek(0)
    while block := file.read(1 << 20):
        yield block


def _proxy_of(base_url: str) -> str | None:
    """Return the proxy that the environment names for a server; no error shows its address, which may hold a password.

    Source: the variables are those of curl and Python: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.
    """
    parts, proxies = urlsplit(base_url), getproxies()
    if proxy_bypass(parts.hostname or ""):
        return None
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    scheme, separator, _ = proxy.partition("://")
    if scheme.startswith("socks"):
        raise FailingServerError(f"{_ENVIRONMENT}: a SOCKS proxy is set; set an http proxy, or unset ALL_PROXY")
    if separator and scheme not in {"http", "https"}:
        correct = "correct HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY"
        raise FailingServerError(f"{_ENVIRONMENT}: the proxy's address cannot be used; {correct}")
    return proxy if separator else f"http://{proxy}"


def _certificates(base_url: str, *, trusts_env: bool) -> ssl.SSLContext:
    if not trusts_env and urlsplit(base_url).scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # of a server that shows no certificate; it trusts none
    file, folder = (os.environ.get(name) or None if trusts_env else None for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except OSError:  # includes ssl.SSLError
        pass
    raise FailingServerError(
        f"{_ENVIRONMENT}: the certificates cannot be loaded; correct SSL_CERT_FILE and SSL_CERT_DIR"
    )


def ask_often(retry: Retry, attempt: Callable[[Tries], T], where: str) -> T:
    with last_failure_told(where):
        return retry.call(attempt)


@contextmanager
def last_failure_told(where: str) -> Iterator[None]:
    """Tell of the last failed attempt at a request what a user can do."""
    try:
        yield
    except TooLongWaitError as error:
        raise FailingServerError(
            f"{where}: {error}; the server asks to wait for {error.wait_seconds:.0f} s, which is longer than a request "
            "may take; run again then: what is stored is kept"
        ) from None
    except TransientError as last:
        attempts = counted(last.n_attempts, "attempt")
        if type(last) is NotSentError:
            raise EndpointError(f"{where}: cannot connect ({last}); is the server running?") from None
        raise EndpointError(
            f"{where}: no usable reply in {attempts}, the last: {last}; try again later, or raise max_attempts or "
            "timeout_seconds"
        ) from None


def check_address(where: str, base_url: str, *, queries: frozenset[str] = frozenset()) -> None:
    if not is_web_address(base_url):
        got = "" if base_url else ", got none behind 'base_url='; set the shell variable there, or leave base_url out"
        raise SystemSpecError(f"{where}: base_url: expected an http or https address such as https://host/v1{got}")
    parts = urlsplit(base_url)
    names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    has_query = bool(parts.query) and (not names or not names <= queries)
    if parts.username is not None or parts.password is not None or has_query or parts.fragment:
        raise SystemSpecError(
            f"{where}: base_url: expected an address without user, password, query or fragment, since it stands "
            "in the run; name the variable that holds a key with key_env"
        )


def check_key(where: str, base_url: str, *, key_env: str, key: str) -> None:
    if key_env and not is_visible(key):
        raise SystemSpecError(
            f"{where}: key_env: the key in {key_env} has a character that a request cannot carry, such as a line end "
            "or a letter with an accent; set it to visible ASCII characters alone"
        )
    if not key_env or is_this_machine(base_url):
        return
    if not key:
        raise SystemSpecError(
            f"{where}: {key_env} is not set: put your key into this environment variable, or give key_env= if the "
            "server needs none"
        )
    if urlsplit(base_url).scheme == "http":
        raise SystemSpecError(
            f"{where}: base_url: expected https, since http to another machine shows the key to all between; give "
            "key_env= if the server needs none"
        )


def is_loopback(host: str) -> bool:
    """Whether a host is one that this machine alone reaches."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_this_machine(address: str) -> bool:
    """Whether a server is on this machine; ``0.0.0.0`` and ``[::]``, as servers tell their own address, are."""
    host = urlsplit(address).hostname or ""
    return is_loopback(host) or host in {"0.0.0.0", "::"}  # noqa: S104 - asked, not listened to


def is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and is_visible(address)
    except ValueError:  # a bracket that is not closed, a port that is no number or above 65535
        return False


def is_visible(text: str) -> bool:
    """Whether an address or a key has no character that a request cannot carry: ASCII alone, without spaces."""
    return re.fullmatch("[!-~]*", text) is not None


def sendable(text: str) -> str:
    """Replace halves of surrogate pairs, which some PDFs give and JSON cannot carry, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def without_key(text: str, key: str) -> str:
    """Replace every form of the key in which a server may repeat it by stars.

    >>> without_key("no such key: sk-1%2F2, or sk-1/2", "sk-1/2")
    'no such key: ***, or ***'
    """
    escaped = json.dumps(key)[1:-1]
    coded = {quote(key, safe=""), quote(key), quote_plus(key)}
    bases = {base64.b64encode(key.encode()).decode(), base64.urlsafe_b64encode(key.encode()).decode()}
    lower = {re.sub("%..", lambda code: code[0].lower(), form) for form in coded}
    forms = {key, repr(key)[1:-1], escaped, escaped.replace("/", "\\/"), html.escape(key), *coded, *lower, *bases}
    for form in sorted(forms, key=len, reverse=True) if key else ():
        text = text.replace(form, "***")
    return text


def hide_key(text: str, key: str) -> str:
    """Return the start of what a server said, on one line and without the key."""
    return printable(without_key(text, key)[:200])
