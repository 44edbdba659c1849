"""The report: the text of its sections, the text where a section has no data, and that no text becomes markup."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np
import pytest

from doors import (
    Findings,
    RunMismatchError,
    TaskError,
    as_html,
    bootstrap,
    breakdowns_of,
    compare_all,
    content_hash,
    curves_of,
    curves_section,
    missed_of,
    notes_of,
    p_text,
    paired_test,
    paired_tests,
    percent,
    read_run,
    report_page,
    results_of_runs,
    sample_path,
    score_runs,
    use_of_hypothesis,
    viewer_data_of,
    viewer_of,
)
from evidencebench import (
    TASKS,
    Dataset,
    Experiment,
    InProcess,
    Processes,
    Resampling,
    Rules,
    compare,
    execute,
    load_sample,
    open_dataset,
    task_named,
)
from kit.examples import SHORTER
from kit.report_pages import QUICK, Element, findings_in, header_of, made, parsed, record, report_of, run_at

SAMPLE = load_sample()
SECTIONS = {
    *("summary", "leaderboard", "curves", "breakdowns", "pairs", "hypotheses", "picks", "failures", "costs"),
    *("papers-here", "signatures", "method"),
}
BEST = {one.id: [index for held in one.labels.sources.values() for index in held] for one in SAMPLE}
HOSTILE = "\u202e</script><img src=x onerror=alert(1)>\x00&amp;<!--\"'`]]>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with runs over the sample: one of each kind, and two with wrong hypotheses."""
    folder = tmp_path_factory.mktemp("runs")
    for system in ("bm25", "tfidf", "lead", "cues", "oracle"):
        execute(system, SAMPLE, folder / f"{system}.jsonl")
    execute("bm25", SAMPLE, folder / "wrong.jsonl", control="wrong_hypothesis")
    execute("bm25:k1=1.5", SAMPLE, folder / "other_wrong.jsonl", control="wrong_hypothesis")
    (folder / "answers.json").write_text(json.dumps({instance_id: [3, 5, 8] for instance_id in SAMPLE.ids}))
    lines = (f"{instance_id} Q0 {index} 0 {-index} x\n" for instance_id in SAMPLE.ids for index in range(30))
    (folder / "run.trec").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def findings(folder: Path) -> Findings:
    """Give the findings of the runs of `report`."""
    paths = [folder / "bm25.jsonl", folder / "tfidf.jsonl", folder / "wrong.jsonl"]
    return findings_in(paths, SAMPLE, rules=Rules(), resampling=QUICK)


@pytest.fixture(scope="module")
def report(folder: Path) -> Element:
    """Give a report of two runs, one with its partner, on all tasks."""
    return report_of([folder / "bm25.jsonl", folder / "tfidf.jsonl", folder / "wrong.jsonl"], SAMPLE)


def test_a_report_has_every_section_and_a_link_to_each(report: Element) -> None:
    assert {section.attributes["id"] for section in report.all("section")} == SECTIONS
    (contents,) = report.all("nav", **{"class": "contents"})
    assert {link.attributes["href"] for link in contents.all("a")} == {f"#{name}" for name in SECTIONS - {"summary"}}


def test_a_page_allows_its_own_script_and_style_and_names_no_address_but_its_own(report: Element) -> None:
    (policy,) = report.all("meta", **{"http-equiv": "Content-Security-Policy"})
    (style,) = report.all("style")
    (script,) = [one for one in report.all("script") if "type" not in one.attributes]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.attributes["content"].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == content_hash(script.text)
    assert rules["style-src"] == content_hash(style.text)

    def check(element: Element) -> None:
        for name, value in element.attributes.items():
            assert not name.startswith("on"), element.tag
            assert name != "style", element.tag
            assert name not in {"href", "src", "action", "data"} or value.startswith("#"), (element.tag, value)
        for child in element.children:
            if isinstance(child, Element):
                check(child)

    check(report)


def test_the_same_runs_give_the_same_bytes_also_when_scored_in_processes(folder: Path) -> None:
    runs, tasks = [folder / "bm25.jsonl", folder / "cues.jsonl"], [task_named("er_at_10")]
    engines = (None, None, Processes(2))
    assert len({report_page(runs, SAMPLE, tasks, resampling=QUICK, engine=engine) for engine in engines}) == 1


@pytest.mark.parametrize(
    ("runs", "tasks", "said"),
    [
        (["bm25.jsonl"], [], {"costs": "No run used a language model"}),
        (["answers.json"], [], {"hypotheses": "version from what the file says", "curves": "1 to 5 sentences"}),
        (["cues.jsonl"], [], {"failures": "None failed, is empty, repeats"}),
        (["oracle.jsonl"], [], {"summary": "no run can be ranked"}),
        (["lead.jsonl"], [], {"summary": "no run can be ranked"}),
        (
            ["bm25.jsonl", "cues.jsonl"],
            [],
            {"curves": "of these tasks: cues.", "hypotheses": "not measured for any"},
        ),
        (["answers.json"], ["result_er_unconstrained"], {"summary": "any number of sentences"}),
        (["other_wrong.jsonl", "bm25.jsonl"], [], {"hypotheses": "there is no run of the same system and options"}),
    ],
)
def test_what_is_not_there_is_said_in_its_section(
    runs: list[str], tasks: list[str], said: dict[str, str], folder: Path
) -> None:
    page = report_of([folder / run for run in runs], SAMPLE, *tasks)
    assert {section.attributes["id"] for section in page.all("section")} == SECTIONS
    for section, words in said.items():
        assert words in page.section(section).text


def test_the_opening_names_the_leader_its_ranks_and_the_best_control(report: Element, findings: Findings) -> None:
    task = findings.tasks[0]
    leader = next(row for row in findings.boards[task.name].standings if not row.is_control)
    said = verdict_of(report)
    assert said.startswith("Which system is best, and how certain is that?Both runs share the top: ")
    assert f"{leader.system} {percent(leader.recall)} %" in said
    assert findings.label_free_controls(task)[0] in said
    assert re.search(r" is ((not )?significantly (above|below)|equal to) the best baseline", said)
    assert re.search(r": [+−]\d+\.\d \[[+−]\d+\.\d, [+−]\d+\.\d\] points, ", said)
    assert "can be significant" not in said


