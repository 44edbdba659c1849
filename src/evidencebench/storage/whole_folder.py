"""Write a folder that appears whole or not at all: it is made in ``FOLDER.part``, locked, and then moved."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evidencebench.errors import DataError
from evidencebench.storage.locks import try_lock
from evidencebench.storage.whole_file import put_in_place

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

    What a killed process left is removed by the next one. Raises `DataError`, as `require_replaceable_folder` too.
    """
    require_replaceable_folder(folder, marker=marker, overwrite=overwrite)
    part = folder.with_name(f"{folder.name}.part")
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
        made, scratch, old = part / "made", part / "scratch", part / "old"
        if old.exists() and not folder.exists():  # killed between the two renames below
            put_in_place(old, folder)
        for left in (made, scratch, old):
            shutil.rmtree(left, ignore_errors=True)
        made.mkdir()
        scratch.mkdir()
        try:
            yield made, scratch
            if folder.exists():
                put_in_place(folder, old)
            put_in_place(made, folder)
        finally:
            for left in (made, scratch, old, part):  # the lock last: a folder without it is not ours
                shutil.rmtree(left, ignore_errors=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        os.close(descriptor)
