"""A new reader's way to the explanation of a score; the documents' screenshots are taken on it.

``make screenshots`` runs this with EVIDENCEBENCH_SCREENSHOTS set to the folder they belong in; without it, the walk is
the same and the pictures are thrown away.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from doors import SAMPLE_PAPER, pick_tasks, viewer_data_of
from evidencebench import TASKS, execute, load_sample
from kit.asking_app import running
from kit.browsing import NewPage, address_of, assert_accessible, assert_fits, say_name
from kit.examples import thorough_only
from kit.serving_commands import Serving

pytestmark = thorough_only

Shoot = Callable[[Page, str], None]


@pytest.fixture
def shoot(tmp_path: Path) -> Shoot:
    """Give a function that takes a picture of what a page shows now."""
    folder = Path(os.environ.get("EVIDENCEBENCH_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        path = folder / f"{name}.png"
        path.write_bytes(page.screenshot(animations="disabled", caret="hide"))
        assert path.stat().st_size > 5_000  # more than an empty page

    return take


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a report of three systems, one of which was also asked the wrong hypotheses."""
    folder = tmp_path_factory.mktemp("walk")
    runs = [folder / f"{system}.jsonl" for system in ("cues", "bm25", "tfidf")]
    for run in runs:
        execute(run.stem, load_sample(), run)
    swapped = folder / "bm25.wrong.jsonl"
    execute("bm25", load_sample(), swapped, control="wrong_hypothesis")
    page = folder / "report.html"
    draws = [] if "EVIDENCEBENCH_SCREENSHOTS" in os.environ else ["--set", "draws=200"]
    words = ["report", *map(str, (*runs, swapped)), "--data", "sample", "-o", str(page), *draws]
    subprocess.run([sys.executable, "-m", "evidencebench", *words], check=True, capture_output=True)
    return page


def test_from_the_report_to_the_aspects_that_one_system_missed_in_one_paper(
    report: Path, new_page: NewPage, shoot: Shoot
) -> None:
    page = new_page(1280, 860)
    page.goto(address_of(report))
    expect(page.get_by_role("heading", name="Leaderboard", exact=True)).to_be_visible()
    shoot(page, "report")
    table = new_page(820, 520)
    table.goto(address_of(report))
    table.get_by_role("heading", name="Leaderboard", exact=True).evaluate("heading => heading.scrollIntoView()")
    shoot(table, "leaderboard")

    page.get_by_role("link", name="Papers", exact=True).click()
    expect(page.locator(".list-count")).to_contain_text("10 instances")
    page.locator(".choice-bar").get_by_label("System A").select_option("cues")
    page.locator(".choice-bar").get_by_label("System B").select_option("bm25")
    page.get_by_role("button", name="A − B").click()
    page.get_by_label("Search").fill("micronutrient")
    expect(page.get_by_text(re.compile(r"^[1-9] of 10 instances"))).to_be_visible()
    page.get_by_label("Search").fill("")
    expect(page.locator(".list-count")).to_contain_text(re.compile("^10 instances"))  # and not "2 of 10 instances"
    shoot(page, "list")

    page.get_by_role("link", name=re.compile("iron-containing micronutrient powder")).click()
    account = page.locator(".explanation")
    expect(account).to_contain_text("Why this score")
    expect(page.locator("#s-0")).to_be_in_viewport()
    account.locator("summary").click()
    recalls = [float(text) for text in re.findall(r"([\d.]+)\s%\s*aspect recall", account.inner_text())]
    assert len(recalls) == 2

    page.locator(".aspects").get_by_role("button", name=re.compile("^Missed by A")).click()
    page.locator(".aspect-name:visible").first.click()
    page.locator(".aspects").get_by_role("button", name=re.compile("^Next of")).first.click()
    expect(page.locator(".is-target").first).to_be_in_viewport()
    shoot(page, "aspect")
    assert_accessible(page)

    dark = new_page(1280, 860, dark=True)
    dark.goto(page.url)
    expect(dark.locator(".explanation")).to_be_visible()
    shoot(dark, "paper-dark")
    narrow = new_page(360, 740)
    narrow.goto(page.url)
    expect(narrow.locator(".explanation")).to_be_visible()
    assert_fits(narrow)


CLAIM = "Dietary PBDE-47 lowers plasma T4"


def test_from_a_claim_to_its_sentences_and_a_decision_in_a_review(
    tmp_path: Path, serving: Serving, new_page: NewPage, shoot: Shoot
) -> None:
    found = tmp_path / "found.html"
    words = ["find", CLAIM, "sample", "-k", "3", "--html", str(found)]
    subprocess.run([sys.executable, "-m", "evidencebench", *words], check=True, capture_output=True)
    page = new_page(1280, 760)
    page.goto(address_of(found))
    expect(page.get_by_text("Evidence found.")).to_be_visible()
    shoot(page, "found")

    papers = tmp_path / "papers"
    papers.mkdir()
    shutil.copy(SAMPLE_PAPER, papers)
    questions = tmp_path / "questions.txt"
    questions.write_text(f"{CLAIM}\nWhat dose of PBDE-47 was given?\n")
    with serving("review", str(papers), "--questions", str(questions)) as (url, _):
        say_name(page, url, "Ada")
        expect(page.locator(".desk-progress")).to_contain_text("2 of 2 answers found.")
        page.goto(f"{url}#/review/0.0")
        expect(page.locator(".cell-quote").first).to_be_visible()
        page.keyboard.press("a")
        page.keyboard.press("2")
        expect(page.locator(".pick-saved")).to_have_text("Saved.")
        shoot(page, "review")


def test_from_a_name_to_a_revealed_answer_and_the_score_beside_systems(
    tmp_path: Path, new_page: NewPage, shoot: Shoot
) -> None:
    dataset, task = load_sample(), TASKS["er_at_optimal"]
    runs = [tmp_path / f"{system}.jsonl" for system in ("cues", "bm25")]
    for run in runs:
        execute(run.stem, dataset, run)
    viewed = viewer_data_of(runs, dataset, (task,))
    pages = pick_tasks(viewed, tmp_path / "people", task, limit=3)
    page = new_page(1280, 860)
    with running(viewed, picking=pages) as app:
        say_name(page, app.url, "Ada")
        page.get_by_role("link", name="Begin with the first paper").click()
        for indexes in ((2, 4, 26), (3, 5), (2, 6)):
            for index in indexes:
                page.locator(f"#pick-{index}").click()
            expect(page.locator(".pick-count")).to_contain_text(f"{len(indexes)} of")
            if len(indexes) == 3:
                shoot(page, "picking")
            page.locator("aside").get_by_role("button", name=re.compile("Submit")).click()
            page.get_by_role("dialog").get_by_role("button", name=re.compile("^Submit")).click()
            expect(page.get_by_role("heading", name="Your aspect recall")).to_be_visible()
            if len(indexes) == 3:
                expect(page.locator("h1:visible")).to_have_count(1)
                shoot(page, "revealed")
            if indexes != (2, 6):
                page.get_by_role("link", name="Next paper").click()
        page.get_by_role("link", name="All papers, and your score").click()
        expect(page.get_by_text(re.compile(r"^You [\d.]+, .* on your 3 papers\.$"))).to_be_visible()
        shoot(page, "own-score")
        page.goto("about:blank")
    pages.close()
