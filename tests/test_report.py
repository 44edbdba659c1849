"""The report: what it says, what it says in place of what is not there, and that no text becomes markup."""

import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from evidencebench.comparison import compare, compare_all
from evidencebench.dataset import Dataset, open_dataset
from evidencebench.errors import RunMismatchError, TaskError
from evidencebench.evaluation import Rules
from evidencebench.execution import execute
from evidencebench.grading import grade
from evidencebench.report.breakdowns import breakdowns_of
from evidencebench.report.curves import curves_of
from evidencebench.report.failures import errors_of, notes_of
from evidencebench.report.findings import Findings, findings_of
from evidencebench.report.page import Wish, report_page
from evidencebench.reporting import percent
from evidencebench.runs import read_run
from evidencebench.sample import load_sample, sample_path
from evidencebench.significance import enough_draws, paired_test, paired_tests
from evidencebench.tasks import TASKS, task_named
from evidencebench.viewer.exhibit import exhibit_of
from evidencebench.viewer.page import content_hash
from report_pages import QUICK, Element, parsed, report_of

SAMPLE = load_sample()
SECTIONS = {
    "summary",
    "leaderboard",
    "curves",
    "scatter",
    "breakdowns",
    "pairs",
    "hypotheses",
    "failures",
    "costs",
    "papers-here",
    "signatures",
    "method",
}
HOSTILE = "\u202e</script><img src=x onerror=alert(1)>\x00&amp;<!--\"'`]]>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with runs over the sample: of each sort, and two with wrong hypotheses."""
    folder = tmp_path_factory.mktemp("runs")
    for system in ("bm25", "tfidf", "lead", "cues", "oracle"):
        execute(system, SAMPLE, folder / f"{system}.jsonl")
    execute("bm25", SAMPLE, folder / "wrong.jsonl", hypothesis="wrong")
    execute("bm25:k1=1.5", SAMPLE, folder / "other_wrong.jsonl", hypothesis="wrong")
    (folder / "answers.json").write_text(json.dumps({instance_id: [3, 5, 8] for instance_id in SAMPLE.ids}))
    lines = (f"{instance_id} Q0 {index} 0 {-index} x\n" for instance_id in SAMPLE.ids for index in range(30))
    (folder / "run.trec").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def findings(folder: Path) -> Findings:
    """Give what stands behind `report`."""
    paths = [folder / "bm25.jsonl", folder / "tfidf.jsonl", folder / "wrong.jsonl"]
    return findings_of(paths, SAMPLE, rules=Rules(), resampling=QUICK)


@pytest.fixture(scope="module")
def report(folder: Path) -> Element:
    """Give a report of two runs, one with its partner, on all tasks."""
    return report_of([folder / "bm25.jsonl", folder / "tfidf.jsonl", folder / "wrong.jsonl"], SAMPLE)


def test_a_report_has_every_section_and_a_link_to_each(report: Element) -> None:
    assert {section.attributes["id"] for section in report.all("section")} == SECTIONS
    (contents,) = report.all("nav", **{"class": "contents"})
    assert {link.attributes["href"] for link in contents.all("a")} == {f"#{name}" for name in SECTIONS - {"summary"}}


def test_a_page_allows_its_own_script_and_style_and_nothing_else(report: Element) -> None:
    (policy,) = report.all("meta", **{"http-equiv": "Content-Security-Policy"})
    (style,) = report.all("style")
    (script,) = [one for one in report.all("script") if "type" not in one.attributes]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.attributes["content"].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == content_hash(script.text)
    assert rules["style-src"] == content_hash(style.text)


def test_a_page_names_no_address_but_its_own_and_runs_no_attribute(folder: Path) -> None:
    page = report_page([folder / "bm25.jsonl"], SAMPLE, resampling=QUICK)

    def check(element: Element) -> None:
        for name, value in element.attributes.items():
            assert not name.startswith("on"), element.tag
            assert name != "style", element.tag
            assert name not in {"href", "src", "action", "data"} or value.startswith("#"), (element.tag, value)
        for child in element.children:
            if isinstance(child, Element):
                check(child)

    check(parsed(page))


def test_the_same_runs_give_the_same_bytes(folder: Path) -> None:
    once, again = (report_page([folder / "bm25.jsonl"], SAMPLE, resampling=QUICK) for _ in range(2))
    assert once == again


