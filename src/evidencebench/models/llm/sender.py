"""HttpSender: attempts, rate limits, refusals."""

import importlib.util
import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
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
from evidencebench.models.http import OK, Http, HttpAnswer, NotSentError, ask_often, hide_key
from evidencebench.models.llm.chat import NOTHING_USED, ChatReply, ChatRequest, Usage, prompt_tokens_of
from evidencebench.models.llm.costs import Budget, PriceTable, RunningTotals
from evidencebench.models.llm.providers import Key, Server, key_for, reply_without_key, server_of
from evidencebench.models.llm.wire import path_and_body
from evidencebench.models.llm.wire import read_reply as reply_of
from evidencebench.web.fetch import optional_part
from evidencebench.web.retry import BusyError, Retry, TransientError, Tries, is_transient, retry_after, spread

if TYPE_CHECKING:
    import httpx


# Rate limits of a server: requests and tokens in a minute, and pauses that the server asks for.


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


# Turn a server's refusal into an error: try again, this request has failed, or no request can succeed.


# The server stopped waiting for the model behind it, which may have run and may be charged.
_MAY_HAVE_RUN = frozenset({408, 504, 524})
_MAY_WITHHOLD = frozenset({400, 403})
_TOO_MANY_REQUESTS = 429
_REDIRECTS = range(300, 400)
_NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "credit balance is too low")
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "exceed_context_size",
    "prompt is too long",
    "maximum input length",
    "input token count",
)
_WITHHELD = (
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "moderation_blocked",
    "prompt was flagged",
    "input was flagged",
    "content was flagged",
    "flagged by moderation",
)
_DO = {  # status -> advice, if the server refuses the key, the account or the model
    401: "correct the key",
    402: "see to the account at the provider",
    403: "see what the key may do at the provider",
    404: "correct the model's name or base_url",
}


def refusal_text(content: bytes) -> str:
    """Return the message and code of a refusal, or its whole text if it has another form."""
    error = _error_in(content)
    if isinstance(error, dict):
        error = " ".join(str(error[name]) for name in ("message", "code", "type") if error.get(name))
    return error if error and isinstance(error, str) else content.decode(errors="replace")


def is_withheld(status: int, content: bytes) -> bool:
    """Return whether a provider refuses a prompt for its content: then the reply is a refusal, and no failure."""
    if status not in _MAY_WITHHOLD:
        return False
    error = _error_in(content)
    told = error.get("metadata") if isinstance(error, dict) else None
    return (isinstance(told, dict) and "flagged_input" in told) or _holds(refusal_text(content), _WITHHELD)


def may_have_run(status: int) -> bool:
    """Return whether the model may have run, and be charged, for a request that was answered by this status.

    Other statuses cost nothing: 400 to 404, 413, 422 and 429 come before a model runs, 500, 502 and 503 instead.

    Source
    ------
    OpenAI and Anthropic charge for the tokens that a reply reports, so for no error. Azure's "Plan to manage costs"
    says that it may charge where processing was done, naming a content filter's 400 and a 408, and not for 401 and 429.
    A gateway's 504 (524 at Cloudflare) is its own end of waiting, behind which the model may go on.
    """
    return status in _MAY_HAVE_RUN


def withheld_reply(*, is_charged: bool = False) -> ChatReply:
    """Return the reply to a prompt that the provider does not pass on to the model; it may charge for it."""
    return ChatReply(text="", finish="refused", usage=Usage() if is_charged else NOTHING_USED)


def failure_of(
    status: int, headers: Mapping[str, str], content: bytes, *, where: str, key: str, now: datetime
) -> TransientError | EvidenceBenchError:
    """Return the error for an answer of a status other than 200; its message leaves the key out."""
    said = refusal_text(content)
    message = f"status {status}: {hide_key(said, key)}"
    if status in _REDIRECTS:
        return FailingServerError(f"{where}: status {status}: a redirect, which is not followed; correct base_url")
    if _holds(said, _NO_MONEY):
        return FailingServerError(f"{where}: {message}; see to the account at the provider, then run again")
    if status in _DO:
        return FailingServerError(f"{where}: {message}; {_DO[status]}, then run again")
    if is_transient(status):
        kind = BusyError if status == _TOO_MANY_REQUESTS else TransientError
        return kind(message, retry_after(headers, now))
    if _holds(said, _TOO_LONG):
        return EndpointError(f"{where}: {message}; set context_tokens to what the model can read, reply included")
    return EndpointError(f"{where}: {message}")


def _error_in(content: bytes) -> Any:
    found = optional_part(content, dict[str, Any])
    return None if found is None else found.get("error")


def _holds(said: str, marks: tuple[str, ...]) -> bool:
    lowered = said[:100_000].lower()
    return any(mark in lowered for mark in marks)


# Send requests over HTTP, with limits on time, size and attempts; retry failures that another attempt may mend.


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
        limits: RateLimits = RateLimits(),
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
            raise DrainingError(
                "a request failed and is not sent again, since sending has stopped; run again to resume"
            )


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
