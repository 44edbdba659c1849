"""Anthropic's endpoints for batches."""

from typing import Annotated, Any

import msgspec
from starlette.responses import Response

from evidencebench.integrations.fake_server.anthropic_api import ANTHROPIC, stamp
from evidencebench.integrations.fake_server.batches import (
    DAY_SECONDS,
    ServedBatch,
    ServedBatches,
    ServedRow,
    refuse_repeated,
)
from evidencebench.integrations.fake_server.calls import BadCallError, EndpointTable, ServedRequest, convert
from evidencebench.integrations.fake_server.model import FakeModel

_BATCHES = f"{ANTHROPIC.path}/batches"
_MAX_ROWS = 100_000
_MAX_LISTED = 1000


class _MessageRow(msgspec.Struct):
    custom_id: Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    params: dict[str, Any]


class _MessageBatch(msgspec.Struct):
    requests: Annotated[list[_MessageRow], msgspec.Meta(min_length=1, max_length=_MAX_ROWS)]


class AnthropicBatches:
    """Batches of Anthropic's API."""

    def __init__(self, model: FakeModel) -> None:
        self._seed = model.settings.seed
        self.queue = ServedBatches(model, ANTHROPIC, prefix="msgbatch_", as_object=_batch_object)

    @property
    def endpoints(self) -> EndpointTable:
        """Path -> method -> endpoint."""
        return {
            **self.queue.endpoints(_BATCHES, self._create, "after_id", _MAX_LISTED),
            f"{_BATCHES}/{{id}}/results": {"GET": self._results},
        }

    def _create(self, served: ServedRequest) -> dict[str, Any]:
        fields = convert(served.body, _MessageBatch)
        refuse_repeated(request.custom_id for request in fields.requests)
        rows = [ServedRow(custom_id=request.custom_id, body=request.params) for request in fields.requests]
        return self.queue.start(rows, served)

    def _results(self, served: ServedRequest) -> Response:
        batch = self.queue.find(served.id)
        if batch.ended is None:
            raise BadCallError(f"{batch.id}: no results yet; they are here once the batch has ended", status=404)
        lines = [msgspec.json.encode(_result(row)) for row in batch.shuffled(self._seed)]
        return Response(b"\n".join([*lines, b""]), media_type="application/x-jsonl")


def _batch_object(batch: ServedBatch, served: ServedRequest) -> dict[str, Any]:
    has_ended, is_cancelled = batch.ended is not None, batch.cancelled is not None
    # As at the provider, all rows are processing until the whole batch has ended.
    counts = {"processing": 0 if has_ended else len(batch.rows)}
    for outcome in ("succeeded", "errored", "canceled", "expired"):
        counts[outcome] = batch.count(outcome) if has_ended else 0
    results_url = f"{str(served.request.base_url).rstrip('/')}{_BATCHES}/{batch.id}/results"
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if has_ended else "canceling" if is_cancelled else "in_progress",
        "request_counts": counts,
        "created_at": stamp(batch.created),
        "expires_at": stamp(batch.created + DAY_SECONDS),
        "ended_at": stamp(batch.ended),
        "cancel_initiated_at": stamp(batch.cancelled),
        "archived_at": None,
        "results_url": results_url if has_ended else None,
    }


def _result(row: ServedRow) -> dict[str, Any]:
    result: dict[str, Any] = {"type": row.outcome}
    if row.outcome == "succeeded":
        result["message"] = row.reply
    elif row.outcome == "errored":
        result["error"] = row.reply
    return {"custom_id": row.custom_id, "result": result}
