"""The client of a request and its connection: sends responses and faults, and says whether they arrived."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

import msgspec
import uvicorn
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import RequestResponseCycle
from uvicorn.server import ServerState

from evidencebench.integrations.fake_server.calls import BadCallError, ChatApi
from evidencebench.integrations.fake_server.openai_api import OPENAI
from evidencebench.integrations.fake_server.request_log import RequestLog
from evidencebench.integrations.fake_server.settings import Fault, Settings
from evidencebench.web.serving import TimedConnection

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
    # Its head announces more bytes than are sent.
    Fault.TRUNCATED_BODY: Response(_BROKEN, headers={"content-length": str(len(_BROKEN + _MISSING))}, media_type=_JSON),
}

TOO_LATE = "the request was not here in whole in time"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The limits of a connection."""

    max_head_bytes: int = 1 << 14  # request line and headers
    max_body_bytes: int = 256 << 20  # a provider's longest batch
    head_seconds: float = 120.0  # the wait for the head of the next request
    body_seconds: float = 60.0  # the wait for the rest of a request
    write_seconds: float = 60.0  # the wait until the client has taken a reply


class ClientConnection(TimedConnection):
    """A client's connection; the app finds it in the scope's state."""

    answer_seconds = None  # a reply may take long on purpose
    max_connections = None

    def __init__(self, config: uvicorn.Config, state: ServerState, limits: ConnectionLimits, log: RequestLog) -> None:
        super().__init__(config, state, {"connection": self})
        self.limits, self.head_seconds, self._log = limits, limits.head_seconds, log
        self._is_broken = False

    async def has_taken(self, cycle: RequestResponseCycle) -> bool:
        """Wait until the system has all bytes that were sent; say whether the client was there until then."""
        await self.flow.drain()
        return not (cycle.disconnected or self._is_broken)

    def cut(self) -> None:
        """End the connection at once, even if the response is incomplete."""
        self._is_broken = True
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Wait for a request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that `drain` waits until the system has the last byte
        self._log.count_now("connections", 1)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._is_broken |= exc is not None
        self._log.count_now("connections", -1)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - as uvicorn's
        """Answer bytes that are no HTTP by status 400, and end the connection."""
        longest = self.limits.max_head_bytes
        self._refuse(HTTPStatus.BAD_REQUEST, f"expected an HTTP/1.1 request whose head is at most {longest} bytes")

    def end_late(self) -> None:
        """End a late connection; by status 408 if the head of a request was begun."""
        if self.conn.trailing_data[0]:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, TOO_LATE)
        else:
            self.cut()

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        told = OPENAI.error_body(BadCallError(message, status=status), "")
        self.refuse(f"{status} {status.phrase}", "application/json", msgspec.json.encode(told))


def json_response(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response that holds a JSON value."""
    return Response(msgspec.json.encode(value), status, headers, _JSON)


class Client:
    """The client that waits for the answer to one request; in tests without a server it has no connection."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._connection: ClientConnection | None = scope.get("state", {}).get("connection")
        self._cycle = None if self._connection is None else self._connection.cycle

    async def stays(self, seconds: float) -> bool:
        """Wait some seconds, and say whether the client is still there; return at once when it leaves."""
        if not seconds:
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._wait_until_left()
        except TimeoutError:
            return True
        return False

    async def send(self, response: Response) -> bool:
        """Send a response, and say whether all of it arrived; cut a connection that takes too long."""
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
            # Where more bytes were announced, uvicorn closes the connection when this returns.
            await self._send({"type": "http.response.start", "status": 200, "headers": response.raw_headers})
            more_body = fault is Fault.TRUNCATED_BODY
            await self._send({"type": "http.response.body", "body": response.body, "more_body": more_body})
        else:
            await self.stays(settings.hang_seconds if fault is Fault.HANG else 0.0)
            if self._connection is None:
                raise ConnectionResetError("a fault that was drawn")
            self._connection.cut()
            await self._wait_until_left()  # so that uvicorn does not ask where the response is

    async def _wait_until_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
