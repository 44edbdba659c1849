"""How the rows of a batch that is over become stored replies and known failures."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from tempfile import TemporaryFile
from typing import IO

from evidencebench.endpoints import PassingError
from evidencebench.errors import EndpointError, PendingError
from evidencebench.llm.batch_apis.calls import Calls
from evidencebench.llm.batch_apis.nouns import BatchApi, Remote, Row
from evidencebench.llm.chat import ChatReply, ChatRequest
from evidencebench.llm.spool import Batch, Spool
from evidencebench.llm.store import Replies

_WINDOW_ROWS = 256
_MOST_FILE_BYTES = 16 << 30

Kept = Callable[[str, ChatRequest, ChatReply], float | None]
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
    store, spool
        Where replies go, and where requests are.
    kept
        See `Kept`.
    """

    def __init__(self, api: BatchApi, calls: Calls, *, store: Replies, spool: Spool, kept: Kept) -> None:
        self._api, self._calls, self._store, self._spool, self._kept = api, calls, store, spool, kept
        self.failures: dict[str, str] = {}
        self.answered: set[str] = set()
        self._done: set[str] = set()

    async def collect(self, batch: Batch, remote: Remote) -> None:
        """Take in all rows of a batch that is over.

        Raises
        ------
        EndpointError
            If rows are damaged or missing in every attempt; what is whole is stored all the same.
        """

        async def attempt() -> None:
            for path in remote.paths:
                with TemporaryFile(dir=self._store.path.parent) as file:
                    await self._calls.fetch(path, file, most_bytes=_MOST_FILE_BYTES)
                    await self._take_all(batch, file)
            n_done, n_all = len(self._done), len(self.answered | self.failures.keys())
            if n_done < min(remote.n_done, batch.n_requests) and n_all < remote.n_done + remote.n_failed:
                raise PassingError(f"expected {remote.n_done} replies in batch {remote.name}, got {n_done}")

        await self._calls.tried(attempt)

    async def _take_all(self, batch: Batch, file: IO[bytes]) -> None:
        n_damaged = 0
        rows = self._api.rows(file)
        while window := list(islice(rows, _WINDOW_ROWS)):
            n_damaged += sum(row.is_damaged for row in window)
            await asyncio.gather(*(self._take(batch, row) for row in window))
        if n_damaged:
            raise PassingError(f"{n_damaged} rows of batch {batch.name} cannot be read")

    async def _take(self, batch: Batch, row: Row) -> None:
        request = self._spool.request(batch, row.key)
        if request is None or row.key in self.answered:  # a row that nobody asked for, or one that came twice
            return
        if row.is_done:
            self._done.add(row.key)
        if self._store.find(row.key) is not None:
            self.answered.add(row.key)
        elif row.reply is not None:
            self.answered.add(row.key)
            reply = self._calls.without_key(row.reply)
            await self._store.put(request, reply, self._kept(row.key, request, reply))
        elif row.failure:
            where = f"{self._calls.where}: model '{request.model_name}': batch {batch.name}"
            self.failures[row.key] = f"{where}: {self._calls.shown(row.failure)}"
