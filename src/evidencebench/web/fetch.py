"""Fetch from addresses of the web: redirects are checked, and what comes has a minimum speed."""

import json
import math
from collections.abc import Callable, Mapping
from contextlib import closing
from string import punctuation
from typing import TypeVar
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import DownloadError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.web.http import Http, HttpAnswer, Receive, UntrustedError, is_web_address
from evidencebench.web.retry import Retry, TransientError, is_transient, retry_after

LEAST_BYTES_A_SECOND = 1_000
"""A server that sends fewer bytes a second, over a whole timeout, is taken for one that hangs."""

_REDIRECTS = {301, 302, 303, 307, 308}
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


def ask(
    address: str,
    headers: Mapping[str, str],
    *,
    silent_seconds: float,
    most_bytes: int,
    receive: Receive = lambda _: None,
    may_leave_host: bool = True,
) -> HttpAnswer:
    """Return the server's answer, of whatever status, after redirects; raises `TransientError` and `DownloadError`.

    A server may be silent for ``silent_seconds``, and must not send less than a least speed for as long. Without
    ``may_leave_host``, a redirect to another host, or to another port, is refused: nothing is asked there.
    """

    def receive_file(answer: HttpAnswer) -> Callable[[bytes], object] | None:
        return None if answer.status in _REDIRECTS else receive(answer)

    target = address
    for _ in range(_MOST_REDIRECTS + 1):
        with closing(Http(target)) as http:
            try:
                answer = http.request(
                    "GET",
                    target,
                    headers=headers,
                    seconds=math.inf,
                    idle_seconds=silent_seconds,
                    least_bytes_a_second=LEAST_BYTES_A_SECOND,
                    most_bytes=most_bytes,
                    key="",
                    receive=receive_file,
                )
            except UntrustedError as error:
                raise wrong_file(address, "a certificate that can be trusted", str(error)) from error
        if answer.status not in _REDIRECTS:
            return answer
        target = _redirect_target(target, answer.headers.get("Location"))
        if not may_leave_host and _host_and_port(target) != _host_and_port(address):
            raise wrong_file(address, "an answer, or a redirect on the same host and port", f"one to {target}")
    raise wrong_file(address, f"at most {_MOST_REDIRECTS} redirects", "more")


def require_web_address(address: str) -> str:
    if not is_web_address(address):
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


def require_lasting(answer: HttpAnswer) -> None:
    """Raise `TransientError` if a further attempt may succeed, with the wait that the server asks for."""
    if is_transient(answer.status):
        raise TransientError(f"the server answered {answer.said_status}", retry_after(answer.headers))


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
