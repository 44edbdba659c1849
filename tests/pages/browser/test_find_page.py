"""The page for a paper of the reader's own, in a real browser: drop, paste, ask, change k, export."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from doors import Address, address_of, listening_socket, make_finding_app, served_in_thread
from evidencebench import make_system
from kit.browsing import NewPage, assert_accessible

pytest.importorskip("starlette", reason="needs the extra 'view'")

_JATS = """<?xml version="1.0"?>
<article><front><article-meta><title-group><article-title>Tea and <script>alert(1)</script> pressure</article-title>
</title-group><abstract><p>It is not known whether tea lowers blood pressure. In a randomised trial of 120 adults, tea
lowered systolic pressure by 3.1 mmHg (p = 0.004).</p></abstract></article-meta></front>
<body><sec><title>Methods</title><p>We asked 120 adults to drink tea. Nurses measured their pressure.</p></sec>
<sec><title>Results</title><p>Systolic blood pressure fell by 3.1 mmHg with tea (p = 0.004).
Heart rate did not change. &lt;img src=x onerror=alert(2)&gt; was typed by a participant.</p></sec></body></article>
"""

_DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
}"""


_FORGET = """([name, text]) => fetch(`/api/find/paper?name=${name}`,
  {method: "POST", headers: {"Content-Type": "application/octet-stream"}, body: text})"""


_REPORTED = "Reports a decrease (2 sentences), no difference (1)."
_SEARCHED = "the 9 sentences read. Not searched: front matter."


@contextmanager
def _serving() -> Iterator[Address]:
    bound = listening_socket("127.0.0.1", 0)
    address = address_of(bound, "127.0.0.1")
    with served_in_thread(make_finding_app(make_system("cues"), address=address), bound):
        yield address


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with _serving() as address:
        yield address.url


def _dropped(page: Page, url: str) -> None:
    page.goto(url)
    page.evaluate(_DROP, ["tea.xml", _JATS])
    expect(page.get_by_role("status")).to_contain_text("sentences")


def _asked(page: Page, url: str, hypothesis: str = "Tea lowers blood pressure.") -> None:
    _dropped(page, url)
    page.get_by_label("Hypothesis").fill(hypothesis)
    page.get_by_role("button", name="Find the evidence").click()


def test_a_dropped_paper_is_shown_as_text_asked_marked_and_exported(page: Page, url: str, tmp_path: Path) -> None:
    _asked(page, url)
    expect(page.locator(".found-paper")).to_contain_text("<img src=x onerror=alert(2)> was typed")
    assert page.locator(".found-paper img, .found-paper script").count() == 0
    marked = page.locator(".sentence.is-evidence")
    expect(marked).to_have_count(6)
    page.get_by_label("Number of sentences").fill("2")
    expect(marked).to_have_count(2)
    expect(page.locator(".evidence-list li")).to_have_count(2)
    expect(page.locator(".evidence-list li").first).to_contain_text("3.1 mmHg")
    page.locator(".evidence-list a").first.click()
    expect(page.locator(".sentence.is-evidence:focus")).to_have_count(1)
    rows = list(csv.DictReader(io.StringIO(_exported(page, "csv", tmp_path / "evidence.csv"))))
    assert [row["rank"] for row in rows] == ["1", "2"]
    assert "3.1 mmHg" in rows[0]["text"]
    for form in ("markdown", "json", "ris", "html"):
        text = _exported(page, form, tmp_path / f"evidence.{form}")
        assert "3.1 mmHg" in text, form
        assert "<script" not in text or form == "markdown"
    page.goto((tmp_path / "evidence.html").as_uri())
    assert_accessible(page)


def _exported(page: Page, form: str, path: Path) -> str:
    page.get_by_label("Export as").select_option(form)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_the_evidence_is_grouped_by_what_it_reports_in_words_and_exports(page: Page, url: str, tmp_path: Path) -> None:
    _asked(page, url, "Tea lowers blood pressure compared with water.")
    expect(page.locator(".sentence.is-evidence")).to_have_count(6)
    expect(page.locator(".evidence-group")).to_have_count(0)
    page.get_by_label("Group by what they report").press("Space")
    groups = page.locator(".evidence-group")
    expect(groups).to_have_text(["Reports a decrease (2)", "Does not say (3)", "Reports no difference (1)"])
    firsts = page.locator(".evidence-group + .evidence-list > li:first-child")
    ranks = [int(first.get_attribute("value") or "") for first in firsts.all()]
    assert (ranks[0], ranks) == (1, sorted(ranks)), "groups stand in the order of their best sentence"
    assert sorted(int(item.get_attribute("value") or "") for item in page.locator(".evidence-list li").all()) == [
        *range(1, 7)
    ]
    marked = page.locator(".sentence.is-evidence[data-direction='no difference']")
    expect(marked).to_contain_text("Heart rate did not change.")
    assert marked.locator(".rank").inner_text().split(maxsplit=1)[1] == "no difference"
    assert_accessible(page, 390, 1280)
    for form, split in (("csv", True), ("html", True), ("html", False)):
        page.get_by_label("Group by what they report").set_checked(split)
        exported = _exported(page, form, tmp_path / "evidence")
        assert ("no difference" in exported, "Reports no difference</h" in exported) == (True, split and form == "html")