def test_the_opening_and_the_ranks_are_one_verdict_whatever_other_tasks_there_are(tmp_path: Path) -> None:
    answers = [tmp_path / "best.json", tmp_path / "empty.json"]
    answers[0].write_text(json.dumps(BEST))
    answers[1].write_text(json.dumps({instance_id: [] for instance_id in SAMPLE.ids}))
    verdicts = set()
    for tasks in (["er_at_25"], ["er_at_25", *(f"er_at_{k}" for k in range(1, 25))]):
        found = findings_in(answers, SAMPLE, list(map(task_named, tasks)), rules=Rules(), resampling=QUICK)
        page = report_of(answers, SAMPLE, *tasks)
        said = verdict_of(page)
        verdicts.add(said)
        assert ", significantly more than every other run. It is significantly above the best baseline" in said
        assert "(the file does not name its system)" in page.section("signatures").text
        leader, *others = (row for row in found.boards["er_at_25"].standings if row.rank is not None)
        control = next(row for row in others if row.is_control)
        assert p_text(found.boards["er_at_25"].pair(leader, control).adjusted, "p") in said
        for row in others:
            assert found.boards["er_at_25"].pair(leader, row).is_significant == (leader.rank == (1, 1))
    assert len(verdicts) == 1


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"a": [0], "b": [3]}, "Both runs share the top: a.json 0.0 [0.0, 0.0] %, b.json 0.0"),
        ({"a": [0], "b": [0]}, "a.json = b.json covers 0.0 [0.0, 0.0] % of the aspects on average."),
        ({"a": [1], "b": [2], "c": [0]}, "2 runs share the top: a.json 50.0 [50.0, 50.0] %, b.json 50.0"),
        ({"a": [1], "b": [0], "c": []}, "a.json is the best: it covers 50.0 [50.0, 50.0] % of the aspects"),
        (
            {"a": [1], "b": [2], "c": [0]},
            "None of them differs significantly from a.json. Significantly below: c.json.",
        ),
        ({"a": [1]}, "a.json covers 50.0 [50.0, 50.0] % of the aspects on average."),
        (
            {"a": [1], "b": []},
            "Are there failed or missing answers?12 of 24 answers are empty (b.json 12). They score 0.",
        ),
        ({"a": [1], "b": [0]}, "What did all systems miss?All 4 systems missed 12 of the 24 findable aspects"),
        ({str(n): [n + 3] for n in range(7)}, "3.json 0.0 [0.0, 0.0] %, 4.json 0.0 [0.0, 0.0] %, and 2 more of"),
    ],
)
def test_the_opening_says_which_runs_are_level_and_which_are_beaten(
    answers: dict[str, list[int]], said: str, tmp_path: Path
) -> None:
    kinds, ids = ["normal_paragraph"] * 10, [f"i{number}" for number in range(12)]
    dataset = made(tmp_path, {name: record({"x": [1], "y": [2]}, kinds) for name in ids})
    for name, sentences in answers.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(dict.fromkeys(ids, sentences)))
    assert said in verdict_of(report_of([tmp_path / f"{name}.json" for name in answers], dataset, "er_at_1"))


def test_the_opening_counts_the_missed_as_the_rows_of_the_papers_do_and_names_no_cost_where_none_is(
    report: Element, findings: Findings, folder: Path
) -> None:
    found = missed_of(findings, viewer_of(findings, ""), is_listed=True)
    rows = report.data("rows")
    for place, task in enumerate(findings.tasks):
        of_task = [row["found"][place] for row in rows]
        missed = found[task.name]
        assert (missed.n_missed, missed.n_stated) == (sum(n[0] for n in of_task if n), sum(map(sum, of_task)))
        block = report.section("summary").all("div", **{"data-task": task.name})[0]
        assert f"{missed.n_missed} of the {missed.n_stated} findable aspects" in block.text
        assert [link.text for link in block.all("a", href="#/missed")] == [
            f"{missed.n_missed} of the {missed.n_stated} findable aspects"
        ]
        assert "What did it cost?" not in block.text
    alone = report_of([folder / "bm25.jsonl"], SAMPLE, "er_at_10", papers=False).section("summary")
    assert not alone.all("a", href="#/missed")
    assert "the list is left out with the papers" in alone.text


@pytest.mark.parametrize(("costs", "scale"), [((40, 90_000), "0.001"), ((40_000, 90_000), "0.5")])
def test_recall_is_drawn_against_cost_on_a_log_axis_where_it_spans(
    costs: tuple[int, int], scale: str, tmp_path: Path
) -> None:
    runs = []
    for cost in costs:
        notes = {"requests": 1, "cost_microusd": cost, "milliseconds": 2_000, "timed_replies": 1}
        lines = [{"id": name, "sentences": [1, 2], "notes": notes} for name in SAMPLE.ids]
        runs.append(
            run_at(tmp_path / f"paid {cost}.jsonl", header_of("paid", {"cost": cost}, tasks=["er_at_10"]), *lines)
        )
    page = report_of(runs, SAMPLE, "er_at_10")
    assert f"{sum(costs[1:]) * len(SAMPLE) / 1e6:,.4f}" in verdict_of(page).partition("What did it cost?")[2]
    _, dollars = page.section("costs").all("svg", role="img")  # the first is for narrow pages
    assert len(dollars.all("line", **{"class": "chart-interval"})) == len(costs)
    ticks = [tick.text for tick in dollars.all("text", **{"class": "chart-tick"})]
    assert scale in ticks
    assert ("log scale" in dollars.text) == (costs[1] >= 10 * costs[0])


def test_the_plot_of_a_task_has_every_system_and_joins_those_that_cannot_be_told_apart(
    report: Element, findings: Findings
) -> None:
    blocks = report.section("summary").all("div", **{"data-task": findings.tasks[1].name})
    board = findings.boards[findings.tasks[1].name]
    (plot,) = blocks[0].all("table")
    rows = plot.all("tr")[1:]
    names = [row.all("th")[0].text for row in rows]
    assert names == [findings.name_of(row) for row in board.standings if row.system != "oracle"]
    letters = {
        name: set("".join(cell.text for cell in row.all("td")[3:])) for name, row in zip(names, rows, strict=True)
    }
    for pair in board.pairs:
        first, second = (letters[findings.name_of(one)] for one in (pair.first, pair.second))
        assert bool(first & second) != pair.is_significant
    ceiling = next(row for row in board.standings if row.system == "oracle")
    assert f"the ceiling, {100 * ceiling.recall.mean:.1f} %" in blocks[0].text


