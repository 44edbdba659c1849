"""What an endpoint is given and gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from evidencebench.integrations.fake_server.calls import BadCallError, Reply


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
