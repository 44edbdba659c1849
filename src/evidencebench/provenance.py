"""Versions of libraries and digests of code, by name: with the options, they decide a system's answers."""

import ast
import hashlib
import site
import sysconfig
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from evidencebench.errors import SystemSpecError

CODE_OF = "code of "
"""What stands before the name of own code among the versions in a header."""

_PACKAGE = "__init__.py"


def versions_of_code(name: str, module: ModuleType | None) -> dict[str, str]:
    """Return the digest of own code as a header holds it; nothing for what this package brings, without a module."""
    digest = None if module is None else code_digest(module)
    return {} if digest is None else {f"{CODE_OF}{name}": f"sha256:{digest}"}


def merged_versions(*versions: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that decide several systems' answers together.

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

    >>> differences({"numpy": "2.1", "a": "1"}, {"numpy": "2.2", "a": "1", "b": "0"})
    "numpy was '2.1', now '2.2'; b was not told, now '0'"
    """
    told = (
        (key, [repr(one[key]) if key in one else "not told" for one in (before, after)])
        for key in {**before, **after}
        if key not in before or key not in after or before[key] != after[key]
    )
    return "; ".join(f"{key} was {was}, now {now}" for key, (was, now) in told)


_known: dict[str, tuple[ModuleSpec | None, str]] = {}
"""Module name -> how it was imported, and its digest then: a file that is edited later does not change what runs."""


def code_digest(module: ModuleType) -> str | None:
    """Return the checksum of a module's source and of all that it imports from its folder; None for this package's.

    The folder is the one that holds the module, or the outermost package that it is in; of what is installed, that
    package alone. Imports are read, not run: one that is made by ``importlib`` does not count. An edit of the file
    counts once it is imported anew. Raises `SystemSpecError` if a file cannot be read, or the module comes from none.
    """
    name = module.__name__
    if name.partition(".")[0] == __name__.partition(".")[0]:
        return None
    known = _known.get(name)
    if known is None or known[0] is not module.__spec__:  # another spec, if the module was imported again
        known = _known[name] = (module.__spec__, _digest(module))
    return known[1]


def _digest(module: ModuleType) -> str:
    if not getattr(module, "__file__", None):
        raise SystemSpecError(
            f"own code '{module.__name__}': expected a module that comes from a file, whose checksum the header holds; "
            "write it into one"
        )
    source = Path(str(module.__file__)).absolute()
    parts = module.__name__.split(".")
    root = source.parents[len(parts) if source.name == _PACKAGE else len(parts) - 1]
    only = parts[0] if root in _installed() else None
    found: dict[str, str] = {}
    todo = [(module.__name__, source)]
    while todo:
        name, path = todo.pop()
        if name in found:
            continue
        try:
            content = path.read_bytes()
        except OSError as error:
            raise SystemSpecError(f"own code '{name}': {path} cannot be read: {error.strerror}") from error
        found[name] = hashlib.sha256(content).hexdigest()
        package = name if path.name == _PACKAGE else name.rpartition(".")[0]
        todo += [
            (one, file)
            for one in _imported(content, package)
            if only in {None, one.partition(".")[0]} and (file := _file_of(root, one)) is not None
        ]
    # The module itself goes by no name, since one that is found by its file may be given any.
    lines = [found.pop(module.__name__), *(f"{name} {digest}" for name, digest in sorted(found.items()))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _installed() -> set[Path]:
    """Return the folders of installed packages, whose neighbours are no part of each other."""
    named = [*site.getsitepackages(), site.getusersitepackages(), *sysconfig.get_paths().values()]
    return {Path(one).absolute() for one in named}


def _imported(content: bytes, package: str) -> Iterator[str]:
    """Yield the dotted names that a source imports, wherever it does, and those of the packages around them."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # a file that does not parse may be imported and never run
        return
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            around = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join(filter(None, [*around, node.module]))
            names = [base, *(f"{base}.{alias.name}" if base else alias.name for alias in node.names)]
        for name in filter(None, names):
            parts = name.split(".")
            yield from (".".join(parts[: n + 1]) for n in range(len(parts)))


def _file_of(root: Path, name: str) -> Path | None:
    """Return the source of a module where it lies below a folder."""
    place = root.joinpath(*name.split("."))
    candidates = (place / _PACKAGE, place.with_name(f"{place.name}.py"))
    return next((path for path in candidates if path.is_file()), None)
