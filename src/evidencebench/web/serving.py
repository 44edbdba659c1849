"""Serve with uvicorn, and end the connections of slow clients.

Of itself uvicorn waits forever for the rest of a request, or for a client to read.
"""

import asyncio
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MAX_CONNECTIONS = 512
HEAD_SECONDS = 10.0
ANSWER_SECONDS = 120.0


class TimedConnection(H11Protocol):
    """A connection to a server of ours that ends slow clients; there may be at most ``max_connections``.

    It ends where a request's head, or its answer, is not complete in time, even if bytes trickle in.
    """

    head_seconds: float = HEAD_SECONDS
    answer_seconds: float | None = ANSWER_SECONDS  # None: an answer may take any time
    max_connections: int | None = MAX_CONNECTIONS  # each takes a file; None: any number

    _deadline: asyncio.TimerHandle | None = None
    _answered: RequestResponseCycle | None = None
    _is_late = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Wait for a request."""
        super().connection_made(transport)
        if self.max_connections is not None and len(self.connections) > self.max_connections:
            transport.abort()
        else:
            self._set_deadline(self.head_seconds)

    def data_received(self, data: bytes) -> None:
        """Begin an answer where a request's head is whole."""
        super().data_received(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        """Wait for the next request, which may be here already."""
        super().on_response_complete()
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP by status 400, and end the connection."""
        self.refuse("400 Bad Request", "text/plain", msg.encode())

    def refuse(self, status: str, content_type: str, body: bytes) -> None:
        """Answer before there is a request, and end the connection."""
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nX-Content-Type-Options: nosniff\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def end_late(self) -> None:
        """End a connection whose time is over."""
        self.transport.abort()

    def _update_deadline(self) -> None:
        """Start the next time limit where an answer has begun or ended."""
        answered = None if self.cycle is None or self.cycle.response_complete else self.cycle
        if answered is not self._answered:
            self._answered = answered
            self._set_deadline(self.head_seconds if answered is None else self.answer_seconds)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._end)

    def _end(self) -> None:
        """End the connection; an answer that is still being sent first gets its time limit once more."""
        if self.answer_seconds is not None and self.transport.get_write_buffer_size() and not self._is_late:
            self._is_late = True
            self._set_deadline(self.answer_seconds)
        else:
            self.end_late()


def config_for(app: ASGIApp, **options: Any) -> uvicorn.Config:
    """Return the configuration of uvicorn for an app, without its logs; ``options`` are uvicorn's."""
    return uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        **options,
    )
