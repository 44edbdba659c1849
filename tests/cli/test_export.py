"""Exports: what the commands write, print and refuse."""

import json
from pathlib import Path

import pytest

from kit.command_line import Command

pytestmark = pytest.mark.usefixtures("runs")


def test_a_data_set_and_its_runs_become_trec_files_that_score_reads(command: Command) -> None:
    assert command("export trec sample bm25.jsonl lead.jsonl -o trec").code == 0
    assert len(Path("trec/topics.tsv").read_text().splitlines()) == 10
    assert command("data convert sample back.json --qrels trec/qrels.all.txt").out == "back.json: 10 instances\n"
    scores = "-t er_at_10 -t result_er_at_5 --set draws=10 --json"
    calls = ("bm25.jsonl --data sample", "trec/runs/bm25.run --data sample", "trec/runs/bm25.run --data back.json")
    before, *others = (
        {k: v["per_instance"] for k, v in command(f"score {one} {scores}").json.items()} for one in calls
    )
    assert others == [before, before]


def test_only_what_qrels_judge_is_written_and_shards_are_made_of_that(command: Command) -> None:
    Path("pool.txt").write_text("evidencebench_sample_id_3 finding 7 1\nevidencebench_sample_id_3 finding 8 0\n")
    assert command("data convert sample mine.json --qrels pool.txt --json").json["n_instances"] == 1
    (labels,) = json.loads(Path("mine.json").read_text()).values()
    assert labels["aspect2sentence_indices"] == {"finding": [7]}
    assert command("data solve mine.json -o solved.json").code == 0
    assert command("data validate solved.json --optima").code == 0
    refusal = command("data convert sample d.parquet --qrels pool.txt --shard-size 2").refusal
    assert "combined with --shard-size" in refusal
    missing = command("data convert sample other.json --qrels none.txt")
    assert (missing.code, missing.err.startswith("error: none.txt: ")) == (2, True)


def test_what_a_trec_file_cannot_say_is_a_warning_and_json_has_it_all(command: Command) -> None:
    result = command("export trec sample answers.json -o trec -t er_at_2 --json")
    assert "warning: runs/answers.er_at_2.run: 10 sets over the budget cut to the sentences named first" in result.err
    report = json.loads(result.out)
    assert report["runs"]["runs/answers.er_at_2.run"]["n_cut_sets"] == 10


def test_only_a_folder_of_its_own_is_replaced_and_only_when_asked(command: Command) -> None:
    assert command("export trec sample -o trec").code == 0
    assert command("export trec sample -o trec --overwrite").code == 0
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("")
    for arguments, message in {
        "trec": "trec: exists",
        "mine --overwrite": "mine: holds something else",
        "no/trec": "no folder 'no'",
        "own.py": "own.py: is a file",
    }.items():
        assert message in command(f"export trec sample -o {arguments}").refusal


def test_splits_become_a_folder_for_hugging_face(command: Command) -> None:
    made = command("export hf --split train=sample --split test=sample -o hub --json").json
    assert [(one["name"], one["n_instances"]) for one in made["splits"]] == [("train", 10), ("test", 10)]
    files = {path.name for path in Path("hub").iterdir()}
    assert files == {"README.md", "data", "evidencebench.json"}


def test_the_licence_of_unknown_data_is_asked_for_and_never_invented(command: Command) -> None:
    assert command("data convert sample mine.jsonl").code == 0
    refusal = command("export hf mine.jsonl -o hub").refusal
    assert "mine.jsonl is not known; name it with --licence train=LICENCE" in refusal
    assert command("export hf mine.jsonl --licence CC0-1.0 -o hub").out.endswith("CC0-1.0\n")
    other = command("export hf --split a=sample --licence a=CC-BY-4.0 -o other")
    assert "MIT, not CC-BY-4.0" in other.err
