"""Rules of the source tree and the documents: what they name is there, and rooms and errors are told as they are."""

import ast
import copy
import re
import runpy
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import evidencebench
from kit.examples import thorough_only
from run_notebook import executed, read_notebook
from site_pages import SAMPLE_PAGES

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(evidencebench.__file__).parent
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md"))


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# What documents point at.


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text_of(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text_of(document)):
        path = (document.parent / target).resolve() if target else document
        assert path.exists() or target.removeprefix("sample/") in SAMPLE_PAGES, f"{target} is not there"
        assert not anchor or anchor in anchors(path), f"{path.name} has no heading '{anchor}'"


def test_every_folder_file_and_module_of_the_package_that_is_named_is_there() -> None:
    for document in DOCUMENTS[:2]:
        for name in re.findall(r"`([a-z_]+/(?:[a-z_]+(?:\.py|/)?)?)`", text_of(document)):
            places = (ROOT, PACKAGE, PACKAGE / "pages/assets")
            assert any((folder / tried).exists() for folder in places for tried in (name, f"{name}.py")), name
    order = text_of(DOCUMENTS[1]).partition("**Read the code in this order.**")[2].partition("Data flows")[0]
    names = [name.replace("/", ".") for name in re.findall(r"`([a-z_/]+?)/?`", order)]
    assert len(names) > 10
    assert [name for name in names if find_spec(f"evidencebench.{name}") is None] == []


def test_no_document_names_a_path_of_this_machine() -> None:
    assert [path.name for path in DOCUMENTS if str(ROOT) in text_of(path)] == []


def test_no_link_of_the_readme_leads_nowhere_on_a_package_index(monkeypatch: pytest.MonkeyPatch) -> None:
    hatchling = ModuleType("hatchling.metadata.plugin.interface")  # it is there while a package is built, and then only
    monkeypatch.setattr(hatchling, "MetadataHookInterface", object, raising=False)
    monkeypatch.setitem(sys.modules, hatchling.__name__, hatchling)
    indexed = runpy.run_path(str(ROOT / "hatch_build.py"))["indexed"]
    for source in (None, "https://example.org/evidencebench"):
        targets = re.findall(r"\]\(([^)]+)\)", indexed(text_of(DOCUMENTS[0]), source))
        assert [target for target in targets if not target.startswith("https://")] == []
        assert len(targets) > (0 if source is None else 10)
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    assert "readme" in project["dynamic"]
    assert project["urls"]


# The source tree.


@cache
def trees() -> dict[Path, ast.Module]:
    return {path.relative_to(PACKAGE): ast.parse(text_of(path)) for path in sorted(PACKAGE.rglob("*.py"))}


ROOMS = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(PACKAGE)))
def test_a_room_says_what_it_is_and_names_everything_in_it(room: Path) -> None:
    text = ast.get_docstring(ast.parse(text_of(room / "__init__.py"))) or ""
    names = {path.stem for path in room.glob("*.py")} | {path.parent.name for path in room.glob("*/__init__.py")}
    names = {name for name in names if not name.startswith("__")}  # which Python itself asks for
    assert text.partition("\n")[0].endswith("."), "expected the purpose of the room as one sentence on the first line"
    assert names - set(re.findall(r"`(\w+)/?`", text)) == set(), "not named in the docstring of __init__.py"


def test_no_two_classes_have_the_same_name() -> None:
    places = defaultdict(list)
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_only_http_the_client_of_models_and_web_apps_are_asynchronous() -> None:
    client = tuple(f"models/llm/{name}.py" for name in ("client", "sender", "replies", "costs"))
    apps = ("web/", *client, "pages/", "integrations/fake_server", "integrations/inspect_ai")
    asynchronous = (ast.AsyncFunctionDef, ast.Await, ast.AsyncWith, ast.AsyncFor)
    strays = {
        path.as_posix()
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, asynchronous)
        or (isinstance(node, ast.Import) and any(alias.name.startswith("asyncio") for alias in node.names))
    }
    assert [name for name in strays if not name.startswith(apps)] == []


# The versions that docs/integrations.md says are tested: those that the environments are pinned to.

PINNING = [ROOT / "Makefile", ROOT / "constraints.txt", *sorted(ROOT.glob("tests/neighbours/*/constraints.txt"))]
EXTRAS = ("parquet", "ray", "frames", "hf", "trec", "inspect", "mteb", "mcp")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_matrix_of_integrations_names_the_versions_that_are_tested() -> None:
    pinned = defaultdict(set)
    for path in PINNING:
        for name, version in re.findall(r"([\w.-]+)==([\w.]+)", text_of(path)):
            pinned[normal(name)].add(version)
    section = text_of(ROOT / "docs" / "integrations.md").partition("## Versions")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    for package, versions, what in rows:
        assert set(versions.split(", ")) == pinned[normal(package)], package
        assert what
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    asked = [one for extra in EXTRAS for one in project["optional-dependencies"][extra]]
    ours = {normal(re.split(r"[\[<>=]", one)[0]) for one in asked} - {"evidencebench", "pyyaml"}
    named_in_docs = {"pandas", "polars", "ranx", "pytrec-eval-terrier", "python-terrier"}
    assert ours | named_in_docs == {normal(package) for package, _, _ in rows}


# The notebook of the documents.


def contents(notebook: Any) -> list[tuple[str, Any]]:
    return [(cell.source, cell.get("outputs")) for cell in notebook.cells]


@thorough_only
def test_the_notebook_holds_what_its_cells_print_no_path_of_a_machine_and_loads_nothing() -> None:
    """Where it differs after a change that is meant, `make generated` writes it again."""
    kept = read_notebook()
    assert not re.search(r"/home/|/root/|/tmp/|/work/|<script|https?://", str(contents(kept)))
    assert contents(executed(copy.deepcopy(kept))) == contents(kept)


_CODE_WORD = re.compile(r"\b(?:[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[a-z]+(?:_[a-z0-9]+)+)\b")
_NAMES_OF_OTHERS = {"BibTeX", "BioC", "EvidenceBench", "LaTeX", "MathJax", "MathML", "NaN", "OpenAI", "PubMed", "TeX"}
_NAMES_OF_OTHERS |= {"load_dataset", "make_agreement_table", "timeout_seconds"}  # functions and options elsewhere


def test_what_the_first_docstring_of_a_module_names_is_in_it() -> None:
    missing = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for module, text in _described(path):
            words = set(_CODE_WORD.findall(text)) - _NAMES_OF_OTHERS
            if unknown := words - _names_in(module):
                missing[str(path)] = unknown
    assert missing == {}


def _described(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield what a module says of itself, or a package of each of its modules."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    if path.name != "__init__.py":
        yield path, text
        return
    for entry in re.finditer(r"^\* `(\w+)`: (.*(?:\n  .*)*)", text, re.MULTILINE):
        module = path.with_name(f"{entry[1]}.py")
        if module.exists():
            yield module, entry[2]


def _names_in(module: Path) -> set[str]:
    tree = ast.parse(module.read_text())
    first = ast.get_docstring(tree, clean=False)
    names: set[str] = set()
    for one in ast.walk(tree):
        match one:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.alias():
                names.add(one.name.rpartition(".")[2])
            case ast.Name():
                names.add(one.id)
            case ast.Attribute():
                names.add(one.attr)
            case ast.arg():
                names.add(one.arg)
            case ast.Constant() if isinstance(one.value, str) and one.value != first:
                names.update(re.findall(r"\w+", one.value))
    return names
