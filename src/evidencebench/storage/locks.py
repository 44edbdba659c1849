"""Locks between processes: a process holds a file or a folder while a block runs. A killed process holds no more."""

import errno
import fcntl
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# What a file system says that has no locks, such as some network disks and disks of containers.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


def try_lock(descriptor: int) -> bool:
    """Lock an open file, and say whether that could be done; False: another process holds it.

    A file system without locks is warned of, and the work goes on, since most files are written by one process alone.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        words = f"a file system here has no locks ({error.strerror}): let no two commands write the same file at once"
        warnings.warn(words, RuntimeWarning, stacklevel=1)  # of this line, so that it is said once
    return True


def remove_unless_held(path: Path) -> None:
    """Remove a file that no process holds; it stays where that cannot be found out."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(descriptor)


@contextmanager
def locked_file(path: Path) -> Iterator[bool]:
    """Hold the lock of a file (made if missing) while the block runs; yields False where another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        yield try_lock(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Wait for the lock of a folder, and hold it while the block runs; on a file system without locks, hold none."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
