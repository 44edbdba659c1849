"""BatchSender: queue, submit once, collect."""

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

from evidencebench.errors import (
    CacheError,
    EndpointError,
    EvidenceBenchError,
    FailingServerError,
    PendingError,
    StopError,
    SystemSpecError,
)
from evidencebench.files.places import try_lock
from evidencebench.models.llm.anthropic_batches import AnthropicBatchApi
from evidencebench.models.llm.batch_apis import (
    BatchApi,
    BatchGroup,
    BatchJob,
    BatchQueue,
    BatchStatus,
    Calls,
    CallSettings,
    DamagedRequestError,
    RefusedBatchError,
    RemoteBatch,
    ResultRow,
    UnresolvedError,
    UnsureError,
    calls_to,
)
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.costs import Budget, PriceTable, RunningTotals
from evidencebench.models.llm.openai_batches import OpenaiBatchApi
from evidencebench.models.llm.providers import PROVIDERS, Key, Server, Wire, key_for, provider_of, server_of
from evidencebench.models.llm.replies import FILE_NAME, ReplyCache, cache_errors
from evidencebench.web.retry import TransientError
from evidencebench.wording import counted

if TYPE_CHECKING:
    import httpx


# Store the replies of a batch that has ended, and note the requests that failed.


_WRITERS = 32
_WINDOW_ROWS = 256
_MOST_FILE_BYTES = 16 << 30


@dataclass(slots=True, kw_only=True)
class Collector:
    """Reads the rows of one batch: it stores and counts replies, and notes failed requests in `failures`."""

    batch: BatchJob
    cache: ReplyCache
    queue: BatchQueue
    prices: PriceTable
    totals: RunningTotals
    budget: Budget
    failures: dict[str, str] = field(default_factory=dict)  # key -> why the request failed
    answered: set[str] = field(default_factory=set)  # keys
    is_short: bool = False  # whether the last attempt read the whole results and rows were missing
    _done: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)
    _damaged: list[ResultRow] = field(default_factory=list)

    def collect(self, api: BatchApi, calls: Calls, remote: RemoteBatch) -> None:
        """Store all rows of a batch that is over. A row that is damaged in every attempt is a failure."""

        def attempt() -> None:
            self._seen, self._damaged, self.is_short = set(), [], False
            for path in remote.paths:
                with TemporaryFile(dir=self.cache.path.parent) as file:
                    calls.fetch(path, file, most_bytes=_MOST_FILE_BYTES)
                    self._take_all(api, calls, file)
            self.is_short = True
            if self._damaged and len(self._seen) < self.batch.n_requests:
                raise TransientError(f"{counted(len(self._damaged), 'row')} of batch {self.batch.name} cannot be read")
            n_done, n_all = len(self._done), len(self.answered | self.failures.keys())
            if n_done < min(remote.n_done, self.batch.n_requests) and n_all < remote.n_done + remote.n_failed:
                raise TransientError(
                    f"expected {counted(remote.n_done, 'reply', 'replies')} in batch {self.batch.name}, got {n_done}"
                )
            self.is_short = False

        try:
            with cache_errors(self.cache.path):  # a temporary file fails if the disk is full
                calls.retry(attempt)
        except EndpointError:
            if not self._is_damaged_only(remote):
                raise
            self._give_up_damaged(calls)

    def _take_all(self, api: BatchApi, calls: Calls, file: IO[bytes]) -> None:
        rows = api.rows(file)
        while window := list(islice(rows, _WINDOW_ROWS)):
            self._damaged += [row for row in window if row.is_damaged]
            with ThreadPoolExecutor(_WRITERS) as pool:  # so that many replies share a commit
                list(pool.map(partial(self._take, calls), (row for row in window if not row.is_damaged)))

    def _take(self, calls: Calls, row: ResultRow) -> None:
        try:
            request = self.queue.request(self.batch, row.key)
        except DamagedRequestError as error:  # loses this reply only
            self._seen.add(row.key)
            self.failures[row.key] = f"{error}"
            return
        if request is None:  # a row for no request of this batch
            return
        self._seen.add(row.key)
        if row.is_done:
            self._done.add(row.key)
        if row.key in self.answered:  # a row that was collected already
            return
        if self.cache.find(row.key) is not None:
            self._answer(row.key)
        elif row.reply is not None:
            self._answer(row.key)
            reply, cost_usd = self.prices.priced(request.model, calls.without_key(row.reply), batch=True)
            self.totals.count_collected(row.key, reply.usage, cost_usd, reply.priced_as_of)
            self.budget.settle(row.key, cost_usd)
            self.cache.put(request, reply, cost_usd)
        elif row.failure:
            self._fail(calls, request, calls.shown(row.failure), is_charged=row.is_done)

    def _answer(self, key: str) -> None:
        self.answered.add(key)
        self.failures.pop(key, None)

    def _fail(self, calls: Calls, request: ChatRequest, why: str, *, is_charged: bool) -> None:
        """Note a request that has no reply; if it was charged, its highest possible cost counts as spent."""
        if is_charged and request.key not in self.failures:
            self.totals.count_maybe_charged(request.key)
            self.budget.settle(request.key, None)
        self.failures[request.key] = f"{calls.where}: model '{request.model_name}': batch {self.batch.name}: {why}"

    def _is_damaged_only(self, remote: RemoteBatch) -> bool:
        """Return whether all rows came and some are damaged, so that a further attempt would bring no more.

        False if rows without a key outnumber the readable rows: a page of HTML is no list of damaged replies.
        """
        keys = self._seen | {row.key for row in self._damaged if row.key}
        n_nameless = sum(not row.key for row in self._damaged)
        if not self._damaged or any(row.is_cut for row in self._damaged) or n_nameless > len(self._seen):
            return False
        return len(keys) + n_nameless >= min(remote.n_done + remote.n_failed, self.batch.n_requests)

    def _give_up_damaged(self, calls: Calls) -> None:
        """Count damaged rows as failures, by their keys; if keys are damaged too, by the keys that are missing."""
        named = {row.key for row in self._damaged} - self._seen
        missing = [key for key in self.queue.keys(self.batch) if key not in self._seen | named]
        if len(missing) <= sum(not row.key for row in self._damaged):
            named.update(missing)
        for key in named:
            if (request := self.queue.request(self.batch, key)) is not None and self.cache.find(key) is None:
                why = "its row of the results cannot be read; run again to ask again, which is paid again"
                self._fail(calls, request, why, is_charged=True)


