"""Files that appear whole or not at all."""

import gzip
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from evidencebench.errors import DataError


@contextmanager
def whole_file(path: Path, *, follows_links: bool = True) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Give a file that becomes ``path`` when the block ends well, and vanishes when it does not.

    Parameters
    ----------
    path
        The file; one that is there is replaced. What is written is gzipped where the name ends in ``.gz``, the same
        bytes for the same content.
    follows_links
        Whether, of a path that is a link, what it points to is replaced, or the link itself.

    Raises
    ------
    DataError
        If it cannot be written.
    """
    if follows_links:
        path = path.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            if path.name.endswith(".gz"):
                with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                    yield packed
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(_mode_for(path))
        part.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _mode_for(path: Path) -> int:
    """Return the permissions of a file: its own where it exists, else what any new file of this user gets."""
    if path.exists() and not path.is_symlink():
        return stat.S_IMODE(path.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
