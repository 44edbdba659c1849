"""A reader opens what a language model was asked about a paper, and what it replied: in the app and in a report."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from doors import report_page, stored_exchanges, viewer_data_of
from evidencebench import TASKS, Resampling, execute, load_sample
from kit.asking_app import running
from kit.browsing import address_of, assert_accessible
from kit.model_runs import MODEL, ask_models

SAMPLE = load_sample()
A, B = SAMPLE.ids[:2]
TASK = TASKS["er_at_10"]
SPENT = "2 requests; 200 + 20 tokens; $0.0024 at prices of 2026-01-01"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Give a run that asked a model about the first two papers, and one of bm25; the replies lie beside them."""
    execute("bm25", SAMPLE, tmp_path / "bm25.jsonl")
    return [ask_models(tmp_path, limit=2), tmp_path / "bm25.jsonl"]


def read_all_of_it(page: Page) -> None:
    """Open the block with the mouse and the keyboard, and look at what it says; nothing of a reply may be markup."""
    block = page.locator("details.exchanges")
    expect(block).to_have_count(1)  # bm25 asks nobody
    summary = block.locator("summary").first
    summary.focus()
    page.keyboard.press("Enter")
    expect(block.locator("p.exchanges")).to_have_text(f"● gpt-secret · base: {SPENT}.")
    expect(block.get_by_role("heading", name=f"Request 2: {MODEL}")).to_be_visible()
    facts = "100 + 10 tokens; $0.0012; time unknown; ended: stop; served by gpt-<i>"
    expect(block.locator("section p")).to_have_text([facts, f"{facts}; after the messages above and their reply"])
    replies = block.locator("section details[open] pre")
    expect(replies).to_have_count(2)
    expect(replies.last).to_contain_text("<img src=x onerror='window.owned=1'><b>bold</b>")
    expect(replies.last).to_contain_text("ANSWER: [1, 2]")
    prompt = block.locator("section details").first
    prompt.locator("summary").click()
    expect(prompt.locator("pre")).to_contain_text(SAMPLE[A].query.hypothesis)
    assert block.locator("img, i, pre b").count() == 0
    assert page.evaluate("window.owned") is None
    assert_accessible(page, 1280, 360)


def test_prompt_and_reply_stand_beside_the_paper_in_the_app(runs: list[Path], tmp_path: Path, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with stored_exchanges(SAMPLE, tmp_path) as exchanges:
        viewed = viewer_data_of(runs, SAMPLE, (TASK,), exchanges=exchanges)
        with running(viewed) as app:
            page.goto(f"{app.url}#/papers/{A}?a=llm_base&b=bm25")
            expect(page.locator("details.exchanges")).to_be_visible()
            assert not any("exchanges" in url for url in asked)  # before it is opened
            read_all_of_it(page)
            page.goto(f"{app.url}#/papers/{SAMPLE.ids[2]}?a=llm_base&b=bm25")
            expect(page.locator(".hypothesis")).to_have_text(SAMPLE[2].query.hypothesis)
            expect(page.locator("details.exchanges[open]")).to_be_visible()  # as it was left on the paper before
            expect(page.get_by_text("The reply to 1 request is not stored on this machine")).to_be_visible()
            page.goto("about:blank")


def test_prompt_and_reply_are_in_a_report_where_they_were_asked_for(
    runs: list[Path], tmp_path: Path, page: Page
) -> None:
    quick = Resampling(n_draws=50)
    with stored_exchanges(SAMPLE, tmp_path) as exchanges:
        made = report_page(runs, SAMPLE, TASK, resampling=quick, limit=2, exchanges=exchanges)
    (tmp_path / "asked.html").write_text(made, "utf-8")
    page.goto(address_of(tmp_path / "asked.html", f"#/papers/{A}?a=llm_base&b=bm25"))
    read_all_of_it(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Share this paper").click()
    download.value.save_as(tmp_path / "shared.html")
    page.goto(address_of(tmp_path / "shared.html"))
    expect(page.locator("p.exchanges")).to_be_visible()  # what it took, and no prompt
    assert "ANSWER: [1, 2]" not in (tmp_path / "shared.html").read_text("utf-8")
    (tmp_path / "plain.html").write_text(report_page(runs, SAMPLE, TASK, resampling=quick, limit=2), "utf-8")
    page.goto(address_of(tmp_path / "plain.html", f"#/papers/{A}?a=llm_base&b=bm25"))
    expect(page.locator("p.exchanges")).to_have_text(f"● gpt-secret · base: {SPENT}.")
    expect(page.locator("details.exchanges")).to_have_count(0)
    page.goto(address_of(tmp_path / "plain.html", f"#/papers/{A}?a=bm25&b="))
    expect(page.locator(".exchanges")).to_have_count(0)
