"""Exports: what the commands write, print and refuse."""

import json
from pathlib import Path

import pytest

from command_line import Command


@pytest.mark.usefixtures("runs")
def test_a_data_set_and_its_runs_become_trec_files_that_score_reads(command: Command) -> None:
    assert command("export trec sample bm25.jsonl lead.jsonl -o trec").code == 0
    assert len(Path("trec/topics.tsv").read_text().splitlines()) == 10
    score = "--data sample -t er_at_10 -t er_at_optimal --json"
    before, after = (json.loads(command(f"score {run} {score}").out) for run in ("bm25.jsonl", "trec/runs/bm25.run"))
    for task in ("er_at_10", "er_at_optimal"):
        assert before[task]["per_instance"] == after[task]["per_instance"]


@pytest.mark.usefixtures("runs")
def test_what_a_trec_file_cannot_say_is_a_warning_and_json_has_it_all(command: Command) -> None:
    result = command("export trec sample answers.json -o trec -t er_at_2 --json")
    assert "warning: runs/answers.er_at_2.run: 10 sets over the budget cut to the sentences named first" in result.err
    report = json.loads(result.out)
    assert report["runs"]["runs/answers.er_at_2.run"]["n_cut_sets"] == 10


def test_only_a_folder_of_its_own_is_replaced_and_only_when_asked(command: Command) -> None:
    assert command("export trec sample -o trec").code == 0
    again = command("export trec sample -o trec")
    assert (again.code, again.err) == (2, "error: trec: exists; choose another name, or replace it with --overwrite\n")
    assert command("export trec sample -o trec --overwrite").code == 0
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("")
    refused = command("export trec sample -o mine --overwrite")
    assert (refused.code, refused.err.partition(";")[0]) == (
        2,
        "error: mine: holds something else, which would be lost",
    )
    missing = command("export trec sample -o no/trec")
    assert (missing.code, "there is no folder 'no'" in missing.err) == (2, True)
    to_file = command("export trec sample -o own.py")
    assert (to_file.code, to_file.err) == (2, "error: own.py: is a file; expected the name of a folder\n")
