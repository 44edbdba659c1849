"""Parquet files, folders of shards and patterns stand wherever data are taken, and give the same results."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from command_line import Command

pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
pandas = pytest.importorskip("pandas", reason="needs pandas")

FORMS = ("data.json", "data.parquet", "shards", "shards/*")
COMMANDS = (
    "data validate {} --optima --json",
    "data stats {} --json",
    "data show {} evidencebench_sample_id_3 --json",
    "controls lead --data {} --control wrong_hypothesis --draws 10 --json",
)


@pytest.fixture
def forms(command: Command) -> tuple[str, ...]:
    """Give the sample in all forms."""
    for words in ("sample data.json", "sample data.parquet", "data.parquet shards/data.parquet --shard-size 4"):
        assert command(f"data convert {words}").code == 0
    return FORMS


def without_names(text: str) -> Any:
    """Return a JSON text without names and checksums of data."""
    return json.loads(
        re.sub(r"data\.json|data\.parquet|shards(/\*)?|(?<=sha256:)\w{12}|\b[0-9a-f]{64}\b", "DATA", text)
    )


@pytest.mark.parametrize("words", COMMANDS)
def test_every_form_of_data_gives_the_same(words: str, forms: tuple[str, ...], command: Command) -> None:
    first, *others = (without_names(command(words.format(form)).out) for form in forms)
    assert all(other == first for other in others)


def test_solving_running_scoring_and_the_pages_take_every_form(forms: tuple[str, ...], command: Command) -> None:
    answers, scores = [], []
    for number, form in enumerate(forms):
        assert command(f"data solve {form} -o solved{number}.json").code == 0
        assert command(f"run lead --data {form} -o run{number}.jsonl -j 2").code == 0
        answers.append(Path(f"run{number}.jsonl").read_text().splitlines()[1:])
        scores.append(without_names(command(f"score run{number}.jsonl --data {form} --draws 10 --json").out))
        assert command(f"leaderboard run{number}.jsonl --data {form} --draws 10").code == 0
        assert command(f"report run{number}.jsonl --data {form} -o page{number}.html").code == 0
        assert Path(f"solved{number}.json").read_bytes() == Path("solved0.json").read_bytes()
    assert all(one == answers[0] for one in answers)
    assert all(one == scores[0] for one in scores)


def test_shards_are_not_mixed_with_those_of_before(forms: tuple[str, ...], command: Command) -> None:
    assert len(forms) == 4
    found = command("data convert sample shards/data.parquet --shard-size 5")
    assert found.code == 2
    assert "shards/data-00000-of-00003.parquet: exists; choose another name, or replace all shards" in found.err
    found = command("data convert sample shards/data.parquet --shard-size 5 --overwrite --json")
    assert found.json["shards"] == [f"shards/data-0000{number}-of-00002.parquet" for number in (0, 1)]
    assert sorted(path.name for path in Path("shards").iterdir()) == [Path(one).name for one in found.json["shards"]]
    assert command("data convert sample - --shard-size 5").code == 2
    refused = command("data convert sample no/shards/data.parquet --shard-size 5")
    assert (refused.code, refused.err) == (
        2,
        "error: no/shards: the folder cannot be made: No such file or directory\n",
    )


def test_parquet_goes_back_to_the_same_json(forms: tuple[str, ...], command: Command) -> None:
    for number, form in enumerate(forms):
        assert command(f"data convert {form} back{number}.jsonl").code == 0
        assert Path(f"back{number}.jsonl").read_bytes() == Path("back0.jsonl").read_bytes()


def test_a_run_goes_to_parquet_and_back(command: Command) -> None:
    assert command("run lead --data sample -o run.jsonl").code == 0
    assert command("export run run.jsonl -o run.parquet").out == "run.parquet: 10 answers\n"
    assert command("export run run.parquet -o again.jsonl --json").json == {"output": "again.jsonl", "n_answers": 10}
    assert Path("again.jsonl").read_bytes() == Path("run.jsonl").read_bytes()
    for words in ("score {} --data sample --draws 10", "leaderboard {} --data sample --draws 10"):
        assert command(words.format("run.parquet")).out == command(words.format("run.jsonl")).out
    assert "run.parquet: exists; choose another name" in command("export run run.jsonl -o run.parquet").err
    assert "expected a name that ends in .parquet or .jsonl" in command("export run run.jsonl -o run.csv").err
    Path("plain.json").write_text('{"evidencebench_sample_id_0": [1]}')
    assert "expected a run of evidencebench" in command("export run plain.json -o plain.parquet").err
    found = command("run lead --data sample -o new.parquet")
    assert (found.code, Path("new.parquet").exists()) == (2, False)
    assert "expected a name such as new.jsonl, of which 'evidencebench export run' makes Parquet" in found.err
    assert "run.parquet: is a run, and no data" in command("data stats run.parquet").err
    assert command("data convert sample data.parquet").code == 0
    assert "data.parquet: is data, and no answers" in command("score data.parquet --data sample").err


def test_the_scores_of_each_instance_are_a_table_in_parquet_and_csv(command: Command) -> None:
    assert command("run lead --data sample -o run.jsonl").code == 0
    for name in ("scores.parquet", "scores.csv"):
        found = command(f"score run.jsonl --data sample --draws 10 --json --per-instance {name}").json
    tables = [pandas.read_parquet("scores.parquet"), pandas.read_csv("scores.csv")]
    for table in tables:
        assert {*table["system"]} == {"lead"}
        for task, fields in found.items():
            rows = table[table["task"] == task]
            assert dict(zip(rows["id"], rows["aspect_recall"], strict=True)) == fields["per_instance"]
            assert rows["regret"].mean() == pytest.approx(fields["regret"]["mean"])
            assert rows["cluster"].nunique() == fields["aspect_recall"]["n_clusters"]
    assert tables[0].columns.tolist() == tables[1].columns.tolist()
    assert (
        "expected a name that ends in .parquet or .csv"
        in command("score run.jsonl --data sample --per-instance scores.xls").err
    )
