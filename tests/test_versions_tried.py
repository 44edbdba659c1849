"""The matrix of docs/integrations.md names the versions that are tested: those of the files of constraints."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = [ROOT / "constraints.txt", *sorted(ROOT.glob("tests/neighbours/*/constraints.txt"))]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, set[str]]:
    """Return package -> the versions that any environment has."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        for line in path.read_text(encoding="utf-8").split():
            name, _, version = line.partition("==")
            found.setdefault(normal(name), set()).add(version)
    return found


def rows() -> list[list[str]]:
    text = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    section = text.partition("## Versions")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_the_matrix_names_the_versions_that_are_tested(row: list[str]) -> None:
    package, versions, what = row
    assert set(versions.split(", ")) == pinned()[normal(package)]
    assert what


def test_every_neighbour_of_an_export_has_a_row() -> None:
    expected = {"datasets", "mlcroissant", "ir-measures", "pyndeval", "pytrec-eval-terrier", "ranx", "python-terrier"}
    assert expected | {"mteb"} <= {normal(package) for package, _, _ in rows()}
