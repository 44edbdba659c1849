"""Serve with uvicorn, which waits forever for slow clients of itself, and end their connections."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MAX_CONNECTIONS = 512
HEAD_SECONDS = 10.0
ANSWER_SECONDS = 120.0
_BACKLOG = 1024  # connections that wait to be taken


class TimedConnection(H11Protocol):
    """A connection that ends where a request's head, or its answer, is not whole in time, even if bytes trickle in."""

    head_seconds: float = HEAD_SECONDS
    answer_seconds: float | None = ANSWER_SECONDS  # None: an answer may take any time
    max_connections: int | None = MAX_CONNECTIONS  # each takes a file; None: any number

    _deadline: asyncio.TimerHandle | None = None
    _answered: RequestResponseCycle | None = None
    _is_late = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        if self.max_connections is not None and len(self.connections) > self.max_connections:
            transport.abort()
        else:
            self._set_deadline(self.head_seconds)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self.refuse("400 Bad Request", "text/plain", msg.encode())

    def refuse(self, status: str, content_type: str, body: bytes) -> None:
        """Answer before there is a request, and end the connection."""
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nX-Content-Type-Options: nosniff\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

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
            self.transport.abort()


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address or name of this machine; port 0: any free port. Raises `OSError`."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


class _Server(uvicorn.Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):  # made when uvicorn had told all others to end
            connection.transport.abort()


def server_of(app: ASGIApp, connection: type[TimedConnection] = TimedConnection) -> uvicorn.Server:
    """Return a server for an app; it ends once its ``should_exit`` is true. uvicorn's own logs are off."""
    return _Server(
        uvicorn.Config(
            app,
            loop="asyncio",
            http=connection,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=2,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
    )


def serve_until_signal(
    app: ASGIApp,
    bound: socket.socket,
    on_start: Callable[[], None],
    connection: type[TimedConnection] = TimedConnection,
) -> None:
    """Serve an app on a bound socket until SIGINT or SIGTERM; ``on_start`` is called once requests can be sent."""
    server = server_of(app, connection)

    def end() -> None:
        server.should_exit = True

    async def serve() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, end)
        bound.listen(_BACKLOG)  # from here on, requests wait in the socket until the server runs
        on_start()
        await server.serve(sockets=[bound])

    asyncio.run(serve())


@contextmanager
def served_in_thread(
    app: ASGIApp, bound: socket.socket, connection: type[TimedConnection] = TimedConnection
) -> Iterator[None]:
    server = server_of(app, connection)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="server", daemon=True)
    bound.listen(_BACKLOG)  # so that it can be asked at once
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
