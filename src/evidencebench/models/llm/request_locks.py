"""Lock requests while a process sends them, so that two runs at the same time pay for a request only once."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

_OFFSET_DIGITS = 15  # hexadecimal digits of a key: offsets below 2**60 can be locked on every system


class RequestLocks:
    """A lock for each request, on one byte of an empty file that all processes share. It ends with its process.

    A request may still be paid twice: by two caches in one process, on a disk without locks, or after its process was
    killed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self, key: str) -> bool:
        """Return whether this process may send a request; if so, no other process may until `give_back`."""
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except (BlockingIOError, PermissionError):  # which of them depends on the system
            return self._descriptor is None
        except OSError:  # a disk without locks
            return True
        return True

    def give_back(self, key: str) -> None:
        """Let other processes send a request."""
        if self._descriptor is not None:
            with suppress(OSError):
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _place(key))

    def close(self) -> None:
        """Release all locks and close the file; the next use opens it again."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _place(key: str) -> int:
    return int(key[:_OFFSET_DIGITS], 16)
