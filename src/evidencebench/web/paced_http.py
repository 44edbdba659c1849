"""HTTP with a least speed and a longest head: a timeout alone lets a server send a byte now and then, without end."""

import io
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.request import AbstractHTTPHandler, Request

LEAST_BYTES_A_SECOND = 1_000
"""A server that sends fewer bytes a second, over a whole timeout, is taken for one that hangs."""

MOST_HEAD_BYTES = 1 << 20
"""The most bytes of status lines and headers before a body; the first bytes of the body may be among them."""


class EndlessHeadError(Exception):
    """A server sends headers, or answers of status 1xx, without end."""


class PacedReader(io.RawIOBase):
    """The bytes of a connection, read as long as they come fast enough."""

    def __init__(self, raw: io.RawIOBase, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._raw, self._seconds, self._clock = raw, seconds, clock
        self._waited, self._n_bytes = 0.0, 0
        self._head_bytes: int | None = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read the bytes that are there; raises `TimeoutError` where it comes too slowly."""
        before = self._clock()
        n_read = self._raw.readinto(buffer) or 0
        if self._n_bytes or self._waited:
            self._waited += self._clock() - before
        self._n_bytes += n_read
        if self._waited >= self._seconds:
            if self._n_bytes < LEAST_BYTES_A_SECOND * self._waited:
                raise TimeoutError(f"fewer than {LEAST_BYTES_A_SECOND:,} bytes a second came for {self._waited:.3g} s")
            self._waited, self._n_bytes = 0.0, 1
        if self._head_bytes is not None:
            self._head_bytes += n_read
            if self._head_bytes > MOST_HEAD_BYTES:
                raise EndlessHeadError(f"more than {MOST_HEAD_BYTES:,} bytes of headers")
        return n_read

    def end_head(self) -> None:
        """End the head: the bytes that follow are the body, which may have any length."""
        self._head_bytes = None

    def close(self) -> None:
        """Let go of the connection."""
        if not self.closed:
            self._raw.close()
        super().close()


class _PacedResponse(HTTPResponse):
    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._paced = PacedReader(self.fp.detach(), sock.gettimeout())
        self.fp = io.BufferedReader(self._paced)

    def begin(self) -> None:
        super().begin()
        self._paced.end_head()


class _Connection(HTTPConnection):
    response_class = _PacedResponse


class _SecureConnection(HTTPSConnection):
    response_class = _PacedResponse


class PacedHandler(AbstractHTTPHandler):
    """Opens http and https addresses, the latter with the certificates that this machine trusts."""

    http_request = https_request = AbstractHTTPHandler.do_request_

    def http_open(self, req: Request) -> HTTPResponse:
        """Return the answer, its body not read yet."""
        return self.do_open(_Connection, req)

    def https_open(self, req: Request) -> HTTPResponse:
        """Return the answer, its body not read yet."""
        return self.do_open(_SecureConnection, req)
