"""OpenAI's endpoints for files and batches."""

import re
from typing import Any, Literal

import msgspec
from starlette.responses import Response

from evidencebench.integrations.fake_server.batches import (
    DAY_SECONDS,
    ServedBatch,
    ServedBatches,
    ServedRow,
    page_of,
    refuse_repeated,
)
from evidencebench.integrations.fake_server.calls import BadCallError, EndpointTable, ServedRequest, convert
from evidencebench.integrations.fake_server.model import FakeModel
from evidencebench.integrations.fake_server.openai_api import OPENAI

_MAX_ROWS = 50_000
_MAX_FILES_LISTED = 10_000
_MAX_BATCHES_LISTED = 100
_MAX_STORED_BYTES = 2 << 30  # all files together; a client that uploads more must delete some first
_ERRORS = {
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "canceled": ("batch_cancelled", "The batch was cancelled before this request was executed."),
}
_BOUNDARY = re.compile(r'^multipart/form-data\b.*?;\s*boundary="?([^";,]{1,70})"?', re.IGNORECASE)
_NAME = re.compile(rb'[;\s]name="([^"]*)"')
_FILE_NAME = re.compile(rb'[;\s]filename="([^"]*)"')


class _RowLine(msgspec.Struct):
    custom_id: str
    method: Literal["POST"]
    url: Literal["/v1/chat/completions"]
    body: dict[str, Any]


class _FileBatch(msgspec.Struct):
    input_file_id: str
    endpoint: Literal["/v1/chat/completions"]
    completion_window: Literal["24h"]
    metadata: dict[str, str] | None = None


class OpenAIBatches:
    """Files and batches of OpenAI's API."""

    def __init__(self, model: FakeModel) -> None:
        self._model = model
        self._files: dict[str, tuple[dict[str, Any], bytes]] = {}  # id -> the JSON object of a file, and its content
        self._n_files_made = 0
        self.queue = ServedBatches(
            model,
            OPENAI,
            prefix="batch_",
            as_object=lambda batch, _: _batch_object(batch),
            on_end=self._write_results,
        )

    @property
    def endpoints(self) -> EndpointTable:
        """Path -> method -> endpoint."""
        return {
            "/v1/files": {"POST": self._upload, "GET": self._list_files},
            "/v1/files/{id}": {
                "GET": lambda served: self._file(served.id)[0],
                "DELETE": self._delete,
            },
            "/v1/files/{id}/content": {"GET": self._content},
            **self.queue.endpoints("/v1/batches", self._create, "after", _MAX_BATCHES_LISTED, object="list"),
        }

    def _file(self, file_id: str) -> tuple[dict[str, Any], bytes]:
        if file_id not in self._files:
            raise BadCallError(f"No such File object: {file_id}", param="id", status=404)
        return self._files[file_id]

    def _keep(self, content: bytes, name: str, purpose: str) -> dict[str, Any]:
        if len(content) + sum(len(kept) for _, kept in self._files.values()) > _MAX_STORED_BYTES:
            raise BadCallError(f"the files are over {_MAX_STORED_BYTES} bytes together; delete some first", status=413)
        self._n_files_made += 1
        file_id = f"file-{self._n_files_made:08x}"
        told = {
            "id": file_id,
            "object": "file",
            "bytes": len(content),
            "created_at": int(self._model.clock()),
            "filename": name,
            "purpose": purpose,
            "status": "processed",
        }
        self._files[file_id] = (told, content)
        return told

    def _upload(self, served: ServedRequest) -> dict[str, Any]:
        return self._keep(*_parse_upload(served.request.headers.get("content-type", ""), served.content))

    def _list_files(self, served: ServedRequest) -> dict[str, Any]:
        files = [told for told, _ in self._files.values()]
        return {"object": "list", **page_of(files, served, "after", _MAX_FILES_LISTED)}

    def _delete(self, served: ServedRequest) -> dict[str, Any]:
        del self._files[self._file(served.id)[0]["id"]]
        return {"id": served.id, "object": "file", "deleted": True}

    def _content(self, served: ServedRequest) -> Response:
        return Response(self._file(served.id)[1], media_type="application/octet-stream")

    def _create(self, served: ServedRequest) -> dict[str, Any]:
        fields = convert(served.body, _FileBatch)
        told, content = self._file(fields.input_file_id)
        if told["purpose"] != "batch":
            message = f"input_file_id: expected purpose batch, got '{told['purpose']}'"
            raise BadCallError(message, param="input_file_id")
        details = {"input_file_id": told["id"], "metadata": fields.metadata}
        try:
            rows = _rows(content)
        except BadCallError as error:
            failure = {"code": "invalid_request", "message": str(error), "param": error.param, "line": None}
            return self.queue.start([], served, failure=failure, **details)
        return self.queue.start(rows, served, **details)

    def _write_results(self, batch: ServedBatch) -> None:
        """Write the results of a batch into two files, of outputs and of errors; an empty one is not made."""
        rows = batch.shuffled(self._model.settings.seed)
        for name, wanted in (("output_file_id", True), ("error_file_id", False)):
            lines = [msgspec.json.encode(_result(row)) for row in rows if (row.outcome == "succeeded") is wanted]
            if lines:
                told = self._keep(b"\n".join([*lines, b""]), f"{batch.id}_{name}.jsonl", "batch_output")
                batch.details[name] = told["id"]


