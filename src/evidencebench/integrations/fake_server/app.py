"""The server as an ASGI app: each request meets a fault or its endpoint, and is written into the log."""

import hashlib
import itertools
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from evidencebench.data.dataset import Dataset
from evidencebench.integrations.fake_server import anthropic_api, openai_api
from evidencebench.integrations.fake_server.anthropic_api import MESSAGES, VERSION_HEADER
from evidencebench.integrations.fake_server.anthropic_batches import AnthropicBatches, stamp
from evidencebench.integrations.fake_server.calls import BadCallError, ChatApi, Reply, key_of
from evidencebench.integrations.fake_server.client import Client
from evidencebench.integrations.fake_server.connection import ConnectionLimits
from evidencebench.integrations.fake_server.endpoints import (
    Endpoint,
    EndpointTable,
    Incoming,
    Outgoing,
    answered,
    json_response,
)
from evidencebench.integrations.fake_server.known_papers import KnownPapers
from evidencebench.integrations.fake_server.model import FakeModel
from evidencebench.integrations.fake_server.openai_api import CHAT
from evidencebench.integrations.fake_server.openai_batches import OpenAIBatches
from evidencebench.integrations.fake_server.request_log import ANSWERED, PAID, REJECTED, UNPAID, LogEntry, RequestLog
from evidencebench.integrations.fake_server.settings import Fault, Personality, Settings

_JSON = "application/json"
_MODELS_SINCE = 1_735_689_600  # the first day of 2025


