"""The log of requests and their outcomes: a line of JSON for each request, and totals."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.integrations.fake_server.calls import Reply
from evidencebench.integrations.fake_server.settings import Fault

PAID, UNPAID, ANSWERED, REJECTED, EXPIRED = _OUTCOMES = ("paid", "unpaid", "answered", "rejected", "expired")
_FAULTS = frozenset(Fault)


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one request. It never holds a header, so no key, and no text of a prompt.

    The outcome is ``paid`` where the client was there until the whole reply was sent, or the row of a batch was
    answered; ``unpaid`` where the client left first; the name of the fault, if any; ``answered`` for a request that
    costs nothing; ``rejected`` where it breaks the API's rules; ``expired`` where a batch had no time for it.
    The key is the SHA-256 of the canonical JSON body; without such a body, of method, path and body.
    """

    time: float  # when it ended, in seconds since 1970
    key: str
    outcome: str
    request: str  # method and path
    attempt: int  # 1 for the first request of this key
    in_flight: int  # how many requests are being answered, this one included
    prompt_tokens: int = 0
    completion_tokens: int = 0
    batch: str | None = None  # the id of its batch, for a row of a batch


class RequestLog:
    """The log of one server; a list ``entries`` gets the entries too.

    `totals` counts all requests so far, rows of batches included; the tokens are those of paid requests. Raises
    `UnreadableError` if the file cannot be written.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float], entries: list[LogEntry] | None = None) -> None:
        others = ("paid_in_batches", "paid_more_than_once", "prompt_tokens", "completion_tokens", "unknown_papers")
        now = ("in_flight", "most_in_flight", "connections", "most_connections")
        self.totals: dict[str, Any] = {"faults": {}, **dict.fromkeys(("requests", *_OUTCOMES, *others, *now), 0)}
        self._clock, self._entries = clock, entries
        self._attempts, self._times_paid = Counter[str](), Counter[str]()
        try:  # unbuffered, so that each line is in the file when `write` returns, also where we are killed
            self._file = None if path is None else path.open("ab", buffering=0)
        except OSError as error:
            message = f"{path}: cannot be written: {error.strerror}; name another file for the log"
            raise UnreadableError(message) from error

    def attempt(self, key: str) -> int:
        """Return how often a request with this key has come, this one included."""
        self._attempts[key] += 1
        return self._attempts[key]

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count a request as in flight until the block ends."""
        self.count_now("in_flight", 1)
        try:
            yield
        finally:
            self.count_now("in_flight", -1)

    def count_now(self, name: str, change: int) -> None:
        """Change a current number, such as of connections, and its maximum so far."""
        self.totals[name] += change
        self.totals[f"most_{name}"] = max(self.totals[f"most_{name}"], self.totals[name])

    def write(self, outcome: str, *, reply: Reply | None = None, **fields: Any) -> None:
        """Write the outcome of a request; the other fields of `LogEntry` are given by name."""
        entry = LogEntry(
            time=self._clock(),
            outcome=outcome,
            in_flight=self.totals["in_flight"],
            prompt_tokens=reply.call.prompt_tokens if reply else 0,
            completion_tokens=reply.completion_tokens if reply else 0,
            **fields,
        )
        self._add_to_totals(entry)
        if self._entries is not None:
            self._entries.append(entry)
        if self._file is not None:
            self._file.write(msgspec.json.encode(entry) + b"\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _add_to_totals(self, entry: LogEntry) -> None:
        totals = self.totals
        totals["requests"] += 1
        if entry.outcome in _FAULTS:
            totals["faults"][entry.outcome] = totals["faults"].get(entry.outcome, 0) + 1
            return
        totals[entry.outcome] += 1
        if entry.outcome == PAID:
            totals["paid_in_batches"] += entry.batch is not None
            totals["paid_more_than_once"] += self._times_paid[entry.key] == 1
            self._times_paid[entry.key] += 1
            totals["prompt_tokens"] += entry.prompt_tokens
            totals["completion_tokens"] += entry.completion_tokens
