"""The viewer by keyboard alone: every step, the shortcuts, and the switch that turns them off."""

import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, expect

from doors import viewer_data_of
from evidencebench import TASKS, load_sample
from kit.browsing import address_of, served_address_of

SAMPLE = load_sample()


def opened_paper(page: Page, address: str) -> Page:
    """Open the third paper of the sample."""
    page.goto(address)
    page.locator("a.row-link").nth(2).click()
    page.locator("#s-0").wait_for()
    return page


@pytest.fixture
def paper(page: Page, sample_page: Path) -> Page:
    return opened_paper(page, address_of(sample_page))


def focused(page: Page) -> str:
    told: str = page.evaluate(
        """() => {
          const one = document.activeElement;
          const named = one.getAttribute("aria-label") ?? one.closest("label")?.firstChild.textContent;
          return `${one.localName} ${named ?? one.textContent}`.trim();
        }"""
    )
    return told


def here(page: Page) -> int:
    """Return the sentence that the reader is at."""
    return int(page.locator(".sentence.is-target").get_attribute("data-index") or "")


def assert_the_address_is_here(page: Page) -> None:
    # The page's own: `page.url` hears of a change later.
    assert page.evaluate("location.hash").split("?")[0] == f"#/papers/{SAMPLE.ids[2]}/{here(page)}"


def test_tab_alone_leads_from_the_head_of_the_page_to_every_control_and_row_and_shows_where_it_is(sample: Page) -> None:
    order = []
    bars = sample.locator(".found-bars a").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    assert len(bars) == 5
    for _ in range(21 + len(SAMPLE)):
        sample.keyboard.press("Tab")
        order.append(focused(sample))
        outline = sample.evaluate(
            """() => {
              const one = document.activeElement;
              const width = (element, part) => parseFloat(getComputedStyle(element, part).outlineWidth);
              const style = (element, part) => getComputedStyle(element, part).outlineStyle;
              return Math.max(...[null, "::after"].map((part) => style(one, part) === "none" ? 0 : width(one, part)));
            }"""
        )
        assert outline >= 2, f"nothing shows that the focus is on {order[-1]}"
    assert order == [
        "select Task er_at_optimal",
        "select ●System A",
        "button Swap A and B",
        "select ■System B",
        "button ⌨Keyboard",
        "button ◐Theme: automatic",
        "input Search",
        "select In",
        "select Show",
        "a Aspects that only A or only B found",
        *(f"a {name}" for name in bars),
        "button Instance",
        "button ●bm25",
        "button ■tfidf",
        "button A − B",
        "button Aspects (Results)",
        "button Sentences",
        *(f"a {instance.query.hypothesis}" for instance in SAMPLE),
    ]


def test_a_reader_searches_opens_reads_and_returns_without_a_mouse(sample: Page) -> None:
    sample.keyboard.press("/")
    expect(sample.get_by_label("Search")).to_be_focused()
    sample.keyboard.type(SAMPLE.ids[5])
    expect(sample.locator("a.row-link")).to_have_count(1)
    for _ in range(3):
        sample.keyboard.press("Tab")
    sample.keyboard.press("n")
    sample.keyboard.press("Enter")
    expect(sample.get_by_role("heading", name=SAMPLE[5].query.hypothesis)).to_be_focused()
    sample.keyboard.press("Escape")
    expect(sample.locator("a.row-link")).to_be_focused()
    expect(sample.get_by_label("Search")).to_have_value(SAMPLE.ids[5])


def test_n_and_p_go_through_the_list_and_through_the_papers(sample: Page) -> None:
    for key, place in (("n", 0), ("j", 1), ("n", 2), ("k", 1), ("p", 0), ("p", 0)):
        sample.keyboard.press(key)
        expect(sample.locator("a.row-link").nth(place)).to_be_focused()
    sample.keyboard.press("Enter")
    for key, place in (("n", 1), ("j", 2), ("p", 1)):
        sample.keyboard.press(key)
        expect(sample.locator(".paper-place")).to_have_text(f"{place + 1} of 10")
        expect(sample.get_by_role("heading", name=SAMPLE[place].query.hypothesis)).to_be_focused()


