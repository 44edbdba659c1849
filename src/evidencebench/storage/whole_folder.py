"""Write a folder that appears whole or not at all: it is made in ``FOLDER.part``, locked, and then moved."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evidencebench.errors import DataError
from evidencebench.storage.locks import try_lock
from evidencebench.storage.whole_file import restore_folder, swap_folder

_LOCK = "lock"


def require_replaceable_folder(folder: Path, *, marker: str, overwrite: bool) -> None:
    """Raise `DataError` where a folder cannot be written; one that is there needs ``overwrite``.

    ``marker`` is the name of the file by which a folder of the same sort is told: no other is ever replaced.
    """
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
    with locked_part(folder.with_name(f"{folder.name}.part"), folder) as part:
        made, scratch, old = part / "made", part / "scratch", part / "old"
        try:
            restore_folder(folder, old)
            require_replaceable_folder(folder, marker=marker, overwrite=overwrite)
            for left in (made, scratch, old):
                shutil.rmtree(left, ignore_errors=True)
            made.mkdir()
            scratch.mkdir()
            yield made, scratch
            swap_folder(made, folder, old)
        finally:
            restore_folder(folder, old)  # which a second Ctrl-C may have cut short
            for left in (made, scratch, old):
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def locked_part(part: Path, output: Path) -> Iterator[Path]:
    """Yield a folder that no other process uses meanwhile, and remove it where nothing was left in it.

    An `OSError` becomes a `DataError` on ``output``.
    """
    if part.is_dir() and any(part.iterdir()) and not (part / _LOCK).exists():
        raise DataError(f"{part}: is in the way, and not of evidencebench; move it, or choose another name")
    try:
        part.mkdir(exist_ok=True)
        descriptor = os.open(part / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise DataError(f"{part}: cannot be written: {error.strerror}") from error
    try:
        if not try_lock(descriptor):
            raise DataError(f"{part}: another process writes this folder; wait for it, or choose another name")
        try:
            yield part
        finally:
            if all(left.name == _LOCK for left in part.iterdir()):
                shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise DataError(f"{output}: cannot be written: {error.strerror}") from error
    finally:
        os.close(descriptor)