# Submit a batch exactly once, even if the connection is cut or the process is killed.


_LOOK_AGAIN_SECONDS = 0.5


def submit_one(api: BatchApi, calls: Calls, queue: BatchQueue, batch: BatchJob, *, folder: Path) -> str:
    """Submit a batch of the queue, its body in a temporary file in `folder`; return the provider's id."""

    def attempt() -> str:
        try:
            return api.create(calls, prepared)
        except UnsureError as error:
            calls.settings.sleep(calls.settings.settle_seconds)
            if (name := _name_after(error, api, calls, queue, batch)) is None:
                raise
            return name

    with cache_errors(folder / FILE_NAME), TemporaryFile(dir=folder) as body:  # fails if the disk is full
        rows = (api.row_of(key, request) for key, request in queue.requests(batch))
        prepared = api.prepare(calls, rows, body, batch.intent)
        return calls.retry(attempt)


def _name_after(error: UnsureError, api: BatchApi, calls: Calls, queue: BatchQueue, batch: BatchJob) -> str | None:
    """Return the id of a batch whose submission got no answer; None if it never arrived."""
    try:
        return api.find(calls, queue, batch)
    except EvidenceBenchError as failure:
        raise UnresolvedError(
            f"{batch.group.model}: a batch of {counted(batch.n_requests, 'request')} may have been submitted, but no "
            f"answer says so: {error}; {failure}; run again: it is looked for first, and not submitted twice"
        ) from failure