def test_e_x_and_m_stop_at_evidence_at_what_a_selected_and_at_what_it_missed(
    paper: Page, sample_runs: tuple[Path, ...]
) -> None:
    record = viewer_data_of(sample_runs, SAMPLE, [TASKS["er_at_optimal"]]).record(2, SAMPLE[2])
    evidence = sorted({index for aspect in record.aspects for index in aspect.sentences})
    answer = record.answers[0][0]
    assert answer is not None
    missed = [aspect.sentences for aspect in record.aspects if not set(aspect.sentences) & set(answer.certain)]

    def pressed(key: str) -> int:
        paper.keyboard.press(key)
        return here(paper)

    assert [pressed("e") for _ in evidence] == evidence
    assert [pressed(key) for key in "Eee"] == [evidence[-2], evidence[-1], evidence[0]]  # around
    assert {pressed(key) for key in "xX"} <= set(answer.certain)
    assert pressed("m") in {index for sentences in missed for index in sentences}
    expect(paper.locator(".sentence.is-target")).to_be_in_viewport()


def test_a_b_s_and_t_change_what_is_compared_and_leave_the_reader_where_he_is(paper: Page) -> None:
    paper.keyboard.press("e")
    paper.keyboard.press("e")
    place = here(paper)
    a, b, task = (paper.get_by_label(name) for name in ("System A", "System B", "Task"))
    expect(a).to_have_value("bm25")
    expect(b).to_have_value("tfidf")
    paper.keyboard.press("s")
    expect(a).to_have_value("tfidf")
    expect(b).to_have_value("bm25")
    paper.keyboard.press("a")
    expect(a).to_have_value("lead")
    paper.keyboard.press("b")
    expect(b).to_have_value("tfidf")
    paper.keyboard.press("t")
    expect(task).to_have_value("er_at_10")
    assert here(paper) == place
    expect(paper.locator(".sentence.is-target")).to_be_in_viewport()
    for _ in range(4):
        paper.keyboard.press("b")
    expect(b).to_have_value("")  # after the last system comes none
    paper.go_back()
    expect(b).to_have_value("oracle")


def test_filter_chosen_aspect_and_what_is_hidden_stay_with_another_system_and_in_the_address(paper: Page) -> None:
    steps = paper.evaluate("history.length")
    only, kept = paper.get_by_role("button", name="Only marked"), paper.locator(".aspect-filter [aria-pressed=true]")
    paper.locator(".aspects").get_by_role("button", name=re.compile("^Missed by A ")).click()
    paper.locator(".aspect-name:visible").first.click()
    paper.keyboard.press("o")
    paper.keyboard.press("1")
    paper.locator(".explanation summary").click()
    chosen = paper.locator(".aspect.is-chosen").get_attribute("data-aspect") or ""
    assert dict(parse_qsl(paper.url.split("?")[1])) == {"aspects": "missed-by-a", "aspect": chosen, "marked": "1"}
    assert paper.evaluate("history.length") == steps

    def assert_kept() -> None:
        expect(paper.locator(".aspect.is-chosen")).to_have_attribute("data-aspect", chosen)
        expect(kept).to_contain_text("Missed by A")
        expect(only).to_have_attribute("aria-pressed", "true")

    for key in ("b", "t"):
        view = paper.locator(".paper").element_handle()
        paper.keyboard.press(key)
        paper.wait_for_function("(view) => !view.isConnected", arg=view)
        assert_kept()
        expect(paper.locator(".explanation")).to_have_attribute("open", "")
        expect(paper.locator(".strip .marks").first).to_have_attribute("aria-pressed", "false")
        expect(paper.locator(".strip .marks").last).to_have_attribute("aria-pressed", "true")
    paper.reload()
    assert_kept()
    paper.locator("a.row-link").nth(3).click()
    expect(paper.locator(".paper-place")).to_have_text("4 of 10")
    assert {"aspects": "missed-by-a", "marked": "1"}.items() <= dict(parse_qsl(paper.url.split("?")[1])).items()
    assert "aspect=" not in paper.url
    expect(kept).to_contain_text("Missed by A")
    paper.keyboard.press("o")
    assert "marked" not in paper.url
    paper.evaluate("location.hash = location.hash.replace('missed-by-a', 'only-b')")  # a link in the same tab
    expect(kept).to_contain_text("Only B")


def test_the_address_follows_every_jump_and_a_reload_finds_the_sentence_again(paper: Page) -> None:
    steps = paper.evaluate("history.length")
    view = paper.locator(".paper").element_handle()
    for key in ("e", "m", "M"):
        paper.keyboard.press(key)
        assert_the_address_is_here(paper)
    paper.locator(".aspect-name").last.click()
    assert_the_address_is_here(paper)
    paper.locator(".map-upright svg").click(position={"x": 20, "y": 40})
    assert_the_address_is_here(paper)
    assert paper.evaluate("history.length") == steps
    assert view.evaluate("(one) => one.isConnected")  # nothing was made anew
    place = here(paper)
    paper.reload()
    expect(paper.locator(".sentence.is-target")).to_have_id(f"s-{place}")
    expect(paper.locator(".sentence.is-target")).to_be_in_viewport()


