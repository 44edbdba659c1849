"""Asks a running app over a real connection, with headers as a browser or anybody else would send them."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

from doors import (
    Address,
    BackgroundScan,
    TaskApp,
    ViewerData,
    address_of,
    listening_socket,
    make_app,
    served_in_thread,
)
from kit.patience import MOST_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self
        return json.loads(self.body)

    @property
    def error(self) -> str:
        assert self.status >= 400, self
        text = self.json["error"]
        assert isinstance(text, str)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An app that runs."""

    address: Address
    scan: BackgroundScan

    @property
    def url(self) -> str:
        return self.address.url

    @property
    def host(self) -> str:
        return f"{self.address.host}:{self.address.port}"

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **parameters: Any,
    ) -> Reply:
        """Send one request on a connection of its own."""
        connection = HTTPConnection(self.address.host, self.address.port, timeout=MOST_SECONDS)
        try:
            target = f"{path}?{urlencode(parameters)}" if parameters else path
            connection.request(method, target, body=body, headers=dict(headers or {}))
            reply = connection.getresponse()
            found = {name.lower(): value for name, value in reply.getheaders()}
            return Reply(status=reply.status, headers=found, body=reply.read())
        finally:
            connection.close()

    def post(self, path: str, value: object, **headers: str) -> Reply:
        """Send JSON as a page of the app does."""
        sent = {"Origin": f"http://{self.host}", "Content-Type": "application/json"} | headers
        return self.ask(path, method="POST", body=json.dumps(value).encode(), headers=sent)

    def connected(self) -> socket.socket:
        """Return a connection on which nothing was sent."""
        return socket.create_connection((self.address.host, self.address.port), timeout=MOST_SECONDS)

    def is_alive(self) -> bool:
        """Say whether it answers."""
        return self.ask("/api/overview").status == 200


LOOPBACK = "127.0.0.1"


@contextmanager
def running(
    viewed: ViewerData,
    *,
    picking: TaskApp | None = None,
    token: str | None = None,
    is_scanned: bool = True,
) -> Iterator[Running]:
    """Run the app in another thread, on a free port of loopback, until the block ends.

    Without the scan it knows only what it shows. ``picking``: people pick in it.
    """
    bound = listening_socket(LOOPBACK, 0)
    address, scan = address_of(bound, LOOPBACK, token), BackgroundScan(viewed)
    app = make_app(viewed, scan, address=address) if picking is None else picking.make_app(address)
    with closing(scan), served_in_thread(app, bound):
        if is_scanned:
            scan.start()
        yield Running(address=address, scan=scan)


def ended_with(connection: socket.socket) -> bytes:
    """Return all that comes on a connection until the other side ends it, well or not."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)
