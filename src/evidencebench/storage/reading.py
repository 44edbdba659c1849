"""Open and read files: regular files only, and no more bytes than expected.

A pipe can make a reader wait forever, and a device can give bytes forever; users may name either. Errors are of type
`OSError`, with a ``strerror`` for messages: ``f"{path}: cannot be read: {error.strerror}"``.
"""

import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path
from typing import IO, TypeAlias

import msgspec

BROKEN_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not the JSON that is expected: malformed, no UTF-8, nested too deep."""

MOST_BYTES = 64 << 20
"""The most bytes that `read_whole` reads by default: far more than any model card or table of prices has."""

_BLOCK_BYTES = 1 << 20

_WORDS = {
    stat.S_IFIFO: "is a pipe; expected a regular file: save what comes out of it into one first",
    stat.S_IFCHR: "is a device; expected a regular file",
    stat.S_IFBLK: "is a device; expected a regular file",
    stat.S_IFSOCK: "is a socket; expected a regular file",
}


PathText: TypeAlias = str | os.PathLike[str]
"""A path, as text or as a `Path`."""


def paths_from(given: PathText | Iterable[PathText]) -> tuple[Path, ...]:
    """Return paths, given several or a single one."""
    return (Path(given),) if isinstance(given, str | os.PathLike) else tuple(map(Path, given))


def open_file(path: Path) -> BufferedReader:
    """Return a regular file, open for reading; raises `OSError` for anything else, without waiting."""
    _require_regular(path, path.stat())  # before opening it, which would rewind a tape
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)  # it may be a pipe by now
    try:
        _require_regular(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_whole(path: Path, *, at_most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file; raises `OSError` where it has more than ``at_most``, or cannot be read."""
    with open_file(path) as file:
        return read_stream(file, at_most=at_most, name=path)


def read_stream(stream: IO[bytes], *, at_most: int = MOST_BYTES, name: str | Path = "-") -> bytes:
    """Return the bytes of a stream up to its end; raises `OSError`, with ``name``, where there are over ``at_most``."""
    held = io.BytesIO()  # which gives its bytes without a copy; `read(at_most + 1)` would ask for that memory at once
    while block := stream.read(min(_BLOCK_BYTES, at_most + 1 - held.tell())):
        held.write(block)
    if held.tell() > at_most:
        raise OSError(errno.EFBIG, f"holds more than {at_most:,} bytes; expected a smaller file", str(name))
    return held.getvalue()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 checksum of a regular file of any size, in lower-case hexadecimal; raises `OSError`."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _require_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        words = _WORDS.get(stat.S_IFMT(status.st_mode), "is no regular file")
        raise OSError(errno.EINVAL, words, str(path))
