"""The view of one paper, in a real Chromium: what it says, where it jumps, and what it does with hostile texts."""

import re
from colorsys import rgb_to_hls
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browsing import NewPage, assert_accessible, assert_fits, screens
from evidencebench.data.dataset import Dataset
from evidencebench.data.sample import load_sample
from evidencebench.data.tasks import TASKS
from evidencebench.pages.viewer.page_records import GradedAnswer, GradedInstance, TaskTerms
from evidencebench.pages.viewer.viewer_data import viewer_data_of
from examples import IS_THOROUGH
from paper_records import HALF, OTHER, RESULTS_AT_2, TERMS, TEXTS, State, overview_of, record_of, show, show_paper


def test_marks_in_the_margin_say_who_selected_a_sentence(page: Page, tmp_path: Path) -> None:
    drawn = GradedAnswer(status="answered", tied=(2, 5, 0), n_drawn=2, recall=0.5)
    show_paper(page, tmp_path, overview_of(["bm25", "llm"]), record_of(HALF, drawn, terms=TERMS), State(b=1))
    assert _marks(page, 2) == ["selected by bm25", "named by llm; counts with a chance of 66.7 %"]
    assert _marks(page, 4) == ["selected by bm25"]
    assert _marks(page, 3) == []
    shape = "(mark) => { const s = getComputedStyle(mark); return [s.borderRadius, s.backgroundColor, s.color]; }"
    disc, square = (page.locator(f"#s-2 .mark-{letter}").evaluate(shape) for letter in "ab")
    assert disc[0] == "50%"
    assert square[0] != "50%"
    assert disc[1] == disc[2]  # full
    assert square[1] != square[2]  # hollow
    assert disc[2] != square[2]


def test_the_text_reads_in_order_with_its_headings_and_its_abstract_apart(page: Page, tmp_path: Path) -> None:
    sentences = ("We asked.", "We found.", "Methods", "We did.", "Results", "It was so.")
    record = record_of(HALF, sentences=sentences, kinds="aahbhb", sources=((1,), (5,)), terms=TERMS)
    show_paper(page, tmp_path, overview_of(["bm25"]), record)
    assert tuple(page.locator(".sentence .text").all_inner_texts()) == sentences
    assert page.locator("#text").get_by_role("heading", level=3).all_inner_texts() == ["Methods", "Results"]
    assert page.get_by_role("region", name="Abstract").locator(".text").all_inner_texts() == ["We asked.", "We found."]
    levels = page.get_by_role("heading").evaluate_all("(all) => all.map((one) => Number(one.tagName[1]))")
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels)), levels
    assert page.locator(".abstract").evaluate("(one) => getComputedStyle(one).backgroundColor") != "rgba(0, 0, 0, 0)"


def test_evidence_is_told_apart_without_colour_and_aspects_that_do_not_count_are_muted(
    page: Page, tmp_path: Path
) -> None:
    record = record_of(HALF, n_results=2, terms=TaskTerms(budget=2, n_aspects=2, ceiling=1.0))
    show_paper(page, tmp_path, overview_of(["bm25"], RESULTS_AT_2), record)
    assert page.locator(".is-evidence").evaluate_all("(all) => all.map((one) => one.id)") == ["s-2", "s-4"]
    assert page.locator("#s-2 .chip").all_inner_texts() == ["1", "2"]
    expect(page.locator("#s-2 .stripes i")).to_have_count(2)
    muted = page.locator("#s-5 .chip")
    expect(muted).to_have_class("chip aspect-2 is-muted")
    expect(muted).to_have_accessible_name("aspect 3 (does not count in this task)")
    expect(muted).to_have_attribute("title", "aspect 3 (does not count in this task) (id made_1_aspect_2)")
    expect(page.locator(".aspect[data-aspect='3']")).to_contain_text("does not count in this task")
    expect(page.locator(".aspect[data-aspect='1']")).to_contain_text("Results")


