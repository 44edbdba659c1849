"""The page of a construction's drafts, as a file, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from doors import construction_page, open_construction
from kit.browsing import NewPage, address_of, assert_accessible
from kit.examples import IS_THOROUGH
from kit.shown_constructions import DOUBTFUL, DROPPED, HOSTILE, make_construction


def _page_file(folder: Path, *, n_more: int = 0, most_papers: int = 5) -> Path:
    shown = open_construction(make_construction(folder, n_more=n_more), papers=folder / "papers", replies=None)
    file = folder / "drafts.html"
    file.write_text(construction_page(shown, most_papers=most_papers), encoding="utf-8")
    return file


def test_the_answer_comes_first_and_each_draft_opens_to_its_votes(page: Page, tmp_path: Path) -> None:
    page.goto(address_of(_page_file(tmp_path)))
    expect(page.locator(".bench-answer")).to_have_text(
        "3 drafts: 2 kept, votes are split on sentences of 1 of them; 1 dropped."
    )
    expect(page.get_by_role("row", name="hypotheses")).to_contain_text("1: no usable reply")
    rows = page.locator(".row-link")
    expect(rows).to_have_count(3)
    assert_accessible(page)
    rows.first.click()
    expect(page).to_have_title(f"Tea lowers pressure in {DOUBTFUL}. · Construction in work")
    draft = page.locator(".bench-draft")
    expect(draft.locator("mark b")).to_have_text("[7]")
    expect(draft).to_contain_text("Before it. Tea lowered pressure")
    split = draft.locator("#s-7")
    expect(split).to_contain_text("aspect 1: 1 yes, 1 no (split)")
    expect(split.locator("li")).to_have_text(
        ["aspect 1, yes: local/any, sentences 5 to 14", "aspect 1, no: local/any, sentences 0 to 9"]
    )
    expect(draft.locator("#s-8 details")).not_to_have_attribute("open", "")
    assert draft.locator("img").count() == 0
    expect(draft.locator(".bench-aspects")).to_contain_text(HOSTILE[:20])
    assert_accessible(page, 1280, 400)


def test_keys_lead_through_drafts_and_marked_sentences(page: Page, tmp_path: Path) -> None:
    page.goto(address_of(_page_file(tmp_path)))
    page.locator(".row-link").first.wait_for()
    page.keyboard.press("j")
    expect(page.locator("h1:visible")).to_have_text(f"Tea lowers pressure in {DOUBTFUL}.")
    expect(page.locator("#s-20")).to_be_hidden()
    page.keyboard.press("e")
    expect(page.locator("#s-7")).to_be_focused()
    page.keyboard.press("e")
    expect(page.locator("#s-8")).to_be_focused()
    page.keyboard.press("o")
    expect(page.locator("#s-20")).to_be_visible()
    page.get_by_role("button", name="aspect 1: mark its sentences").press("Enter")
    expect(page.locator(".is-chosen")).to_have_count(2)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".bench-state")).to_contain_text("Dropped at “hypotheses”: no usable reply: <img")
    page.keyboard.press("j")
    expect(page.locator(".viewer-status")).to_have_text("This is the last draft of the list.")
    page.keyboard.press("Escape")
    expect(page.locator(".row-link").last).to_be_focused()
    page.get_by_label("containing").fill("B9")
    expect(page.locator(".list-count")).to_have_text("1 draft of 3")
    page.reload()
    page.get_by_role("button", name="dropped (1)").click()
    expect(page.locator(".row-link")).to_have_count(1)
    page.evaluate("location.hash = '#/papers/nothing'")
    expect(page.locator(".viewer-status")).to_have_text("There is no such draft.")


@pytest.mark.parametrize("dark", [False, True] if IS_THOROUGH else [True])
def test_a_thousand_drafts_open_in_a_narrow_window(new_page: NewPage, tmp_path: Path, *, dark: bool) -> None:
    page = new_page(400, 800, dark=dark)
    page.goto(address_of(_page_file(tmp_path, n_more=997)))
    expect(page.locator(".row-link")).to_have_count(1000)
    assert page.locator(".row-link").last.text_content() == f"Tea lowers pressure in {DROPPED}."
    page.locator(".row-link").nth(900).click()
    expect(page.locator(".bench-draft")).to_contain_text("The paper's text is left out of this page.")
    expect(page.locator(".bench-draft")).to_contain_text("aspect 1: 2 yes")
    assert_accessible(page)
