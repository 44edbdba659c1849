"""The system `best`, and what is said where somebody asks for `set_selector`, which was taken away."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from evidencebench import execute
from evidencebench.cli.main import cli
from evidencebench.data.sample import load_sample
from evidencebench.errors import DataError, ModelError, SystemSpecError
from evidencebench.execution.making import make_system
from evidencebench.system import Brief
from evidencebench.systems.selectors.selector import Selector
from evidencebench.systems.selectors.selector_model import read_card
from evidencebench.training.selector import BestTraining
from evidencebench.training.training_table import trainable

SAMPLE = list(load_sample())


def test_best_reads_vectors_and_finds_other_evidence_for_another_hypothesis_where_it_must_rely_on_it(
    best_model: Path,
) -> None:
    first, second = SAMPLE[1].query, SAMPLE[2].query
    assert first.sentences == second.sentences
    assert first.hypothesis != second.hypothesis
    assert any(name.startswith("vector_") for name in read_card(best_model).features)
    system = Selector(model=best_model, hypothesis_weight=1.0)
    picks = [set(system.rank(query, Brief(budget=5)).sentences[:5]) for query in (first, second)]
    assert picks[0] != picks[1]


def test_training_best_anew_leaves_the_old_one_where_it_fails(best_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(best_model, folder)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(DataError):
        BestTraining().fit(SAMPLE[:2], folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("make", [make_system, trainable])
def test_who_asks_for_set_selector_is_told_that_it_was_taken_away(make: Callable[[str], object]) -> None:
    with pytest.raises(SystemSpecError, match=r"taken away, since .* commit 201c5db of 0\.1\.0; train"):
        make("set_selector")


def test_a_model_made_by_set_selector_is_refused_with_the_version_that_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm", reason="needs the extra 'selector'")
    (tmp_path / "card.json").write_text('{"format": "evidencebench-set-model/1", "features": ["length_rank"]}')
    with pytest.raises(ModelError, match=r"card\.json: 'set_selector' was taken away.* commit 201c5db"):
        Selector(model=tmp_path)


def test_a_run_made_by_set_selector_is_still_scored(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    execute("lead", "sample", path)
    path.write_bytes(path.read_bytes().replace(b'"lead"', b'"set_selector"', 1))
    assert "set_selector" in CliRunner().invoke(cli, ["score", str(path), "--data", "sample"]).output
