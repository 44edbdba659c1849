"""ChatClient.ask/together/drain/close; make_client; estimate and replay senders."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TypeVar

import msgspec

from evidencebench.engine.local import call_together
from evidencebench.errors import (
    CacheError,
    DrainingError,
    EvidenceBenchError,
    FailingCacheError,
    PendingError,
    StopError,
)
from evidencebench.files.disk import PathText
from evidencebench.models.llm.batch_queue import BatchQueue
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Received, Sender, Usage, prompt_tokens_of
from evidencebench.models.llm.costs import Budget, PriceTable, RunningTotals, shown_usd
from evidencebench.models.llm.replies import ReplyCache, open_cache
from evidencebench.models.llm.sender import Bounds, HttpSender
from evidencebench.tables import Column
from evidencebench.web.http import CLOSED, Transport, in_thread, wait_for

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    model: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None  # at these numbers; None where the model's price is not known


ESTIMATE_COLUMNS: list[Column[ModelEstimate]] = [
    Column("model", "model", lambda row: row.model),
    Column("requests", "requests", lambda row: row.requests),
    Column("prompt_tokens", "prompt tokens", lambda row: row.prompt_tokens),
    Column("completion_tokens", "reply tokens", lambda row: row.completion_tokens),
    Column(
        *("cost_usd", "cost", lambda row: row.cost_usd),
        lambda row: "unknown" if row.cost_usd is None else shown_usd(row.cost_usd),
    ),
]


class EstimatingSender:
    """Counts requests instead of sending them; a reply has `completion_tokens`, at most the request's `max_tokens`."""

    def __init__(self, prices: PriceTable, *, completion_tokens: int = 400, batch: bool = False) -> None:
        self._prices, self._completion_tokens, self._batch = prices, completion_tokens, batch
        self._tokens: dict[str, dict[str, tuple[int, int]]] = {}  # by model and by request: of the prompt and the reply

    def estimated(self, request: ChatRequest, stand_in: str) -> ChatReply:
        n_prompt, n_reply = prompt_tokens_of(request), min(self._completion_tokens, request.max_tokens)
        self._tokens.setdefault(request.model, {})[request.key] = (n_prompt, n_reply)
        return ChatReply(text=stand_in, usage=Usage(prompt_tokens=n_prompt, completion_tokens=n_reply))

    def estimates(self) -> tuple[ModelEstimate, ...]:
        estimates = []
        for model, tokens in sorted(self._tokens.items()):
            n_prompt, n_reply = map(sum, zip(*tokens.values(), strict=True))
            usage = Usage(prompt_tokens=n_prompt, completion_tokens=n_reply)
            cost_usd = self._prices.cost_usd(model, usage, batch=self._batch)
            estimates.append(ModelEstimate(model, len(tokens), n_prompt, n_reply, cost_usd))
        return tuple(estimates)

    def send(self, request: ChatRequest) -> ChatReply:
        return self.estimated(request, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    request: ChatRequest
    reply: ChatReply | None = None
    cost_usd: float | None = None


@dataclass(slots=True, kw_only=True)
class ReplayingSender:
    """Notes every request instead of sending it; without a cache, a strategy makes only its first requests."""

    cache: ReplyCache | None = None
    noted: list[Replayed] = field(default_factory=list)  # all requests, in order

    def send(self, request: ChatRequest) -> ChatReply:
        """Return the stored reply; raise `PendingError` if there is none, so that further requests are noted too."""
        stored = None
        with suppress(CacheError):  # a damaged reply counts as missing
            stored = None if self.cache is None else self.cache.find(request.key)
        reply, cost_usd = stored or (None, None)
        self.noted.append(Replayed(request=request, reply=reply, cost_usd=cost_usd))
        if reply is None:
            raise PendingError(f"{request.model}: the reply to request {request.key[:12]} is not stored")
        return reply


_LOOK_AGAIN_SECONDS = 0.2  # between two looks at a request that another process sends


@dataclass(slots=True)
class _Flight:
    request: ChatRequest
    n_waiting: int = 0
    is_begun: bool = False  # so that it is finished though nobody waits any more
    task: "asyncio.Task[Received] | None" = None


class ChatClient:
    """Makes one request of equal ones, and stores each reply before it is returned. Any thread may ask."""

    def __init__(
        self,
        *,
        sender: Sender,
        cache: ReplyCache | None,  # closed with the client; None: no reply is stored
        prices: PriceTable,
        budget: Budget | None = None,  # the sender's, if it has one; None: no limit
        max_in_flight: int = 16,  # the most requests sent at a time; others wait
        totals: RunningTotals | None = None,  # the sender's, if it has some
        in_batches: BatchQueue | None = None,  # what is in an open batch is paid for already: it stops the run
        on_drain: Callable[[], object] = lambda: None,
        on_close: Callable[[], object] = lambda: None,  # ends what is in flight
    ) -> None:
        self.totals: RunningTotals = RunningTotals() if totals is None else totals
        self._sender, self._cache, self._prices = sender, cache, prices
        self._budget = Budget(prices, None) if budget is None else budget
        self._max_in_flight, self._on_drain, self._on_close = max_in_flight, on_drain, on_close
        self._in_batches = in_batches
        self._is_draining = self._is_closed = False
        self._is_writable = False
        self._helpers = threading.Semaphore(max_in_flight)
        # Of the loop, on which all requests are sent.
        self._writable_lock, self._slots = asyncio.Lock(), asyncio.Semaphore(max_in_flight)
        self._flights: dict[str, _Flight] = {}

    def ask(self, request: ChatRequest, *, stand_in: str = "") -> Received:
        """`stand_in` is an example of a well-formed reply; only cost estimates use it. Raises as `Sender.send`."""
        if self._is_closed:
            raise DrainingError(CLOSED)
        with _stop_if_cache_fails():
            if (stored := self._find_stored(request.key)) is not None:
                return stored
        if isinstance(self._sender, EstimatingSender):
            return Received(self._sender.estimated(request, stand_in), None)
        return wait_for(self._ask(request))

    def together(self, work: Sequence[Callable[[], T]], *, most: int | None = None) -> list[T | BaseException]:
        """Return what each returned or raised, see `call_together`; `most` run at once (None: as many as requests)."""
        sends_nothing = isinstance(self._sender, EstimatingSender | ReplayingSender)
        return call_together(
            work,
            1 if sends_nothing else most or self._max_in_flight,
            room=self._helpers,
            ends_all=lambda error: most is not None and isinstance(error, StopError),
        )

    def drain(self) -> None:
        """Send nothing more: requests in flight are finished and stored; a new request raises `DrainingError`."""
        self._is_draining = True
        self._on_drain()

    def close(self) -> None:
        self.drain()
        self._is_closed = True
        self._on_close()
        if self._flights:
            wait_for(self._end(seconds=10.0))
        if self._cache is not None:
            self._cache.close()

    async def _ask(self, request: ChatRequest) -> Received:
        """Return the reply of the one request of equal ones; it is not sent once all who asked were interrupted."""
        flight = self._flights.get(request.key)
        is_first = flight is None
        if flight is None:
            flight = self._flights[request.key] = _Flight(request)
            flight.task = asyncio.ensure_future(self._serve(flight))
            flight.task.add_done_callback(_take_note)
        assert flight.task is not None
        flight.n_waiting += 1
        try:
            received = await asyncio.shield(flight.task)
        finally:
            flight.n_waiting -= 1
            if not flight.n_waiting and not flight.is_begun:
                flight.task.cancel()
        if not is_first:
            self.totals.count(stored=1)
        return received

    async def _serve(self, flight: _Flight) -> Received:
        request = flight.request
        try:
            async with self._slots:
                await self._budget.reserving(request)
                flight.is_begun = True
                try:
                    with _stop_if_cache_fails():
                        return await self._receive(request)
                finally:
                    self._budget.release(request.key)
        finally:
            del self._flights[request.key]

    async def _end(self, *, seconds: float) -> None:
        if tasks := [flight.task for flight in self._flights.values() if flight.task]:
            await asyncio.wait(tasks, timeout=seconds)

    async def _receive(self, request: ChatRequest) -> Received:
        self._require_not_draining()
        if (cache := self._cache) is None:
            return await self._send(request)
        if not self._is_writable:
            await self._require_writable(cache)
        while True:
            with cache.claimed(request.key) as is_mine:
                if is_mine:
                    return self._find_stored(request.key) or await self._send(request)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            self._require_not_draining()

    async def _require_writable(self, cache: ReplyCache) -> None:
        """Raise where a reply could not be stored, which would be paid for again."""
        async with self._writable_lock:  # not taken once that is known: whoever comes would wait in a row for ever
            if not self._is_writable:
                await in_thread(cache.require_writable)
                self._is_writable = True

    async def _send(self, request: ChatRequest) -> Received:
        batch = None if self._in_batches is None else self._in_batches.batch_of(request.key)
        if batch is not None:
            when = datetime.fromtimestamp(batch.created, UTC)
            raise StopError(
                f"{request.model}: a request is part of batch {batch.name or 'without a known id'}, submitted "
                f"{when:%Y-%m-%d %H:%M} UTC, and would be paid twice; run with --batch to collect it, or give it up "
                "with 'evidencebench cache prune --batches'"
            )
        self.totals.count(in_flight=1)
        try:
            reply = await self._reply_to(request)
        except (StopError, PendingError, CacheError):  # the last: a `BatchSender` writes to the cache too
            raise
        except EvidenceBenchError:
            self.totals.count(failures=1)
            raise
        finally:
            self.totals.count(in_flight=-1)
        if n_lost := self.totals.maybe_charged.pop(request.key, 0):
            reply = msgspec.structs.replace(reply, maybe_charged=n_lost)
        reply, cost_usd = self._prices.priced(request.model, reply)
        self._budget.settle(request.key, cost_usd)
        self.totals.count_reply(reply, cost_usd)
        if self._cache is not None:
            await self._cache.putting(request, reply, cost_usd)
        return Received(reply, cost_usd)

    async def _reply_to(self, request: ChatRequest) -> ChatReply:
        if isinstance(self._sender, HttpSender):
            return await self._sender.sending(request)
        return await in_thread(partial(self._sender.send, request))

    def _find_stored(self, key: str) -> Received | None:
        stored = None if self._cache is None else self._cache.find(key)
        if stored is not None:
            self.totals.count_stored(key)
        return stored

    def _require_not_draining(self) -> None:
        if self._is_closed:
            raise DrainingError(CLOSED)
        if self._is_draining:
            raise DrainingError("no more requests are sent, since the run is stopping; run again to resume")


def _take_note(task: "asyncio.Task[Received]") -> None:
    """Take the error of a request whose askers are gone, of which asyncio would tell else."""
    if not task.cancelled():
        task.exception()


@contextmanager
def _stop_if_cache_fails() -> Iterator[None]:
    try:
        yield
    except StopError:
        raise
    except CacheError as error:
        raise FailingCacheError(
            f"{error}; nothing more is sent, since replies that cannot be kept would be paid for again; mend that "
            "and run again, or set EVIDENCEBENCH_CACHE=off to keep none"
        ) from error


def make_client(
    *,
    max_connections: int = 16,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    timeout_seconds: float = 600.0,
    total_timeout_seconds: float | None = None,
    max_attempts: int = 6,
    prices: PathText | None = None,
    max_cost_usd: float | None = None,
    cache: bool = True,
    environ: Mapping[str, str] | None = None,
    transport: Transport | None = None,
) -> ChatClient:
    """Return a client that sends over HTTP.

    Parameters
    ----------
    max_connections
        The most requests in flight at a time.
    requests_per_minute, tokens_per_minute
        The limits for each server; None: no limit.
    timeout_seconds
        The limit for one attempt.
    total_timeout_seconds
        The limit for all attempts at a request and the waits between them; None: `timeout_seconds` times
        `max_attempts`, and at least an hour.
    max_attempts
        How often a request is sent at most; attempts that the server refuses as too many (429) are not counted.
    prices
        A file with prices, in place of the package's own table.
    max_cost_usd
        The most that may be spent, in US dollars; None: no limit.
    cache
        Whether replies are stored between runs; the environment can switch that off.
    environ
        The environment variables; None: this process's.
    transport
        What answers in place of the network, as httpx's transports do, such as `httpx.ASGITransport(app)`; None: it.

    Raises
    ------
    DataError
        If the price table cannot be read.
    SystemSpecError
        If a limit is no number above 0.
    """
    table, totals = PriceTable.load(prices), RunningTotals()
    budget = Budget(table, max_cost_usd)
    if total_timeout_seconds is None:
        total_timeout_seconds = max(3600.0, timeout_seconds * max_attempts)
    sender = HttpSender(
        bounds=Bounds(
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            max_connections=max_connections,
            timeout_seconds=timeout_seconds,
            total_timeout_seconds=total_timeout_seconds,
            max_attempts=max_attempts,
        ),
        totals=totals,
        budget=budget,
        environ=environ,
        transport=transport,
    )
    replies = open_cache(environ) if cache else None
    return ChatClient(
        sender=sender,
        cache=replies,
        in_batches=None if replies is None else BatchQueue(replies),
        prices=table,
        budget=budget,
        max_in_flight=max_connections,
        totals=totals,
        on_drain=sender.stop_retrying,
        on_close=sender.close,
    )


@lru_cache(maxsize=1)
def default_client() -> ChatClient:
    return make_client()
