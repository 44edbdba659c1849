"""The one place where tests reach behind the public names of the package; `doors.pyi` lists what they take, and why.

Whatever `evidencebench` names, tests import from there.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
# Name here -> its module and its name there, imported when the name is first used, so that a process imports little.
_PLACES = {name: (module, name) for module, name in re.findall(r"^from (\S+) import (\w+) as", _STUB, re.MULTILINE)}
_PLACES |= {own: (module, name) for own, module, name in re.findall(r"^(\w+) = (\S+)\.(\w+)$", _STUB, re.MULTILINE)}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"doors.pyi does not list '{name}'")
    module, original = _PLACES[name]
    holder = import_module(module)
    return getattr(holder, original) if hasattr(holder, original) else import_module(f"{module}.{original}")