def test_words_that_no_sentence_has_are_told_with_what_was_searched_also_where_nothing_is_found(
    page: Page, url: str
) -> None:
    _asked(page, url, "Tea and xyzzy lower blood pressure.")
    status = page.get_by_role("status")
    expect(status).to_have_text(f"{_REPORTED} 'xyzzy' is not in {_SEARCHED} 6 sentences found.")
    expect(status).to_have_class("find-status is-warning")
    page.get_by_label("Hypothesis").fill("Tea lowers blood pressure.")
    page.get_by_label("Hypothesis").press("Enter")
    expect(status).to_have_text(f"{_REPORTED} 6 sentences found.")
    expect(status).to_have_class("find-status")
    page.get_by_label("Hypothesis").fill("Xyzzy harms unrelated cats.")
    page.get_by_label("Hypothesis").press("Enter")
    told = f"No evidence found in what was read. 'xyzzy', 'harms', 'unrelated' and 'cats' are not in {_SEARCHED}"
    expect(status).to_have_text(told)
    expect(page.locator(".sentence.is-evidence")).to_have_count(0)


def test_pasted_text_is_a_paper_too(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_label("Hypothesis").fill("Tea lowers blood pressure.")
    box = page.get_by_label("Text of the paper")
    box.fill("Tea lowered systolic blood pressure by 3.1 mmHg.\nHeart rate did not change.\n")
    box.dispatch_event("paste")
    expect(page.locator(".sentence.is-evidence")).to_have_count(2)


def test_with_the_keyboard_alone_a_typed_text_is_asked(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_label("Hypothesis").focus()
    page.keyboard.type("Tea lowers blood pressure.")
    page.keyboard.press("Enter")
    status = page.get_by_role("status")
    expect(status).to_have_text("Give a paper first.")
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("Tea lowered systolic blood pressure by 3.1 mmHg.\nHeart rate did not change.\n")
    page.keyboard.press("Tab")
    expect(status).to_contain_text("2 sentences found.")
    for _ in range(5):
        page.keyboard.press("Tab")
    expect(page.locator(".evidence-list a:focus")).to_contain_text("3.1 mmHg")
    page.keyboard.press("Enter")
    expect(page.locator(".sentence.is-evidence:focus")).to_contain_text("3.1 mmHg")


def test_after_a_paper_that_cannot_be_read_nothing_is_answered_and_the_error_stands(
    new_page: NewPage, url: str
) -> None:
    page = new_page(expected_errors=["status of 422"])
    _asked(page, url)
    status, marked = page.get_by_role("status"), page.locator(".sentence.is-evidence")
    expect(marked).to_have_count(6)
    page.evaluate(_DROP, ["paper.docx", "PK\x03\x04 rest"])
    expect(status).to_contain_text("paper.docx: ")
    expect(page.locator(".found-paper, .evidence-list, .find-export:visible")).to_have_count(0)
    page.get_by_label("Hypothesis").fill("Tea lowers pressure.")
    page.get_by_role("button", name="Find the evidence").click()
    expect(status).to_contain_text("ZIP")
    expect(marked).to_have_count(0)
    page.evaluate(_DROP, ["tea.xml", _JATS])
    expect(marked).to_have_count(6)


def test_an_answer_goes_when_what_was_asked_is_changed(page: Page, url: str) -> None:
    _asked(page, url, "Tea and xyzzy lower blood pressure.")
    status, shown = page.get_by_role("status"), page.locator(".is-evidence, .evidence-list, .find-export:visible")
    for change in (
        lambda: page.get_by_label("Show").select_option("study"),
        lambda: page.get_by_label("Hypothesis").press_sequentially("!"),
    ):
        expect(status).to_contain_text("6 sentences found.")
        change()
        expect(shown).to_have_count(0)
        expect(status).to_have_text("")
        expect(status).to_have_class("find-status")
        page.get_by_role("button", name="Find the evidence").click()
    expect(status).to_contain_text("6 sentences found.")


@pytest.mark.parametrize("change", ["words", "paper"])
def test_an_answer_that_comes_late_is_none_to_other_words_or_another_paper(
    new_page: NewPage, url: str, change: str
) -> None:
    page = new_page(expected_errors=["status of 422"])
    held: list[Route] = []
    page.route("**/api/find/answer*", lambda route: held.append(route))  # noqa: PLW0108 - playwright needs a function
    with page.expect_request("**/api/find/answer*"):
        _asked(page, url)
    expect(page.get_by_role("status")).to_have_text("Looking …")
    if change == "words":
        page.get_by_label("Hypothesis").fill("Tea harms.")
        expect(page.get_by_role("status")).to_have_text("")
    else:
        page.evaluate(_DROP, ["paper.docx", "PK\x03\x04 rest"])
        expect(page.get_by_role("status")).to_contain_text("ZIP")
    said = page.get_by_role("status").inner_text()
    with page.expect_response("**/api/find/answer*") as late:
        held[0].continue_()
    late.value.finished()
    page.evaluate("new Promise((done) => setTimeout(done, 100))")
    expect(page.locator(".is-evidence, .evidence-list")).to_have_count(0)
    expect(page.get_by_role("status")).to_have_text(said)
    expect(page.get_by_role("button", name="Find the evidence")).to_be_enabled()


def test_a_paper_that_the_app_forgot_is_sent_again(new_page: NewPage) -> None:
    page = new_page(expected_errors=["status of 410"])
    with _serving() as address:
        _dropped(page, address.url)
        for number in range(8):
            page.evaluate(_FORGET, [f"{number}.txt", f"Paper {number} is short.\n"])
        page.get_by_label("Hypothesis").fill("Tea lowers blood pressure.")
        with page.expect_response(lambda reply: reply.status == 410):  # it keeps eight
            page.get_by_role("button", name="Find the evidence").click()
        expect(page.locator(".sentence.is-evidence")).to_have_count(6)
