"""Where the app listens, and by which names it is reached."""

import ipaddress
import socket
from contextlib import suppress
from dataclasses import dataclass

_HTTP_PORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the app listens: a host without brackets, and a port.

    With a ``token``, whoever asks must know it, since other machines reach the app; None: only this machine does.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    token: str | None = None

    @property
    def url(self) -> str:
        """The address of the first page, with the token."""
        query = "" if self.token is None else f"?token={self.token}"
        return f"http://{_bracketed(self.host)}:{self.port}/{query}"

    @property
    def cookie(self) -> str:
        """Name of the cookie that holds the token; browsers share cookies between the ports of a machine."""
        return f"evidencebench_token_{self.port}"

    def hosts(self) -> frozenset[str]:
        """Return what the Host of a request may be."""
        names = {_bracketed(self.host).lower(), "127.0.0.1", "localhost", "[::1]"}
        with_port = {f"{name}:{self.port}" for name in names}
        return frozenset(with_port | names if self.port == _HTTP_PORT else with_port)


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address or name of this machine; port 0 takes a free one.

    Raises `OSError` if the port is taken or may not be used, or the machine has no such address.
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
    with suppress(ValueError):  # a name
        host = socket.gethostname() if ipaddress.ip_address(host).is_unspecified else host
    return Address(host=host, port=bound.getsockname()[1], token=token)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
