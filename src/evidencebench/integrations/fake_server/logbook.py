"""What the server was asked and what became of it: one line a request, and totals."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.integrations.fake_server.faults import Fault

PAID, UNPAID = "paid", "unpaid"
ANSWERED, REJECTED, EXPIRED = "answered", "rejected", "expired"
"""What becomes of a request that is free, that breaks the protocol, or that a batch had no time for."""

_FAULTS = frozenset(map(str, Fault))


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one request. It never holds a header, so no key, and no text of a prompt.

    Attributes
    ----------
    time
        When it ended, in seconds since 1970.
    key
        SHA-256 of its canonical JSON body; of a request without one, of method, path and body.
    outcome
        ``paid``: the whole reply was handed to a client that was still there, or a batch's row was done. ``unpaid``:
        the client left first. The name of a fault that it met. ``answered``: a request that costs nothing.
        ``rejected``: it breaks the protocol. ``expired``: a batch had no time for it.
    request
        Method and path.
    attempt
        1 for the first time that a request of this key came.
    in_flight
        Requests in flight, this one included.
    prompt_tokens, completion_tokens
        What was, or would have been, paid for.
    batch
        Id of the batch that it is a row of.
    """

    time: float
    key: str
    outcome: str
    request: str
    attempt: int = 1
    in_flight: int = 1
    prompt_tokens: int = 0
    completion_tokens: int = 0
    batch: str | None = None


class Totals(msgspec.Struct, kw_only=True):
    """What became of all requests so far; rows of batches count as requests.

    Attributes
    ----------
    requests, paid, unpaid, answered, rejected, expired
        How many ended, and how, as in `Entry`.
    paid_in_batches
        Part of `paid` that are rows of batches.
    faults
        How many met each fault; those that none met are absent.
    in_flight, most_in_flight
        Requests that are being answered now, and the most ever at a time.
    connections, most_connections
        Likewise of connections.
    paid_more_than_once
        How many different requests were paid more than once.
    prompt_tokens, completion_tokens
        Of what was paid.
    unknown_papers
        Replies to prompts whose paper is not in the data.
    """

    requests: int = 0
    paid: int = 0
    unpaid: int = 0
    answered: int = 0
    rejected: int = 0
    expired: int = 0
    paid_in_batches: int = 0
    faults: dict[str, int] = {}
    in_flight: int = 0
    most_in_flight: int = 0
    connections: int = 0
    most_connections: int = 0
    paid_more_than_once: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unknown_papers: int = 0


class Logbook:
    """The log of one server, for one thread.

    Parameters
    ----------
    path
        File that gets a line of JSON a request, behind what it holds already; None: no file.
    clock
        Seconds since 1970.
    keeps_entries
        Whether `entries` holds them, too; else memory does not grow with what is asked, but for a number a key.

    Raises
    ------
    UnreadableError
        If the file cannot be written.
    """

    def __init__(self, *, path: Path | None, clock: Callable[[], float], keeps_entries: bool = False) -> None:
        self.totals = Totals()
        self.entries: list[Entry] = []
        self._clock, self._keeps_entries = clock, keeps_entries
        self._attempts: Counter[bytes] = Counter()
        self._times_paid: Counter[bytes] = Counter()
        self._file = _opened(path)

    def attempt(self, key: str) -> int:
        """Return how often a request of this key has come, this time included."""
        name = bytes.fromhex(key)
        self._attempts[name] += 1
        return self._attempts[name]

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count a request as in flight until the block ends."""
        totals = self.totals
        totals.in_flight += 1
        totals.most_in_flight = max(totals.most_in_flight, totals.in_flight)
        try:
            yield
        finally:
            totals.in_flight -= 1

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Count a connection until the block ends."""
        totals = self.totals
        totals.connections += 1
        totals.most_connections = max(totals.most_connections, totals.connections)
        try:
            yield
        finally:
            totals.connections -= 1

    def write(
        self,
        outcome: str,
        *,
        key: str,
        request: str,
        attempt: int,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
        batch: str | None = None,
    ) -> None:
        """Write what became of a request."""
        entry = Entry(
            time=self._clock(),
            key=key,
            outcome=outcome,
            request=request,
            attempt=attempt,
            in_flight=self.totals.in_flight,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            batch=batch,
        )
        self._count(entry)
        if self._keeps_entries:
            self.entries.append(entry)
        if self._file is not None:
            self._file.write(msgspec.json.encode(entry) + b"\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _count(self, entry: Entry) -> None:
        totals = self.totals
        totals.requests += 1
        if entry.outcome in _FAULTS:
            totals.faults[entry.outcome] = totals.faults.get(entry.outcome, 0) + 1
            return
        setattr(totals, entry.outcome, getattr(totals, entry.outcome) + 1)
        if entry.outcome == PAID:
            totals.paid_in_batches += entry.batch is not None
            totals.prompt_tokens += entry.prompt_tokens
            totals.completion_tokens += entry.completion_tokens
            name = bytes.fromhex(entry.key)
            self._times_paid[name] += 1
            totals.paid_more_than_once += self._times_paid[name] == 2  # noqa: PLR2004 - the second time


def _opened(path: Path | None) -> IO[bytes] | None:
    """Open the log: unbuffered, so that each line is in the file when `write` returns, also where we are killed."""
    try:
        return None if path is None else path.open("ab", buffering=0)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be written: {error.strerror}; name another file for the log") from error
