"""Scores, comparisons and leaderboards."""

import json
from pathlib import Path
from statistics import fmean

import pytest

from command_line import OWN_CODE, SAMPLE, Command
from evidencebench import TASKS


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("arguments", "tasks"),
    [
        ("answers.json", list(TASKS)),
        ("oracle.jsonl", list(TASKS)),
        ("bm25.jsonl", [name for name in TASKS if name != "result_er_unconstrained"]),
        ("bm25.jsonl --task result_er_at_5 -t er_at_3", ["result_er_at_5", "er_at_3"]),
        ("bm25.jsonl --budget 7", ["er_at_7"]),
        ("answers.json --task result_er_unconstrained --budget 2", ["result_er_unconstrained", "er_at_2"]),
    ],
)
def test_scores_as_json_have_the_promised_shape(arguments: str, tasks: list[str], command: Command) -> None:
    found = command(f"score {arguments} --data sample --draws 50 --json").json
    assert list(found) == tasks
    for name, scores in found.items():
        recall = scores["aspect_recall"]
        assert set(recall) >= {"mean", "low", "high", "n"}
        assert 0 <= recall["low"] <= recall["mean"] <= recall["high"] <= 1
        assert (scores["failed"], scores["empty"], scores["missing"]) == (0, 0, 0)
        assert f"task:{name}|" in scores["signature"]
        assert f"instances:{recall['n']}|" in scores["signature"]
        assert set(scores["per_instance"]) <= set(SAMPLE.ids)
        assert len(scores["per_instance"]) == recall["n"] == (9 if name.startswith("result") else 10)
        assert fmean(scores["per_instance"].values()) == pytest.approx(recall["mean"])


@pytest.mark.parametrize("task", TASKS)
def test_failed_empty_and_missing_answers_are_told_apart(task: str, command: Command) -> None:
    have_results = [instance.id for instance in SAMPLE if instance.labels.results]
    a, b, c, *others = have_results
    Path("answers.json").write_text(json.dumps({a: None, b: [], c: [1]}))
    found = command(f"score answers.json --data sample --task {task} --draws 50 --json").json[task]
    n_missing = found["aspect_recall"]["n"] - 3
    assert (found["failed"], found["empty"], found["missing"]) == (1, 1, n_missing)
    assert len(others) <= n_missing <= len(others) + 1


@pytest.mark.usefixtures("runs")
def test_text_and_json_show_the_same_score_and_signature(command: Command) -> None:
    shown = command("score bm25.jsonl --data sample --task er_at_10").out
    found = command("score bm25.jsonl --data sample --task er_at_10 --json").json["er_at_10"]
    recall = found["aspect_recall"]
    assert f"er_at_10  {100 * recall['mean']:.1f} [{100 * recall['low']:.1f}, {100 * recall['high']:.1f}]" in shown
    assert f"{found['signature']} = {recall['mean']:.3f}" in shown.replace("\n  ", "")


@pytest.mark.usefixtures("runs")
def test_runs_are_ranked_beside_the_controls_and_the_published_figures(command: Command) -> None:
    board = command("leaderboard bm25.jsonl answers.json --data sample --draws 50 --published --json").json
    assert set(board["tasks"]) == set(TASKS) - {"result_er_unconstrained"}
    rows = {row["system"]: row for row in board["tasks"]["er_at_10"]}
    assert set(rows) == {"bm25", "answers.json", "random", "lead", "abstract_backwards", "oracle"}
    assert [name for name, row in rows.items() if not row["is_control"]] in (
        ["bm25", "answers.json"],
        ["answers.json", "bm25"],
    )
    assert rows["oracle"]["rank"] is None
    assert [row["aspect_recall"]["mean"] for row in rows.values()] == sorted(
        (row["aspect_recall"]["mean"] for row in rows.values()), reverse=True
    )
    assert (board["published"]["split"], board["published"]["same_split"]) == ("test", False)
    assert "ANOTHER split than yours" in command("leaderboard lead.jsonl --data sample --draws 50 --published").out


@pytest.mark.usefixtures("runs")
def test_every_pair_of_runs_is_compared(command: Command) -> None:
    found = command("compare bm25.jsonl lead.jsonl oracle.jsonl --data sample --task er_at_10 --draws 50 --json").json
    pairs = [(pair["first"], pair["second"]) for pair in found["pairs"]]
    assert pairs == [("bm25", "lead"), ("bm25", "oracle"), ("lead", "oracle")]
    assert all(pair["p_value"] <= pair["p_value_holm"] <= 1 for pair in found["pairs"])


def test_the_wrong_hypothesis_control_is_json_too(command: Command) -> None:
    found = command("controls lead --data sample --draws 50 --json").json
    assert {(one["difference"]["mean"], one["overlap"]["mean"], one["p_value_holm"]) for one in found} == {(0, 1, None)}


def test_rules_for_runs_leave_the_controls_as_they_are(command: Command) -> None:
    Path("answers.json").write_text('{"evidencebench_sample_id_0": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]}')
    score = "score answers.json --data sample --task er_at_10 --json --draws 50"
    expected, first = command(score).json["er_at_10"], command(f"{score} --over-length first").json["er_at_10"]
    assert expected["aspect_recall"] != first["aspect_recall"]
    assert expected["controls"] == first["controls"]
    assert expected["controls"]["random"] < expected["controls"]["lead"]


def test_failed_answers_are_told_where_a_system_is_run_or_compared(command: Command) -> None:
    Path("own.py").write_text(OWN_CODE)
    found = command("controls own:Slow:fails=true --data sample --task er_at_10 --draws 50")
    assert (found.code, found.err) == (
        1,
        "20 answers failed, which scores 0; 'evidencebench run own:Slow:fails=true' says why\n",
    )
    command("run own:Slow:fails=true --data sample -o failed.jsonl")
    command("run lead --data sample -o lead.jsonl")
    (pair,) = command("compare failed.jsonl lead.jsonl --data sample --task er_at_10 --draws 50 --json").json["pairs"]
    assert (pair["counts_first"]["failed"], pair["counts_second"]["failed"]) == (10, 0)
