"""Versions of libraries and digests of code, by name: with the options, they decide a system's answers."""

from collections.abc import Mapping
from types import ModuleType

from evidencebench.code_digest import code_digest

CODE_OF = "code of "
"""What stands before the name of own code among the versions in a header."""


def versions_of_code(name: str, module: ModuleType | None) -> dict[str, str]:
    """Return the digest of own code as a header holds it; nothing for what this package brings, without a module."""
    digest = None if module is None else code_digest(module)
    return {} if digest is None else {f"{CODE_OF}{name}": f"sha256:{digest}"}


def merged_versions(*versions: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that decide several systems' answers together.

    Examples
    --------
    >>> merged_versions({"numpy": "2.1", "model": "a"}, {"numpy": "2.1", "model": "b"})
    {'numpy': '2.1', 'model': 'a and b'}
    """
    merged: dict[str, str] = {}
    for key, value in (item for one in versions for item in one.items()):
        known = merged.setdefault(key, value)
        if value not in known.split(" and "):
            merged[key] = f"{known} and {value}"
    return merged


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """Return what differs between two mappings, in words; empty where nothing does.

    Examples
    --------
    >>> differences({"numpy": "2.1", "a": "1"}, {"numpy": "2.2", "a": "1", "b": "0"})
    "numpy was '2.1', now '2.2'; b was not told, now '0'"
    """
    told = (
        (key, [repr(one[key]) if key in one else "not told" for one in (before, after)])
        for key in {**before, **after}
        if key not in before or key not in after or before[key] != after[key]
    )
    return "; ".join(f"{key} was {was}, now {now}" for key, (was, now) in told)
