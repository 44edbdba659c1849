"""The standard streams: replaced where they are closed, and safe to write to when nobody reads."""

import io
import os
import select
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# The states of a pipe that nobody reads.
_NO_READER = select.POLLERR | select.POLLHUP | select.POLLNVAL


def open_streams() -> None:
    """Make the standard streams safe to use.

    A closed stream (``>&-``) becomes the null device: else the next file to be opened would get its number, and with it
    the text meant for the stream. Text that cannot be written to standard error is dropped, since only messages go
    there. A character that a terminal cannot show is escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # `os.open` takes the lowest free number, which is that of the closed stream.
            descriptor = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))
    if sys.__stderr__ is not None and sys.stderr is sys.__stderr__:  # else it was closed, or a test replaces it
        written = io.BufferedWriter(_LossyStream(sys.__stderr__.fileno()))
        sys.stderr = io.TextIOWrapper(written, encoding=sys.__stderr__.encoding, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def reader_has_left() -> bool:
    """Say whether standard output is a pipe that nobody reads any more."""
    poller = select.poll()
    poller.register(sys.stdout.fileno(), select.POLLOUT)
    return any(event & _NO_READER for _, event in poller.poll(0))


def drop_output() -> None:
    """Discard all text that is still to be written to standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _LossyStream(io.RawIOBase):
    """A stream that writes to a file's descriptor and ignores errors in writing."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        return True

    def write(self, content: "ReadableBuffer", /) -> int:
        try:
            return os.write(self._descriptor, content)
        except OSError:
            return memoryview(content).nbytes
