"""Serve with uvicorn, on this machine."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

_BACKLOG = 1024  # connections that wait to be taken


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


def server_of(app: ASGIApp) -> uvicorn.Server:
    """Return a server for an app; it ends once its ``should_exit`` is true. uvicorn's own logs are off."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
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
) -> None:
    """Serve an app on a bound socket until SIGINT or SIGTERM; ``on_start`` is called once requests can be sent."""
    server = server_of(app)

    def end(*_: object) -> None:
        server.should_exit = True

    async def serve() -> None:
        bound.listen(_BACKLOG)  # from here on, requests wait in the socket until the server runs
        on_start()
        await server.serve(sockets=[bound])

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        asyncio.run(serve())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def served_in_thread(app: ASGIApp, bound: socket.socket) -> Iterator[None]:
    server = server_of(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="server", daemon=True)
    bound.listen(_BACKLOG)  # so that it can be asked at once
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
