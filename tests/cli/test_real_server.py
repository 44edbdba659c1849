"""A real inference server: its replies of random weights are read, classed and counted like any other's."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.command_line import Command
from kit.examples import thorough_only

pytestmark = [pytest.mark.slow, thorough_only]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    for package in ("torch", "transformers", "fastapi", "uvicorn"):
        pytest.importorskip(package, reason="needs the extra 'test'")
    if not Path(sys.executable).with_name("transformers").exists() and not shutil.which("transformers"):
        pytest.skip("needs the program 'transformers'")
    from kit.language_models import make_language_model, transformers_server  # noqa: PLC0415

    model = make_language_model(tmp_path_factory.mktemp("language_model"))
    with transformers_server(model) as address:
        yield address, model


@pytest.mark.parametrize("strategy", ["llm_base", "llm_rank"])
def test_a_run_on_a_model_of_random_weights_ends_and_counts_its_failures(
    strategy: str, served: tuple[str, Path], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, model = served
    n = 3
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(tmp_path / "cache"))
    spec = f"{strategy}:model=local/{model},base_url={address},max_tokens=40,temperature=1.0"
    arguments = f"run {spec} --data sample --limit {n} -t er_at_10 -o run.jsonl --set max-connections=2 --json"
    found = command(arguments).json
    classes = {name: count for name, count in found["notes"].items() if name.startswith("reply_")}
    assert found["n_instances"] == n
    assert sum(classes.values()) == found["notes"]["requests"] >= n
    assert found["n_failed"] + classes.get("reply_answered", 0) >= 1
    assert found["notes"]["prompt_tokens"] > n * 1000
    again = command(f"{arguments} --overwrite").json
    assert again["asked"]["requests"] == 0
    assert again["notes"] == found["notes"]
