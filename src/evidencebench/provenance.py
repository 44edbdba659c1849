"""Versions, digests of code, optional libraries (require_extra)."""

import ast
import hashlib
import importlib.util
import inspect
import site
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, ModuleType

from evidencebench.errors import MissingExtraError, SystemSpecError

CODE_OF = "code of "
"""A header names the digest of own code by this and the system's name: ``code of my_systems.py:MySystem``."""

_PACKAGE = "__init__.py"


def versions_of_code(name: str, module: ModuleType | None, code: object = None) -> dict[str, str]:
    """Return the digests of own code by name: of what it uses of its module's file, and of ``code`` itself.

    The second tells functions of one name apart, and is all there is of code that was typed into a notebook.
    """
    if module is None:
        return {}
    has_file = Path(getattr(module, "__file__", None) or "").is_file()
    digest = code_digest(module, _names_in(module, name, code)) if has_file or code is None else None
    entries = {} if digest is None else {f"{CODE_OF}{name}": digest}
    if code is not None and not (has_file and isinstance(code, type)):
        sources = hashlib.sha256("\n".join(_sources(code)).encode()).hexdigest()
        entries["function" if has_file else f"{CODE_OF}{name}"] = sources
    return {key: f"sha256:{value}" for key, value in entries.items()}


def merged_versions(*versions: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of several systems as one mapping.

    >>> merged_versions({"numpy": "2.1", "model": "a"}, {"numpy": "2.1", "model": "b"})
    {'numpy': '2.1', 'model': 'a and b'}
    """
    merged: dict[str, str] = {}
    for key, value in (item for of_system in versions for item in of_system.items()):
        known = merged.setdefault(key, value)
        if value not in known.split(" and "):
            merged[key] = f"{known} and {value}"
    return merged


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """Return the differences of two mappings in words; an empty text where they are equal.

    >>> differences({"numpy": "2.1", "a": "1"}, {"numpy": "2.2", "a": "1", "b": "0"})
    "numpy was '2.1', now '2.2'; b was not given, now '0'"
    >>> differences({"code of f.py:f": "sha256:01ab"}, {"code of f.py:f": "sha256:23cd"})
    'code of f.py:f changed'
    """
    changed = (
        (key, [repr(versions[key]) if key in versions else "not given" for versions in (before, after)])
        for key in {**before, **after}
        if key not in before or key not in after or before[key] != after[key]
    )
    return "; ".join(
        f"{key.replace('__main__:', '')} changed"
        if _is_digest(was) and _is_digest(now)
        else f"{key} was {was}, now {now}"
        for key, (was, now) in changed
    )


def _is_digest(shown: str) -> bool:
    return shown.startswith("'sha256:")


def digest_of(ids: Iterable[str]) -> str:
    """Return the sha256 of ids, each ended by a line feed as in a file, in hexadecimal."""
    return hashlib.sha256("".join(f"{name}\n" for name in ids).encode(errors="surrogatepass")).hexdigest()


def _sources(code: object) -> Iterator[str]:
    """Yield the source of a function, or of each method of a class; of what has none, what it is compiled to."""
    if isinstance(code, type):
        for name, member in sorted(vars(code).items()):
            yield from (name, *_sources(member))
        return
    function = getattr(code, "__func__", code)
    try:
        yield inspect.getsource(function)  # type: ignore[arg-type] # raises TypeError for what is no code
    except (OSError, TypeError):
        if isinstance(compiled := getattr(function, "__code__", None), CodeType):  # of `exec`
            constants = [repr(constant) for constant in compiled.co_consts if not isinstance(constant, CodeType)]
            yield f"{compiled.co_code.hex()} {compiled.co_names} {constants}"


def _names_in(module: ModuleType, name: str, code: object) -> frozenset[str]:
    """Return what own code is called in its module: the name behind the colon, and that of the class or function."""
    named = {name.rpartition(":")[2]} if ":" in name else set()
    if getattr(code, "__module__", None) == module.__name__:
        named.add(str(getattr(code, "__qualname__", "")))
    return frozenset(one.partition(".")[0] for one in named if one)


_known: dict[tuple[str, frozenset[str]], tuple[ModuleSpec | None, str]] = {}
"""Module, names -> its spec and digest at its import: a later edit of the file does not change the code that runs."""


def code_digest(module: ModuleType, names: frozenset[str] = frozenset()) -> str | None:
    """Return the checksum of a module's source and of all that it imports from its folder; None for this package.

    Of the module, only the statements count that ``names`` use; all of them where none is given. The folder is the one
    that holds the module, or its outermost package. Of an installed module, only its own package counts. Imports are
    read, not run, so that one by ``importlib`` does not count. An edit of a file counts once the module is imported
    again. Raises `SystemSpecError` if a file cannot be read, or if the module comes from no file.
    """
    name = module.__name__
    if name.partition(".")[0] == __name__.partition(".")[0]:
        return None
    known = _known.get((name, names))
    if known is None or known[0] is not module.__spec__:  # another spec, if the module was imported again
        known = _known[name, names] = (module.__spec__, _digest(module, names))
    return known[1]


def _digest(module: ModuleType, names: frozenset[str]) -> str:
    if not getattr(module, "__file__", None):
        raise SystemSpecError(
            f"own code '{module.__name__}': expected a module that comes from a file, whose checksum the header holds; "
            "write it into one"
        )
    source = Path(str(module.__file__)).absolute()
    parts = module.__name__.split(".")
    root = source.parents[len(parts) if source.name == _PACKAGE else len(parts) - 1]
    # Packages that lie side by side where packages are installed do not belong together.
    installed = [*site.getsitepackages(), site.getusersitepackages(), *sysconfig.get_paths().values()]
    only = parts[0] if root in {Path(folder).absolute() for folder in installed} else None
    digests: dict[str, str] = {}
    waiting = [(module.__name__, source)]
    while waiting:
        name, path = waiting.pop()
        if name in digests:
            continue
        try:
            content = path.read_bytes()
        except OSError as error:
            raise SystemSpecError(f"own code '{name}': {path} cannot be read: {error.strerror}") from error
        content = _used(content, names) if path == source else content
        digests[name] = hashlib.sha256(content).hexdigest()
        package = name if path.name == _PACKAGE else name.rpartition(".")[0]
        waiting += [
            (imported, file)
            for imported in _imported_names(content, package)
            if only in {None, imported.partition(".")[0]} and (file := _file_of(root, imported)) is not None
        ]
    # The module's own name is left out: a module that is found by its file may have any name.
    lines = [digests.pop(module.__name__), *(f"{name} {digest}" for name, digest in sorted(digests.items()))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _used(content: bytes, names: frozenset[str]) -> bytes:
    """Return the statements of a module that some names use, in order; all of it where it does not define them."""
    try:
        statements = ast.parse(content).body
    except (SyntaxError, ValueError):
        return content
    defining: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for name in _defined_by(statement):
            defining.setdefault(name, []).append(statement)
    if not names or not names <= defining.keys():
        return content
    used, waiting = set[ast.stmt](), list(names)
    while waiting:
        for statement in defining.pop(waiting.pop(), []):
            used.add(statement)
            waiting += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    used.update(defining.get("*", []))
    return "\n".join(ast.unparse(statement) for statement in statements if statement in used).encode()


def _defined_by(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module defines or changes."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    names = set[str]()
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):  # as TABLE["a"] = 1
            names |= {inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name)}
    return names


def _imported_names(content: bytes, package: str) -> Iterator[str]:
    """Yield the dotted names that a source imports anywhere in it, and the names of their packages."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # the import of such a file may stand in code that is never run
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
    folder = root.joinpath(*name.split("."))
    candidates = (folder / _PACKAGE, folder.with_name(f"{folder.name}.py"))
    return next((path for path in candidates if path.is_file()), None)


# Optional libraries, which the extras of this package install: whether they are there, and in which versions.


def require_extra(what: str, extra: str, *packages: str) -> None:
    """Raise `MissingExtraError` if a package is not installed; no package is imported. Messages begin with ``what``."""
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise MissingExtraError(
            f"{what}: needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed: "
            f"pip install 'evidencebench[{extra}]'"
        )


def library_versions(*packages: str) -> dict[str, str]:
    versions = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
