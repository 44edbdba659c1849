"""The client of language models: nothing is sent twice, replies are stored before use, and the cost limit is kept."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from evidencebench.errors import (
    CacheError,
    DrainingError,
    EvidenceBenchError,
    FailingCacheError,
    PendingError,
    StopError,
)
from evidencebench.models.llm.budget import Budget
from evidencebench.models.llm.chat import ChatRequest, Received, Sender
from evidencebench.models.llm.estimating import EstimatingSender
from evidencebench.models.llm.http_sender import Bounds, HttpSender
from evidencebench.models.llm.loop_thread import LoopThread
from evidencebench.models.llm.open_batches import BatchGuardedSender
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.rate_limits import RateLimits
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.models.llm.totals import RunningTotals
from evidencebench.storage.reading import PathText
from evidencebench.storage.user_folders import cache_folder

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_HOUR_SECONDS = 3600.0
_LOOK_AGAIN_SECONDS = 0.2  # at a request that another process is sending
_MOST_LOOKS = 3000  # ten minutes


@dataclass(slots=True)
class _Sending:
    """A request on its way, and how many wait for its reply."""

    task: asyncio.Task[Received]
    n_waiting: int = 0


class ChatClient:
    """Ask language models. Make one with `make_client`, or share `default_client()`.

    The same request is never sent twice: it is answered from the cache, or together with the one on its way. A reply is
    kept in the cache before it is returned.

    Parameters
    ----------
    cache
        Keeps replies, and is closed with the client; None: nothing does.
    budget
        Pays for replies; None: there is no limit. Pass the budget and the totals of the sender, if it has some.
    max_in_flight
        How many requests are sent at a time; more than that wait.
    on_drain
        Called by `drain`.
    on_end
        Awaited in the event loop of the client, when that ends.
    """

    def __init__(
        self,
        *,
        sender: Sender,
        cache: ReplyCache | None,
        prices: PriceTable,
        budget: Budget | None = None,
        max_in_flight: int = 16,
        totals: RunningTotals | None = None,
        on_drain: Callable[[], None] = lambda: None,
        on_end: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0),
    ) -> None:
        self.totals = RunningTotals() if totals is None else totals
        self._sender, self._cache, self._prices = sender, cache, prices
        self._budget = Budget(prices, None) if budget is None else budget
        self._max_in_flight, self._on_drain = max_in_flight, on_drain
        self._is_draining = False
        self._loop_thread = LoopThread(on_end)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process_id = os.getpid()
        self._slots, self._proving = asyncio.Semaphore(max_in_flight), asyncio.Lock()
        self._is_writable = cache is None
        self._sending: dict[str, _Sending] = {}  # by key; an asyncio loop alone would let go of its tasks

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work`, which awaits `ask`, returns; callable from any thread, which waits.

        A calling thread that is interrupted cancels its work: what it has not sent yet stays unsent. Raises
        `DrainingError` if the client is closed.
        """
        return self._loop_thread.run(work)

    async def ask(self, request: ChatRequest, *, stand_in: str) -> Received:
        """Return the reply to a request: a stored one, one on its way already, or a new one; raises as `Sender.send`.

        `stand_in` is what a well-formed reply would look like; only estimates use it.
        """
        key = request.key
        self._enter_loop()
        if (sending := self._sending.get(key)) is not None:
            received = await _joined(sending)
            self.totals.count(stored=1)
            return Received(reply=received.reply, is_stored=True, cost_usd=received.cost_usd)
        if (stored := self._stored(key)) is not None:
            return stored
        if isinstance(self._sender, EstimatingSender):
            return Received(reply=self._sender.estimated(request, stand_in), is_stored=False, cost_usd=None)
        sending = self._sending[key] = _Sending(asyncio.create_task(self._received(request)))
        sending.task.add_done_callback(_note_failure)
        return await _joined(sending)

    def drain(self) -> None:
        """Send nothing more: what is in flight is finished and stored, and what is not stored raises DrainingError."""
        self._is_draining = True
        self._on_drain()

    def close(self) -> None:
        """Cancel what is in flight and free everything; the client cannot be used any more."""
        self.drain()
        self._loop_thread.close()
        if self._cache is not None:
            self._cache.close()

    def _enter_loop(self) -> None:
        """Start afresh in a forked process, or where the loop before this one has ended."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if self._loop is not None and self._process_id == os.getpid() and not self._loop.is_closed():
            raise RuntimeError("a client asks in one event loop at a time; use run(), or make a client for each loop")
        self._loop, self._process_id, self._sending = loop, os.getpid(), {}
        self._slots, self._proving = asyncio.Semaphore(self._max_in_flight), asyncio.Lock()
        self._budget.release_all()
        self.totals.after_fork()

    def _stored(self, key: str) -> Received | None:
        if self._cache is None:
            return None
        with _stopping_if_nothing_is_kept():
            found = self._cache.find(key)  # some ten microseconds: a thread would cost more than it frees
        if found is None:
            return None
        self.totals.count_stored(key)
        return Received(reply=found[0], is_stored=True, cost_usd=found[1])

    async def _received(self, request: ChatRequest) -> Received:
        """Wait for a slot, then send a request, unless another process has sent it meanwhile."""
        key, all_sending = request.key, self._sending
        try:
            async with self._slots, self._budget.reserved(request):
                if all_sending[key].n_waiting == 0:  # whoever asked was interrupted while this waited for its turn
                    raise asyncio.CancelledError
                self._require_not_draining()
                await self._require_writable()
                async with self._claimed(key) as received:
                    return await self._sent(request) if received is None else received
        finally:
            del all_sending[key]

    @asynccontextmanager
    async def _claimed(self, key: str) -> AsyncIterator[Received | None]:
        """Keep other processes from sending a request while the block runs; give its reply if one of them has it."""
        if self._cache is None:
            yield None
            return
        n_looks = 0
        while not (is_ours := self._cache.claim(key)) and n_looks < _MOST_LOOKS:  # one that is stopped keeps its claims
            n_looks += 1
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            self._require_not_draining()
        try:
            yield self._stored(key)
        finally:
            if is_ours:
                self._cache.give_back(key)

    async def _sent(self, request: ChatRequest) -> Received:
        """Send a request and keep its reply, which is durable when this returns."""
        self.totals.count(in_flight=1)
        try:
            with _stopping_if_nothing_is_kept():  # batches are kept in the cache too
                reply = await self._sender.send(request)
        except (StopError, PendingError):
            raise
        except EvidenceBenchError:
            self.totals.count(failures=1)
            raise
        finally:
            self.totals.count(in_flight=-1)
        cost_usd = self._prices.cost_of(request.model, reply)
        self._budget.settle(request.key, cost_usd)
        self.totals.count_reply(reply.usage, cost_usd)
        if self._cache is not None:
            with _stopping_if_nothing_is_kept():
                await self._cache.put(request, reply, cost_usd)
        return Received(reply=reply, is_stored=False, cost_usd=cost_usd)

    def _require_not_draining(self) -> None:
        if self._is_draining:
            raise DrainingError("no more requests are sent, as was asked; run again to go on")

    async def _require_writable(self) -> None:
        """Write to the cache before the first request, since a reply that cannot be kept is paid for at every start."""
        async with self._proving:
            if not self._is_writable and self._cache is not None:
                with _stopping_if_nothing_is_kept():
                    await self._cache.require_writable()
                self._is_writable = True


def _note_failure(task: asyncio.Task[Received]) -> None:
    """Look at a task's error, so that asyncio does not report one for which nobody waits any more."""
    if not task.cancelled():
        task.exception()


