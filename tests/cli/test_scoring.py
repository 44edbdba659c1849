"""What ``score``, ``leaderboard``, ``compare`` and ``report`` say first, how they end, and how much they print."""

import json
import re
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest

from evidencebench import TASKS
from kit.command_line import FORMATS, SAMPLE, Command
from kit.unlabelled import unlabelled_dataset

pytestmark = pytest.mark.usefixtures("runs")

TASKS_WITH_A_NUMBER = (("er", 10), ("result_er", 5), ("result_er", 10))


def test_what_was_trained_on_the_data_is_said_first_and_marked_in_every_form(command: Command) -> None:
    assert command("run own:Trained --data sample -o seen.jsonl").code == 0
    options = "--data sample --task er_at_10 --set draws=50"
    said = "own:Trained  trained on this data"
    for call in (
        "score seen.jsonl",
        "leaderboard seen.jsonl",
        "compare seen.jsonl lead.jsonl",
        "report -o y.html seen.jsonl",
    ):
        found = command(f"{call} {options}")
        assert (found.code, said in found.err) == (0, True), call
    score = command(f"score seen.jsonl {options} --json").json["er_at_10"]
    assert score["trained_on_it"] is True
    assert score["warnings"][0]["kind"] == "trained on this data"
    assert "|trained_on:this_data|" in score["signature"]
    title = command(f"score seen.jsonl {options}").out.partition("\n\n")[0]
    assert title.endswith("(trained on this data,\nso its scores say nothing about other papers): aspect recall in %")
    board = command(f"leaderboard seen.jsonl lead.jsonl {options} --json --plot board.svg").json
    assert ", saw this data" in Path("board.svg").read_text()
    assert {row["system"]: row["trained_on_it"] for row in board["tasks"]["er_at_10"]}["own:Trained"] is True
    for table_format in FORMATS:
        shown, compared = (
            command(f"{call} seen.jsonl lead.jsonl {options} --format {table_format}").out.replace("\\_", "_")
            for call in ("leaderboard", "compare")
        )
        if table_format == "csv":
            assert (",true" in shown, compared.splitlines()[1].endswith(",true,false")) == (True, True)
            continue
        mark = r"\textdagger{}" if table_format == "latex" else "†"
        assert f"own:Trained {mark}" in shown
        assert f"{mark} trained on this data" in shown
        assert all(part in compared for part in ("trained_on:this_data", "own:Trained †", " trained on this data"))
    (pair,) = command(f"compare seen.jsonl lead.jsonl {options} --json").json["pairs"]
    assert pair["trained_on_it"] == [True, False]
    command(f"report seen.jsonl lead.jsonl {options} -o x.html")
    page = Path("x.html").read_text()
    assert "Warning: " in page
    assert "own:Trained\u00a0†" in page


def test_a_list_of_all_sentences_is_not_scored_without_a_word(command: Command) -> None:
    lists = {query.instance_id: [*range(len(query.sentences))] for query in SAMPLE.queries()}
    Path("answers.json").write_text(json.dumps(lists))
    found = command("score answers.json --data sample --task er_at_10 --set draws=50")
    assert "answers.json  lists look ranked  10 of 10  er_at_10" in found.err
    assert "are longer than the budget and look like rankings" in " ".join(found.err.split())
    first = command("score answers.json --data sample --task er_at_10 --set draws=50 --set over-length=first")
    assert (first.code, first.err) == (0, "")


@pytest.mark.parametrize("call", ["score answers.json", "compare answers.json lead.jsonl"])
def test_missing_answers_are_told_in_one_table_and_end_with_1_on_request(call: str, command: Command) -> None:
    Path("answers.json").write_text(json.dumps({SAMPLE.ids[0]: [1]}))
    for form in ("", " --json", " --format csv"):
        found = command(f"{call} --data sample --task er_at_10 --set draws=50{form}")
        assert found.code == 0
        row = {"system": "answers.json", "kind": "missing", "n": 9, "n_all": 10, "task": "er_at_10"}
        if form == " --json":
            scores = found.json.get("er_at_10", found.json)
            assert [{name: fields[name] for name in row} for fields in scores["warnings"]] == [row]
            assert found.err == ""
        else:
            assert "answers.json  missing  9 of 10  er_at_10" in found.err.splitlines()
        assert command(f"{call} --data sample --task er_at_10 --set draws=50 --require-complete{form}").code == 1
    complete = call.replace("answers.json lead.jsonl", "answers.json").replace("answers.json", "lead.jsonl")
    if not complete.startswith("compare"):
        assert command(f"{complete} --data sample --task er_at_10 --set draws=50 --require-complete").code == 0


