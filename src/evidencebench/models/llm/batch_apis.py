"""The batch interfaces of OpenAI and Anthropic, and the HTTP calls to them; answers are checked before use."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any, Generic, TypeVar

import msgspec

from evidencebench.errors import EndpointError, FailingServerError
from evidencebench.models.llm.batch_queue import BatchJob, BatchQueue
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.providers import Key, Server, Wire
from evidencebench.models.llm.sender import failure_of, is_withheld, refusal_text, withheld_reply
from evidencebench.models.llm.wire import reply_in, request_body
from evidencebench.web.fetch import decode_served, optional_part
from evidencebench.web.http import OK, Http, Upload, ask_often, hide_key
from evidencebench.web.retry import Retry, TransientError

T = TypeVar("T")

_SERVER_ERROR = 500
_REQUEST_TIMEOUT = 408
_MOST_LINE_BYTES = 64 << 20
_KEYS = re.compile(rb'"custom_id"\s*:\s*"([0-9a-fA-F]{64})"')
_MOST_PAGES = 100


class RefusedBatchError(EndpointError):
    """The server refuses a batch for its content."""


class UnsureError(TransientError):
    """A call without an answer, which the server may have carried out: a further attempt could do it twice."""


class UnresolvedError(FailingServerError):
    """A batch may or may not have been submitted; it stays in the queue and is searched for later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    max_attempts: int = 6  # for each call, the first included
    timeout_seconds: float = 120.0  # without a byte sent or received
    total_timeout_seconds: float = 3600.0  # for one attempt
    settle_seconds: float = 60.0  # until a new batch is in the provider's list
    max_misses: int = 30  # how many looks at an open batch may fail in a row
    sleep: Callable[[float], object] = time.sleep


