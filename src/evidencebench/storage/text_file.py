"""Files of text: UTF-8, or what the mark at their beginning says."""

import codecs
from collections.abc import Iterator
from pathlib import Path

from evidencebench.errors import UnreadableError
from evidencebench.storage.reading import MOST_BYTES, open_file, read_whole

_BLOCK_BYTES = 1 << 20

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def mark_of(content: bytes) -> tuple[bytes, str]:
    """Return the mark that a file begins with, and the encoding that it tells; two empty ones without."""
    return next(((mark, encoding) for mark, encoding in _MARKS if content.startswith(mark)), (b"", ""))


def decoded(content: bytes, *, name: str, declared: str = "utf-8") -> str:
    """Return the text of a file, without its mark; ``declared`` is the encoding of a file that has none.

    Raises `UnreadableError`, with ``name`` and line, if it is in another encoding, which is never guessed.
    """
    mark, marked = mark_of(content)
    encoding = marked or declared
    try:
        return content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{name}: line {line}: expected {encoding.upper()} text, got the byte 0x{error.object[error.start]:02x}; "
            "save it as UTF-8, as with 'iconv -f LATIN1 -t UTF-8'"
        ) from error


def read_text(path: Path, *, at_most: int = MOST_BYTES) -> str:
    """Return the text of a regular file; raises `UnreadableError` where it cannot be read, or is no such text."""
    return decoded(read_bytes(path, at_most=at_most), name=str(path))


def read_bytes(path: Path, *, at_most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file; raises `UnreadableError` where it cannot be read."""
    try:
        return read_whole(path, at_most=at_most)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error


def read_blocks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a regular file, a piece at a time; raises `UnreadableError` where it cannot be read."""
    try:
        with open_file(path) as file:
            while block := file.read(_BLOCK_BYTES):
                yield block
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
