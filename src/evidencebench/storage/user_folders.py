"""The folders of this user: where data and the cache lie unless the environment says otherwise."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from evidencebench.errors import EvidenceBenchError


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of the cache, or None where nothing is to be cached: `EVIDENCEBENCH_CACHE` is ``off``."""
    if environ.get("EVIDENCEBENCH_CACHE") == "off":
        return None
    return user_folder(environ, own="EVIDENCEBENCH_CACHE", shared="XDG_CACHE_HOME", default=".cache")


def data_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of downloaded data."""
    return user_folder(environ, own="EVIDENCEBENCH_DATA", shared="XDG_DATA_HOME", default=".local/share")


def user_folder(environ: Mapping[str, str], *, own: str, shared: str, default: str) -> Path:
    """Return the folder that the environment names for files of one sort; it need not exist yet.

    The variable ``own`` names the folder itself. The variable ``shared`` names the folder above `evidencebench`, and is
    ignored unless absolute. Where neither is set, that is ``default`` in the home folder (`HOME`, or as the system
    knows it). An empty variable counts as not set (XDG Base Directory Specification 0.8). Raises `EvidenceBenchError`
    where a home folder is needed, and none is known.
    """
    if named := environ.get(own):
        return _expand_home(named, environ, own)
    if (folder := Path(environ.get(shared, ""))).is_absolute():
        return folder / "evidencebench"
    return _home(environ, own) / default / "evidencebench"


def _expand_home(named: str, environ: Mapping[str, str], variable: str) -> Path:
    first, *rest = Path(named).parts
    if first == "~":
        return _home(environ, variable).joinpath(*rest)
    try:
        return Path(named).expanduser()
    except RuntimeError as error:
        raise EvidenceBenchError(
            f"{variable}: expected a folder, got '{named}', whose home folder is not known; write the whole path"
        ) from error


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
