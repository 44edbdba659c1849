"""How much may be sent to a server in a minute, and the pause that all its requests keep when it asks for one."""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

_MINUTE_SECONDS = 60.0
_SPREAD = 0.25  # part of a pause over which those who sat it out start again
_LONGEST_NAP_SECONDS = 1.0  # a correction may make room earlier than was reckoned


def spread(seconds: float, jitter: float) -> float:
    """Return somewhat more seconds than were asked for, so that not all who wait go at once; `jitter` is in 0..1."""
    return seconds * (1 + _SPREAD * jitter)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """What a server is spared.

    Attributes
    ----------
    max_connections
        Requests on their way at a time.
    requests_per_minute, tokens_per_minute
        Of attempts, in any minute; None: no limit. A single request of more tokens is sent when nothing else was.
    """

    max_connections: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


@dataclass(slots=True, kw_only=True)
class Sent:
    """One attempt: when it was sent, the tokens it counts for, and whether they still count, a minute long."""

    at: float
    n_tokens: float
    is_counted: bool = False


class RateLimiter:
    """Lets attempts through to one server, in the order in which they came.

    Parameters
    ----------
    limits
        What the server is spared.
    clock
        Seconds, always growing.
    sleep
        Waits seconds of that clock.
    jitter
        Draws a number in 0..1, by which those who sat out a pause are spread.
    """

    def __init__(
        self,
        limits: RateLimits,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._limits, self._clock, self._sleep, self._jitter = limits, clock, sleep, jitter
        self._connections = asyncio.Semaphore(limits.max_connections)
        self._turn = asyncio.Lock()
        self._starts: deque[float] = deque()
        self._sent: deque[Sent] = deque()
        self._n_tokens = 0.0
        self._paused_until = float("-inf")

    @asynccontextmanager
    async def entered(self, n_tokens: Callable[[], float]) -> AsyncIterator[Sent]:
        """Wait for a turn and hold a connection while the block runs.

        Parameters
        ----------
        n_tokens
            Gives what the attempt counts for; called only where tokens are limited.
        """
        async with self._connections:
            limits = self._limits
            if limits.requests_per_minute is None and limits.tokens_per_minute is None:
                await self._sit_out_pause()
                yield Sent(at=0.0, n_tokens=0.0)
            else:
                yield await self._take_turn(n_tokens() if limits.tokens_per_minute is not None else 0.0)

    def pause(self, seconds: float) -> None:
        """Let nothing through for a time."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    def correct(self, sent: Sent, n_tokens: float) -> None:
        """Count an attempt for what it turned out to be."""
        if sent.is_counted:
            self._n_tokens += n_tokens - sent.n_tokens
            sent.n_tokens = n_tokens

    async def _take_turn(self, n_tokens: float) -> Sent:
        async with self._turn:
            await self._sit_out_pause()
            while (wait := self._wait_seconds(n_tokens)) > 0:
                await self._sleep(min(wait, _LONGEST_NAP_SECONDS))
                await self._sit_out_pause()
            sent = Sent(at=self._clock(), n_tokens=n_tokens)
            if self._limits.requests_per_minute is not None:
                self._starts.append(sent.at)
            if self._limits.tokens_per_minute is not None:
                sent.is_counted = True
                self._sent.append(sent)
                self._n_tokens += n_tokens
            return sent

    async def _sit_out_pause(self) -> None:
        while (left := self._paused_until - self._clock()) > 0:
            await self._sleep(spread(left, self._jitter()))

    def _wait_seconds(self, n_tokens: float) -> float:
        now = self._clock()
        return max(self._wait_for_requests(now), self._wait_for_tokens(now, n_tokens))

    def _wait_for_requests(self, now: float) -> float:
        if self._limits.requests_per_minute is None:
            return 0.0
        n_most = max(1, int(self._limits.requests_per_minute))
        window = _MINUTE_SECONDS * n_most / self._limits.requests_per_minute
        while self._starts and self._starts[0] + window <= now:
            self._starts.popleft()
        return 0.0 if len(self._starts) < n_most else self._starts[0] + window - now

    def _wait_for_tokens(self, now: float, n_tokens: float) -> float:
        if self._limits.tokens_per_minute is None:
            return 0.0
        while self._sent and self._sent[0].at + _MINUTE_SECONDS <= now:
            old = self._sent.popleft()
            old.is_counted = False
            self._n_tokens -= old.n_tokens
        if not self._sent or self._n_tokens + n_tokens <= self._limits.tokens_per_minute:
            return 0.0
        return self._sent[0].at + _MINUTE_SECONDS - now
