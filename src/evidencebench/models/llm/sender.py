"""HttpSender: attempts, rate limits, refusals."""

import asyncio
import math
import random
import re
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import msgspec

from evidencebench.errors import (
    DrainingError,
    EndpointError,
    EvidenceBenchError,
    FailingServerError,
    StopError,
    SystemSpecError,
)
from evidencebench.files.disk import packaged_table
from evidencebench.models.llm.chat import NOTHING_USED, ChatReply, ChatRequest, Usage, prompt_tokens_of
from evidencebench.models.llm.costs import Budget, PriceTable, RunningTotals
from evidencebench.models.llm.inspect_models import INSPECT, InspectModels
from evidencebench.models.llm.providers import Key, Server, key_for, reply_without_key, server_of
from evidencebench.models.llm.wire import (
    KEEP,
    Form,
    error_status,
    is_stream,
    path_and_body,
    read_reply,
    shared_beginning,
    untaken_field,
)
from evidencebench.web.fetch import optional_part
from evidencebench.web.http import (
    CLOSED,
    OK,
    Http,
    HttpAnswer,
    NotSentError,
    Transport,
    hide_key,
    is_this_machine,
    last_failure_told,
    loop,
    wait_for,
)
from evidencebench.web.retry import BusyError, Retry, TransientError, Tries, is_transient, retry_after, spread

