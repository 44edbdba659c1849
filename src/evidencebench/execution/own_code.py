"""Import own code by module or file, and show where it failed."""

import hashlib
import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Collection
from pathlib import Path
from types import ModuleType
from typing import Any

from evidencebench.errors import SystemSpecError
from evidencebench.files.disk import open_file, why_unreadable
from evidencebench.wording import did_you_mean

_FILE_SUFFIX = ".py"
_MAX_TRACE_CHARACTERS, _MAX_TRACE_FRAMES = 10_000, 20


def is_file(place: str) -> bool:
    return place.endswith(_FILE_SUFFIX)


def find_own_code(name: str) -> tuple[Callable[..., Any], ModuleType]:
    """Import ``package.module:factory`` or ``file.py:factory``; return the class or function, and its module.

    Modules in the current folder, and in that of a named file, are found from then on, unless one of the name is
    installed: both folders are put behind the others of `sys.path`.
    """
    place, _, attribute = name.rpartition(":")
    try:
        _look_into(Path.cwd())
        module = _import_file(Path(place)) if is_file(place) else importlib.import_module(place)
    except Exception as error:  # own code may raise anything
        words = str(error)
        if isinstance(error, OSError) and error.filename:
            words = f"{error.filename}: {why_unreadable(Path(error.filename), error)}"
        if isinstance(error, ImportError) and is_file(place) and "relative import" in words:
            words += "; name a file of a package by its module, as package.module:factory"
        trace = trace_of(error, {__file__, str(importlib.__file__), Path.resolve.__code__.co_filename})
        raise SystemSpecError(f"system '{name}': cannot be imported: {words}").at(trace) from error
    factory = getattr(module, attribute, None)
    if factory is None:
        message = f"module '{place}' has no attribute '{attribute}'{did_you_mean(attribute, vars(module))}"
        own = Path(f"{place.replace('.', '/')}{_FILE_SUFFIX}")
        imported = Path(getattr(module, "__file__", None) or "")
        if not is_file(place) and own.exists() and own.resolve() != imported.resolve():
            message += f"; it is not the one in this folder, which is named by its file: ./{own}:{attribute}"
        raise SystemSpecError(f"system '{name}': cannot be imported: {message}")
    if not callable(factory):
        raise SystemSpecError(f"system '{name}': expected a class or function that makes a system, got {factory!r}")
    return factory, module


def _look_into(folder: Path) -> None:
    """Find modules in a folder too, behind all that is installed, so that it hides no module."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    importlib.invalidate_caches()  # finds files that were just written


def _import_file(path: Path) -> ModuleType:
    """Return the module in a file, under the file's name if that is free, so that modules beside it can import it."""
    file = path.resolve(strict=True)
    open_file(file).close()  # raises for a pipe, which the import would wait for
    _look_into(file.parent)
    if file.stem.isidentifier() and file.stem not in sys.builtin_module_names and _file_of(file.stem) == file:
        return importlib.import_module(file.stem)
    # The name has no dots, which would make it a module of a package: its imports would be searched one folder higher.
    name = f"{re.sub(r'[^a-zA-Z0-9_]', '_', file.stem)}_{hashlib.sha256(bytes(file)).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: expected a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _file_of(name: str) -> Path | None:
    """Return the file that an import of this name loads; None if there is none."""
    known = sys.modules.get(name)
    spec = importlib.util.find_spec(name) if known is None else None
    source = getattr(known, "__file__", None) or (spec.origin if spec is not None else None)
    return Path(source).resolve() if source else None


def trace_of(error: BaseException, asking: Collection[str]) -> str | None:
    """Return the traceback of an error from the first frame of own code on; None if none was called."""
    step = error.__traceback__
    while step is not None and (
        step.tb_frame.f_code.co_filename in asking or step.tb_frame.f_code.co_filename.startswith("<frozen ")
    ):
        step = step.tb_next
    if step is not None:
        lines = traceback.format_exception(type(error), error, step, limit=-_MAX_TRACE_FRAMES)
    elif isinstance(error, SyntaxError):  # its message names the line
        lines = traceback.format_exception_only(error)
    else:
        return None
    return "".join(lines)[:_MAX_TRACE_CHARACTERS].encode(errors="backslashreplace").decode()


def beginning_of(function: object) -> str | None:
    """Return where a function of own code begins, as a line of a trace; None if it is not written in Python."""
    code = getattr(function, "__code__", None)
    return code and f'  File "{code.co_filename}", line {code.co_firstlineno}, in {code.co_qualname}\n'


def place_in(trace: str | None) -> str:
    """Return the last place of own code in a trace as `` (file.py:3)``: in the folder where the trace begins."""
    frames = re.findall(r'^  File "(.+)", line (\d+)', trace or "", re.MULTILINE)
    own = [f" ({file}:{line})" for file, line in frames if Path(file).parent == Path(frames[0][0]).parent]
    return own[-1] if own else ""
