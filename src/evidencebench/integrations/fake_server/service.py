"""What all endpoints work with: the model with its log, a request as it came, and what it gets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from evidencebench.integrations.fake_server.calls import BadCallError, ChatApi, Reply, within_limit
from evidencebench.integrations.fake_server.model import FakeModel
from evidencebench.integrations.fake_server.request_log import RequestLog
from evidencebench.integrations.fake_server.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The model behind all endpoints, in any provider's API."""

    settings: Settings
    model: FakeModel
    log: RequestLog
    clock: Callable[[], float]  # seconds since 1970

    def reply(self, api: ChatApi, body: Any, *, key: str, serial: str, may_stream: bool = True) -> Reply:
        """Return the reply to a decoded body, or raise `BadCallError`; the key names the body, the serial the reply."""
        call = api.read_call(body)
        if call.streams and not may_stream:
            raise BadCallError("stream: expected false in a batch", param="stream")
        reply = within_limit(self.model.reply(call, key))
        self.log.totals["unknown_papers"] += not reply.knows_paper
        return replace(reply, serial=serial, created=int(self.clock()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as an endpoint gets it."""

    request: Request
    content: bytes
    body: Any  # the decoded content, None where it is no JSON
    key: str  # names the content in the log
    serial: str  # names the reply

    @property
    def fields(self) -> dict[str, Any]:
        """The members of its JSON object, or `BadCallError`."""
        if not isinstance(self.body, dict):
            raise BadCallError("expected a JSON object as the body")
        return self.body

    @property
    def id(self) -> str:
        """The id in its path."""
        found: str = self.request.path_params["id"]
        return found


Outgoing = tuple[Response, Reply | None]
"""What an endpoint gives back: the response, and the reply that is paid for."""

Endpoint = Callable[[Incoming], Outgoing]
EndpointTable = dict[str, dict[str, Endpoint]]
"""Path -> method -> endpoint; ``{id}`` in a path stands for an id."""


def json_response(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response that holds a JSON value."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")


def answered(value: object) -> Outgoing:
    """Return the answer to a request that costs nothing: a JSON value."""
    return json_response(value), None
