"""Write files and folders so that a reader finds them whole or not at all, also after a power cut."""

import errno
import gzip
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from evidencebench.errors import DataError
from evidencebench.files.places import hold

Output = IO[bytes] | gzip.GzipFile

_WAIT_SECONDS = 10.0  # for whoever reads a pipe; two commands of one line start within less
_LOOK_AGAIN_SECONDS = 0.01
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_LOCK = "lock"
_IS_WINDOWS = os.name == "nt"
_ABANDONED_SECONDS = 24 * 3600.0  # without a byte written

# Streams that this process has open: opened again by name, they would be written from the beginning.
_DESCRIPTORS = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,9})")


def write_whole(path: Path, content: str | bytes | Iterable[bytes]) -> None:
    """Write text (as UTF-8), bytes, or parts of bytes to a file; raises as `whole_file`."""
    with whole_file(path) as file:
        if isinstance(content, str | bytes):
            file.write(content.encode() if isinstance(content, str) else content)
        else:
            file.writelines(content)


@contextmanager
def whole_file(path: Path, *, follows_links: bool = True) -> Iterator[Output]:
    """Yield a file that becomes ``path`` when the block ends without an error, and is deleted otherwise.

    A file that is there is replaced; of a link, its target, unless ``follows_links`` is off. A stream (see `is_stream`)
    stays, and all is written into it when the block ends without an error. The content is gzipped where the name ends
    in ``.gz``, with the same bytes for the same content. Raises `DataError` if it cannot be written, or
    is neither a regular file nor a stream.
    """
    try:
        if follows_links and is_stream(path):
            with tempfile.TemporaryFile() as held:
                with _gzip_by_name(held, path) as file:
                    yield file
                held.seek(0)
                number = _descriptor(path)
                with os.fdopen(_opened(path) if number is None else os.dup(number), "wb") as stream:
                    shutil.copyfileobj(held, stream)
        else:
            with _replacement(path.resolve() if follows_links else path) as part, _gzip_by_name(part, path) as file:
                yield file
    except OSError as error:
        if isinstance(error, BrokenPipeError) and is_standard_output(path):
            raise  # the reader of the pipe has closed it
        raise DataError(f"{path}: {why_unwritable(path, error)}") from error


def why_unwritable(path: Path, error: OSError) -> str:
    """Return what is wrong with a place that cannot be written, and what to do."""
    if path.is_dir():
        return "is a folder; expected the name of a file to write"
    if not path.parent.is_dir():
        return f"cannot be written: there is no folder '{path.parent}'; make it first"
    cannot_be_mended_here = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)
    advice = "; choose a name in another folder" if cannot_be_mended_here else ""
    return f"cannot be written: {error.strerror or error}{advice}"


def put_in_place(part: Path, path: Path) -> None:
    """Rename a finished file or folder to ``path`` on the same disk, after all of it is there; raises `OSError`."""
    for inside in [*(part.rglob("*") if part.is_dir() else ()), part]:
        sync_to_disk(inside)
    _rename(part, path)


def swap_folder(made: Path, folder: Path, old: Path) -> None:
    """Put a finished folder in the place of one that is there, which is ``old`` meanwhile; raises `OSError`.

    Whatever happens, one of both stands at ``folder`` afterwards; where this process is killed, after `restore_folder`.
    """
    shutil.rmtree(old, ignore_errors=True)
    put_in_place(made, made)  # so that both are on the disk while neither has the name
    try:
        if folder.exists():
            folder.rename(old)
        _rename(made, folder)
    finally:
        restore_folder(folder, old)
    shutil.rmtree(old, ignore_errors=True)


def restore_folder(folder: Path, old: Path) -> None:
    """Give a folder its name back that `swap_folder` has moved away, where no new one has got it; raises `OSError`."""
    if old.exists() and not folder.exists():
        _rename(old, folder)


def new_part(path: Path) -> Path:
    """Return a temporary name beside a path; delete the temporary files that processes left which were killed."""
    part_name = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.part")
    with suppress(OSError):  # a folder that may be written to, and not be listed
        for name in filter(part_name.fullmatch, os.listdir(path.parent)):  # noqa: PTH208 - of any size, for each file
            _remove_abandoned(path.with_name(name))
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _remove_abandoned(part: Path) -> None:
    if time.time() - part.stat().st_mtime > _ABANDONED_SECONDS:
        part.unlink()


