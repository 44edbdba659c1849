"""Where what can be computed again is kept between runs, and how that is switched off."""

from collections.abc import Mapping
from pathlib import Path

from evidencebench.storage.folders import user_folder

OFF = "off"
"""The value of `EVIDENCEBENCH_CACHE` that keeps nothing."""


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder for embeddings and converted models, or None where nothing is to be kept.

    Parameters
    ----------
    environ
        The environment, usually `os.environ`. The first of these that is set and not empty decides:
        `EVIDENCEBENCH_CACHE` (the folder itself, or ``off``), `XDG_CACHE_HOME` (ours is `evidencebench` in it;
        ignored unless absolute), `HOME`. Without any of them the user's home folder is asked of the system.

    Raises
    ------
    EvidenceBenchError
        If a home folder is needed, and there is none.

    Source
    ------
    XDG Base Directory Specification 0.8: the default, and that a relative path there is invalid.

    Examples
    --------
    >>> cache_folder({"HOME": "/home/ada"}).as_posix()
    '/home/ada/.cache/evidencebench'
    >>> cache_folder({"EVIDENCEBENCH_CACHE": "off", "HOME": "/home/ada"}) is None
    True
    """
    if environ.get("EVIDENCEBENCH_CACHE") == OFF:
        return None
    return user_folder(environ, own="EVIDENCEBENCH_CACHE", shared="XDG_CACHE_HOME", default=".cache")