def test_jumps_go_through_evidence_selections_and_misses_and_around(page: Page, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), record_of(HALF, terms=TERMS))
    assert _jumps(page, "evidence", [1, 1, 1, 1, 1, 1, -1, -1]) == [2, 4, 5, 6, 7, 2, 7, 6]
    expect(page.locator("#s-6")).to_be_focused()
    expect(page.locator(".is-target")).to_have_id("s-6")
    assert _jumps(page, "selected", [1, 1, -1]) == [2, 4, 2]
    assert _jumps(page, "missed", [1, 1, 1, 1]) == [5, 6, 7, 5]
    assert page.evaluate("reached") == [2, 4, 5, 6, 7, 2, 7, 6, 2, 4, 2, 5, 6, 7, 5]
    expect(page.locator(".toolbar")).to_contain_text("evidence A missed 3")  # sentences, of two aspects:
    expect(page.locator(".aspect-filter")).to_contain_text("Missed by A 2")
    expect(page.locator("article [role=status]")).to_have_text("sentence of an aspect missed by A, 1 of 3")


def test_a_jump_to_nothing_says_so(page: Page, tmp_path: Path) -> None:
    record = record_of(GradedAnswer(status="empty"), sources=((),), terms=TaskTerms(budget=2, n_aspects=1, ceiling=0.0))
    show_paper(page, tmp_path, overview_of(["bm25"]), record)
    assert _jumps(page, "selected", [1]) == [None]
    expect(page.locator("article [role=status]")).to_have_text("A selected no sentence.")
    expect(page.get_by_role("button", name="next sentence of an aspect missed by A")).to_be_disabled()
    show(page, State(a=None))
    assert _jumps(page, "evidence", [1]) == [None]
    told = page.locator("article [role=status]")
    expect(told).to_have_text("No sentence of this paper is evidence.")
    page.evaluate(
        """() => {
          window.said = 0;
          const one = document.querySelector("article [role=status]");
          new MutationObserver(() => { window.said += one.textContent ? 1 : 0; }).observe(one, { childList: true });
        }"""
    )
    assert _jumps(page, "evidence", [1]) == [None]
    page.wait_for_function("() => window.said === 1")  # the same is said again
    expect(told).to_have_text("No sentence of this paper is evidence.")
    expect(page.get_by_role("button", name="next sentence of an aspect missed by A")).to_have_count(0)


def test_jumps_bring_the_sentence_on_the_screen(page: Page, sample: GradedInstance, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), sample)
    n = len(sample.paper.sentences)
    for index in (n - 1, 0, n // 2):
        page.evaluate("(index) => view.show(index)", index)
        _assert_below_the_bar(page, index)


def test_a_sentence_in_the_address_is_pointed_at(page: Page, sample: GradedInstance, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), sample, State(sentence=50))
    expect(page.locator(".is-target")).to_have_id("s-50")
    expect(page.locator("#s-50 .body")).to_be_in_viewport(ratio=1)
    link = page.get_by_role("link", name="sentence 50", exact=True)
    expect(link).to_have_attribute("href", f"#/papers/{sample.paper.id}/50")


def test_an_aspect_highlights_its_sentences_in_text_and_map(page: Page, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), record_of(HALF, terms=TERMS, texts=TEXTS))
    name = page.locator(".aspect[data-aspect='4'] .aspect-name")
    name.click()
    expect(name).to_have_attribute("aria-pressed", "true")
    assert _chosen(page) == ["s-6", "s-7"]
    expect(page.locator("#s-6")).to_be_focused()
    assert page.locator(".map-upright .map-highlight").get_attribute("d") not in (None, "")
    page.locator(".aspect[data-aspect='4'] .next").click()
    expect(page.locator("#s-7")).to_be_focused()
    page.locator(".aspect[data-aspect='4'] .next").click()
    expect(page.locator("#s-6")).to_be_focused()
    assert _jumps(page, "evidence", [1, 1]) == [7, 6]  # through the sentences of the aspect that is chosen
    name.click()
    expect(name).to_have_attribute("aria-pressed", "false")
    assert _chosen(page) == []


