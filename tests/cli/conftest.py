"""An empty folder for each test of the command line, and a way to call it."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import OWN_CODE, PRICES, SAMPLE, Command, Outcome
from evidencebench.cli.main import main
from evidencebench.execution.run import execute
from fake_models import RunningServer, running_fake_server


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, with no data downloaded and nothing set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in ("own", "broken"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setenv("EVIDENCEBENCH_DATA", "data")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("COLUMNS", "200")  # what fits does so by itself, not because a terminal is narrow
    Path("own.py").write_text(OWN_CODE)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(arguments: str) -> Outcome:
        words = [word.strip("{}") for word in re.findall(r"\{[^}]*\}|\S+", arguments)]
        monkeypatch.setattr(sys, "argv", ["evidencebench", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Outcome(code=int(ended.value.code or 0), out=out, err=err)

    return run


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
    answers = {instance_id: [3, 5, 8] for instance_id in SAMPLE.ids}
    (folder / "answers.json").write_text(json.dumps(answers))
    return folder


@pytest.fixture
def runs(_run_files: Path) -> None:
    """Lay a run file of each sort into the folder of the test."""
    shutil.copytree(_run_files, Path.cwd(), dirs_exist_ok=True)