def test_equal_is_level_and_where_nothing_can_be_significant_the_page_says_so(tmp_path: Path) -> None:
    dataset = made(tmp_path, {name: record({"x": [0]}, ["normal_paragraph"] * 2) for name in ("one", "two")})
    (tmp_path / "answers.json").write_text(json.dumps({"one": [0], "two": [0]}))
    page = report_of([tmp_path / "answers.json"], dataset, "er_at_1")
    summary = page.section("summary").text
    assert "is equal to the best baseline, lead\u00a0*: +0.0 [+0.0, +0.0] points" in summary
    assert "points, too few papers differ for a test." in summary
    assert "No difference can be significant here: 2 instances, or those on which the systems differ," in summary


def test_the_leaderboard_shows_the_standings_of_each_task_and_of_all(report: Element, findings: Findings) -> None:
    overview = report.section("leaderboard").table("Mean aspect recall in % [interval] (ranks), by task")
    found = {row["system"]: row for row in overview}
    for task in findings.tasks:
        rows = report.section("leaderboard").table(task.name)
        assert [
            [row.system, percent(row.recall), row.n, row.failed, row.empty, row.missing]
            for row in findings.boards[task.name].standings
        ] == [
            [
                row["system"].removesuffix("\u00a0*"),
                row["aspect recall, %"],
                *(int(row[name]) for name in ("instances", "failed", "empty", "missing")),
            ]
            for row in rows
        ]
        for row, standing in zip(rows, findings.boards[task.name].standings, strict=True):
            ranks = "-".join(map(str, dict.fromkeys(standing.rank or ())))
            assert row["ranks"] == ranks
            assert row["system"].endswith("*") == standing.is_control
            in_short = f"{percent(standing.recall)}{ranks and f' ({ranks})'}"
            assert found[findings.name_of(standing)][task.name] == in_short


def test_a_section_on_one_task_has_a_block_for_each_and_one_task_has_no_switch(report: Element, folder: Path) -> None:
    (switch,) = report.all("div", id="task-switch")
    tasks = [option.attributes["value"] for option in switch.all("option")]
    titles = [option.text for option in switch.all("option")]
    assert titles[:2] == ["All aspects, fewest sentences", "All aspects, 10 sentences"]
    for section in report.all("section"):
        if blocks := [one for one in section.all("div") if "data-task" in one.attributes]:
            assert [one.attributes["data-task"] for one in blocks] == tasks
            assert [one.all("h3")[0].text for one in blocks] == [
                " ".join(one) for one in zip(titles, tasks, strict=True)
            ]
    assert report.section("leaderboard").all("div", **{"data-task": "er_at_10"})
    one = report_of([folder / "bm25.jsonl"], SAMPLE, "er_at_10")
    assert not one.all("div", id="task-switch")
    assert not one.all("h3", **{"class": "task-heading"})


def test_the_two_best_runs_on_a_task_are_named_for_the_papers(folder: Path) -> None:
    runs = ("lead", "tfidf", "oracle", "cues", "bm25")
    page = report_of([folder / f"{name}.jsonl" for name in runs], SAMPLE, "er_at_10", "result_er_at_5")
    labels = [system["label"] for system in page.data("overview")["systems"]]
    for task in page.data("overview")["tasks"]:
        rows = page.section("leaderboard").table(task["name"])
        competing = [row["system"] for row in rows if row["system"] in runs and row["ranks"]]
        assert [labels[place] for place in task["best"]] == [*competing, "oracle"]


