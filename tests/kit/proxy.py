"""A proxy on loopback in front of a server, which can change or drop answers: what a bad line does."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from kit.patience import MOST_SECONDS


@dataclass(slots=True, kw_only=True)
class Passing:
    """An answer on its way back; `is_cut` closes the connection in its place."""

    method: str
    path: str
    status: int
    headers: dict[str, str]
    body: bytes
    is_cut: bool = False


Change = Callable[[Passing], object]


@dataclass(slots=True)
class Proxy:
    """The proxy's address, what was asked of it, and what it does to answers now; `n_blocked` POSTs never arrive."""

    url: str
    change: Change
    n_blocked: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that are killed are what the tests want."""


@contextmanager
def proxied(root_url: str, change: Change = lambda _: None) -> Iterator[Proxy]:
    """Run a proxy in front of a server until the block ends."""
    target = urlsplit(root_url)
    state = Proxy(url="", change=change)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            state.asked.append((self.command, self.path.partition("?")[0]))
            state.headers.append(dict(self.headers.items()))
            if self.command == "POST" and state.n_blocked:
                state.n_blocked -= 1
                self.close_connection = True
                return
            connection = http.client.HTTPConnection(target.hostname or "", target.port or 80, timeout=MOST_SECONDS)
            try:
                connection.request(self.command, self.path, body=body, headers=dict(self.headers.items()))
                answer = connection.getresponse()
                passing = Passing(
                    method=self.command,
                    path=self.path.partition("?")[0],
                    status=answer.status,
                    headers={"Content-Type": answer.headers.get("Content-Type", "application/json")},
                    body=answer.read(),
                )
            finally:
                connection.close()
            state.change(passing)
            self.close_connection = True
            if passing.is_cut:
                return
            self.send_response(passing.status)
            for name, value in {"Content-Length": str(len(passing.body)), **passing.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(passing.body)

        do_POST = do_GET  # noqa: N815 - the name is the base class's

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            """Print nothing."""

    with _Quiet(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
