"""Data and cache folders, and locks between processes."""

import errno
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import lock_descriptor
from platformdirs import user_cache_path, user_data_path

from evidencebench.errors import EvidenceBenchError

try:
    import fcntl
except ImportError:  # on Windows
    fcntl: Any = None  # type: ignore[no-redef]
    import msvcrt

_APPLICATION = "evidencebench"


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of the cache, or None where nothing is to be cached: `EVIDENCEBENCH_CACHE` is ``off``."""
    named = environ.get("EVIDENCEBENCH_CACHE")
    if named == "off":
        return None
    if named:
        return _folder("EVIDENCEBENCH_CACHE", named)
    return user_cache_path(_APPLICATION, appauthor=False)


def data_folder(environ: Mapping[str, str]) -> Path:
    if named := environ.get("EVIDENCEBENCH_DATA"):
        return _folder("EVIDENCEBENCH_DATA", named)
    return user_data_path(_APPLICATION, appauthor=False)


def _folder(variable: str, named: str) -> Path:
    try:
        return Path(named).expanduser()
    except RuntimeError as error:
        raise EvidenceBenchError(
            f"{variable}: expected a folder, got '{named}', whose home folder is not known; write the whole path"
        ) from error


# A byte of a file may be locked for each of many things at once; a file for each of them takes a hundred times as long.


def lock_byte(descriptor: int, place: int) -> bool:
    """Lock a byte of an open file, which need not be there; False: another process holds it."""
    try:
        if fcntl is not None:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        else:
            os.lseek(descriptor, place, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except (BlockingIOError, PermissionError):  # which of them depends on the system
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def unlock_byte(descriptor: int, place: int) -> None:
    with suppress(OSError):
        if fcntl is not None:
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, place)
        else:
            os.lseek(descriptor, place, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)


# What a file system says that has no locks, such as some network disks and disks of containers.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_IS_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def lock_of(path: Path) -> Path:
    """Return the lock file of a file or folder, beside it: on Windows nobody could read what is itself locked."""
    return path.with_name(f"{path.name}.lock")


@contextmanager
def hold(lock: Path, *, waits: bool = False) -> Iterator[bool]:
    """Hold a lock file while the block runs, and remove it then; yields False where another process holds it.

    The system frees what a killed process held. A file system without locks is warned of, and work goes on.
    """
    descriptor = _hold(lock, waits=waits)
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):  # Windows removes no open file: there it stays, free
            lock.unlink()
        os.close(descriptor)


def _hold(lock: Path, *, waits: bool) -> int | None:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | _IS_NO_LINK, 0o666)
        try:
            if not _is_locked(descriptor, waits=waits):
                os.close(descriptor)
                return None
            if lies_at(lock, descriptor):  # else whoever held it before has removed it
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_locked(descriptor: int, *, waits: bool) -> bool:
    try:
        return lock_descriptor(descriptor, blocking=waits)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        words = f"a file system here has no locks ({error.strerror}): let no two commands write the same file at once"
        warnings.warn(words, RuntimeWarning, stacklevel=1)  # of this line, so that it is said once
        return True


def lies_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is the one of this name, which may have been removed or replaced."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except OSError:
        return False
