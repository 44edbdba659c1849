"""Batches of any provider: many requests that are sent at once and answered later, row by row."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from evidencebench.integrations.fake_server.calls import (
    BadCallError,
    ChatApi,
    Endpoint,
    EndpointTable,
    ServedRequest,
    key_of,
)
from evidencebench.integrations.fake_server.model import FakeModel
from evidencebench.integrations.fake_server.request_log import EXPIRED, PAID, REJECTED

DAY_SECONDS = 86_400
"""The time that a provider has for a batch."""

# A batch is answered in steps, so that it can be cancelled in part, and other requests are answered in between.
_LEAST_STEPS, _MOST_ROWS_AT_ONCE = 10, 20
_FAILED = BadCallError("The server had an error while processing this request.", status=500)

RowOutcome = Literal["waiting", "succeeded", "errored", "expired", "canceled"]
AsObject = Callable[["ServedBatch", ServedRequest], dict[str, Any]]
"""Returns the JSON object of a batch."""


@dataclass(slots=True, kw_only=True)
class ServedRow:
    """One request of a batch, with its status and its reply."""

    custom_id: str
    body: Any
    outcome: RowOutcome = "waiting"
    status: int = 0  # HTTP's, where it succeeded or errored
    reply: Any = None  # the body of the reply or of the error
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class ServedBatch:
    """One batch; times are seconds since 1970, None if not reached yet."""

    id: str
    rows: list[ServedRow]
    created: float
    cancelled: float | None = None
    ended: float | None = None
    details: dict[str, Any] = field(default_factory=dict)  # what the provider's API adds

    def count(self, *outcomes: RowOutcome) -> int:
        """Return how many rows ended in one of these ways."""
        return sum(row.outcome in outcomes for row in self.rows)

    def shuffled(self, seed: int) -> list[ServedRow]:
        """Return the rows in an order that is not the client's: the providers promise none."""
        rows = list(self.rows)
        random.Random(f"{seed} {self.id}").shuffle(rows)  # noqa: S311 - no secret
        return rows


class ServedBatches:
    """The batches of one API; ``prefix`` begins their ids, and ``on_end`` is called with each batch that has ended."""

    def __init__(
        self,
        model: FakeModel,
        api: ChatApi,
        *,
        prefix: str,
        as_object: AsObject,
        on_end: Callable[[ServedBatch], object] = lambda _: None,
    ) -> None:
        self._model, self._api, self._prefix = model, api, prefix
        self._as_object, self._on_end = as_object, on_end
        self._batches: dict[str, ServedBatch] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def endpoints(self, path: str, create: Endpoint, after: str, most: int, **told: str) -> EndpointTable:
        """Return the endpoints for batches at a path; pages of the list are those of `page_of`, with ``told``."""

        def listed(served: ServedRequest) -> dict[str, Any]:
            batches = [self._as_object(batch, served) for batch in reversed(self._batches.values())]
            return {**told, **page_of(batches, served, after, most)}

        def cancel(served: ServedRequest) -> dict[str, Any]:
            batch = self.find(served.id)
            if batch.ended is None and batch.cancelled is None:  # it ends before its next step
                batch.cancelled = self._model.clock()
            return self._as_object(batch, served)

        return {
            path: {"POST": create, "GET": listed},
            f"{path}/{{id}}": {"GET": lambda served: self._as_object(self.find(served.id), served)},
            f"{path}/{{id}}/cancel": {"POST": cancel},
        }

    def start(self, rows: list[ServedRow], served: ServedRequest, **details: Any) -> dict[str, Any]:
        """Begin a batch of rows, if there are any, and return its JSON object."""
        batch_id = f"{self._prefix}{len(self._batches) + 1:08x}"
        batch = ServedBatch(id=batch_id, rows=rows, created=self._model.clock(), details=details)
        self._batches[batch_id] = batch
        if rows:
            task = asyncio.get_running_loop().create_task(self._work(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return self._as_object(batch, served)

    def find(self, batch_id: str) -> ServedBatch:
        """Return a batch, or raise `BadCallError` where there is none of that id."""
        if batch_id not in self._batches:
            raise BadCallError(f"No such batch: {batch_id}", param="batch_id", status=404)
        return self._batches[batch_id]

    async def close(self) -> None:
        """End all work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, batch: ServedBatch) -> None:
        n_rows = min(-(-len(batch.rows) // _LEAST_STEPS), _MOST_ROWS_AT_ONCE)
        for start in range(0, len(batch.rows), n_rows):
            await asyncio.sleep(self._model.settings.batch_delay_seconds * n_rows / len(batch.rows))
            for row in batch.rows[start : start + n_rows]:
                if batch.cancelled is None:
                    self._answer(batch, row)
                else:
                    row.outcome = "canceled"
        batch.ended = self._model.clock()
        self._on_end(batch)

    def _answer(self, batch: ServedBatch, row: ServedRow) -> None:
        """Answer one row of a batch, and write it into the log."""
        model, key, reply = self._model, key_of(row.body), None
        attempt = model.log.attempt(key)
        serial = f"{key[:16]}{attempt:04x}"
        row.request_id = f"req_{serial}"
        with model.log.in_flight():
            if model.settings.draw("expire", key, attempt) < model.settings.expire_rate:
                row.outcome, logged = "expired", EXPIRED
            elif fault := model.settings.fault_met(key, attempt):
                self._fail(row, _FAILED)
                logged = str(fault)
            else:
                try:
                    reply = model.reply(self._api, row.body, key=key, serial=serial, may_stream=False)
                    row.outcome, row.status, row.reply, logged = "succeeded", 200, self._api.whole(reply), PAID
                except BadCallError as error:
                    self._fail(row, error)
                    logged = REJECTED
            request = f"POST {self._api.path}"
            model.log.write(logged, key=key, request=request, attempt=attempt, reply=reply, batch=batch.id)

    def _fail(self, row: ServedRow, error: BadCallError) -> None:
        row.outcome, row.status = "errored", error.status
        row.reply = self._api.error_body(error, row.request_id)


def page_of(items: list[dict[str, Any]], served: ServedRequest, after: str, most: int) -> dict[str, Any]:
    """Return the requested page of a list.

    The query's ``limit`` is 1 to `most` (default 20); its field named ``after``, the id before the page.
    """
    query = served.request.query_params
    limit = query.get("limit", "20")
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit[:9]) <= most:
        raise BadCallError(f"limit: expected 1 to {most}, got '{limit[:20]}'", param="limit")
    ids = [item["id"] for item in items]
    if after in query and query[after] not in ids:
        raise BadCallError(f"{after}: no such id", param=after)
    start = ids.index(query[after]) + 1 if after in query else 0
    end = start + int(limit)
    page = items[start:end]
    first, last = (page[0]["id"], page[-1]["id"]) if page else (None, None)
    return {"data": page, "first_id": first, "last_id": last, "has_more": end < len(items)}


def refuse_repeated(custom_ids: Iterable[str]) -> None:
    """Raise `BadCallError` if two rows have the same custom id."""
    for custom_id, n_rows in Counter(custom_ids).items():
        if n_rows > 1:
            raise BadCallError(f"custom_id '{custom_id}' stands more than once", param="custom_id")