def test_two_runs_that_score_the_same_everywhere_are_not_the_first_pair(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "again.jsonl"
    copy.write_bytes((folder / "cues.jsonl").read_bytes())
    page = report_of([folder / "cues.jsonl", copy, folder / "bm25.jsonl"], SAMPLE, "er_at_10")
    labels = [system["label"] for system in page.data("overview")["systems"]]
    (task,) = page.data("overview")["tasks"]
    assert [labels[place] for place in task["best"]][1] == "bm25"
    pairs = page.data("pairs-data")
    assert [pairs["names"][place] for place in pairs["tasks"]["er_at_10"]["best"]][1] == "bm25"


def test_a_system_has_one_mark_in_every_chart_of_a_page(report: Element) -> None:
    looks: dict[str, set[str]] = {}
    for section in ("leaderboard", "curves", "breakdowns", "hypotheses"):
        for part in report.section(section).all("g"):
            (title, *_) = part.all("title")
            name = title.text.partition(":")[0].removesuffix(" (baseline)")
            marks = [mark for tag in ("circle", "polygon") for mark in part.all(tag, **{"class": "chart-marker"})]
            for mark in marks:
                corners = mark.attributes.get("points", "").split()
                looks.setdefault(name, set()).add(f"{part.attributes['class']} {mark.tag} of {len(corners)}")
    assert {name: len(found) for name, found in looks.items()} == dict.fromkeys(looks, 1)
    assert looks["bm25"] == {"chart-series-0 circle of 0"}
    assert looks["tfidf"] == {"chart-series-1 polygon of 4"}
    assert looks["ceiling"] == looks["oracle"]


@pytest.mark.parametrize(
    ("runs", "title"),
    [
        (["bm25.jsonl"], "sample.json: bm25"),
        (["bm25.jsonl", "tfidf.jsonl", "lead.jsonl"], "sample.json: bm25, tfidf, lead"),
        (["bm25.jsonl", "tfidf.jsonl", "lead.jsonl", "run.trec"], "sample.json"),
        (["a_run_with_a_name_of_many_parts_and_a_date_20261121_a.trec"], "sample.json"),
    ],
)
def test_a_title_names_runs_that_are_few_and_short(runs: list[str], title: str, folder: Path, tmp_path: Path) -> None:
    for run in runs:
        source = folder / run if (folder / run).exists() else folder / "run.trec"
        (tmp_path / run).write_bytes(source.read_bytes())
    page = report_of([tmp_path / run for run in runs], SAMPLE, "er_at_10")
    assert [found.text for tag in ("h1", "title") for found in page.all(tag)][:2] == [title] * 2
    assert page.data("overview")["title"] == title


def test_curves_are_the_scores_at_every_budget(folder: Path) -> None:
    paths = [folder / "bm25.jsonl", folder / "answers.json"]
    found = curves_of(findings_in(paths, SAMPLE, rules=Rules(), resampling=QUICK), 12, InProcess())
    assert [curves.scope for curves in found] == ["all", "results"]
    for curves in found:
        prefix = "result_" if curves.scope == "results" else ""
        tasks = [task_named(f"{prefix}er_at_{k}") for k in range(1, 13)]
        graded = score_runs(paths, SAMPLE, tasks, rules=Rules())
        for curve in curves.curves:
            name, measure = ("random", "ceiling") if curve.name == "ceiling" else (curve.name, "aspect_recall")
            scores = (graded.controls if curve.is_control else graded.scores)[name]
            assert list(curve.points) == [scores[task.name].estimate(measure, QUICK) for task in tasks]


def test_a_run_asked_each_task_apart_has_points_at_the_budgets_of_its_tasks_only(folder: Path) -> None:
    found = findings_in([folder / "cues.jsonl"], SAMPLE, rules=Rules(), resampling=QUICK)
    (whole, results) = curves_of(found, 12, InProcess())
    for curves, budgets in ((whole, [10]), (results, [5, 10])):
        (curve,) = [curve for curve in curves.curves if curve.name == "cues"]
        assert [k for k, point in enumerate(curve.points, 1) if point is not None] == budgets
        for k in budgets:
            task = f"{'result_' if curves.scope == 'results' else ''}er_at_{k}"
            assert curve.points[k - 1] == found.scored.scores["cues"][task].estimate("aspect_recall", QUICK)


def test_the_groups_of_a_breakdown_share_out_the_instances(findings: Findings) -> None:
    for task in findings.tasks:
        for bins in breakdowns_of(findings)[task.name].values():
            scores = findings.scored.scores["bm25"][task.name]
            means = [recalls["bm25"] for recalls in bins.values()]
            assert sum(one.n for one in means) == len(scores.ids)
            total = sum(one.n * one.mean for one in means)
            assert total / len(scores.ids) == pytest.approx(float(scores.scores["aspect_recall"].mean()))


def test_instances_are_grouped_by_how_much_of_the_evidence_the_abstract_has(tmp_path: Path) -> None:
    kinds = ["abstract", "normal_paragraph", "normal_paragraph"]
    sources = {"all": {"x": [0, 1], "y": [0]}, "some": {"x": [0], "y": [2]}, "none": {"x": [1], "y": [2]}}
    sources |= {"uncoverable": {"x": [], "y": []}, "most": {"x": [0], "y": []}}
    dataset = made(tmp_path, {name: record(found, kinds) for name, found in sources.items()})
    (tmp_path / "answers.json").write_text("{}")
    found = findings_in([tmp_path / "answers.json"], dataset, [task_named("er_at_1")], rules=Rules(), resampling=QUICK)
    by_place = breakdowns_of(found)["er_at_1"]["what the abstract covers"]
    counts = [(name, next(iter(recalls.values())).n) for name, recalls in by_place.items()]
    assert counts == [
        ("all in the abstract", 2),
        ("some in the abstract", 1),
        ("none in the abstract", 1),
        ("no aspect can be covered", 1),
    ]


def test_a_group_holds_the_counts_that_its_name_says(tmp_path: Path) -> None:
    numbers = {n: record({f"a{number}": [0] for number in range(n)}, ["normal_paragraph"]) for n in (1, 4, 5, 13)}
    dataset = made(tmp_path, {f"paper of {n}": one for n, one in numbers.items()})
    (tmp_path / "answers.json").write_text("{}")
    page = report_of([tmp_path / "answers.json"], dataset, "er_at_1")
    rows = page.section("breakdowns").table("By the number of aspects that count: aspect recall in %")
    heads = ("1–4 aspects (2 instances)", "5–8 aspects (1 instance)", "13 aspects or more (1 instance)")
    assert rows[0].keys() == {"system", *heads}


def test_pairs_are_compared_as_compare_does_and_have_the_p_of_the_leaderboard(
    report: Element, findings: Findings
) -> None:
    names, data, scored = report.data("pairs-data")["names"], report.data("pairs-data")["tasks"], findings.scored
    assert list(data) == [task.name for task in findings.tasks]
    for task in findings.tasks:
        systems, board = [names[at] for at in data[task.name]["systems"]], findings.boards[task.name]
        assert systems == [row.system for row in board.ranked]
        assert [names[at] for at in data[task.name]["best"]] == [name for name in systems if name in scored.runs]
        assert [pair[:2] for pair in data[task.name]["pairs"]] == [
            list(one) for one in combinations(range(len(systems)), 2)
        ]
        for (first, second, *numbers), pair in zip(data[task.name]["pairs"], board.pairs, strict=True):
            one, other = (
                (scored.controls if row.is_control else scored.scores)[row.system][task.name]
                for row in (pair.first, pair.second)
            )
            found = compare(one, other, resampling=QUICK)
            test = found.test
            assert (systems[first], systems[second]) == (pair.first.system, pair.second.system)
            assert numbers[:3] == pytest.approx(
                [100 * end for end in (test.difference.mean, *(test.difference.interval or ()))], abs=0.051
            )
            assert numbers[3:5] == [p_text(pair.adjusted, "p"), pair.is_significant]
            assert numbers[5:8] == [test.n_better, test.n_equal, test.n_worse]
            assert numbers[8] == (
                None if test.minimum_detectable is None else pytest.approx(100 * test.minimum_detectable, abs=0.051)
            )
            assert numbers[9] == (None if found.overlap is None else pytest.approx(100 * found.overlap.mean, abs=0.051))


def test_the_matrix_has_every_pair_in_the_order_of_the_leaderboard(report: Element, findings: Findings) -> None:
    for task in findings.tasks:
        (block,) = report.section("pairs").all("div", **{"data-task": task.name})
        (table,) = block.all("table")
        head, *rows = table.all("tr")
        board = findings.boards[task.name]
        names = list(map(findings.name_of, board.ranked))
        assert [cell.text for cell in head.all("th")] == names[1:]
        assert [row.all("th")[0].text for row in rows] == names[:-1]
        cells = [cell.text for row in rows for cell in row.all("td") if "colspan" not in cell.attributes]
        assert cells == [
            f"{100 * one.test.difference.mean:.1f}{'*' if one.is_significant else ''}" for one in board.pairs
        ]


def test_comparisons_together_are_those_one_by_one(folder: Path) -> None:
    paths = [folder / name for name in ("bm25.jsonl", "tfidf.jsonl", "answers.json", "lead.jsonl")]
    graded = score_runs(paths, SAMPLE, [TASKS["er_at_10"]], rules=Rules(), with_selections=True)
    scores = {name: found["er_at_10"] for name, found in (*graded.scores.items(), *graded.controls.items())}
    pairs = list(combinations(scores, 2))
    assert compare_all(scores, pairs, resampling=QUICK) == [
        compare(scores[first], scores[second], resampling=QUICK) for first, second in pairs
    ]


@pytest.mark.parametrize("n_clusters", [3, 40])
def test_paired_tests_together_are_those_one_by_one(n_clusters: int) -> None:
    generator = np.random.default_rng(0)
    scores = generator.integers(0, 5, (300, 4)) / 4
    clusters = [str(number % n_clusters) for number in range(300)]
    few = Resampling(seed=1, n_draws=300)
    means, together = paired_tests(scores, [(column, 3) for column in range(3)], clusters, few)
    assert means[3] == bootstrap(scores[:, 3], clusters, few)
    for column, found in enumerate(together):
        assert found == paired_test(scores[:, column], scores[:, 3], clusters, few)


def test_a_run_with_wrong_hypotheses_stands_beside_its_own_and_on_no_leaderboard(
    report: Element, findings: Findings, folder: Path
) -> None:
    rows = report.section("hypotheses").table("Original and changed queries: aspect recall in %")
    graded = score_runs(
        [folder / "bm25.jsonl", folder / "wrong.jsonl"], SAMPLE, with_selections=True, changed_apart=False
    )
    for row, task in zip(rows, findings.tasks, strict=True):
        own, wrong = (scores[task.name] for scores in graded.scores.values())
        found = compare(own, wrong, resampling=QUICK)
        assert (row["system"], row["task"], row["overlap, %"]) == ("bm25", task.name, percent(found.overlap))
        assert (row["original"], row["changed"]) == (f"{100 * found.first.mean:.1f}", f"{100 * found.second.mean:.1f}")
    for section in ("leaderboard", "curves", "breakdowns", "pairs"):
        assert "wrong" not in report.section(section).text
    assert not any("wrong" in plot.text for plot in report.section("summary").all("table"))
    said = verdict_of(report)
    assert f"{use_of_hypothesis(next(iter(results_of_runs(findings.scored, QUICK))))}: bm25 " in said
    assert (
        "Not known for tfidf; to find out, run it with another paper's hypothesis: evidencebench run tfidf:stop" in said
    )
    assert "evidencebench run tfidf:stopwords=true" in report.section("hypotheses").text


def test_every_control_that_the_runs_have_stands_in_one_table(folder: Path, tmp_path: Path) -> None:
    hypotheses = tmp_path / "hypotheses.json"
    hypotheses.write_text(json.dumps({one.id: f"No: {one.query.sentences[2]}" for one in SAMPLE}))
    controls = {"two": "two_papers", "shuffled": "shuffled_words", "negated": f"negated={hypotheses}"}
    for name, control in controls.items():
        execute("bm25", SAMPLE, tmp_path / f"{name}.jsonl", control=control)
    execute("lead", SAMPLE, tmp_path / "lead two.jsonl", control="two_papers")
    runs = [folder / "bm25.jsonl", folder / "lead.jsonl", *tmp_path.glob("*.jsonl")]
    section = report_of(runs, SAMPLE, "er_at_10").section("hypotheses")
    rows = section.table("Original and changed queries: aspect recall in %")
    assert [(row["system"], row["control"]) for row in rows] == [
        ("bm25", "two papers"),
        ("lead", "two papers"),
        ("bm25", "negated"),
        ("bm25", "shuffled words"),
    ]
    measured = (
        Experiment(["bm25", "lead"], SAMPLE, tasks="er_at_10", controls="two_papers", draws=QUICK.n_draws)
        .controls()
        .found
    )
    for row, one in zip(rows, measured, strict=False):
        assert one.distractor is not None
        assert row["distractor, %"] == percent(one.distractor.selection, alone="")
        assert row["p (Holm)"] == "none, too few papers differ"
        assert one.p_value is None
    assert (rows[3]["p (Holm)"], rows[3]["distractor, %"]) == ("none, no instance differs", "")
    assert "evidencebench run bm25" in section.text  # the wrong hypothesis is not measured yet


def test_each_system_has_a_word_for_how_it_uses_the_hypothesis(folder: Path) -> None:
    runs = [folder / f"{name}.jsonl" for name in ("bm25", "tfidf", "lead", "wrong")]
    section = report_of(runs, SAMPLE, "er_at_10").section("hypotheses")
    (told,) = section.all("div", **{"class": "finding"})
    words = {term.text: found.text for term, found in zip(told.all("dt"), told.all("dd"), strict=True)}
    assert words == {"selection changes, no gain shown": "bm25", "does not use it": "lead", "not measured": "tfidf"}
    (table,) = section.all("table", **{"class": "forest bins uses"})
    assert table.all("caption")[0].text.startswith("Original and changed queries (wrong hypothesis): overlap of")
    _, row = table.all("tr")
    (one,) = Experiment("bm25", SAMPLE, tasks="er_at_10", draws=QUICK.n_draws).controls().found
    overlap, _, p = row.all("td")
    (name,), (word,) = row.all("bdi"), row.all("span", **{"class": "use-word"})
    assert (name.text, word.text, p.text) == ("bm25", use_of_hypothesis(one), p_text(one.adjusted))
    assert percent(one.comparison.overlap) in overlap.text.replace("\u00a0", " ")


def test_a_run_with_wrong_hypotheses_of_another_seed_is_said_to_stand_back(folder: Path, tmp_path: Path) -> None:
    execute("bm25", SAMPLE, tmp_path / "seed.jsonl", control="wrong_hypothesis", seed=3)
    page = report_of([folder / "bm25.jsonl", tmp_path / "seed.jsonl", folder / "wrong.jsonl"], SAMPLE, "er_at_10")
    said = page.section("hypotheses").text
    assert re.search(r"not shown, because .* or another seed is preferred: .*seed\.jsonl", said)


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("lead", {}, "does not use it"),
        ("stored", {"run": "a.jsonl"}, "not measured"),
        (
            "fuse",
            {"systems": [{"name": "bm25", "options": {}}, {"name": "stored", "options": {"run": "a.jsonl"}}]},
            "not measured",
        ),
        ("person", {"name": "Ada"}, "not measured"),
        ("unheard_of", {}, "not measured"),
    ],
)
def test_where_no_command_asks_wrong_hypotheses_none_is_given(
    name: str, options: dict[str, str], word: str, tmp_path: Path
) -> None:
    lines = [header_of(name, options, tasks=["er_at_10"]), {"id": SAMPLE.ids[0], "sentences": [0]}]
    section = report_of([run_at(tmp_path / "run.jsonl", *lines)], SAMPLE, "er_at_10").section("hypotheses")
    assert section.all("dt")[0].text == word
    assert re.search(r"Cannot be measured: .*\. Such a system never reads the hypothesis", section.text)
    assert not section.all("code")