def test_tab_gets_to_the_text_and_choosing_a_system_by_keyboard_keeps_the_focus_on_the_choice(paper: Page) -> None:
    paper.keyboard.press("Tab")
    expect(paper.locator(".strip button").first).to_be_focused()
    expect(paper.locator("#s-0")).to_be_in_viewport()  # no way to the text is needed: it is there
    stops = paper.locator("#text .sentence a:not([tabindex='-1'])")
    expect(stops).to_have_count(0)  # no stop a sentence
    paper.keyboard.press("e")  # the reader is at a sentence, which must not take the focus back
    paper.get_by_label("System A").focus()
    paper.keyboard.press("ArrowDown")
    expect(paper.locator(".paper")).to_contain_text("tfidf")
    expect(paper.get_by_label("System A")).to_be_focused()


def test_the_question_mark_names_every_key_and_single_keys_can_be_turned_off_for_good_and_on_again(
    page: Page, sample_page: Path
) -> None:
    paper = opened_paper(page, served_address_of(page, sample_page))
    paper.keyboard.press("?")
    dialog = paper.get_by_role("dialog", name="Keyboard")
    expect(dialog).to_be_visible()
    shown = dialog.locator("kbd").all_inner_texts()
    assert shown == ["n", "j", "p", "k", "e", "E", "x", "X", "m", "M", *"hHo12abstl", "/", "Esc", "?"]
    dialog.get_by_role("button", name="Close").focus()
    paper.keyboard.press("n")  # nothing happens behind it
    expect(paper.locator(".paper-place")).to_have_text("3 of 10")
    paper.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(paper.locator(".paper-place")).to_have_text("3 of 10")
    expect(paper.get_by_role("heading", name=SAMPLE[2].query.hypothesis)).to_be_focused()
    paper.keyboard.press("?")
    switch = paper.get_by_role("checkbox", name="Single-key shortcuts on")
    switch.press("Space")
    expect(switch).not_to_be_checked()
    paper.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    paper.reload()
    paper.locator("#s-0").wait_for()
    for key in ("n", "a", "t", "?"):
        paper.keyboard.press(key)
    expect(paper.locator(".paper-place")).to_have_text("3 of 10")
    expect(paper.get_by_role("dialog")).to_be_hidden()
    paper.get_by_role("button", name="Keyboard").press("Enter")
    paper.get_by_role("checkbox", name="Single-key shortcuts on").press("Space")
    paper.get_by_role("button", name="Close").press("Enter")
    paper.keyboard.press("n")
    expect(paper.locator(".paper-place")).to_have_text("4 of 10")


def test_keys_do_nothing_while_typing_or_with_a_modifier(sample: Page) -> None:
    sample.get_by_label("Search").focus()
    sample.keyboard.type("nt?e")
    expect(sample.get_by_label("Search")).to_have_value("nt?e")
    expect(sample.get_by_label("Task")).to_have_value("er_at_optimal")
    expect(sample.get_by_role("dialog")).to_be_hidden()
    sample.get_by_role("button", name="Keyboard").focus()
    for modifier in ("Control", "Alt", "Meta"):
        sample.keyboard.press(f"{modifier}+b")
    expect(sample.get_by_label("System B")).to_have_value("tfidf")


def test_the_list_can_be_skipped_and_hidden(paper: Page) -> None:
    paper.locator("body").evaluate("body => { document.activeElement.blur(); body.tabIndex = -1; body.focus(); }")
    paper.keyboard.press("Tab")
    assert focused(paper) == "a Skip the list"
    paper.keyboard.press("Enter")
    expect(paper.get_by_role("heading", name=SAMPLE[2].query.hypothesis)).to_be_focused()
    expect(paper.locator(".paper-place")).to_have_text("3 of 10")
    paper.keyboard.press("l")
    expect(paper.locator(".list-pane")).to_be_hidden()
    paper.keyboard.press("n")
    expect(paper.locator(".paper-place")).to_have_text("4 of 10")
    paper.get_by_role("button", name="Show the list").press("Enter")
    expect(paper.locator(".list-pane")).to_be_visible()
    paper.keyboard.press("l")
    paper.keyboard.press("/")  # which is in the list
    expect(paper.get_by_label("Search")).to_be_focused()
