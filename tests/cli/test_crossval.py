"""The command crossval: its tables, its JSON, what it says where something fails, and how it goes on."""

import json
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from command_line import Command, start
from own_training import OWN_TRAINING

TRAINED = """
from evidencebench import Ranking, Traits

class Trained:
    traits = Traits(trained_on=lambda: ["ab" * 32])
    def rank(self, query, brief):
        return Ranking(sentences=(0, 1))
"""
QUICK = "--data sample --folds 3 --seeds 2 --draws 50"


@pytest.fixture(autouse=True)
def _memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a training of one's own into the folder."""
    monkeypatch.delitem(sys.modules, "memory", raising=False)
    Path("memory.py").write_text(OWN_TRAINING)


def test_the_tables_show_all_four_tasks_the_controls_the_time_and_how_much_was_tried(command: Command) -> None:
    found = command(f"crossval memory:Memory {QUICK} --against lead")
    assert (found.code, found.err) == (0, "")
    for task in ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5"):
        (table,) = [part for part in found.out.split("\n\n") if part.startswith(f"{task} ")]
        rows = [re.split(r"\s{2,}", line.strip())[0] for line in table.splitlines()[2:]]
        assert rows == [
            "memory:Memory",
            "asked the wrong hypothesis",
            "trained without any",
            "lead",
            "asked the wrong hypothesis",
            "memory:Memory - lead",
        ]
        assert f"aspect_recall|task:{task}|data:sample.json@sha256:" in found.out
        assert re.search(r"\|system:memory:Memory\[code \w{12}\]\[3-fold by paper,\s+2 seeds\]\|", found.out)
    assert "ms a paper, all tasks; 0.0 s to train; 3 configurations compared within each training set" in found.out
    assert "lead: " in found.out


def test_json_holds_every_figure(command: Command) -> None:
    found = command(f"crossval memory:Memory {QUICK} --against lead --task er_at_10 --json").json
    assert (found["folds"], found["seeds"]) == (3, 2)
    first, second = found["systems"]
    assert (first["system"], second["system"]) == ("memory:Memory", "lead")
    assert (first["n_tried"], first["n_failed"], first["lead"]) == (3, 0, {})
    figures = first["tasks"]["er_at_10"]
    assert figures["recall"]["n"] == len(figures["per_instance"]) == 10
    assert figures["recall"]["low"] <= figures["recall"]["mean"] <= figures["recall"]["high"]
    assert figures["gain"]["difference"]["mean"] == figures["drop"]["difference"]["mean"] == 0
    assert second["tasks"]["er_at_10"]["blind"] is None
    assert second["lead"]["er_at_10"]["difference"]["n"] == 10


def test_failed_answers_are_counted_and_end_with_1(command: Command) -> None:
    found = command(f"crossval own:Slow:fails=true {QUICK} --task er_at_10")
    assert found.code == 1
    assert "own:Slow:fails=true: " in found.out
    assert "; 40 answers failed" in found.out  # 10 instances, 2 seeds, the own and the wrong hypothesis
    as_json = command(f"crossval own:Slow:fails=true {QUICK} --task er_at_10 --json")
    assert (as_json.code, as_json.json["systems"][0]["n_failed"]) == (1, 40)


def test_finished_cells_are_kept_and_progress_is_shown(command: Command) -> None:
    arguments = f"crossval memory:Memory {QUICK} -o cells.jsonl --progress plain"
    assert "memory:Memory: 12/12" in command(arguments).err
    n_fits = len(Path("fits.jsonl").read_text().splitlines())
    again = command(arguments)
    assert (again.code, again.err) == (0, "")
    assert len(Path("fits.jsonl").read_text().splitlines()) == n_fits == 12
    other = command(f"{arguments} --no-blind")
    assert (other.code, other.out) == (2, "")
    assert other.err.startswith("error: cells.jsonl.splits: was made otherwise: with_blind was True, now False;")
    assert command(f"{arguments} --no-blind --overwrite").code == 0


@pytest.mark.parametrize("system", ["memory:Memory", "bm25", "own:Slow:fails=true"])
def test_the_run_has_the_scores_of_the_cross_validation_under_its_first_seed(system: str, command: Command) -> None:
    """It is scored by another way than the cross-validation: from the file, by `score`."""
    call = f"crossval {system} --data sample --folds 3 --draws 50 --no-blind --control two_papers --json"
    (alone,) = command(f"{call} --seeds 1").json["systems"]
    written = command(f"{call} --seeds 2 -o folds.jsonl --against lead").json
    assert written["run"] == "folds.jsonl"
    scored = command("score folds.jsonl --data sample --draws 50 --no-controls --json").json
    for task, figures in alone["tasks"].items():
        assert scored[task]["aspect_recall"] == figures["recall"]


