"""evidencebench: which sentences of a paper are the evidence for or against a hypothesis.

First read the files that every folder uses: `query` (what a system may read), `system` (what answers it, and what it
declares), `specification` (how it is named), `tables`, `wording`, `decoding`, `errors`, `version` and `provenance`.
Then read the folders. Each folder imports only those before it: `files`, `engine`, `web`; `models`, `papers`, `runs`;
`data` (queries with labels) and `systems` (what answers, labels unseen); `execution`, `scoring`, `training`,
`construction`, `review`; `pages`, `integrations`; `experiment`, `cli`. The names
in `__init__.pyi` are public; the rest is private.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

# Public name -> its module, imported when the name is first used, so that `evidencebench --help` need not import numpy.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_MODULE_OF = {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as ", _STUB, re.MULTILINE)}

__all__ = [*sorted(_MODULE_OF)]  # noqa: PLE0604 - `__init__.pyi` is the one list of names


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'evidencebench' has no attribute '{name}'")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
