"""Failures of the network that the next attempt may not meet, and the one loop that attempts again."""

import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

T = TypeVar("T")

_SERVER_ERROR = 500
_FIRST_BUSY_SECONDS, _LONGEST_BUSY_SECONDS = 10.0, 60.0  # the wait if a busy server names none
_SECONDS = re.compile(r"\s*(\d{1,12}(?:\.\d{0,9})?)\s*", re.ASCII)


class TransientError(Exception):
    """A failure that the next attempt may not meet; ``wait_seconds``: the wait that the server asked for, or None."""

    def __init__(self, message: str, wait_seconds: float | None = None) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds
        self.n_attempts = 1  # counted by `Retry.call`


class BusyError(TransientError):
    """The server refuses a request for now, since it got too many."""


class TooLongWaitError(TransientError):
    """The server asks to wait for longer than a request may take."""


@dataclass(slots=True, kw_only=True)
class Tries:
    deadline: float
    n: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often and how long a request is tried. Waits double, and are as long as the server asks."""

    max_attempts: int = 6  # the first included
    total_seconds: float = 3600.0
    first_wait_seconds: float = 0.5  # the second is twice as long, and so on; jitter makes each 0.5 to 1.5 times it
    longest_wait_seconds: float = 120.0  # unless the server asks for more
    longest_asked_seconds: float = math.inf  # of a longer wait that the server asks for, only this much is waited
    counts_busy: bool = False  # whether attempts that a server refuses as too many count
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    jitter: Callable[[], float] = random.random  # a number in 0..1, which makes waits differ

    def call(self, attempt: Callable[[Tries], T]) -> T:
        """Call `attempt` again after each `TransientError`; raise the last, or `TooLongWaitError`."""

        async def attempt_now(tries: Tries) -> T:
            return attempt(tries)

        async def sleep_now(seconds: float) -> None:
            self.sleep(seconds)

        return finished(self.calling(attempt_now, sleep_now))

    async def calling(
        self,
        attempt: Callable[[Tries], Awaitable[T]],
        sleep: Callable[[float], Awaitable[object]],
        *,
        on_failure: Callable[[TransientError], object] = lambda _: None,
        on_pause: Callable[[float], object] = lambda _: None,
        on_wait: Callable[[TransientError, float], object] = lambda *_: None,
    ) -> T:
        """Do as `call`, on an event loop.

        ``on_pause`` is called with the seconds that a server asks for, ``on_wait`` with those that are waited.
        """
        tries = Tries(deadline=self.clock() + self.total_seconds)
        n_busy = 0  # not counted as attempts: only the deadline ends waiting for a busy server
        while True:
            try:
                return await attempt(tries)
            except TransientError as error:
                last = error
            is_busy = isinstance(last, BusyError) and not self.counts_busy
            n_busy, tries.n = n_busy + is_busy, tries.n + 1
            last.n_attempts, n_faults = tries.n, tries.n - n_busy
            on_failure(last)
            asked = self._asked_wait(last, n_busy if is_busy else 0)
            if asked:
                on_pause(asked)
            n_waits = n_busy if is_busy else n_faults
            grown = self.first_wait_seconds * 2.0 ** min(n_waits - 1, 60) * (0.5 + self.jitter())
            wait = max(min(self.longest_wait_seconds, grown), spread(asked, self.jitter()))
            if n_faults >= self.max_attempts or self.clock() + wait >= tries.deadline:
                raise last
            on_wait(last, wait)
            await sleep(wait)
            if self.clock() >= tries.deadline:
                raise last

    def _asked_wait(self, last: TransientError, n_busy: int) -> float:
        """Return the wait that the server asks for, or implies by being busy; 0 if neither."""
        if last.wait_seconds is None:
            return min(_LONGEST_BUSY_SECONDS, _FIRST_BUSY_SECONDS * 2.0 ** min(n_busy - 1, 10)) if n_busy else 0.0
        asked = min(last.wait_seconds, self.longest_asked_seconds)
        if asked > self.total_seconds:
            raise TooLongWaitError(str(last), asked)
        return asked


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("expected a coroutine that waits for nothing")


def spread(seconds: float, jitter: float) -> float:
    """Make a wait longer by up to a quarter, so that waiting requests do not start all at once; `jitter` is in 0..1."""
    return seconds * (1 + 0.25 * jitter)


def is_transient(status: int) -> bool:
    return status in {408, 409, 425, 429} or status >= _SERVER_ERROR


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, 0 for at once; None if it does not say.

    Source: RFC 9110, section 10.2.3: seconds, or a date. Some servers also send ``retry-after-ms``, which is finer.
    """
    if (finer := _SECONDS.fullmatch(headers.get("Retry-After-Ms", ""))) is not None:
        return float(finer[1]) / 1000
    value = headers.get("Retry-After", "")
    if (seconds := _SECONDS.fullmatch(value)) is not None:
        return float(seconds[1])
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
