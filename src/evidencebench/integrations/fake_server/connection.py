"""Connections with time limits: uvicorn waits forever for the rest of a request, or for a client to read."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from evidencebench.integrations.fake_server.calls import BadCallError
from evidencebench.integrations.fake_server.openai_api import OPENAI
from evidencebench.integrations.fake_server.request_log import RequestLog


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What a client may ask of a connection."""

    max_head_bytes: int = 1 << 14  # request line and headers
    max_body_bytes: int = 256 << 20  # a provider's longest batch
    idle_seconds: float = 120.0  # the wait between two requests
    request_seconds: float = 60.0  # a request, first byte to last
    write_seconds: float = 60.0  # the wait until the client takes a reply, or a piece of one


class BoundedConnection(H11Protocol):
    """A client's connection; the app finds it in the scope's state, to cut it or to ask whether a reply was taken."""

    def __init__(self, config: uvicorn.Config, state: ServerState, limits: ConnectionLimits, log: RequestLog) -> None:
        super().__init__(config, state, {"connection": self})
        self._limits, self._log = limits, log
        self._seconds = {"idle": limits.idle_seconds, "request": limits.request_seconds, "write": limits.write_seconds}
        self._waits_for, self._is_broken = "", False
        self._deadline: asyncio.TimerHandle | None = None

    async def has_taken(self, cycle: RequestResponseCycle) -> bool:
        """Wait until all that was sent is handed to the system, and say whether the client was there until then."""
        await self.flow.drain()
        return not (cycle.disconnected or self._is_broken)

    def cut(self) -> None:
        """End the connection at once, whatever was promised."""
        self._is_broken = True
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Wait for a request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that drained means handed to the system to the last byte
        self._log.count_now("connections", 1)
        self._wait_for("idle")

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._is_broken |= exc is not None
        self._log.count_now("connections", -1)
        super().connection_lost(exc)
        self._wait_for("")

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; from its first byte on the rest has its time."""
        if self._waits_for == "idle":
            self._wait_for("request")
        super().data_received(data)
        if self._waits_for == "request" and self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._wait_for("")

    def on_response_complete(self) -> None:
        """Wait for the next request, the first bytes of which may be here already."""
        super().on_response_complete()
        if not self._waits_for and self.conn.their_state in {h11.IDLE, h11.SEND_BODY}:
            self._wait_for("request" if self.conn.trailing_data[0] else "idle")

    def pause_writing(self) -> None:
        """Give the client its time to read."""
        super().pause_writing()
        self._wait_for("write")

    def resume_writing(self) -> None:
        """Wait for the next request, where the response is complete."""
        super().resume_writing()
        self._wait_for("idle" if self.conn.their_state is h11.IDLE else "")

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - as uvicorn's
        """Say that it is no HTTP, and end."""
        longest = self._limits.max_head_bytes
        self._refuse(HTTPStatus.BAD_REQUEST, f"expected an HTTP/1.1 request whose head is at most {longest} bytes")

    def _wait_for(self, what: str) -> None:
        """End the connection unless something happens in its time; with no name wait for as long as it takes."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._waits_for = what
        self._deadline = self.loop.call_later(self._seconds[what], self._end) if what else None

    def _end(self) -> None:
        if self._waits_for == "request":
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the request was not here in whole in time")
        else:
            self.cut()

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        body = msgspec.json.encode(OPENAI.error_body(BadCallError(message, status=status), ""))
        head = f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        self.transport.write(head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.transport.close()
