"""Serve the app with uvicorn until a signal comes."""

import asyncio
import signal
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from evidencebench.web.serving import TimedConnection, config_for

BACKLOG = 512
_LONGEST_ENDING_SECONDS = 2


def server_of(app: ASGIApp, connection: type[TimedConnection] = TimedConnection) -> uvicorn.Server:
    """Return what serves an app, whose logs are ours alone; it ends once its ``should_exit`` is true."""
    config = config_for(
        app, loop="asyncio", http=connection, backlog=BACKLOG, timeout_graceful_shutdown=_LONGEST_ENDING_SECONDS
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
