"""The client of one request: send it a response, or a fault."""

import asyncio

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from evidencebench.integrations.fake_server.calls import BadCallError, ChatApi
from evidencebench.integrations.fake_server.connection import ClientConnection
from evidencebench.integrations.fake_server.settings import Fault, Settings

_JSON = "application/json"
_BROKEN = b'{"id":"chatcmpl-broken","choices":[{"index":0,"message":{"role":"assistant","content":"These sentences'
_MISSING = b' are it."}}]}'
_PAGE = b"<!doctype html>\n<html><head><title>Welcome</title></head><body>Please sign in.</body></html>\n"

_ERRORS = {
    Fault.RATE_LIMIT: BadCallError("Rate limit reached; please try again later.", status=429),
    Fault.SERVER_ERROR: BadCallError("The server had an error while processing your request.", status=500),
    Fault.UNAVAILABLE: BadCallError("The engine is currently overloaded; please try again later.", status=503),
    Fault.BAD_REQUEST: BadCallError("This model's maximum context length is shorter than your messages."),
    Fault.UNAUTHORIZED: BadCallError("Incorrect API key provided.", status=401),
}
_WRONG_REPLIES = {
    Fault.MALFORMED_JSON: Response(_BROKEN, media_type=_JSON),
    Fault.WRONG_CONTENT_TYPE: Response(_PAGE, media_type="text/html"),
    Fault.EMPTY_BODY: Response(b"", media_type=_JSON),
    # Its head promises more than is sent.
    Fault.TRUNCATED_BODY: Response(_BROKEN, headers={"content-length": str(len(_BROKEN + _MISSING))}, media_type=_JSON),
}


def json_response(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response that holds a JSON value."""
    return Response(msgspec.json.encode(value), status, headers, _JSON)


class Client:
    """The client that waits for the answer to one request; without a server there is no connection."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._connection: ClientConnection | None = scope.get("state", {}).get("connection")
        self._cycle = None if self._connection is None else self._connection.cycle

    async def stays(self, seconds: float) -> bool:
        """Wait, and say whether the client is still there; return at once when it leaves."""
        if not seconds:
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._left()
        except TimeoutError:
            return True
        return False

    async def send(self, response: Response) -> bool:
        """Send a response, and say whether all of it was taken; cut a connection that takes too long."""
        if self._connection is None or self._cycle is None:
            await response(self._scope, self._receive, self._send)
            return True
        try:
            async with asyncio.timeout(self._connection.limits.write_seconds):
                await response(self._scope, self._receive, self._send)
                return await self._connection.has_taken(self._cycle)
        except TimeoutError:
            self._connection.cut()
            return False

    async def meet(self, fault: Fault, api: ChatApi, settings: Settings, request_id: str) -> None:
        """Answer the client with a fault, such as a refusal or a cut connection."""
        if error := _ERRORS.get(fault):
            seconds, headers = settings.retry_after_seconds, {"x-request-id": request_id}
            if fault in {Fault.RATE_LIMIT, Fault.UNAVAILABLE}:
                headers |= {"retry-after": f"{int(seconds)}", "retry-after-ms": f"{round(seconds * 1000)}"}
            if fault is Fault.UNAVAILABLE:
                error = BadCallError(str(error), status=api.overloaded)
            await self.send(json_response(api.error_body(error, request_id), error.status, headers))
        elif response := _WRONG_REPLIES.get(fault):
            # Where more is promised, uvicorn closes the connection when this returns.
            await self._send({"type": "http.response.start", "status": 200, "headers": response.raw_headers})
            more_body = fault is Fault.TRUNCATED_BODY
            await self._send({"type": "http.response.body", "body": response.body, "more_body": more_body})
        else:
            await self.stays(settings.hang_seconds if fault is Fault.HANG else 0.0)
            if self._connection is None:
                raise ConnectionResetError("a fault that was drawn")
            self._connection.cut()
            await self._left()  # so that uvicorn does not ask where the response is

    async def _left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
