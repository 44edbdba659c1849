"""The command train: what it writes and says, what follows it, and what it refuses."""

import json
import re
import sys
from pathlib import Path

import pytest

from command_line import SAMPLE, Command
from own_training import OWN_TRAINING

pytest.importorskip("lightgbm", reason="needs the extra 'train'")


def test_a_finder_is_trained_and_the_next_command_that_is_named_runs_it(command: Command) -> None:
    found = command("train finder --data sample -o {my model} --progress plain")
    assert found.code == 0
    assert all(len(line) <= 80 for line in found.out.splitlines()[:-1])
    assert found.out.startswith("my model: trained on sample.json, 10 instances\n")
    assert "training finder: 10/10" in found.err
    assert "training finder: fitting trees 4/4" in found.err  # three folds, and all papers
    card = json.loads(Path("my model/card.json").read_text())
    assert card["data"] == {"n_instances": 10, "n_papers": 9, "name": "sample.json", "sha256": SAMPLE.sha256}
    following = found.out.split("next: evidencebench ")[1].strip()
    assert following.endswith("--data OTHER_DATA -o run.jsonl")  # its own data would tell nothing
    following = following.replace("OTHER_DATA", "sample")
    assert command(re.sub(r"'([^']*)'", r"{\1}", following)).code == 0
    header = json.loads(Path("run.jsonl").read_text().splitlines()[0])
    assert header["system"]["name"] == "finder"
    assert header["trained_on"] == [SAMPLE.sha256]
    assert command("score run.jsonl --data sample --draws 50").err.startswith(
        "warning: run.jsonl: trained on this data"
    )

    refused = command("train finder --data sample -o {my model}")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: my model: exists; choose another folder, or replace the model with --overwr")
    replaced = command(
        "train finder:hypothesis=false --data sample -o {my model} --limit 8 --seed 3 --overwrite --json"
    )
    assert replaced.json["model"] == "my model"
    assert replaced.json["card"]["training"]["seed"] == 3
    assert "bm25" not in replaced.json["card"]["features"]
    assert replaced.json["card"]["data"]["n_instances"] == 8
    assert command("run {finder:model=my model} --data sample -o run.jsonl").code == 2  # begun with another model


def test_a_training_of_ones_own_is_trained_the_same_way(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "memory", raising=False)
    Path("memory.py").write_text(OWN_TRAINING)
    found = command("train memory:Memory --data sample -o memory --limit 5")
    assert (found.code, found.err) == (0, "")
    assert len(json.loads(Path("memory/papers.json").read_text())) == 5
    assert "next: evidencebench run memory:Recall:model=memory --data OTHER_DATA -o run.jsonl" in found.out


def test_without_lightgbm_the_error_says_how_to_get_it(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)  # so that importing it fails, as where it is not installed
    for arguments in ("train finder --data sample -o model", "crossval finder --data sample"):
        found = command(arguments)
        assert (found.code, found.out) == (2, "")
        assert found.err == (
            "error: train finder: needs lightgbm, which is not installed: pip install 'evidencebench[train]'\n"
        )
