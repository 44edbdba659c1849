"""A file that only grows: one JSON object a line, a header first. What was written survives kill -9 at any byte.

Every line is written with one system call, so that a process which dies leaves at most one torn line, the last.
Opening the journal again repairs it: a whole last line gets its line end, a torn one is cut off.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evidencebench.errors import RunError
from evidencebench.storage.json_lines import is_whole_object
from evidencebench.storage.locks import try_lock
from evidencebench.storage.whole_file import new_part, open_part, put_in_place

_SYNC_SECONDS = 1.0
_MAX_OPENINGS = 100
_BLOCK_BYTES = 1 << 16


class Journal:
    """An open journal. Lines reach the operating system at once; the disk has all but the last second of writing.

    Make one with `open_journal`.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor
        self._synced_at = time.monotonic()

    @property
    def is_empty(self) -> bool:
        """Whether the file is empty, without even a header."""
        return os.fstat(self._descriptor).st_size == 0

    def begin(self, header: bytes) -> None:
        """Write the header, unless lines follow one already; a header alone, of a call that failed, is replaced."""
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            file.readline()
            is_begun = bool(file.read(1))
        if is_begun:
            return
        if not self.is_empty:
            self.start_over()
        self.append(header)

    def start_over(self) -> None:
        """Replace the file by an empty one; a process that reads the old one keeps it.

        The new file is locked before the old one is released, so that no other process can write in between.
        """
        part = new_part(self._path)
        descriptor = open_part(part)
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
            os.fchmod(descriptor, stat.S_IMODE(os.fstat(self._descriptor).st_mode))
            put_in_place(part, self._path)
        except BaseException:
            os.close(descriptor)
            part.unlink(missing_ok=True)
            raise
        os.close(self._descriptor)
        self._descriptor = descriptor

    def close(self) -> None:
        """Close the file and release its lock."""
        os.close(self._descriptor)

    def lies_at(self, path: Path) -> bool:
        """Say whether a path still names this very file: it was not removed, replaced or made a link."""
        return _lies_at(path, self._descriptor)

    def append(self, line: bytes) -> None:
        """Write one line, given without its line end."""
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        if time.monotonic() - self._synced_at > _SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Wait until everything written is on the disk."""
        os.fsync(self._descriptor)
        self._synced_at = time.monotonic()


@contextmanager
def open_journal(path: Path, begins: bytes, *, truncate: bool = False) -> Iterator[Journal]:
    """Open a journal to append to, its torn last line repaired; made if it does not exist.

    ``begins`` are the first bytes of every journal of this kind: a file that begins otherwise is not ours, and is not
    touched. ``truncate`` removes all lines. Raises `RunError` if it cannot be written, is no regular file,
    holds something else, or another process is writing it.
    """
    target = Path(os.path.realpath(path))  # so that a link stays a link when the file is replaced
    try:
        descriptor = _open_locked(target, path, begins)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from error
    journal = Journal(target, descriptor)
    try:
        if truncate and not journal.is_empty:
            journal.start_over()  # cutting the file under a memory map would kill its reader
        else:
            _repair(descriptor)
        try:
            yield journal
        finally:
            journal.sync()
    except OSError as error:
        if error.errno == errno.EBADF and isinstance(error.__context__, KeyboardInterrupt):
            # Not of this file: where Ctrl-C cuts `shutil.rmtree` short, it closes the descriptor of a folder twice.
            raise error.__context__ from None
        raise RunError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        journal.close()


def _open_locked(target: Path, path: Path, begins: bytes) -> int:
    """Return a locked descriptor of a journal, made if missing; messages name it ``path``."""
    for _ in range(_MAX_OPENINGS):
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY, 0o666)
        try:
            _require_journal(descriptor, path, begins)
            if _lies_at(target, descriptor):  # else another file was put there since it was opened
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise RunError(f"{path}: another process replaces this file again and again; choose another name")


def _lies_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except OSError:
        return False


def _require_journal(descriptor: int, path: Path, begins: bytes) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise RunError(
            f"{path}: expected a regular file, to go on in later, got a pipe or a device; choose another name"
        )
    if not try_lock(descriptor):
        raise RunError(f"{path}: another process is writing this file; wait for it, or choose another name")
    if not begins.startswith(os.pread(descriptor, len(begins), 0)):  # a shorter head is a torn header
        raise RunError(f"{path}: holds something else, which would be lost; choose another name")


def _repair(descriptor: int) -> None:
    """Write the line end of a whole last line, and cut off a torn one."""
    size, end = os.fstat(descriptor).st_size, b""
    while len(end) < size and b"\n" not in end:
        n_bytes = min(size, max(_BLOCK_BYTES, 2 * len(end)))
        end = os.pread(descriptor, n_bytes, size - n_bytes)
    line = end.rpartition(b"\n")[2]
    if is_whole_object(line):
        os.write(descriptor, b"\n")
    elif line:
        os.ftruncate(descriptor, size - len(line))