def test_a_number_in_the_text_chooses_its_aspect(page: Page, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), record_of(HALF, terms=TERMS, texts=TEXTS))
    page.locator("#s-4").get_by_role("button", name="aspect 2: Tea was hot.").click()
    expect(page.locator(".aspect.is-chosen")).to_have_attribute("data-aspect", "2")
    assert _chosen(page) == ["s-2", "s-4"]
    assert _jumps(page, "evidence", [-1]) == [2]  # from where the reader clicked


def test_a_sentence_of_several_aspects_takes_the_colour_of_the_chosen_one(page: Page, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), record_of(HALF, terms=TERMS, texts=TEXTS))
    colour = "(row) => getComputedStyle(row).backgroundColor"
    first, second = (page.locator(f"#s-{index} .body").evaluate(colour) for index in (2, 4))
    page.locator(".aspect[data-aspect='2'] .aspect-name").click()
    assert page.locator("#s-2 .body").evaluate(colour) == second != first
    assert page.locator("#s-5 .body").evaluate(colour) == "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("width", [360, 1280])
def test_the_keyboard_gets_past_the_text(new_page: NewPage, sample: GradedInstance, tmp_path: Path, width: int) -> None:
    page = new_page(width, 800)
    show_paper(page, tmp_path, overview_of(["bm25"]), sample)
    page.get_by_text("What do these words and marks mean?").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="To the aspects")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".aspects")).to_be_focused()
    expect(page.locator(".aspects h2")).to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(page.locator(".aspect-filter button").first).to_be_focused()


def test_print_is_light_and_shows_the_paper_without_its_tools(
    new_page: NewPage, sample: GradedInstance, tmp_path: Path
) -> None:
    page = new_page(dark=True)
    show_paper(page, tmp_path, overview_of(["bm25"]), sample)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    expect(page.locator(".bars")).to_be_hidden()
    styles = page.locator("#s-3, .aspects").evaluate_all(
        "(all) => all.map((one) => [getComputedStyle(one).contentVisibility, getComputedStyle(one).maxHeight])"
    )
    assert styles == [["visible", "none"]] * 2


@pytest.mark.parametrize("dark", [False, True])
def test_the_focus_has_a_colour_of_its_own_that_can_be_seen(
    new_page: NewPage, sample: GradedInstance, tmp_path: Path, *, dark: bool
) -> None:
    page = new_page(dark=dark)
    show_paper(page, tmp_path, overview_of(["bm25"]), sample)
    colours = page.evaluate(
        """() => Object.fromEntries(["focus", "system-a", "system-b", "accent", "paper", "panel"].map((name) => [name,
          getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()]))"""
    )
    hues = {name: rgb_to_hls(*_parts(colour))[0] for name, colour in colours.items()}
    for other in ("system-a", "system-b", "accent"):
        apart = abs(hues["focus"] - hues[other])
        assert min(apart, 1 - apart) > 1 / 8, other
    for ground in ("paper", "panel"):
        lights = sorted(_luminance(colours[name]) + 0.05 for name in ("focus", ground))
        assert lights[1] / lights[0] >= 3


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _luminance(colour: str) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_aspects_can_be_filtered(page: Page, tmp_path: Path) -> None:
    answers = (GradedAnswer(status="answered", certain=(4, 5), recall=0.5), OTHER)
    show_paper(page, tmp_path, overview_of(["bm25", "tfidf"]), record_of(*answers, terms=TERMS), State(b=1))
    shown = {}
    for button in page.locator(".aspect-filter button").all():
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        visible = page.locator(".aspect:visible").evaluate_all("(all) => all.map((one) => Number(one.dataset.aspect))")
        shown[button.text_content()] = visible
    assert shown == {
        "All 4": [1, 2, 3, 4],
        "Missed by A 2": [1, 4],
        "Missed by B 1": [3],
        "Only A 1": [3],
        "Only B 2": [1, 4],
    }