def _parse_upload(content_type: str, body: bytes) -> tuple[bytes, str, str]:
    """Return the content, name and purpose of a file uploaded by RFC 7578, or raise `BadCallError`."""
    found = _BOUNDARY.match(content_type)
    if found is None:
        raise BadCallError("expected multipart/form-data with a boundary", param="file")
    fields: dict[bytes, tuple[bytes, bytes]] = {}
    for part in (b"\r\n" + body).split(b"\r\n--" + found[1].encode("latin-1"))[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        if name := _NAME.search(head):
            fields[name[1]] = (head, content)
    if b"file" not in fields or b"purpose" not in fields:
        raise BadCallError("expected the fields file and purpose", param="file")
    (head, content), purpose = fields[b"file"], fields[b"purpose"][1].decode("utf-8", "replace")
    file_name = _FILE_NAME.search(head)
    return content, file_name[1].decode("utf-8", "replace") if file_name else "upload", purpose


def _rows(content: bytes) -> list[ServedRow]:
    lines = [line for line in content.split(b"\n") if line.strip()]
    if not 1 <= len(lines) <= _MAX_ROWS:
        raise BadCallError(f"expected 1 to {_MAX_ROWS} lines, got {len(lines)}")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            fields = msgspec.json.decode(line, type=_RowLine)
        except msgspec.MsgspecError as error:
            raise BadCallError(f"line {number}: {error}") from error
        rows.append(ServedRow(custom_id=fields.custom_id, body=fields.body))
    refuse_repeated(row.custom_id for row in rows)
    return rows


def _result(row: ServedRow) -> dict[str, Any]:
    response = {"status_code": row.status, "request_id": row.request_id, "body": row.reply} if row.status else None
    code, message = _ERRORS.get(row.outcome, (None, None))
    return {
        "id": f"batch_{row.request_id or 'req'}",
        "custom_id": row.custom_id,
        "response": response,
        "error": None if code is None else {"code": code, "message": message},
    }


def _status(batch: ServedBatch) -> str:
    if "failure" in batch.details:
        return "failed"
    if batch.ended is None:
        if batch.cancelled is not None:
            return "cancelling"
        return "validating" if batch.count("waiting") == len(batch.rows) else "in_progress"
    if batch.cancelled is not None:
        return "cancelled"
    return "expired" if batch.count("expired") else "completed"


def _batch_object(batch: ServedBatch) -> dict[str, Any]:
    status, created = _status(batch), int(batch.created)
    ended = None if batch.ended is None else int(batch.ended)
    failure = batch.details.get("failure")
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": OPENAI.path,
        "errors": {"object": "list", "data": [failure]} if failure else None,
        "input_file_id": batch.details["input_file_id"],
        "completion_window": "24h",
        "status": status,
        "output_file_id": batch.details.get("output_file_id"),
        "error_file_id": batch.details.get("error_file_id"),
        "created_at": created,
        "in_progress_at": None if status in {"validating", "failed"} else created,
        "expires_at": created + DAY_SECONDS,
        "finalizing_at": ended,
        "completed_at": ended if status == "completed" else None,
        "failed_at": created if status == "failed" else None,
        "expired_at": ended if status == "expired" else None,
        "cancelling_at": None if batch.cancelled is None else int(batch.cancelled),
        "cancelled_at": ended if status == "cancelled" else None,
        "request_counts": {
            "total": len(batch.rows),
            "completed": batch.count("succeeded"),
            "failed": batch.count("errored", "expired"),
        },
        "metadata": batch.details["metadata"],
    }