async def _joined(sending: _Sending) -> Received:
    """Wait for a request, which goes on where the waiting ends early: what was sent for is paid for."""
    sending.n_waiting += 1
    try:
        await asyncio.wait((sending.task,))
    finally:
        sending.n_waiting -= 1
    return sending.task.result()


@contextmanager
def _stopping_if_nothing_is_kept() -> Iterator[None]:
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
    transport: "httpx.AsyncBaseTransport | None" = None,
) -> ChatClient:
    """Return a client that sends over HTTP.

    Parameters
    ----------
    max_connections
        Requests in flight at a time.
    requests_per_minute, tokens_per_minute
        For each server; None: no limit.
    timeout_seconds
        For one attempt.
    total_timeout_seconds
        For all attempts at a request and the waits between them; None: as long as they take at most, and at least an
        hour.
    max_attempts
        For each request, the first included; those that the server refuses as too many are not counted.
    prices
        A table in the place of the package's own.
    max_cost_usd
        The most that may be spent; None: no limit.
    cache
        Whether replies are kept between runs, where the environment does not switch that off.
    environ
        The environment; None: this process's.
    transport
        How requests travel, such as `httpx.ASGITransport(app)`; None: over the network.

    Raises
    ------
    MissingExtraError
        If httpx is not installed.
    DataError
        If the price table cannot be read.
    SystemSpecError
        If a limit is no number above 0.
    """
    table, totals = PriceTable.load(prices), RunningTotals()
    budget = Budget(table, max_cost_usd)
    if total_timeout_seconds is None:
        total_timeout_seconds = max(_HOUR_SECONDS, timeout_seconds * max_attempts)
    sender = HttpSender(
        limits=RateLimits(requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute),
        bounds=Bounds(
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
    folder = cache_folder(os.environ if environ is None else environ) if cache else None
    replies = None if folder is None else ReplyCache(folder)
    return ChatClient(
        sender=sender if replies is None else BatchGuardedSender(sender, replies),
        cache=replies,
        prices=table,
        budget=budget,
        max_in_flight=max_connections,
        totals=totals,
        on_drain=sender.stop_retrying,
        on_end=sender.aclose,
    )


@lru_cache(maxsize=1)
def default_client() -> ChatClient:
    """Return the client of this process: standard settings, and a cache unless the environment switches it off."""
    return make_client()