def test_an_aspect_says_where_it_is_stated_and_who_covers_it(page: Page, tmp_path: Path) -> None:
    drawn = GradedAnswer(status="answered", tied=(2, 5, 0), n_drawn=2, recall=0.5)
    oracle = GradedAnswer(status="answered", certain=(2, 6), recall=0.75)
    record = record_of(HALF, drawn, None, oracle, terms=TERMS)
    show_paper(page, tmp_path, overview_of(["bm25", "llm", "silent", "oracle"]), record, State(b=1))
    first, third = (page.locator(f".aspect[data-aspect='{number}']") for number in (1, 3))
    expect(page.locator(".aspects")).to_contain_text("This data set has no texts of its aspects")
    expect(first).to_contain_text("Aspect 1“Sentence number 2.”")
    assert first.locator(".verdicts li").all_inner_texts() == [
        "✓\ncovered by bm25",
        "≈\ncovered with a chance of 66.7 % by llm",
    ]
    expect(third.locator(".verdicts li").first).to_have_text("✗missed by bm25")
    expect(first.get_by_role("link", name="#2")).to_have_attribute("title", "Sentence number 2.")
    first.get_by_text("covered by 3 of 3 systems").click()
    names = first.locator("details li").all_inner_texts()
    assert names == ["bm25", "llm (chance of 66.7 %)", "oracle (control)"]
    expect(first.locator(".aspect-id")).to_have_text("made_1_aspect_0")


def test_only_what_is_marked_leaves_gaps_that_open(page: Page, tmp_path: Path) -> None:
    sentences = tuple(f"Sentence {index}." for index in range(20))
    record = record_of(HALF, sentences=sentences, kinds="h" + "b" * 9 + "h" + "b" * 9, sources=((4,),), terms=TERMS)
    show_paper(page, tmp_path, overview_of(["bm25"]), record)
    only = page.get_by_role("button", name="Only marked sentences")
    only.click()
    visible = page.locator(".sentence:visible, .gap").evaluate_all("(all) => all.map((one) => one.id || one.innerText)")
    assert visible == ["s-0", "… 1 sentence", "s-2", "… 1 sentence", "s-4", "… 15 sentences"]
    page.get_by_role("button", name="… 1 sentence").first.click()
    expect(page.locator("#s-1")).to_be_focused()
    page.evaluate("view.show(12)")
    expect(page.locator("#s-12")).to_be_focused()
    expect(page.locator(".gap")).to_have_count(1)
    only.click()
    expect(page.locator(".sentence:visible")).to_have_count(20)


def test_marks_of_a_system_can_be_hidden(page: Page, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25", "tfidf"]), record_of(HALF, OTHER, terms=TERMS), State(b=1))
    page.evaluate("view.toggle('b')")
    expect(page.locator("#s-2 .mark-b")).to_be_hidden()
    expect(page.locator("#s-2 .mark-a")).to_be_visible()
    button = page.locator(".toolbar").get_by_role("button", name="tfidf")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect(page.locator("#s-2 .mark-b")).to_be_visible()


def test_a_click_on_the_map_goes_there_and_the_map_shows_where_the_reader_is(
    page: Page, sample: GradedInstance, tmp_path: Path
) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), sample)
    page.evaluate("document.querySelector('.text-column').scrollIntoView()")
    before = page.locator(".map-upright .map-view").get_attribute("d")
    n = len(sample.paper.sentences)
    box = page.locator(".map-upright svg").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * (40.5 / n))
    expect(page.locator("#s-40")).to_be_focused()
    expect(page.locator("#s-40 .body")).to_be_in_viewport(ratio=1)
    expect(page.locator(".map-upright .map-view")).not_to_have_attribute("d", before or "")
    expect(page.locator(".map-upright svg")).to_have_accessible_name(re.compile(f"^Map of the paper: {n} sentences, "))


