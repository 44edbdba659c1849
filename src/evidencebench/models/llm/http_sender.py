"""Send requests over HTTP, with limits on time, size and attempts; retry failures that another attempt may mend."""

import importlib.util
import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evidencebench.errors import (
    DrainingError,
    EndpointError,
    EvidenceBenchError,
    FailingServerError,
    MissingExtraError,
    StopError,
    SystemSpecError,
)
from evidencebench.models.http import OK, Http, HttpAnswer, NotSentError, ask_often, hide_key
from evidencebench.models.llm.budget import Budget
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.credentials import Key, key_for, reply_without_key
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.providers import Server, server_of
from evidencebench.models.llm.rate_limits import RateLimiter, RateLimits
from evidencebench.models.llm.refusals import failure_of, is_withheld, may_have_run, withheld_reply
from evidencebench.models.llm.tokens import prompt_tokens_of
from evidencebench.models.llm.totals import RunningTotals
from evidencebench.models.llm.wire import path_and_body, reply_of
from evidencebench.web.transient import BusyError, Retry, TransientError, Tries

if TYPE_CHECKING:
    import httpx

_ATTEMPTS_A_CONNECTION = 3


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
class _Target:
    """A server: its connections, its rate limits, and its failures so far."""

    http: Http
    limiter: RateLimiter
    n_failures: int = 0
    n_failed_attempts: int = 0
    has_replied: bool = False


@dataclass(slots=True, kw_only=True)
class _Post:
    """One request in flight: what all its attempts share."""

    request: ChatRequest
    server: Server
    key: Key
    address: str
    body: bytes = field(repr=False)
    is_sent: bool = False

    @property
    def where(self) -> str:
        return f"{self.address.partition('?')[0]}: model '{self.request.model_name}'"