@contextmanager
def only_submitter(file: Path, sleep: Callable[[float], object] | None) -> Iterator[bool]:
    """Lock a cache's file while the block runs, so that one process at a time submits; yield whether it is locked.

    `sleep` waits for another process; if it is None, the block runs at once, with False if another process holds the
    lock. The lock ends with its process. So under the lock, a batch without an id is one whose submission was cut off.
    """
    path = file.with_name(f"{file.name}.submitting")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CacheError(
            f"{path}: cannot be locked: {error.strerror}; make its folder one that can be written"
        ) from error
    try:
        while not (is_held := try_lock(descriptor)) and sleep is not None:
            sleep(_LOOK_AGAIN_SECONDS)
        yield is_held
    finally:
        os.close(descriptor)


# The batch interfaces of providers. Read `calls`, `contract`, then `openai` or `anthropic`.


_APIS: Mapping[Wire, BatchApi] = MappingProxyType({"openai": OpenaiBatchApi(), "anthropic": AnthropicBatchApi()})


def batches_of(model: str) -> BatchApi:
    """Return the batch interface for a model ``provider/name``; raise `SystemSpecError` if its provider has none.

    Examples
    --------
    >>> batches_of("openai/gpt-4o-mini").most_requests
    50000
    """
    provider = provider_of(model)
    if not provider.has_batches:
        having = " and ".join(name for name, row in PROVIDERS.items() if row.has_batches)
        raise SystemSpecError(
            f"model '{model}': expected a provider with batches, which are {having}; leave batches out, or for a "
            "server that speaks as one of them give its name with base_url"
        )
    return _APIS[provider.wire]


# Send requests in batches, which cost half and take up to a day.


_STALE_SECONDS = 7 * 86_400.0
_FIRST_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.5, 60.0
_MOST_SHORT_LOOKS = 3  # at results that lack rows, since missing rows seldom come later


