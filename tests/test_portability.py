"""Nothing that only POSIX has is needed where a reader, an evaluator or a reviewer works."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import evidencebench
from kit.as_on_windows import POSIX_MODULES, POSIX_NAMES
from kit.patience import MOST_SECONDS

SOURCE = Path(evidencebench.__file__).parent
NEEDS_POSIX = {"systems/program.py"}  # which says so on Windows


def posix_only(tree: ast.AST) -> list[str]:
    """Return what a module needs that only POSIX has; not what it looks for first, or does without."""
    looked_for = {
        node.args[1].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"hasattr", "getattr"}
        if isinstance(node.args[1], ast.Constant)
    }
    tried = {id(inside) for node in ast.walk(tree) if isinstance(node, ast.Try) for inside in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in tried:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            found += sorted(POSIX_MODULES.intersection(names))
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or node.attr in looked_for:
            continue
        if node.attr in POSIX_NAMES.get(node.value.id, set()):
            found.append(f"{node.value.id}.{node.attr}")
    return found


def test_what_only_posix_has_is_found() -> None:
    code = "import fcntl\ntry:\n    import pwd\nexcept ImportError:\n    pass\nos.getuid()\nsignal.SIGHUP\n"
    assert sorted(posix_only(ast.parse(code))) == ["fcntl", "os.getuid", "signal.SIGHUP"]
    assert posix_only(ast.parse('signal.SIGHUP if hasattr(signal, "SIGHUP") else None')) == []


def test_no_module_needs_what_only_posix_has() -> None:
    needed = {
        name: found
        for path in SOURCE.rglob("*.py")
        if (name := path.relative_to(SOURCE).as_posix()) not in NEEDS_POSIX
        if (found := posix_only(ast.parse(path.read_text())))
    }
    assert needed == {}


RUN = ["run", "bm25", "--data", "sample", "-o", "bm25.jsonl"]
WALK = {
    "find": [["find", "Tea lowers blood pressure", "papers/tea.txt"]],
    "run": [RUN, RUN],
    "score": [RUN, ["score", "bm25.jsonl", "--data", "sample"]],
    "review": [
        ["review", "papers", "--questions", "questions.txt", "--report"],
        ["review", "papers", "--export", "review.csv"],
    ],
}
SHOWN = {"find": "3 mmHg", "run": "10 instances", "score": "aspect recall", "review": ""}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    folder = tmp_path
    (folder / "papers").mkdir()
    text = "Tea and blood pressure\n\nWe gave tea to 40 adults. Tea lowered blood pressure by 3 mmHg in 12 weeks.\n"
    (folder / "papers" / "tea.txt").write_text(text)
    (folder / "questions.txt").write_text("Does tea lower blood pressure?\n")
    return folder


@pytest.mark.parametrize("name", WALK)
def test_commands_do_without_what_only_posix_has(name: str, desk: Path) -> None:
    for words in WALK[name]:
        done = subprocess.run(
            [sys.executable, "-m", "kit.as_on_windows", *words],
            cwd=desk,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert SHOWN[name] in done.stdout
    assert not list(desk.rglob("*.lock"))
