"""The files of a new package with one system, which `evidencebench systems new` writes."""

import importlib.util
import keyword
import re

from evidencebench.errors import SystemSpecError
from evidencebench.execution.system_table import SYSTEMS
from evidencebench.files.disk import packaged_table
from evidencebench.version import __version__

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def require_new_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SystemSpecError(f"'{name}': expected small letters, digits and single -, as in my-ranker")
    if name in SYSTEMS:
        raise SystemSpecError(f"'{name}': there is a system of this name; choose another")
    module = name.replace("-", "_")
    if keyword.iskeyword(module) or importlib.util.find_spec(module) is not None:
        raise SystemSpecError(f"'{name}': '{module}' is a module or a word of Python already; choose another name")


def plugin_files(name: str) -> dict[str, str]:
    values = {
        "NAME": name,
        "MODULE": name.replace("-", "_"),
        "CLASS": "".join(part.capitalize() for part in name.split("-")),
        "VERSION": __version__,
    }

    def filled(text: str) -> str:
        return re.sub("|".join(values), lambda match: values[match[0]], text)

    template = packaged_table(__file__)
    return {filled(path): filled(text) for path, text in template.items()}
