"""The same list and papers from a page in one file and from the app, and the messages where they are not there."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from doors import PlacedWords, SearchIndex, ViewerData, viewer_data_of
from evidencebench import load_sample, open_dataset, write_dataset
from kit.asking_app import running
from kit.browsing import NewPage, address_of
from kit.patience import MOST_SECONDS

SAMPLE = load_sample()


@pytest.fixture
def viewed(sample_runs: tuple[Path, ...]) -> ViewerData:
    return viewer_data_of(sample_runs, SAMPLE)


def test_the_app_shows_the_paper_that_the_page_shows(page: Page, sample_page: Path, viewed: ViewerData) -> None:
    with running(viewed) as app:
        shown = []
        for address in (app.url, address_of(sample_page)):
            page.goto("about:blank")
            page.goto(f"{address}#/papers/{SAMPLE.ids[6]}?a=tfidf")
            page.locator("#s-0").wait_for()
            shown.append(page.locator(".paper").text_content() or "")
    assert shown[0] == shown[1]
    assert SAMPLE[6].query.sentences[3] in shown[0]


def test_a_list_that_is_still_searched_says_how_far_and_completes_itself(page: Page, viewed: ViewerData) -> None:
    with running(viewed, is_scanned=False) as app:
        page.goto(f"{app.url}#/papers")
        count = page.locator(".list-count")
        expect(count).to_have_text("10 instances")  # nothing is missing of the plain list
        page.get_by_label("Search").fill("the")
        expect(count).to_have_text("0 of 10 instances")
        expect(page.locator(".list-means")).to_contain_text("searched 0 of 10 so far")
        expect(page.locator(".no-rows")).to_have_text("Nothing found yet.")
        app.scan.start()
        expect(count).to_have_text("10 instances; 1 without Results")
        expect(page.locator("a.row-link")).to_have_count(10)


def test_scores_go_on_while_words_are_indexed_and_the_list_follows(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, may_go_on, add = 250, Event(), SearchIndex.add

    def wait_and_add(index: SearchIndex, words: Sequence[PlacedWords | None]) -> None:
        assert may_go_on.wait(MOST_SECONDS)
        add(index, words)

    monkeypatch.setattr(SearchIndex, "add", wait_and_add)
    copies = [replace(SAMPLE[place % 10].query, instance_id=f"i{place}") for place in range(n)]
    write_dataset(
        tmp_path / "many.json",
        [replace(SAMPLE[place % 10], query=query, origin=None) for place, query in enumerate(copies)],
    )
    with running(viewer_data_of([], open_dataset(tmp_path / "many.json")), is_scanned=False) as app:
        page.goto(f"{app.url}#/papers")
        told = page.locator(".list-means")
        expect(told).to_contain_text("scored 50 of 250 so far")
        expect(told).to_contain_text("over 50 instances")
        page.locator("a.row-link").nth(2).focus()
        app.scan.start()
        expect(told).to_contain_text("scored 100 of 250 so far")
        may_go_on.set()
        expect(told).to_contain_text("over 250 instances")
        expect(told).not_to_contain_text("so far")
        expect(page.locator('a.row-link[data-id="i2"]')).to_be_focused()


def test_an_app_that_has_stopped_is_told_and_one_that_refuses_says_why(new_page: NewPage, viewed: ViewerData) -> None:
    page = new_page(expected_errors=("net::ERR", "status of 404"))
    with running(viewed) as app:
        page.goto(f"{app.url}#/papers")
        page.locator("a.row-link").first.wait_for()
        page.evaluate("hash => { location.hash = hash; }", "#/papers/nobody")
        expect(page.locator(".paper-pane > [role=status]")).to_have_text(app.ask("/api/instances", id="nobody").error)
        page.go_back()
        page.locator("a.row-link").first.wait_for()
    page.locator("a.row-link").first.click()
    expect(page.locator(".paper-pane > [role=status]")).to_contain_text("The app does not answer")
    page.get_by_role("button", name="Sentences").click()
    expect(page.locator(".list-count")).to_contain_text("The app does not answer")