def test_a_report_does_not_load_the_client_of_language_models() -> None:
    code = "import sys, evidencebench.pages.report.page; print([m for m in sys.modules if 'models.llm' in m])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_ceiling_that_is_not_proven_everywhere_says_over_how_many_instances(findings: Findings) -> None:
    curves, _ = curves_of(findings, 2, InProcess())
    *others, ceiling = curves.curves
    first, second = ceiling.points
    assert first is not None
    unproven = curves._replace(curves=(*others, replace(ceiling, points=(replace(first, n=7), second))))
    page = parsed(as_html(curves_section(findings, [unproven], 2)))
    rows = page.table("All aspects, 10 instances: aspect recall in %")
    assert [row["ceiling\u00a0*"] for row in rows] == [f"{percent(first)} (7 of 10 instances)", percent(second)]


def test_runs_with_wrong_hypotheses_only_are_refused(folder: Path) -> None:
    with pytest.raises(RunMismatchError, match="add a run that was asked the data's own"):
        report_page([folder / "wrong.jsonl"], SAMPLE, resampling=QUICK)


def test_a_task_that_applies_nowhere_is_left_out_unless_it_is_asked_for(tmp_path: Path) -> None:
    dataset = without_results(tmp_path)
    (tmp_path / "answers.json").write_text(json.dumps({instance_id: [1] for instance_id in dataset.ids}))
    page = report_of([tmp_path / "answers.json"], dataset)
    assert "result_er_at_5" not in page.section("leaderboard").text
    assert "No instance has Results aspects" in page.section("curves").text
    with pytest.raises(TaskError, match="none of the 10 instances: expected aspects labelled Results"):
        report_of([tmp_path / "answers.json"], dataset, "result_er_at_5")


