"""A connection within bounds of size and time: uvicorn waits forever for the rest of a request, and for who does not
read.
"""  # noqa: D205 - one sentence

import asyncio
from http import HTTPStatus
from typing import Any

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from evidencebench.integrations.fake_server.calls import BadCallError
from evidencebench.integrations.fake_server.openai_api import error_body
from evidencebench.integrations.fake_server.request_log import LogTotals
from evidencebench.integrations.fake_server.settings import ConnectionLimits


class BoundedConnection(H11Protocol):
    """A client's connection; the app finds it in the scope's state, to cut it or to ask whether a reply was taken."""

    def __init__(
        self, config: uvicorn.Config, state: ServerState, *, limits: ConnectionLimits, totals: LogTotals
    ) -> None:
        super().__init__(config, state, {"connection": self})
        self._limits, self._totals = limits, totals
        self._phase = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None
        self._is_broken = False

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
        self._totals.count_connection(1)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._is_broken |= exc is not None
        self._totals.count_connection(-1)
        for timer in (self._deadline, self._write_deadline):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        if self._phase == "idle":
            self._watch("request")
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request, which may be here already."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Give the client its time to read."""
        super().pause_writing()
        self._write_deadline = self.loop.call_later(self._limits.write_seconds, self.cut)

    def resume_writing(self) -> None:
        """Note that the client reads."""
        super().resume_writing()
        if self._write_deadline is not None:
            self._write_deadline.cancel()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - as uvicorn's
        """Say that it is no HTTP, and end."""
        self._refuse(
            HTTPStatus.BAD_REQUEST,
            f"expected an HTTP/1.1 request whose head is at most {self._limits.max_head_bytes} bytes",
        )

    def _watch(self, phase: str = "") -> None:
        """Give the phase that the connection is in now its time, from the phase's begin on."""
        if not phase:
            is_whole = self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}
            is_begun = self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]
            phase = "answer" if is_whole else "request" if is_begun else "idle"
        if phase == self._phase:
            return
        self._phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
        seconds = {"idle": self._limits.idle_seconds, "request": self._limits.request_seconds}.get(phase)
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._end)

    def _end(self) -> None:
        if self._phase == "request":
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the request was not here in whole in time")
        self.transport.close()

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.close()
            return
        body = msgspec.json.encode(error_body(BadCallError(message, status=status), ""))
        head = f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        self.transport.write(head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.transport.close()


def connection_in(scope: Any) -> BoundedConnection | None:
    """Return the connection that a request came on, or None where the app is called without a server."""
    found: BoundedConnection | None = scope.get("state", {}).get("connection")
    return found
