"""The view of one paper, in a real Chromium: what it says, where it jumps, and what it does with hostile texts."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Locator, Page, expect

from doors import GradedAnswer, GradedInstance, TaskTerms, viewer_data_of
from evidencebench import TASKS, Dataset, load_sample
from kit.browsing import NewPage, assert_accessible, box_of
from kit.examples import IS_THOROUGH
from kit.paper_records import HALF, OTHER, RESULTS_AT_2, TERMS, TEXTS, State, overview_of, record_of, show, show_paper


def test_marks_in_the_margin_say_who_selected_a_sentence_and_can_be_hidden(page: Page, tmp_path: Path) -> None:
    drawn = GradedAnswer(status="answered", tied=(2, 5, 0), n_drawn=2, recall=0.5)
    show_paper(page, tmp_path, overview_of(["bm25", "llm"]), record_of(HALF, drawn, terms=TERMS), State(b=1))
    assert _marks(page, 2) == ["selected by bm25", "named by llm; counts with probability 66.7 %"]
    assert _marks(page, 4) == ["selected by bm25"]
    assert _marks(page, 3) == []
    shape = "(mark) => { const s = getComputedStyle(mark); return [s.borderRadius, s.backgroundColor, s.color]; }"
    disc, square = (page.locator(f"#s-2 .mark-{letter}").evaluate(shape) for letter in "ab")
    assert disc[0] == "50%"
    assert square[0] != "50%"
    assert disc[1] == disc[2]  # full
    assert square[1] != square[2]  # hollow
    assert disc[2] != square[2]
    page.evaluate("view.toggle('b')")
    expect(page.locator("#s-2 .mark-b")).to_be_hidden()
    expect(page.locator("#s-2 .mark-a")).to_be_visible()
    button = page.locator(".strip").get_by_role("button", name="llm")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect(page.locator("#s-2 .mark-b")).to_be_visible()


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
    assert page.locator("#s-2 .chip").all_inner_texts() == ["0", "1"]
    expect(page.locator("#s-2 .edge")).to_have_accessible_name("evidence selected by A")
    muted = page.locator("#s-5 .chip")
    expect(muted).to_have_class("chip is-muted")
    expect(muted).to_have_accessible_name("aspect 2 (does not count in this task)")
    expect(muted).to_have_attribute("title", "aspect 2 (does not count in this task) (id made_1_aspect_2)")
    expect(_choose(page, 2)).to_contain_text("does not count in this task")
    expect(page.locator(".aspect[data-aspect='2'] .cell")).to_have_count(0)
    expect(_choose(page, 0)).to_contain_text("Results")


def test_jumps_go_through_evidence_selections_and_misses_and_around(page: Page, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), record_of(HALF, terms=TERMS))
    assert _jumps(page, "evidence", [1, 1, 1, 1, 1, 1, -1, -1]) == [2, 4, 5, 6, 7, 2, 7, 6]
    expect(page.locator("#s-6")).to_be_focused()
    expect(page.locator(".is-target")).to_have_id("s-6")
    assert _jumps(page, "selected", [1, 1, -1]) == [2, 4, 2]
    assert _jumps(page, "missed", [1, 1, 1, 1]) == [5, 6, 7, 5]
    assert page.evaluate("reached") == [2, 4, 5, 6, 7, 2, 7, 6, 2, 4, 2, 5, 6, 7, 5]
    expect(page.locator(".toolbar")).to_contain_text("A missed 3")  # sentences, of two aspects:
    expect(page.locator(".aspect-filter")).to_contain_text("Missed by A 2")
    expect(page.locator("article [role=status]")).to_have_text("sentence with an aspect missed by A, 1 of 3")


def test_a_jump_to_nothing_says_so(page: Page, tmp_path: Path) -> None:
    record = record_of(GradedAnswer(status="empty"), sources=((),), terms=TaskTerms(budget=2, n_aspects=1, ceiling=0.0))
    show_paper(page, tmp_path, overview_of(["bm25"]), record)
    assert _jumps(page, "selected", [1]) == [None]
    expect(page.locator("article [role=status]")).to_have_text("A selected no sentence.")
    expect(page.get_by_role("button", name="next sentence with an aspect missed by A")).to_be_disabled()
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
    expect(page.get_by_role("button", name="next sentence with an aspect missed by A")).to_have_count(0)


def test_an_aspect_highlights_its_sentences_in_text_and_map_and_a_number_in_the_text_chooses_it(
    page: Page, tmp_path: Path
) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), record_of(HALF, terms=TERMS, texts=TEXTS))
    details = _choose(page, 3)
    name = page.locator(".aspect[data-aspect='3'] .aspect-name")
    expect(name).to_have_attribute("aria-expanded", "true")
    expect(name).to_be_focused()  # the reader stays in the matrix, and the text goes to
    expect(page.locator(".is-target")).to_have_id("s-6")
    assert _chosen(page) == ["s-6", "s-7"]
    assert page.locator(".map-upright .map-highlight").get_attribute("d") not in (None, "")
    details.get_by_role("button", name="Next of 2 sentences").click()
    expect(page.locator("#s-7")).to_be_focused()
    details.locator(".next").click()
    expect(page.locator("#s-6")).to_be_focused()
    assert _jumps(page, "evidence", [1, 1]) == [7, 6]  # through the sentences of the aspect that is chosen
    name.click()
    expect(name).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".aspect-details:visible")).to_have_count(0)
    assert _chosen(page) == []
    number = page.locator("#s-4").get_by_role("button", name="aspect 1: Tea was hot.")
    plain = number.evaluate("(one) => getComputedStyle(one).backgroundColor")
    number.click()
    expect(page.locator(".aspect.is-chosen")).to_have_attribute("data-aspect", "1")
    expect(number).to_have_attribute("aria-pressed", "true")
    assert number.evaluate("(one) => getComputedStyle(one).backgroundColor") != plain == "rgba(0, 0, 0, 0)"
    assert _chosen(page) == ["s-2", "s-4"]
    assert _jumps(page, "evidence", [-1]) == [2]  # from where the reader clicked


def test_the_colour_of_a_sentence_says_who_chose_it(page: Page, tmp_path: Path) -> None:
    sources = ((1,), (2,), (3,), (4, 5), (7,))
    answers = [GradedAnswer(status="answered", certain=picks) for picks in ((1, 2, 4, 0), (1, 3, 0))]
    record = record_of(*answers, sources=sources, terms=TERMS)
    show_paper(page, tmp_path, overview_of(["bm25", "tfidf"]), record, State(b=1))
    said = {
        index: page.locator(f"#s-{index} .edge").get_attribute("aria-label")
        for index in range(8)
        if page.locator(f"#s-{index} .edge").count()
    }
    assert said == {
        1: "evidence selected by both",
        2: "evidence selected by A",
        3: "evidence selected by B",
        4: "evidence selected by A",
        5: "evidence, stated by another selected sentence",
        7: "evidence missed by both",
    }
    grounds = [
        page.locator(f"#s-{index} .body").evaluate("(one) => getComputedStyle(one).backgroundColor")
        for index in range(8)
    ]
    assert grounds[0] == grounds[5] == grounds[6] == "rgba(0, 0, 0, 0)"  # selected, but no evidence: only its marks
    assert len({grounds[index] for index in (1, 2, 3, 7)}) == 4
    assert grounds[2] == grounds[4]
    colours = page.locator(".map-upright .map-evidence").evaluate_all("(all) => all.map((one) => one.classList[1])")
    assert sorted(colours) == ["fate-a", "fate-b", "fate-both", "fate-missed", "fate-plain"]
    assert page.locator(".legend").inner_text().split() == ["selected", "by", "A", "B", "both", "missed", "elsewhere"]


def test_a_sentence_that_b_chose_is_not_said_to_be_found_by_b_only_where_a_covers_its_aspect(
    page: Page, tmp_path: Path
) -> None:
    answers = [GradedAnswer(status="answered", certain=(picked,)) for picked in (1, 2)]
    record = record_of(*answers, sources=((1, 2), (3,)), terms=TERMS)
    show_paper(page, tmp_path, overview_of(["bm25", "tfidf"]), record, State(b=1))
    expect(page.locator(".aspect-filter").get_by_role("button", name="Only B")).to_have_text("Only B 0")
    expect(page.locator("#s-2 .edge")).to_have_accessible_name("evidence selected by B")
    expect(page.locator(".legend")).not_to_contain_text("only")


def test_the_keyboard_gets_past_the_text(page: Page, sample: GradedInstance, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25"]), sample)
    page.locator(".strip .marks").last.focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Aspects", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".aspects")).to_be_focused()
    expect(page.locator(".aspects h2")).to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(page.locator(".aspect-filter button").first).to_be_focused()


def test_the_aspects_can_be_filtered(page: Page, tmp_path: Path) -> None:
    answers = (GradedAnswer(status="answered", certain=(4, 5), recall=0.5), OTHER)
    sources = ((2,), (2, 4), (5,), (6, 7), (3,))
    record = record_of(*answers, sources=sources, terms=TERMS)
    show_paper(page, tmp_path, overview_of(["bm25", "tfidf"]), record, State(b=1))
    shown = {}
    for button in page.locator(".aspect-filter button").all():
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        shown[button.text_content()] = _rows(page)
    assert shown == {
        "All 5": [4, 0, 2, 3, 1],
        "Missed by all 1": [4],
        "Missed by A 3": [4, 0, 3],
        "Missed by B 2": [4, 2],
        "Only A 1": [2],
        "Only B 2": [0, 3],
    }
    assert [changes["aspects"] for changes in page.evaluate("noted")] == [
        *(None, "missed-by-all", "missed-by-a", "missed-by-b", "only-a", "only-b")
    ]


def test_the_matrix_says_who_found_what_and_its_heads_sort(page: Page, tmp_path: Path) -> None:
    drawn = GradedAnswer(status="answered", tied=(2, 5, 0), n_drawn=2, recall=0.5)
    late = GradedAnswer(status="answered", certain=(7,))
    record = record_of(HALF, drawn, late, None, terms=TERMS, texts=TEXTS)
    show_paper(page, tmp_path, overview_of(["bm25", "llm", "late", "silent"]), record, State(a=2, b=1))
    heads = page.locator(".matrix thead th")
    assert [name.replace("\n", "") for name in heads.all_inner_texts()] == ["Aspect", "late", "llm", "bm25"]
    cells = {
        row: page.locator(f".aspect[data-aspect='{row}'] .cell").evaluate_all(
            "(all) => all.map((one) => one.ariaLabel)"
        )
        for row in range(4)
    }
    chance = "found with probability 66.7 %"
    assert cells == {
        0: ["missed", chance, "found"],
        1: ["missed", chance, "found"],
        2: ["missed", chance, "missed"],
        3: ["found", "missed", "missed"],
    }
    looks = page.locator(".aspect[data-aspect='0'] .cell").evaluate_all(
        "(all) => all.map((one) => { const s = getComputedStyle(one); return s.backgroundColor + s.backgroundImage; })"
    )
    assert len(set(looks)) == 3
    assert _rows(page) == [2, 3, 0, 1]  # those that most systems missed come first
    for head, rows in ((1, [3, 0, 1, 2]), (1, [0, 1, 2, 3]), (3, [0, 1, 2, 3]), (3, [2, 3, 0, 1])):
        heads.nth(head).get_by_role("button").press("Enter")
        assert _rows(page) == rows
    expect(heads.nth(3)).to_have_attribute("aria-sort", "ascending")
    heads.first.get_by_role("button").click()
    assert _rows(page) == [2, 3, 0, 1]
    heads.first.get_by_role("button").click()
    assert _rows(page) == [0, 1, 2, 3]


def test_a_matrix_of_many_systems_scrolls_in_its_frame_and_keeps_the_names(page: Page, tmp_path: Path) -> None:
    labels = [f"system number {n}" for n in range(25)]
    show_paper(page, tmp_path, overview_of(labels), record_of(*[HALF] * 25, terms=TERMS, texts=TEXTS), State(a=20))
    expect(page.locator(".matrix thead th").nth(1)).to_have_class("of-a")
    frame = page.locator(".matrix-frame")
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        frame.evaluate("(one) => { one.scrollLeft = 10_000; }")
        name, box = box_of(page.locator(".aspect-name").first), box_of(frame)
        assert frame.evaluate("(one) => one.scrollLeft") > 100
        assert abs(name["x"] - box["x"]) < 4
        assert_accessible(page)


def test_an_aspect_is_found_by_the_systems_that_could_miss_it_each_counted_once(page: Page, tmp_path: Path) -> None:
    drawn = GradedAnswer(status="answered", tied=(2, 5, 0), n_drawn=2, recall=0.5)
    oracle = GradedAnswer(status="answered", certain=(2, 6), recall=0.75)
    overview = overview_of(["bm25", "llm", "silent", "lead", "lead", "oracle"])
    systems = [
        *overview.systems[:4],
        replace(overview.systems[4], is_control=True, is_counted=False),
        overview.systems[5],
    ]
    overview = replace(overview, systems=tuple(systems))
    record = record_of(HALF, drawn, None, OTHER, OTHER, oracle, terms=TERMS)
    show_paper(page, tmp_path, overview, record, State(b=1))
    expect(page.locator(".aspects")).to_contain_text("The data has no texts of aspects: a sentence is quoted.")
    details = _choose(page, 0)
    expect(details).to_contain_text("#2 “Sentence number 2.”")
    expect(details.locator(".found-by")).to_have_text(
        "Found by 3 of 3 systems: bm25, llm (probability 66.7 %), lead. Not competing: oracle."
    )
    expect(details.get_by_role("link", name="#2")).to_have_attribute("title", "Sentence number 2.")
    expect(details.locator(".aspect-id")).to_have_text("made_1_aspect_0")
    expect(_choose(page, 2).locator(".found-by")).to_contain_text("Found by 1 of 3 systems: llm")


def test_an_aspect_without_text_quotes_the_sentence_with_fewest_others_and_each_its_own_where_it_can(
    page: Page, tmp_path: Path
) -> None:
    # Sentences 1 and 4 state the aspects 0 and 1 only, 3 the aspects 3 and 4 only; 2 states all five.
    sources = ((1, 2, 4), (1, 2, 4), (2, 5), (2, 3), (2, 3))
    show_paper(page, tmp_path, overview_of(["bm25"]), record_of(HALF, sources=sources, terms=TERMS))
    names = page.locator(".aspect-name").evaluate_all(
        "(all) => all.map((one) => one.innerText.split(/\\s+/, 2)).sort()"
    )
    assert names == [["0", "#1"], ["1", "#4"], ["2", "#5"], ["3", "#3"], ["4", "#3"]]


def test_the_strip_stays_and_says_what_each_of_two_systems_alone_finds(
    page: Page, sample: GradedInstance, tmp_path: Path
) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        show_paper(page, tmp_path, overview_of(["bm25", "oracle"]), sample, State(b=1))
        whole, cut = page.locator(".hypothesis"), page.locator(".strip-hypothesis")
        expect(whole).to_be_in_viewport()
        page.evaluate("view.show(50)")
        _assert_below_the_bar(page, 50)
        strip, line = box_of(page.locator(".strip")), box_of(cut)
        assert line["y"] == 0
        assert strip["y"] + strip["height"] < 80  # two lines
        assert cut.evaluate("(one) => one.contains(document.elementFromPoint(30, 10))")
        expect(cut).to_have_attribute("title", sample.paper.hypothesis)
        cut.press("Enter")
        height = box_of(cut.locator("span"))
        assert (height["height"] > 32) == (width == 390)
        expect(page.locator(".strip .score").last).to_have_text("100.0\u00a0%")
        only = page.locator(".strip-side").last.locator(".chip")
        assert only.count() > 0
        only.first.press("Enter")
        expect(page.locator(".aspect.is-chosen")).to_have_attribute("data-aspect", only.first.inner_text())


def test_what_a_system_chose_is_listed_in_its_order_with_what_each_sentence_adds(page: Page, tmp_path: Path) -> None:
    sentences = ("Methods", "Tea keeps us up.", "Teas were keeping awake.", "No.", "It was hot.", "f", "g", "h")
    answer = GradedAnswer(status="answered", certain=(2, 4, 0, 3), tied=(5, 6), n_drawn=1, recall=0.5)
    record = record_of(answer, sentences=sentences, kinds="hbbbbbbb", terms=TERMS, texts=TEXTS)
    show_paper(page, tmp_path, overview_of(["llm"]), record)
    picked = page.locator(".picked")
    picked.locator("summary").click()
    items = [" ".join(text.split()) for text in picked.locator("li").all_inner_texts()]
    assert items == [
        "#2 Teas were keeping awake. new evidence 0 1",
        "#4 It was hot. adds nothing stated before: 1",
        "#0 Methods heading",
        "#3 No. no evidence",
        "#5 f new evidence (counts with probability 50.0 %) 2",
        "#6 g new evidence (counts with probability 50.0 %) 3",
    ]
    assert picked.locator("u").all_inner_texts() == ["keeping", "awake"]
    expect(picked).to_contain_text(
        "llm, in the order of its answer: 3 new evidence, 1 adds nothing, 1 no evidence, 1 heading."
    )
    expect(picked).to_contain_text("1 of the last 2 sentences is drawn at random.")
    picked.locator("li").nth(4).get_by_role("button", name="aspect 2").click()
    expect(page.locator("#s-5")).to_be_focused()


def test_only_what_is_marked_leaves_gaps_that_open(page: Page, tmp_path: Path) -> None:
    sentences = tuple(f"Sentence {index}." for index in range(20))
    record = record_of(HALF, sentences=sentences, kinds="h" + "b" * 9 + "h" + "b" * 9, sources=((4,),), terms=TERMS)
    show_paper(page, tmp_path, overview_of(["bm25"]), record)
    only = page.get_by_role("button", name="Only marked")
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


@pytest.mark.parametrize(("width", "name"), [(1280, ".map-upright"), (360, ".map-lying")])
def test_a_click_on_the_map_goes_there_and_the_map_shows_where_the_reader_is(
    new_page: NewPage, sample: GradedInstance, tmp_path: Path, width: int, name: str
) -> None:
    page = new_page(width, 800)
    show_paper(page, tmp_path, overview_of(["bm25"]), sample)
    page.evaluate("document.querySelector('.text-column').scrollIntoView()")
    before = page.locator(".map-upright .map-view").get_attribute("d")
    n, drawn = len(sample.paper.sentences), page.locator(f"{name} svg")
    box = box_of(drawn)
    across, down = (0.5, 40.5 / n) if width == 1280 else (40.5 / n, 0.5)
    page.mouse.click(box["x"] + box["width"] * across, box["y"] + box["height"] * down)
    expect(page.locator("#s-40")).to_be_focused()
    expect(page.locator("#s-40 .body")).to_be_in_viewport(ratio=1)
    if width == 1280:
        expect(page.locator(".map-upright .map-view")).not_to_have_attribute("d", before or "")
        expect(drawn).to_have_accessible_name(re.compile(f"^Map of the paper: {n} sentences, "))


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
    page.locator("summary").evaluate_all("(all) => all.forEach((one) => one.click())")
    for aspect in range(4):
        _choose(page, aspect)
    expect(page.locator(".side .error")).to_have_text(HOSTILE[1])
    expect(page.locator("main img, main script, main b[onmouseover]")).to_have_count(0)
    assert page.locator(".foreign:not([dir=auto])").count() == 0
    page.mouse.move(100, 300)
    assert page.title() == "A paper"
    href = page.get_by_role("link", name="sentence 3", exact=True).get_attribute("href")
    assert href == "#/papers/a%2Fb%3Fc%23d%25%3Ci%3E'%22%E2%80%AE/3"


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


def test_the_view_is_accessible_and_fits(page: Page, sample: GradedInstance, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25", "oracle"]), sample, State(b=1))
    page.locator("summary").evaluate_all("(all) => all.forEach((one) => one.click())")
    page.locator(".aspect-name").first.click()
    for width in (360, 800, 1280, 1600) if IS_THOROUGH else (360, 1280):
        assert_accessible(page, width)
        expect(page.locator(".map-lying")).to_be_visible(visible=width < 560)
        expect(page.locator(".map-upright")).to_be_visible(visible=width >= 560)


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


def _choose(page: Page, aspect: int) -> Locator:
    """Choose an aspect in the matrix, and return what opens below it."""
    page.locator(f".aspect[data-aspect='{aspect}'] .aspect-name").click()
    details = page.locator(f".aspect[data-aspect='{aspect}'] + .aspect-details")
    expect(details).to_be_visible()
    return details


def _rows(page: Page) -> list[int]:
    found: list[int] = page.locator(".aspect:visible").evaluate_all(
        "(all) => all.map((one) => Number(one.dataset.aspect))"
    )
    return found


def _chosen(page: Page) -> list[str]:
    found: list[str] = page.locator(".sentence.is-chosen").evaluate_all("(all) => all.map((one) => one.id)")
    return found


def _jumps(page: Page, kind: str, steps: list[int]) -> list[int | None]:
    return [page.evaluate("([kind, step]) => view.jump(kind, step)", [kind, step]) for step in steps]


def _assert_below_the_bar(page: Page, index: int) -> None:
    """Fail unless the sentence has the focus and comes to rest between the strip and the bar that stay."""
    expect(page.locator(f"#s-{index}")).to_be_focused()
    page.wait_for_function(
        "() => { const y = window.lastY; window.lastY = scrollY; return y === scrollY; }", polling=150
    )
    strip, bar = box_of(page.locator(".strip")), box_of(page.locator(".bars"))
    row = box_of(page.locator(f"#s-{index}"))
    place = f"sentence {index}: {row['y']:.0f}, strip to {strip['y'] + strip['height']:.0f}, bar from {bar['y']:.0f}"
    assert strip["y"] + strip["height"] <= row["y"] + 1, place
    assert row["y"] + row["height"] <= bar["y"] + 1, place
