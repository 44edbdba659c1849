"""Ask an address of the web and read its answer: http and https only, redirects checked, failures of two kinds.

A `TransientError` (a cut, a timeout) may be gone at the next attempt; a `DownloadError` is final.
"""

import math
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse, InvalidURL
from string import punctuation
from urllib.error import URLError
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request

from evidencebench.errors import DownloadError
from evidencebench.web.paced_http import EndlessHeadError, PacedHandler
from evidencebench.web.transient import Retry, TransientError, is_transient, retry_after

_BLOCK_BYTES = 1 << 18
_MOST_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
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
    for handler in (ProxyHandler(), PacedHandler()):
        opener.add_handler(handler)
    there = address
    for _ in range(_MOST_REDIRECTS + 1):
        response = _open(opener, there, headers, timeout_seconds)
        if response.status not in _REDIRECTS:
            return response
        with response:
            there = _redirect_target(there, response.headers["Location"])
        if not may_leave_host and _host_and_port(there) != _host_and_port(address):
            raise wrong_file(address, "an answer, or a redirect on the same host and port", f"one to {there}")
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
    """Return the address if it is one of the web."""
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
        there = urljoin(address, quote(location, encoding="latin-1", safe=punctuation))
    except ValueError as error:
        raise wrong_file(address, "a redirect to an http or https address", f"one to {location}") from error
    if urlsplit(there).scheme not in _PORTS:
        raise wrong_file(address, "a redirect to an http or https address", f"one to {there}")
    if urlsplit(address).scheme == "https" and urlsplit(there).scheme != "https":
        raise wrong_file(address, "a redirect that stays on https", f"one to {there}")
    return require_web_address(there)


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
    """Return the error that says where, what was expected, what was got, and what to do."""
    return DownloadError(f"{where}: expected {expected}, got {got}; {what_to_do}")
