"""Anthropic's batches: all requests in one body, one list of results. They take no name of ours."""

from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import IO, Any

import msgspec

from evidencebench.models.llm.batch_apis.calls import Calls
from evidencebench.models.llm.batch_apis.checks import (
    ListedBatch,
    Page,
    fetched,
    key_of,
    listed,
    read_rows,
    safe_id,
    submitted_id,
)
from evidencebench.models.llm.batch_apis.contract import BatchSearch, RemoteBatch, ResultRow, SearchResult
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.models.llm.refusals import is_withheld, refusal_text, withheld_reply
from evidencebench.models.llm.wire import body_of, reply_of
from evidencebench.web.transient import TransientError

_PATH = "/messages/batches"
_CLOCK_SKEW_SECONDS = 300
_MOST_RESULT_BYTES = 8 << 30
_BAD_REQUEST = 400
_BEFORE, _BETWEEN, _BEHIND = b'{"requests":[', b",", b"]}"


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
        """Return a member of the list of requests."""
        return msgspec.json.encode({"custom_id": key, "params": body_of(request)})

    def write(self, rows: Iterable[bytes], into: IO[bytes]) -> None:
        """Write the body that submits them."""
        into.write(_BEFORE)
        for number, row in enumerate(rows):
            into.writelines((_BETWEEN, row) if number else (row,))
        into.write(_BEHIND)

    async def prepare(self, calls: Calls, body: IO[bytes], intent: str) -> IO[bytes]:  # noqa: ARG002 - as the others
        """Return the body: there is nothing to do."""
        return body

    async def create(self, calls: Calls, prepared: bytes | IO[bytes]) -> str:
        """Submit in one attempt; see `BatchApi.create`."""
        return submitted_id(await calls.once("POST", _PATH, content=prepared))

    async def find(self, calls: Calls, sought: BatchSearch) -> SearchResult:
        """Look for a batch of the same age and size whose results are for our requests, which only its end tells."""
        perhaps: list[str] = []
        since = sought.since - _CLOCK_SKEW_SECONDS
        async for batch in listed(calls, _PATH, Page[_AnthropicBatch], since=since, after="after_id"):
            is_other = batch.created < since or batch.id in sought.known
            if is_other or batch.request_counts.total != sought.n_requests:
                continue
            if batch.processing_status != "ended":
                perhaps.append(safe_id(batch.id))
            elif await self._holds(calls, safe_id(batch.id), sought):
                return SearchResult(name=batch.id)
        return SearchResult(perhaps=tuple(perhaps))

    async def look(self, calls: Calls, name: str) -> RemoteBatch:
        """Return how a batch does."""
        batch = await fetched(calls, f"{_PATH}/{safe_id(name)}", _AnthropicBatch, "a batch")
        counts = batch.request_counts
        is_over = batch.processing_status == "ended"
        return RemoteBatch(
            name=name,
            state=calls.shown(batch.processing_status),
            is_over=is_over,
            n_done=counts.succeeded,
            n_failed=counts.errored,
            paths=(_results(name),) if is_over else (),
        )

    def rows(self, file: IO[bytes]) -> Iterator[ResultRow]:
        """Return what became of the requests."""
        return read_rows(file, _AnthropicLine, _row)

    async def _holds(self, calls: Calls, name: str, sought: BatchSearch) -> bool:
        """Say whether all results of a batch are for our requests; a part of the results is no answer."""

        async def attempt() -> bool:
            with TemporaryFile() as file:
                await calls.fetch(_results(name), file, most_bytes=_MOST_RESULT_BYTES)
                rows = list(self.rows(file))
            keys = {row.key for row in rows if row.key}
            n_rows = len(keys) + sum(not row.key for row in rows)
            if n_rows < sought.n_requests or any(row.is_cut for row in rows):
                raise TransientError(f"expected {sought.n_requests} results of batch {name}, got {n_rows}")
            return bool(keys) and all(map(sought.holds, keys))

        return await calls.tried(attempt)


def _results(name: str) -> str:
    """Return where results are. The ``results_url`` is not used: it could be an address that must not see the key."""
    return f"{_PATH}/{safe_id(name)}/results"


def _row(line: _AnthropicLine) -> ResultRow:
    key, result = key_of(line.custom_id), line.result
    if result.type in ("canceled", "expired"):
        return ResultRow(key=key)
    if result.type != "errored":
        try:
            return ResultRow(key=key, reply=reply_of("anthropic", result.message), is_done=True)
        except TransientError as error:
            if result.type == "succeeded":
                return ResultRow(key=key, failure=str(error), is_done=True)
    said = bytes(result.error)
    if is_withheld(_BAD_REQUEST, said):
        return ResultRow(key=key, reply=withheld_reply())
    return ResultRow(key=key, failure=refusal_text(said))