def test_nine_papers_of_one_review_are_not_called_one_paper(command: Command) -> None:
    records = json.loads(Path(SAMPLE.path).read_bytes())
    Path("data.json").write_text(
        json.dumps({name: one | {"systematic_review_id": "r"} for name, one in records.items()})
    )
    for system in ("bm25", "lead"):
        command(f"run {system} --data data.json -o {system}.jsonl --limit 9 --overwrite")
    options = "--data data.json --task er_at_10 --set draws=50 --limit 9"
    for call in ("score bm25.jsonl", "leaderboard bm25.jsonl", "compare bm25.jsonl lead.jsonl"):
        shown = " ".join(command(f"{call} {options}").out.split())
        assert "(one review or paper)" in shown, call
        assert "one paper" not in shown, call
    assert "bootstrap over reviews]" in command(f"leaderboard --table bm25.jsonl lead.jsonl {options}").out.replace(
        "\n", " "
    )
    command(f"report bm25.jsonl lead.jsonl {options} -o page.html")
    page = Path("page.html").read_text()
    assert "(one review or paper: no interval)" in page
    assert " from 1 review or paper; intervals and tests resample these" in page
    assert "9 instances from 1 review or paper, or those on which the systems differ, are too few" in page


def test_one_paper_is_shown_without_an_interval(command: Command) -> None:
    options = "--data sample --task er_at_10 --set draws=50 --limit 1"
    recall = command(f"score bm25.jsonl {options} --json").json["er_at_10"]["aspect_recall"]
    assert (recall["low"], recall["high"], recall["n_clusters"]) == (None, None, 1)
    shown = command(f"score bm25.jsonl {options} --curve 2 --plot curve.svg").out
    assert f"{100 * recall['mean']:.1f} (one instance)  1" in shown
    assert f"= {recall['mean']:.3f} (one instance: no interval)" in shown
    assert f"er_at_10,{recall['mean']}" in command(f"score bm25.jsonl {options} --format csv").out
    for call in ("leaderboard bm25.jsonl lead.jsonl", "compare bm25.jsonl lead.jsonl"):
        assert "(one instance)" in command(f"{call} {options} --plot chart.svg").out
        assert ",,," in command(f"{call} {options} --format csv").out
    (pair,) = command(f"compare bm25.jsonl lead.jsonl {options} --json").json["pairs"]
    assert pair["difference"]["low"] is None


def test_recall_of_coverable_aspects_is_left_out_where_it_is_recall(command: Command) -> None:
    shown = command("score bm25.jsonl --data sample --task er_at_10 --set draws=50").out
    assert "coverable" not in shown
    assert "precision  relative   gap" in shown
    records = json.loads(Path(SAMPLE.path).read_bytes())
    first = next(iter(records.values()))
    first["systematic_review_id"] = "a review"
    aspect = first["aspect_list_ids"][0]
    first["aspect2sentence_indices"][aspect] = []
    Path("data.json").write_text(json.dumps(records))
    command("run lead --data data.json -o other.jsonl")
    assert "coverable  precision" in command("score other.jsonl --data data.json --task er_at_10 --set draws=50").out


def test_several_runs_are_compared_in_a_matrix_and_pair_by_pair_on_request(command: Command) -> None:
    names = [f"bm25:k1={number}.123456789,b=0.123456789,stopwords=false" for number in range(1, 8)]
    names += ["cues"]
    for number, spec in enumerate(names):
        command(f"run {spec} --data sample -o {number}{'_of_a_very_long_name' * 4}.jsonl --limit 9")
    paths = " ".join(f"{number}{'_of_a_very_long_name' * 4}.jsonl" for number in range(8))
    short = command(f"compare {paths} --data sample --set draws=50")
    assert short.out.count("\n") < 150
    lines = short.out.splitlines()
    assert max(map(len, lines)) <= 80
    header = next(line for line in lines if line.startswith("run"))
    assert header.split() == ["run", "mean", *"ABCDEFGH"]
    note = r"^\* p < 0\.05, sign-flip test, Holm over (?:(\d+) to )?(\d+) pairs? of runs per task$"
    tested = re.search(note, short.out, re.MULTILINE)
    assert tested is not None
    pairs = command(f"compare {paths} --data sample --set draws=50 --json").json["pairs"]
    # Six papers must differ, so that p can be 2/64.
    able = [pair for pair in pairs if pair["n_better"] + pair["n_worse"] >= 6]
    same = {(pair["task"], pair["second"]) for pair in pairs if pair["overlap"]["mean"] == 1}
    tests = {(pair["task"], pair["first"]) for pair in able if (pair["task"], pair["first"]) not in same}
    sizes = Counter(task for task, _ in tests).values()
    assert (int(tested[1] or tested[2]), int(tested[2])) == (min(sizes), max(sizes))
    assert len(able) < len(pairs) == 140
    assert lines[-1].startswith("--details shows every pair")
    full = command(f"compare {paths} --data sample --set draws=50 --details").out
    assert full.count("\n") > 500
    assert full.startswith(lines[0])
    for call in (f"leaderboard {paths}", f"score {paths.split()[0]}"):
        assert max(map(len, command(f"{call} --data sample --set draws=50").out.splitlines())) <= 80


