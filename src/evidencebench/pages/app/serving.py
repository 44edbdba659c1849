"""The app's address: where it listens, the host names that reach it, and the server that serves it."""

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from evidencebench.web.serving import TimedConnection, config_for

BACKLOG = 512
_HTTP_PORT = 80
_LONGEST_ENDING_SECONDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the app listens: a host (an IPv6 address without brackets) and a port.

    ``token`` is a secret that every request must bring, for an app that other machines can reach; None: no secret.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    token: str | None = None

    @property
    def url(self) -> str:
        """The address of the first page, with the token."""
        query = "" if self.token is None else f"?token={self.token}"
        return f"http://{_bracket_ipv6(self.host)}:{self.port}/{query}"

    @property
    def cookie(self) -> str:
        """Name of the cookie that holds the token. It holds the port, since all ports of a host share their cookies."""
        return f"evidencebench_token_{self.port}"

    def hosts(self) -> frozenset[str]:
        """Return the values that the Host header of a request may have."""
        names = {_bracket_ipv6(self.host).lower(), "127.0.0.1", "localhost", "[::1]"}
        with_port = {f"{name}:{self.port}" for name in names}
        return frozenset(with_port | names if self.port == _HTTP_PORT else with_port)


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address or name of this machine; port 0: any free port. Raises `OSError`."""
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
    """Return the address of a bound socket; where it listens at all addresses, the host is this machine's name."""
    with suppress(ValueError):  # the host is a name, not an IP address
        host = socket.gethostname() if ipaddress.ip_address(host).is_unspecified else host
    return Address(host=host, port=bound.getsockname()[1], token=token)


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def server_of(app: ASGIApp, connection: type[TimedConnection] = TimedConnection) -> uvicorn.Server:
    """Return a server for an app; it ends once its ``should_exit`` is true. uvicorn's own logs are off."""
    config = config_for(
        app, loop="asyncio", http=connection, backlog=BACKLOG, timeout_graceful_shutdown=_LONGEST_ENDING_SECONDS
    )
    return uvicorn.Server(config)


def serve_until_signal(app: ASGIApp, bound: socket.socket, on_start: Callable[[], None]) -> None:
    """Serve an app on a bound socket until SIGINT or SIGTERM; ``on_start`` is called once requests can be sent."""
    server = server_of(app)

    def end() -> None:
        server.should_exit = True

    async def serve() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, end)
        bound.listen(BACKLOG)  # from here on, requests wait in the socket until the server runs
        on_start()
        await server.serve(sockets=[bound])

    asyncio.run(serve())
