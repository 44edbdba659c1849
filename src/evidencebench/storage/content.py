"""The bytes of a data file: only what is asked for is read, and what is handed out is a copy.

No page of a file is ever mapped: who looks at one that was cut off meanwhile is killed by the system (SIGBUS), and no
check that comes before can close the gap. A copy was there as a whole, of the file as it was opened, or is an error.
"""

import codecs
import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from evidencebench.errors import ChangedDataError, UnreadableError
from evidencebench.storage.reading import open_file

MOST_HELD_BYTES = 64 << 20
"""Up to this size a file is held in memory."""

# A gzip bomb ends here rather than on a full disk; the largest published file unpacks to 3 GB.
MAX_UNPACKED_BYTES = 64 << 30
_BLOCK_BYTES = 1 << 20
_MOST_LINE_BYTES = 256 << 20

FileState = tuple[int, int, int, int, int]
"""Device, inode, bytes, and nanoseconds since 1970 of the last change: as tools set it, as the system saw it."""


class Content(Protocol):
    """What a file held when it was opened.

    Attributes
    ----------
    size
        How many bytes there are, unpacked.
    state
        By which a change of the file is noticed; None of what was unpacked, which is a copy that stays.
    sha256
        The checksum of the file as it lay on disk, in hexadecimal; of these very bytes.
    """

    @property
    def size(self) -> int:
        """Return how many bytes there are."""
        ...

    @property
    def state(self) -> FileState | None:
        """Return by which a change of the file is noticed."""
        ...

    @property
    def sha256(self) -> str:
        """Return the checksum of the file."""
        ...

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes start..stop-1.

        Raises
        ------
        ChangedDataError
            If the file is another one by now.
        """
        ...


@dataclass(frozen=True)
class Held:
    """Content in memory, of a file that is small.

    Attributes
    ----------
    content
        All of it.
    path, state
        The file, and by which a change of it is noticed; None of what was unpacked.
    packed_sha256
        The checksum of what it was unpacked from; None: of nothing.
    """

    content: bytes
    path: Path
    state: FileState | None = None
    packed_sha256: str | None = None

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self.content)

    @cached_property
    def sha256(self) -> str:
        """The checksum of the file."""
        return self.packed_sha256 or hashlib.sha256(self.content).hexdigest()

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes start..stop-1, while the file is what it was."""
        if self.state is not None and self.state != state_of(self.path):
            raise changed(self.path)
        return self.content[start:stop]


@dataclass(frozen=True)
class OnDisk:
    """Content of a file that stays where it is, and must stay as it is."""

    path: Path
    state: FileState

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.state[2]

    @cached_property
    def sha256(self) -> str:
        """The checksum of the file; read once, when first asked for."""
        total = hashlib.sha256()
        for block in blocks(self):
            total.update(block)
        return total.hexdigest()

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes start..stop-1 as they were when the file was opened."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
            try:
                found = os.pread(descriptor, stop - start, start)
                state = _state(os.fstat(descriptor))  # after the reading, so that nothing can happen in between
            finally:
                os.close(descriptor)
        except OSError as error:
            raise ChangedDataError(
                f"{self.path}: the data file cannot be read any more: {error.strerror}; start again"
            ) from error
        if state != self.state or len(found) != stop - start:
            raise changed(self.path)
        return found


