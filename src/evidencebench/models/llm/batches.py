"""Send requests in batches, which cost half and take up to a day.

Each batch is written to the cache before it is submitted, so that nothing is paid twice. A run makes several passes:
each pass answers from stored replies and queues the other requests, which then become batches.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evidencebench.errors import (
    CacheError,
    EndpointError,
    EvidenceBenchError,
    FailingServerError,
    PendingError,
    StopError,
    SystemSpecError,
)
from evidencebench.models.llm.batch_apis import batches_of
from evidencebench.models.llm.batch_apis.calls import Calls, CallSettings, RefusedBatchError, calls_to
from evidencebench.models.llm.batch_apis.contract import BatchApi, RemoteBatch, UnresolvedError
from evidencebench.models.llm.batch_collection import Collector
from evidencebench.models.llm.batch_queue import BatchGroup, BatchJob, BatchQueue, BatchStatus
from evidencebench.models.llm.batch_submission import only_submitter, submit_one
from evidencebench.models.llm.budget import Budget
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.credentials import Key, key_for
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.providers import Server, server_of
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.models.llm.totals import RunningTotals

if TYPE_CHECKING:
    import httpx

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
