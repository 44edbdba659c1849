"""Send requests over HTTP, with limits on time, size and attempts; retry failures that another attempt may mend."""

import asyncio
import importlib.util
import math
import random
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidencebench.errors import (
    DrainingError,
    EndpointError,
    EvidenceBenchError,
    FailingServerError,
    MissingExtraError,
    StopError,
    SystemSpecError,
)
from evidencebench.models.endpoints import BusyError, shown, wait_before
from evidencebench.models.llm.budget import Budget
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.connections import Connections, HttpAnswer, NotSentError
from evidencebench.models.llm.credentials import Key, key_for, reply_without_key
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.providers import Server, server_of
from evidencebench.models.llm.rate_limits import RateLimiter, RateLimits, spread
from evidencebench.models.llm.refusals import failure_of, is_withheld, may_have_run, withheld_reply
from evidencebench.models.llm.tokens import prompt_tokens_of
from evidencebench.models.llm.totals import RunningTotals
from evidencebench.models.llm.wire import path_and_body, reply_of
from evidencebench.web.transient import TransientError

if TYPE_CHECKING:
    import httpx

_OK = range(200, 300)
_FIRST_BUSY_SECONDS, _LONGEST_BUSY_SECONDS = 10.0, 60.0  # the pause if a busy server names none
_LEAST_ATTEMPTS_A_CONNECTION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long and how often a request is tried.

    Sending stops after `max_failures_in_a_row` requests that failed for good, with no success between. If a server has
    never replied, it also stops after as many failed attempts, or three for each connection if that is more.
    """

    timeout_seconds: float = 600.0  # of one attempt, from connecting to the last byte
    total_timeout_seconds: float = 3600.0  # of all attempts and the waits between them, without waits for rate limits
    max_attempts: int = 6  # the first included; attempts that the server refuses as too many are not counted
    max_connections: int = 16  # requests sent at a time; the caller keeps this limit
    max_failures_in_a_row: int = 25
    longest_wait_seconds: float = 120.0  # before an attempt, unless the server asks for more
    max_reply_bytes: int = 16 << 20


@dataclass(slots=True, kw_only=True)
class _ServerState:
    """The connections to one server, its rate limits, and its failures so far."""

    connections: Connections
    limiter: RateLimiter
    n_failures: int = 0
    n_failed_attempts: int = 0
    has_replied: bool = False


@dataclass(slots=True, kw_only=True)
class _Post:
    """One request in flight: its content, which all attempts share, its numbers of attempts, and its deadline."""

    request: ChatRequest
    server: Server
    key: Key
    address: str
    body: bytes = field(repr=False)
    deadline: float
    n_faults: int = 0
    n_refusals: int = 0
    is_sent: bool = False

    @property
    def n_attempts(self) -> int:
        return self.n_faults + self.n_refusals

    @property
    def where(self) -> str:
        return f"{self.address.partition('?')[0]}: model '{self.request.model_name}'"


class HttpSender:
    """Sends requests to the servers that they name.

    Parameters
    ----------
    limits, bounds
        The rate limits of each server, and the bounds of each request.
    totals, budget
        Count each attempt, and the cost of attempts that may have been charged without a reply; None: own ones.
    clock, sleep
        The time in seconds, which never goes back, and a coroutine that waits a number of seconds.
    jitter
        Returns a random number in 0..1, which makes waits differ.
    today
        Returns the date and time, for a server that asks to wait until then.
    environ, folder
        Where keys are looked for, as by `key_for`.
    transport
        An httpx transport, such as `httpx.ASGITransport(app)`; None: the network.
    """

    def __init__(
        self,
        *,
        limits: RateLimits = RateLimits(),  # noqa: B008 - frozen
        bounds: Bounds = Bounds(),
        totals: RunningTotals | None = None,
        budget: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Coroutine[Any, Any, object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        today: Callable[[], datetime] = lambda: datetime.now(UTC),
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        _require_usable(limits, bounds)
        self._limits, self._bounds, self._totals = limits, bounds, RunningTotals() if totals is None else totals
        self._budget = Budget(PriceTable(as_of="", models={}), None) if budget is None else budget
        self._clock, self._sleep, self._jitter, self._today = clock, sleep, jitter, today
        self._environ, self._folder, self._transport = environ, folder, transport
        self._servers: dict[str, _ServerState] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped, self._stopped = False, asyncio.Event()
        self._of_other_loops: list[object] = []

    async def send(self, request: ChatRequest) -> ChatReply:
        """Return the reply to a request.

        Raises `EndpointError` if the request failed for good, `FailingServerError` if every other would fail too.
        Before a further attempt: `CostLimitError` if it could cost too much, `DrainingError` after `stop_retrying`.
        """
        try:
            server, (path, body) = server_of(request), path_and_body(request)
            key = key_for(server, environ=self._environ, folder=self._folder)
        except SystemSpecError as error:
            raise FailingServerError(str(error)) from error
        state = self._state_of(server)
        deadline = self._clock() + self._bounds.total_timeout_seconds
        post = _Post(
            request=request, server=server, key=key, address=server.address(path), body=body, deadline=deadline
        )
        try:
            reply = await self._try(post, state)
        except StopError:
            raise
        except EvidenceBenchError as error:
            state.n_failures += 1
            if state.n_failures >= self._bounds.max_failures_in_a_row:
                raise FailingServerError(
                    f"{error}; that was failure {state.n_failures} in a row, so nothing more is sent; correct the "
                    "cause and run again: what is stored is kept"
                ) from error
            raise
        state.n_failures, state.has_replied = 0, True
        return reply

    def stop_retrying(self) -> None:
        """Let attempts in flight finish, and begin no further attempt; callable from any thread."""
        self._is_stopped = True
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._stopped.set)

    async def aclose(self) -> None:
        """Close all connections."""
        servers, self._servers = self._servers, {}
        for state in servers.values():
            await state.connections.aclose()

    def _state_of(self, server: Server) -> _ServerState:
        """Return the state of a server; each asyncio loop has its own, such as that of a forked process."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._of_other_loops.append(self._servers)  # kept open: they may belong to the process before the fork
            self._loop, self._servers, self._stopped = loop, {}, asyncio.Event()
            if self._is_stopped:
                self._stopped.set()
        if server.base_url not in self._servers:
            self._servers[server.base_url] = _ServerState(
                connections=Connections(is_loopback=server.is_loopback, transport=self._transport),
                limiter=RateLimiter(self._limits, clock=self._clock, sleep=self._sleep_or_stop, jitter=self._jitter),
            )
        return self._servers[server.base_url]

    async def _try(self, post: _Post, state: _ServerState) -> ChatReply:
        while True:
            try:
                return await self._attempt(post, state)
            except TransientError as error:
                last = error
            if isinstance(last, BusyError):
                post.n_refusals += 1
            else:
                post.n_faults += 1
                self._count_failed_attempt(post, state, last)
            wait = self._wait_after(last, post, state)
            if post.n_faults == self._bounds.max_attempts or self._clock() + wait >= post.deadline:
                break
            await self._sleep_or_stop(wait)
            if self._clock() >= post.deadline:
                break
        raise EndpointError(
            f"{post.where}: no usable reply in {post.n_attempts} attempts, the last one: {last}; try again later, or "
            "raise max_attempts or timeout_seconds"
        )

    def _count_failed_attempt(self, post: _Post, state: _ServerState, last: TransientError) -> None:
        state.n_failed_attempts += 1
        most = max(self._bounds.max_failures_in_a_row, _LEAST_ATTEMPTS_A_CONNECTION * self._bounds.max_connections)
        if not state.has_replied and state.n_failed_attempts >= most:
            raise FailingServerError(
                f"{post.where}: not one usable reply in the first {state.n_failed_attempts} attempts, the last one: "
                f"{last}; see whether the server runs and run again: what is stored is kept"
            )

    def _wait_after(self, last: TransientError, post: _Post, state: _ServerState) -> float:
        """Return the seconds until the next attempt; a pause that the server asks for holds for all its requests."""
        is_busy, asked = isinstance(last, BusyError), last.wait_seconds
        if asked is not None and asked > self._bounds.total_timeout_seconds:
            raise FailingServerError(
                f"{post.where}: {last}; the server asks to wait for {asked:.0f} s, which is longer than a request may "
                "take; run again then: what is stored is kept"
            )
        n_before = post.n_refusals if is_busy else post.n_faults
        if is_busy and asked is None:
            asked = min(_LONGEST_BUSY_SECONDS, _FIRST_BUSY_SECONDS * 2.0 ** min(n_before - 1, 10))
        if asked:
            state.limiter.pause(asked)
        grown = wait_before(
            n_before + 1,
            asked_seconds=None,
            jitter=self._jitter(),
            longest_seconds=self._bounds.longest_wait_seconds,
        )
        return max(grown, spread(asked or 0.0, self._jitter()))

    async def _attempt(self, post: _Post, state: _ServerState) -> ChatReply:
        asked_at = self._clock()
        await self._budget.reserve(post.request)  # reserves again after an attempt that may have been charged
        correct = await state.limiter.turn(lambda: prompt_tokens_of(post.request) + post.request.max_tokens)
        post.deadline += self._clock() - asked_at
        is_first = not post.is_sent
        self._totals.count(attempts=1, retries=int(post.n_attempts > 0), sent=int(is_first))
        post.is_sent = True
        try:
            answer = await state.connections.post(
                post.address,
                headers=post.server.provider.headers(post.key.value),
                body=post.body,
                seconds=min(self._bounds.timeout_seconds, post.deadline - self._clock()),
                max_bytes=self._bounds.max_reply_bytes,
                key=post.key.value,
            )
            reply = _read(post, answer) if answer.status in _OK else None
        except (NotSentError, StopError):
            correct(0)
            self._totals.count(sent=-int(is_first))
            post.is_sent = not is_first
            raise
        except (TransientError, EndpointError, asyncio.CancelledError):
            self._count_maybe_charged(post)
            raise
        if reply is None:
            correct(0)
            return self._handle_refusal(post, answer)
        if reply.usage.prompt_tokens is not None and reply.usage.completion_tokens is not None:
            correct(reply.usage.prompt_tokens + reply.usage.completion_tokens)
        return reply

    def _count_maybe_charged(self, post: _Post) -> None:
        self._totals.count_maybe_charged(post.request.key)
        self._budget.settle(post.request.key, None)

    def _handle_refusal(self, post: _Post, answer: HttpAnswer) -> ChatReply:
        if is_withheld(answer.status, answer.content):
            return withheld_reply(is_charged=post.server.provider.charges_for_withheld)
        if may_have_run(answer.status):
            self._count_maybe_charged(post)
        raise failure_of(
            answer.status, answer.headers, answer.content, where=post.where, key=post.key.value, now=self._today()
        )

    async def _sleep_or_stop(self, seconds: float) -> None:
        """Sleep; raise `DrainingError` as soon as no further attempt may begin."""
        sleeping = asyncio.ensure_future(self._sleep(seconds))
        stopping = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            stopping.cancel()
        if self._is_stopped:
            raise DrainingError("a request would have to be sent again, but no more are sent; run again to go on")


def _read(post: _Post, answer: HttpAnswer) -> ChatReply:
    """Return the reply in a body, whatever its media type: a sound reply is paid for."""
    try:
        reply = reply_of(post.server.provider.wire, answer.content)
    except TransientError as error:
        media_type = answer.headers.get("Content-Type", "unknown type")
        failure = shown(f"{error}, in {len(answer.content)} bytes of {media_type}", post.key.value)
    else:
        return reply_without_key(reply, post.key)
    raise TransientError(failure)


def _require_usable(limits: RateLimits, bounds: Bounds) -> None:
    if importlib.util.find_spec("httpx") is None:
        raise MissingExtraError("language models: need httpx, which is not installed: pip install 'evidencebench[llm]'")
    for settings in (limits, bounds):
        for name in type(settings).__dataclass_fields__:
            value = getattr(settings, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise SystemSpecError(f"language models: {name}: expected more than 0, got {value}")