class Unpacked:
    """Content in a file without a name, which nobody else can cut.

    Parameters
    ----------
    file
        The file; it may be closed.
    packed_sha256
        The checksum of the file that it was unpacked from.
    """

    state = None

    def __init__(self, file: IO[bytes], packed_sha256: str) -> None:
        self.sha256 = packed_sha256
        self._descriptor = os.dup(file.fileno())
        self.size = os.fstat(self._descriptor).st_size

    def __del__(self) -> None:
        os.close(self._descriptor)

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes start..stop-1."""
        return os.pread(self._descriptor, stop - start, start)


def open_content(path: Path) -> Content:
    """Return what a file holds, unpacked where its name ends in ``.gz``.

    Raises
    ------
    UnreadableError
        If it cannot be read; the message names it.
    ChangedDataError
        If it changes meanwhile.
    """
    if path.is_dir():
        raise UnreadableError(f"{path}: is a folder; expected a data file (.json, .jsonl, or .gz of either)")
    try:
        with open_file(path) as file:
            if path.name.endswith(".gz"):
                return _unpacked(file, path)
            state = _state(os.fstat(file.fileno()))
            on_disk = OnDisk(path, state)
            return Held(on_disk.read(0, on_disk.size), path, state) if on_disk.size <= MOST_HELD_BYTES else on_disk
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableError(f"{path}: cannot be read: {reason}") from error


def blocks(content: Content) -> Iterator[bytes]:
    """Yield all of a content in order, a piece at a time."""
    for start in range(0, content.size, _BLOCK_BYTES):
        yield content.read(start, min(start + _BLOCK_BYTES, content.size))


class Line(NamedTuple):
    """A line of a text.

    Attributes
    ----------
    number
        From 1.
    start
        Where it begins, in bytes.
    content
        Its bytes without the line end.
    is_ended
        Whether there is one.
    """

    number: int
    start: int
    content: memoryview
    is_ended: bool


def lines_of(text: bytes) -> Iterator[Line]:
    r"""Yield the lines of a text that are not blank, as every reader of lines takes them.

    Examples
    --------
    >>> [(line.number, bytes(line.content)) for line in lines_of(codecs.BOM_UTF8 + b"one\n\ntwo")]
    [(1, b'one'), (3, b'two')]
    """
    return lines_in([text])


def lines_in(parts: Iterable[bytes]) -> Iterator[Line]:
    """Yield the lines of a text that comes in parts, as `lines_of` does.

    Raises
    ------
    UnreadableError
        If a line goes on over several parts and has no end in sight.
    """
    rest, base, number = b"", 0, 0
    for part in parts:
        text = rest + part if rest else part
        view = memoryview(text)
        start = 0 if base or rest else start_of(text)
        while (end := text.find(b"\n", start)) >= 0:
            number += 1
            if not _is_blank(view[start:end]):
                yield Line(number, base + start, view[start:end], is_ended=True)
            start = end + 1
        rest, base = text[start:], base + start
        if len(rest) > max(len(part), _MOST_LINE_BYTES):
            raise UnreadableError(f"line {number + 1}: expected a line, got more than {_MOST_LINE_BYTES:,} bytes of it")
    if not _is_blank(memoryview(rest)):
        yield Line(number + 1, base, memoryview(rest), is_ended=False)


def _is_blank(line: memoryview) -> bool:
    return not bytes(line[:64]).strip() and not bytes(line).strip()


def start_of(text: bytes | mmap) -> int:
    """Return where a text begins: behind the byte-order mark that some editors put before UTF-8."""
    return len(codecs.BOM_UTF8) if text[: len(codecs.BOM_UTF8)] == codecs.BOM_UTF8 else 0


def state_of(path: Path) -> FileState | None:
    """Return by which a change of a file is noticed, or None where it cannot be asked."""
    try:
        return _state(path.stat())
    except OSError:
        return None


def changed(path: Path) -> ChangedDataError:
    """Return the error that says that a data file is another one by now."""
    return ChangedDataError(f"{path}: the data file has changed since it was opened; start again")


def _state(found: os.stat_result) -> FileState:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class _Hashed:
    """A file that is hashed as it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.total = file, hashlib.sha256()

    def read(self, size: int) -> bytes:
        block = self._file.read(size)
        self.total.update(block)
        return block

    def seek(self, offset: int) -> int:
        raise OSError(f"asked to go back to byte {offset} of what is hashed as it is read")


def _unpacked(file: IO[bytes], path: Path) -> Content:
    """Return what a gzip file unpacks to, with the checksum of the very bytes that were unpacked."""
    packed = _Hashed(file)
    with tempfile.SpooledTemporaryFile(max_size=MOST_HELD_BYTES) as unpacked:
        with gzip.GzipFile(fileobj=packed, mode="rb") as plain:
            while block := plain.read(_BLOCK_BYTES):
                unpacked.write(block)
                if unpacked.tell() > MAX_UNPACKED_BYTES:
                    raise UnreadableError(
                        f"{path}: unpacks to more than {MAX_UNPACKED_BYTES} bytes; unpack it yourself first"
                    )
        sha256 = packed.total.hexdigest()
        if unpacked.tell() <= MOST_HELD_BYTES:
            unpacked.seek(0)
            return Held(unpacked.read(), path, packed_sha256=sha256)
        unpacked.flush()
        return Unpacked(unpacked, sha256)
