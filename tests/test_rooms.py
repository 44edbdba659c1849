"""The rules of the source tree that a reader relies on: rooms say what they hold, and a class name means one class."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import evidencebench

ROOT = Path(evidencebench.__file__).parent
ROOMS = sorted(path.parent for path in ROOT.rglob("__init__.py"))


def _contents(room: Path) -> set[str]:
    """Return the names of a room's modules and rooms, but for those that Python itself asks for."""
    names = {path.stem for path in room.glob("*.py")} | {path.parent.name for path in room.glob("*/__init__.py")}
    return {name for name in names if not name.startswith("__")}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_says_what_it_is_and_names_everything_in_it(room: Path) -> None:
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""

    assert text.partition("\n")[0].endswith("."), "expected the purpose of the room as one sentence on the first line"
    assert _contents(room) - set(re.findall(r"`(\w+)/?`", text)) == set(), "not named in the docstring of __init__.py"


def test_no_two_classes_have_the_same_name() -> None:
    places = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_only_http_and_web_apps_are_asynchronous() -> None:
    apps = ("models/http.py", "web/serving.py", "pages/", "integrations/fake_server", "integrations/inspect_ai/")
    asynchronous = (ast.AsyncFunctionDef, ast.Await, ast.AsyncWith, ast.AsyncFor)
    strays = [
        name
        for path in sorted(ROOT.rglob("*.py"))
        if not (name := path.relative_to(ROOT).as_posix()).startswith(apps)
        and any(
            isinstance(node, asynchronous)
            or (isinstance(node, ast.Import) and any(alias.name.startswith("asyncio") for alias in node.names))
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]
    assert strays == []
