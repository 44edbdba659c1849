"""The report: what it says, what it says in place of what is not there, and that no text becomes markup."""

import json
import re
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

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
from evidencebench.report.findings import findings_of
from evidencebench.report.page import Wish, report_page
from evidencebench.reporting import percent
from evidencebench.runs import read_run
from evidencebench.sample import load_sample, sample_path
from evidencebench.significance import paired_test, paired_tests
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


def test_the_opening_names_the_leader_its_ranks_and_the_best_control(report: Element) -> None:
    findings = findings_of_sample(report)
    task = findings.tasks[0]
    leader = next(row for row in findings.board[task.name] if not row.is_control)
    (said,) = report.section("summary").all("p", **{"class": "finding"})
    assert said.text.startswith(f"On {task.name} (all aspects; ")
    assert f"{leader.system} covers most: {percent(leader.aspect_recall)} % of the aspects" in said.text
    assert findings.label_free_controls(task)[0] in said.text
    assert re.search(r"It is (not )?significantly (above|below) the best control", said.text)


def findings_of_sample(report: Element) -> Any:
    """Return the findings behind the report of the fixture."""
    (command,) = [dd for dd in report.section("summary").all("dd") if "tfidf" in dd.text][:1]
    assert command
    return _FOUND[0]


_FOUND: list[Any] = []


@pytest.fixture(autouse=True, scope="module")
def _found(folder: Path) -> None:
    paths = [folder / "bm25.jsonl", folder / "tfidf.jsonl", folder / "wrong.jsonl"]
    _FOUND[:] = [findings_of(paths, SAMPLE, rules=Rules(), resampling=QUICK)]