@pytest.mark.parametrize(
    ("runs", "tasks", "said"),
    [
        (["bm25.jsonl"], [], {"pairs": "There is one run", "costs": "No run here asked a language model"}),
        (["answers.json"], [], {"hypotheses": "the run does not say what made it", "curves": "1 to 5 sentences"}),
        (["run.trec", "answers.json"], [], {"failures": "No run holds a failed answer"}),
        (["oracle.jsonl"], [], {"summary": "no run here competes"}),
        (["lead.jsonl"], [], {"summary": "no run here competes"}),
        (["bm25.jsonl", "cues.jsonl"], [], {"curves": "Asked each task apart", "hypotheses": "Not measured for any"}),
        (["answers.json"], ["result_er_unconstrained"], {"summary": "any number of sentences"}),
        (["wrong.jsonl", "tfidf.jsonl"], [], {"hypotheses": "Without the run of the same system"}),
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
    leader = next(row for row in findings.board[task.name] if not row.is_control)
    (said,) = report.section("summary").all("p", **{"class": "finding"})
    assert said.text.startswith(f"On {task.name} (all aspects; ")
    assert f"{leader.system} covers most: {percent(leader.aspect_recall)} % of the aspects" in said.text
    assert findings.label_free_controls(task)[0] in said.text
    assert re.search(r"It is (not )?significantly (above|below) the best control", said.text)


def test_a_leader_far_above_the_controls_is_said_to_be_significantly_above(tmp_path: Path) -> None:
    best = {
        instance.id: [index for found in instance.labels.sources.values() for index in found] for instance in SAMPLE
    }
    (tmp_path / "best.json").write_text(json.dumps(best))
    page = report_of([tmp_path / "best.json"], SAMPLE, "er_at_25")
    assert "It is significantly above the best control" in page.section("summary").text


def test_the_leaderboard_shows_the_standings(report: Element, findings: Findings) -> None:
    for task in findings.tasks:
        rows = report.section("leaderboard").table(task.name)
        assert [
            [row.system, percent(row.aspect_recall), row.n, row.failed, row.empty, row.missing]
            for row in findings.board[task.name]
        ] == [
            [
                row["system"].removesuffix("\u00a0*"),
                row["aspect recall, %"],
                *(int(row[name]) for name in ("instances", "failed", "empty", "missing")),
            ]
            for row in rows
        ]
        for row, standing in zip(rows, findings.board[task.name], strict=True):
            assert row["ranks"] == "-".join(map(str, dict.fromkeys(standing.rank or ())))
            assert row["system"].endswith("*") == standing.is_control


def test_curves_are_the_scores_at_every_budget(folder: Path) -> None:
    paths = [folder / "bm25.jsonl", folder / "answers.json"]
    found = curves_of(findings_of(paths, SAMPLE, rules=Rules(), resampling=QUICK), 12)
    assert [curves.scope for curves in found] == ["all", "results"]
    for curves in found:
        prefix = "result_" if curves.scope == "results" else ""
        tasks = [task_named(f"{prefix}er_at_{k}") for k in range(1, 13)]
        graded = grade(paths, SAMPLE, tasks, rules=Rules())
        for curve in (*curves.curves, curves.ceiling):
            name, measure = ("random", "ceiling") if curve is curves.ceiling else (curve.system, "aspect_recall")
            scores = (graded.controls if curve.is_control else graded.scores)[name]
            assert list(curve.points) == [scores[task.name].estimate(measure, QUICK) for task in tasks]


def test_a_run_asked_each_task_apart_has_points_at_the_budgets_of_its_tasks_only(folder: Path) -> None:
    found = findings_of([folder / "cues.jsonl"], SAMPLE, rules=Rules(), resampling=QUICK)
    (whole, results) = curves_of(found, 12)
    for curves, budgets in ((whole, [10]), (results, [5, 10])):
        (curve,) = [curve for curve in curves.curves if curve.system == "cues"]
        assert [k for k, point in enumerate(curve.points, 1) if point is not None] == budgets
        for k in budgets:
            task = f"{'result_' if curves.scope == 'results' else ''}er_at_{k}"
            assert curve.points[k - 1] == found.graded.scores["cues"][task].estimate("aspect_recall", QUICK)


def test_the_groups_of_a_breakdown_share_out_the_instances(findings: Findings) -> None:
    for task in findings.tasks:
        for breakdown in breakdowns_of(findings, task):
            scores = findings.graded.scores["bm25"][task.name]
            assert sum(one.n for one in breakdown.bins) == len(scores.ids)
            total = sum(one.n * one.recalls["bm25"].mean for one in breakdown.bins)
            assert total / len(scores.ids) == pytest.approx(float(scores.scores["aspect_recall"].mean()))


def test_instances_are_grouped_by_how_much_of_the_evidence_the_abstract_has(tmp_path: Path) -> None:
    kinds = ["abstract", "normal_paragraph", "normal_paragraph"]
    sources = {"all": {"x": [0, 1], "y": [0]}, "some": {"x": [0], "y": [2]}, "none": {"x": [1], "y": [2]}}
    sources |= {"uncoverable": {"x": [], "y": []}, "most": {"x": [0], "y": []}}
    dataset = made(tmp_path, {name: record(found, kinds) for name, found in sources.items()})
    (tmp_path / "answers.json").write_text("{}")
    found = findings_of([tmp_path / "answers.json"], dataset, [task_named("er_at_1")], rules=Rules(), resampling=QUICK)
    *_, by_place = breakdowns_of(found, found.tasks[0])
    assert [(one.name, one.n) for one in by_place.bins] == [
        ("all in the abstract", 2),
        ("some in the abstract", 1),
        ("none in the abstract", 1),
        ("no aspect can be covered", 1),
    ]


@pytest.mark.parametrize(
    ("n_aspects", "name"), [(1, "1-4 aspects"), (4, "1-4 aspects"), (5, "5-8 aspects"), (13, "13 aspects or more")]
)
def test_a_group_holds_the_counts_that_its_name_says(n_aspects: int, name: str, tmp_path: Path) -> None:
    sources = {f"a{number}": [0] for number in range(n_aspects)}
    dataset = made(tmp_path, {"one": record(sources, ["normal_paragraph"])})
    (tmp_path / "answers.json").write_text("{}")
    page = report_of([tmp_path / "answers.json"], dataset, "er_at_1")
    (row,) = page.section("breakdowns").table("By the number of aspects that count: aspect recall in %")
    assert (row["group"], row["n"]) == (name, "1")


def test_pairs_are_compared_as_compare_does(report: Element, findings: Findings) -> None:
    rows = report.section("pairs").table("Runs against runs")
    assert [row["task"] for row in rows] == [task.name for task in findings.tasks]
    enough = replace(QUICK, n_draws=enough_draws(len(rows)))
    for row, task in zip(rows, findings.tasks, strict=True):
        found = compare(*(findings.graded.scores[name][task.name] for name in ("bm25", "tfidf")), resampling=enough)
        assert row["overlap, %"] == percent(found.overlap)
        difference = found.test.difference
        numbers = [float(number) for number in re.findall(r"[-+][\d.]+", row["difference, points"])]
        assert numbers == pytest.approx(
            [100 * one for one in (difference.mean, difference.low, difference.high)], abs=0.051
        )
        assert [int(row[name]) for name in ("better", "equal", "worse")] == [
            found.test.n_better,
            found.test.n_equal,
            found.test.n_worse,
        ]


def test_comparisons_together_are_those_one_by_one(folder: Path) -> None:
    paths = [folder / name for name in ("bm25.jsonl", "tfidf.jsonl", "answers.json", "lead.jsonl")]
    graded = grade(paths, SAMPLE, [TASKS["er_at_10"]], rules=Rules(), with_selections=True)
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
    together = paired_tests(scores[:, :3] - scores[:, 3:], clusters, np.random.default_rng(1), n_draws=300)
    for column, found in enumerate(together):
        alone = paired_test(scores[:, column], scores[:, 3], clusters, np.random.default_rng(1), n_draws=300)
        assert found == alone


def test_a_run_with_wrong_hypotheses_stands_beside_its_own_and_on_no_leaderboard(
    report: Element, findings: Findings, folder: Path
) -> None:
    rows = report.section("hypotheses").table("Own against wrong hypothesis: aspect recall in %")
    graded = grade([folder / "bm25.jsonl", folder / "wrong.jsonl"], SAMPLE, (), rules=Rules(), with_selections=True)
    for row, task in zip(rows, findings.tasks, strict=True):
        own, wrong = (scores[task.name] for scores in graded.scores.values())
        found = compare(own, wrong, resampling=QUICK)
        assert (row["system"], row["task"], row["overlap, %"]) == ("bm25", task.name, percent(found.overlap))
        assert (row["own"], row["wrong"]) == (f"{100 * found.first.mean:.1f}", f"{100 * found.second.mean:.1f}")
    for section in ("leaderboard", "curves", "breakdowns", "pairs", "signatures"):
        assert "wrong" not in report.section(section).text
    assert "evidencebench run tfidf:stopwords=true" in report.section("hypotheses").text


def test_only_the_same_system_with_the_same_options_is_its_partner(folder: Path) -> None:
    page = report_of([folder / "bm25.jsonl", folder / "other_wrong.jsonl"], SAMPLE)
    said = page.section("hypotheses").text
    assert "Not measured for any run" in said
    assert "Without the run of the same system" in said


def test_runs_with_wrong_hypotheses_only_are_refused(folder: Path) -> None:
    with pytest.raises(RunMismatchError, match="add a run that was asked the papers' own"):
        report_page([folder / "wrong.jsonl"], SAMPLE, resampling=QUICK)


def test_a_task_that_applies_nowhere_is_left_out_unless_it_is_asked_for(tmp_path: Path) -> None:
    dataset = without_results(tmp_path)
    (tmp_path / "answers.json").write_text(json.dumps({instance_id: [1] for instance_id in dataset.ids}))
    page = report_of([tmp_path / "answers.json"], dataset)
    assert "result_er_at_5" not in page.section("leaderboard").text
    assert "No instance has Results aspects" in page.section("curves").text
    with pytest.raises(TaskError, match="applies to none of the instances"):
        report_of([tmp_path / "answers.json"], dataset, "result_er_at_5")


def test_one_instance_makes_a_report_without_intervals_in_its_groups(tmp_path: Path) -> None:
    dataset = made(tmp_path, {"only": record({"x": [0], "y": [1]}, ["abstract", "normal_paragraph"])})
    (tmp_path / "answers.json").write_text('{"only": [0]}')
    page = report_of([tmp_path / "answers.json"], dataset)
    rows = page.section("breakdowns").table("By the length of the paper: aspect recall in %")
    assert [(row["group"], row["n"], row["answers.json"]) for row in rows] == [("1-99 sentences", "1", "50.0")]


def test_failures_are_counted_by_cause_and_shown_by_kind(tmp_path: Path) -> None:
    a, b, c, d, *_ = SAMPLE.ids
    lines = [
        {"id": a, "error": "TimeoutError: no reply within 60 s", "notes": {"reply_failed": 1, "requests": 1}},
        {"id": b, "error": "TimeoutError: no reply within 61 s"},
        {"id": c, "error": "refused: I cannot", "notes": {"reply_refused": 1, "requests": 1, "unpriced_replies": 1}},
        {"id": d, "sentences": [], "notes": {"reply_answered": 1, "requests": 2, "prompt_tokens": 70}},
    ]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = report_of([tmp_path / "run.jsonl"], SAMPLE, "er_at_10")
    failures = page.section("failures")
    (counts,) = failures.table("Answers by task")
    assert (counts["failed"], counts["empty"], counts["missing"]) == ("3", "1", str(len(SAMPLE) - 4))
    assert [
        (row["error"], row["count"], row["which says"])
        for row in failures.table("Errors by kind, over all answers of a run")
    ] == [
        ("TimeoutError", "2", "TimeoutError: no reply within 60 s"),
        ("refused", "1", "refused: I cannot"),
    ]
    (replies,) = failures.table("Replies of language models by class, over all answers of a run")
    assert replies == {"run": "run.jsonl", "replies": "3", "answered": "1", "failed": "1", "refused": "1"}
    (cost,) = page.section("costs").table("Language models")
    assert (cost["requests"], cost["prompt tokens"]) == ("4", "70")
    assert cost["cost"] == "unknown: 1 reply of unknown price"
    assert "$0.00" not in page.section("costs").text


def test_an_answer_that_serves_several_tasks_costs_once(tmp_path: Path) -> None:
    notes = {"requests": 1, "cost_microusd": 2500, "truncated_sentences": 4}
    line = {"id": SAMPLE.ids[0], "sentences": [1], "notes": notes}
    (tmp_path / "run.jsonl").write_text(json.dumps(line) + "\n")
    page = report_of([tmp_path / "run.jsonl"], SAMPLE, "er_at_10", "er_at_5", "result_er_at_5")
    (cost,) = page.section("costs").table("Language models")
    assert (cost["requests"], cost["cost"]) == ("1", "$0.0025")


def test_what_is_noted_of_a_paper_counts_once_however_often_it_is_asked(tmp_path: Path) -> None:
    notes = {"requests": 1, "truncated_sentences": 4}
    lines = [{"id": "a", "task": task, "sentences": [1], "notes": notes} for task in ("er_at_10", "er_at_5")]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert notes_of(read_run(tmp_path / "run.jsonl", needs_header=False)) == {"requests": 2, "truncated_sentences": 4}


def test_errors_without_a_colon_are_a_kind_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"id": "a", "error": "gave up"}\n{"id": "b", "error": ": odd"}\n')
    found = errors_of(read_run(tmp_path / "run.jsonl", needs_header=False))
    assert [(kind.name, kind.count) for kind in found] == [("gave up", 1), ("unnamed", 1)]


def test_people_are_shown_with_the_seconds_they_took(tmp_path: Path) -> None:
    header = {
        "evidencebench_run": 1,
        "system": {"name": "person", "options": {"name": "Ada"}},
        "data": {"name": SAMPLE.name, "path": "sample", "sha256": SAMPLE.sha256, "n": len(SAMPLE)},
        "tasks": ["er_at_10"],
        "per_task": True,
    }
    lines = [
        {"id": name, "task": "er_at_10", "sentences": [1], "ordered": False, "notes": {"seconds": seconds}}
        for name, seconds in zip(SAMPLE.ids, (30, 50, 100), strict=False)
    ]
    (tmp_path / "ada.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))
    page = report_of([tmp_path / "ada.jsonl"], SAMPLE)
    (row,) = page.section("costs").table("People")
    assert row == {"person": "person", "answers": "3", "median seconds": "50.0", "seconds in all": "180"}
    assert "person: no command asks it again" in page.section("hypotheses").text
    assert "person(name=Ada)" in page.section("summary").text


def test_every_score_of_a_run_has_its_signature(report: Element, findings: Findings) -> None:
    rows = report.section("signatures").table("Signatures")
    expected = [
        row.signature for task in findings.tasks for row in findings.board[task.name] if row.signature is not None
    ]
    assert [row["signature"] for row in rows] == expected
    assert all(f"task:{row['task']}|" in row["signature"] for row in rows)


def test_the_papers_are_in_the_page_as_the_exhibit_has_them(report: Element, folder: Path) -> None:
    exhibit = exhibit_of([folder / "bm25.jsonl", folder / "tfidf.jsonl"], SAMPLE)
    overview, rows = report.data("overview"), report.data("rows")
    assert [system["label"] for system in overview["systems"]][:2] == ["bm25", "tfidf"]
    assert overview["n_instances"] == len(rows) == len(SAMPLE)
    for position, instance in enumerate(SAMPLE):
        row, held = exhibit.row(position, instance), rows[position]
        assert (held["id"], held["n_aspects"], held["n_results"]) == (row.id, row.n_aspects, row.n_results)
        assert held["recalls"] == [list(recalls) for recalls in row.recalls]
        record = report.data(f"instance-{position}")
        assert record["paper"]["sentences"] == list(instance.query.sentences)


def test_a_limit_holds_for_scores_and_papers(folder: Path) -> None:
    page = report_of([folder / "bm25.jsonl"], SAMPLE, limit=4)
    assert page.data("overview")["n_instances"] == len(page.data("rows")) == 4
    assert "the first 4 of 10 instances" in page.section("summary").text
    assert {row["instances"] for row in page.section("leaderboard").table("er_at_10")} == {"4"}


def test_without_the_papers_the_page_says_how_to_read_them(folder: Path) -> None:
    page = report_of([folder / "bm25.jsonl"], SAMPLE, wish=Wish(papers=False, data="sample", largest=3))
    assert not page.all("script", type="application/json")
    assert not page.all("main", id="viewer")
    assert not page.all("a", href="#/papers")
    assert f"evidencebench view {folder / 'bm25.jsonl'} --data sample" in page.section("papers-here").text
    assert "Left out with the papers" in page.section("scatter").text


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
    head, *lines = (folder / "bm25.jsonl").read_text().splitlines()
    header = json.loads(head) | {"system": {"name": "x" * 1_000_000, "options": {}}}
    lines[0] = json.dumps({"id": SAMPLE.ids[0], "error": "y" * 1_000_000})
    (tmp_path / "run.jsonl").write_text("\n".join([json.dumps(header), *lines]) + "\n")
    page = report_page([tmp_path / "run.jsonl", folder / "tfidf.jsonl"], SAMPLE, resampling=QUICK)
    # In full where the system is told of once, and in what the viewer is given.
    assert len(page) < 12_000_000
    assert page.count("x" * 1_000_000) < 10


def skeleton_with(word: str, folder: Path) -> object:
    """Return what a report is made of in which every text that comes from a file holds a word."""
    folder.mkdir()
    in_a_name = word.replace("/", "").replace("\x00", "")
    sources = {f"{word}{number}": [number] for number in range(3)}
    members = {
        f"{word}{number}": record(sources, ["abstract", "section_name", "normal_paragraph"], word)
        for number in range(3)
    }
    dataset = made(folder, members, f"{in_a_name}.json")
    for name in ("a", "b"):
        execute("bm25" if name == "a" else "lead", dataset, folder / f"{name}.jsonl")
        head, *lines = (folder / f"{name}.jsonl").read_text().splitlines()
        header = json.loads(head) | {"system": {"name": f"{word}{name}", "options": {word: word}}}
        lines[0] = json.dumps({"id": f"{word}0", "error": f"{word}: {word}", "notes": {f"served_by {word}": 1}})
        (folder / f"{name}.jsonl").write_text("\n".join([json.dumps(header), *lines]) + "\n")
        wrong = header | {"hypothesis": word if name == "a" else "wrong"}
        (folder / f"{name}_wrong.jsonl").write_text("\n".join([json.dumps(wrong), *lines]) + "\n")
    (folder / f"{in_a_name} answers.json").write_text(json.dumps({f"{word}0": None, f"{word}1": [0]}))
    wish = Wish(title=word, largest=3, data=word, command=word)
    page = report_of(sorted(folder.glob("*.jsonl")) + sorted(folder.glob("* answers.json")), dataset, wish=wish)
    assert word.replace("\x00", "\ufffd") in page.section("failures").text
    assert page.data("rows")[0]["hypothesis"] == word
    return page.skeleton()


def record(sources: dict[str, list[int]], kinds: list[str], word: str = "word") -> dict[str, object]:
    """Return an instance as a file spells it; its first aspect is a Results aspect."""
    return {
        "hypothesis": word,
        "paper_as_candidate_pool": [f"{word} {index}" for index in range(len(kinds))],
        "aspect_list_ids": list(sources),
        "results_aspect_list_ids": list(sources)[:1],
        "aspect2sentence_indices": sources,
        "sentence_index2aspects": {},
        "sentence_types_in_candidate_pool": kinds,
        "paper_id": word,
        "aspect_id2aspect": dict.fromkeys(sources, word),
    }


def made(folder: Path, members: dict[str, dict[str, object]], name: str = "data.json") -> Dataset:
    """Return a data set of instances, each of a paper of its own."""
    with_papers = {
        key: one | {"paper_id": f"{one['paper_id']} {number}"} for number, (key, one) in enumerate(members.items())
    }
    (folder / name).write_text(json.dumps(with_papers))
    return open_dataset(folder / name)


def without_results(folder: Path) -> Dataset:
    """Return the sample without its Results aspects."""
    members = json.loads(sample_path().read_bytes())
    for member in members.values():
        member["results_aspect_list_ids"] = None
    (folder / "data.json").write_text(json.dumps(members))
    return open_dataset(folder / "data.json")
