"""Rate limits of a server: requests and tokens in a minute, and pauses that the server asks for."""

import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from evidencebench.web.transient import spread

_MINUTE_SECONDS = 60.0
_NAP_SECONDS = 1.0  # then look again: a correction may have made room earlier


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """Limits for one server: attempts and tokens in any minute (None: no limit).

    A request with more tokens than the limit is sent when no other was sent in the last minute.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


@dataclass(slots=True)
class _Entry:
    at: float
    amount: float
    is_counted: bool = True


class _RateWindow:
    """The amounts let through in the last `seconds`, and the most that may be."""

    def __init__(self, most: float, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._entries: deque[_Entry] = deque()
        self._sum = 0.0

    def wait_seconds(self, now: float, amount: float) -> float:
        while self._entries and self._entries[0].at + self._seconds <= now:
            old = self._entries.popleft()
            old.is_counted = False
            self._sum -= old.amount
        if not self._entries or self._sum + amount <= self._most:
            return 0.0
        return self._entries[0].at + self._seconds - now

    def add(self, now: float, amount: float) -> _Entry:
        entry = _Entry(now, amount)
        self._entries.append(entry)
        self._sum += amount
        return entry

    def correct(self, entry: _Entry, amount: float) -> None:
        if entry.is_counted:
            self._sum += amount - entry.amount
            entry.amount = amount


class RateLimiter:
    """Lets attempts to one server through, one after the other. `clock`, `sleep` and `jitter` are as in `Retry`."""

    def __init__(
        self,
        limits: RateLimits,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], object],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock, self._sleep, self._jitter = clock, sleep, jitter
        self._turn = threading.Lock()
        self._requests = self._tokens = None
        if (rate := limits.requests_per_minute) is not None:
            n_most = max(1, int(rate))
            self._requests = _RateWindow(n_most, _MINUTE_SECONDS * n_most / rate)
        if limits.tokens_per_minute is not None:
            self._tokens = _RateWindow(limits.tokens_per_minute, _MINUTE_SECONDS)
        self._paused_until = float("-inf")

    def turn(self, n_tokens: Callable[[], float]) -> Callable[[float], None]:
        """Wait until an attempt may be made; return a function to call afterwards with the tokens really used.

        `n_tokens` returns an estimate of its tokens; it is called only if tokens are limited.
        """
        if self._requests is None and self._tokens is None:
            self._wait_for_pause()
            return lambda _: None
        n = 0.0 if self._tokens is None else n_tokens()
        limited = [(window, amount) for window, amount in ((self._requests, 1.0), (self._tokens, n)) if window]
        with self._turn:
            self._wait_for_pause()
            while (wait := max(window.wait_seconds(self._clock(), amount) for window, amount in limited)) > 0:
                self._sleep(min(wait, _NAP_SECONDS))
                self._wait_for_pause()
            entries = [window.add(self._clock(), amount) for window, amount in limited]
        if (tokens := self._tokens) is None:
            return lambda _: None
        return lambda used: tokens.correct(entries[-1], used)

    def pause(self, seconds: float) -> None:
        """Let no attempt through for a number of seconds from now."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    def _wait_for_pause(self) -> None:
        while (left := self._paused_until - self._clock()) > 0:
            self._sleep(spread(left, self._jitter()))
