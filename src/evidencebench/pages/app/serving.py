"""Serve the app with uvicorn until a signal comes, and end the connections of slow clients.

Of itself uvicorn waits forever for the rest of a request, or for a client to read.
"""

import asyncio
import signal
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

BACKLOG = 512
MAX_CONNECTIONS = 512
HEAD_SECONDS = 10.0
ANSWER_SECONDS = 120.0
_LONGEST_ENDING_SECONDS = 2


class TimedConnection(H11Protocol):
    """A connection that ends by itself, and of which there are at most so many, since each takes a file.

    It ends where a request's head is not whole in ten seconds, even if bytes trickle in, or its answer in two minutes.
    """

    head_seconds = HEAD_SECONDS
    answer_seconds = ANSWER_SECONDS
    max_connections = MAX_CONNECTIONS

    _deadline: asyncio.TimerHandle | None = None
    _answered: RequestResponseCycle | None = None
    _is_late = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            transport.abort()
        else:
            self._wait(self.head_seconds)

    def data_received(self, data: bytes) -> None:
        """Begin an answer where a request's head is whole."""
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        """Wait for the next request, which may be here already."""
        super().on_response_complete()
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Say that it is no HTTP, and end."""
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nX-Content-Type-Options: nosniff\r\n"
            b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(msg), msg.encode())
        )
        self.transport.close()

    def _follow(self) -> None:
        """Begin to count anew where another request is answered than before, or none any more."""
        answered = None if self.cycle is None or self.cycle.response_complete else self.cycle
        if answered is not self._answered:
            self._answered = answered
            self._wait(self.head_seconds if answered is None else self.answer_seconds)

    def _wait(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self._end)

    def _end(self) -> None:
        """End the connection, but for an answer that is still on its way: it has as long as any other."""
        if self.transport.get_write_buffer_size() and not self._is_late:
            self._is_late = True
            self._wait(self.answer_seconds)
        else:
            self.transport.abort()


def server_of(app: ASGIApp, connection: type[TimedConnection] = TimedConnection) -> uvicorn.Server:
    """Return what serves an app, whose logs are ours alone; it ends once its ``should_exit`` is true."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=connection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=_LONGEST_ENDING_SECONDS,
    )
    return uvicorn.Server(config)


def serve_until_signal(app: ASGIApp, bound: socket.socket, on_start: Callable[[], None]) -> None:
    """Serve an app on a bound socket until SIGINT or SIGTERM comes; ``on_start`` is called once it can be asked."""
    server = server_of(app)

    def end() -> None:
        server.should_exit = True

    async def serve() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, end)
        bound.listen(BACKLOG)  # requests from here on wait in the socket until the server runs
        on_start()
        await server.serve(sockets=[bound])

    asyncio.run(serve())
