"""The matrix of docs/integrations.md names the versions that are tested: those that the environments are pinned to."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = [ROOT / "Makefile", ROOT / "constraints.txt", *sorted(ROOT.glob("tests/neighbours/*/constraints.txt"))]
EXTRAS = ("parquet", "ray", "frames", "hf", "croissant", "trec", "inspect", "mteb")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, set[str]]:
    """Return package -> the versions that any environment has."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        for name, version in re.findall(r"([\w.-]+)==([\w.]+)", path.read_text(encoding="utf-8")):
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


def test_every_package_that_an_extra_or_an_export_is_for_has_a_row() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [one for extra in EXTRAS for one in project["optional-dependencies"][extra]]
    ours = {normal(re.split(r"[\[<>=]", one)[0]) for one in asked} - {"evidencebench", "pyyaml"}
    named_in_docs = {"pandas", "polars", "ranx", "pytrec-eval-terrier", "python-terrier", "every-eval-ever"}
    assert ours | named_in_docs == {normal(package) for package, _, _ in rows()}
