"""Download over http and https with urllib: checked redirects, a minimum speed, a maximum size of headers."""

import io
import json
import math
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, InvalidURL
from string import punctuation
from typing import Any, TypeVar
from urllib.error import URLError
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import AbstractHTTPHandler, OpenerDirector, ProxyHandler, Request

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import DownloadError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.web.retry import Retry, TransientError, is_transient, retry_after

# HTTP with a least speed and a longest head: a timeout alone lets a server send a byte now and then, without end.

LEAST_BYTES_A_SECOND = 1_000
"""A server that sends fewer bytes a second, over a whole timeout, is taken for one that hangs."""

MOST_HEAD_BYTES = 1 << 20
"""The most bytes of status lines and headers before a body; the first bytes of the body may be among them."""


class EndlessHeadError(Exception):
    """A server sends headers, or answers of status 1xx, without end."""


class PacedReader(io.RawIOBase):
    """The bytes of a connection, read as long as they come fast enough."""

    def __init__(self, raw: io.RawIOBase, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._raw, self._seconds, self._clock = raw, seconds, clock
        self._waited, self._n_bytes = 0.0, 0
        self._head_bytes: int | None = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        before = self._clock()
        n_read = self._raw.readinto(buffer) or 0
        if self._n_bytes or self._waited:
            self._waited += self._clock() - before
        self._n_bytes += n_read
        if self._waited >= self._seconds:
            if self._n_bytes < LEAST_BYTES_A_SECOND * self._waited:
                raise TimeoutError(f"fewer than {LEAST_BYTES_A_SECOND:,} bytes a second came for {self._waited:.3g} s")
            self._waited, self._n_bytes = 0.0, 1
        if self._head_bytes is not None:
            self._head_bytes += n_read
            if self._head_bytes > MOST_HEAD_BYTES:
                raise EndlessHeadError(f"more than {MOST_HEAD_BYTES:,} bytes of headers")
        return n_read

    def end_head(self) -> None:
        """End the head: the bytes that follow are the body, which may have any length."""
        self._head_bytes = None

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _PacedResponse(HTTPResponse):
    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._paced = PacedReader(self.fp.detach(), sock.gettimeout())
        self.fp = io.BufferedReader(self._paced)

    def begin(self) -> None:
        super().begin()
        self._paced.end_head()


class _Connection(HTTPConnection):
    response_class = _PacedResponse


class _SecureConnection(HTTPSConnection):
    response_class = _PacedResponse


class _PacedHandler(AbstractHTTPHandler):
    """Opens http and https addresses, the latter with the certificates that this machine trusts."""

    http_request = https_request = AbstractHTTPHandler.do_request_

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Connection, req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_SecureConnection, req)


# Ask an address of the web and read its answer: http and https only, redirects checked, failures of two kinds.

_BLOCK_BYTES = 1 << 18
_MOST_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}
FETCHES = Retry(
    total_seconds=math.inf,
    first_wait_seconds=2.0,  # at most: without jitter, waits are 1, 2, 4, ... seconds
    longest_wait_seconds=60.0,
    longest_asked_seconds=60.0,
    counts_busy=True,
    jitter=lambda: 0.0,
)
"""How files of the web are asked for again: attempts are counted, not the time that a long file takes."""

_TRY_ELSEWHERE = "give another address or mirror, or a copy of the file"


def ask(address: str, headers: dict[str, str], timeout_seconds: float, *, may_leave_host: bool = True) -> HTTPResponse:
    """Return the server's answer, of whatever status, after redirects; a body that comes too slowly is a timeout.

    Without ``may_leave_host``, a redirect to another host, or to another port, is refused: nothing is asked there.
    """
    opener = OpenerDirector()  # with these two only: no file:, ftp: or data:, and redirects are followed here
    for handler in (ProxyHandler(), _PacedHandler()):
        opener.add_handler(handler)
    target = address
    for _ in range(_MOST_REDIRECTS + 1):
        response = _open(opener, target, headers, timeout_seconds)
        if response.status not in {301, 302, 303, 307, 308}:
            return response
        with response:
            target = _redirect_target(target, response.headers["Location"])
        if not may_leave_host and _host_and_port(target) != _host_and_port(address):
            raise wrong_file(address, "an answer, or a redirect on the same host and port", f"one to {target}")
    raise wrong_file(address, f"at most {_MOST_REDIRECTS} redirects", "more")


def _open(opener: OpenerDirector, address: str, headers: dict[str, str], timeout_seconds: float) -> HTTPResponse:
    try:
        with transient_errors():
            request = Request(address, headers=headers)  # noqa: S310 - the address has passed require_web_address
            response: HTTPResponse = opener.open(request, timeout=timeout_seconds)
            return response
    except ssl.SSLCertVerificationError as error:  # it is a ValueError too
        raise wrong_file(address, "a certificate that can be trusted", error.verify_message) from error
    except EndlessHeadError as error:
        raise wrong_file(address, "an answer", str(error)) from error
    except (InvalidURL, ValueError) as error:
        raise wrong_file(address, "an http or https address", str(error), "correct it") from error


