"""The connections of clients, which the app may cut, and asks whether a reply was taken."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import RequestResponseCycle
from uvicorn.server import ServerState

from evidencebench.integrations.fake_server.calls import BadCallError
from evidencebench.integrations.fake_server.openai_api import OPENAI
from evidencebench.integrations.fake_server.request_log import RequestLog
from evidencebench.web.serving import TimedConnection

TOO_LATE = "the request was not here in whole in time"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What a client may ask of a connection."""

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

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._is_broken |= exc is not None
        self._log.count_now("connections", -1)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - as uvicorn's
        """Say that it is no HTTP, and end."""
        longest = self.limits.max_head_bytes
        self._refuse(HTTPStatus.BAD_REQUEST, f"expected an HTTP/1.1 request whose head is at most {longest} bytes")

    def end_late(self) -> None:
        """Say that a head was begun and not ended in time; where none was begun, say nothing."""
        if self.conn.trailing_data[0]:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, TOO_LATE)
        else:
            self.cut()

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        told = OPENAI.error_body(BadCallError(message, status=status), "")
        self.refuse(f"{status} {status.phrase}", "application/json", msgspec.json.encode(told))
