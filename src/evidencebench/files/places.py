"""Data and cache folders, locks between processes, and what a forked process begins anew."""

import errno
import fcntl
import os
import pwd
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from evidencebench.errors import EvidenceBenchError

# The folders of this user: where data and the cache lie unless the environment says otherwise.


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of the cache, or None where nothing is to be cached: `EVIDENCEBENCH_CACHE` is ``off``."""
    if environ.get("EVIDENCEBENCH_CACHE") == "off":
        return None
    return user_folder(environ, own="EVIDENCEBENCH_CACHE", shared="XDG_CACHE_HOME", default=".cache")


def data_folder(environ: Mapping[str, str]) -> Path:
    return user_folder(environ, own="EVIDENCEBENCH_DATA", shared="XDG_DATA_HOME", default=".local/share")


def user_folder(environ: Mapping[str, str], *, own: str, shared: str, default: str) -> Path:
    """Return the folder that the environment names for files of one sort; it need not exist yet.

    The variable ``own`` names the folder itself. The variable ``shared`` names the folder above `evidencebench`, and is
    ignored unless absolute. Where neither is set, that is ``default`` in the home folder (`HOME`, or as the system
    knows it). An empty variable counts as not set (XDG Base Directory Specification 0.8). Raises `EvidenceBenchError`
    where a home folder is needed, and none is known.
    """
    if named := environ.get(own):
        first, *rest = Path(named).parts
        try:
            return _home(environ, own).joinpath(*rest) if first == "~" else Path(named).expanduser()
        except RuntimeError as error:
            raise EvidenceBenchError(
                f"{own}: expected a folder, got '{named}', whose home folder is not known; write the whole path"
            ) from error
    if (folder := Path(environ.get(shared, ""))).is_absolute():
        return folder / "evidencebench"
    return _home(environ, own) / default / "evidencebench"


def _home(environ: Mapping[str, str], variable: str) -> Path:
    """Return this user's home folder; never the root of the disk because `HOME` is empty."""
    home = environ.get("HOME")
    if not home:
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:  # a user of a number only, as in a container
            home = None
    if not home:
        raise EvidenceBenchError(
            f"HOME: expected this user's home folder, got nothing, and the system knows of none; set HOME, or "
            f"{variable} to a folder"
        )
    return Path(home)


# Locks between processes: a process holds a file or a folder while a block runs. A killed process holds no more.


# What a file system says that has no locks, such as some network disks and disks of containers.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


def try_lock(descriptor: int) -> bool:
    """Lock an open file; False: another process holds it. A file system without locks is warned of, work goes on."""
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


T = TypeVar("T")
_BEGIN_ANEW: weakref.WeakKeyDictionary[Any, Callable[[Any], object]] = weakref.WeakKeyDictionary()


def call_in_forks(owner: T, begin: Callable[[T], object]) -> None:
    """Call `begin` with an object in every process that is forked from this one, as long as the object lives."""
    _register_once()
    _BEGIN_ANEW[owner] = begin


@cache
def _register_once() -> None:
    os.register_at_fork(after_in_child=lambda: [begin(owner) for owner, begin in list(_BEGIN_ANEW.items())])
