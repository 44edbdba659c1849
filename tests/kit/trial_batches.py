"""Batches of the trial server: many requests that are sent at once and answered later, row by row."""

import asyncio
import hashlib
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from typing import Annotated, Any, Literal

import msgspec
from starlette.responses import Response

from doors import BadCallError, Served, convert
from kit.trial_server import MESSAGES_PATH, Endpoint, TrialServer

# A batch is answered in steps, so that other requests are answered in between.
_LEAST_STEPS, _MOST_ROWS_AT_ONCE = 10, 20
_FAILED = BadCallError("The server had an error while processing this request.", status=500)
_EXPIRED = {"code": "batch_expired", "message": "This request could not be executed before the window expired."}


@dataclass(kw_only=True)
class _Row(Served):
    """One request of a batch, with its status and the body of its reply or error."""

    custom_id: str
    outcome: Literal["waiting", "succeeded", "errored", "expired"] = "waiting"
    status: int = 0  # HTTP's, where it succeeded or errored
    answer: Any = None


@dataclass(kw_only=True)
class _Batch:
    """One batch; times are seconds since 1970, None if not reached yet."""

    id: str
    rows: list[_Row]
    created: float = field(default_factory=time.time)
    ended: float | None = None
    details: dict[str, Any] = field(default_factory=dict)  # what the provider's API adds

    def count(self, *outcomes: str) -> int:
        return sum(row.outcome in outcomes for row in self.rows)


