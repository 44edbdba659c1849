"""The bytes of a file, mapped rather than read: what is not looked at costs nothing."""

import codecs
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

Content = bytes | mmap.mmap

FileState = tuple[int, int, int, int]
"""Device, inode, bytes, and nanoseconds since 1970 of the last change."""


def state_of(path: Path) -> FileState | None:
    """Return by what a change of a file is noticed, or None where it cannot be asked."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def mapped(file: IO[bytes]) -> Content:
    """Return a file's bytes; they stay valid after it is closed."""
    if os.fstat(file.fileno()).st_size == 0:
        return b""  # which cannot be mapped
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Line(NamedTuple):
    """A line of a text: its number from 1, its bytes without the line end, and whether there is one."""

    number: int
    content: memoryview
    is_ended: bool


def lines_of(content: Content) -> Iterator[Line]:
    r"""Yield the lines of a text that are not blank, as every reader of lines takes them.

    Examples
    --------
    >>> [(line.number, bytes(line.content)) for line in lines_of(codecs.BOM_UTF8 + b"one\n\ntwo")]
    [(1, b'one'), (3, b'two')]
    """
    view = memoryview(content)
    start, number = start_of(content), 0
    while start < len(content):
        number += 1
        found = content.find(b"\n", start)
        end = len(content) if found < 0 else found
        line = view[start:end]
        start = end + 1
        if bytes(line[:64]).strip() or bytes(line).strip():
            yield Line(number, line, found >= 0)


def start_of(content: Content) -> int:
    """Return where a text begins: behind the byte-order mark that some editors put before UTF-8."""
    return len(codecs.BOM_UTF8) if content[: len(codecs.BOM_UTF8)] == codecs.BOM_UTF8 else 0


def give_back(content: Content) -> None:
    """Let the system have the memory of mapped pages; they are read again from the file when they are looked at."""
    if isinstance(content, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        content.madvise(mmap.MADV_DONTNEED)
