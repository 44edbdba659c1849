"""The client of language models: it sends no request twice, stores each reply before use, and keeps the cost limit."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

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
_LOOK_AGAIN_SECONDS = 0.2  # between two looks at a request that another process sends


@dataclass(slots=True)
class _Sending:
    """A request in flight, and the number of callers that wait for its reply."""

    task: asyncio.Task[Received]
    n_waiting: int = 0


class ChatClient:
    """Asks language models. Make one with `make_client`, or share `default_client()`.

    The same request is never sent twice: it is answered from the cache, or by the reply to the same request in flight.
    A reply is stored in the cache before it is returned.

    Parameters
    ----------
    cache
        Stores replies, and is closed with the client; None: no reply is stored.
    budget
        Keeps the cost limit; None: there is no limit. Pass the budget and the totals of the sender, if it has some.
    max_in_flight
        The most requests sent at a time; others wait.
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
        self._slots, self._writable_lock = asyncio.Semaphore(max_in_flight), asyncio.Lock()
        self._is_writable = cache is None
        self._sending: dict[str, _Sending] = {}  # by key; it also holds the tasks, which asyncio does not keep alive

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, a coroutine that awaits `ask`; call it from any thread, which waits.

        If the calling thread is interrupted, its work is cancelled: requests that are not sent yet stay unsent. Raises
        `DrainingError` if the client is closed.
        """
        return self._loop_thread.run(work)

    async def ask(self, request: ChatRequest, *, stand_in: str) -> Received:
        """Return the reply to a request: a stored one, that of the same request in flight, or a new one.

        `stand_in` is an example of a well-formed reply; only cost estimates use it. Raises as `Sender.send`.
        """
        key = request.key
        self._enter_loop()
        if (sending := self._sending.get(key)) is not None:
            received = await _wait_for(sending)
            self.totals.count(stored=1)
            return Received(reply=received.reply, is_stored=True, cost_usd=received.cost_usd)
        if (stored := self._find_stored(key)) is not None:
            return stored
        if isinstance(self._sender, EstimatingSender):
            return Received(reply=self._sender.estimated(request, stand_in), is_stored=False, cost_usd=None)
        sending = self._sending[key] = _Sending(asyncio.create_task(self._receive(request)))
        sending.task.add_done_callback(_note_failure)
        return await _wait_for(sending)

    def drain(self) -> None:
        """Send nothing more: requests in flight are finished and stored; a new request raises `DrainingError`."""
        self._is_draining = True
        self._on_drain()

    def close(self) -> None:
        """Cancel requests in flight and free everything; the client cannot be used any more."""
        self.drain()
        self._loop_thread.close()
        if self._cache is not None:
            self._cache.close()

    def _enter_loop(self) -> None:
        """Reset the state that belongs to a loop: in a forked process, or after the former loop has ended."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if self._loop is not None and self._process_id == os.getpid() and not self._loop.is_closed():
            raise RuntimeError("a client asks in one event loop at a time; use run(), or make a client for each loop")
        self._loop, self._process_id, self._sending = loop, os.getpid(), {}
        self._slots, self._writable_lock = asyncio.Semaphore(self._max_in_flight), asyncio.Lock()
        self._budget.release_all()
        self.totals.after_fork()

    def _find_stored(self, key: str) -> Received | None:
        if self._cache is None:
            return None
        with _stop_if_cache_fails():
            found = self._cache.find(key)  # takes ten microseconds, so a thread for it would cost more
        if found is None:
            return None
        self.totals.count_stored(key)
        return Received(reply=found[0], is_stored=True, cost_usd=found[1])

    async def _receive(self, request: ChatRequest) -> Received:
        """Wait for a slot, then return a new reply, or the stored one if another process sent the request by then."""
        key, all_sending = request.key, self._sending
        try:
            async with self._slots, self._budget.reserved(request):
                if all_sending[key].n_waiting == 0:  # all callers were interrupted while this waited for its turn
                    raise asyncio.CancelledError
                self._require_not_draining()
                await self._require_writable()
                async with self._claim(key) as received:
                    return await self._send(request) if received is None else received
        finally:
            del all_sending[key]

    @asynccontextmanager
    async def _claim(self, key: str) -> AsyncIterator[Received | None]:
        """Keep other processes from sending a request while the block runs; yield its reply if one of them sent it."""
        if self._cache is None:
            yield None
            return
        while not self._cache.claim(key):  # as long as that process lives: the system frees the claims of a dead one
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            self._require_not_draining()
        try:
            yield self._find_stored(key)
        finally:
            self._cache.give_back(key)

    async def _send(self, request: ChatRequest) -> Received:
        """Send a request and return its reply, which is on the disk by then."""
        self.totals.count(in_flight=1)
        try:
            with _stop_if_cache_fails():  # a `BatchSender` writes to the cache too
                reply = await self._sender.send(request)
        except (StopError, PendingError):
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
        self.totals.count_reply(reply.usage, cost_usd, reply.priced_as_of)
        if self._cache is not None:
            with _stop_if_cache_fails():
                await self._cache.put(request, reply, cost_usd)
        return Received(reply=reply, is_stored=False, cost_usd=cost_usd)

    def _require_not_draining(self) -> None:
        if self._is_draining:
            raise DrainingError("no more requests are sent, as was asked; run again to go on")

    async def _require_writable(self) -> None:
        """Test that the cache can be written, before the first request: a reply that is not stored is paid again."""
        async with self._writable_lock:
            if not self._is_writable and self._cache is not None:
                with _stop_if_cache_fails():
                    await self._cache.require_writable()
                self._is_writable = True


def _note_failure(task: asyncio.Task[Received]) -> None:
    """Read a task's error, since asyncio reports an error that nobody read."""
    if not task.cancelled():
        task.exception()


async def _wait_for(sending: _Sending) -> Received:
    """Return the reply of a request in flight; it goes on if the caller is cancelled, since it is paid for."""
    sending.n_waiting += 1
    try:
        await asyncio.wait((sending.task,))
    finally:
        sending.n_waiting -= 1
    return sending.task.result()


@contextmanager
def _stop_if_cache_fails() -> Iterator[None]:
    """Turn a `CacheError` of the block into the `StopError` `FailingCacheError`."""
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
        An httpx transport, such as `httpx.ASGITransport(app)`; None: the network.

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
    """Return the one client of this process that has default settings; the environment can switch its cache off."""
    return make_client()
