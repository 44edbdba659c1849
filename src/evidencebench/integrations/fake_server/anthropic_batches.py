"""The batch endpoints of the Anthropic protocol."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from evidencebench.integrations.fake_server import anthropic_wire
from evidencebench.integrations.fake_server.batches import Batch, Batches, Row, refuse_repeated
from evidencebench.integrations.fake_server.calls import BadCallError
from evidencebench.integrations.fake_server.connection import Reply
from evidencebench.integrations.fake_server.model import Model
from evidencebench.integrations.fake_server.routes import Handled, Handler, Incoming, answered
from evidencebench.integrations.fake_server.settings import Settings

MESSAGES = "/v1/messages"
_BATCHES = f"{MESSAGES}/batches"
_DAY_SECONDS = 86_400
_MAX_ROWS = 100_000
_MAX_LISTED = 1000


class _Request(msgspec.Struct):
    custom_id: Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    params: dict[str, Any]


class _Creation(msgspec.Struct):
    requests: Annotated[list[_Request], msgspec.Meta(min_length=1, max_length=_MAX_ROWS)]


class AnthropicBatches:
    """Batches of this protocol.

    Parameters
    ----------
    model
        Answers the rows.
    settings
        How long a batch takes, and the seed of the order of its results.
    address
        Gives what stands before the path in addresses of this server.
    clock
        Seconds since 1970.
    """

    def __init__(
        self, model: Model, settings: Settings, *, address: Callable[[], str], clock: Callable[[], float]
    ) -> None:
        self._model, self._seed, self._address = model, settings.seed, address
        self.batches = Batches(
            prefix="msgbatch_",
            answer=self._answer,
            on_end=lambda _: None,
            delay_seconds=settings.batch_delay_seconds,
            clock=clock,
        )

    def routes(self) -> list[tuple[str, str, Handler]]:
        """Return this protocol's routes."""
        return [
            ("POST", _BATCHES, self._create),
            ("GET", _BATCHES, self._list),
            ("GET", f"{_BATCHES}/{{}}", lambda incoming: self._told(self.batches.find(incoming.name))),
            ("POST", f"{_BATCHES}/{{}}/cancel", lambda incoming: self._told(self.batches.cancel(incoming.name))),
            ("GET", f"{_BATCHES}/{{}}/results", self._results),
        ]

    def _create(self, incoming: Incoming) -> Handled:
        try:
            fields = msgspec.convert(incoming.fields(), _Creation)
        except msgspec.ValidationError as error:
            raise BadCallError(f"Invalid request: {error}") from error
        refuse_repeated(request.custom_id for request in fields.requests)
        rows = [Row(custom_id=request.custom_id, body=request.params) for request in fields.requests]
        return self._told(self.batches.start(rows))

    def _list(self, incoming: Incoming) -> Handled:
        page, has_more = self.batches.page(incoming.request.query, "after_id", _MAX_LISTED)
        return answered(
            {
                "data": list(map(self._as_object, page)),
                "has_more": has_more,
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
            }
        )

    def _results(self, incoming: Incoming) -> Handled:
        batch = self.batches.find(incoming.name)
        if batch.ended_at is None:
            raise BadCallError(f"{batch.id}: no results yet; they are here once the batch has ended", status=404)
        lines = [msgspec.json.encode(_result(row)) for row in batch.shuffled(self._seed)]
        return Handled(reply=Reply(body=b"\n".join([*lines, b""]), content_type="application/x-jsonl"))

    def _told(self, batch: Batch) -> Handled:
        return answered(self._as_object(batch))

    def _answer(self, batch: Batch, row: Row) -> None:
        self._model.answer_row(anthropic_wire, batch, row, request=f"POST {MESSAGES}")

    def _as_object(self, batch: Batch) -> dict[str, Any]:
        has_ended = batch.ended_at is not None
        is_cancelled = batch.cancelled_at is not None
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if has_ended else "canceling" if is_cancelled else "in_progress",
            "request_counts": _counts(batch),
            "created_at": _stamp(batch.created),
            "expires_at": _stamp(batch.created + _DAY_SECONDS),
            "ended_at": _stamp(batch.ended_at),
            "cancel_initiated_at": _stamp(batch.cancelled_at),
            "archived_at": None,
            "results_url": f"{self._address()}{_BATCHES}/{batch.id}/results" if has_ended else None,
        }


def _counts(batch: Batch) -> dict[str, int]:
    """Return how the rows ended; as the provider has it, all of them are processing until the whole batch has ended."""
    has_ended = batch.ended_at is not None
    counts = {"processing": 0 if has_ended else len(batch.rows)}
    for outcome in ("succeeded", "errored", "canceled", "expired"):
        counts[outcome] = batch.count(outcome) if has_ended else 0
    return counts


def _result(row: Row) -> dict[str, Any]:
    result: dict[str, Any] = {"type": row.outcome}
    if row.outcome == "succeeded":
        result["message"] = row.reply
    elif row.outcome == "errored":
        result["error"] = row.reply
    return {"custom_id": row.custom_id, "result": result}


def _stamp(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
