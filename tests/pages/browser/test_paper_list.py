"""The list of papers in a browser: searched, filtered, sorted, linked, on every screen, whatever the texts are."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from doors import ListRow, ViewerData, viewer_data_of
from doors import search_words_of as words_of
from evidencebench import Dataset, Instance, Kind, Labels, Query, load_sample, open_dataset, write_dataset
from kit.browsing import NewPage, address_of, assert_accessible, assert_fits, box_of, served_address_of
from kit.examples import IS_THOROUGH

SAMPLE = load_sample()
TASK = "er_at_optimal"


def instance_of(
    instance_id: str, hypothesis: str = "Tea lowers it.", sentences: Sequence[str] = ("One.", "Two.")
) -> Instance:
    query = Query(
        instance_id=instance_id,
        paper_id=f"paper of {instance_id}",
        hypothesis=hypothesis,
        sentences=tuple(sentences),
        kinds=(Kind.BODY,) * len(sentences),
    )
    return Instance(query=query, labels=Labels(aspects=("a", "b"), sources={"a": (0,), "b": (1,)}))


@pytest.fixture
def open_page(new_page: NewPage, make_bare_page: Callable[..., Path], tmp_path: Path) -> Callable[..., Page]:
    """Give a function that opens a page of instances."""

    def open_it(instances: Sequence[Instance], fragment: str = "", width: int = 1280, **options: bool) -> Page:
        write_dataset(tmp_path / "made.json", instances)
        page = new_page(width, **options)
        page.goto(address_of(make_bare_page(open_dataset(tmp_path / "made.json")), fragment))
        page.locator("a.row-link, .paper").first.wait_for(state="attached")
        return page

    return open_it


def ids(page: Page) -> list[str]:
    found: list[str] = page.locator("a.row-link").evaluate_all("links => links.map((link) => link.dataset.id)")
    return found


def viewed(runs: Sequence[Path], dataset: Dataset = SAMPLE) -> tuple[ViewerData, list[ListRow]]:
    shown = viewer_data_of(runs, dataset)
    return shown, [shown.row(position, instance) for position, instance in enumerate(dataset)]


def test_the_list_says_how_long_each_paper_is_how_two_systems_score_and_means_over_what_is_found(
    sample: Page, sample_runs: tuple[Path, ...]
) -> None:
    shown, rows = viewed(sample_runs)
    task = [one.name for one in shown.tasks].index(TASK)
    assert ids(sample) == list(SAMPLE.ids)
    names = [system.record.label for system in shown.systems]
    assert (
        sample.locator("th.recall .foreign").evaluate_all("(all) => all.map((one) => one.title)") == names
    )  # A and B first
    for row, line in zip(rows, sample.locator(".row").all(), strict=True):
        text = line.inner_text()
        assert row.hypothesis in text
        recalls = [100 * (of_system[task] or 0) for of_system in row.recalls]
        titles = [f"{name}: {recall:.1f} %" for name, recall in zip(names, recalls, strict=True)]
        cells = line.locator("td.recall")
        assert cells.evaluate_all("(all) => all.map((cell) => cell.title)") == titles
        assert [int(number) for number in cells.locator("[aria-hidden]").all_inner_texts()] == pytest.approx(
            recalls, abs=0.51
        )
        expect(line.locator("a")).to_have_attribute("title", f"{row.hypothesis}\n{row.id}")
        assert str(row.n_sentences) in text
        assert f"{row.n_aspects} ({row.n_results})" in text
        a, b = (row.recalls[system][task] for system in (0, 1))
        assert a is not None
        assert b is not None
        assert f"{100 * a:.1f} %" in text
        assert f"{100 * b:.1f} %" in text
    without = sum(row.n_results == 0 for row in rows)
    expect(sample.locator(".list-count")).to_have_text(f"{len(rows)} instances; {without} without Results")
    oracle = [system.record.label for system in shown.systems].index("oracle")

    def told(of: Sequence[ListRow]) -> str:
        a, b, ceiling = (100 * sum(row.recalls[place][0] or 0 for row in of) / len(of) for place in (0, 1, oracle))
        difference = f"{a - b:+.1f}".replace("-", "−")
        means = f"●A {a:.1f} %■B {b:.1f} %A − B: {difference}ceiling {ceiling:.1f} %"
        return f"Mean aspect recall over {len(of)} instances: {means}"

    expect(sample.locator(".list-means")).to_have_text(told(rows))
    sample.get_by_role("combobox", name="Show", exact=True).select_option("a_better")
    better = [row for row in rows if (row.recalls[0][0] or 0) > (row.recalls[1][0] or 0)]
    assert 1 < len(better) < len(rows)
    expect(sample.locator(".list-means")).to_have_text(told(better))


def test_a_search_can_be_linked_and_typing_leaves_no_step_to_go_back(sample: Page) -> None:
    word = max(words_of(SAMPLE[3].query.sentences[4]), key=len)[:-1].upper()
    sample.get_by_label("Search").fill(word)
    count = sample.locator(".list-count")
    expect(count).to_contain_text(re.compile("^[1-9] of 10 instances"))
    found = ids(sample)
    assert SAMPLE.ids[3] in found
    steps = sample.evaluate("history.length")
    sample.reload()
    expect(sample.get_by_label("Search")).to_have_value(word)
    expect(count).to_contain_text(f"{len(found)} of 10 instances")
    assert ids(sample) == found
    assert sample.evaluate("history.length") == steps == 2  # the empty page and this one


def head(page: Page, name: str) -> Locator:
    return page.get_by_role("columnheader", name=name).get_by_role("button")


def test_heads_sort_both_ways_and_say_so_and_back_goes_back(sample: Page, sample_runs: tuple[Path, ...]) -> None:
    shown, rows = viewed(sample_runs)
    expected: dict[str, Callable[[Any], float]] = {
        "tfidf": lambda row: row.recalls[1][0],
        "A − B": lambda row: row.recalls[0][0] - row.recalls[1][0],
        "Aspects": lambda row: row.n_aspects,
        "Sentences": lambda row: row.n_sentences,
    }
    expect(sample.get_by_role("columnheader", name="Instance")).to_have_attribute("aria-sort", "ascending")
    for name, key in expected.items():
        for way, sign in (("descending", -1), ("ascending", 1)):
            head(sample, name).click()
            in_order = [row.id for row in sorted(rows, key=lambda row: (sign * key(row), row.position))]
            expect(sample.get_by_role("columnheader", name=name)).to_have_attribute("aria-sort", way)
            expect(sample.locator("a.row-link").first).to_have_attribute("data-id", in_order[0])
            assert ids(sample) == in_order
        expect(head(sample, name)).to_be_focused()
    expect(sample.locator("th[aria-sort$=ending]")).to_have_count(1)
    head(sample, "bm25").click()
    sample.get_by_label("System A").select_option("lead")
    sample.get_by_label("Task").select_option("er_at_10")
    task = [one.name for one in shown.tasks].index("er_at_10")
    a = [system.record.label for system in shown.systems].index("lead")
    best = max(rows, key=lambda row: (row.recalls[a][task], -row.position))
    expect(sample.locator("a.row-link").first).to_have_attribute("data-id", best.id)
    for _ in range(3):
        sample.go_back()
    expect(sample.get_by_label("System A")).to_have_value("bm25")
    expect(sample.get_by_role("columnheader", name="Sentences")).to_have_attribute("aria-sort", "ascending")


def test_a_phone_sorts_by_the_same_heads_and_shows_the_list_or_a_paper_with_a_way_back(
    new_page: NewPage, sample_page: Path
) -> None:
    page = new_page(360, 740)
    page.goto(address_of(sample_page))
    head(page, "Sentences").click()
    longest = max(range(len(SAMPLE)), key=lambda position: len(SAMPLE[position].query.sentences))
    expect(page.locator("a.row-link").first).to_have_attribute("data-id", SAMPLE.ids[longest])
    box = box_of(page.locator(".rows thead"))
    assert box["height"] < 100
    head(page, "Instance").click()
    expect(page.locator("a.row-link").first).to_have_attribute("data-id", SAMPLE.ids[0])
    assert_fits(page)
    page.locator("a.row-link").nth(2).click()
    expect(page.locator(".list-pane")).to_be_hidden()
    expect(page.get_by_role("heading", name=SAMPLE[2].query.hypothesis)).to_be_in_viewport()
    assert_fits(page)
    page.get_by_role("link", name="Back to the list").click()
    expect(page.locator(".list-pane")).to_be_visible()
    expect(page.locator(".paper-pane")).to_be_hidden()


def test_bars_of_aspects_open_the_papers_that_have_them(sample: Page, sample_runs: tuple[Path, ...]) -> None:
    _, rows = viewed(sample_runs)
    bars = sample.get_by_role("navigation", name="Aspects found by 0, 1, 2 … systems").get_by_role("link")
    # Of bm25, tfidf, lead and abstract_backwards; the oracle is not counted.
    totals = [sum(row.found[0][n] if n < len(row.found[0]) else 0 for row in rows) for n in range(5)]
    names = [f"{total:,} aspect{'s' * (total != 1)} that {n} of 4 systems found" for n, total in enumerate(totals)]
    assert bars.evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))") == names
    some = {n: [row.id for row in rows if n < len(row.found[0]) and row.found[0][n]] for n in range(5)}
    n = next(n for n in some if 0 < len(some[n]) < len(rows))
    bars.nth(n).click()
    expect(sample.locator("a.row-link")).to_have_count(len(some[n]))
    assert ids(sample) == some[n]
    expect(bars.nth(n)).to_be_focused()
    expect(bars.nth(n)).to_have_attribute("aria-current", "true")
    bars.nth(n).click()
    expect(sample.locator("a.row-link")).to_have_count(len(rows))
    show = sample.get_by_role("combobox", name="Show", exact=True)
    show.select_option("an aspect that no system found")
    expect(sample.locator(".list-count")).to_contain_text("only with an aspect that no system found")
    sample.reload()
    expect(show.locator("option:checked")).to_have_text("an aspect that no system found")
    assert ids(sample) == some[0]


TEA = ("Tea lowers it.", ["Coffee.", "Naïve teas and a tea.", "One.", "Tealeaf TEA."])


def test_one_search_shows_where_the_word_is_and_the_paper_opens_there(open_page: Callable[..., Page]) -> None:
    page = open_page([instance_of("a"), instance_of("b", *TEA), instance_of("c", "Milk.", ["No t e a.", "Two."])])
    page.get_by_label("Search").fill("tea")
    expect(page.locator("a.row-link")).to_have_count(2)
    assert page.locator(".row a.row-link mark").all_inner_texts() == ["Tea", "Tea"]
    hits = page.locator(".row-hits")
    expect(hits).to_have_text("in 2 sentences: Naïve teas and a tea.")
    assert hits.locator("mark").all_inner_texts() == ["teas", "tea"]
    page.get_by_role("combobox", name="In", exact=True).select_option("text")
    expect(page.locator("a.row-link")).to_have_count(1)
    expect(page.locator("a.row-link mark")).to_have_count(0)
    page.locator("a.row-link").click()
    expect(page.locator("#s-1")).to_be_focused()
    assert page.locator(".sentence mark").all_inner_texts() == ["teas", "tea", "Tealeaf", "TEA"]
    expect(page.locator(".paper .hypothesis mark")).to_have_count(0)
    expect(page.locator(".hits")).to_contain_text("“tea” 2")
    ticks = page.locator(".map-upright .map-hits")
    assert (ticks.get_attribute("d") or "").count("M") == 2


def test_hits_are_stepped_through_by_buttons_and_keys_stay_with_another_task_and_follow_the_search(
    open_page: Callable[..., Page],
) -> None:
    page = open_page([instance_of("b", *TEA)], "#/papers/b?q=tea")
    expect(page.locator(".paper .hypothesis mark")).to_have_text("Tea")
    for key, sentence, place in (("h", 1, "1 of 2"), ("h", 3, "2 of 2"), ("h", 1, "1 of 2"), ("H", 3, "2 of 2")):
        page.keyboard.press(key)
        expect(page.locator(f"#s-{sentence}")).to_be_focused()
        expect(page.locator(".hits")).to_contain_text(place)
    page.get_by_role("button", name="previous hit").click()
    expect(page.locator("#s-1")).to_be_focused()
    page.get_by_label("Task").select_option("er_at_10")
    expect(page).to_have_url(re.compile("task=er_at_10"))
    expect(page.locator(".sentence mark")).to_have_count(4)
    expect(page.locator(".hits")).to_have_count(1)
    page.get_by_label("Search").fill("one")
    expect(page.locator(".sentence mark")).to_have_text(["One"])
    expect(page.locator(".paper .hypothesis")).to_have_text(TEA[0])
    page.get_by_label("Search").fill("")
    expect(page.locator("mark, .hits, .map-hits[d^=M]")).to_have_count(0)
    expect(page.locator("#s-1 .text")).to_have_text(TEA[1][1])


def test_a_paper_opens_with_its_title_the_only_one_and_back_returns_to_its_row_and_next_follows_the_list(
    sample: Page,
) -> None:
    sample.locator("a.row-link").nth(7).click()
    expect(sample.get_by_role("heading", name=SAMPLE[7].query.hypothesis)).to_be_focused()
    expect(sample).to_have_title(f"{SAMPLE.ids[7]} · {SAMPLE.name}")
    expect(sample.locator(".paper-place")).to_have_text("8 of 10")
    expect(sample.locator("[aria-current=page]")).to_have_attribute("data-id", SAMPLE.ids[7])
    sample.go_back()
    expect(sample.locator("a.row-link").nth(7)).to_be_focused()
    expect(sample).to_have_title(SAMPLE.name)
    titles = sample.locator("h1:visible")
    expect(titles).to_have_text(["Papers"])
    head(sample, "Sentences").click()
    longest = sorted(SAMPLE, key=lambda instance: -len(instance.query.sentences))
    expect(sample.locator("a.row-link").first).to_have_attribute("data-id", longest[0].id)
    sample.locator("a.row-link").nth(8).click()
    expect(titles).to_have_text([longest[8].query.hypothesis])
    next_one, status = sample.get_by_role("button", name=re.compile("Next")), sample.locator("[role=status]")
    next_one.click()
    expect(sample.locator("[aria-current=page]")).to_have_attribute("data-id", longest[9].id)
    next_one.click()
    expect(status.filter(has_text="This is the last paper of the list.")).to_be_visible()
    sample.get_by_role("button", name=re.compile("Previous")).click()
    expect(sample.locator("[aria-current=page]")).to_have_attribute("data-id", longest[8].id)


def test_a_link_leads_to_an_instance_and_to_a_sentence_of_it_or_says_what_is_not_there(
    page: Page, sample_page: Path
) -> None:
    page.goto(address_of(sample_page, f"#/papers/{SAMPLE.ids[4]}/9?task=er_at_10&a=tfidf&b="))
    sentence = page.locator("#s-9")
    expect(sentence).to_be_in_viewport()
    expect(sentence).to_contain_text(SAMPLE[4].query.sentences[9])
    assert "is-target" in (sentence.get_attribute("class") or "")
    for name, value in (("Task", "er_at_10"), ("System A", "tfidf"), ("System B", "")):
        expect(page.get_by_label(name)).to_have_value(value)
    for place, message in {
        "nobody": "There is no paper “nobody” in this page.",
        "%E0%A4%A": "There is no paper “%E0%A4%A” in this page.",
        f"{SAMPLE.ids[1]}/9999": "The paper has no sentence 9999; the last is ",
    }.items():
        page.goto(address_of(sample_page, f"#/papers/{place}"))
        expect(page.locator(".paper-pane > [role=status]")).to_contain_text(message)
        for name in ("Previous", "Next"):
            button = page.get_by_role("button", name=re.compile(name))
            expect(button).to_be_enabled(enabled=place.startswith(SAMPLE.ids[1]))


def test_a_search_without_letters_and_an_empty_list_say_what_to_change(sample: Page) -> None:
    sample.get_by_label("Search").fill("!!!")
    expect(sample.locator(".list-count")).to_have_text(
        "10 instances; 1 without Results; to search, type letters or digits"
    )
    sample.get_by_label("Search").fill("xyzzy")
    expect(sample.locator(".no-rows")).to_contain_text("No instance matches. Each search word must be")
    sample.get_by_role("combobox", name="Show", exact=True).select_option("no_results")
    expect(sample.locator(".no-rows")).to_contain_text("No instance matches.")
    sample.get_by_role("link", name="Show all instances").click()
    expect(sample.locator("a.row-link")).to_have_count(len(SAMPLE))
    expect(sample.get_by_label("Search")).to_have_value("")


def test_names_that_differ_at_their_end_are_told_apart_in_the_choices(
    page: Page, make_bare_page: Callable[..., Path], tmp_path: Path
) -> None:
    runs = [tmp_path / f"{'a-system-with-a-very-long-name-' * 3}{end}.json" for end in ("seed1", "seed2")]
    for run in runs:
        run.write_text(json.dumps({instance_id: [0] for instance_id in SAMPLE.ids}))
    page.goto(address_of(make_bare_page(SAMPLE, runs), f"#/papers/{SAMPLE.ids[0]}"))
    options, marks = page.get_by_label("System A").locator("option"), page.locator(".strip .marks")
    for shown in (options.all_inner_texts()[:2], marks.all_inner_texts()):
        assert [text.strip()[-10:] for text in shown] == ["seed1.json", "seed2.json"]
        assert max(map(len, shown)) <= 36
    expect(options.first).to_have_attribute("title", runs[0].name)
    expect(marks.last).to_have_attribute("title", f"Show the marks of B: {runs[1].name}")


def test_odd_choices_in_a_link_fall_back_to_what_there_is(page: Page, sample_page: Path) -> None:
    page.goto(
        address_of(
            sample_page, "#/papers?task=none&a=none&b=none&sort=none&order=none&only=none&in=none&found=none&page=-3"
        )
    )
    expect(page.locator("a.row-link")).to_have_count(len(SAMPLE))
    expect(page.locator(".unknown")).to_have_text(
        "This page has no a=none. This page has no b=none. This page has no task=none. "
        "This page has no in=none. This page has no only=none. This page has no sort=none. This page has no order=none."
    )
    page.goto(address_of(sample_page, "#/papers?page=99"))
    expect(page.locator(".unknown")).to_have_text("")
    page.get_by_role("link", name="Go to the first page").click()
    expect(page.locator("a.row-link")).to_have_count(len(SAMPLE))


def test_a_long_list_has_pages_stepping_goes_over_their_borders_and_a_link_opens_at_its_page(
    open_page: Callable[..., Page],
) -> None:
    page = open_page([instance_of(f"i{number}") for number in range(120)])
    assert ids(page) == [f"i{number}" for number in range(50)]
    expect(page.get_by_role("navigation", name="Pages of the list")).to_contain_text("page 1 of 3")
    page.get_by_role("link", name="Last").click()
    expect(page.locator("a.row-link").first).to_have_attribute("data-id", "i100")
    page.locator("a.row-link").first.click()
    page.keyboard.press("p")
    expect(page.locator("[aria-current=page]")).to_have_attribute("data-id", "i99")
    assert ids(page)[0] == "i50"
    page.keyboard.press("n")
    expect(page.locator("[aria-current=page]")).to_have_attribute("data-id", "i100")
    page.goto(f"{page.url.partition('#')[0]}#/papers/i70")
    page.reload()
    expect(page.locator("[aria-current=page]")).to_have_attribute("data-id", "i70")
    expect(page.locator(".paper-place")).to_have_text("71 of 120")
    expect(page.locator("[aria-current=page]")).to_be_in_viewport()


def test_list_and_shell_are_accessible(sample: Page) -> None:
    assert_accessible(sample, 360, 1280)
    sample.get_by_label("Search").fill("xyzzy")
    sample.locator(".no-rows").wait_for()
    sample.get_by_role("button", name="Keyboard").click()
    assert_accessible(sample, 360, 1280)


def test_the_theme_button_overrules_the_system_and_is_remembered_and_a_printed_list_is_the_list(
    new_page: NewPage, sample_page: Path
) -> None:
    page = new_page(dark=True)
    page.goto(served_address_of(page, sample_page))
    body, dark, light = page.locator("body"), "rgb(13, 17, 23)", "rgb(255, 255, 255)"
    expect(body).to_have_css("background-color", dark)
    page.get_by_role("button", name="Theme: automatic").click()
    expect(page.get_by_role("button", name="Theme: light")).to_be_focused()
    expect(body).to_have_css("background-color", light)
    page.reload()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    expect(body).to_have_css("background-color", light)
    page.emulate_media(media="print")
    expect(page.locator("a.row-link").first).to_be_visible()
    expect(page.get_by_label("Search")).to_be_hidden()


HOSTILE_IDS = (
    "<img src=x onerror=window.hurt=1>",
    "</script><script>window.hurt=1</script>",
    "100%",
    "%41/?#&=+ '\"",
    "../..",
    "a/b/12",
    "?q=1#/papers/x",
    "\u202eright to left\u202c \u200f",
    "\u0000 and \u0007",
    "javascript:window.hurt=1",
    "__proto__",
    "constructor",
    " ",
    "line\nline",
    "emoji 🫖 و ע",
    "'\"><svg onload=window.hurt=1>",
)


def test_hostile_texts_are_shown_and_linked_and_nothing_in_them_runs(open_page: Callable[..., Page]) -> None:
    texts = [f"Hypothesis of {instance_id}" for instance_id in HOSTILE_IDS]
    page = open_page(
        [
            instance_of(instance_id, text, (f"Sentence {instance_id}", "<b onclick=window.hurt=1>bold</b>"))
            for instance_id, text in zip(HOSTILE_IDS, texts, strict=True)
        ]
    )
    assert ids(page) == list(HOSTILE_IDS)
    for place, text in list(enumerate(texts))[:: 1 if IS_THOROUGH else 3]:
        link = page.locator("a.row-link").nth(place)
        assert link.text_content() == _shown(text)
        link.click()
        expect(page.locator(".paper h1")).to_have_text(_shown(text).strip())
        address = page.url
        page.reload()  # the address alone leads there
        expect(page.locator(".paper h1")).to_have_text(_shown(text).strip())
        assert page.url == address
        page.go_back()
        page.locator("a.row-link").first.wait_for()
    assert page.locator("img, [onload], [onclick], [onerror]").count() == 0
    assert page.evaluate("window.hurt") is None


def _shown(text: str) -> str:
    return "".join("\ufffd" if char in "\u0000\u0007" else char for char in text)


def test_a_megabyte_of_one_word_leaves_the_page_narrow(open_page: Callable[..., Page]) -> None:
    word = "a" * 1_000_000
    page = open_page([instance_of("long", word, (word, "Two.")), instance_of("short")], width=360)
    assert len(page.locator("a.row-link").first.text_content() or "") == 401
    assert_fits(page)
    page.get_by_label("Search").fill("aaa")
    expect(page.locator("a.row-link")).to_have_count(1)
    page.locator("a.row-link").click()
    page.locator("#s-1").wait_for()
    assert_fits(page)


def test_a_script_or_style_that_gets_into_the_page_is_refused(new_page: NewPage, sample_page: Path) -> None:
    page = new_page(expected_errors=("Content Security Policy",))
    page.goto(address_of(sample_page))
    page.locator("a.row-link").first.wait_for()
    page.evaluate(
        """() => {
          const script = Object.assign(document.createElement("script"), {textContent: "window.hurt = 1"});
          const box = document.createElement("div");
          box.innerHTML = `<img src="data:," onerror="window.hurt = 2"><p id="styled" style="color: red">it</p>`;
          const failed = new Promise((resume) => box.firstElementChild.addEventListener("error", resume));
          document.body.append(script, box);
          return failed;
        }"""
    )
    assert page.evaluate("window.hurt") is None
    assert page.evaluate("getComputedStyle(document.getElementById('styled')).color") != "rgb(255, 0, 0)"
