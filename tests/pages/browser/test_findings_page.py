"""The page of many findings, in a real browser: its table, a paper beside it, filters; and without scripts."""

import re
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, expect

from doors import PaperVerdict, findings_page
from evidencebench import Finding, find_evidence, read_paper
from kit.browsing import NewPage, assert_accessible, box_of

_TEXT = (
    "# Results\nTea <script>alert(1)</script> lowered pressure in {}.\nNurses of {} slept <noscript>well</noscript>.\n"
)
_CLAIMS = ("Tea lowers pressure.", "Nurses <b>sleep</b>.")


def _finding(number: int, name: str, claim: str) -> Finding:
    paper = read_paper(_TEXT.format(name, name).encode(), name=f"{name}.txt")
    found = find_evidence(paper, claim, system="lead")
    first, second = found.evidence
    is_found = number == _CLAIMS.index(claim)
    evidence = (
        (replace(first, chance=0.9), replace(second, chance=0.3)) if is_found else (replace(second, chance=0.01),)
    )
    verdict = PaperVerdict.FOUND if is_found else PaperVerdict.NONE
    return replace(found, verdict=verdict, evidence=evidence)


def _page_file(folder: Path) -> Path:
    findings = [
        _finding(number, name, claim) for number, name in enumerate(["women", "men", "cats"]) for claim in _CLAIMS
    ]
    file = folder / "page.html"
    failed = ["broken.pdf: expected a PDF"]
    file.write_text(findings_page(findings, failed=failed, links={"men.txt": "marked/men.pdf"}), encoding="utf-8")
    return file


def test_a_cell_opens_its_paper_beside_the_table_with_the_marks_of_its_question(page: Page, tmp_path: Path) -> None:
    page.goto(_page_file(tmp_path).as_uri())
    rows = page.locator("tbody tr")
    expect(rows).to_have_text([*map(_starts_with, ("women", "men", "cats"))])
    expect(page.locator("section:visible")).to_have_count(0)
    expect(page.get_by_text("broken.pdf: expected a PDF")).to_be_visible()
    assert_accessible(page)
    rows.nth(1).get_by_role("link", name="Found").click()
    section = page.locator("section:visible")
    expect(section).to_contain_text("Tea <script>alert(1)</script> lowered pressure in men.")
    assert section.locator("script, noscript, b").count() == 0
    expect(section.locator(".answer:visible")).to_have_count(1)
    expect(section.locator("mark:not(.is-other)")).to_have_count(2)
    expect(section.locator("mark[data-strength='3']")).to_contain_text("Tea")
    assert_accessible(page)
    section.locator(".answer:visible li a").first.click()
    expect(section.locator("mark:target")).to_contain_text("Tea")
    rows.nth(0).get_by_role("link", name="None").click()
    answers = page.locator("section:visible .answer:visible")
    expect(answers).to_have_text([re.compile("No evidence found in what was read")])
    page.keyboard.press("Escape")
    expect(page.locator("section:visible")).to_have_count(0)


def test_papers_are_sorted_and_filtered_by_verdict_and_words(page: Page, tmp_path: Path) -> None:
    page.goto(_page_file(tmp_path).as_uri())
    rows = page.locator("tbody tr:visible")
    page.get_by_role("button", name="Nurses").click()
    expect(rows.first).to_have_text(_starts_with("men"))
    page.get_by_label("Show").select_option("found")
    expect(page.get_by_role("status")).to_have_text("2 of 3 papers")
    page.get_by_label("containing").fill("WOMEN")
    expect(rows).to_have_count(1)


def test_words_that_the_browser_finds_open_their_paper_and_print_has_what_was_found_in_all(
    page: Page, tmp_path: Path
) -> None:
    page.goto(
        f"{_page_file(tmp_path).as_uri()}#:~:text=lowered%20pressure%20in%20cats"
    )  # opens what find-in-page opens
    section = page.locator("section:visible")
    expect(section).to_contain_text("lowered pressure in cats.")
    expect(page.locator("main")).to_have_class("is-live is-beside")
    page.emulate_media(media="print")
    expect(section).to_have_count(3)
    expect(page.locator("article:visible")).to_have_count(1)  # the text of the paper that is open
    expect(page.locator(".filters")).to_be_hidden()
    assert page.locator(".answers").evaluate("(one) => one.scrollWidth <= one.clientWidth")
    page.emulate_media(media="screen")
    section.locator("xpath=..").locator("summary").click()
    expect(section).to_have_count(0)
    expect(page.locator("main")).to_have_class("is-live")


def test_without_scripts_each_paper_is_a_line_below_the_table_which_a_link_opens(
    new_page: NewPage, tmp_path: Path
) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(_page_file(tmp_path).as_uri())
    assert page.locator("section article").count() == 3
    assert page.locator("mark").count() == 5
    assert all(box_of(one)["height"] < 30 for one in page.locator("details").all())
    expect(page.locator("section:visible")).to_have_count(0)
    page.locator("tbody tr").last.get_by_role("link").last.click()
    expect(page.locator("section:visible")).to_contain_text("lowered pressure in cats.")


def _starts_with(name: str) -> re.Pattern[str]:
    return re.compile(f"^{name}.txt")
