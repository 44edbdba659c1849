"""Run the app: until a signal comes, as the command does, or in a thread, as tests do."""

import asyncio
import ipaddress
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from evidencebench.pages.app.connection import TimedConnection
from evidencebench.pages.app.guard import BODY_SECONDS, Address
from evidencebench.pages.app.server import make_app
from evidencebench.pages.app.survey import Survey
from evidencebench.pages.app.visibility import Picking
from evidencebench.pages.viewer.exhibit import Exhibit

LOOPBACK = "127.0.0.1"
_BACKLOG = 512
_LONGEST_ENDING_SECONDS = 2


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address.

    Parameters
    ----------
    host
        An address or a name of this machine.
    port
        0: a free one.

    Raises
    ------
    OSError
        If the port is taken or may not be used, or the machine has no such address.
    """
    family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
    except OSError:
        bound.close()
        raise
    return bound


def address_of(bound: socket.socket, host: str, token: str | None = None) -> Address:
    """Return where a socket is reached: by the machine's name where it listens to all of its addresses."""
    port: int = bound.getsockname()[1]
    return Address(host=socket.gethostname() if _is_every_address(host) else host, port=port, token=token)


def _is_every_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def serve_until_signal(
    app: ASGIApp, bound: socket.socket, on_start: Callable[[], None], survey: Survey, *, is_surveyed: bool = True
) -> None:
    """Serve an app until SIGINT or SIGTERM comes.

    Parameters
    ----------
    app
        As `make_app` returns it.
    bound
        Where it listens.
    on_start
        Called once it listens.
    survey
        Of the app; ended with it.
    is_surveyed
        Whether the survey is begun.
    """

    async def serve() -> None:
        loop, server = asyncio.get_running_loop(), _Server(_config(app), on_start)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, server.end)
        await server.serve(sockets=[bound])

    if is_surveyed:
        survey.start()
    try:
        asyncio.run(serve())
    finally:
        survey.stop()


@contextmanager
def running_app(
    exhibit: Exhibit,
    *,
    picking: Picking | None = None,
    cache: Path | None = None,
    connection: type[TimedConnection] = TimedConnection,
    body_seconds: float = BODY_SECONDS,
    token: str | None = None,
    is_surveyed: bool = True,
) -> Iterator[tuple[Address, Survey]]:
    """Run the app in another thread, on a free port of loopback, until the block ends.

    Parameters
    ----------
    exhibit, picking, cache
        As in `make_app` and `Survey`.
    connection, body_seconds
        What ends connections that take too long, and how long a body may take.
    token
        As in `Address`.
    is_surveyed
        Whether the survey runs; without it the app knows only what it shows.
    """
    bound = listening_socket(LOOPBACK, 0)
    address, survey = address_of(bound, LOOPBACK, token), Survey(exhibit, cache)
    app = make_app(exhibit, survey, picking=picking, address=lambda: address, body_seconds=body_seconds)
    has_started = threading.Event()
    server = _Server(_config(app, connection), has_started.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[bound])), name="app", daemon=True)
    if is_surveyed:
        survey.start()
    thread.start()
    try:
        has_started.wait()
        yield address, survey
    finally:
        server.end()
        thread.join()
        survey.stop()


def _config(app: ASGIApp, connection: type[TimedConnection] = TimedConnection) -> uvicorn.Config:
    return uvicorn.Config(
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
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_LONGEST_ENDING_SECONDS,
    )


class _Server(uvicorn.Server):
    """Says when it listens, and leaves the signals alone."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def end(self) -> None:
        """Stop serving."""
        self.should_exit = True
