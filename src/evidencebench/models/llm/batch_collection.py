"""Store the replies of a batch that has ended, and note the requests that failed."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from typing import IO

from evidencebench.errors import EndpointError
from evidencebench.models.llm.batch_apis.calls import Calls
from evidencebench.models.llm.batch_apis.contract import BatchApi, RemoteBatch, ResultRow
from evidencebench.models.llm.batch_queue import BatchJob, BatchQueue, DamagedRequestError
from evidencebench.models.llm.budget import Budget
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.reply_cache import ReplyCache, cache_errors
from evidencebench.models.llm.totals import RunningTotals
from evidencebench.web.transient import TransientError
from evidencebench.wording import counted

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