class HttpSender:
    """Sends requests to the servers that they name. Any thread may call it.

    Parameters
    ----------
    limits, bounds
        The rate limits of each server, and the bounds of each request.
    totals, budget
        Count each attempt, and the cost of attempts that may have been charged without a reply; None: own ones.
    clock, sleep, jitter
        As in `Retry`; a sleep of None ends when `stop_retrying` is called.
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
        sleep: Callable[[float], object] | None = None,
        jitter: Callable[[], float] = random.random,
        today: Callable[[], datetime] = lambda: datetime.now(UTC),
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        _check(limits, bounds)
        self._limits, self._bounds, self._totals = limits, bounds, RunningTotals() if totals is None else totals
        self._budget = Budget(PriceTable(as_of="", models={}), None) if budget is None else budget
        self._today, self._environ, self._folder, self._transport = today, environ, folder, transport
        self._stopped = threading.Event()
        self._sleep = self._stopped.wait if sleep is None else sleep
        self._lock = threading.Lock()
        self._targets: dict[str, _Target] = {}
        self._retry = Retry(
            max_attempts=bounds.max_attempts,
            total_seconds=bounds.total_timeout_seconds,
            longest_wait_seconds=bounds.longest_wait_seconds,
            clock=clock,
            sleep=self._sleep_or_stop,
            jitter=jitter,
        )

    def send(self, request: ChatRequest) -> ChatReply:
        """Return the reply to a request.

        Raises `EndpointError` if the request failed for good, `FailingServerError` if every other would fail too.
        Before a further attempt: `CostLimitError` if it could cost too much, `DrainingError` after `stop_retrying`.
        """
        try:
            server, (path, body) = server_of(request), path_and_body(request)
            key = key_for(server, environ=self._environ, folder=self._folder)
        except SystemSpecError as error:
            raise FailingServerError(str(error)) from error
        target = self._target(server)
        post = _Post(request=request, server=server, key=key, address=server.address(path), body=body)
        try:
            reply = ask_often(
                self._retry,
                lambda tries: self._attempt(post, target, tries),
                post.where,
                on_failure=lambda error, _: self._count_failed_attempt(post, target, error),
                on_pause=target.limiter.pause,
            )
        except StopError:
            raise
        except EvidenceBenchError as error:
            target.n_failures += 1
            if target.n_failures >= self._bounds.max_failures_in_a_row:
                raise FailingServerError(
                    f"{error}; that was failure {target.n_failures} in a row, so nothing more is sent; correct the "
                    "cause and run again: what is stored is kept"
                ) from error
            raise
        target.n_failures, target.has_replied = 0, True
        return reply

    def stop_retrying(self) -> None:
        """Let attempts in flight finish, and begin no further attempt."""
        self._stopped.set()

    def close(self) -> None:
        """Cancel requests in flight and close all connections."""
        for target in list(self._targets.values()):
            target.http.close()

    def _target(self, server: Server) -> _Target:
        with self._lock:
            if server.base_url not in self._targets:
                retry = self._retry
                self._targets[server.base_url] = _Target(
                    http=Http(is_loopback=server.is_loopback, transport=self._transport),
                    limiter=RateLimiter(self._limits, clock=retry.clock, sleep=retry.sleep, jitter=retry.jitter),
                )
            return self._targets[server.base_url]

    def _count_failed_attempt(self, post: _Post, target: _Target, last: TransientError) -> None:
        if isinstance(last, BusyError):
            return
        target.n_failed_attempts += 1
        most = max(self._bounds.max_failures_in_a_row, _ATTEMPTS_A_CONNECTION * self._bounds.max_connections)
        if not target.has_replied and target.n_failed_attempts >= most:
            raise FailingServerError(
                f"{post.where}: not one usable reply in the first {target.n_failed_attempts} attempts, the last one: "
                f"{last}; see whether the server runs and run again: what is stored is kept"
            )

    def _attempt(self, post: _Post, target: _Target, tries: Tries) -> ChatReply:
        clock, asked_at = self._retry.clock, self._retry.clock()
        self._budget.reserve(post.request)  # reserves again after an attempt that may have been charged
        correct = target.limiter.turn(lambda: prompt_tokens_of(post.request) + post.request.max_tokens)
        tries.deadline += clock() - asked_at
        is_first = not post.is_sent
        self._totals.count(attempts=1, retries=int(tries.n > 0), sent=int(is_first))
        post.is_sent = True
        try:
            answer = target.http.request(
                "POST",
                post.address,
                headers=post.server.provider.headers(post.key.value),
                body=post.body,
                seconds=min(self._bounds.timeout_seconds, tries.deadline - clock()),
                most_bytes=self._bounds.max_reply_bytes,
                key=post.key.value,
            )
            reply = _read(post, answer) if answer.status in OK else None
        except (NotSentError, FailingServerError):
            correct(0)
            self._totals.count(sent=-int(is_first))
            post.is_sent = not is_first
            raise
        except (TransientError, EndpointError, DrainingError):  # the last: closed while it was in flight
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

    def _sleep_or_stop(self, seconds: float) -> None:
        self._sleep(seconds)
        if self._stopped.is_set():
            raise DrainingError("a request would have to be sent again, but no more are sent; run again to go on")


def _read(post: _Post, answer: HttpAnswer) -> ChatReply:
    """Return the reply in a body, whatever its media type: a sound reply is paid for."""
    try:
        reply = reply_of(post.server.provider.wire, answer.content)
    except TransientError as error:
        media_type = answer.headers.get("Content-Type", "unknown type")
        failure = hide_key(f"{error}, in {len(answer.content)} bytes of {media_type}", post.key.value)
    else:
        return reply_without_key(reply, post.key)
    raise TransientError(failure)


def _check(limits: RateLimits, bounds: Bounds) -> None:
    if importlib.util.find_spec("httpx") is None:
        raise MissingExtraError("language models: need httpx, which is not installed: pip install 'evidencebench[llm]'")
    for settings in (limits, bounds):
        for name in type(settings).__dataclass_fields__:
            value = getattr(settings, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise SystemSpecError(f"language models: {name}: expected more than 0, got {value}")