HOSTILE = (
    "<img src=x onerror='document.title=\"ran\"'>",
    "</script><script>document.title='ran'</script>",
    "<b onmouseover=\"document.title='ran'\">bold</b>",
    "a\u202eb\u2067c",
    "nul\x00l",
    "javascript:document.title='ran'",
    "\u05e9\u05dc\u05d5\u05dd 123",
    "${document.title='ran'}",
)


def test_hostile_texts_are_shown_as_text_and_nothing_runs(page: Page, tmp_path: Path) -> None:
    failed = GradedAnswer(status="failed", error=HOSTILE[1])
    record = record_of(
        HALF,
        failed,
        sentences=HOSTILE,
        texts=HOSTILE[:4],
        terms=TERMS,
        hypothesis=HOSTILE[0],
        instance_id="a/b?c#d%<i>'\"\u202e",
    )
    show_paper(page, tmp_path, overview_of([HOSTILE[0], HOSTILE[1]]), record, State(b=1))
    shown = page.locator(".sentence .text").evaluate_all("(all) => all.map((one) => one.textContent)")
    assert shown == [sentence.replace("\x00", "\ufffd") for sentence in HOSTILE]
    assert page.locator(".hypothesis").text_content() == HOSTILE[0]
    expect(page.locator(".side .error")).to_have_text(HOSTILE[1])
    expect(page.locator("main img, main script, main b[onmouseover]")).to_have_count(0)
    assert page.locator(".foreign:not([dir=auto])").count() == 0
    page.mouse.move(100, 300)
    assert page.title() == "A paper"
    href = page.get_by_role("link", name="sentence 3", exact=True).get_attribute("href")
    assert href == "#/papers/a%2Fb%3Fc%23d%25%3Ci%3E'%22%E2%80%AE/3"


def test_one_word_of_a_megabyte_does_not_freeze_the_page(page: Page, tmp_path: Path) -> None:
    word = "w" * 1_000_000
    record = record_of(HALF, sentences=(word, "b", "c", "d", word, "f", "g", "h"), texts=(word,) * 4, terms=TERMS)
    show_paper(page, tmp_path, overview_of(["bm25"]), record)
    assert page.evaluate("took") < 3000
    page.evaluate("view.show(7)")
    expect(page.locator("#s-7")).to_be_in_viewport()
    assert_fits(page)


def _long_record() -> GradedInstance:
    sentences = tuple(f"Sentence {index} says what a paper says. " * (1 + index % 7) for index in range(440))
    sources = [[(7 * aspect + 11 * step) % 440 for step in range(12)] for aspect in range(30)]
    terms = TaskTerms(budget=10, n_aspects=30, ceiling=1.0)
    return record_of(*[HALF] * 8, sentences=sentences, sources=sources, terms=terms)


def test_jumps_in_a_long_paper_end_where_they_should(new_page: NewPage, tmp_path: Path) -> None:
    for width in (1280, 360):
        page = new_page(width)
        show_paper(page, tmp_path, overview_of([f"system {n}" for n in range(8)]), _long_record(), State(sentence=300))
        _assert_below_the_bar(page, 300)
        for index in (290, 100, 0, 439, 220, 215, 230, 250):
            page.evaluate("(index) => view.show(index)", index)
            _assert_below_the_bar(page, index)


def test_a_long_paper_is_there_at_once(page: Page, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of([f"system {n}" for n in range(8)]), _long_record(), State(b=1))
    times = []
    for _ in range(5):
        show(page, State(b=1))
        times.append(page.evaluate("took"))
    assert min(times) < 300, times


