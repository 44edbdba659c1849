"""The commands train and crossval: models; tables, its JSON, what it says where something fails, and how it goes on."""

import json
import re
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kit.command_line import SAMPLE, Command, start, until
from kit.own_training import OWN_TRAINING

needs_lightgbm = pytest.mark.skipif(find_spec("lightgbm") is None, reason="needs the extra 'train'")
QUICK = "--data sample --folds 3 --seeds 2 --set draws=50"


@pytest.fixture(autouse=True)
def _memory() -> None:
    """Put a training of one's own into the folder."""
    Path("memory.py").write_text(OWN_TRAINING)


def n_fits() -> int:
    return len(Path("fits.jsonl").read_text().splitlines())


def test_the_tables_show_all_four_tasks_the_controls_the_time_and_how_much_was_tried(command: Command) -> None:
    found = command(f"crossval memory:Memory {QUICK} --against lead")
    assert (found.code, found.err) == (0, "")
    for task in ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5"):
        (table,) = [part for part in found.out.split("\n\n") if part.startswith(f"{task} ")]
        rows = [re.split(r"\s{2,}", line.strip())[0] for line in table.splitlines()[2:]]
        wrong = "with the wrong hypothesis"
        assert rows == ["memory:Memory", wrong, "trained without hypotheses", "lead", wrong, "memory:Memory - lead"]
        assert f"aspect_recall|task:{task}|data:sample.json@sha256:" in found.out
        assert re.search(r"\|system:memory:Memory\[code [\w+]+\]\[3-fold by paper,\s+2 seeds\]\|", found.out)
    assert "ms per instance, all tasks; 0.0 s to train; 3 configurations compared within each training set" in found.out
    assert "lead: " in found.out
    fields = command(f"crossval memory:Memory {QUICK} --against lead --task er_at_10 --json").json
    assert (fields["folds"], fields["seeds"]) == (3, 2)
    first, second = fields["systems"]
    assert (first["system"], first["n_tried"], first["n_failed"], first["lead"]) == ("memory:Memory", 3, 0, {})
    figures = first["tasks"]["er_at_10"]
    assert figures["recall"]["n"] == len(figures["per_instance"]) == 10
    assert figures["gain"]["difference"]["mean"] == figures["drop"]["difference"]["mean"] == 0
    assert (second["system"], second["tasks"]["er_at_10"]["blind"]) == ("lead", None)
    assert second["lead"]["er_at_10"]["difference"]["n"] == 10


def test_failed_answers_are_counted_and_end_with_1(command: Command) -> None:
    found = command(f"crossval own:Slow:fails=true {QUICK} --task er_at_10")
    assert found.code == 1
    assert "own:Slow:fails=true: " in found.out
    assert "; 40 answers failed" in found.out  # 10 instances, 2 seeds, the own and the wrong hypothesis
    as_json = command(f"crossval own:Slow:fails=true {QUICK} --task er_at_10 --json")
    assert (as_json.code, as_json.json["systems"][0]["n_failed"]) == (1, 40)


def test_finished_cells_are_kept_and_progress_is_shown(command: Command) -> None:
    arguments = f"crossval memory:Memory {QUICK} -o cells.jsonl --set progress=plain"
    assert "memory:Memory: 12/12" in command(arguments).err
    n_before = n_fits()
    again = command(arguments)
    assert (again.code, again.err) == (0, "")
    assert n_fits() == n_before == 12
    other = command(f"{arguments} --no-blind")
    assert (other.code, other.out) == (2, "")
    assert other.err.startswith(
        "error: cells.jsonl.splits: was made with other settings: with_blind was True, now False;"
    )
    assert command(f"{arguments} --no-blind --overwrite").code == 0


@pytest.mark.parametrize("system", ["memory:Memory", "own:Slow:fails=true"])
def test_the_run_has_the_scores_of_the_cross_validation_under_its_first_seed(system: str, command: Command) -> None:
    """It is scored by another way than the cross-validation: from the file, by `score`."""
    call = f"crossval {system} --data sample --folds 3 --set draws=50 --no-blind --control two_papers --json"
    (alone,) = command(f"{call} --seeds 1").json["systems"]
    written = command(f"{call} --seeds 2 -o folds.jsonl --against lead").json
    assert written["run"] == "folds.jsonl"
    scored = command("score folds.jsonl --data sample --set draws=50 --no-controls --json").json
    for task, figures in alone["tasks"].items():
        assert scored[task]["aspect_recall"] == figures["recall"]


