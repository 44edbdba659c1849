"""The digest of own code changes with what it runs from its folder, and with nothing else."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from doors import SystemSpecError, bm25, code_digest

FILES = {
    "alone.py": "import math\nimport near.deep\n",
    "near/__init__.py": "",
    "near/deep.py": "from . import beside\n",
    "near/beside.py": "def late():\n    from ..alone import nothing\n    import aside\n",
    "aside.py": "WORD = 1\n",
    "unused.py": "WORD = 1\n",
    "pack/__init__.py": "",
    "pack/inner/__init__.py": "from pack.inner.own import make\n",
    "pack/inner/own.py": "from ..other import WORD\nmake = dict\n",
    "pack/other.py": "WORD = 1\n",
    "pack/unused.py": "",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def imported(name: str) -> ModuleType:
    for known in [one for one in sys.modules if one.partition(".")[0] in {"alone", "near", "pack", "aside"}]:
        del sys.modules[known]
    return importlib.import_module(name)


@pytest.mark.parametrize(
    ("module", "counting"),
    [
        ("alone", {"alone.py", "near/__init__.py", "near/deep.py", "near/beside.py", "aside.py"}),
        ("pack.inner", {"pack/__init__.py", "pack/inner/__init__.py", "pack/inner/own.py", "pack/other.py"}),
        ("pack.inner.own", {"pack/inner/own.py", "pack/other.py"}),
        ("aside", {"aside.py"}),
    ],
)
def test_an_edit_counts_where_the_module_imports_the_file(module: str, counting: set[str], folder: Path) -> None:
    before = code_digest(imported(module))
    changed = set()
    for name, text in FILES.items():
        (folder / name).write_text(f"{text}# edited\n")
        if code_digest(imported(module)) != before:
            changed.add(name)
        (folder / name).write_text(text)
    assert counting <= changed <= counting | {"pack/__init__.py", "pack/inner/__init__.py"}
    assert code_digest(imported(module)) == before


def test_an_edit_after_the_import_does_not_count_until_it_is_imported_anew(folder: Path) -> None:
    module = imported("aside")
    before = code_digest(module)
    (folder / "aside.py").write_text("WORD = 2222\n")
    assert code_digest(module) == before
    assert code_digest(importlib.reload(module)) != before


def test_a_copy_elsewhere_has_the_same_digest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_digest(imported("pack.inner"))
    (folder / "elsewhere").mkdir()
    (folder / "pack").rename(folder / "elsewhere" / "pack")
    monkeypatch.syspath_prepend(folder / "elsewhere")
    assert code_digest(imported("pack.inner")) == before


def test_this_package_has_none_and_what_comes_from_no_file_is_refused() -> None:
    assert code_digest(bm25) is None
    with pytest.raises(SystemSpecError, match="'typed'"):
        code_digest(ModuleType("typed"))


SCRIPT = """\
import math
from aside import WORD
TABLE = {}
TABLE["a"] = 1
def helper():
    return TABLE, WORD
class Mine:
    def rank(self, query, task):
        return helper()
class Other:
    depth = 1
print("scores")
"""


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("depth = 1", "depth = 2", False),
        ('print("scores")', 'print("other words")', False),
        ("import math", "import json", False),
        ("class Other", "# a remark\nclass Other", False),
        ("return helper()", "return helper() or []", True),
        ("return TABLE, WORD", "return WORD, TABLE", True),
        ('TABLE["a"] = 1', 'TABLE["a"] = 2', True),
    ],
)
def test_of_a_script_what_a_system_uses_counts_and_nothing_else(
    old: str, new: str, folder: Path, capsys: pytest.CaptureFixture[str], *, counts: bool
) -> None:
    (folder / "alone.py").write_text(SCRIPT)
    before = code_digest(imported("alone"), frozenset({"Mine"}))
    (folder / "alone.py").write_text(SCRIPT.replace(old, new))
    assert (code_digest(imported("alone"), frozenset({"Mine"})) != before) == counts
    (folder / "alone.py").write_text(SCRIPT)
    (folder / "aside.py").write_text("WORD = 2\n")
    assert code_digest(imported("alone"), frozenset({"Mine"})) != before
    assert code_digest(imported("alone"), frozenset({"Missing"})) == code_digest(imported("alone"))
    assert capsys.readouterr().out