def test_one_paper_has_no_interval_anywhere(tmp_path: Path) -> None:
    members = {name: record({"x": [0], "y": [1]}, ["normal_paragraph"] * 3) for name in ("one", "two")}
    for member in members.values():
        member["paper_id"] = "same"
    (tmp_path / "data.json").write_text(json.dumps(members))
    for name, index in (("a", 0), ("b", 2)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"one": [index], "two": [index]}))
    page = report_of([tmp_path / "a.json", tmp_path / "b.json"], open_dataset(tmp_path / "data.json"), "er_at_1")
    assert "50.0 % (one review or paper: no interval)" in page.section("summary").text
    for name in ("summary", "leaderboard", "curves", "breakdowns", "pairs", "signatures"):
        section = page.section(name)
        cells = [cell.text for row in section.all("tr") for cell in row.all("td")]
        told = [*cells, *(one.text for one in section.all("p")), *(one.text for one in section.all("text"))]
        assert not [one for one in told if re.search(r"\[[−+\d]", one)], name
    found = page.data("pairs-data")["tasks"]["er_at_1"]
    assert [50.0, None, None, "no test", False] in [pair[2:7] for pair in found["pairs"]]


def test_picks_are_what_the_records_of_the_papers_say(report: Element) -> None:
    overview = report.data("overview")
    records = [report.record(position) for position in range(len(SAMPLE))]
    blocks = {
        one.attributes["data-task"]: one for one in report.section("picks").all("div") if "data-task" in one.attributes
    }
    for place, task in enumerate(overview["tasks"]):
        said = {row.all("bdi")[0].text: row.all("span")[0].text for row in blocks[task["name"]].all("li")}
        for system, one in enumerate(overview["systems"]):
            counts = dict.fromkeys(("new", "redundant", "headings", "no evidence"), 0)
            for shown in records:
                answer = shown["answers"][system][place]
                if answer is None:
                    continue
                counting = [a for a in shown["aspects"] if task["scope"] == "all" or a["is_result"]]
                covered: set[str] = set()
                for index in answer["certain"]:
                    stated = {aspect["id"] for aspect in counting if index in aspect["sentences"]}
                    is_heading = shown["paper"]["kinds"][index] == "h"
                    kind = "redundant" if stated else "headings" if is_heading else "no evidence"
                    counts["new" if stated - covered else kind] += 1
                    covered |= stated
            name = f"{one['label']}\u00a0*" if one["is_control"] else one["label"]
            if name in said:
                numbers = re.findall(r"([\d,]+) (new|redundant|heading|no evidence)", said[name])
                found = {kind.replace("heading", "headings"): int(n.replace(",", "")) for n, kind in numbers}
                assert found == {kind: n for kind, n in counts.items() if n}, (task, name)
                assert said[name].startswith(f"{sum(counts.values())} sentence")


def test_failures_are_counted_by_cause_and_shown_by_kind(tmp_path: Path) -> None:
    a, b, c, d, *_ = SAMPLE.ids
    lines = [
        {"id": a, "error": "TimeoutError: no reply within 60 s", "notes": {"reply_failed": 1, "requests": 1}},
        {"id": b, "error": "TimeoutError: no reply within 61 s"},
        {"id": c, "error": "refused: I cannot", "notes": {"reply_refused": 1, "requests": 1, "unpriced_replies": 1}},
        {
            "id": d,
            "sentences": [],
            "notes": {"reply_answered": 1, "read_by answer line": 1, "requests": 2, "prompt_tokens": 70},
        },
    ]
    page = report_of([run_at(tmp_path / "run.jsonl", *lines)], SAMPLE, "er_at_10")
    failures = page.section("failures")
    rows = failures.table("Warnings by run")
    odd = [("failed: own code", "3 of 10"), ("empty", "1 of 10"), ("missing", "6 of 10")]
    assert [(row["warning"], row["answers"]) for row in rows] == odd
    assert rows[0]["detail"].endswith(f"the first, {a}: TimeoutError: no reply within 60 s")
    (replies,) = failures.table("Replies of language models by class")
    assert replies == {"run": "run.jsonl", "replies": "3", "answered": "1", "failed": "1", "refused": "1"}
    (cost,) = page.section("costs").table("Language models")
    assert (cost["requests"], cost["prompt tokens"]) == ("4", "70")
    assert cost["cost"] == "cost unknown: 1 reply of unknown price"
    assert "$0.00" not in page.section("costs").text


