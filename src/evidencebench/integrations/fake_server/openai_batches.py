"""The endpoints of the OpenAI protocol beside chat: models, files and batches."""

from collections.abc import Callable
from typing import Any

import msgspec

from evidencebench.integrations.fake_server import openai_wire
from evidencebench.integrations.fake_server.batches import Batch, Batches, Row, paged, refuse_repeated
from evidencebench.integrations.fake_server.calls import BadCallError
from evidencebench.integrations.fake_server.connection import Reply
from evidencebench.integrations.fake_server.files import Files, read_upload
from evidencebench.integrations.fake_server.model import Model
from evidencebench.integrations.fake_server.routes import Handled, Handler, Incoming, answered
from evidencebench.integrations.fake_server.settings import Settings

CHAT = "/v1/chat/completions"
_DAY_SECONDS = 86_400
_WINDOW = "24h"
_MAX_ROWS = 50_000
_MAX_FILES_LISTED = 10_000
_MAX_BATCHES_LISTED = 100
_ERRORS = {
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "canceled": ("batch_cancelled", "The batch was cancelled before this request was executed."),
}


class _RowLine(msgspec.Struct):
    custom_id: str
    method: str
    url: str
    body: dict[str, Any]


class _Creation(msgspec.Struct):
    input_file_id: str
    endpoint: str
    completion_window: str
    metadata: dict[str, str] | None = None


class OpenAIBatches:
    """Files and batches of this protocol.

    Parameters
    ----------
    model
        Answers the rows.
    settings
        How long a batch takes, and the seed of the order of its results.
    clock
        Seconds since 1970.
    """

    def __init__(self, model: Model, settings: Settings, clock: Callable[[], float]) -> None:
        self._model, self._seed = model, settings.seed
        self._files = Files(clock)
        self.batches = Batches(
            prefix="batch_",
            answer=self._answer,
            on_end=self._write_results,
            delay_seconds=settings.batch_delay_seconds,
            clock=clock,
        )

    def routes(self) -> list[tuple[str, str, Handler]]:
        """Return this protocol's routes."""
        return [
            ("POST", "/v1/files", self._upload),
            ("GET", "/v1/files", self._list_files),
            ("GET", "/v1/files/{}", lambda incoming: answered(self._files.find(incoming.name).as_object)),
            ("DELETE", "/v1/files/{}", self._delete),
            ("GET", "/v1/files/{}/content", self._content),
            ("POST", "/v1/batches", self._create),
            ("GET", "/v1/batches", self._list),
            ("GET", "/v1/batches/{}", lambda incoming: answered(_as_object(self.batches.find(incoming.name)))),
            (
                "POST",
                "/v1/batches/{}/cancel",
                lambda incoming: answered(_as_object(self.batches.cancel(incoming.name))),
            ),
        ]

    def _upload(self, incoming: Incoming) -> Handled:
        headers = incoming.request.headers
        content, name, purpose = read_upload(headers.get("content-type", ""), incoming.request.body)
        return answered(self._files.add(content, name=name, purpose=purpose).as_object)

    def _list_files(self, incoming: Incoming) -> Handled:
        page, has_more = paged(list(self._files), incoming.request.query, "after", _MAX_FILES_LISTED)
        return answered(_page([file.as_object for file in page], has_more=has_more))

    def _delete(self, incoming: Incoming) -> Handled:
        self._files.delete(incoming.name)
        return answered({"id": incoming.name, "object": "file", "deleted": True})

    def _content(self, incoming: Incoming) -> Handled:
        content = self._files.find(incoming.name).content
        return Handled(reply=Reply(body=content, content_type="application/octet-stream"))

    def _create(self, incoming: Incoming) -> Handled:
        try:
            fields = msgspec.convert(incoming.fields(), _Creation)
        except msgspec.ValidationError as error:
            raise BadCallError(f"Invalid request: {error}") from error
        if fields.endpoint != CHAT:
            raise BadCallError(f"endpoint: expected {CHAT}, got '{fields.endpoint}'", param="endpoint")
        if fields.completion_window != _WINDOW:
            raise BadCallError(f"completion_window: expected {_WINDOW}", param="completion_window")
        file = self._files.find(fields.input_file_id)
        if file.purpose != "batch":
            raise BadCallError(f"input_file_id: expected purpose batch, got '{file.purpose}'", param="input_file_id")
        details = {"input_file_id": file.id, "metadata": fields.metadata}
        try:
            rows = _rows(file.content)
        except BadCallError as error:
            failure = {"code": "invalid_request", "message": str(error), "param": error.param, "line": None}
            return answered(_as_object(self.batches.add([], failure=failure, **details)))
        return answered(_as_object(self.batches.start(rows, **details)))

    def _list(self, incoming: Incoming) -> Handled:
        page, has_more = self.batches.page(incoming.request.query, "after", _MAX_BATCHES_LISTED)
        return answered(_page(list(map(_as_object, page)), has_more=has_more))

    def _answer(self, batch: Batch, row: Row) -> None:
        self._model.answer_row(openai_wire, batch, row, request=f"POST {CHAT}")

    def _write_results(self, batch: Batch) -> None:
        """Write what came of a batch into its two files; one that would be empty is not written."""
        rows = batch.shuffled(self._seed)
        for name, wanted in (("output_file_id", True), ("error_file_id", False)):
            lines = [msgspec.json.encode(_result(row)) for row in rows if (row.outcome == "succeeded") is wanted]
            if lines:
                content = b"\n".join([*lines, b""])
                file = self._files.add(content, name=f"{batch.id}_{name}.jsonl", purpose="batch_output")
                batch.details[name] = file.id