class BatchSender:
    """Queues requests instead of sending them, submits them in batches, and stores the replies.

    A run calls `send` for every request, then `submit` and `collect`, and then asks again for missing answers.

    Parameters
    ----------
    cache
        Stores replies, waiting requests and the ids of batches; None raises `CacheError`.
    max_cost_usd
        The most that all requests queued here may cost, in US dollars; None: no limit.
    most_requests, most_bytes
        The limits of a batch; None: the provider's.
    on_status
        Called with each status while batches are submitted, awaited and collected.
    environ, folder
        Where keys are looked for, as by `key_for`.
    transport
        An httpx transport; None: the network.
    """

    def __init__(
        self,
        cache: ReplyCache | None,
        *,
        prices: PriceTable,
        totals: RunningTotals | None = None,
        max_cost_usd: float | None = None,
        most_requests: int | None = None,
        most_bytes: int | None = None,
        on_status: Callable[[BatchStatus], object] = lambda _: None,
        settings: CallSettings = CallSettings(),  # noqa: B008 - frozen
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        if cache is None:
            raise CacheError(
                "batches: need the cache of replies, where their ids are kept, but EVIDENCEBENCH_CACHE is 'off'; set "
                "it to a folder, or send the requests one by one"
            )
        self._cache, self._queue = cache, BatchQueue(cache)
        self._prices, self._totals = prices, RunningTotals() if totals is None else totals
        self._budget = Budget(prices, max_cost_usd, in_batches=True)
        self._most_requests, self._most_bytes = most_requests, most_bytes
        self._on_status, self._settings, self._transport = on_status, settings, transport
        self._environ, self._folder = environ, folder
        self._name = secrets.token_hex(16)  # unique among senders
        self._failures: dict[str, str] = {}  # key -> why the request failed for good
        self._unfinished: dict[str, str] = {}  # key -> why the request is left to the next run
        self._submitted: set[int] = set()
        self._misses: Counter[int] = Counter()
        self._providers: dict[BatchGroup, tuple[BatchApi, Server, Key]] = {}
        self._refusals: list[str] = []

    def send(self, request: ChatRequest) -> ChatReply:
        """Put a request into the queue for the next batch; it always raises, since there is no reply yet.

        Raises `PendingError` when the request is on the disk, or in a batch already, and `EndpointError` if it failed
        in a batch that was collected. After a `CostLimitError`, requests queued before stay: submit and collect them,
        which frees the difference to their true cost.
        """
        key = request.key
        if (failure := self._failures.get(key)) is not None:
            raise EndpointError(failure)
        if (reason := self._unfinished.get(key)) is not None:
            raise PendingError(reason)
        api = self._provider_of(BatchGroup.of(request))[0]
        if self._queue.batch_of(key) is None:
            self._budget.reserve(request)
        n_bytes = len(api.row_of(key, request)) + 1
        self._queue.record(request, sender=self._name, n_bytes=n_bytes)
        raise PendingError(f"{request.model}: waits for its batch; it is answered when that is done")

    def submit(self) -> list[BatchStatus]:
        """Submit all requests queued here; return the status of each new batch, empty if no request waited.

        Only one process submits to a cache at a time; the others wait. After a `FailingServerError`, requests that were
        not submitted are asked again. A batch that may have been submitted is searched for at the next start.
        """
        made: list[BatchStatus] = []
        with only_submitter(self._cache.path, self._settings.sleep):
            self._search_lost()
            self._queue.forget_older(self._cache.clock() - _STALE_SECONDS)
            for group in self._queue.groups(self._name):
                with self._calls_for(group) as (api, calls):
                    while batch := self._next_batch(group, api):
                        made.append(self._submit(api, calls, batch))
                        self._on_status(made[-1])
        return made

    def collect(self, *, wait: bool) -> None:
        """Store the replies of all batches that have ended, also of other senders; `wait` for those of this sender.

        A request that ended without a reply is forgotten, so that it is asked again; if this sender submitted it, the
        next sender does that. If a batch was refused for some of its rows, these rows fail, and this sender submits the
        others again. A batch whose status cannot be read is reported and left out, if this sender needs no reply of it.
        If it does, or the whole batch was refused, `FailingServerError` leaves its requests to the next start.
        """
        if not self._cache.path.exists() or not self._queue.batches():
            return
        seconds = _FIRST_POLL_SECONDS
        while True:
            with only_submitter(self._cache.path, None) as is_alone:
                if is_alone:
                    self._search_lost()
            n_awaited = 0
            for batch in self._queue.batches():
                is_collected = batch.name is not None and self._collect_batch(batch, is_patient=wait)
                n_awaited += not is_collected and self._is_wanted(batch)
            if self._refusals:
                raise FailingServerError(self._refusals.pop())
            if not wait or not n_awaited:
                return
            self._settings.sleep(seconds)
            seconds = min(2 * seconds, _LONGEST_POLL_SECONDS)

    def _provider_of(self, group: BatchGroup) -> tuple[BatchApi, Server, Key]:
        if group not in self._providers:
            try:
                api, server = batches_of(group.model), server_of(group)
                key = key_for(server, environ=self._environ, folder=self._folder)
            except SystemSpecError as error:
                raise FailingServerError(str(error)) from error
            self._providers[group] = (api, server, key)
        return self._providers[group]

    @contextmanager
    def _calls_for(self, group: BatchGroup) -> Iterator[tuple[BatchApi, Calls]]:
        api, server, key = self._provider_of(group)
        with calls_to(server, key, self._settings, transport=self._transport) as calls:
            yield api, calls

    def _next_batch(self, group: BatchGroup, api: BatchApi) -> BatchJob | None:
        return self._queue.intend(
            group,
            sender=self._name,
            intent=secrets.token_hex(16),
            most_requests=min(self._most_requests or api.most_requests, api.most_requests),
            most_bytes=min(self._most_bytes or api.most_bytes, api.most_bytes),
        )

    def _submit(self, api: BatchApi, calls: Calls, batch: BatchJob) -> BatchStatus:
        try:
            name = submit_one(api, calls, self._queue, batch, folder=self._cache.path.parent)
        except UnresolvedError:
            raise
        except RefusedBatchError as error:
            self._failures.update(dict.fromkeys(self._queue.keys(batch), str(error)))
            self._release(batch)
            return BatchStatus(batch, "refused", message=str(error))
        except (EndpointError, StopError) as error:
            self._release(batch)
            raise FailingServerError(str(error)) from error
        named = self._queue.name(batch, name)
        self._totals.count(sent=batch.n_requests, in_batches=batch.n_requests)
        self._submitted.add(batch.id)
        return BatchStatus(named, "submitted")

    def _search_lost(self) -> None:
        """Search for batches whose submission was cut off; call it only while no other process submits."""
        for batch in self._queue.batches():
            if batch.name is None:
                try:
                    self._on_status(self._status_of_lost(batch))
                except EvidenceBenchError as error:
                    self._report_or_raise(batch, error)

    def _status_of_lost(self, batch: BatchJob) -> BatchStatus:
        age, settle_seconds = self._cache.clock() - batch.created, self._settings.settle_seconds
        if age < settle_seconds:
            self._settings.sleep(min(settle_seconds, settle_seconds - age))
        try:
            with self._calls_for(batch.group) as (api, calls):
                name = api.find(calls, self._queue, batch)
        except UnresolvedError as error:
            return BatchStatus(batch, "unresolved", message=str(error))
        if name is not None:
            named = self._queue.name(batch, name)
            return BatchStatus(named, "found", message="its submission had been cut off")
        self._queue.forget(batch)
        return BatchStatus(batch, "forgotten", message="it was never submitted, so its requests are asked again")

    def _collect_batch(self, batch: BatchJob, *, is_patient: bool) -> bool:
        """Store the replies of a batch that has an id; return whether the batch is over and all is stored."""
        collector = Collector(
            batch=batch,
            cache=self._cache,
            queue=self._queue,
            prices=self._prices,
            totals=self._totals,
            budget=self._budget,
        )
        try:
            with self._calls_for(batch.group) as (api, calls):
                remote = api.look(calls, batch.name or "")
                self._on_status(BatchStatus(batch, remote.state, remote.n_done, remote.n_failed, remote.fault))
                if not remote.is_over:
                    self._misses[batch.id] = 0
                    return False
                collector.collect(api, calls, remote)
        except EvidenceBenchError as error:
            self._misses[batch.id] += 1
            most = self._settings.max_misses
            most = min(_MOST_SHORT_LOOKS, most) if collector.is_short else most
            is_hopeful = is_patient and isinstance(error, EndpointError) and self._misses[batch.id] < most
            self._report_or_raise(batch, error, is_hopeful=is_hopeful)
            return False
        if batch.id in self._submitted:
            self._totals.count(in_batches=-batch.n_requests)
        else:  # submitted by another start
            self._totals.count(sent=len(collector.answered))
        self._note_failures(batch, remote, collector)
        self._release(batch)
        return True

    def _note_failures(self, batch: BatchJob, remote: RemoteBatch, collector: Collector) -> None:
        """Note which requests of a batch failed, so that this run does not ask them again."""
        keys = self._queue.keys(batch)
        if remote.is_refused:
            faults = {keys[place - 1]: fault for place, fault in remote.row_faults.items() if 0 < place <= len(keys)}
            self._failures.update((key, f"{batch.where}: {fault}") for key, fault in faults.items())
            if self._is_wanted(batch) and (remote.fault or not faults):
                self._refusals.append(
                    f"{batch.where}: refused: {remote.fault or next(iter(remote.row_faults.values()))}; correct what "
                    "it says, ask for fewer requests at a time with --limit, or wait until other batches are done; "
                    "then run again: nothing of it was asked or paid"
                )
            return
        self._failures.update(collector.failures)
        if batch.id in self._submitted:
            known = collector.answered | collector.failures.keys()
            reason = f"ended as {remote.state} before this request was answered; run again to ask again"
            self._unfinished.update((key, f"{batch.where}: {reason}") for key in keys if key not in known)

    def _release(self, batch: BatchJob) -> None:
        """Forget a batch, and free the money still set aside for its requests."""
        for key in self._queue.keys(batch):
            self._budget.release(key)
        self._queue.forget(batch)

    def _is_wanted(self, batch: BatchJob) -> bool:
        return self._queue.is_wanted(batch, self._name)

    def _report_or_raise(self, batch: BatchJob, error: EvidenceBenchError, *, is_hopeful: bool = False) -> None:
        """Raise the error if this sender needs the batch and no later look may help; else report it."""
        if isinstance(error, CacheError) or (self._is_wanted(batch) and not is_hopeful):
            raise FailingServerError(str(error)) if isinstance(error, EndpointError) else error
        self._on_status(BatchStatus(batch, "not reached", message=str(error)))
