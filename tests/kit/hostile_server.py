"""A web server on loopback that keeps HTTP's rules, or breaks one of them on demand.

A server is given a script: one behaviour for each request in turn, the last one for all that follow. It keeps a log of
what it was asked and of how many bytes of the file it sent.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True, kw_only=True)
class Asked:
    """One request, as the server's log keeps it."""

    path: str
    headers: Mapping[str, str]
    body: bytes = b""
    sent_bytes: int = 0

    @property
    def range(self) -> str | None:
        return self.headers.get("Range")


@dataclass(slots=True, kw_only=True)
class HostileServer:
    """What the server has, does next, and was asked."""

    body: bytes
    script: Sequence["Behaviour"]
    etag: str | None = '"one"'
    last_modified: str | None = None
    port: int = 0
    log: list[Asked] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def address(self, path: str = "file.json", *, scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}/{path}"


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request being answered: what a behaviour works with."""

    handler: BaseHTTPRequestHandler
    server: HostileServer
    asked: Asked

    def start_asked_for(self) -> int:
        """Return the first byte to send: that of a Range whose If-Range holds, else 0."""
        wanted = self.asked.range
        condition = self.asked.headers.get("If-Range")
        if wanted is None or condition not in {None, self.server.etag, self.server.last_modified}:
            return 0
        return int(wanted.removeprefix("bytes=").removesuffix("-"))

    def head(self, status: int, headers: Mapping[str, object]) -> None:
        self.handler.send_response(status)
        validators = {"ETag": self.server.etag, "Last-Modified": self.server.last_modified}
        for name, value in (validators | dict(headers)).items():
            if value is not None:
                self.handler.send_header(name, str(value))
        self.handler.end_headers()

    def send(self, data: bytes) -> None:
        self.handler.wfile.write(data)
        self.asked.sent_bytes += len(data)

    def file_head(self, *, length: object = "true", **more: object) -> bytes:
        """Send the head of a right answer, changed by what is given; return the bytes that should follow."""
        body, start = self.server.body, self.start_asked_for()
        headers: dict[str, object] = {"Content-Type": "text/plain"}
        if start >= len(body) > 0 and self.asked.range is not None:
            self.head(416, {"Content-Range": f"bytes */{len(body)}", "Content-Length": 0})
            return b""
        headers["Content-Length"] = len(body) - start if length == "true" else length
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        self.head(206 if start else 200, headers | {name.replace("_", "-"): value for name, value in more.items()})
        return body[start:]

    def cut(self, *, by_reset: bool = False) -> None:
        """Close the connection for real, whatever was promised."""
        self.handler.wfile.flush()
        connection = self.handler.connection
        if by_reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        else:
            connection.shutdown(socket.SHUT_RDWR)


Behaviour = Callable[[Exchange], None]


def serve(exchange: Exchange) -> None:
    exchange.send(exchange.file_head())


def cut_after(n_bytes: int) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        exchange.send(exchange.file_head()[:n_bytes])
        exchange.cut()

    return behave


def reset_at_once(exchange: Exchange) -> None:
    exchange.cut(by_reset=True)


def ignore_ranges(exchange: Exchange) -> None:
    exchange.head(200, {"Content-Length": len(exchange.server.body)})
    exchange.send(exchange.server.body)


def ignore_if_range(exchange: Exchange) -> None:
    exchange.asked.headers = {name: value for name, value in exchange.asked.headers.items() if name != "If-Range"}
    serve(exchange)


def announce(length: int | None) -> Behaviour:
    """Serve the file under a Content-Length that is not its own, or under none."""
    return lambda exchange: exchange.send(exchange.file_head(length=length))


def serve_with(**headers: str) -> Behaviour:
    return lambda exchange: exchange.send(exchange.file_head(**headers))


def chunked(*blocks: bytes, is_ended: bool = True) -> Behaviour:
    """Send these blocks with chunked transfer coding, and the end mark or not."""

    def behave(exchange: Exchange) -> None:
        exchange.handler.protocol_version = "HTTP/1.1"
        exchange.head(200, {"Transfer-Encoding": "chunked", "Connection": "close"})
        for block in blocks:
            exchange.send(b"%x\r\n%s\r\n" % (len(block), block))
        if is_ended:
            exchange.send(b"0\r\n\r\n")
        exchange.cut()

    return behave


def hang(exchange: Exchange) -> None:
    """Take the request and stay silent until the test is over."""
    exchange.server.closing.wait()


def hang_after(n_bytes: int) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        exchange.send(exchange.file_head()[:n_bytes])
        exchange.handler.wfile.flush()
        hang(exchange)

    return behave


def answer(status: int, text: bytes = b"", **headers: object) -> Behaviour:
    """Answer by a status, with a text in the place of the file."""

    def behave(exchange: Exchange) -> None:
        spelled = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange.head(status, {"Content-Length": len(text)} | spelled)
        exchange.handler.wfile.write(text)

    return behave


def redirect(to: str | None) -> Behaviour:
    return answer(302, Location=to)


def part_from(place: str | None) -> Behaviour:
    """Answer 206 with this Content-Range, whatever was asked."""
    return lambda exchange: answer(206, exchange.server.body, Content_Range=place)(exchange)


def changed_to(body: bytes, etag: str | None, behaviour: Behaviour = serve) -> Behaviour:
    """Publish a new version of the file, then behave."""

    def behave(exchange: Exchange) -> None:
        exchange.server.body, exchange.server.etag = body, etag
        behaviour(exchange)

    return behave


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = False  # so that closing the server waits for its answers, and none outlives its test

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that hangs up on a hostile answer is what the tests want."""


@contextmanager
def hostile_server(
    body: bytes,
    *script: Behaviour,
    etag: str | None = '"one"',
    last_modified: str | None = None,
    tls: ssl.SSLContext | None = None,
) -> Iterator[HostileServer]:
    """Run a server of `body` that follows the script, until the block ends."""
    state = HostileServer(body=body, script=script or (serve,), etag=etag, last_modified=last_modified)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = Asked(path=self.path, headers=dict(self.headers.items()), body=body)
            state.log.append(asked)
            behaviour = state.script[min(len(state.log), len(state.script)) - 1]
            behaviour(Exchange(handler=self, server=state, asked=asked))

        do_POST = do_GET  # noqa: N815 - the name is the base class's

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
            """Keep our own log instead of printing."""

    with _QuietServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            state.closing.set()
            server.shutdown()
            thread.join()
