"""Optional libraries, which the extras of this package install: whether they are there, and in which versions."""

import importlib.util
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from evidencebench.errors import MissingExtraError


def require_extra(what: str, extra: str, *packages: str) -> None:
    """Raise `MissingExtraError` if a package is not installed; no package is imported. Messages begin with ``what``."""
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise MissingExtraError(
            f"{what}: needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed: "
            f"pip install 'evidencebench[{extra}]'"
        )


def library_versions(*packages: str) -> dict[str, str]:
    """Return package name -> installed version; packages that are not installed are left out."""
    versions = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