@pytest.mark.parametrize(("width", "dark"), screens(360, 800, 1280, 1600))
def test_the_view_is_accessible_and_fits(
    new_page: NewPage, sample: GradedInstance, tmp_path: Path, width: int, *, dark: bool
) -> None:
    page = new_page(width, 800, dark=dark)
    show_paper(page, tmp_path, overview_of(["bm25", "oracle"]), sample, State(b=1))
    page.locator("summary").evaluate_all("(all) => all.forEach((one) => one.click())")
    page.locator(".aspect-name").first.click()
    assert_fits(page)
    assert_accessible(page)
    expect(page.locator(".map-lying")).to_be_visible(visible=width < 560)
    expect(page.locator(".map-upright")).to_be_visible(visible=width >= 560)


def test_the_map_of_a_small_screen_goes_there_too(new_page: NewPage, sample: GradedInstance, tmp_path: Path) -> None:
    page = new_page(360, 780)
    show_paper(page, tmp_path, overview_of(["bm25"]), sample)
    page.evaluate("document.querySelector('.text-column').scrollIntoView()")
    box = page.locator(".map-lying svg").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * (40.5 / len(sample.paper.sentences)), box["y"] + box["height"] / 2)
    expect(page.locator("#s-40")).to_be_focused()
    expect(page.locator("#s-40 .body")).to_be_in_viewport(ratio=1)


@pytest.mark.data
def test_papers_of_the_real_data_are_shown(page: Page, train: Dataset, tmp_path: Path) -> None:
    viewed = viewer_data_of((), train, list(TASKS.values()))
    overview = viewed.overview()
    for position, instance in enumerate(train.instances(8 if IS_THOROUGH else 4)):
        record = viewed.record(position, instance)
        show_paper(page, tmp_path, overview, record, State(b=1))
        for task in range(len(overview.tasks)):
            show(page, State(task=task, a=0, b=1))
            expect(page.locator(".sentence")).to_have_count(len(record.paper.sentences))
            expect(page.locator(".aspect")).to_have_count(len(record.aspects))


@pytest.fixture(scope="module")
def sample(sample_runs: tuple[Path, ...]) -> GradedInstance:
    """Give an instance of the sample: bm25 and oracle at the fewest sentences."""
    viewed = viewer_data_of(sample_runs[:1], load_sample(), [TASKS["er_at_optimal"]])
    record = viewed.record(0, load_sample()[0])
    labels = [system.label for system in viewed.overview().systems]
    answers = (record.answers[0], record.answers[labels.index("oracle")])
    return GradedInstance(
        paper=record.paper, review_id=None, aspects=record.aspects, terms=record.terms, answers=answers
    )


def _marks(page: Page, index: int) -> list[str]:
    found: list[str] = page.locator(f"#s-{index} .mark").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    return found


def _chosen(page: Page) -> list[str]:
    found: list[str] = page.locator(".sentence.is-chosen").evaluate_all("(all) => all.map((one) => one.id)")
    return found


def _jumps(page: Page, kind: str, steps: list[int]) -> list[int | None]:
    return [page.evaluate("([kind, step]) => view.jump(kind, step)", [kind, step]) for step in steps]


def _assert_below_the_bar(page: Page, index: int) -> None:
    """Fail unless the sentence has the focus and comes to rest on the screen, below the bar that stays."""
    expect(page.locator(f"#s-{index}")).to_be_focused()
    page.wait_for_function(
        "() => { const y = window.lastY; window.lastY = scrollY; return y === scrollY; }", polling=150
    )
    bar, row = page.locator(".bars").bounding_box(), page.locator(f"#s-{index}").bounding_box()
    assert bar is not None
    assert row is not None
    height = page.evaluate("innerHeight")
    place = f"sentence {index}: {row['y']:.0f} of {height}, bar to {bar['y'] + bar['height']:.0f}"
    assert bar["y"] + bar["height"] <= row["y"] + 1, place
    assert row["y"] + row["height"] <= height, place