class FakeModelApp:
    """The app; where `entries` is a list, it gets what the log gets.

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
    ) -> None:
        self.limits, self.log, self._settings = limits, RequestLog(settings.log, clock, entries), settings
        self._model = FakeModel(KnownPapers(dataset), settings, self.log, clock)
        self._batches = (OpenAIBatches(self._model), AnthropicBatches(self._model))
        self._serials = itertools.count(1)
        table: EndpointTable = {
            CHAT: {"POST": lambda incoming: self._reply(openai_api, incoming)},
            MESSAGES: {"POST": lambda incoming: self._reply(anthropic_api, incoming)},
            "/v1/models": {"GET": _list_models},
            "/v1/models/{id}": {"GET": _one_model},
        }
        for batches in self._batches:
            table |= batches.endpoints
        routes = [Route(path, _Routed(self, endpoints)) for path, endpoints in table.items()]
        self._router = Router([Route("/log", self._told), *routes], redirect_slashes=False, default=_Routed(self, {}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._router(scope, receive, send)

    async def close(self) -> None:
        """End all batches, and close the log."""
        for batches in self._batches:
            await batches.queue.close()
        self.log.close()

    async def exchange(self, endpoints: dict[str, Endpoint], request: Request, client: Client) -> None:
        """Answer a request to a path, whose endpoints are given by method."""
        line, api = f"{request.method} {request.scope['path']}", _api_of(request)
        try:
            content = await self._content_of(request)
        except ClientDisconnect:
            return
        except BadCallError as error:
            told = api.error_body(error, "")
            await client.send(json_response(told, error.status, {"connection": "close"}))
            return
        body = _decoded(request, content)
        key = hashlib.sha256(f"{line}\n".encode() + content).hexdigest() if body is None else key_of(body)
        serial = f"{next(self._serials):08x}{key[:16]}"
        incoming = Incoming(request=request, content=content, body=body, key=key, serial=serial)
        attempt, outcome, reply = self.log.attempt(key), UNPAID, None
        with self.log.in_flight():
            fault = self._settings.fault_met(key, attempt)
            if await client.stays(self._settings.latency_seconds):
                if fault is None or fault is Fault.LOST_REPLY:
                    outcome, response, reply = _handled(incoming, endpoints, api)
                if fault is not None:
                    outcome, reply = str(fault), None
                    await client.meet(fault, api, self._settings, f"req_{serial}")
                elif not await client.send(response):
                    outcome = UNPAID
            self.log.write(outcome, key=key, request=line, attempt=attempt, reply=reply)

    async def _content_of(self, request: Request) -> bytes:
        if "transfer-encoding" in request.headers and "content-length" in request.headers:
            # Two readers on its way could see two other ends of it (RFC 9112, section 6.1).
            raise BadCallError("expected Content-Length or Transfer-Encoding, got both")
        content, most = bytearray(), self.limits.max_body_bytes
        async for block in request.stream():
            content += block
            if len(content) > most:
                raise BadCallError(f"the body is over {most} bytes", status=413)
        return bytes(content)

    def _reply(self, api: ChatApi, incoming: Incoming) -> Outgoing:
        reply = self._model.reply(api, incoming.fields, key=incoming.key, serial=incoming.serial)
        if not reply.call.streams:
            return json_response(api.whole(reply)), reply

        async def pieces() -> AsyncIterator[bytes]:
            for event in api.events(reply):
                yield event

        return StreamingResponse(pieces(), 200, {"cache-control": "no-cache"}, "text/event-stream"), reply

    async def _told(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature
        return json_response(self.log.totals)


@dataclass(frozen=True, slots=True)
class _Routed:
    """What Starlette calls for a path."""

    app: FakeModelApp
    endpoints: dict[str, Endpoint]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app.exchange(self.endpoints, Request(scope, receive), Client(scope, receive, send))


def _handled(incoming: Incoming, endpoints: dict[str, Endpoint], api: ChatApi) -> tuple[str, Response, Reply | None]:
    """Return the outcome and the response of a request; the response has its id in the headers of both providers."""
    request_id, reply = f"req_{incoming.serial}", None
    try:
        response, reply = _endpoint_for(incoming.request, endpoints, api)(incoming)
        outcome = PAID if reply else ANSWERED
    except BadCallError as error:
        response, outcome = json_response(api.error_body(error, request_id), error.status), REJECTED
    for name in ("x-request-id", "request-id"):
        response.headers[name] = request_id
    return outcome, response, reply


def _endpoint_for(request: Request, endpoints: dict[str, Endpoint], api: ChatApi) -> Endpoint:
    if not endpoints:
        raise BadCallError("no such path here", status=404)
    if request.method not in endpoints:
        raise BadCallError(f"expected {' or '.join(endpoints)} here", status=405)
    if api is anthropic_api and VERSION_HEADER not in request.headers:
        raise BadCallError(f"{VERSION_HEADER}: header is required")
    return endpoints[request.method]


def _api_of(request: Request) -> ChatApi:
    """Return the API that a request speaks, by its path or, where both have it, by its headers."""
    is_anthropic = request.scope["path"].startswith(MESSAGES) or VERSION_HEADER in request.headers
    return anthropic_api if is_anthropic else openai_api


def _decoded(request: Request, content: bytes) -> Any:
    """Return the JSON of a request, None where it has none."""
    if not content or request.headers.get("content-type", _JSON).partition(";")[0].strip() != _JSON:
        return None
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return None


def _list_models(incoming: Incoming) -> Outgoing:
    """List the models: one a personality, though any other name is answered, too."""
    models = [_model_object(name, incoming) for name in Personality]
    if VERSION_HEADER in incoming.request.headers:
        return answered({"data": models, "has_more": False, "first_id": models[0]["id"], "last_id": models[-1]["id"]})
    return answered({"object": "list", "data": models})


def _one_model(incoming: Incoming) -> Outgoing:
    if incoming.id not in set(Personality):
        raise BadCallError(f"The model '{incoming.id}' does not exist", param="model", status=404)
    return answered(_model_object(incoming.id, incoming))


def _model_object(name: str, incoming: Incoming) -> dict[str, Any]:
    if VERSION_HEADER in incoming.request.headers:
        since = stamp(_MODELS_SINCE)
        return {"type": "model", "id": name, "display_name": name, "created_at": since, "lifecycle": "active"}
    return {"id": name, "object": "model", "created": _MODELS_SINCE, "owned_by": "evidencebench"}
