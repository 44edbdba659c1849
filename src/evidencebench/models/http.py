"""HTTP to servers of models: addresses and keys are checked, time and size are limited, failures are tried again."""

import asyncio
import base64
import concurrent.futures
import html
import io
import ipaddress
import json
import os
import re
import ssl
import threading
import weakref
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from evidencebench.errors import DrainingError, EndpointError, FailingServerError, SystemSpecError
from evidencebench.files.places import call_in_forks
from evidencebench.tables import printable
from evidencebench.version import __version__
from evidencebench.web.retry import Retry, TooLongWaitError, TransientError, Tries

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

OK = range(200, 300)
_CONNECT_SECONDS = 30.0
CLOSED = "the client was closed before all replies came; make a new client to resume"
_VISIBLE = re.compile("[!-~]*")
_WINDOW_BITS = (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS)  # with the header of gzip or deflate, and deflate without one


class NotSentError(TransientError):
    """The request did not reach the server, so nothing was charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """A server's answer of any status; `headers` ignore case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Http:
    """Connections to one server: no redirects, no cookies, no proxy for this machine. Any thread may use it."""

    def __init__(self, base_url: str, transport: "httpx.AsyncBaseTransport | None" = None) -> None:
        import httpx  # noqa: PLC0415 - an extra

        self._trusts_env, self._transport = not is_loopback(base_url), transport
        if self._trusts_env or urlsplit(base_url).scheme == "https":
            # Slow: once a server.
            self._certificates = _from_environment(lambda: httpx.create_ssl_context(trust_env=self._trusts_env))
        else:  # a server of this machine that shows no certificate; this context trusts none
            self._certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._reset()
        call_in_forks(self, Http._reset)

    def request(
        self,
        method: str,
        address: str,
        *,
        headers: Mapping[str, str],
        seconds: float,  # for all
        most_bytes: int,  # of the answer
        key: str,
        body: bytes | IO[bytes] | None = None,
        into: IO[bytes] | None = None,  # gets the content of a successful answer
        idle_seconds: float | None = None,  # without a byte
        unanswered: type[TransientError] = TransientError,
        on_first_byte: Callable[[], object] = lambda: None,  # of the answer's content
        **more: Any,  # httpx's own arguments
    ) -> HttpAnswer:
        """Raise `NotSentError` if the request did not reach the server, and `unanswered` if it may have."""
        import httpx  # noqa: PLC0415 - an extra

        sent: dict[str, Any] = {
            "headers": dict(headers),
            "timeout": httpx.Timeout(idle_seconds, connect=_CONNECT_SECONDS),
        } | more
        if body is not None:
            sent["headers"].setdefault("Content-Type", "application/json")
            sent["content"] = body
            if not isinstance(body, bytes):
                sent["headers"]["Content-Length"] = str(body.seek(0, 2))  # httpx cannot know the length
                sent["content"] = _blocks(body)

        async def exchange() -> HttpAnswer:
            client = self._idle.pop() if self._idle else self._new_client()
            try:
                async with asyncio.timeout(seconds), client.stream(method, address, **sent) as reply:
                    answer = await _read(reply, most_bytes, into, address, on_first_byte)
            except BaseException:
                await client.aclose()
                raise
            self._idle.append(client)
            return answer

        try:
            return self._run(exchange())
        except (
            TimeoutError,
            httpx.HTTPError,
            httpx.InvalidURL,
            UnicodeError,
            ssl.SSLError,
            concurrent.futures.CancelledError,
        ) as error:
            failure = _failure(error, unanswered, seconds=seconds, key=key)
        raise failure  # here, so that it does not hold httpx's error, whose request holds the key

    def close(self) -> None:
        """End what runs, and what another thread has begun and not yet noted."""
        self._is_closed = True
        for future in list(self._running):
            future.cancel()
        if self._idle:
            asyncio.run_coroutine_threadsafe(_close_all(self._idle), _loop()).result()

    def _reset(self) -> None:
        """Begin without connections; after a fork, those of the parent must not be used."""
        # A client for each connection, since httpx's pool looks at all of them for each request: 12 ms for 200.
        self._idle: list[httpx.AsyncClient] = []
        weakref.finalize(self, _close_forgotten, self._idle, os.getpid()).atexit = False
        self._running: set[concurrent.futures.Future[Any]] = set()
        self._is_closed = False

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, _loop())
        self._running.add(future)
        if self._is_closed:
            future.cancel()
        try:
            return future.result()
        finally:
            future.cancel()  # does nothing if the work is done
            self._running.discard(future)

    def _new_client(self) -> "httpx.AsyncClient":
        from http.cookiejar import CookieJar, DefaultCookiePolicy  # noqa: PLC0415 - slow to import

        import httpx  # noqa: PLC0415 - an extra

        return _from_environment(
            lambda: httpx.AsyncClient(
                transport=self._transport,
                verify=self._certificates,
                limits=httpx.Limits(max_connections=1, keepalive_expiry=4.0),  # many servers close idle ones after 5 s
                follow_redirects=False,
                trust_env=self._trusts_env,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                headers={
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                    "User-Agent": f"evidencebench/{__version__}",
                },
            )
        )


async def _close_all(idle: "list[httpx.AsyncClient]") -> None:
    while idle:
        await idle.pop().aclose()


