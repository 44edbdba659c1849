"""What every provider's batches have in common: the words that the files beside this one are written in."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Protocol

from evidencebench.models.llm.batch_apis.calls import Calls
from evidencebench.models.llm.chat import ChatReply, ChatRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBatch:
    """A batch as its provider describes it.

    Attributes
    ----------
    name
        The provider's id.
    state
        In the provider's words.
    is_over
        Whether nothing will change any more.
    n_done, n_failed
        Requests so far.
    paths
        Where the rows are, behind the base URL; empty where there are none.
    fault
        Why the batch as a whole was refused; empty where it was not.
    row_faults
        Why it was refused for single rows, by their place in it, counted from 1.
    """

    name: str
    state: str
    is_over: bool
    n_done: int
    n_failed: int
    paths: tuple[str, ...] = ()
    fault: str = ""
    row_faults: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_refused(self) -> bool:
        """Whether nothing of it was asked."""
        return bool(self.fault or self.row_faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """What became of one request of a batch.

    Attributes
    ----------
    key
        As `ChatRequest.key`, if the server tells the truth.
    reply
        The reply; None where there is none.
    failure
        Why there is none; empty where the batch ended before the request's turn came.
    is_done
        Whether the provider says that it was answered, though what it gives may be no reply.
    is_damaged
        Whether it cannot be read; the key may be missing then, which is empty.
    is_cut
        Whether it cannot be read since what came ends within it, so that more may be missing.
    """

    key: str
    reply: ChatReply | None = None
    failure: str = ""
    is_done: bool = False
    is_damaged: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSearch:
    """A batch of which nobody knows whether it was submitted.

    Attributes
    ----------
    intent
        Our name for it.
    since
        When it was intended, in seconds since 1970.
    n_requests
        How many are in it.
    known
        Ids that belong to other batches.
    holds
        Says whether a key is in it.
    """

    intent: str
    since: float
    n_requests: int
    known: Collection[str]
    holds: Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search for a batch came to.

    Attributes
    ----------
    name
        The provider's id; None where it was not found.
    perhaps
        Ids that it may have, which only the end of those batches can tell.
    """

    name: str | None = None
    perhaps: tuple[str, ...] = ()


class BatchApi(Protocol):
    """One provider's batches."""

    @property
    def most_requests(self) -> int:
        """How many requests a batch may hold."""
        ...

    @property
    def most_bytes(self) -> int:
        """How long a batch may be."""
        ...

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
        """Submit in one attempt; return the provider's id.

        Raises
        ------
        UnsureError
            If it may have been submitted.
        PassingError
            If it was not, and the next attempt may succeed.
        """
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
