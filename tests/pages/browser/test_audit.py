"""Auditors say the causes of misses in a real browser, and the report corrects the score by them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from evidencebench import execute, load_sample
from kit.browsing import assert_accessible, assert_asks_before_leaving, say_name
from kit.serving_commands import Serving

pytest.importorskip("starlette", reason="needs the extra 'view'")

EVIDENCEBENCH = (sys.executable, "-m", "evidencebench")


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    """Give the arguments of the command that serves four misses of a run over the sample."""
    execute("bm25", load_sample(), tmp_path / "bm25.jsonl")
    sample = ("audit", "sample", "bm25.jsonl", "--data", "sample", "-n", "4", "-o", "misses.jsonl")
    subprocess.run([*EVIDENCEBENCH, *sample], check=True, capture_output=True, cwd=tmp_path)
    return "audit", "review", str(tmp_path / "misses.jsonl"), "--folder", str(tmp_path / "audit")


def begin(page: Page, url: str, name: str) -> None:
    say_name(page, url, name)
    expect(page.get_by_role("link", name="Begin with the first")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".pick-eyebrow")).to_contain_text("Task 1 of 4")


def test_causes_chosen_with_the_keyboard_correct_the_score(
    serving: Serving, words: tuple[str, ...], tmp_path: Path, page: Page
) -> None:
    with serving(*words) as (url, _):
        begin(page, url, "Ada")
        for number, key in enumerate("1219", 1):
            expect(page.locator(".pick-eyebrow")).to_contain_text(f"Task {number} of 4")
            page.keyboard.press(key)
            expect(page.locator(f".task-choice:nth-child({key})")).to_have_attribute("aria-pressed", "true")
            if number == 1:
                page.keyboard.press("j")
                expect(page.locator(".audit-row:focus .audit-tags")).to_have_text(re.compile("source|selected"))
            if key == "9":
                expect(page.get_by_label("Note")).to_be_focused()
                expect(page.get_by_role("alert").filter(has_text="needs a note")).to_be_visible()
                page.get_by_role("button", name="Done").click()
                expect(page.locator(".pick-eyebrow")).to_contain_text("Task 4 of 4")
                assert_asks_before_leaving(page)  # the cause is not saved without its note
                page.get_by_label("Note").fill("The review is wrong. <b>Really</b>")
                expect(page.locator(".pick-saved")).to_have_text("Saved.")
            page.locator(".pick-submit").click() if number > 2 else page.keyboard.press("Enter")
        expect(page.get_by_text("All tasks are done. Thank you!")).to_be_visible()
        expect(page.locator(".task-command")).to_contain_text("evidencebench audit report")
        page.reload()
        expect(page.get_by_text("4 of 4 done")).to_be_visible()
    report = ("audit", "report", "misses.jsonl", "--folder", "audit", "--run", "bm25.jsonl", "--data", "sample")
    ran = subprocess.run([*EVIDENCEBENCH, *report, "--json"], check=True, capture_output=True, cwd=tmp_path)
    found = json.loads(ran.stdout)
    assert found["auditors"] == {"Ada": 4}
    causes = {one["cause"]["name"]: one["share"]["k"] for one in found["causes"] if one["share"]["k"]}
    assert causes == {"missed": 2, "label_lacks_sentence": 1, "other_no_fault": 1}
    assert found["corrected"]["covered"]["mean"] > found["corrected"]["plain"]["mean"]


def test_the_page_of_a_miss_fits_and_is_accessible_and_a_choice_can_be_taken_back(
    serving: Serving, words: tuple[str, ...], page: Page
) -> None:
    with serving(*words) as (url, _):
        page.goto(url)
        expect(page.locator("section.people-page").first).to_contain_text("4 misses of bm25(k1=0.9")
        begin(page, url, "Bo")
        assert page.locator(".audit-row.is-source").count() > 0
        assert page.locator(".audit-row.is-selected").count() > 0
        page.set_viewport_size({"width": 1440, "height": 900})
        parts = page.locator(".audit-evidence section, .task-causes").all()
        (picks, sources, causes) = [box for box in map(Locator.bounding_box, parts) if box]
        assert picks["y"] == sources["y"] < causes["y"]  # the evidence is side by side, above what is asked
        assert picks["x"] < sources["x"]
        assert causes["y"] + causes["height"] <= 900  # so nothing is scrolled
        page.get_by_label("Sources by the labels").get_by_role("button").first.click()
        expect(page.locator(".audit-row:focus .audit-tags")).to_have_text("source")
        assert_accessible(page, 360, 1280)
        choice = page.locator(".task-choice").nth(1)
        done = page.get_by_role("button", name="Done")
        expect(done).not_to_have_class(re.compile("people-main"))  # nothing is said yet
        choice.click()
        expect(done).to_have_class(re.compile("people-main"))
        expect(page.locator(".pick-facts")).to_contain_text("Done. Saved.")
        choice.click()
        expect(page.locator(".pick-facts")).to_contain_text("Not done yet. Saved.")
        page.goto(f"{url}#/tasks")
        expect(page.get_by_text("0 of 4 done")).to_be_visible()
        page.goto("about:blank")
