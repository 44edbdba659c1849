"""What every provider's batches have in common: the data that goes in and comes out, and the calls to write."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Protocol

from evidencebench.models.llm.batch_apis.calls import Calls
from evidencebench.models.llm.chat import ChatReply, ChatRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBatch:
    """A batch as its provider describes it."""

    name: str  # the provider's id
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSearch:
    """A batch that may or may not have been submitted, and what it is looked for by."""

    intent: str  # our name for it
    since: float  # when it was intended, in seconds since 1970
    n_requests: int
    known: Collection[str]  # ids that belong to other batches
    holds: Callable[[str], bool]  # says whether a key is in it


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The provider's id of a batch that was looked for; None where it was not found."""

    name: str | None = None
    perhaps: tuple[str, ...] = ()  # ids that it may have, which only the end of those batches can tell


class BatchApi(Protocol):
    """One provider's batches."""

    most_requests: int  # that a batch may hold
    most_bytes: int  # of a batch

    def row_of(self, key: str, request: ChatRequest) -> bytes:
        """Return what stands in a batch for a request."""
        ...

    def write(self, rows: Iterable[bytes], into: IO[bytes]) -> None:
        """Write what is uploaded."""
        ...

    async def prepare(self, calls: Calls, body: IO[bytes], intent: str) -> bytes | IO[bytes]:
        """Do all that costs nothing; return what `create` sends."""
        ...

    async def create(self, calls: Calls, prepared: bytes | IO[bytes]) -> str:
        """Submit in one attempt; return the provider's id, or raise as `Calls.once`."""
        ...

    async def find(self, calls: Calls, sought: BatchSearch) -> SearchResult:
        """Look for a batch among those that the provider has."""
        ...

    async def look(self, calls: Calls, name: str) -> RemoteBatch:
        """Return how a batch does."""
        ...

    def rows(self, file: IO[bytes]) -> Iterator[ResultRow]:
        """Yield what became of the requests, line by line; a damaged line is a row of its own."""
        ...