def require_web_address(address: str) -> str:
    try:
        parts = urlsplit(address)
        is_web = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:  # for example a bracket that is not closed, or a port above 65535
        is_web = False
    if not is_web:
        raise wrong_file(address, "an http or https address", "another", "correct it")
    return address


def _redirect_target(address: str, location: str | None) -> str:
    """Return the target of a redirect; raise unless it is on the web, and not from https down to http."""
    if location is None:
        raise wrong_file(address, "a redirect to an address", "one to nowhere")
    try:
        # Some servers send spaces or bytes above 127 here; escape them and leave what is escaped already.
        target = urljoin(address, quote(location, encoding="latin-1", safe=punctuation))
    except ValueError as error:
        raise wrong_file(address, "a redirect to an http or https address", f"one to {location}") from error
    if urlsplit(target).scheme not in _PORTS:
        raise wrong_file(address, "a redirect to an http or https address", f"one to {target}")
    if urlsplit(address).scheme == "https" and urlsplit(target).scheme != "https":
        raise wrong_file(address, "a redirect that stays on https", f"one to {target}")
    return require_web_address(target)


def _host_and_port(address: str) -> tuple[str | None, int | None]:
    """Return where an address leads; the port is None where it is that of its scheme, so that http may become https."""
    parts = urlsplit(address)
    return parts.hostname, None if parts.port == _PORTS[parts.scheme] else parts.port


def require_lasting(response: HTTPResponse) -> None:
    """Raise `TransientError` if a further attempt may succeed, with the wait that the server asks for."""
    if is_transient(response.status):
        raise TransientError(f"the server answered {said_status(response)}", retry_after(dict(response.headers)))


def said_status(response: HTTPResponse) -> str:
    """Return an answer's status as the server put it: ``404 Not Found``."""
    return f"{response.status} {response.reason}".strip()


def blocks_of(response: HTTPResponse) -> Iterator[bytes]:
    """Yield an answer's bytes as they come, never more than its Content-Length."""
    left = response.length  # counted here: not every version of http.client does, and none reports a body that was cut
    while left is None or left > 0:
        with transient_errors():
            block = response.read1(_BLOCK_BYTES if left is None else min(left, _BLOCK_BYTES))
        if not block:
            return
        if left is not None:
            left -= len(block)
        yield block


@contextmanager
def transient_errors() -> Iterator[None]:
    """Turn failures of the network into `TransientError`; what no retry can mend passes unchanged."""
    try:
        yield
    except (InvalidURL, ssl.SSLCertVerificationError):
        raise
    except URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise error.reason from error
        raise TransientError(getattr(error.reason, "strerror", None) or str(error.reason)) from error
    except (OSError, HTTPException) as error:
        raise TransientError(getattr(error, "strerror", None) or str(error) or type(error).__name__) from error


def wrong_file(where: object, expected: str, got: str, what_to_do: str = _TRY_ELSEWHERE) -> DownloadError:
    return DownloadError(f"{where}: expected {expected}, got {got}; {what_to_do}")


# JSON as servers send it: a reply that was paid for is read even if fields that are not needed are damaged.

T = TypeVar("T")
_MOST_DIGITS = 18  # of a whole number that 64 bits hold
_READER = json.JSONDecoder(
    strict=False,  # takes control characters in a text
    parse_constant=lambda _: None,
    parse_float=lambda text: None if math.isinf(float(text)) else float(text),
    parse_int=lambda text: int(text) if len(text) <= _MOST_DIGITS else None,
)


def decode_served(content: bytes | msgspec.Raw, form: type[T]) -> T:
    r"""Return JSON decoded as ``form``, even if fields that are not in the form are damaged.

    Bytes that are no UTF-8 and halves of surrogate pairs are read as U+FFFD. NaN, infinity and numbers that no float
    holds are read as null.

    >>> decode_served(b'{"text": "a\\ud800", "logprob": NaN}', dict)
    {'text': 'a�', 'logprob': None}
    """
    try:
        return msgspec.json.decode(content, type=prepared(form))
    except BROKEN_JSON:
        try:
            read = _READER.decode(bytes(content).decode("utf-8-sig", errors="replace"))
            text = json.dumps(read, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        except (ValueError, RecursionError) as error:
            raise msgspec.DecodeError(f"JSON is malformed: {error}") from error
        return msgspec.json.decode(text, type=prepared(form))


def optional_part(content: bytes | msgspec.Raw, form: type[T]) -> T | None:
    """Return an optional part of a reply in its form; None if it is null or has another form."""
    try:
        return decode_served(content, form)
    except msgspec.DecodeError:
        return None