def test_the_run_stands_beside_others_and_says_that_it_is_cross_validated(command: Command) -> None:
    arguments = f"crossval memory:Memory {QUICK} --no-blind -o folds.jsonl"
    assert command(arguments).out.endswith("\nfolds.jsonl: the answers under seed 0, the first, as a run\n")
    command("run bm25 --data sample -o bm25.jsonl")
    options = "folds.jsonl bm25.jsonl --data sample --task er_at_10 --draws 50"
    board = command(f"leaderboard {options}")
    assert (board.code, board.err) == (0, "")  # no warning of training on this data
    assert re.search(r"^memory:Memory, cross-validated ", board.out, re.MULTILINE)
    assert re.search(r"\|system:memory:Memory(\(.*\))?\[3-fold\s+by\s+paper,\s+seed\s+0\]\[code", board.out)
    for call in (f"compare {options}", f"table {options}", f"report {options} -o page.html"):
        assert command(call).code == 0
    row = command(f"table {options} --json").json["rows"][0]
    assert (row["path"], row["trained_on_it"]) == ("folds.jsonl", False)


def test_the_run_is_written_again_from_what_was_kept(command: Command) -> None:
    arguments = f"crossval memory:Memory {QUICK} --no-blind -o folds.jsonl"
    assert command(arguments).code == 0
    written = Path("folds.jsonl").read_bytes()
    Path("folds.jsonl").unlink()
    assert command(arguments).code == 0
    assert Path("folds.jsonl").read_bytes() == written
    assert len(Path("fits.jsonl").read_text().splitlines()) == 6


def test_a_run_whose_splits_are_lost_is_made_again_but_by_another_call_only_if_asked(command: Command) -> None:
    arguments = f"crossval memory:Memory {QUICK} --no-blind -o folds.jsonl"
    assert command(arguments).code == 0
    written = Path("folds.jsonl").read_bytes()
    for other, what in (
        ("crossval bm25 --data sample --folds 3 -o folds.jsonl", r"system was memory:Memory, now bm25;"),
        (arguments.replace("--folds 3", "--folds 2"), r"crossval was {'folds': 3}, now {'folds': 2};"),
    ):
        for content in (None, b""):
            Path("folds.jsonl.splits").unlink(missing_ok=True)
            if content is not None:
                Path("folds.jsonl.splits").write_bytes(content)
            found = command(other)
            assert (found.code, found.out) == (2, "")
            assert re.match(rf"error: folds\.jsonl: was made otherwise: {what} .*--overwrite$", found.err), found.err
            assert Path("folds.jsonl").read_bytes() == written
    assert len(Path("fits.jsonl").read_text().splitlines()) == 6
    assert command(arguments).code == 0
    assert Path("folds.jsonl").read_bytes() == written
    assert len(Path("fits.jsonl").read_text().splitlines()) == 12
    Path("folds.jsonl.splits").unlink()
    assert command(f"{arguments} --folds 2 --overwrite").code == 0
    assert json.loads(Path("folds.jsonl").read_text().splitlines()[0])["crossval"] == {"folds": 2}


def test_a_run_that_is_no_cross_validation_is_not_replaced(command: Command) -> None:
    command("run lead --data sample -o lead.jsonl")
    written = Path("lead.jsonl").read_bytes()
    found = command(f"crossval memory:Memory {QUICK} -o lead.jsonl --overwrite")
    assert (found.code, found.err) == (
        2,
        "error: lead.jsonl: holds something else, which would be lost; choose another name\n",
    )
    assert Path("lead.jsonl").read_bytes() == written
    assert not Path("fits.jsonl").exists()


def test_what_a_part_was_trained_on_stands_in_the_run(command: Command) -> None:
    Path("taught_it.py").write_text(TRAINED)
    assert command(f"crossval fuse:systems=[taught_it:Trained+lead] {QUICK} -o folds.jsonl").code == 0
    assert json.loads(Path("folds.jsonl").read_text().splitlines()[0])["trained_on"] == ["ab" * 32]


@pytest.mark.parametrize("output", ["-o cells.jsonl", "--output=cells.jsonl", ""])
def test_an_interrupt_says_whether_what_was_finished_is_kept(output: str) -> None:
    process = start(*f"crossval memory:Memory:seconds=0.2 {QUICK} {output}".split())
    ends_at = time.monotonic() + 60
    while not Path("fits.jsonl").exists():
        assert time.monotonic() < ends_at
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, ""), err
    assert err.startswith("interrupted")
    assert ("what was finished is kept" in err) == bool(output)


def test_another_control_than_the_wrong_hypothesis_is_named_in_the_table(command: Command) -> None:
    found = command(f"crossval lead {QUICK} --task er_at_10 --control two_papers")
    rows = [re.split(r"\s{2,}", line.strip())[0] for line in found.out.split("\n\n")[0].splitlines()[2:]]
    assert rows == ["lead", "asked two papers", "of the selection, the stranger's"]
    as_json = command(f"crossval lead {QUICK} --task er_at_10 --control shuffled_words --json").json
    (system,) = as_json["systems"]
    assert (as_json["control"], system["tasks"]["er_at_10"]["drop"]["difference"]["mean"]) == ("shuffled_words", 0)
