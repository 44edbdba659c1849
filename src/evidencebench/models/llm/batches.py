"""BatchSender: queue, submit once, collect."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile

from evidencebench.errors import (
    CacheError,
    EndpointError,
    EvidenceBenchError,
    FailingServerError,
    PendingError,
    StopError,
    SystemSpecError,
)
from evidencebench.files.places import hold
from evidencebench.models.llm.batch_apis import (
    APIS,
    BatchApi,
    Calls,
    CallSettings,
    RefusedBatchError,
    RemoteBatch,
    ResultRow,
    UnresolvedError,
    UnsureError,
    read_rows,
    submit,
)
from evidencebench.models.llm.batch_queue import BatchGroup, BatchJob, BatchQueue, BatchStatus, DamagedRequestError
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.costs import Budget, PriceTable, RunningTotals
from evidencebench.models.llm.providers import PROVIDERS, key_for, reply_without_key, server_of
from evidencebench.models.llm.replies import ReplyCache, cache_errors
from evidencebench.web.retry import TransientError
from evidencebench.wording import counted

_MOST_READINGS = 3  # of results that lack rows or are damaged, since that seldom changes later


class BatchSender:
    """A run calls `send` for every request, then `submit` and `collect`, and then asks again for missing answers."""

    def __init__(
        self,
        cache: ReplyCache | None,
        *,
        prices: PriceTable,
        totals: RunningTotals | None = None,
        max_cost_usd: float | None = None,  # of all requests queued here; None: no limit
        most_requests: int | None = None,  # in a batch; None: the provider's limit
        most_bytes: int | None = None,
        on_status: Callable[[BatchStatus], object] = lambda _: None,
        settings: CallSettings = CallSettings(),  # noqa: B008 - frozen
        environ: Mapping[str, str] | None = None,
    ) -> None:
        if cache is None:
            raise CacheError(
                "batches: need the cache of replies, where their ids are kept, but EVIDENCEBENCH_CACHE is 'off'; set "
                "it to a folder, or send the requests one by one"
            )
        self.cache: ReplyCache = cache
        self.queue: BatchQueue = BatchQueue(cache)
        self.prices = prices
        self.totals: RunningTotals = RunningTotals() if totals is None else totals
        self.budget: Budget = Budget(prices, max_cost_usd, in_batches=True)
        self._most_requests, self._most_bytes = most_requests, most_bytes
        self._on_status, self._settings, self._environ = on_status, settings, environ
        self._name = secrets.token_hex(16)  # unique among senders
        self._failures: dict[str, str] = {}  # key -> why the request failed for good
        self._unfinished: dict[str, str] = {}  # key -> why the request is left to the next run
        self._submitted: set[int] = set()
        self._misses: Counter[int] = Counter()
        self._providers: dict[BatchGroup, tuple[BatchApi, Calls]] = {}

    def send(self, request: ChatRequest) -> ChatReply:
        """Raise `PendingError` when the request is on the disk; after a `CostLimitError`, those queued before stay."""
        key = request.key
        if (failure := self._failures.get(key)) is not None:
            raise EndpointError(failure)
        if (reason := self._unfinished.get(key)) is not None:
            raise PendingError(reason)
        api, _ = self._provider_of(BatchGroup(request.model, request.base_url, request.key_env))
        if self.queue.batch_of(key) is None:
            self.budget.reserve(request)
        self.queue.record(request, sender=self._name, n_bytes=len(api.row_of(request)) + 1)
        raise PendingError(f"{request.model}: waits for its batch; it is answered when that is done")

    def submit(self) -> list[BatchStatus]:
        """After a `FailingServerError`, requests that were not submitted are asked again at the next start."""
        statuses: list[BatchStatus] = []
        with self._only_submitter(is_waiting=True):
            self._search_lost()
            self.queue.forget_older(self.cache.clock() - 7 * 86_400)
            for group in self.queue.groups(self._name):
                api, calls = self._provider_of(group)
                while batch := self.queue.intend(
                    group,
                    sender=self._name,
                    intent=secrets.token_hex(16),
                    most_requests=min(self._most_requests or api.most_requests, api.most_requests),
                    most_bytes=min(self._most_bytes or api.most_bytes, api.most_bytes),
                ):
                    statuses.append(self._submit_batch(api, calls, batch))
                    self._on_status(statuses[-1])
        return statuses

    def collect(self, *, wait: bool) -> None:
        """Store all replies that came, also those of other senders; `wait` for those of this one."""
        if not self.cache.path.exists() or not self.queue.batches():
            return
        seconds = 0.5
        while True:
            with self._only_submitter(is_waiting=False) as is_alone:
                if is_alone:
                    self._search_lost()
            n_awaited, refusal = 0, ""
            for batch in self.queue.batches():
                is_wanted, is_collected = self.queue.is_wanted(batch, self._name), False
                if batch.name is not None:
                    is_collected, new_refusal = self._collect_batch(batch, is_patient=wait)
                    refusal = new_refusal or refusal
                n_awaited += is_wanted and not is_collected
            if refusal:
                raise FailingServerError(refusal)
            if not wait or not n_awaited:
                return
            self._settings.sleep(seconds)
            seconds = min(2 * seconds, 60.0)

    @contextmanager
    def _only_submitter(self, *, is_waiting: bool) -> Iterator[bool]:
        """Yield whether this process alone submits: then a batch without an id is one whose submission was cut off."""
        path = self.cache.path.with_name(f"{self.cache.path.name}.submitting")
        with ExitStack() as holding:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                is_held = holding.enter_context(hold(path, waits=is_waiting))
            except OSError as error:
                raise CacheError(
                    f"{path}: cannot be locked: {error.strerror}; make its folder one that can be written"
                ) from error
            yield is_held

    def _provider_of(self, group: BatchGroup) -> tuple[BatchApi, Calls]:
        if group not in self._providers:
            try:
                server = server_of(group)
                key = key_for(server, environ=self._environ)
            except SystemSpecError as error:
                raise FailingServerError(str(error)) from error
            if not server.provider.has_batches:
                having = " and ".join(name for name, row in PROVIDERS.items() if row.has_batches)
                raise FailingServerError(
                    f"model '{group.model}': expected a provider with batches, which are {having}; leave batches out, "
                    "or for a server that speaks as one of them give its name with base_url"
                )
            self._providers[group] = (APIS[server.provider.wire], Calls(server, key, self._settings))
        return self._providers[group]

    def _submit_batch(self, api: BatchApi, calls: Calls, batch: BatchJob) -> BatchStatus:
        def attempt() -> str:
            try:
                return submit(api, calls, prepared)
            except UnsureError as error:
                self._settings.sleep(self._settings.settle_seconds)
                try:
                    name = api.find(calls, self.queue, batch)
                except EvidenceBenchError as failure:
                    raise UnresolvedError(
                        f"{batch.group.model}: a batch of {counted(batch.n_requests, 'request')} may have been "
                        f"submitted, but no answer says so: {error}; {failure}; run again: it is looked for first, and "
                        "not submitted twice"
                    ) from failure
                if name is None:  # it never arrived
                    raise
                return name

        path = self.cache.path
        try:
            with cache_errors(path), TemporaryFile(dir=path.parent) as body:  # fails if the disk is full
                prepared = api.prepare(calls, map(api.row_of, self.queue.requests(batch)), body, batch.intent)
                name = calls.retry(attempt)
        except UnresolvedError:
            raise
        except RefusedBatchError as error:
            self._failures.update(dict.fromkeys(self.queue.keys(batch), str(error)))
            self._release(batch)
            return BatchStatus(batch, "refused", message=str(error))
        except (EndpointError, StopError) as error:
            self._release(batch)
            raise FailingServerError(str(error)) from error
        named = self.queue.name(batch, name)
        self.totals.count(sent=batch.n_requests, in_batches=batch.n_requests)
        self._submitted.add(batch.id)
        return BatchStatus(named, "submitted")

    def _search_lost(self) -> None:
        for batch in self.queue.batches():
            if batch.name is None:
                try:
                    self._on_status(self._status_of_lost(batch))
                except EvidenceBenchError as error:
                    self._report_or_raise(batch, error)

    def _status_of_lost(self, batch: BatchJob) -> BatchStatus:
        age, settle_seconds = self.cache.clock() - batch.created, self._settings.settle_seconds
        if age < settle_seconds:
            self._settings.sleep(min(settle_seconds, settle_seconds - age))
        api, calls = self._provider_of(batch.group)
        try:
            name = api.find(calls, self.queue, batch)
        except UnresolvedError as error:
            return BatchStatus(batch, "unresolved", message=str(error))
        if name is not None:
            return BatchStatus(self.queue.name(batch, name), "found", message="its submission had been cut off")
        self.queue.forget(batch)
        return BatchStatus(batch, "forgotten", message="it was never submitted, so its requests are asked again")

    def _collect_batch(self, batch: BatchJob, *, is_patient: bool) -> tuple[bool, str]:
        """Store the replies of a batch that has an id; return whether all of it is stored, and why it was refused."""
        results = None
        try:
            api, calls = self._provider_of(batch.group)
            remote = api.look(calls, batch.name or "")
            self._on_status(BatchStatus(batch, remote.state, remote.n_done, remote.n_failed, remote.fault))
            if not remote.is_over:
                self._misses[batch.id] = 0
                return False, ""
            results = _Results(self, api, calls, batch, remote)
            results.collect()
        except EvidenceBenchError as error:
            self._misses[batch.id] += 1
            most = self._settings.max_misses if results is None else min(_MOST_READINGS, self._settings.max_misses)
            is_hopeful = is_patient and isinstance(error, EndpointError) and self._misses[batch.id] < most
            self._report_or_raise(batch, error, is_hopeful=is_hopeful)
            return False, ""
        if batch.id in self._submitted:
            self.totals.count(in_batches=-batch.n_requests)
        else:  # submitted by another start
            self.totals.count(sent=len(results.answered))
        refusal = self._note_failures(batch, remote, results)
        self._release(batch)
        return True, refusal

    def _note_failures(self, batch: BatchJob, remote: RemoteBatch, results: "_Results") -> str:
        keys, where = self.queue.keys(batch), f"{batch.group.model}: batch {batch.name}"
        if remote.fault or remote.row_faults:
            faults = {keys[number - 1]: fault for number, fault in remote.row_faults.items() if 0 < number <= len(keys)}
            self._failures.update((key, f"{where}: {fault}") for key, fault in faults.items())
            if not self.queue.is_wanted(batch, self._name) or (faults and not remote.fault):
                return ""
            return (
                f"{where}: refused: {remote.fault or next(iter(remote.row_faults.values()))}; correct what it says, "
                "ask for fewer requests at a time with --limit, or wait until other batches are done; then run again: "
                "nothing of it was asked or paid"
            )
        self._failures.update(results.failures)
        if batch.id in self._submitted:
            known = results.answered | results.failures.keys()
            reason = f"ended as {remote.state} before this request was answered; run again to ask again"
            self._unfinished.update((key, f"{where}: {reason}") for key in keys if key not in known)
        return ""

    def _release(self, batch: BatchJob) -> None:
        for key in self.queue.keys(batch):
            self.budget.release(key)
        self.queue.forget(batch)

    def _report_or_raise(self, batch: BatchJob, error: EvidenceBenchError, *, is_hopeful: bool = False) -> None:
        """Raise the error if this sender needs the batch and no later look may help; else report it."""
        if isinstance(error, CacheError) or (self.queue.is_wanted(batch, self._name) and not is_hopeful):
            raise FailingServerError(str(error)) if isinstance(error, EndpointError) else error
        self._on_status(BatchStatus(batch, "not reached", message=str(error)))


@dataclass(slots=True)
class _Results:
    sender: BatchSender
    api: BatchApi
    calls: Calls
    batch: BatchJob
    remote: RemoteBatch
    failures: dict[str, str] = field(default_factory=dict)  # key -> why the request failed
    answered: set[str] = field(default_factory=set)  # keys
    _done: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)
    _damaged: list[ResultRow] = field(default_factory=list)

    def collect(self) -> None:
        """Store all rows. A row that is damaged in every attempt is a failure."""
        path = self.sender.cache.path
        try:
            with cache_errors(path):  # a temporary file fails if the disk is full
                self.calls.retry(lambda: self._read_all(path.parent))
        except EndpointError:
            # Nothing more comes if all rows are there and some are damaged. But if rows without a key outnumber the
            # readable ones, this is no list of damaged rows, but perhaps a page of HTML.
            keys = self._seen | {row.key for row in self._damaged if row.key}
            n_nameless = sum(not row.key for row in self._damaged)
            n_expected = min(self.remote.n_done + self.remote.n_failed, self.batch.n_requests)
            has_more = any(row.is_cut for row in self._damaged) or len(keys) + n_nameless < n_expected
            if not self._damaged or has_more or n_nameless > len(self._seen):
                raise
            self._give_up_damaged(n_nameless)

    def _read_all(self, folder: Path) -> None:
        self._seen, self._damaged = set(), []
        for path in self.remote.paths:
            with TemporaryFile(dir=folder) as file:
                self.calls.fetch(path, file, most_bytes=16 << 30)
                rows = read_rows(self.api, file)
                while window := list(islice(rows, 256)):
                    self._damaged += [row for row in window if row.is_damaged]
                    sound = [row for row in window if not row.is_damaged]
                    first = {row.key: row for row in reversed(sound)}
                    with ThreadPoolExecutor(32) as pool:  # so that many replies share a commit
                        list(pool.map(self._take, first.values()))
                    for row in sound:  # a request that came twice, one row after the other, so that it counts once
                        if first[row.key] is not row:
                            self._take(row)
        batch, remote = self.batch, self.remote
        if self._damaged and len(self._seen) < batch.n_requests:
            raise TransientError(f"{counted(len(self._damaged), 'row')} of batch {batch.name} cannot be read")
        n_done, n_all = len(self._done), len(self.answered | self.failures.keys())
        if n_done < min(remote.n_done, batch.n_requests) and n_all < remote.n_done + remote.n_failed:
            raise TransientError(
                f"expected {counted(remote.n_done, 'reply', 'replies')} in batch {batch.name}, got {n_done}"
            )

    def _take(self, row: ResultRow) -> None:
        sender, key = self.sender, row.key
        try:
            request = sender.queue.request(self.batch, key)
        except DamagedRequestError as error:  # loses this reply only
            self._seen.add(key)
            self.failures[key] = str(error)
            return
        if request is None:  # a row for no request of this batch
            return
        self._seen.add(key)
        if row.is_done:
            self._done.add(key)
        if key in self.answered:  # a row that was collected already
            return
        is_stored = sender.cache.find(key) is not None
        if is_stored or row.reply is not None:
            self.answered.add(key)
            self.failures.pop(key, None)
        if not is_stored and row.reply is not None:
            reply = reply_without_key(row.reply, self.calls.key)
            reply, cost_usd = sender.prices.priced(request.model, reply, batch=True)
            sender.totals.count_collected(key, reply, cost_usd)
            sender.budget.settle(key, cost_usd)
            sender.cache.put(request, reply, cost_usd)
        elif not is_stored and row.failure:
            self._fail(request, self.calls.shown(row.failure), is_charged=row.is_done)

    def _fail(self, request: ChatRequest, why: str, *, is_charged: bool) -> None:
        if is_charged and request.key not in self.failures:
            self.sender.totals.count_maybe_charged(request.key)
            self.sender.budget.settle(request.key, None)
        where = f"{self.calls.where}: model '{request.model_name}': batch {self.batch.name}"
        self.failures[request.key] = f"{where}: {why}"

    def _give_up_damaged(self, n_nameless: int) -> None:
        """Count damaged rows as failures, by their keys; if keys are damaged too, by the keys that are missing."""
        queue, named = self.sender.queue, {row.key for row in self._damaged} - self._seen
        missing = [key for key in queue.keys(self.batch) if key not in self._seen | named]
        if len(missing) <= n_nameless:
            named.update(missing)
        for key in named:
            if (request := queue.request(self.batch, key)) is not None and self.sender.cache.find(key) is None:
                why = "its row of the results cannot be read; run again to ask again, which is paid again"
                self._fail(request, why, is_charged=True)