_MINUTE_SECONDS = 60.0
_LEAST_TOLD_SECONDS = 3.0  # of a wait that is told
_LONGEST_SILENCE_SECONDS = 2.0  # of a server of this machine that never replied


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Sending stops after `max_failures_in_a_row`, or if a server never replied in that many attempts."""

    timeout_seconds: float = 600.0  # of one attempt, from connecting to the last byte
    total_timeout_seconds: float = 3600.0  # of all attempts and the waits between them, without waits for rate limits
    max_attempts: int = 6  # the first included; attempts that the server refuses as too many are not counted
    max_connections: int = 16  # requests sent at a time; the caller keeps this limit
    max_failures_in_a_row: int = 25
    longest_wait_seconds: float = 120.0  # before an attempt, unless the server asks for more
    max_reply_bytes: int = 16 << 20
    requests_per_minute: float | None = None  # attempts at one server in any minute; None: no limit
    tokens_per_minute: float | None = None  # a request with more is sent when no other was in the last minute

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise SystemSpecError(f"language models: {limit.name}: expected more than 0, got {value}")


class _RateWindow:
    """The amounts let through in the last `seconds`, and the most that may be."""

    def __init__(self, most: float, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._entries: deque[list[float]] = deque()  # time and amount, the oldest first
        self._sum = 0.0

    def wait_seconds(self, now: float, amount: float) -> float:
        while self._entries and self._entries[0][0] + self._seconds <= now:
            self._sum -= self._entries.popleft()[1]
        if not self._entries or self._sum + amount <= self._most:
            return 0.0
        return self._entries[0][0] + self._seconds - now

    def add(self, now: float, amount: float) -> list[float]:
        self._entries.append([now, amount])
        self._sum += amount
        return self._entries[-1]

    def correct(self, entry: list[float], amount: float) -> None:
        if self._entries and entry[0] >= self._entries[0][0]:  # it still counts
            self._sum += amount - entry[1]
            entry[1] = amount


class RateLimiter:
    """Lets attempts to one server through, one after the other; waits are those of `retry`."""

    def __init__(self, bounds: Bounds, retry: Retry) -> None:
        self._clock, self._jitter = retry.clock, retry.jitter
        self._turn = asyncio.Lock()
        self._requests = self._tokens = None
        if (rate := bounds.requests_per_minute) is not None:
            n_most = max(1, int(rate))
            self._requests = _RateWindow(n_most, _MINUTE_SECONDS * n_most / rate)
        if bounds.tokens_per_minute is not None:
            self._tokens = _RateWindow(bounds.tokens_per_minute, _MINUTE_SECONDS)
        self._paused_until = float("-inf")

    async def turn(
        self, n_tokens: Callable[[], float], sleep: Callable[[float], Awaitable[object]]
    ) -> Callable[[float], None]:
        """Wait until an attempt may be made; return a function to call afterwards with the tokens really used."""
        n = 0.0 if self._tokens is None else n_tokens()
        limited = [(window, amount) for window, amount in ((self._requests, 1.0), (self._tokens, n)) if window]
        if not limited:
            await self._wait_for_pause(sleep)
            return lambda _: None
        async with self._turn:
            await self._wait_for_pause(sleep)
            while (wait := max(window.wait_seconds(self._clock(), amount) for window, amount in limited)) > 0:
                await sleep(min(wait, 1.0))  # then look again: a correction may have made room earlier
                await self._wait_for_pause(sleep)
            entries = [window.add(self._clock(), amount) for window, amount in limited]
        if (tokens := self._tokens) is None:
            return lambda _: None
        return lambda used: tokens.correct(entries[-1], used)

    def pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    async def _wait_for_pause(self, sleep: Callable[[float], Awaitable[object]]) -> None:
        while (left := self._paused_until - self._clock()) > 0:
            await sleep(spread(left, self._jitter()))


# The server stopped waiting for the model behind it, which may have run and may be charged for. Source: OpenAI and
# Anthropic charge for the tokens that a reply reports, so for no error. Azure's "Plan to manage costs" says that it may
# charge where processing was done, naming a content filter's 400 and a 408, and not for 401 and 429. A gateway's 504
# (524 at Cloudflare) is its own end of waiting, behind which the model may go on.
MAY_HAVE_RUN = frozenset({408, 504, 524})
_TOO_MANY_REQUESTS = 429
_LIMIT = re.compile(r"(?i)\blimit:? ([\d,]{1,15})\b[^.]*?\brequested:? ([\d,]{1,15})\b")
_REFUSALS = packaged_table(__file__, "refusals.toml")


def refusal_text(content: bytes) -> str:
    error = _error_in(content)
    if isinstance(error, dict):
        said = [error.get(name) for name in ("message", "code", "type")]
        error = " ".join(words for words in said if words and isinstance(words, str))
    return error if error and isinstance(error, str) else content.decode(errors="replace")


def is_withheld(status: int, content: bytes) -> bool:
    """Return whether a provider refuses a prompt for its content: then the reply is a refusal, and no failure."""
    if status not in {400, 403}:
        return False
    error = _error_in(content)
    metadata = error.get("metadata") if isinstance(error, dict) else None
    return (isinstance(metadata, dict) and "flagged_input" in metadata) or _holds(refusal_text(content), "withheld")


def withheld_reply(*, is_charged: bool = False) -> ChatReply:
    return ChatReply(text="", finish="refused", usage=Usage() if is_charged else NOTHING_USED)


def unformed_reply(status: int, content: bytes) -> ChatReply | None:
    """Return the reply, if told, where a server says that its model replied in another form; None: it does not."""
    if status not in {400, 500} or not _holds(refusal_text(content), "unformed"):
        return None
    error = _error_in(content)
    text = error.get("failed_generation") if isinstance(error, dict) else None  # Groq's
    return ChatReply(text=text if isinstance(text, str) else "", finish="other")


def failure_of(answer: HttpAnswer, *, where: str, key: str) -> TransientError | EvidenceBenchError:
    status, text = answer.status, refusal_text(answer.content)
    message = f"status {status}: {hide_key(text, key)}"
    if status in range(300, 400):
        return FailingServerError(f"{where}: status {status}: a redirect, which is not followed; correct base_url")
    if _holds(text, "no_money"):
        return FailingServerError(f"{where}: {message}; see to the account at the provider, then run again")
    if advice := _REFUSALS["advice"].get(str(status)):
        return FailingServerError(f"{where}: {message}; {advice}, then run again")
    if is_transient(status) and not _never_fits(text):
        kind = BusyError if status == _TOO_MANY_REQUESTS else TransientError
        return kind(message, retry_after(answer.headers))
    fits = "the limit lets through" if _never_fits(text) else "the model can read" if _holds(text, "too_long") else ""
    return EndpointError(f"{where}: {message}{f'; set context_tokens to what {fits}, reply included' if fits else ''}")


def _never_fits(text: str) -> bool:
    """Say whether a request asks for more tokens than a limit of the account lets through at once."""
    limits = _LIMIT.search(text[:100_000])
    return limits is not None and int(limits[2].replace(",", "")) > int(limits[1].replace(",", ""))


def _error_in(content: bytes) -> Any:
    body = optional_part(content, dict[str, Any])
    return None if body is None else body.get("error")


def _holds(text: str, kind: str) -> bool:
    lowered = text[:100_000].lower()
    return any(words in lowered for words in _REFUSALS[kind])


@dataclass(slots=True, kw_only=True)
class _Target:
    http: Http
    limiter: RateLimiter
    n_failures: int = 0
    n_failed_attempts: int = 0
    has_replied: bool = False
    told_until: float = float("-inf")  # the end of the wait that was told last
    silent_since: float | None = None  # when a server of this machine was first not there


@dataclass(slots=True)
class _Post:
    request: ChatRequest
    server: Server
    target: _Target
    key: Key
    address: str
    where: str
    body: bytes = field(repr=False)
    form: Form
    is_sent: bool = False


class HttpSender:
    def __init__(
        self,
        *,
        bounds: Bounds = Bounds(),
        totals: RunningTotals | None = None,  # counts each attempt
        budget: Budget | None = None,  # pays attempts that may have been charged without a reply
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,  # None: until `stop_retrying` is called, at most
        jitter: Callable[[], float] = random.random,
        environ: Mapping[str, str] | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._bounds, self._totals = bounds, RunningTotals() if totals is None else totals
        self._budget = Budget(PriceTable(as_of="", models={}), None) if budget is None else budget
        self._environ, self._transport = environ, transport
        self._stopped = asyncio.Event()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._targets: dict[str, _Target] = {}
        self._is_closed = False
        self._tasks: dict[int, int] = {}  # the beginning of a prompt -> how it first went on
        self._has_recurred = False
        self._forms: dict[tuple[str, str], Form] = {}  # address, model -> what the server takes
        self._retry = Retry(
            max_attempts=bounds.max_attempts,
            total_seconds=bounds.total_timeout_seconds,
            longest_wait_seconds=bounds.longest_wait_seconds,
            clock=clock,
            jitter=jitter,
        )

    def send(self, request: ChatRequest) -> ChatReply:
        return wait_for(self.sending(request))

    async def sending(self, request: ChatRequest) -> ChatReply:
        """Raise `EndpointError` if it failed for good, a `StopError` if no other can succeed or may be sent."""
        if request.provider == INSPECT:
            return await asyncio.to_thread(self._ask_inspect, request)
        post = self._post_of(request)
        target = post.target
        try:
            with last_failure_told(post.where):
                reply = await self._retry.calling(
                    lambda tries: self._attempt(post, tries),
                    self._sleep_or_stop,
                    on_failure=lambda error: self._count_failed_attempt(post, error),
                    on_pause=target.limiter.pause,
                    on_wait=lambda error, seconds: self._tell_wait(post, error, seconds),
                )
        except StopError:
            raise
        except EvidenceBenchError as error:
            target.n_failures += 1
            if target.n_failures >= self._bounds.max_failures_in_a_row:
                raise FailingServerError(f"{error} ({target.n_failures} failed in a row)") from error
            raise
        target.n_failures, target.has_replied = 0, True
        return reply

    def _ask_inspect(self, request: ChatRequest) -> ChatReply:
        bounds = self._bounds
        seconds = {"attempt_timeout": bounds.timeout_seconds, "timeout": bounds.total_timeout_seconds}
        limits = {name: math.ceil(value) for name, value in seconds.items()} | {"max_retries": bounds.max_attempts - 1}
        self._totals.count(attempts=1, sent=1)
        try:
            return InspectModels(limits=limits).send(request)
        except EndpointError:
            self._count_maybe_charged(request)
            raise

    def stop_retrying(self) -> None:
        loop().call_soon_threadsafe(self._stopped.set)

    def close(self) -> None:
        """End what runs; no request begins after this, at a server that was not yet asked either."""
        with self._lock:
            self._is_closed = True
        for target in self._targets.values():
            target.http.close()

    def _post_of(self, request: ChatRequest) -> _Post:
        try:
            server = server_of(request)
            form = self._forms.get((server.base_url, request.model), Form()) | self._keeping(request)
            path, body = path_and_body(request, form)
            key = key_for(server, environ=self._environ)
        except SystemSpecError as error:
            raise FailingServerError(str(error)) from error
        with self._lock:
            if self._is_closed:
                raise DrainingError(CLOSED)
            if (target := self._targets.get(server.base_url)) is None:
                http, limiter = Http(server.base_url, self._transport), RateLimiter(self._bounds, self._retry)
                target = self._targets[server.base_url] = _Target(http=http, limiter=limiter)
        address = server.address(path)
        where = f"{address.partition('?')[0]}: model '{request.model_name}'"
        return _Post(request, server, target, key, address, where, body, form)

    def _keeping(self, request: ChatRequest) -> Form:
        """Return whether to keep a prompt's beginning: once two had one in common, since papers are asked by task."""
        beginning, rest = shared_beginning(request)
        task = hash(rest[:600])  # another turn of the same task goes on behind that
        self._has_recurred = self._has_recurred or self._tasks.setdefault(hash(beginning), task) != task
        return Form([KEEP]) if self._has_recurred and rest.strip() else Form()

    def _tell_wait(self, post: _Post, error: TransientError, seconds: float) -> None:
        """Tell of a wait of some seconds, once for all requests that wait for a server."""
        target, until = post.target, self._retry.clock() + seconds
        with self._lock:
            is_news = seconds >= _LEAST_TOLD_SECONDS and until >= target.told_until + _LEAST_TOLD_SECONDS
            target.told_until = until if is_news else target.told_until
        if is_news:
            self._totals.tell(f"{post.where}: waiting {seconds:.0f} s: {error}")

    def _count_failed_attempt(self, post: _Post, last: TransientError) -> None:
        if isinstance(last, BusyError):
            return
        target = post.target
        target.n_failed_attempts += 1
        self._require_server(post, last)
        most = max(self._bounds.max_failures_in_a_row, 3 * self._bounds.max_connections)
        if not target.has_replied and target.n_failed_attempts >= most:
            raise FailingServerError(
                f"{post.where}: no usable reply in {target.n_failed_attempts} attempts, the last: {last}; is the "
                "server running?"
            )

    def _require_server(self, post: _Post, last: TransientError) -> None:
        """Raise where nothing answers at an address of this machine: what is not started does not start by waiting."""
        target, now = post.target, self._retry.clock()
        if not isinstance(last, NotSentError) or target.has_replied or not is_this_machine(post.server.base_url):
            target.silent_since = None
            return
        target.silent_since = now if target.silent_since is None else target.silent_since
        if now - target.silent_since >= _LONGEST_SILENCE_SECONDS:
            raise FailingServerError(
                f"cannot connect to {post.server.base_url} ({last}): start the server, as with 'ollama serve', or "
                "correct base_url"
            )

    async def _attempt(self, post: _Post, tries: Tries) -> ChatReply:
        clock, asked_at = self._retry.clock, self._retry.clock()
        await self._budget.reserving(post.request)  # reserves again after an attempt that may have been charged
        n_tokens = partial(_most_tokens, post.request)
        correct = await post.target.limiter.turn(n_tokens, self._sleep_or_stop)
        tries.deadline += clock() - asked_at
        is_first, sent_at, first_byte_at = not post.is_sent, clock(), list[float]()
        self._totals.count(attempts=1, retries=int(tries.n > 0), sent=int(is_first))
        post.is_sent = True
        try:
            answer = await post.target.http.requesting(
                "POST",
                post.address,
                headers=post.server.provider.headers(post.key.value),
                body=post.body,
                seconds=min(self._bounds.timeout_seconds, tries.deadline - clock()),
                most_bytes=self._bounds.max_reply_bytes,
                key=post.key.value,
                on_first_byte=lambda: first_byte_at.append(clock()),
            )
            times = [round(at - sent_at, 3) for at in (clock(), *first_byte_at)]
            if answer.status in OK and (status := error_status(answer.content)) is not None:
                answer = replace(answer, status=status)
            reply = _read(post, answer, *times) if answer.status in OK else None
        except (NotSentError, FailingServerError):
            correct(0)
            self._totals.count(sent=-int(is_first))
            post.is_sent = not is_first
            raise
        except (TransientError, EndpointError, DrainingError):  # the last: closed while it was in flight
            self._count_maybe_charged(post.request)
            raise
        if reply is None:
            correct(0)
            if is_withheld(answer.status, answer.content):
                return withheld_reply(is_charged=post.server.provider.charges_for_withheld)
            if (unformed := unformed_reply(answer.status, answer.content)) is not None:
                return reply_without_key(unformed, post.key)
            name = untaken_field(post.request, post.form, refusal_text(answer.content))
            if name and answer.status in {400, 422, 500}:  # pydantic's is 422, and 500 in llama-cpp-python's server
                post.form |= {name}
                _, post.body = path_and_body(post.request, post.form)
                return await self._attempt(
                    post, tries
                )  # at once, since no model ran; each field once, so that this ends
            if answer.status in MAY_HAVE_RUN:
                self._count_maybe_charged(post.request)
            raise failure_of(answer, where=post.where, key=post.key.value)
        self._forms[post.server.base_url, post.request.model] = post.form - {KEEP}
        if reply.usage.prompt_tokens is not None and reply.usage.completion_tokens is not None:
            correct(reply.usage.prompt_tokens + reply.usage.completion_tokens)
        return reply

    def _count_maybe_charged(self, request: ChatRequest) -> None:
        self._totals.count_maybe_charged(request.key)
        self._budget.settle(request.key, None)

    async def _sleep_or_stop(self, seconds: float) -> None:
        if self._sleep is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), seconds)
        else:
            await asyncio.to_thread(self._sleep, seconds)
        if self._stopped.is_set():
            raise DrainingError(
                "a request failed and is not sent again, since the run is stopping; run again to resume"
            )


def _most_tokens(request: ChatRequest) -> float:
    return prompt_tokens_of(request) + request.max_tokens


def _read(post: _Post, answer: HttpAnswer, seconds: float, to_first: float | None = None) -> ChatReply:
    """Return the reply in a body, whatever its media type: a sound reply is paid for."""
    try:
        times = {"seconds": seconds, "first_token_seconds": to_first if is_stream(answer.content) else None}
        reply = msgspec.structs.replace(read_reply(post.server.provider.wire, answer.content), **times)
        is_cut = post.server.provider.wire == "responses" and (
            (reply.usage.completion_tokens or 0) >= post.request.max_tokens and reply.finish == "stop"
        )  # which the servers of llama.cpp and transformers do not tell
        reply = reply_without_key(reply, post.key)
        return msgspec.structs.replace(reply, finish="length") if is_cut else reply
    except TransientError as error:
        media_type = answer.headers.get("Content-Type", "unknown type")
        failure = hide_key(f"{error}, in {len(answer.content)} bytes of {media_type}", post.key.value)
    raise TransientError(failure)