def test_tables_of_zeros_are_one_sentence_and_runs_without_any_failure_are_only_counted(
    folder: Path, tmp_path: Path
) -> None:
    failures = report_of([folder / "bm25.jsonl", folder / "cues.jsonl"], SAMPLE).section("failures")
    assert not failures.all("table")
    assert failures.text.count("None failed, is empty, repeats a sentence") == 1
    (tmp_path / "gaps.json").write_text(json.dumps({SAMPLE.ids[0]: [3, 3], SAMPLE.ids[1]: []}))
    page = report_of([folder / "bm25.jsonl", tmp_path / "gaps.json"], SAMPLE, "er_at_10", "er_at_5")
    rows = page.section("failures").table("Warnings by run")
    odd = [("empty", "1 of 10"), ("missing", f"{len(SAMPLE) - 2} of 10"), ("repeats", "")]
    assert [(row["run"], row["warning"], row["answers"]) for row in rows] == [("gaps.json", *one) for one in odd]


def test_errors_are_of_what_is_graded_and_costs_say_of_how_many_answers(tmp_path: Path) -> None:
    a, b, *_ = SAMPLE.ids
    asked = ((a, "er_at_10", "graded"), (a, "er_at_5", "another task"), (b, "er_at_10", "behind"))
    notes = {"requests": 1, "reply_failed": 1}
    lines = [{"id": key, "task": task, "error": f"TimeoutError: {why}", "notes": notes} for key, task, why in asked]
    header = header_of("llm_base", {}, tasks=["er_at_10", "er_at_5"], per_task=True)
    page = report_of([run_at(tmp_path / "run.jsonl", header, *lines)], SAMPLE, "er_at_10", limit=1)
    (error, *_) = page.section("failures").table("Warnings by run")
    assert (error["answers"], error["detail"][-20:]) == ("1 of 1", "TimeoutError: graded")
    (reply,) = page.section("failures").table("Replies of language models by class")
    assert reply["replies"] == "1"
    (cost,) = page.section("costs").table("Language models")
    assert (cost["answers in the run"], cost["scored here"], cost["requests"]) == ("3", "1", "3")


def test_a_long_error_is_not_repeated_whole_for_every_task(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(json.dumps({"id": SAMPLE.ids[0], "error": "y" * 100_000}) + "\n")
    page = report_of([tmp_path / "run.jsonl"], SAMPLE)
    judged = page.record(0)["answers"][0]
    assert len(judged) > 1
    assert {(len(one["error"]), one["error"][-2:]) for one in judged} == {(2000, "y…")}


def test_what_is_noted_of_a_paper_counts_once_however_often_it_is_asked(tmp_path: Path) -> None:
    notes = {"requests": 1, "truncated_sentences": 4}
    lines = [{"id": "a", "task": task, "sentences": [1], "notes": notes} for task in ("er_at_10", "er_at_5")]
    run = read_run(run_at(tmp_path / "run.jsonl", *lines), needs_header=False)
    assert notes_of(run, run.done) == {"requests": 2, "truncated_sentences": 4}
    # And an answer that serves several tasks costs once; a system that notes seconds is no person.
    line = {"id": SAMPLE.ids[0], "sentences": [1], "notes": {**notes, "cost_microusd": 2500, "seconds": 5}}
    header = header_of("bm25", {}, tasks=["er_at_10"])
    costs = report_of([run_at(tmp_path / "one.jsonl", header, line)], SAMPLE, "er_at_10", "er_at_5").section("costs")
    (cost,) = costs.table("Language models")
    assert (cost["requests"], cost["cost"]) == ("1", "$0.0025")
    assert "People" not in [caption.text for caption in costs.all("caption")]
    assert "5 seconds" in costs.text


def test_people_are_shown_with_the_seconds_they_took_and_what_lacks_answers_as_unfinished(
    folder: Path, tmp_path: Path
) -> None:
    header = header_of("person", {"name": "Ada"}, tasks=["er_at_10"], per_task=True)
    lines = [
        {"id": name, "task": "er_at_10", "sentences": [1], "ordered": False, "notes": {"seconds": seconds}}
        for name, seconds in zip(SAMPLE.ids, (30, 50, 100), strict=False)
    ]
    page = report_of([run_at(tmp_path / "ada.jsonl", header, *lines), folder / "bm25.jsonl"], SAMPLE)
    (row,) = page.section("costs").table("People")
    assert list(row.values()) == ["person(name=Ada)", "3", "3", "50.0", "180"]
    assert list(row)[3:] == ["median seconds", "seconds in all"]
    looks = ((one, one.attributes.get("class", "")) for one in page.all("g"))
    told = {one.all("title")[0].text.partition(":")[0] for one, look in looks if "chart-unfinished" in look}
    assert told == {"person(name=Ada)"}
    assert [row["unfinished"] for row in page.data("overview")["systems"][:2]] == ["3 of 10", ""]
    names = [row["system"] for row in page.section("leaderboard").table("er_at_10")]
    assert {"person(name=Ada) (3 of 10 done)", "bm25"} <= set(names)


def test_every_score_of_a_run_has_its_signature(report: Element, findings: Findings) -> None:
    rows = report.section("signatures").table("Signatures")
    expected = [
        row.signature
        for task in findings.tasks
        for row in findings.boards[task.name].standings
        if row.signature is not None
    ]
    assert [row["signature"] for row in rows] == expected
    assert all(f"task:{row['task']}|" in row["signature"] for row in rows)


def test_the_papers_are_in_the_page_as_the_viewer_has_them(report: Element, folder: Path) -> None:
    viewed = viewer_data_of([folder / "bm25.jsonl", folder / "tfidf.jsonl"], SAMPLE)
    assert report.data("overview")["n_instances"] == len(SAMPLE)
    pairs = [(viewed.row(*one), viewed.record(*one)) for one in enumerate(SAMPLE)]
    held = [[row, report.record(place)] for place, row in enumerate(report.data("rows"))]
    assert held == msgspec.json.decode(msgspec.json.encode(pairs))


def test_a_limit_holds_for_scores_and_papers(folder: Path) -> None:
    page = report_of([folder / "bm25.jsonl"], SAMPLE, limit=4)
    assert page.data("overview")["n_instances"] == len(page.data("rows")) == 4
    assert "the first 4 of 10 instances" in page.section("signatures").text
    assert {row["instances"] for row in page.section("leaderboard").table("er_at_10")} == {"4"}


def test_without_the_papers_the_page_says_how_to_read_them(folder: Path) -> None:
    rules = Rules(over_length="first", out_of_range="drop")
    page = report_of([folder / "bm25.jsonl"], SAMPLE, "er_at_10", rules=rules, papers=False, shown_data="sample")
    assert [one.attributes["id"] for one in page.all("script", type="application/json")] == ["pairs-data"]
    assert not page.all("main", id="viewer")
    assert not page.all("a", href="#/papers")
    (command,) = page.section("papers-here").all("pre")
    assert command.text == (
        "evidencebench view bm25.jsonl --data sample --task er_at_10 --set over-length=first --set out-of-range=drop"
    )
    assert "The papers are left out of this page" in page.section("pairs").text


def test_a_page_holds_no_absolute_path(folder: Path, tmp_path: Path) -> None:
    paths = [folder / "bm25.jsonl", tmp_path / "bm25.jsonl", folder / "tfidf.jsonl", folder / "answers.json"]
    execute("bm25", SAMPLE, paths[1])
    for papers in (False, True):
        page = report_page(paths, SAMPLE, resampling=QUICK, papers=papers, largest=1)
        assert not [found for found in ("/tmp", "/home", str(SAMPLE.path.parent)) if found in page]  # noqa: S108


def test_files_in_options_and_errors_of_a_run_are_shown_by_their_names(tmp_path: Path) -> None:
    failure = {"id": SAMPLE.ids[0], "error": "FileNotFoundError: no such file: '/home/ada/secret lab/words.txt'"}
    header = header_of("selector", {"model": "/home/ada/lab/model.json"}, tasks=["er_at_10"])
    run = run_at(tmp_path / "run.jsonl", header, failure)
    page = report_of([run], SAMPLE, "er_at_10", command="evidencebench report /home/ada/x")
    assert "selector(model=model.json)" in page.section("signatures").text
    assert "words.txt" in page.record(0)["answers"][0][0]["error"]
    assert "/home/" not in f"{page.text}{page.record(0)}"


def test_a_run_that_only_says_that_it_is_a_control_does_not_replace_it(folder: Path, tmp_path: Path) -> None:
    head, *lines = (folder / "lead.jsonl").read_text().splitlines()
    (tmp_path / "lead.jsonl").write_text("\n".join([head, *lines[:1]]) + "\n")
    found = findings_in([tmp_path / "lead.jsonl"], SAMPLE, [TASKS["er_at_10"]], rules=Rules(), resampling=QUICK)
    names = [found.name_of(row) for row in found.boards["er_at_10"].standings]
    assert {"lead", "lead\u00a0*"} <= set(names)
    assert "lead\u00a0*" in found.label_free_controls(TASKS["er_at_10"])
    assert "lead" not in found.label_free_controls(TASKS["er_at_10"])
    whole = findings_in([folder / "lead.jsonl"], SAMPLE, [TASKS["er_at_10"]], rules=Rules(), resampling=QUICK)
    assert [found.name_of(row) for row in whole.boards["er_at_10"].standings].count("lead") == 1
    assert "lead" in whole.label_free_controls(TASKS["er_at_10"])


def test_a_run_named_as_a_control_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "lead").write_text(json.dumps({instance_id: [9] for instance_id in SAMPLE.ids}))
    page = report_of([tmp_path / "lead"], SAMPLE, "er_at_10")
    names = [row["system"] for row in page.section("leaderboard").table("er_at_10")]
    assert {"lead", "lead\u00a0*"} <= set(names)
    assert len(set(names)) == len(names) == 5


