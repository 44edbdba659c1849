"""The bytes of a file, mapped rather than read: what is not looked at costs nothing."""

import mmap
import os
from typing import IO

Content = bytes | mmap.mmap


def mapped(file: IO[bytes]) -> Content:
    """Return a file's bytes; they stay valid after it is closed."""
    if os.fstat(file.fileno()).st_size == 0:
        return b""  # which cannot be mapped
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def give_back(content: Content) -> None:
    """Let the system have the memory of mapped pages; they are read again from the file when they are looked at."""
    if isinstance(content, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        content.madvise(mmap.MADV_DONTNEED)
