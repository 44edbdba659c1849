"""``--ids``: the commands that run and score take a subset of the data, from a file or standard input."""

import json
from pathlib import Path

import pytest

from kit.command_line import SAMPLE, Command
from kit.fake_models import RunningServer

CHOSEN = (SAMPLE.ids[1], SAMPLE.ids[4])


@pytest.fixture(autouse=True)
def _ids() -> None:
    Path("ids.txt").write_text("".join(f"{name}\n" for name in CHOSEN), encoding="utf-8")
    Path("wrong.txt").write_text(f"{CHOSEN[0]}\n{CHOSEN[1]}0\n", encoding="utf-8")


def test_a_run_of_chosen_instances_is_scored_without_naming_them_again(command: Command) -> None:
    assert command("run bm25 --data sample -o run.jsonl --ids ids.txt --json").json["n_instances"] == 2
    assert command("score run.jsonl --data sample --set draws=50 --json").json["er_at_10"]["per_instance"].keys() == {
        *CHOSEN
    }


@pytest.mark.parametrize(
    "arguments",
    [
        "score bm25.jsonl",
        "compare bm25.jsonl lead.jsonl",
        "leaderboard bm25.jsonl lead.jsonl",
        "leaderboard --table bm25.jsonl lead.jsonl",
        "controls bm25",
    ],
)
@pytest.mark.usefixtures("runs")
def test_what_is_printed_is_of_the_chosen_instances(arguments: str, command: Command) -> None:
    few = command(f"{arguments} --data sample --task er_at_10 --set draws=50 --json --ids ids.txt")
    assert (few.code, few.err) == (0, "")
    assert few.out != command(f"{arguments} --data sample --task er_at_10 --set draws=50 --json --limit 2").out
    assert '"n": 2' in few.out or '"er_at_10_mean": 2' in few.out


@pytest.mark.usefixtures("runs")
def test_a_report_is_of_the_chosen_instances_and_shows_how_it_was_made(command: Command) -> None:
    assert command("report bm25.jsonl --data sample -o report.html --ids ids.txt").code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert all(shown in page for shown in ("2 of 10 instances", "--ids ids.txt", *CHOSEN))
    assert SAMPLE.ids[0] not in page


def test_ids_come_from_standard_input(command: Command) -> None:
    assert command("run bm25 --data sample -o run.jsonl --ids - --json", f"{CHOSEN[1]}\n").json["n_instances"] == 1


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ("wrong.txt", f"wrong.txt: no instance '{CHOSEN[1]}0' in sample.json (did you mean '{CHOSEN[1]}'?)"),
        ("a,b", "a,b: no such file; expected instance ids, or the path of a file of"),
    ],
)
def test_ids_that_cannot_be_used_are_told(ids: str, words: str, command: Command) -> None:
    assert words in command(f"run bm25 --data sample -o run.jsonl --ids {ids}").refusal
    assert not Path("run.jsonl").exists()


@pytest.mark.usefixtures("own_cache")
def test_changed_queries_are_needed_for_the_chosen_instances_only(server: RunningServer, command: Command) -> None:
    Path("negated.json").write_text(json.dumps(dict.fromkeys(CHOSEN, "It does not.")), encoding="utf-8")
    run = f"run {server.spec()} --data sample -t er_at_10 --control negated=negated.json -o run.jsonl"
    assert "expected a hypothesis for every instance" in command(run).refusal
    assert command(f"{run} --ids ids.txt --json").json["n_failed"] == 0
    assert "It does not." in command(f"llm show run.jsonl {CHOSEN[1]} --data sample").out
