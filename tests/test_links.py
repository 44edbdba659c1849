"""What the documents point at is there: files, headings, modules."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md"))
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    for target, anchor in _LINK.findall(document.read_text(encoding="utf-8")):
        path = (document.parent / target).resolve() if target else document
        assert path.exists(), f"{target} is not there"
        assert not anchor or anchor in anchors(path), f"{path.name} has no heading '{anchor}'"


@pytest.mark.parametrize("document", DOCUMENTS[:2], ids=lambda path: path.name)
def test_every_folder_and_file_of_the_package_that_is_named_is_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    package = ROOT / "src" / "evidencebench"
    for name in re.findall(r"`([a-z_]+/(?:[a-z_]+(?:\.py|/)?)?)`", text):
        places = (ROOT, package, package / "pages/assets")
        assert any((folder / tried).exists() for folder in places for tried in (name, f"{name}.py")), name


def test_the_modules_that_readme_names_in_reading_order_are_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    order = text.partition("## Read the code in this order")[2].partition("Data flows")[0]
    names = [name.replace("/", ".") for name in re.findall(r"`([a-z_/]+?)/?`", order)]
    assert len(names) > 20
    assert [name for name in names if find_spec(f"evidencebench.{name}") is None] == []
