"""One client's connection: HTTP/1.1 requests in, replies out, within bounds of size and time."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    import h11

_BLOCK_BYTES = 1 << 16
JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a client may ask of a connection.

    Attributes
    ----------
    max_head_bytes, max_body_bytes
        The longest request line with headers, and the longest body: that of a provider's longest batch.
    idle_seconds
        How long a client may say nothing between two requests.
    request_seconds
        How long a request may take to come, from its first byte to its last.
    write_seconds
        How long a client may take to receive a reply, or a piece of one.
    """

    max_head_bytes: int = 1 << 14
    max_body_bytes: int = 256 << 20
    idle_seconds: float = 120.0
    request_seconds: float = 60.0
    write_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, whole.

    Attributes
    ----------
    method, path
        As sent; the path without its query.
    query
        The query's fields; of repeated ones the last.
    headers
        By name in lower case; of repeated ones the last.
    body
        Its bytes.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One reply.

    Attributes
    ----------
    status
        HTTP's.
    body
        Its bytes; none where `pieces` are sent instead.
    content_type
        What the body is.
    headers
        Further ones.
    pieces
        Sent one after the other with chunked transfer coding; None: the body is sent in one go.
    """

    status: int = 200
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Sequence[bytes] | None = None


class RefusedError(Exception):
    """A request that is not HTTP, or too big or too slow: the reply says so, and the connection ends."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Connection:
    """A client's connection.

    Parameters
    ----------
    reader, writer
        Of `asyncio.start_server`.
    limits
        What the client may ask.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits) -> None:
        import h11  # noqa: PLC0415 - an extra

        self._reader, self._writer, self._limits = reader, writer, limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.max_head_bytes)
        # Drained means handed to the system to the last byte, which is what `send` promises.
        writer.transport.set_write_buffer_limits(high=0)

    @property
    def is_left(self) -> bool:
        """Whether the client has closed its end, as far as is known."""
        return self._reader.at_eof() or self._writer.is_closing()

    @property
    def may_reply(self) -> bool:
        """Whether a reply can be sent now: none was begun since the last request."""
        import h11  # noqa: PLC0415 - an extra

        return self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}

    async def next_request(self) -> Request | None:
        """Return the next request, or None where the client has no more or says nothing for long.

        Raises
        ------
        RefusedError
            If what comes is not HTTP, or is too big or too slow.
        """
        import h11  # noqa: PLC0415 - an extra

        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        if self._http.our_state is not h11.IDLE:
            return None
        try:
            async with asyncio.timeout(self._limits.idle_seconds) as limit:
                return await self._read_request(limit)
        except TimeoutError:
            if self._http.their_state is h11.IDLE and not self._http.trailing_data[0]:
                return None
            raise RefusedError(HTTPStatus.REQUEST_TIMEOUT, "the request was not here in whole in time") from None
        except h11.RemoteProtocolError as error:
            if self._reader.at_eof():
                return None
            raise RefusedError(error.error_status_hint, f"not an HTTP/1.1 request: {error}") from error

    async def send(self, reply: Reply) -> bool:
        """Send a reply, and say whether all of it was taken and the client is still there."""
        import h11  # noqa: PLC0415 - an extra

        if self.is_left:
            return False
        head = self._head(reply)
        if reply.pieces is None:
            data = (head, self._http.send(h11.Data(data=reply.body)), self._http.send(h11.EndOfMessage()))
            await self._write(b"".join(map(bytes, filter(None, data))))
        else:
            await self._write(head)
            for piece in reply.pieces:
                await self._write(bytes(self._http.send(h11.Data(data=piece)) or b""))
            await self._write(bytes(self._http.send(h11.EndOfMessage()) or b""))
        return not self.is_left

    async def send_beginning(self, reply: Reply, n_bytes: int) -> None:
        """Send a reply's head, which promises the whole body, and so many bytes of it; then cut the connection."""
        import h11  # noqa: PLC0415 - an extra

        if not self.is_left:
            await self._write(self._head(reply) + bytes(self._http.send(h11.Data(data=reply.body[:n_bytes])) or b""))
        await self.close()

    async def stays(self, seconds: float) -> bool:
        """Wait, and say whether the client is still there; return at once when it leaves."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while (left := end - clock()) > 0:
            try:
                async with asyncio.timeout(left):
                    data = await self._reader.read(_BLOCK_BYTES)
            except TimeoutError:
                break
            except OSError:
                return False
            if not data:
                return False
            self._http.receive_data(data)  # the next request, sent before the reply to this one
            if len(self._http.trailing_data[0]) > self._limits.max_body_bytes:
                return False
        return not self.is_left

    def cut(self) -> None:
        """End the connection at once, whatever was promised."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """End the connection; what was written is still sent."""
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(self._limits.write_seconds):
                await self._writer.wait_closed()

    async def _read_request(self, limit: asyncio.Timeout) -> Request | None:
        import h11  # noqa: PLC0415 - an extra

        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                is_first = self._http.their_state is h11.IDLE and not self._http.trailing_data[0]
                self._http.receive_data(await self._received())
                if is_first:
                    limit.reschedule(asyncio.get_running_loop().time() + self._limits.request_seconds)
            elif isinstance(event, h11.Request):
                head = event
                _require_one_length(head)
            elif isinstance(event, h11.Data):
                body += event.data
                self._require_short(len(body))
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _request(head, bytes(body))
            else:  # the client has closed the connection
                return None

    def _require_short(self, n_bytes: int) -> None:
        most = self._limits.max_body_bytes
        if n_bytes > most:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is over {most} bytes")

    async def _received(self) -> bytes:
        import h11  # noqa: PLC0415 - an extra

        if self._http.they_are_waiting_for_100_continue:
            await self._write(bytes(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b""))
        try:
            return await self._reader.read(_BLOCK_BYTES)
        except OSError:  # reset by the client
            return b""

    def _head(self, reply: Reply) -> bytes:
        import h11  # noqa: PLC0415 - an extra

        length = ("transfer-encoding", "chunked") if reply.pieces is not None else ("content-length", len(reply.body))
        pairs = (("content-type", reply.content_type), length, *reply.headers.items())
        headers = [(name.encode("ascii"), str(value).encode("ascii")) for name, value in pairs]
        return bytes(self._http.send(h11.Response(status_code=reply.status, headers=headers)) or b"")

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            async with asyncio.timeout(self._limits.write_seconds):
                await self._writer.drain()
        except (OSError, TimeoutError):
            self.cut()


def _require_one_length(head: "h11.Request") -> None:
    """Raise where a request tells its length twice: two readers on its way could see two other ends of it.

    Source
    ------
    RFC 9112, section 6.1.
    """
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in head.headers}:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "expected Content-Length or Transfer-Encoding, got both")


def _request(head: "h11.Request", body: bytes) -> Request:
    target = urlsplit(head.target.decode("ascii", "replace"))
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    return Request(
        method=head.method.decode("ascii"),
        path=target.path,
        query=dict(parse_qsl(target.query)),
        headers=headers,
        body=body,
    )
