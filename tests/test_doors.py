"""Tests reach the package through its public names, or through the doors, which are as few as are used."""

import re
from pathlib import Path

import doors

TESTS = Path(__file__).parent
LISTED = re.findall(r"^(?:from \S+ import \w+ as )?(\w+)(?: = \S+)?$", (TESTS / "doors.pyi").read_text(), re.MULTILINE)
TEXTS = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py") if path.name != "doors.py"}


def test_no_test_imports_a_private_module() -> None:
    imports = re.compile(r"\bfrom evidencebench\.\S+ import|\bimport evidencebench\.")
    assert [path for path, text in TEXTS.items() if path != Path(__file__) and imports.search(text)] == []


def test_every_door_is_used() -> None:
    words = {word for text in TEXTS.values() for word in re.findall(r"\w+", text)}
    assert len(LISTED) > 100
    assert [name for name in LISTED if name not in words] == []


def test_a_door_opens_when_it_is_used_and_a_name_that_is_not_listed_is_told() -> None:
    assert doors.DataError.__module__ == "evidencebench.errors"
    assert doors.records.__name__ == "evidencebench.files.records"
    assert not hasattr(doors, "no_such_name")
