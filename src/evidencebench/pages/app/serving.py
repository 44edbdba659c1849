"""The app's address: where it listens, and the host names that reach it."""

import ipaddress
import socket
from contextlib import suppress
from dataclasses import dataclass

_HTTP_PORT = 80


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


def address_of(bound: socket.socket, host: str, token: str | None = None) -> Address:
    """Return the address of a bound socket; where it listens at all addresses, the host is this machine's name."""
    with suppress(ValueError):  # the host is a name, not an IP address
        host = socket.gethostname() if ipaddress.ip_address(host).is_unspecified else host
    return Address(host=host, port=bound.getsockname()[1], token=token)


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host
