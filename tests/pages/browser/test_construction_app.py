"""The app of `construct show --open` in a real browser: edits are kept at once, shown, and refused where stale."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from doors import (
    address_of,
    listening_socket,
    make_construction_app,
    open_construction,
    served_in_thread,
)
from evidencebench import Edit, read_edits
from kit.browsing import NewPage, Pages, assert_accessible, assert_asks_before_leaving
from kit.shown_constructions import DOUBTFUL, HOSTILE, MARKED_AT, make_construction

RUN = "evidencebench construct run construction.toml"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return make_construction(tmp_path)


@pytest.fixture
def url(work: Path, new_page: Pages) -> Iterator[str]:
    """Serve the construction, and leave its pages before it ends."""
    bound = listening_socket("127.0.0.1", 0)
    address = address_of(bound, "127.0.0.1", "secret")
    opened = partial(open_construction, work, papers=work.parent / "papers", replies=None)
    app = make_construction_app(opened, run=RUN, now=lambda: datetime(2026, 11, 27, 18, tzinfo=UTC), address=address)
    with served_in_thread(app, bound):
        yield address.url
        new_page.leave()


@pytest.fixture
def draft(page: Page, url: str) -> Page:
    """Open the first draft."""
    page.goto(url)
    page.locator(".row-link").first.click()
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("Your name").press("Tab")
    return page


def write(page: Page, button: str, text: str) -> None:
    page.get_by_role("button", name=button).first.click()
    page.locator("textarea:visible").fill(text)
    page.get_by_role("button", name="Save").locator("visible=true").click()


def edit(work: Path, step: str) -> Edit:
    return read_edits(work)[DOUBTFUL, step]


def test_an_edit_is_kept_shown_and_what_to_run_is_said(draft: Page, work: Path) -> None:
    write(draft, "Edit the hypothesis", "Tea lowered 46 % <b>of it</b>.")
    expect(draft.locator("h1:visible")).to_have_text("Tea lowered 46 % <b>of it</b>.")
    expect(draft.locator(".bench-told:visible")).to_contain_text("Check this: ")
    expect(draft.get_by_text("Edited: hypothesis, by Ada, 2026-11-27 18:00")).to_be_visible()
    kept = edit(work, "hypotheses")
    assert (kept.hypothesis, kept.by) == ("Tea lowered 46 % <b>of it</b>.", "Ada")
    write(draft, "Edit the summary", "Tea lowered pressure.")
    expect(draft.get_by_text("Edited: summary, by Ada")).to_be_visible()
    draft.get_by_role("link", name="Back to the list").click()
    expect(draft.get_by_text(f"1 draft to be made again: “{RUN}” makes only what depends on edits.")).to_be_visible()
    expect(draft.locator(".bench-rows .row").first).to_contain_text("2 edits")
    assert_accessible(draft, 1280, 400)
    draft.locator(".row-link").first.click()
    assert_accessible(draft)
    draft.get_by_role("button", name="Undo: Edited: hypothesis").click()
    expect(draft.locator("h1:visible")).to_have_text(f"Tea lowers pressure in {DOUBTFUL}.")
    assert (DOUBTFUL, "hypotheses") not in read_edits(work)


def test_aspects_are_split_added_and_removed_and_keep_their_votes(draft: Page, work: Path) -> None:
    write(draft, "Edit or split: Aspect 2", "Tea was given.\n\n Nobody fell ill. ")
    aspects = draft.locator(".bench-aspects > li")
    expect(aspects).to_have_count(3)
    assert edit(work, "aspects").aspects == ("Pressure fell.", "Tea was given.", "Nobody fell ill.")
    expect(aspects.first).to_contain_text("2 sentences, 1 split")
    expect(draft.get_by_role("button", name="Change its sentences")).to_have_count(0)
    write(draft, "Add an aspect", "It was green.")
    expect(aspects).to_have_count(4)
    draft.get_by_role("button", name="Remove: aspect 2").click()
    expect(aspects).to_have_count(3)
    assert edit(work, "aspects").aspects == ("Pressure fell.", "Nobody fell ill.", "It was green.")


def test_sentences_and_results_are_changed_and_voided_by_other_aspects(draft: Page, work: Path) -> None:
    draft.get_by_role("button", name="Results: aspect 2").click()
    expect(draft.get_by_role("button", name="Results: aspect 2")).to_be_focused()
    expect(draft.get_by_text("Edited: Results, by Ada")).to_be_visible()
    assert edit(work, "label-results").results == (0, 1)
    draft.get_by_role("button", name="Change its sentences: aspect 1").press("Enter")
    expect(draft.locator("#pick-7")).to_be_focused()
    draft.keyboard.press("Space")
    draft.keyboard.press("ArrowDown")
    draft.keyboard.press("ArrowDown")
    draft.keyboard.press("Space")
    assert_accessible(draft, 400)
    draft.get_by_role("button", name="Done").click()
    expect(draft.locator("#s-9")).to_contain_text("aspect 1: 0 yes, 2 no")
    expect(draft.locator("#s-7")).to_contain_text("aspect 1: 1 yes, 1 no (split), no source")
    assert edit(work, MARKED_AT).sources == ((8, 9), ())
    draft.get_by_role("button", name="Remove: aspect 2").click()
    expect(draft.locator(".bench-aspects > li")).to_have_count(1)
    assert set(read_edits(work)) == {(DOUBTFUL, "aspects")}


def test_a_draft_is_rejected_with_a_reason_and_taken_back(draft: Page, work: Path) -> None:
    write(draft, "Reject this draft", HOSTILE)
    expect(draft.locator(".bench-state")).to_contain_text("Dropped at “label-results”: rejected: <img")
    assert edit(work, "label-results").rejected.startswith("<img")
    draft.get_by_role("button", name="Undo").click()
    expect(draft.locator(".bench-state")).to_contain_text("Kept.")


def test_an_edit_of_what_changed_meanwhile_is_refused_and_its_text_stays(
    new_page: NewPage, url: str, work: Path
) -> None:
    first, second = new_page(), new_page(expected_errors=["409 (Conflict)"])
    for page in (first, second):
        page.goto(url)
        page.locator(".row-link").first.click()
        page.get_by_role("button", name="Edit the hypothesis").click()
    first.locator("textarea:visible").fill("Tea is what lowers pressure.")
    first.get_by_role("button", name="Save").locator("visible=true").click()
    expect(first.locator("h1:visible")).to_have_text("Tea is what lowers pressure.")
    second.locator("textarea:visible").fill("Mine is another one.")
    assert_asks_before_leaving(second)
    second.get_by_role("button", name="Save").locator("visible=true").click()
    expect(second.get_by_role("alert")).to_contain_text("This draft was changed meanwhile")
    expect(second.locator("h1:visible")).to_have_text("Tea is what lowers pressure.")
    expect(second.locator("textarea:visible")).to_have_value("Mine is another one.")
    second.get_by_role("button", name="Save").locator("visible=true").click()
    expect(second.locator("h1:visible")).to_have_text("Mine is another one.")
    assert edit(work, "hypotheses").hypothesis == "Mine is another one."
