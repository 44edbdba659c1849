"""The bytes of a file, mapped rather than read: what is not looked at costs nothing."""

import mmap
import os
from pathlib import Path
from typing import IO

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


def give_back(content: Content) -> None:
    """Let the system have the memory of mapped pages; they are read again from the file when they are looked at."""
    if isinstance(content, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        content.madvise(mmap.MADV_DONTNEED)