def test_a_matrix_holds_the_differences_of_the_pairs(command: Command) -> None:
    call = "compare bm25.jsonl lead.jsonl oracle.jsonl --data sample --task er_at_10 --set draws=200"
    pairs = {(one["first"], one["second"]): one for one in command(f"{call} --json").json["pairs"]}
    rows = {line[:1]: line.split()[2:] for line in command(call).out.splitlines()[3:6]}
    star = "*" if pairs["bm25", "oracle"]["p_value_holm"] < 0.05 else ""
    assert rows["A"][2] == f"{100 * pairs['bm25', 'oracle']['difference']['mean']:+.1f}{star}"
    assert rows["C"][1] == f"{-100 * pairs['bm25', 'oracle']['difference']['mean']:+.1f}{star}"
    for table_format, note in (
        ("markdown", r"\* p &lt; 0.05, sign-flip"),
        ("latex", r"{\footnotesize * p \textless{} 0.05, sign-flip"),
    ):
        assert note in command(f"{call} --format {table_format}").out


def test_recall_by_where_the_evidence_lies_is_a_table_and_json(command: Command) -> None:
    call = "score bm25.jsonl --data sample --task er_at_10 --set draws=50 --places"
    shown = command(call).out
    assert "er_at_10: recall by the share of aspects that the first and last 10 sentences" in shown
    assert re.search(r"^over 80 % +5 +\d", shown, re.MULTILINE)
    assert re.search(r"^all aspects - none, at equal length +10 +-?\d", shown, re.MULTILINE)
    places = command(f"{call} --json").json["er_at_10"]["places"]
    assert [group["share"] for group in places["groups"]] == ["over 80 %", "60 to 80 %", "40 to 60 %"]
    assert "--kinds and --places have no CSV form" in command(f"{call} --format csv").err


@pytest.mark.parametrize(("call", "task"), [("score cues.jsonl", ""), ("leaderboard cues.jsonl", " -t er_at_10")])
def test_papers_without_labels_are_not_scored_and_what_shows_them_is_named(
    call: str, task: str, command: Command
) -> None:
    dataset = unlabelled_dataset(Path())
    for system in ("cues", "lead"):
        ran = command(f"run {system} --data own.json -o {system}.jsonl --overwrite")
        assert ran.out.splitlines()[-1] == f"next: evidencebench view {system}.jsonl --data own.json"
    answers = [json.loads(line) for line in Path("cues.jsonl").read_text().splitlines()[1:]]
    asked = {(answer["id"], answer["task"]) for answer in answers}
    assert asked == {(one, f"{name}_at_{k}") for one in dataset.ids for name, k in TASKS_WITH_A_NUMBER}
    found = command(f"{call} --data own.json{task}")
    named = "er_at_10" if task else "er_at_optimal"
    for part in (f"own.json: task '{named}'", "labels", "'evidencebench view' and 'evidencebench report'"):
        assert part in found.refusal


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
    found = command(f"score {arguments} --data sample --set draws=50 --json").json
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
    found = command(f"score answers.json --data sample --task {task} --set draws=50 --json").json[task]
    n_missing = found["aspect_recall"]["n"] - 3
    assert (found["failed"], found["empty"], found["missing"]) == (1, 1, n_missing)
    assert len(others) <= n_missing <= len(others) + 1


def test_text_and_json_show_the_same_score_and_signature(command: Command) -> None:
    shown = command("score bm25.jsonl --data sample --task er_at_10").out
    found = command("score bm25.jsonl --data sample --task er_at_10 --json").json["er_at_10"]
    recall = found["aspect_recall"]
    assert f"er_at_10  {100 * recall['mean']:.1f} [{100 * recall['low']:.1f}, {100 * recall['high']:.1f}]" in shown
    assert f"{found['signature']} = {recall['mean']:.3f}" in shown.replace("\n  ", "")