def _rows(content: bytes) -> list[Row]:
    lines = [line for line in content.split(b"\n") if line.strip()]
    if not 1 <= len(lines) <= _MAX_ROWS:
        raise BadCallError(f"expected 1 to {_MAX_ROWS} lines, got {len(lines)}")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            fields = msgspec.json.decode(line, type=_RowLine)
        except msgspec.MsgspecError as error:
            raise BadCallError(f"line {number}: {error}") from error
        if (fields.method, fields.url) != ("POST", CHAT):
            raise BadCallError(f"line {number}: expected method POST and url {CHAT}", param="url")
        rows.append(Row(custom_id=fields.custom_id, body=fields.body))
    refuse_repeated(row.custom_id for row in rows)
    return rows


def _result(row: Row) -> dict[str, Any]:
    response = {"status_code": row.status, "request_id": row.request_id, "body": row.reply} if row.status else None
    code, message = _ERRORS.get(row.outcome, (None, None))
    return {
        "id": f"batch_{row.request_id or 'req'}",
        "custom_id": row.custom_id,
        "response": response,
        "error": None if code is None else {"code": code, "message": message},
    }


def _status(batch: Batch) -> str:
    if "failure" in batch.details:
        return "failed"
    if batch.ended_at is None:
        if batch.cancelled_at is not None:
            return "cancelling"
        return "validating" if batch.count("waiting") == len(batch.rows) else "in_progress"
    if batch.cancelled_at is not None:
        return "cancelled"
    return "expired" if batch.count("expired") else "completed"


def _as_object(batch: Batch) -> dict[str, Any]:
    status, ended = _status(batch), _whole(batch.ended_at)
    failure = batch.details.get("failure")
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": CHAT,
        "errors": {"object": "list", "data": [failure]} if failure else None,
        "input_file_id": batch.details["input_file_id"],
        "completion_window": _WINDOW,
        "status": status,
        "output_file_id": batch.details.get("output_file_id"),
        "error_file_id": batch.details.get("error_file_id"),
        "created_at": int(batch.created),
        "in_progress_at": None if status in {"validating", "failed"} else int(batch.created),
        "expires_at": int(batch.created) + _DAY_SECONDS,
        "finalizing_at": ended,
        "completed_at": ended if status == "completed" else None,
        "failed_at": int(batch.created) if status == "failed" else None,
        "expired_at": ended if status == "expired" else None,
        "cancelling_at": _whole(batch.cancelled_at),
        "cancelled_at": ended if status == "cancelled" else None,
        "request_counts": {
            "total": len(batch.rows),
            "completed": batch.count("succeeded"),
            "failed": batch.count("errored", "expired"),
        },
        "metadata": batch.details["metadata"],
    }


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds)


def _page(objects: list[dict[str, Any]], *, has_more: bool) -> dict[str, Any]:
    return {
        "object": "list",
        "data": objects,
        "first_id": objects[0]["id"] if objects else None,
        "last_id": objects[-1]["id"] if objects else None,
        "has_more": has_more,
    }