class _Batches:
    """The batches of one API."""

    def __init__(self, server: TrialServer, *, prefix: str, answer: Endpoint) -> None:
        self.server, self._prefix, self._answer = server, prefix, answer
        self.batches: dict[str, _Batch] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def as_object(self, batch: _Batch, served: Served) -> dict[str, Any]:
        raise NotImplementedError

    def end(self, batch: _Batch) -> None:
        batch.ended = time.time()

    def endpoints_at(self, path: str, create: Endpoint, after: str) -> dict[tuple[str, str], Endpoint]:
        def listed(served: Served) -> dict[str, Any]:
            query = served.request.query_params
            names = list(reversed(self.batches))
            start = names.index(query[after]) + 1 if after in query else 0
            page = names[start : start + int(query.get("limit", "20"))]
            data = [self.as_object(self.batches[name], served) for name in page]
            return {"object": "list", "data": data, "has_more": start + len(page) < len(names)}

        def one(served: Served) -> dict[str, Any]:
            return self.as_object(self.find(served), served)

        return {("POST", path): create, ("GET", path): listed, ("GET", f"{path}/{{id}}"): one}

    def find(self, served: Served) -> _Batch:
        name = served.request.path_params["id"]
        if name not in self.batches:
            raise BadCallError(f"No such batch: {name}", status=404)
        return self.batches[name]

    def start(self, rows: list[tuple[str, Any]], served: Served, **details: Any) -> dict[str, Any]:
        """Begin a batch of rows (custom id, body), if there are any, and return its JSON object."""
        batch = _Batch(id=f"{self._prefix}{len(self.batches) + 1:08x}", rows=[], details=details)
        for custom_id, body in rows:
            key = hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()
            row = _Row(request=served.request, content=b"", body=body, key=key, attempt=0, custom_id=custom_id)
            batch.rows.append(row)
        self.batches[batch.id] = batch
        if rows:
            task = asyncio.get_running_loop().create_task(self._work(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return self.as_object(batch, served)

    async def _work(self, batch: _Batch) -> None:
        n_rows = min(-(-len(batch.rows) // _LEAST_STEPS), _MOST_ROWS_AT_ONCE)
        for start in range(0, len(batch.rows), n_rows):
            begun = time.monotonic()
            # A test may shorten the delay meanwhile.
            while time.monotonic() - begun < self.server.settings.batch_delay_seconds * n_rows / len(batch.rows):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            await asyncio.sleep(0)
            for row in batch.rows[start : start + n_rows]:
                self._answer_row(row, batch.id)
        self.end(batch)

    def _answer_row(self, row: _Row, batch_id: str) -> None:
        server, settings = self.server, self.server.settings
        server.attempts[row.key] += 1
        row.attempt = server.attempts[row.key]
        if settings.draw("expire", row.key, row.attempt) < settings.expire_rate:
            row.outcome = logged = "expired"
        elif fault := settings.fault_met(row.key, row.attempt):
            self._fail(row, _FAILED)
            logged = fault
        else:
            try:
                row.answer, row.status = self._answer(row), 200
                row.outcome, logged = "succeeded", "paid"
            except BadCallError as error:
                self._fail(row, error)
                logged = "rejected"
        server.count(logged, row, batch_id)

    def _fail(self, row: _Row, error: BadCallError) -> None:
        row.outcome, row.status, row.answer = "errored", error.status, self.server.error_body(error, row)


def _refuse_repeated(rows: list[tuple[str, Any]]) -> None:
    for custom_id, n_rows in Counter(custom_id for custom_id, _ in rows).items():
        if n_rows > 1:
            raise BadCallError(f"custom_id '{custom_id}' stands more than once")


def _shuffled(batch: _Batch) -> list[_Row]:
    """Return the rows in an order that is not the client's: the providers promise none."""
    return random.Random(batch.id).sample(batch.rows, len(batch.rows))


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


class OpenAIBatches(_Batches):
    """Files and batches of OpenAI's API."""

    def __init__(self, server: TrialServer) -> None:
        super().__init__(server, prefix="batch_", answer=server.complete)
        self._files: dict[str, bytes] = {}
        endpoints: dict[tuple[str, str], Endpoint] = {
            ("POST", "/v1/files"): self._upload,
            ("GET", "/v1/files/{id}/content"): lambda served: Response(self._file(served.request.path_params["id"])),
            **self.endpoints_at("/v1/batches", self._create, "after"),
        }
        server.add(endpoints)

    def _file(self, file_id: str) -> bytes:
        if file_id not in self._files:
            raise BadCallError(f"No such File object: {file_id}", status=404)
        return self._files[file_id]

    def _keep(self, content: bytes) -> dict[str, Any]:
        file_id = f"file-{len(self._files) + 1:08x}"
        self._files[file_id] = content
        return {"id": file_id, "object": "file", "bytes": len(content), "purpose": "batch"}

    def _upload(self, served: Served) -> dict[str, Any]:
        """Keep a file that is uploaded by RFC 7578."""
        head = f"Content-Type: {served.request.headers.get('content-type', '')}\r\n\r\n".encode()
        form: Any = message_from_bytes(head + served.content)
        parts = form.get_payload() if form.is_multipart() else []
        fields = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}
        if "file" not in fields or fields.get("purpose") != b"batch":
            raise BadCallError("expected multipart/form-data with the fields file and purpose, which is batch")
        return self._keep(fields["file"])

    def _create(self, served: Served) -> dict[str, Any]:
        fields = convert(served.body, _FileBatch)
        content = self._file(fields.input_file_id)
        try:
            lines = [msgspec.json.decode(line, type=_RowLine) for line in content.splitlines() if line.strip()]
            rows = [(line.custom_id, line.body) for line in lines]
            _refuse_repeated(rows)
        except (msgspec.MsgspecError, BadCallError) as error:
            failure = {"code": "invalid_request", "message": str(error), "param": None, "line": None}
            return self.start([], served, failure=failure, metadata=fields.metadata)
        return self.start(rows, served, metadata=fields.metadata)

    def end(self, batch: _Batch) -> None:
        """Write the results into two files, of outputs and of errors; an empty one is not made."""
        for name, wanted in (("output_file_id", True), ("error_file_id", False)):
            lines = [
                msgspec.json.encode(
                    {
                        "id": f"batch_req_{row.key[:16]}",
                        "custom_id": row.custom_id,
                        "response": {"status_code": row.status, "body": row.answer} if row.status else None,
                        "error": None if row.status else _EXPIRED,
                    }
                )
                for row in _shuffled(batch)
                if (row.outcome == "succeeded") is wanted
            ]
            if lines:
                batch.details[name] = self._keep(b"\n".join([*lines, b""]))["id"]
        super().end(batch)

    def as_object(self, batch: _Batch, served: Served) -> dict[str, Any]:  # noqa: ARG002 - Anthropic's asks for it
        failure = batch.details.get("failure")
        status = "validating" if batch.count("waiting") == len(batch.rows) else "in_progress"
        if batch.ended is not None:
            status = "expired" if batch.count("expired") else "completed"
        return {
            "id": batch.id,
            "errors": {"object": "list", "data": [failure]} if failure else None,
            "status": "failed" if failure else status,
            "output_file_id": batch.details.get("output_file_id"),
            "error_file_id": batch.details.get("error_file_id"),
            "created_at": int(batch.created),
            "request_counts": {
                "total": len(batch.rows),
                "completed": batch.count("succeeded"),
                "failed": batch.count("errored", "expired"),
            },
            "metadata": batch.details["metadata"],
        }


class _MessageRow(msgspec.Struct):
    custom_id: Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    params: dict[str, Any]


class _MessageBatch(msgspec.Struct):
    requests: Annotated[list[_MessageRow], msgspec.Meta(min_length=1)]


class AnthropicBatches(_Batches):
    """Batches of Anthropic's API."""

    def __init__(self, server: TrialServer) -> None:
        super().__init__(server, prefix="msgbatch_", answer=server.write_message)
        path = f"{MESSAGES_PATH}/batches"
        results = ("GET", f"{path}/{{id}}/results")
        server.add({**self.endpoints_at(path, self._create, "after_id"), results: self._results})

    def _create(self, served: Served) -> dict[str, Any]:
        requests = convert(served.body, _MessageBatch).requests
        rows = [(request.custom_id, request.params) for request in requests]
        _refuse_repeated(rows)
        return self.start(rows, served)

    def _results(self, served: Served) -> Response:
        batch = self.find(served)
        if batch.ended is None:
            raise BadCallError(f"{batch.id}: no results yet; they are here once the batch has ended", status=404)
        lines = []
        for row in _shuffled(batch):
            answer = {"succeeded": {"message": row.answer}, "errored": {"error": row.answer}}.get(row.outcome, {})
            lines.append(msgspec.json.encode({"custom_id": row.custom_id, "result": {"type": row.outcome, **answer}}))
        return Response(b"\n".join([*lines, b""]), media_type="application/x-jsonl")

    def as_object(self, batch: _Batch, served: Served) -> dict[str, Any]:
        has_ended = batch.ended is not None
        # As at the provider, all rows are processing until the whole batch has ended.
        counts = {"processing": 0 if has_ended else len(batch.rows), "canceled": 0}
        for outcome in ("succeeded", "errored", "expired"):
            counts[outcome] = batch.count(outcome) if has_ended else 0
        address = f"{str(served.request.base_url).rstrip('/')}{MESSAGES_PATH}/batches/{batch.id}/results"
        return {
            "id": batch.id,
            "processing_status": "ended" if has_ended else "in_progress",
            "request_counts": counts,
            "created_at": datetime.fromtimestamp(batch.created, UTC).isoformat().replace("+00:00", "Z"),
            "results_url": address if has_ended else None,
        }
