"""The app in a real Chromium, under its own content-security policy."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from doors import viewer_data_of
from evidencebench import load_sample, open_dataset, write_dataset
from kit.asking_app import Running, running
from kit.browsing import NewPage, assert_accessible
from kit.patience import MOST_SECONDS

SAMPLE = load_sample()


@pytest.fixture(scope="module")
def served(sample_runs: Sequence[Path]) -> Iterator[Running]:
    """Give the app of the sample with two runs, everything of it searched and scored."""
    with running(viewer_data_of(sample_runs, SAMPLE)) as app:
        app.scan.wait(MOST_SECONDS)
        yield app


def rows(page: Page) -> Sequence[str]:
    page.locator("a.row-link").first.wait_for()
    return page.locator("a.row-link").all_inner_texts()


def test_list_search_and_papers_come_from_the_server(page: Page, served: Running) -> None:
    page.goto(served.url)
    assert len(rows(page)) == len(SAMPLE)
    assert re.search(r"#/papers$", page.url)
    page.locator("a.row-link").nth(1).click()
    expect(page.locator("#viewer")).to_contain_text(SAMPLE[1].query.sentences[1])
    assert SAMPLE.ids[1] in page.url
    assert_accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(served.url)
    rows(page)
    assert_accessible(page)
    word = max(SAMPLE[3].query.hypothesis.split(), key=len).strip(".,")
    found = served.ask("/api/rows", q=word).json
    assert 0 < found["n_found"] < len(SAMPLE)
    with page.expect_response(lambda reply: "/api/rows?" in reply.url and f"q={word}" in reply.url):
        page.get_by_role("searchbox").fill(word)
    expect(page.locator("a.row-link")).to_have_count(found["n_found"])
    with page.expect_response(lambda reply: "q=zzzznothing" in reply.url):
        page.get_by_role("searchbox").fill("zzzznothing")
    expect(page.locator("a.row-link")).to_have_count(0)


def test_the_list_is_saved_as_it_is_found(page: Page, served: Running) -> None:
    page.goto(f"{served.url}#/papers?sort=length&task=er_at_10")
    rows(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as CSV").click()
    assert download.value.suggested_filename == "papers.csv"
    lines = list(csv.DictReader(download.value.path().read_text(encoding="utf-8").splitlines()))
    longest = sorted(SAMPLE, key=lambda instance: -len(instance.query.sentences))
    assert [line["id"] for line in lines] == [instance.id for instance in longest]
    assert {"bm25, er_at_10", "oracle, er_at_10"} <= set(lines[0])


def test_the_policy_stops_what_is_written_into_the_page(new_page: NewPage, served: Running) -> None:
    page = new_page(expected_errors=["Content Security Policy", "status of 404"])
    page.goto(served.url)
    rows(page)
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran = true'>");
          return new Promise((resume) => document.body.lastElementChild.addEventListener("error", resume));
        }"""
    )
    assert page.evaluate("window.ran") is None
    with running(viewer_data_of([], SAMPLE)) as other:  # which would answer
        fetched = "(url) => fetch(url, {mode: 'no-cors'}).then(() => 'sent', () => 'stopped')"
        assert page.evaluate(fetched, f"{other.url}api/overview") == "stopped"
        assert page.evaluate(fetched, f"{served.url}api/overview") == "sent"


def test_the_token_becomes_a_cookie_and_leaves_the_address(page: Page) -> None:
    with running(viewer_data_of([], SAMPLE), token="a-token-of-a-test") as app:  # noqa: S106 - a test's
        page.goto(app.url)
        assert len(rows(page)) == len(SAMPLE)
        assert "token" not in page.url
        page.reload()
        assert len(rows(page)) == len(SAMPLE)
        assert page.evaluate("document.cookie") == ""


def test_an_id_that_is_too_long_for_an_address_is_shown_all_the_same(page: Page, tmp_path: Path) -> None:
    long_id = "\u00e9" * 20_000
    query = replace(SAMPLE[0].query, instance_id=long_id)
    write_dataset(tmp_path / "long.json", [SAMPLE[1], replace(SAMPLE[0], query=query, origin=None)])
    with running(viewer_data_of([], open_dataset(tmp_path / "long.json"))) as app:
        page.goto(app.url)
        page.locator("a.row-link").nth(1).click()
        expect(page.locator("#viewer")).to_contain_text(SAMPLE[0].query.sentences[1])