def write_folder(folder: Path, files: Mapping[str, bytes], *, names_all: str, owned: Sequence[str]) -> None:
    """Write files that belong together, so that a reader finds all the old ones or all the new ones.

    ``files`` maps names to contents. New content must have a new name, except for the file ``names_all``, which names
    the others and is written last. Then other files that match the patterns ``owned`` are removed. Raises `DataError`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with hold(folder / _LOCK, waits=True):  # else one process would remove files that the other is about to name
            for name in sorted(files, key=lambda name: name == names_all):
                write_whole(folder / name, files[name])
            for path in (path for pattern in owned for path in folder.glob(pattern)):
                if path.name not in files:
                    path.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror}") from error


def sync_to_disk(path: Path) -> None:
    """Wait until a file is on the disk; of a folder, until the names in it are."""
    if _IS_WINDOWS and path.is_dir():  # which opens no folder
        return
    descriptor = os.open(path, os.O_RDWR if _IS_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_stream(path: Path) -> bool:
    """Say whether a path is a pipe, a terminal, ``/dev/null`` or ``/dev/stdout``: bytes go on at once, into no file."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def is_standard_output(path: Path) -> bool:
    return _descriptor(path) == 1


def _descriptor(path: Path) -> int | None:
    named = _DESCRIPTOR.fullmatch(str(path))
    return int(named[1]) if named else _DESCRIPTORS.get(str(path))


def _opened(stream: Path) -> int:
    """Open a stream to write; of a pipe, wait a while for its reader, and not for ever for one that never comes."""
    ends_at = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            descriptor = os.open(stream, os.O_WRONLY | _WITHOUT_WAITING)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > ends_at:
                raise OSError(errno.ENXIO, "is a pipe that nobody reads; start what reads it first") from error
            time.sleep(_LOOK_AGAIN_SECONDS)
        else:
            os.set_blocking(descriptor, True)
            return descriptor


@contextmanager
def _gzip_by_name(file: IO[bytes], path: Path) -> Iterator[Output]:
    if path.name.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield packed
    else:
        yield file


@contextmanager
def _replacement(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file beside a path, which replaces it in the end, with its permissions."""
    mode = _mode_for(path)
    part = new_part(path)
    try:
        with open(part, "xb", opener=_for_this_user) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(mode)
        _rename(part, path)
    finally:
        part.unlink(missing_ok=True)


def _for_this_user(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _rename(part: Path, path: Path) -> None:
    part.replace(path)
    with suppress(OSError):  # a folder that cannot be read, or a file system that knows nothing of folders
        sync_to_disk(path.parent)


def _mode_for(path: Path) -> int:
    """Return the permissions of a file: its own where it exists, else what any new file of this user gets."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        mode = 0
    if stat.S_ISREG(mode):
        return stat.S_IMODE(mode)
    if mode and not stat.S_ISLNK(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "is no regular file, and would be lost; choose another name")
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


# Write a folder that appears whole or not at all: it is made in ``FOLDER.part``, locked, and then moved.

_OWN = {_LOCK, "made", "scratch", "old", "whole"}


def require_replaceable_folder(folder: Path, *, marker: str, overwrite: bool) -> None:
    """Raise `DataError` where a folder cannot be written, or replaced, as only one with the file ``marker`` can."""
    if not folder.parent.is_dir():
        raise DataError(f"{folder}: cannot be written: there is no folder '{folder.parent}'; make it first")
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: is a file; expected the name of a folder")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / marker).is_file():
        raise DataError(f"{folder}: holds something else, which would be lost; choose another name")
    if not overwrite:
        raise DataError(f"{folder}: exists; choose another name, or replace it with --overwrite")


@contextmanager
def whole_folder(folder: Path, *, marker: str, overwrite: bool) -> Iterator[tuple[Path, Path]]:
    """Yield a folder, which becomes ``folder`` when the block ends without an error, and one for what is thrown away.

    Otherwise what was at ``folder`` stays there. What a killed process left is removed by the next one, and a folder
    that it had moved away is there again. Raises `DataError`, as `require_replaceable_folder` too.
    """
    require_replaceable_folder(folder, marker=marker, overwrite=overwrite)
    with locked_part(folder.with_name(f"{folder.name}.part"), folder) as (made, scratch):
        old = made.with_name("old")
        restore_folder(folder, old)
        require_replaceable_folder(folder, marker=marker, overwrite=overwrite)
        yield made, scratch
        swap_folder(made, folder, old)


@contextmanager
def locked_part(part: Path, output: Path) -> Iterator[tuple[Path, Path]]:
    """Yield two empty folders in a folder that no other process uses meanwhile, and remove all that is nothing else.

    An `OSError` becomes a `DataError` on ``output``.
    """
    if part.is_dir() and any(path.name not in _OWN for path in part.iterdir()):
        raise DataError(f"{part}: is in the way, and not of evidencebench; move it, or choose another name")
    made, scratch = part / "made", part / "scratch"
    try:
        part.mkdir(exist_ok=True)
        with hold(part / _LOCK) as is_held:
            if not is_held:
                raise DataError(f"{part}: another process writes this folder; wait for it, or choose another name")
            try:
                for folder in (made, scratch):
                    shutil.rmtree(folder, ignore_errors=True)
                    folder.mkdir()
                yield made, scratch
            finally:
                for folder in (made, scratch):
                    shutil.rmtree(folder, ignore_errors=True)
                if all(path.name == _LOCK for path in part.iterdir()):
                    shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise DataError(f"{output}: cannot be written: {error.strerror}") from error
