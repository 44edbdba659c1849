"""Batches: many requests handed in at once and answered later, row by row, whichever provider's they are."""

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from evidencebench.integrations.fake_server.calls import BadCallError

_STEPS = 10  # a batch is done in so many portions, so that one that is cancelled may be done in part
_ROWS_AT_ONCE = 20  # before other requests are answered in between

OutcomeName = Literal["waiting", "succeeded", "errored", "expired", "canceled"]


class Listed(Protocol):
    """Anything that is listed page by page."""

    @property
    def id(self) -> str:
        """Its name."""
        ...


Item = TypeVar("Item", bound=Listed)


@dataclass(slots=True, kw_only=True)
class Row:
    """One request of a batch and what became of it.

    Attributes
    ----------
    custom_id
        The client's name for it.
    body
        The request's decoded body.
    outcome
        How it ended.
    status
        HTTP's, where it succeeded or errored.
    reply
        The reply's or the error's body.
    request_id
        As in the header of a single request.
    """

    custom_id: str
    body: Any
    outcome: OutcomeName = "waiting"
    status: int = 0
    reply: Any = None
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class Batch:
    """One batch.

    Attributes
    ----------
    id
        Its name.
    rows
        Its requests, in the client's order.
    created, cancelled_at, ended_at
        Seconds since 1970; None where it is not so far.
    details
        What the provider's protocol adds.
    """

    id: str
    rows: list[Row]
    created: float
    cancelled_at: float | None = None
    ended_at: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def count(self, *outcomes: OutcomeName) -> int:
        """Return how many rows ended in one of these ways."""
        return sum(row.outcome in outcomes for row in self.rows)

    def shuffled(self, seed: int) -> list[Row]:
        """Return the rows in an order that is not the client's: the providers promise none."""
        rows = list(self.rows)
        random.Random(f"{seed} {self.id}").shuffle(rows)  # noqa: S311 - no secret
        return rows


class Batches:
    """The batches of one protocol.

    Parameters
    ----------
    prefix
        What their ids begin with.
    answer
        Answers one row of a batch: it sets the row's outcome, status and reply.
    on_end
        Called when a batch has ended.
    delay_seconds
        How long one takes.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        *,
        prefix: str,
        answer: Callable[[Batch, Row], None],
        on_end: Callable[[Batch], None],
        delay_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._prefix, self._answer, self._on_end = prefix, answer, on_end
        self._delay_seconds, self._clock = delay_seconds, clock
        self._batches: dict[str, Batch] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, rows: list[Row], **details: Any) -> Batch:
        """Begin a batch and return it."""
        batch = self.add(rows, **details)
        task = asyncio.get_running_loop().create_task(self._work(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return batch

    def add(self, rows: list[Row], **details: Any) -> Batch:
        """Keep a batch that is not to be worked on, and return it."""
        batch_id = f"{self._prefix}{len(self._batches) + 1:08x}"
        batch = Batch(id=batch_id, rows=rows, created=self._clock(), details=details)
        self._batches[batch_id] = batch
        return batch

    def find(self, batch_id: str) -> Batch:
        """Return a batch.

        Raises
        ------
        BadCallError
            If there is none of that id.
        """
        if batch_id not in self._batches:
            raise BadCallError(f"No such batch: {batch_id}", param="batch_id", status=404)
        return self._batches[batch_id]

    def cancel(self, batch_id: str) -> Batch:
        """Let a batch end before its next portion, with the same error as `find`; one that has ended stays as it is."""
        batch = self.find(batch_id)
        if batch.ended_at is None and batch.cancelled_at is None:
            batch.cancelled_at = self._clock()
        return batch

    def page(self, query: dict[str, str], after: str, most: int) -> tuple[list[Batch], bool]:
        """Return a page of batches, the newest first, and whether more follow.

        Parameters
        ----------
        query
            ``limit``, at least 1 (default 20), and under the name in ``after`` the id that the page starts behind.
        after
            The provider's name of that field.
        most
            The highest limit.

        Raises
        ------
        BadCallError
            If one of them is not what it should be.
        """
        return paged(list(reversed(self._batches.values())), query, after, most)

    async def close(self) -> None:
        """End all work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, batch: Batch) -> None:
        n_rows = max(1, -(-len(batch.rows) // _STEPS))
        for start in range(0, len(batch.rows), n_rows):
            await asyncio.sleep(self._delay_seconds / _STEPS)
            for position, row in enumerate(batch.rows[start : start + n_rows]):
                if batch.cancelled_at is not None:
                    row.outcome = "canceled"
                    continue
                self._answer(batch, row)
                if position % _ROWS_AT_ONCE == 0:
                    await asyncio.sleep(0)
        batch.ended_at = self._clock()
        self._on_end(batch)


def paged(items: list[Item], query: dict[str, str], after: str, most: int) -> tuple[list[Item], bool]:
    """Return a page of items and whether more follow; see `Batches.page`."""
    limit = query.get("limit", "20")
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit[:9]) <= most:
        raise BadCallError(f"limit: expected 1 to {most}, got '{limit[:20]}'", param="limit")
    names = [item.id for item in items]
    if after in query and query[after] not in names:
        raise BadCallError(f"{after}: no such id", param=after)
    start = names.index(query[after]) + 1 if after in query else 0
    end = start + int(limit)
    return items[start:end], end < len(items)


def refuse_repeated(custom_ids: Iterable[str]) -> None:
    """Raise if two rows have one name.

    Raises
    ------
    BadCallError
        Naming it.
    """
    seen: set[str] = set()
    for custom_id in custom_ids:
        if custom_id in seen:
            raise BadCallError(f"custom_id '{custom_id}' stands more than once", param="custom_id")
        seen.add(custom_id)
