"""What every provider's batches have in common: the data that comes out, and the calls to write."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Protocol

from evidencebench.errors import FailingServerError
from evidencebench.models.llm.batch_apis.calls import Calls
from evidencebench.models.llm.batch_queue import BatchJob, BatchQueue
from evidencebench.models.llm.chat import ChatReply, ChatRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBatch:
    """A batch as its provider describes it."""

    state: str  # in the provider's words
    is_over: bool  # whether nothing will change any more
    n_done: int
    n_failed: int
    paths: tuple[str, ...] = ()  # where the rows are, behind the base URL
    fault: str = ""  # why the batch as a whole was refused
    row_faults: Mapping[int, str] = field(default_factory=dict)  # why single rows were, by place in it, from 1

    @property
    def is_refused(self) -> bool:
        """Whether nothing of it was asked."""
        return bool(self.fault or self.row_faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """The result of one request of a batch."""

    key: str  # as `ChatRequest.key`, if the server tells the truth
    reply: ChatReply | None = None
    failure: str = ""  # why there is no reply; empty where the batch ended before the request's turn came
    is_done: bool = False  # the provider says that it was answered, though what it gives may be no reply
    is_damaged: bool = False  # it cannot be read; an empty key cannot either
    is_cut: bool = False  # it cannot be read since what came ends within it, so that more may be missing


class UnresolvedError(FailingServerError):
    """A batch may or may not have been submitted; it stays written down, to be looked for."""


class BatchApi(Protocol):
    """One provider's batches."""

    most_requests: int  # that a batch may hold
    most_bytes: int  # of a batch

    def row_of(self, key: str, request: ChatRequest) -> bytes:
        """Return what stands in a batch for a request."""
        ...

    async def prepare(self, calls: Calls, rows: Iterable[bytes], body: IO[bytes], intent: str) -> bytes | IO[bytes]:
        """Write the rows into a file and do all that costs nothing; return what `create` sends."""
        ...

    async def create(self, calls: Calls, prepared: bytes | IO[bytes]) -> str:
        """Submit in one attempt; return the provider's id, or raise as `Calls.once`."""
        ...

    async def find(self, calls: Calls, queue: BatchQueue, batch: BatchJob) -> str | None:
        """Return the id of a batch that may have been submitted, None if it was not.

        Raises `UnresolvedError`, which names the ids that it may have, if only the end of those batches can tell.
        """
        ...

    async def look(self, calls: Calls, name: str) -> RemoteBatch:
        """Return how a batch does."""
        ...

    def rows(self, file: IO[bytes]) -> Iterator[ResultRow]:
        """Yield what became of the requests, line by line; a damaged line is a row of its own."""
        ...