def _close_forgotten(idle: "list[httpx.AsyncClient]", process_id: int) -> None:
    """Close the connections of an `Http` that nobody holds any more; after a fork they are the parent's."""
    if idle and process_id == os.getpid():
        asyncio.run_coroutine_threadsafe(_close_all(idle), _loop())


# Callers are plain threads. Only on a loop can the whole time of a request be limited, and one in flight be cancelled.
_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}  # by the process: a forked one gets its own


def _loop() -> asyncio.AbstractEventLoop:
    process_id = os.getpid()
    if process_id not in _LOOPS:
        loop = asyncio.new_event_loop()
        if _LOOPS.setdefault(process_id, loop) is loop:
            threading.Thread(target=loop.run_forever, name="evidencebench-http", daemon=True).start()
        else:  # another thread was first
            loop.close()
    return _LOOPS[process_id]


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Return a coroutine's result to a plain thread; it runs on the loop that all servers of models share."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


def _failure(error: BaseException, unanswered: type[TransientError], *, seconds: float, key: str) -> Exception:
    import httpx  # noqa: PLC0415 - an extra

    if isinstance(error, concurrent.futures.CancelledError):
        return DrainingError(CLOSED)
    if isinstance(error, TimeoutError):
        return unanswered(f"no whole reply within {seconds:g} s")
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return NotSentError(f"no connection within {min(_CONNECT_SECONDS, seconds):g} s")
    unsent = httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol | httpx.InvalidURL | UnicodeError
    failure = NotSentError if isinstance(error, unsent) else unanswered
    return failure(hide_key(str(error) or type(error).__name__, key))


async def _read(
    reply: "httpx.Response",
    most_bytes: int,
    into: IO[bytes] | None,
    address: str,
    on_first_byte: Callable[[], object],
) -> HttpAnswer:
    """Read an answer, decoded unless it is written to a file; httpx could decode a small body into a huge one."""
    content, n_bytes = io.BytesIO(), 0
    sink = into if into is not None and reply.status_code in OK else content
    async for block in reply.aiter_raw():
        if not n_bytes:
            on_first_byte()
        n_bytes += len(block)
        if n_bytes > most_bytes:
            break
        sink.write(block)
    decoded = _decode(content.getvalue(), reply.headers.get("Content-Encoding", ""), most_bytes)
    if max(n_bytes, len(decoded)) > most_bytes:
        raise EndpointError(f"{address.partition('?')[0]}: expected a reply of at most {most_bytes} bytes")
    return HttpAnswer(status=reply.status_code, headers=reply.headers, content=decoded)


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


def _from_environment(make: Callable[[], T]) -> T:
    """Return the result of `make`, which reads the environment; an error shows no value of it, such as a password."""
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


def ask_often(
    retry: Retry,
    attempt: Callable[[Tries], T],
    where: str,
    *,
    on_failure: Callable[[TransientError], object] = lambda _: None,
    on_pause: Callable[[float], object] = lambda _: None,
    on_wait: Callable[[TransientError, float], object] = lambda *_: None,
) -> T:
    try:
        return retry.call(attempt, on_failure=on_failure, on_pause=on_pause, on_wait=on_wait)
    except TooLongWaitError as error:
        raise FailingServerError(
            f"{where}: {error}; the server asks to wait for {error.wait_seconds:.0f} s, which is longer than a request "
            "may take; run again then: what is stored is kept"
        ) from None
    except TransientError as last:
        raise EndpointError(
            f"{where}: no usable reply in {last.n_attempts} attempts, the last one: {last}; try again later, or raise "
            "max_attempts or timeout_seconds"
        ) from None


def check_address(where: str, base_url: str, *, queries: frozenset[str] = frozenset()) -> None:
    try:
        parts = urlsplit(base_url)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # for example a port that is no number
        is_web = False
    if not is_web or not _VISIBLE.fullmatch(base_url):
        got = "" if base_url else ", got none behind 'base_url='; set the shell variable there, or leave base_url out"
        raise SystemSpecError(f"{where}: base_url: expected an http or https address such as https://host/v1{got}")
    names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    has_query = bool(parts.query) and (not names or not names <= queries)
    if parts.username is not None or parts.password is not None or has_query or parts.fragment:
        raise SystemSpecError(
            f"{where}: base_url: expected an address without user, password, query or fragment, since it stands "
            "in the run; name the variable that holds a key with key_env"
        )


def check_key(where: str, base_url: str, *, key_env: str, key: str) -> None:
    if key_env and not _VISIBLE.fullmatch(key):
        raise SystemSpecError(
            f"{where}: key_env: the key in {key_env} has a character that a request cannot carry, such as a line end "
            "or a letter with an accent; set it to visible ASCII characters alone"
        )
    if not key_env or is_loopback(base_url):
        return
    if not key:
        raise SystemSpecError(
            f"{where}: key_env: expected a key in the environment variable {key_env}, which is not set; set it, or "
            "give key_env= if the server needs none"
        )
    if urlsplit(base_url).scheme == "http":
        raise SystemSpecError(
            f"{where}: base_url: expected https, since http to another machine shows the key to all between; give "
            "key_env= if the server needs none"
        )


def is_loopback(address: str) -> bool:
    """Whether a server, or a host alone, is on this machine."""
    host = (urlsplit(address).hostname or "") if "//" in address else address
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