def test_runs_are_ranked_beside_the_controls_and_the_published_figures(command: Command) -> None:
    board = command("leaderboard bm25.jsonl answers.json --data sample --set draws=50 --published --json").json
    assert set(board["tasks"]) == set(TASKS) - {"result_er_unconstrained"}
    rows = {row["system"]: row for row in board["tasks"]["er_at_10"]}
    assert set(rows) == {"bm25", "answers.json", "random", "lead", "abstract_backwards", "oracle"}
    assert {name for name, row in rows.items() if not row["is_control"]} == {"bm25", "answers.json"}
    assert rows["oracle"]["rank"] is None
    means = [row["aspect_recall"]["mean"] for row in rows.values()]
    assert means == sorted(means, reverse=True)
    assert (board["published"]["split"], board["published"]["same_split"]) == ("test", False)
    call = "leaderboard bm25.jsonl --data sample --set draws=50 --published --format"
    for form, note in (("text", "* a baseline,"), ("markdown", r"\* a baseline,"), ("latex", "footnotesize * a")):
        shown = command(f"{call} {form}").out
        assert (note in shown, "ANOTHER split than yours" in shown, "er_10" in shown) == (True, True, False)
        assert note not in command(f"{call} {form} --no-controls").out


def test_rules_for_runs_leave_the_controls_as_they_are(command: Command) -> None:
    Path("answers.json").write_text('{"evidencebench_sample_id_0": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]}')
    score = "score answers.json --data sample --task er_at_10 --json --set draws=50"
    expected, first = command(score).json["er_at_10"], command(f"{score} --set over-length=first").json["er_at_10"]
    assert expected["aspect_recall"] != first["aspect_recall"]
    assert expected["controls"] == first["controls"]
    assert expected["controls"]["random"] < expected["controls"]["lead"]


def test_failed_answers_are_told_where_a_system_is_run_or_compared(command: Command) -> None:
    found = command("controls own:Slow:fails=true --data sample --task er_at_10 --set draws=50")
    assert (found.code, found.err) == (
        1,
        "20 answers failed, which scores 0; 'evidencebench run own:Slow:fails=true' says why\n",
    )
    command("run own:Slow:fails=true --data sample -o failed.jsonl")
    (pair,) = command("compare failed.jsonl lead.jsonl --data sample --task er_at_10 --set draws=50 --json").json[
        "pairs"
    ]
    assert (pair["counts_first"]["failed"], pair["counts_second"]["failed"]) == (10, 0)


def test_a_run_with_another_papers_hypothesis_stands_beside_its_own_on_no_row(command: Command) -> None:
    command("run bm25 --data sample -o wrong.jsonl --control wrong_hypothesis")
    command("run cues --data sample -o cues.jsonl")
    options = "--data sample --task er_at_10 --set draws=50"
    (control,) = command(f"controls bm25 {options} --json").json
    board = command(f"leaderboard bm25.jsonl cues.jsonl lead.jsonl wrong.jsonl {options} --json").json
    rows = {row["system"]: row for row in board["tasks"]["er_at_10"] if not row["is_control"]}
    assert set(rows) == {"bm25", "cues", "lead"}
    measured = rows["bm25"]["wrong_hypothesis"]
    assert measured["recall"] == control["recall_changed"]
    assert measured["difference"] == control["difference"]
    assert measured["p_holm"] == control["p_value_holm"]
    assert rows["cues"]["wrong_hypothesis"] is None
    for call in ("leaderboard", "leaderboard --table"):
        lines = command(f"{call} bm25.jsonl cues.jsonl lead.jsonl wrong.jsonl {options}").out.splitlines()
        ends = {line.split()[0]: line.rstrip() for line in lines[2:8] if line}
        assert f"{100 * control['recall_changed']['mean']:.1f}, p = " in ends["bm25"], call
        assert ends["cues"].endswith("not measured"), call
        assert ends["lead"].endswith("never reads it"), call
    alone = command(f"leaderboard --table bm25.jsonl cues.jsonl {options}").out
    assert "With another paper's hypothesis: not measured." in " ".join(alone.split())
    assert (
        command(f"score wrong.jsonl {options}").code == command(f"compare wrong.jsonl bm25.jsonl {options}").code == 0
    )
    refused = command(f"leaderboard wrong.jsonl {options}")
    assert (refused.code, "changed queries" in refused.err) == (2, True)
