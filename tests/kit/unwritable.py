"""Folders and files that this process may read and not write, or not write much to: the real thing, also as root."""

import os
import resource
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def open_to_all() -> Iterator[Path]:
    """Give a new folder whose way every user may go, unlike pytest's own; it is removed behind the block."""
    folder = Path(tempfile.mkdtemp(prefix="evidencebench-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def read_only(*paths: Path) -> Iterator[None]:
    """Run a block as somebody who may read these files and folders and write none of them."""
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in paths}
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    is_root = os.geteuid() == 0
    if is_root:  # whom no mode holds up
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode)


@contextmanager
def no_file_longer_than(n_bytes: int) -> Iterator[None]:
    """Run a block in which writing behind so many bytes of a file fails, as on a full disk or beyond a quota."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))  # Python itself ignores the signal
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
