"""Files opened to be read: regular ones only, and no more of them than can be meant.

A pipe is waited for without end, a device gives bytes without end; both can stand where a file is asked for. So every
file that a user names is opened here: `open_file` in place of ``path.open("rb")`` where it is read piece by piece,
`read_whole` in place of ``path.read_bytes()``, and `read_stream` for standard input, the one stream, where a command
takes ``-`` for it. What is wrong is an `OSError` whose ``strerror`` says it in words, so that the handler which a
reader has anyway makes the message: ``f"{path}: cannot be read: {error.strerror}"``.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path
from typing import IO, TypeAlias

MOST_BYTES = 64 << 20
"""How much of a file is read into memory as a whole where nothing else is said: far more than any card or table has."""

_WORDS = {
    stat.S_IFIFO: "is a pipe; expected a regular file: save what comes out of it into one first",
    stat.S_IFCHR: "is a device; expected a regular file",
    stat.S_IFBLK: "is a device; expected a regular file",
    stat.S_IFSOCK: "is a socket; expected a regular file",
}


PathText: TypeAlias = str | os.PathLike[str]
"""A path as people write it."""


def paths_from(given: PathText | Iterable[PathText]) -> tuple[Path, ...]:
    """Return paths from what stands for them: several, or one alone.

    Examples
    --------
    >>> paths_from("run.jsonl") == paths_from([Path("run.jsonl")])
    True
    """
    return (Path(given),) if isinstance(given, str | os.PathLike) else tuple(map(Path, given))


def open_file(path: Path) -> BufferedReader:
    """Return a regular file, open for reading; nothing else is waited for.

    Raises
    ------
    OSError
        If it cannot be opened or is no regular file; its ``strerror`` says so in words.

    Examples
    --------
    >>> open_file(Path("/dev/null"))
    Traceback (most recent call last):
    OSError: [Errno 22] is a device; expected a regular file: '/dev/null'
    """
    _require_regular(path, path.stat())  # before it is opened, since a tape rewinds when it is
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)  # it may be a pipe by now
    try:
        _require_regular(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_whole(path: Path, *, at_most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file.

    Parameters
    ----------
    path
        The file.
    at_most
        How many bytes it may have.

    Raises
    ------
    OSError
        As `open_file`, or if it has more bytes.
    """
    with open_file(path) as file:
        return read_stream(file, at_most=at_most, name=path)


def read_stream(stream: IO[bytes], *, at_most: int = MOST_BYTES, name: str | Path = "-") -> bytes:
    """Return the bytes of a stream up to its end.

    Parameters
    ----------
    stream
        Such as ``sys.stdin.buffer``.
    at_most
        How many bytes it may give; no more than one beyond them is asked for.
    name
        What the error calls it.

    Raises
    ------
    OSError
        If it gives more bytes.

    Examples
    --------
    >>> import io
    >>> read_stream(io.BytesIO(b"tea"), at_most=3)
    b'tea'
    >>> read_stream(io.BytesIO(b"teas"), at_most=3)
    Traceback (most recent call last):
    OSError: [Errno 27] holds more than 3 bytes; expected a smaller file: '-'
    """
    content = stream.read(at_most + 1)
    if len(content) > at_most:
        raise OSError(errno.EFBIG, f"holds more than {at_most:,} bytes; expected a smaller file", str(name))
    return content


def _require_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        words = _WORDS.get(stat.S_IFMT(found.st_mode), "is no regular file")
        raise OSError(errno.EINVAL, words, str(path))


def file_sha256(path: Path) -> str:
    """Return the SHA-256 checksum of a file's bytes, in lower-case hexadecimal.

    Parameters
    ----------
    path
        Any regular file; it is read in pieces, so its size does not matter.

    Raises
    ------
    OSError
        The file cannot be read.

    Examples
    --------
    >>> file_sha256(Path(__file__)) == hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    True
    """
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