def test_the_run_stands_beside_others_and_says_that_it_is_cross_validated(command: Command) -> None:
    arguments = f"crossval memory:Memory {QUICK} --no-blind -o folds.jsonl"
    assert command(arguments).out.endswith("\nfolds.jsonl: the answers under seed 0, the first, as a run\n")
    command("run bm25 --data sample -o bm25.jsonl")
    refusal = command(f"crossval memory:Memory {QUICK} -o bm25.jsonl --overwrite").refusal
    assert refusal.startswith("error: bm25.jsonl: holds something else")
    options = "folds.jsonl bm25.jsonl --data sample --task er_at_10 --set draws=50"
    board = command(f"leaderboard {options}")
    assert (board.code, board.err) == (0, "")  # no warning of training on this data
    assert re.search(r"^memory:Memory, cross-validated ", board.out, re.MULTILINE)
    assert re.search(r"\|system:memory:Memory(\(.*\))?\[3-fold\s+by\s+paper,\s+seed\s+0\]\[code", board.out)
    for call in (f"compare {options}", f"leaderboard --table {options}", f"report {options} -o page.html"):
        assert command(call).code == 0
    row = command(f"leaderboard --table {options} --json").json["rows"][0]
    assert (row["path"], row["trained_on_it"]) == ("folds.jsonl", False)


def test_a_run_whose_splits_are_lost_is_made_again_but_by_another_call_only_if_asked(command: Command) -> None:
    arguments = f"crossval memory:Memory {QUICK} --no-blind -o folds.jsonl"
    assert command(arguments).code == 0
    written = Path("folds.jsonl").read_bytes()
    Path("folds.jsonl").unlink()
    assert command(arguments).code == 0
    assert (Path("folds.jsonl").read_bytes(), n_fits()) == (written, 6), "written again from what was kept"
    for other, what in (
        ("crossval bm25 --data sample --folds 3 -o folds.jsonl", r"system was memory:Memory, now bm25;"),
        (arguments.replace("--folds 3", "--folds 2"), r"crossval was {'folds': 3}, now {'folds': 2};"),
    ):
        for content in (None, b""):
            Path("folds.jsonl.splits").unlink(missing_ok=True)
            if content is not None:
                Path("folds.jsonl.splits").write_bytes(content)
            refusal = command(other).refusal
            assert re.match(rf"error: folds\.jsonl: was made with other settings: {what} .*--overwrite", refusal), (
                refusal
            )
            assert Path("folds.jsonl").read_bytes() == written
    assert n_fits() == 6
    assert command(arguments).code == 0
    assert Path("folds.jsonl").read_bytes() == written
    assert n_fits() == 12
    Path("folds.jsonl.splits").unlink()
    assert command(f"{arguments} --folds 2 --overwrite").code == 0
    assert json.loads(Path("folds.jsonl").read_text().splitlines()[0])["run"]["crossval"] == {"folds": 2}


@pytest.mark.parametrize("output", ["--output=cells.jsonl", ""])
def test_an_interrupt_says_whether_what_was_finished_is_kept(output: str) -> None:
    process = start(*f"crossval memory:Memory:seconds=0.2 {QUICK} {output}".split())
    until(Path("fits.jsonl").exists)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, ""), err
    assert err.startswith("interrupted")
    assert ("finished work is kept" in err) == bool(output)


def test_another_control_than_the_wrong_hypothesis_is_named_in_the_table(command: Command) -> None:
    found = command(f"crossval lead {QUICK} --task er_at_10 --control two_papers")
    rows = [re.split(r"\s{2,}", line.strip())[0] for line in found.out.split("\n\n")[0].splitlines()[2:]]
    assert rows == ["lead", "with a distractor paper", "distractor's share of the selection"]
    as_json = command(f"crossval lead {QUICK} --task er_at_10 --control shuffled_words --json").json
    (system,) = as_json["systems"]
    assert (as_json["control"], system["tasks"]["er_at_10"]["drop"]["difference"]["mean"]) == ("shuffled_words", 0)


@needs_lightgbm
@pytest.mark.usefixtures("small_forests")
def test_a_finder_is_trained_and_the_next_command_that_is_named_runs_it(command: Command) -> None:
    found = command("train finder --data sample -o {my model} --set progress=plain")
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
    header = json.loads(Path("run.jsonl").read_text().splitlines()[0])["run"]
    assert header["system"]["name"] == "finder"
    assert header["trained_on"] == [SAMPLE.sha256]
    assert "finder  trained on this data" in command("score run.jsonl --data sample --set draws=50").err

    refusal = command("train finder --data sample -o {my model}").refusal
    assert re.match("error: my model: exists; .*--overwrite", refusal)
    more = "--limit 8 --seed 3 --overwrite --json"
    replaced = command(f"train finder:hypothesis=false --data sample -o {{my model}} {more}").json
    assert (replaced["model"], replaced["card"]["training"]["seed"]) == ("my model", 3)
    assert "bm25" not in replaced["card"]["features"]
    assert replaced["card"]["data"]["n_instances"] == 8
    assert command("run {finder:model=my model} --data sample -o run.jsonl").code == 2  # begun with another model


def test_a_training_of_ones_own_is_trained_the_same_way(command: Command) -> None:
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