class Calls:
    def __init__(self, server: Server, key: Key, settings: CallSettings) -> None:
        self.key = key
        self.settings = settings
        self._server = server
        self.where: str = server.base_url.partition("?")[0]
        self._http = Http(server.base_url)
        self._retry = Retry(max_attempts=settings.max_attempts, counts_busy=True, sleep=settings.sleep)

    def retry(self, attempt: Callable[[], T]) -> T:
        return ask_often(self._retry, lambda _: attempt(), self.where)

    def fetch(self, path: str, into: IO[bytes], *, most_bytes: int) -> None:
        def attempt() -> None:
            into.seek(0)
            into.truncate()
            self.once("GET", path, into=into, most_bytes=most_bytes)

        self.retry(attempt)
        into.seek(0)

    def fetch_as(self, path: str, form: type[T], what: str, **queries: str) -> T:
        return self.retry(lambda: _decode_as(self.once("GET", path, queries=queries or None), form, what))

    def once(
        self,
        method: str,
        path: str,
        content: bytes | IO[bytes] | None = None,
        *,
        into: IO[bytes] | None = None,
        most_bytes: int = 64 << 20,
        **more: Any,
    ) -> bytes:
        """Raise `UnsureError` if the server may have carried the call out, another `TransientError` if it did not."""
        answer = self._http.request(
            method,
            self._server.address(path),
            headers={"Accept": "*/*"} | self._server.provider.headers(self.key.value),
            body=content,
            receive=lambda answer: None if into is None or answer.status not in OK else into.write,
            seconds=self.settings.total_timeout_seconds,
            idle_seconds=self.settings.timeout_seconds,
            most_bytes=most_bytes,
            key=self.key.value,
            unanswered=UnsureError,
            **more,
        )
        if answer.status in OK:
            return answer.content
        error = failure_of(answer, where=f"{self.where}{path}", key=self.key.value)
        is_unsure = answer.status >= _SERVER_ERROR or answer.status == _REQUEST_TIMEOUT
        if isinstance(error, TransientError) and is_unsure:
            raise UnsureError(str(error), error.wait_seconds)
        raise RefusedBatchError(str(error)) if isinstance(error, EndpointError) else error

    def shown(self, text: str) -> str:
        return hide_key(text, self.key.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBatch:
    state: str  # in the provider's words
    is_over: bool  # whether nothing will change any more
    n_done: int
    n_failed: int
    paths: tuple[str, ...] = ()  # paths of the results, to be put behind the base URL
    fault: str = ""  # why the whole batch was refused
    row_faults: Mapping[int, str] = field(default_factory=dict)  # row number, from 1 -> why that row was refused


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    key: str  # the request's key, as the server says; empty if it cannot be read
    reply: ChatReply | None = None
    failure: str = ""  # why there is no reply; empty if the batch ended before the request's turn
    is_done: bool = False  # whether the provider says that the request was answered, even if the reply is unreadable
    is_damaged: bool = False  # whether the row cannot be read
    is_cut: bool = False  # whether the file ends within the row, so that more rows may be missing


class _HasId(msgspec.Struct, frozen=True):
    id: str


class _ListedBatch(_HasId, frozen=True, kw_only=True):
    created_at: Any = None

    @property
    def created(self) -> float:
        """Seconds since 1970; infinity if the provider names no time, so that no batch is skipped for its age."""
        if isinstance(self.created_at, int | float):
            return self.created_at
        try:
            return datetime.fromisoformat(self.created_at).timestamp()
        except (ValueError, OverflowError, TypeError):
            return float("inf")


_BatchT = TypeVar("_BatchT", bound=_ListedBatch)


class _Page(msgspec.Struct, Generic[T], frozen=True):
    data: list[T]
    has_more: bool = False


def _list_batches(
    calls: Calls, path: str, form: type[_Page[_BatchT]], *, since: float, after: str
) -> Iterator[_BatchT]:
    """`since`: the last page is the one that reaches back to it. `after`: the parameter for where a page begins."""
    behind: dict[str, str] = {}
    for _ in range(_MOST_PAGES):
        page = calls.fetch_as(path, form, "a list of batches", limit="100", **behind)
        yield from page.data
        if not page.data or not page.has_more or page.data[-1].created < since:
            return
        behind = {after: _safe_id(page.data[-1].id)}


def _decode_as(content: bytes, form: type[T], what: str) -> T:
    try:
        return decode_served(content, form)
    except msgspec.DecodeError as error:
        raise TransientError(f"expected {what} as JSON: {error}") from error


def _safe_id(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,200}", name) or set(name) == {"."}:
        raise EndpointError("expected an id of letters, digits, '-', '_' and '.', got something else from the server")
    return name


def read_rows(api: "BatchApi", file: IO[bytes]) -> Iterator[ResultRow]:
    """Yield a row for each line that is not empty; an unreadable line is a damaged row, with its key if possible."""
    while line := file.readline(_MOST_LINE_BYTES):
        if len(line) == _MOST_LINE_BYTES:
            raise TransientError(f"expected lines of at most {_MOST_LINE_BYTES} bytes")
        if line.strip():
            fields = optional_part(line, dict[str, Any]) or {}
            custom_id = fields.get("custom_id")
            row = api.result_row(_key_of(custom_id), fields) if isinstance(custom_id, str) else None
            if row is None:
                keys = set(_KEYS.findall(line))
                key = _key_of(keys.pop().decode()) if len(keys) == 1 else ""
                row = ResultRow(key=key, is_damaged=True, is_cut=not line.endswith(b"\n"))
            yield row


def _answered_row(key: str, wire: Wire, body: Any) -> ResultRow:
    try:
        return ResultRow(key=key, reply=reply_in(wire, body), is_done=True)
    except TransientError as error:
        return ResultRow(key=key, failure=str(error), is_done=True)


def _key_of(custom_id: str) -> str:
    """Return the request's key in a row's id: a server may have changed its case."""
    return custom_id.strip().lower()


_ENDPOINT = "/v1/chat/completions"
_INTENT = "evidencebench"


class _Fault(msgspec.Struct, frozen=True):
    code: str | None = None
    message: str | None = None
    line: int | None = None  # the number of the row, from 1


class _Faults(msgspec.Struct, frozen=True):
    data: list[_Fault] | None = None


class _OpenaiBatch(_ListedBatch, frozen=True, kw_only=True):
    status: str
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: msgspec.Raw = msgspec.Raw(b"null")
    request_counts: dict[str, int | None] | None = None
    metadata: Any = None


class OpenaiBatchApi:
    path = "/batches"
    most_requests = 50_000
    most_bytes = 200_000_000

    def row_of(self, request: ChatRequest) -> bytes:
        row = {"custom_id": request.key, "method": "POST", "url": _ENDPOINT, "body": request_body(request)}
        return msgspec.json.encode(row) + b"\n"

    def prepare(self, calls: Calls, rows: Iterable[bytes], body: IO[bytes], intent: str) -> bytes:
        """Write the rows into a file and upload it, which costs nothing; return the body that submits the batch."""
        body.writelines(rows)
        form = Upload({"purpose": "batch"}, "evidencebench.jsonl", "application/jsonl", body)

        def upload() -> str:
            content = calls.once("POST", "/files", upload=form)
            return _safe_id(_decode_as(content, _HasId, "an uploaded file").id)

        window = {"input_file_id": calls.retry(upload), "endpoint": _ENDPOINT, "completion_window": "24h"}
        return msgspec.json.encode({**window, "metadata": {_INTENT: intent}})

    def find(self, calls: Calls, _queue: BatchQueue, batch: BatchJob) -> str | None:
        since = batch.created - 3600  # the provider's clock may differ
        for listed in _list_batches(calls, self.path, _Page[_OpenaiBatch], since=since, after="after"):
            if isinstance(listed.metadata, dict) and listed.metadata.get(_INTENT) == batch.intent:
                return _safe_id(listed.id)
        return None

    def result_row(self, key: str, line: dict[str, Any]) -> ResultRow | None:
        error, response = line.get("error"), line.get("response")
        if not isinstance(response, dict | None):
            return None
        code: Any = None if response is None else response.get("status_code")
        if response is not None and not (isinstance(code, int) and code in range(300, 600)):
            return _answered_row(key, "openai", response.get("body"))
        if error is not None or response is None:
            said = "expected a response or an error, got neither" if error is None else str(error)
            cause = error if isinstance(error, dict) else {"message": said}
            is_unfinished = cause.get("code") in ("batch_expired", "batch_cancelled")
            reason = str(cause.get("message") or cause.get("code") or "failed without a reason")
            return ResultRow(key=key, failure="" if is_unfinished else reason)
        body = msgspec.json.encode(response.get("body"))
        if is_withheld(code, body):
            return ResultRow(key=key, reply=withheld_reply())
        return ResultRow(key=key, failure=f"status {code}: {refusal_text(body)}")

    def look(self, calls: Calls, name: str) -> RemoteBatch:
        batch = calls.fetch_as(f"{self.path}/{_safe_id(name)}", _OpenaiBatch, "a batch")
        counts = batch.request_counts or {}
        files = [file for file in (batch.output_file_id, batch.error_file_id) if file]
        faults: list[_Fault] = []
        if batch.status == "failed":
            stated = optional_part(batch.errors, _Faults)
            faults = (stated and stated.data) or [_Fault()]
        # A fault is of its row alone, unless it is the model's, which all rows share.
        rows = [None if "model" in (fault.code or "") else fault.line for fault in faults]
        texts = [calls.shown(fault.message or fault.code or "no reason is given") for fault in faults]
        return RemoteBatch(
            state=calls.shown(batch.status),
            is_over=batch.status in {"completed", "failed", "expired", "cancelled"},
            n_done=counts.get("completed") or 0,
            n_failed=counts.get("failed") or 0,
            paths=tuple(f"/files/{_safe_id(file)}/content" for file in files),
            fault=next((text for row, text in zip(rows, texts, strict=True) if row is None), ""),
            row_faults={row: text for row, text in zip(rows, texts, strict=True) if row is not None},
        )


_OUTCOMES = ("processing", "succeeded", "errored", "canceled", "expired")


class _AnthropicBatch(_ListedBatch, frozen=True, kw_only=True):
    processing_status: str
    request_counts: dict[str, int] = {}


class AnthropicBatchApi:
    """Anthropic's batches: all requests in one body, all results in one list. They cannot carry a name of ours."""

    path = "/messages/batches"
    most_requests = 100_000
    most_bytes = 250_000_000

    def row_of(self, request: ChatRequest) -> bytes:
        return msgspec.json.encode({"custom_id": request.key, "params": request_body(request)})

    def prepare(self, _calls: Calls, rows: Iterable[bytes], body: IO[bytes], _intent: str) -> IO[bytes]:
        body.write(b'{"requests":[')
        for number, row in enumerate(rows):
            body.write(b"," + row if number else row)
        body.write(b"]}")
        return body

    def find(self, calls: Calls, queue: BatchQueue, batch: BatchJob) -> str | None:
        """Raise `UnresolvedError` while a batch of the same age and size has not ended; then its results tell."""
        candidates: list[str] = []
        since, known = batch.created - 300, queue.known_names()  # the provider's clock may differ
        for listed in _list_batches(calls, self.path, _Page[_AnthropicBatch], since=since, after="after_id"):
            total = sum(listed.request_counts.get(name, 0) for name in _OUTCOMES)
            if listed.created < since or listed.id in known or total != batch.n_requests:
                continue
            if listed.processing_status != "ended":
                candidates.append(_safe_id(listed.id))
            elif calls.retry(partial(self._holds, calls, _safe_id(listed.id), queue, batch)):
                return listed.id
        if candidates:
            raise UnresolvedError(f"its id may be {' or '.join(candidates)}")
        return None

    def result_row(self, key: str, line: dict[str, Any]) -> ResultRow | None:
        if not isinstance(result := line.get("result"), dict):
            return None
        kind = result.get("type")
        if kind in ("canceled", "expired"):
            return ResultRow(key=key)
        if kind != "errored":
            row = _answered_row(key, "anthropic", result.get("message"))
            if row.reply is not None or kind == "succeeded":
                return row
        content = msgspec.json.encode(result.get("error"))
        if is_withheld(400, content):
            return ResultRow(key=key, reply=withheld_reply())
        return ResultRow(key=key, failure=refusal_text(content))

    def look(self, calls: Calls, name: str) -> RemoteBatch:
        batch = calls.fetch_as(f"{self.path}/{_safe_id(name)}", _AnthropicBatch, "a batch")
        is_over = batch.processing_status == "ended"
        return RemoteBatch(
            state=calls.shown(batch.processing_status),
            is_over=is_over,
            n_done=batch.request_counts.get("succeeded", 0),
            n_failed=batch.request_counts.get("errored", 0),
            paths=(self._results(name),) if is_over else (),
        )

    def _results(self, name: str) -> str:
        """Return the path of the results; the server of ``results_url`` may be another one, and would get the key."""
        return f"{self.path}/{_safe_id(name)}/results"

    def _holds(self, calls: Calls, name: str, queue: BatchQueue, batch: BatchJob) -> bool:
        """Whether all results of a batch are for our requests; raise `TransientError` while only a part comes."""
        with TemporaryFile() as file:
            calls.fetch(self._results(name), file, most_bytes=8 << 30)
            rows = list(read_rows(self, file))
        keys = {row.key for row in rows if row.key}
        n_rows = len(keys) + sum(not row.key for row in rows)
        if n_rows < batch.n_requests or any(row.is_cut for row in rows):
            raise TransientError(f"expected {batch.n_requests} results of batch {name}, got {n_rows}")
        return bool(keys) and all(queue.request(batch, key) is not None for key in keys)


BatchApi = OpenaiBatchApi | AnthropicBatchApi
APIS: Mapping[Wire, BatchApi] = {"openai": OpenaiBatchApi(), "anthropic": AnthropicBatchApi()}


def submit(api: BatchApi, calls: Calls, body: bytes | IO[bytes]) -> str:
    content = calls.once("POST", api.path, body)
    try:
        return _safe_id(_decode_as(content, _HasId, "a batch").id)
    except (TransientError, EndpointError) as error:
        raise UnsureError(str(error)) from error
