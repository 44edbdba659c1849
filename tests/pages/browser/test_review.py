"""The desk of a review in a real browser: the table, a cell with its paper, two tabs and two people."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from kit.browsing import NewPage, assert_accessible, box_of, say_name
from kit.desks import filled
from kit.made_once import MadeOnce
from kit.printing import Sheet, sentences
from kit.serving_commands import Serving

pytest.importorskip("starlette", reason="needs the extra 'view'")

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
_QUESTIONS = f"Does tea lower blood pressure?\nDoes coffee raise the heart rate? {HOSTILE}\n"
_JATS = """<?xml version="1.0"?>
<article><front><article-meta><title-group><article-title>Tea and &lt;img src=x onerror=alert(3)&gt;</article-title>
</title-group><abstract><p>In a trial of 120 adults, tea lowered blood pressure by 3.1 mmHg (p = 0.004).</p></abstract>
</article-meta></front><body><sec><title>Results</title><p>Blood pressure fell by 3.1 mmHg with tea (p = 0.004).
Heart rate did not change. &lt;script&gt;alert(4)&lt;/script&gt; was typed by a participant.</p></sec></body></article>
"""


def _tea_pdf(n_pages: int = 9) -> bytes:
    sheet = Sheet()
    for number in range(n_pages):
        y = sheet.line(72, 90, "Tea and pressure" if number == 0 else "Results", size=16) and 130
        for sentence in sentences(6, "tea" if number == 0 else "coffee", start=6 * number + 1):
            y = sheet.paragraph(72, y, sentence) + 12
        sheet.end_page()
    return sheet.pdf()


def _make_papers(folder: Path) -> Path:
    """Write a PDF, a JATS file and a file that is no paper."""
    papers = folder / "papers"
    papers.mkdir()
    (papers / "a.pdf").write_bytes(_tea_pdf())
    (papers / "b.xml").write_text(_JATS)
    (papers / "c.pdf").write_bytes(b"%PDF-1.4 broken")
    return papers


@pytest.fixture
def url(serving: Serving, tmp_path: Path, made_once: MadeOnce) -> Iterator[str]:
    """Serve a desk of three files and two questions, for which evidence has been sought."""
    made = made_once("desk", lambda folder: filled(_make_papers(folder), questions=_QUESTIONS.splitlines()))
    folder = shutil.copytree(made / "papers", tmp_path / "papers")
    with serving("review", str(folder)) as (address, _):
        yield address


def sign_in(page: Page, url: str, name: str = "Ada") -> None:
    say_name(page, url, name)
    expect(page.locator(".desk-progress")).to_contain_text("6 of 6 answers found. 2 could not be answered.")


def open_cell(page: Page, url: str, place: str) -> None:
    page.goto(f"{url}#/{place}")
    expect(page.locator(".cell-choices")).to_be_visible()


def saved(page: Page) -> None:
    expect(page.locator(".pick-saved")).to_have_text("Saved.")


def test_a_table_fills_while_it_is_looked_at(serving: Serving, tmp_path: Path, page: Page) -> None:
    folder, questions = _make_papers(tmp_path), tmp_path / "questions.txt"
    questions.write_text(_QUESTIONS)
    with serving("review", str(folder), "--questions", str(questions)) as (url, _):
        sign_in(page, url)
        expect(page.locator(".desk-table tbody tr")).to_have_count(3)


def test_the_table_is_read_filtered_and_exported_with_keys(url: str, page: Page) -> None:
    sign_in(page, url)
    press, cell = page.keyboard.press, page.locator(".desk-table a:focus")
    expect(cell).to_have_attribute("href", "#/review/0.0")
    for key, place in (("ArrowRight", "0.1"), ("ArrowDown", "1.1"), ("Home", "1.0"), ("Control+End", "2.1")):
        press(key)
        expect(cell).to_have_attribute("href", f"#/review/{place}")
    press("u")
    expect(cell).to_have_attribute("href", "#/review/0.0")  # nothing can be decided of a paper that is not read
    press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_contain_text("next undecided cell")
    press("Escape")
    press("ArrowDown")
    press("Enter")
    expect(page.locator(".cell-quote").first).to_be_focused()
    press("2")
    saved(page)
    press("Escape")
    decided = page.locator('.desk-table a[href="#/review/1.0"]')
    expect(decided).to_contain_text("You: reports a decrease")
    expect(page.locator(".desk-progress")).to_contain_text("You have decided 1.")
    expect(page.locator(".desk-table")).to_contain_text("<img src=x onerror=alert(3)>")
    page.get_by_label("Show").select_option("decided")
    expect(page.locator(".desk-table tbody tr:visible")).to_have_count(1)
    expect(decided).to_have_attribute("tabindex", "0")  # Tab reaches a cell that is shown
    page.get_by_label("Show").select_option("all")
    page.get_by_label("With the words").fill("participant tea")
    expect(page.locator(".desk-table tbody tr:visible")).to_have_count(0)
    page.get_by_label("With the words").fill("tea onerror")
    expect(page.locator(".desk-table tbody tr:visible")).to_have_count(1)
    page.get_by_text("Download").click()
    with page.expect_download() as downloads:
        page.get_by_role("link", name="Table as CSV").click()
    assert "reports a decrease" in Path(downloads.value.path()).read_text(encoding="utf-8")


def test_a_cell_is_decided_with_keys_alone(url: str, page: Page) -> None:
    sign_in(page, url)
    press = page.keyboard.press
    press("ArrowDown")
    press("Enter")
    expect(page.locator(".pick-eyebrow")).to_contain_text("Cell 3 of 6")
    quotes = page.locator(".cell-quote")
    expect(quotes.first).to_be_focused()
    press("a")
    expect(page.locator(".cell-rows li").first).to_have_class("is-accepted")
    press("j")
    press("r")
    expect(page.locator(".cell-rows li").nth(1)).to_have_class("is-rejected")
    press("k")
    expect(quotes.first).to_be_focused()
    press("2")
    expect(page.locator(".pick-facts")).to_contain_text("Your decision: reports a decrease.")
    press("n")
    page.keyboard.type(f"1 of 2 {HOSTILE}")
    press("Escape")
    press("t")
    expect(page.locator(".pick-sentence:focus")).to_have_count(1)
    press("ArrowDown")
    press("Space")
    saved(page)
    n_accepted = page.locator('.pick-sentence[aria-pressed="true"]').count()
    page.reload()
    expect(page.locator('.pick-sentence[aria-pressed="true"]')).to_have_count(n_accepted)
    expect(page.get_by_label("Note")).to_have_value(f"1 of 2 {HOSTILE}")
    press("]")
    expect(page.locator(".pick-eyebrow")).to_contain_text("Cell 4 of 6")
    press("[")
    expect(page.locator(".pick-eyebrow")).to_contain_text("Cell 3 of 6")
    press("u")
    expect(page.locator(".pick-eyebrow")).to_contain_text("Cell 4 of 6")
    press("Escape")
    expect(page.locator(".desk-table a:focus")).to_be_visible()


def test_keys_do_nothing_until_the_next_cell_is_drawn_and_enter_goes_on(url: str, page: Page) -> None:
    sign_in(page, url)
    open_cell(page, url, "review/0.0")
    page.keyboard.press("5")
    saved(page)
    held: list[Route] = []

    def hold_back(route: Route) -> None:
        held.append(route)

    page.route("**/api/people/task?*", hold_back)
    page.keyboard.press("]")
    expect(page.get_by_text("Loading…")).to_be_visible()
    page.keyboard.press("4")
    page.keyboard.press("n")
    for route in held:
        route.continue_()
    page.unroute("**/api/people/task?*")
    expect(page.locator(".pick-eyebrow")).to_contain_text("Cell 2 of 6")
    expect(page.locator(".pick-facts")).to_contain_text("Not decided")
    page.keyboard.press("[")
    expect(page.locator(".pick-facts")).to_contain_text("Your decision: unclear.")
    expect(page.locator(".cell-quote").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".pick-eyebrow")).to_contain_text("Cell 2 of 6")


def test_sentences_are_marked_and_added_on_the_pages_of_a_pdf(url: str, page: Page) -> None:
    sign_in(page, url)
    open_cell(page, url, "review/0.0")
    first, pictures = page.locator(".cell-quote").first, page.locator(".pdf-page img")
    expect(pictures).to_have_count(9)
    is_loaded = "images => images.filter((image) => image.naturalWidth > 0).length"
    expect(page.locator("rect.is-current").first).to_be_in_viewport()
    expect(page.locator(".pdf-page:has(rect.is-current) img").first).not_to_have_js_property("naturalWidth", 0)
    assert pictures.evaluate_all(is_loaded) < 9  # pages that are far away are not asked for
    marked = box_of(page.locator("rect.is-found").first)
    assert marked["width"] > 100
    assert marked["height"] < 40
    n_found = page.locator(".cell-rows li").count()
    plain = page.locator('rect[class=""]').first
    added = plain.get_attribute("data-index")
    plain.click()
    expect(page.locator(f'rect[data-index="{added}"]').first).to_have_class("is-accepted")
    expect(page.locator(".cell-rows li")).to_have_count(n_found + 1)
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator(f"#pick-{added}")).to_have_attribute("aria-pressed", "true")
    expect(pictures.first).to_be_hidden()
    first.click()
    expect(page.locator(".pick-sentence.is-current")).to_be_in_viewport()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".cell-rows li")).to_have_count(n_found)
    saved(page)


def test_what_stands_beside_the_text_is_offered_and_accepted(serving: Serving, tmp_path: Path, page: Page) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    note = "<back><ack><title>Acknowledgments</title><p>A grant of the Tea Council paid for it all.</p></ack></back>"
    (folder / "a.xml").write_text(_JATS.replace("</body>", f"</body>{note}"))
    filled(folder, questions=["Who funded the study?"])
    with serving("review", str(folder)) as (url, _):
        say_name(page, url, "Ada")
        open_cell(page, url, "review/0.0")
        expect(page.locator(".cell-quote").first).to_contain_text("Tea Council")
        page.get_by_role("button", name="Accept Acknowledgments").click()
        saved(page)
        page.reload()
        expect(page.locator(".cell-rows li").first).to_have_class("is-accepted")


@pytest.mark.parametrize("is_heard_first", [True, False])
def test_two_tabs_become_one_answer_and_a_clash_is_told(url: str, new_page: NewPage, *, is_heard_first: bool) -> None:
    one, other = (new_page(expected_errors=["status of 409"]) for _ in range(2))
    for page in (one, other):
        sign_in(page, url)
        open_cell(page, url, "review/1.0")
    one.keyboard.press("a")
    one.keyboard.press("1")
    saved(one)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    other.route("**/api/people/answer*", hold, times=1)
    other.keyboard.press("j")
    other.keyboard.press("a")
    while not held:
        other.evaluate("0")
    if not is_heard_first:
        other.keyboard.press("2")
    held.pop().continue_()
    expect(other.locator(".cell-rows .is-accepted")).to_have_count(2)
    if is_heard_first:
        expect(other.locator(".pick-facts")).to_contain_text("Your decision: reports an increase. Saved.")
        other.keyboard.press("2")
    expect(other.get_by_role("alert").filter(has_text="You decided there: reports an increase.")).to_be_visible()
    expect(other.locator(".pick-facts")).to_contain_text("Your decision: reports a decrease. Saved.")
    other.keyboard.press("1")
    expect(other.get_by_role("alert").filter(has_text="You decided there")).to_have_count(0)


def test_people_who_differ_are_shown_side_by_side_until_it_is_decided(url: str, new_page: NewPage) -> None:
    ada, bo = new_page(), new_page()
    for page, name, key in ((ada, "Ada", "1"), (bo, f"Bo {HOSTILE}", "3")):
        sign_in(page, url, name)
        open_cell(page, url, "review/1.0")
        page.keyboard.press("a")
        page.keyboard.press(key)
        saved(page)
    expect(bo.locator(".cell-others")).to_contain_text("Ada: reports an increase, 1 sentence accepted.")
    ada.goto(f"{url}#/review")
    expect(ada.locator(".desk-disputed")).to_have_text("disputed")
    ada.goto(f"{url}#/agreed")
    sides = ada.locator(".dispute-sides p")
    expect(sides).to_have_text([re.compile("reports an increase"), re.compile("reports no difference")])
    assert_accessible(ada, 390, 1280)
    ada.locator(".disputes a").click()
    expect(ada.locator(".cell-others li")).to_have_count(2)
    ada.keyboard.press("3")
    saved(ada)
    ada.keyboard.press("Escape")
    expect(ada.locator(".queue-done")).to_contain_text("Agreed: reports no difference")
    ada.goto(f"{url}#/review")
    expect(ada.locator(".desk-agreed")).to_have_text("agreed: reports no difference")


_TABLE = """<table-wrap><label>Table 1</label><caption><p>Outcomes.</p></caption><table>
<thead><tr><th>Outcome</th><th>Tea</th><th>Water</th></tr></thead>
<tbody><tr><td>Randomised</td><td>61</td><td>59</td></tr></tbody></table></table-wrap>"""
_KINDS = (
    "How many adults were randomised? [number in adults]",
    "Which design? [choice: parallel | crossover]",
    "Who took part? [text]",
)


def test_numbers_words_and_choices_are_answered_with_keys_alone(
    serving: Serving, tmp_path: Path, new_page: NewPage
) -> None:
    page = new_page(expected_errors=["status of 400"])
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.xml").write_text(_JATS.replace("</sec></body>", f"{_TABLE}</sec></body>"))
    filled(folder, questions=_KINDS)
    with serving("review", str(folder)) as (url, _):
        say_name(page, url, "Ada")
        open_cell(page, url, "review/0.0")
        row = page.locator(".cell-quote", has_text="Randomised")
        row.focus()
        expect(page.locator(".cell-offered button")).to_have_text([re.compile("Tea: 61"), re.compile("Water: 59")])
        page.keyboard.press("1")
        page.keyboard.press("2")
        saved(page)
        expect(page.get_by_label("Number in adults")).to_have_value("Tea: 61; Water: 59")
        expect(page.locator("li.is-accepted .cell-quote")).to_contain_text("Randomised")  # the row states them
        expect(page.locator(".cell-unit[aria-pressed='true']")).to_contain_text("Randomised")
        assert_accessible(page, 390, 1280)

        page.keyboard.press("v")
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type("5 kg")
        page.keyboard.press("Enter")
        expect(page.locator(".pick-refusal")).to_contain_text("expected adults, got kg")
        page.keyboard.press("8")  # does not report it
        saved(page)
        expect(page.get_by_label("Number in adults")).to_have_value("")
        expect(page.locator(".pick-refusal")).to_have_text("")

        page.keyboard.press("]")
        expect(page.locator(".task-choice").first).to_contain_text("parallel")
        page.keyboard.press("2")
        saved(page)
        page.keyboard.press("]")
        expect(page.get_by_role("textbox", name="Answer")).to_be_visible()
        page.locator(".cell-quote", has_text="120 adults").first.focus()
        page.keyboard.press("q")
        saved(page)
        expect(page.get_by_role("textbox", name="Answer")).to_have_value(re.compile("^In a trial of 120 adults"))

        page.keyboard.press("Escape")
        decisions = page.locator(".desk-decision")
        expect(decisions).to_have_text(
            [re.compile("does not report it"), re.compile("crossover"), re.compile("In a trial")]
        )
        with page.expect_response("**/api/people/kind?"):
            page.get_by_label("What answers question 3").select_option("yes or no")
    assert (folder / "evidencebench-review" / "questions.txt").read_text().splitlines()[2] == "Who took part? [yes/no]"


def test_a_dispute_is_resolved_by_one_key_where_it_stands(url: str, new_page: NewPage) -> None:
    for name, key in (("Ada", "1"), ("Bo", "3")):
        page = new_page()
        sign_in(page, url, name)
        open_cell(page, url, "review/1.0")
        page.keyboard.press("a")
        page.keyboard.press(key)
        saved(page)
        page.keyboard.press("Escape")
    page = new_page()
    sign_in(page, url, "Cy")
    page.goto(f"{url}#/agreed")
    expect(page.locator(".dispute blockquote")).to_have_count(2)
    page.keyboard.press("2")
    expect(page.locator(".queue-done")).to_contain_text("Agreed: reports no difference")
    page.keyboard.press("1")  # it can be changed
    expect(page.locator(".queue-done")).to_contain_text("Agreed: reports an increase")


def test_cells_in_which_nothing_was_found_are_decided_at_once(serving: Serving, tmp_path: Path, page: Page) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.txt").write_text("# Results\nWheat grew taller in wet soil.\nThe mice slept.\n" * 3)
    questions = ["Does aspirin lower mortality?", "Does warfarin prevent stroke?", "Does tea help?"]
    filled(folder, "finder", questions=questions)
    with serving("review", str(folder)) as (url, _):
        say_name(page, url, "Ada")
        page.get_by_role("button", name="“none found”: not reported").click()
        expect(page.locator(".desk-decision")).to_have_count(3)
        expect(page.get_by_role("button", name="“none found”: not reported")).to_have_count(0)


def test_the_desk_is_accessible_at_all_widths(url: str, new_page: NewPage) -> None:
    page = new_page(expected_errors=["status of 400"])
    page.goto(url)
    expect(page.get_by_label("Your name")).to_be_visible()
    assert_accessible(page, 390, 1280)
    sign_in(page, url)
    assert_accessible(page, 390, 768, 1280)
    for place in ("review/0.0", "review/1.1"):
        open_cell(page, url, place)
        assert_accessible(page, 1280)
    page.set_viewport_size({"width": 390, "height": 800})
    open_cell(page, url, "review/0.1")
    page.reload()
    expect(page.locator(".cell-choices")).to_be_visible()
    expect(page.locator(".pick-text")).to_be_hidden()
    assert_accessible(page)
    page.locator(".mode-text").click()
    expect(page.locator(".cell-choices")).to_be_hidden()
    assert_accessible(page)
    page.goto(f"{url}#/review/2.0")
    expect(page.get_by_role("alert").filter(has_text="c.pdf")).to_be_visible()
