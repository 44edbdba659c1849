"""Write a folder that appears whole or not at all: it is made in ``FOLDER.part``, locked, and then moved."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evidencebench.errors import DataError
from evidencebench.storage.locks import locked_file
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
    if part.is_dir() and any(part.iterdir()) and not (part / _LOCK).exists():
        raise DataError(f"{part}: is in the way, and not of evidencebench; move it, or choose another name")
    made, scratch = part / "made", part / "scratch"
    try:
        part.mkdir(exist_ok=True)
        with locked_file(part / _LOCK) as is_held:
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
