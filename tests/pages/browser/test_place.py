"""The reader's place: what is read stays where it is, whatever is chosen beside it, and Back returns to it."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from evidencebench import load_sample
from kit.browsing import STILL, NewPage, address_of

SAMPLE = load_sample()
TOP_SENTENCE = "[...document.querySelectorAll('.sentence')].find((one) => one.getBoundingClientRect().top > 120).id"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("key", ["b", "s"])
def test_another_system_leaves_the_sentence_that_is_read_where_it_is(
    new_page: NewPage, report: Path, width: int, key: str
) -> None:
    page = new_page(width, 700)
    page.goto(address_of(report, f"#/papers/{SAMPLE.ids[0]}"))
    page.locator("#s-0").wait_for()
    page.mouse.move(width / 2, 350)
    for _ in range(3):
        top = page.evaluate("scrollY")
        page.mouse.wheel(0, 700)
        page.wait_for_function("(top) => scrollY > top", arg=top)
        page.evaluate(STILL)  # until the rows that are now on the screen are laid out
    before = page.evaluate(TOP_SENTENCE)
    assert before != "s-0"
    chosen = page.url
    page.keyboard.press(key)
    page.wait_for_url(lambda url: url != chosen)
    page.evaluate(STILL)  # until the rows of the new view are laid out
    assert page.evaluate(TOP_SENTENCE) == before


def test_hiding_the_list_leaves_the_sentence_where_it_is(new_page: NewPage, report: Path) -> None:
    page = new_page(1280, 700)
    page.goto(address_of(report, f"#/papers/{SAMPLE.ids[0]}/50"))
    target = page.locator("#s-50")
    expect(target).to_be_in_viewport()
    page.evaluate(STILL)
    before = target.evaluate("(row) => row.getBoundingClientRect().top")
    page.keyboard.press("l")
    expect(page.locator(".list-pane")).to_be_hidden()
    page.evaluate(STILL)
    assert target.evaluate("(row) => row.getBoundingClientRect().top") == pytest.approx(before, abs=2)


def test_the_list_opens_at_its_top_and_back_from_a_paper_to_its_pair_returns_to_the_place(opened: Page) -> None:
    opened.set_viewport_size({"width": 1280, "height": 500})
    opened.get_by_role("link", name="read the papers").click()
    expect(opened.locator("a.row-link").first).to_be_visible()
    assert opened.evaluate("scrollY") == 0
    opened.go_back()
    opened.locator("#pairs table.pairs button").first.click()
    link = opened.locator("#scatter a[href^='#/papers/']").last
    link.click(trial=True)  # scrolls to it, again where the pair is drawn anew meanwhile
    place = opened.evaluate("scrollY")
    link.click()
    opened.locator("#s-0").wait_for()
    opened.go_back()
    expect(link).to_be_in_viewport()
    assert opened.evaluate("scrollY") == place


def test_another_bar_than_the_first_leaves_all_papers_to_be_chosen(page: Page, sample_page: Path) -> None:
    page.goto(address_of(sample_page, "#/papers?found=2"))
    show = page.get_by_role("combobox", name="Show", exact=True)
    expect(show).to_have_value("")
    assert show.evaluate("(select) => select.selectedIndex") == -1
    show.select_option("")
    expect(page.locator("a.row-link")).to_have_count(len(SAMPLE))