# Hostile texts


def test_no_text_becomes_markup(tmp_path: Path) -> None:
    plain, hostile = (
        skeleton_with(word, tmp_path / folder) for folder, word in (("plain", "word"), ("hostile", HOSTILE))
    )
    assert hostile == plain


def test_a_name_of_a_million_characters_does_not_fill_the_page(folder: Path, tmp_path: Path) -> None:
    n = 1_000_000 // SHORTER
    head, *lines = (folder / "bm25.jsonl").read_text().splitlines()
    header = json.loads(head)
    header["run"]["system"] = {"name": "x" * n, "options": {}}
    lines[0] = json.dumps({"answer": "failure", "id": SAMPLE.ids[0], "error": "y" * n})
    (tmp_path / "run.jsonl").write_text("\n".join([json.dumps(header), *lines]) + "\n")
    page = report_page([tmp_path / "run.jsonl", folder / "tfidf.jsonl"], SAMPLE, resampling=QUICK)
    # In full only where the system is described, and in the viewer's records.
    assert len(page) < 1_500_000 + 10 * n
    assert page.count("x" * n) < 10


def verdict_of(page: Element) -> str:
    """Return the words of the verdict on the first task."""
    return page.section("summary").all("div", **{"class": "finding"})[0].text


def skeleton_with(word: str, folder: Path) -> object:
    """Return the tags and attributes of a report in which every text from a file holds ``word``."""
    folder.mkdir()
    in_a_name = word.replace("/", "").replace("\x00", "")
    sources = {f"{word}{number}": [number] for number in range(3)}
    members = {
        f"{word}{number}": record(sources, ["abstract", "section_name", "normal_paragraph"], word)
        for number in range(3)
    }
    dataset = made(folder, members, f"{in_a_name}.json")
    for name in ("a", "b"):
        # Systems that do not read the text, so that the word does not change the order of the runs.
        execute("abstract_backwards" if name == "a" else "lead", dataset, folder / f"{name}.jsonl")
        head, *lines = (folder / f"{name}.jsonl").read_text().splitlines()
        header = json.loads(head)
        header["run"]["system"] = {"name": f"{word}{name}", "options": {word: word}}
        lines[0] = json.dumps(
            {"answer": "failure", "id": f"{word}0", "error": f"{word}: {word}", "notes": {f"served_by {word}": 1}}
        )
        (folder / f"{name}.jsonl").write_text("\n".join([json.dumps(header), *lines]) + "\n")
        wrong = header | {"run": header["run"] | {"control": {"name": "wrong_hypothesis"}}}
        (folder / f"{name}_wrong.jsonl").write_text("\n".join([json.dumps(wrong), *lines]) + "\n")
    (folder / f"{in_a_name} answers.json").write_text(json.dumps({f"{word}0": None, f"{word}1": [0]}))
    paths = sorted(folder.glob("*.jsonl")) + sorted(folder.glob("* answers.json"))
    page = report_of(paths, dataset, title=word, largest=3, shown_data=word, command=word)
    assert word.replace("\x00", "\ufffd") in page.section("failures").text
    assert page.data("rows")[0]["hypothesis"] == word
    return page.skeleton()


def without_results(folder: Path) -> Dataset:
    """Return the sample without its Results aspects."""
    members = json.loads(sample_path().read_bytes())
    for member in members.values():
        member["results_aspect_list_ids"] = None
    (folder / "data.json").write_text(json.dumps(members))
    return open_dataset(folder / "data.json")
