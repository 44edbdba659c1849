"""How the rows of a batch that is over become stored replies and known failures."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from tempfile import TemporaryFile
from typing import IO

from evidencebench.errors import EndpointError, PendingError
from evidencebench.models.endpoints import PassingError
from evidencebench.models.llm.batch_apis.calls import Calls
from evidencebench.models.llm.batch_apis.contract import BatchApi, RemoteBatch, ResultRow
from evidencebench.models.llm.batch_queue import BatchJob, BatchQueue, DamagedRequestError
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.models.llm.reply_database import explained
from evidencebench.wording import counted

_WINDOW_ROWS = 256
_MOST_FILE_BYTES = 16 << 30

OnLost = Callable[[str], object]
"""Called with the key of a request that was charged for, though its reply cannot be read."""

OnKept = Callable[[str, ChatRequest, ChatReply], float | None]
"""Called with the key, the request and the reply of each row that is stored now; returns what it cost."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of requests of this run that have no reply, by key.

    Attributes
    ----------
    failures
        Why those failed that failed for good.
    unfinished
        Why those were not answered that the next run asks again.
    """

    failures: dict[str, str] = field(default_factory=dict)
    unfinished: dict[str, str] = field(default_factory=dict)

    def raise_for(self, key: str) -> None:
        """Raise if the request of this key is not to be asked again in this run.

        Raises
        ------
        EndpointError
            If it failed.
        PendingError
            If its batch ended before its turn came.
        """
        if (failure := self.failures.get(key)) is not None:
            raise EndpointError(failure)
        if (reason := self.unfinished.get(key)) is not None:
            raise PendingError(reason)


class Collector:
    """Takes in the rows of one batch.

    Parameters
    ----------
    api, calls
        Whose batch it is.
    cache, queue
        Where replies go, and where requests are.
    kept, lost
        See `OnKept` and `OnLost`.
    """

    def __init__(
        self, api: BatchApi, calls: Calls, *, cache: ReplyCache, queue: BatchQueue, kept: OnKept, lost: OnLost
    ) -> None:
        self._api, self._calls, self._cache, self._queue, self._kept, self._lost = api, calls, cache, queue, kept, lost
        self.failures: dict[str, str] = {}
        self.answered: set[str] = set()
        self._done: set[str] = set()
        self._seen: set[str] = set()
        self._damaged: list[ResultRow] = []
        self.is_short = False  # whether everything came that there is, and rows are missing

    async def collect(self, batch: BatchJob, remote: RemoteBatch) -> None:
        """Take in all rows of a batch that is over. A row that stays damaged is a failure; the others are stored.

        Raises
        ------
        EndpointError
            If rows are missing in every attempt; what is there is stored all the same.
        """

        async def attempt() -> None:
            self._seen, self._damaged, self.is_short = set(), [], False
            for path in remote.paths:
                with TemporaryFile(dir=self._cache.path.parent) as file:
                    await self._calls.fetch(path, file, most_bytes=_MOST_FILE_BYTES)
                    await self._take_all(batch, file)
            self.is_short = True
            if self._damaged and len(self._seen) < batch.n_requests:
                raise PassingError(f"{counted(len(self._damaged), 'row')} of batch {batch.name} cannot be read")
            n_done, n_all = len(self._done), len(self.answered | self.failures.keys())
            if n_done < min(remote.n_done, batch.n_requests) and n_all < remote.n_done + remote.n_failed:
                raise PassingError(
                    f"expected {counted(remote.n_done, 'reply', 'replies')} in batch {remote.name}, got {n_done}"
                )
            self.is_short = False

        try:
            with explained(self._cache.path):  # a disk that is full
                await self._calls.tried(attempt)
        except EndpointError:
            if not self._is_damaged_only(batch, remote):
                raise
            self._give_up_damaged(batch)

    async def _take_all(self, batch: BatchJob, file: IO[bytes]) -> None:
        rows = self._api.rows(file)
        while window := list(islice(rows, _WINDOW_ROWS)):
            self._damaged += [row for row in window if row.is_damaged]
            await asyncio.gather(*(self._take(batch, row) for row in window if not row.is_damaged))

    async def _take(self, batch: BatchJob, row: ResultRow) -> None:
        try:
            request = self._queue.request(batch, row.key)
        except DamagedRequestError as error:  # which loses this reply and no other
            self._seen.add(row.key)
            self.failures[row.key] = f"{error}"
            return
        if request is None:  # a row that nobody asked for
            return
        self._seen.add(row.key)
        if row.is_done:
            self._done.add(row.key)
        if row.key in self.answered:  # one that came twice, or in another attempt
            return
        if self._cache.find(row.key) is not None:
            self._answer(row.key)
        elif row.reply is not None:
            self._answer(row.key)
            reply = self._calls.without_key(row.reply)
            await self._cache.put(request, reply, self._kept(row.key, request, reply))
        elif row.failure:
            self._fail(batch, request, self._calls.shown(row.failure), is_charged=row.is_done)

    def _answer(self, key: str) -> None:
        self.answered.add(key)
        self.failures.pop(key, None)

    def _fail(self, batch: BatchJob, request: ChatRequest, why: str, *, is_charged: bool) -> None:
        if is_charged and request.key not in self.failures:
            self._lost(request.key)
        where = f"{self._calls.where}: model '{request.model_name}': batch {batch.name}"
        self.failures[request.key] = f"{where}: {why}"

    def _is_damaged_only(self, batch: BatchJob, remote: RemoteBatch) -> bool:
        """Say whether every row came, though some are damaged: no further attempt would bring more.

        Rows without a key count only among readable ones: a page of HTML is no list of lost replies.
        """
        keys = self._seen | {row.key for row in self._damaged if row.key}
        n_nameless = sum(not row.key for row in self._damaged)
        if not self._damaged or any(row.is_cut for row in self._damaged) or n_nameless > len(self._seen):
            return False
        return len(keys) + n_nameless >= min(remote.n_done + remote.n_failed, batch.n_requests)

    def _give_up_damaged(self, batch: BatchJob) -> None:
        """Count what came damaged as failures: by their keys, and where a key is damaged too, what else is missing."""
        named = {row.key for row in self._damaged} - self._seen
        missing = [key for key in self._queue.keys(batch) if key not in self._seen | named]
        if len(missing) <= sum(not row.key for row in self._damaged):
            named.update(missing)
        for key in named:
            if (request := self._queue.request(batch, key)) is not None and self._cache.find(key) is None:
                why = "its row of the results cannot be read; run again to ask again, which is paid again"
                self._fail(batch, request, why, is_charged=True)
