"""An empty folder for each test of the command line, a model that it may ask, and runs."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evidencebench import execute
from kit.command_line import OWN_CODE, PRICES, SAMPLE
from kit.fake_models import RunningServer, running_fake_server


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, with no data downloaded and nothing set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in ("own", "broken", "failing", "memory"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setenv("EVIDENCEBENCH_DATA", "data")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("COLUMNS", "200")  # what fits does so by itself, not because a terminal is narrow
    Path("own.py").write_text(OWN_CODE)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep replies beside the test's files, and have prices for a local model."""
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(tmp_path / "cache"))
    Path("prices.json").write_text(json.dumps(PRICES))


@pytest.fixture
def server() -> Iterator[RunningServer]:
    """Run a language model that knows the sample."""
    with running_fake_server(SAMPLE) as running:
        yield running


@pytest.fixture(scope="session")
def _run_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a run file of each sort, as `evidencebench run` writes it."""
    folder = tmp_path_factory.mktemp("runs")
    for spec in ("bm25", "lead", "oracle"):
        execute(spec, SAMPLE, folder / f"{spec}.jsonl")
    execute("bm25:k1=1.25,b=0.75", SAMPLE, folder / "tuned.jsonl")
    execute("bm25", SAMPLE, folder / "swapped.jsonl", control="wrong_hypothesis")
    execute("oracle", SAMPLE, folder / "partial.jsonl", tasks="er_at_10")
    answers = {instance_id: [3, 5, 8] for instance_id in SAMPLE.ids}
    (folder / "answers.json").write_text(json.dumps(answers))
    return folder


@pytest.fixture
def runs(_run_files: Path) -> None:
    """Lay a run file of each sort into the folder of the test."""
    shutil.copytree(_run_files, Path.cwd(), dirs_exist_ok=True)
