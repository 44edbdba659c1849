"""Failures of the network that the next attempt may not meet, and attempts until one does not."""

import re
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPResponse
from typing import TypeVar

T = TypeVar("T")

LONGEST_PAUSE_SECONDS = 60.0
"""The longest pause between two attempts, also where a server's Retry-After asks for more."""

_TRANSIENT_STATUSES = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)


class TransientError(Exception):
    """A failure that the next attempt may not meet; ``wait_seconds``: the wait that the server asked for, or None."""

    def __init__(self, message: str, wait_seconds: float | None = None) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


def attempt_often(attempt: Callable[[], T], attempts: int, sleep: Callable[[float], object]) -> T:
    """Return what ``attempt`` returns, called again after a `TransientError`; raises that of the last attempt.

    Between attempts ``sleep`` waits 1, 2, 4, ... seconds, or as long as the server asked for where that is longer.
    """
    for number in range(1, attempts):
        try:
            return attempt()
        except TransientError as error:
            pause = min(2.0 ** (number - 1), LONGEST_PAUSE_SECONDS)
            sleep(max(pause, error.wait_seconds or 0))
    return attempt()


def require_lasting(response: HTTPResponse) -> None:
    """Raise `TransientError` where the server is only busy, with the wait that its Retry-After asks for.

    Source: RFC 9110, section 10.2.3 (Retry-After).
    """
    if response.status in _TRANSIENT_STATUSES:
        asked = response.headers["Retry-After"] or ""  # a date instead of seconds: our own pause will do
        wait = min(float(asked), LONGEST_PAUSE_SECONDS) if re.fullmatch(r"\d{1,9}", asked) else 0.0
        raise TransientError(f"the server answered {said_status(response)}", wait_seconds=wait)


def said_status(response: HTTPResponse) -> str:
    """Return an answer's status as the server put it: ``404 Not Found``."""
    return f"{response.status} {response.reason}".strip()
