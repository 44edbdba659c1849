"""OpenAI's batches: a file of requests is uploaded; a file of replies and a file of errors are downloaded."""

from collections.abc import Iterable, Iterator
from typing import IO, Any

import msgspec

from evidencebench.models.llm.batch_apis import (
    BatchJob,
    BatchQueue,
    Calls,
    HasId,
    ListedBatch,
    Page,
    RemoteBatch,
    ResultRow,
    answered_row,
    decode_as,
    fetch_as,
    key_of,
    list_batches,
    read_rows,
    safe_id,
    submitted_id,
)
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.sender import is_withheld, refusal_text, withheld_reply
from evidencebench.models.llm.wire import request_body as body_of
from evidencebench.web.fetch import optional_part

_ENDPOINT = "/v1/chat/completions"
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_UNFINISHED = ("batch_expired", "batch_cancelled")
_INTENT = "evidencebench"
_CLOCK_SKEW_SECONDS = 3600
_REFUSALS = range(300, 600)


class _Fault(msgspec.Struct, frozen=True):
    code: str | None = None
    message: str | None = None
    line: int | None = None

    @property
    def said(self) -> str:
        return self.message or self.code or "no reason is given"

    @property
    def row(self) -> int | None:
        """The number of the row at fault, from 1; None if all rows are, since they share their model."""
        return None if "model" in (self.code or "") else self.line


class _Faults(msgspec.Struct, frozen=True):
    data: list[_Fault] | None = None


class _OpenaiCounts(msgspec.Struct, frozen=True):
    completed: int | None = None
    failed: int | None = None


class _OpenaiBatch(ListedBatch, frozen=True, kw_only=True):
    status: str
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: msgspec.Raw = msgspec.Raw(b"null")
    request_counts: _OpenaiCounts | None = None
    metadata: Any = None


class _Response(msgspec.Struct, frozen=True):
    status_code: Any = None
    body: msgspec.Raw = msgspec.Raw(b"null")


class _OpenaiLine(msgspec.Struct, frozen=True):
    custom_id: str
    response: _Response | None = None
    error: Any = None


class OpenaiBatchApi:
    """The batches of OpenAI, and of servers with the same interface."""

    most_requests = 50_000
    most_bytes = 200_000_000

    def row_of(self, key: str, request: ChatRequest) -> bytes:
        """Return a request as a line of the uploaded file."""
        body = body_of(request)
        return msgspec.json.encode({"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": body}) + b"\n"

    def prepare(self, calls: Calls, rows: Iterable[bytes], body: IO[bytes], intent: str) -> bytes:
        """Write the file of requests and upload it; return the body that `create` sends."""
        body.writelines(rows)
        body.flush()  # httpx reads its length from the disk
        form = {"purpose": (None, "batch"), "file": ("evidencebench.jsonl", body, "application/jsonl")}

        def upload() -> str:
            content = calls.once("POST", "/files", files=form)
            return safe_id(decode_as(content, HasId, "an uploaded file").id)

        file_id = calls.retry(upload)
        window = {"input_file_id": file_id, "endpoint": _ENDPOINT, "completion_window": "24h"}
        return msgspec.json.encode({**window, "metadata": {_INTENT: intent}})

    def create(self, calls: Calls, prepared: bytes | IO[bytes]) -> str:
        """Submit in one attempt; see `BatchApi.create`."""
        return submitted_id(calls.once("POST", "/batches", prepared))

    def find(self, calls: Calls, queue: BatchQueue, batch: BatchJob) -> str | None:  # noqa: ARG002 - as the other
        """Return the id of the batch that has our intent in its metadata."""
        since = batch.created - _CLOCK_SKEW_SECONDS
        for one in list_batches(calls, "/batches", Page[_OpenaiBatch], since=since, after="after"):
            if isinstance(one.metadata, dict) and one.metadata.get(_INTENT) == batch.intent:
                return safe_id(one.id)
        return None

    def look(self, calls: Calls, name: str) -> RemoteBatch:
        """Return a batch's status, counts and faults."""
        batch = fetch_as(calls, f"/batches/{safe_id(name)}", _OpenaiBatch, "a batch")
        counts = batch.request_counts or _OpenaiCounts()
        files = [file for file in (batch.output_file_id, batch.error_file_id) if file]
        faults: list[_Fault] = []
        if batch.status == "failed":
            stated = optional_part(batch.errors, _Faults)
            faults = (stated and stated.data) or [_Fault()]
        return RemoteBatch(
            state=calls.shown(batch.status),
            is_over=batch.status in _OVER,
            n_done=counts.completed or 0,
            n_failed=counts.failed or 0,
            paths=tuple(f"/files/{safe_id(file)}/content" for file in files),
            fault=next((calls.shown(fault.said) for fault in faults if fault.row is None), ""),
            row_faults={fault.row: calls.shown(fault.said) for fault in faults if fault.row is not None},
        )

    def rows(self, file: IO[bytes]) -> Iterator[ResultRow]:
        """Yield the results of the requests, from the file of replies or the file of errors."""
        return read_rows(file, _OpenaiLine, _row)


def _row(line: _OpenaiLine) -> ResultRow:
    key = key_of(line.custom_id)
    code: Any = None if line.response is None else line.response.status_code
    if line.response is not None and not (isinstance(code, int) and code in _REFUSALS):
        return answered_row(key, "openai", line.response.body)
    if line.error is not None:
        return ResultRow(key=key, failure=_failure(line.error))
    if line.response is None:
        return ResultRow(key=key, failure="expected a response or an error, got neither")
    body = bytes(line.response.body)
    if is_withheld(code, body):
        return ResultRow(key=key, reply=withheld_reply())
    return ResultRow(key=key, failure=f"status {code}: {refusal_text(body)}")


def _failure(error: Any) -> str:
    """Return the message of a row's error; empty if the batch ended before the request's turn."""
    if not isinstance(error, dict):
        return str(error)
    if error.get("code") in _UNFINISHED:
        return ""
    return str(error.get("message") or error.get("code") or "failed without a reason")
