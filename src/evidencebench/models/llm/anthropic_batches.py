"""Anthropic's batches: all requests in one body, all results in one list. They cannot carry a name of ours."""

from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import IO, Any

import msgspec

from evidencebench.models.llm.batch_apis import (
    BatchJob,
    BatchQueue,
    Calls,
    ListedBatch,
    Page,
    RemoteBatch,
    ResultRow,
    UnresolvedError,
    answered_row,
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
from evidencebench.web.retry import TransientError

_PATH = "/messages/batches"
_CLOCK_SKEW_SECONDS = 300
_MOST_RESULT_BYTES = 8 << 30
_BAD_REQUEST = 400


class _AnthropicCounts(msgspec.Struct, frozen=True):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0

    @property
    def total(self) -> int:
        return self.processing + self.succeeded + self.errored + self.canceled + self.expired


class _AnthropicBatch(ListedBatch, frozen=True, kw_only=True):
    processing_status: str
    request_counts: _AnthropicCounts = _AnthropicCounts()


class _Result(msgspec.Struct, frozen=True):
    type: Any = None
    message: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")


class _AnthropicLine(msgspec.Struct, frozen=True):
    custom_id: str
    result: _Result


class AnthropicBatchApi:
    """The batches of Anthropic."""

    most_requests = 100_000
    most_bytes = 250_000_000

    def row_of(self, key: str, request: ChatRequest) -> bytes:
        """Return a request as an entry of the list in the body."""
        return msgspec.json.encode({"custom_id": key, "params": body_of(request)})

    def prepare(
        self,
        calls: Calls,  # noqa: ARG002 - as the other
        rows: Iterable[bytes],
        body: IO[bytes],
        intent: str,  # noqa: ARG002
    ) -> IO[bytes]:
        """Write the body that `create` sends into a file; return the file."""
        body.writelines(_body_parts(rows))
        return body

    def create(self, calls: Calls, prepared: bytes | IO[bytes]) -> str:
        """Submit in one attempt; see `BatchApi.create`."""
        return submitted_id(calls.once("POST", _PATH, prepared))

    def find(self, calls: Calls, queue: BatchQueue, batch: BatchJob) -> str | None:
        """Return the id of a batch of the same age and size whose results are for our requests; it must have ended."""
        perhaps: list[str] = []
        since, known = batch.created - _CLOCK_SKEW_SECONDS, queue.known_names()
        for one in list_batches(calls, _PATH, Page[_AnthropicBatch], since=since, after="after_id"):
            is_other = one.created < since or one.id in known
            if is_other or one.request_counts.total != batch.n_requests:
                continue
            if one.processing_status != "ended":
                perhaps.append(safe_id(one.id))
            elif self._holds(calls, safe_id(one.id), queue, batch):
                return one.id
        if perhaps:
            raise UnresolvedError(f"its id may be {' or '.join(perhaps)}")
        return None

    def look(self, calls: Calls, name: str) -> RemoteBatch:
        """Return a batch's status and counts."""
        batch = fetch_as(calls, f"{_PATH}/{safe_id(name)}", _AnthropicBatch, "a batch")
        counts = batch.request_counts
        is_over = batch.processing_status == "ended"
        return RemoteBatch(
            state=calls.shown(batch.processing_status),
            is_over=is_over,
            n_done=counts.succeeded,
            n_failed=counts.errored,
            paths=(_results(name),) if is_over else (),
        )

    def rows(self, file: IO[bytes]) -> Iterator[ResultRow]:
        """Yield the results of the requests."""
        return read_rows(file, _AnthropicLine, _row)

    def _holds(self, calls: Calls, name: str, queue: BatchQueue, batch: BatchJob) -> bool:
        """Return whether all results of a batch are for our requests; retry while only a part of them comes."""

        def attempt() -> bool:
            with TemporaryFile() as file:
                calls.fetch(_results(name), file, most_bytes=_MOST_RESULT_BYTES)
                rows = list(self.rows(file))
            keys = {row.key for row in rows if row.key}
            n_rows = len(keys) + sum(not row.key for row in rows)
            if n_rows < batch.n_requests or any(row.is_cut for row in rows):
                raise TransientError(f"expected {batch.n_requests} results of batch {name}, got {n_rows}")
            return bool(keys) and all(queue.request(batch, key) is not None for key in keys)

        return calls.retry(attempt)


def _body_parts(rows: Iterable[bytes]) -> Iterator[bytes]:
    yield b'{"requests":['
    for number, row in enumerate(rows):
        yield b"," + row if number else row
    yield b"]}"


def _results(name: str) -> str:
    """Return the path of the results. ``results_url`` is not used: its server may be another, and would get the key."""
    return f"{_PATH}/{safe_id(name)}/results"


def _row(line: _AnthropicLine) -> ResultRow:
    key, result = key_of(line.custom_id), line.result
    if result.type in ("canceled", "expired"):
        return ResultRow(key=key)
    if result.type != "errored":
        row = answered_row(key, "anthropic", result.message)
        if row.reply is not None or result.type == "succeeded":
            return row
    said = bytes(result.error)
    if is_withheld(_BAD_REQUEST, said):
        return ResultRow(key=key, reply=withheld_reply())
    return ResultRow(key=key, failure=refusal_text(said))
