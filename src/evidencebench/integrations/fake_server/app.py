"""The server as an ASGI app: each request gets a fault or the answer of its endpoint, and is logged."""

import asyncio
import hashlib
import itertools
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from evidencebench.construction.gold_studies import GoldStudy
from evidencebench.data.dataset import Dataset
from evidencebench.integrations.fake_server.anthropic_api import ANTHROPIC, VERSION_HEADER, stamp
from evidencebench.integrations.fake_server.anthropic_batches import AnthropicBatches
from evidencebench.integrations.fake_server.calls import (
    BadCallError,
    ChatApi,
    Endpoint,
    EndpointTable,
    ServedRequest,
    key_of,
)
from evidencebench.integrations.fake_server.client import TOO_LATE, Client, ConnectionLimits, json_response
from evidencebench.integrations.fake_server.construction_gold import GoldStudies
from evidencebench.integrations.fake_server.known_papers import KnownPapers
from evidencebench.integrations.fake_server.model import FakeModel
from evidencebench.integrations.fake_server.openai_api import OPENAI
from evidencebench.integrations.fake_server.openai_batches import OpenAIBatches
from evidencebench.integrations.fake_server.request_log import ANSWERED, PAID, REJECTED, UNPAID, LogEntry, RequestLog
from evidencebench.integrations.fake_server.settings import Fault, Personality, Settings

_JSON = "application/json"
_MODELS_SINCE = 1_735_689_600  # the first day of 2025


class FakeModelApp:
    """The app; a list ``entries`` gets the entries of the log too.

    Raises `UnreadableError` if the log cannot be written.
    """

    def __init__(
        self,
        dataset: Dataset,
        settings: Settings,
        *,
        limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.time,
        entries: list[LogEntry] | None = None,
        studies: Iterable[GoldStudy] = (),
    ) -> None:
        self.limits, self.log, self._settings = limits, RequestLog(settings.log, clock, entries), settings
        self._model = FakeModel(KnownPapers(dataset), settings, self.log, clock, GoldStudies(studies))
        self._batches = (OpenAIBatches(self._model), AnthropicBatches(self._model))
        self._serials = itertools.count(1)
        table: EndpointTable = {
            OPENAI.path: {"POST": self._chat},
            ANTHROPIC.path: {"POST": self._chat},
            "/v1/models": {"GET": _list_models},
            "/v1/models/{id}": {"GET": _one_model},
        }
        for batches in self._batches:
            table |= batches.endpoints
        self._endpoints = [(compile_path(path)[0], endpoints) for path, endpoints in table.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request, client = Request(scope, receive), Client(scope, receive, send)
        api = _api_of(request)
        if scope["path"] == "/log":
            await client.send(json_response(self.log.totals))
            return
        try:
            content = await self._content_of(request)
        except ClientDisconnect:
            return
        except BadCallError as error:
            told = api.error_body(error, "")
            await client.send(json_response(told, error.status, {"connection": "close"}))
            return
        line, body = f"{request.method} {scope['path']}", _decode(request, content)
        key = hashlib.sha256(f"{line}\n".encode() + content).hexdigest() if body is None else key_of(body)
        serial = f"{next(self._serials):08x}{key[:16]}"
        served = ServedRequest(request=request, api=api, content=content, body=body, key=key, serial=serial)
        attempt, outcome = self.log.attempt(key), UNPAID
        with self.log.in_flight():
            fault = self._settings.fault_met(key, attempt)
            if await client.stays(self._settings.latency_seconds):
                if fault is None or fault is Fault.LOST_REPLY:
                    outcome, response = self._respond(served)
                if fault is not None:
                    outcome, served.reply = str(fault), None
                    await client.meet(fault, api, self._settings, f"req_{serial}")
                elif not await client.send(response):
                    outcome = UNPAID
            self.log.write(outcome, key=key, request=line, attempt=attempt, reply=served.reply)

    async def close(self) -> None:
        """End all batches, and close the log."""
        for batches in self._batches:
            await batches.queue.close()
        self.log.close()

    async def _content_of(self, request: Request) -> bytes:
        if "transfer-encoding" in request.headers and "content-length" in request.headers:
            # A proxy and this server could disagree on where the body ends (RFC 9112, section 6.1).
            raise BadCallError("expected Content-Length or Transfer-Encoding, got both")
        content, most = bytearray(), self.limits.max_body_bytes
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for block in request.stream():
                    content += block
                    if len(content) > most:
                        raise BadCallError(f"the body is over {most} bytes", status=413)
        except TimeoutError as error:
            raise BadCallError(TOO_LATE, status=408) from error
        return bytes(content)

    def _respond(self, served: ServedRequest) -> tuple[str, Response]:
        """Return the outcome and the response, whose headers hold the request's id as both providers send it."""
        request_id = f"req_{served.serial}"
        try:
            found = self._endpoint_for(served)(served)
            response = found if isinstance(found, Response) else json_response(found)
            outcome = PAID if served.reply else ANSWERED
        except BadCallError as error:
            response, outcome = json_response(served.api.error_body(error, request_id), error.status), REJECTED
        response.headers.update({"x-request-id": request_id, "request-id": request_id})
        return outcome, response

    def _endpoint_for(self, served: ServedRequest) -> Endpoint:
        """Return the endpoint of a request, and set the id from its path."""
        request = served.request
        for path, endpoints in self._endpoints:
            if found := path.match(request.scope["path"]):
                if request.method not in endpoints:
                    raise BadCallError(f"expected {' or '.join(endpoints)} here", status=405)
                if served.api is ANTHROPIC and VERSION_HEADER not in request.headers:
                    raise BadCallError(f"{VERSION_HEADER}: header is required")
                served.id = found.groupdict().get("id", "")
                return endpoints[request.method]
        raise BadCallError("no such path here", status=404)

    def _chat(self, served: ServedRequest) -> Response | dict[str, Any]:
        api = served.api
        served.reply = reply = self._model.reply(api, served.body, key=served.key, serial=served.serial)
        if not reply.call.streams:
            return api.whole(reply)
        return StreamingResponse(api.events(reply), 200, {"cache-control": "no-cache"}, "text/event-stream")


def _api_of(request: Request) -> ChatApi:
    """Return the API that a request speaks, by its path or, where both have it, by its headers."""
    path = request.scope["path"]
    by_header = VERSION_HEADER in request.headers and path != OPENAI.path
    return ANTHROPIC if by_header or path.startswith(ANTHROPIC.path) else OPENAI


def _decode(request: Request, content: bytes) -> Any:
    """Return the JSON of a request, None where it has none."""
    if not content or request.headers.get("content-type", _JSON).partition(";")[0].strip() != _JSON:
        return None
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return None


def _list_models(served: ServedRequest) -> dict[str, Any]:
    """List the models: one a personality, though any other name is answered, too."""
    models = [_model_object(name, served.api) for name in Personality]
    if served.api is ANTHROPIC:
        return {"data": models, "has_more": False, "first_id": models[0]["id"], "last_id": models[-1]["id"]}
    return {"object": "list", "data": models}


def _one_model(served: ServedRequest) -> dict[str, Any]:
    if served.id not in set(Personality):
        raise BadCallError(f"The model '{served.id}' does not exist", param="model", status=404)
    return _model_object(served.id, served.api)


def _model_object(name: str, api: ChatApi) -> dict[str, Any]:
    if api is ANTHROPIC:
        since = stamp(_MODELS_SINCE)
        return {"type": "model", "id": name, "display_name": name, "created_at": since, "lifecycle": "active"}
    return {"id": name, "object": "model", "created": _MODELS_SINCE, "owned_by": "evidencebench"}
