"""A person picks in a real Chromium, with the mouse or without, and gets a run that is scored as the page said."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from doors import Address, Clock, pick_tasks, read_run, utc_now, viewer_data_of
from evidencebench import TASKS, Dataset, Instance, Query, Ranking, load_sample, open_dataset, write_dataset
from kit.asking_app import running
from kit.browsing import STILL, NewPage, Pages, assert_accessible, assert_fits, box_of, say_name

SAMPLE = load_sample()
A, B = SAMPLE.ids[:2]
OPTIMAL = TASKS["er_at_optimal"]
BUDGET = 6  # of A


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running app with the pages of people who pick."""

    address: Address
    folder: Path

    def run_file(self, name: str) -> Path:
        (path,) = self.folder.glob(f"{name.lower()}-*.jsonl")
        return path


Serve = Callable[..., AbstractContextManager[Served]]


@pytest.fixture
def serve(tmp_path: Path, new_page: Pages) -> Serve:
    """Give a function that serves the app during a block; all calls use one folder."""

    @contextmanager
    def serving(
        dataset: Dataset = SAMPLE, *, runs: Sequence[Path] = (), limit: int | None = None, clock: Clock = utc_now
    ) -> Iterator[Served]:
        viewed = viewer_data_of(runs, dataset, (OPTIMAL,))
        pages = pick_tasks(viewed, tmp_path / "people", OPTIMAL, limit=limit, clock=clock)
        with running(viewed, picking=pages) as app:
            yield Served(address=app.address, folder=tmp_path / "people")
            new_page.leave()
        pages.close()

    return serving


def sign_in(page: Page, served: Served, name: str) -> None:
    say_name(page, served.address.url, name)
    expect(page.get_by_role("heading", name="Your papers")).to_be_visible()


def open_first(page: Page) -> None:
    page.get_by_role("link", name="Begin with the first paper").click()
    expect(count(page)).to_have_text(f"0 of {BUDGET} selected.")


def count(page: Page) -> Any:
    return page.locator(".pick-count")


def sentence(page: Page, index: int) -> Any:
    return page.locator(f"#pick-{index}")


def saved(page: Page) -> None:
    expect(page.locator(".pick-saved")).to_have_text("Saved.")


def submit(page: Page, button: str) -> None:
    page.locator("aside").get_by_role("button", name=re.compile(button)).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Submit")).click()
    expect(page.get_by_role("heading", name="Your aspect recall")).to_be_visible()


def shown_recall(page: Page) -> float:
    text = page.get_by_role("heading", name="Your aspect recall").text_content() or ""
    return float(re.findall(r"([\d.]+) %", text)[0])


@pytest.fixture
def picking(serve: Serve, page: Page) -> Iterator[Page]:
    """Give a page on which Ada has opened the first paper."""
    with serve() as served:
        sign_in(page, served, "Ada")
        open_first(page)
        yield page


@pytest.fixture
def machines(serve: Serve, new_page: NewPage) -> Iterator[tuple[Page, Page]]:
    """Give two browsers, which cannot tell each other anything, with the first paper opened by Ada in both."""
    page, other = (new_page(expected_errors=["status of 409"]) for _ in range(2))
    with serve() as served:
        other.clock.install()
        for one in (page, other):
            sign_in(one, served, "Ada")
            one.goto(f"{served.address.url}#/pick/{A}")
            expect(count(one)).to_have_text(f"0 of {BUDGET} selected.")
        yield page, other


def test_from_the_name_to_the_score_with_a_mouse(serve: Serve, page: Page) -> None:
    with serve(limit=2) as served:
        sign_in(page, served, "Ada")
        expect(page.get_by_text("0 of 2 submitted")).to_be_visible()
        open_first(page)
        for number, index in enumerate((4, 2, 17), 1):
            sentence(page, index).click()
            expect(count(page)).to_have_text(f"{number} of {BUDGET} selected.")
            expect(sentence(page, index)).to_have_attribute("aria-pressed", "true")
        sentence(page, 17).click()
        expect(sentence(page, 17)).to_have_attribute("aria-pressed", "false")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".picks li b")).to_have_text(["2", "4", "17"])
        page.get_by_role("button", name="Remove sentence 17").click()
        expect(page.get_by_role("button", name="Remove sentence 4")).to_be_focused()
        submit(page, "Submit 2 sentences")
        assert shown_recall(page) > 0
        expect(page.locator(".side-name").first).to_contain_text("Ada (you)")
        expect(page.get_by_text("1 of 2 papers submitted")).to_be_visible()
        page.get_by_role("link", name="Next paper").click()
        expect(page.locator(".pick-hypothesis")).to_have_text(SAMPLE[B].query.hypothesis)
        submit(page, "I find no evidence")
        assert shown_recall(page) == 0
        expect(page.get_by_text("All papers are submitted. Thank you!")).to_be_visible()


def test_all_of_it_without_a_mouse(serve: Serve, page: Page) -> None:
    with serve(limit=1) as served:
        page.goto(served.address.url)
        expect(page.get_by_label("Your name")).to_be_focused()
        press = page.keyboard.press
        page.keyboard.type("Grace")
        press("Enter")
        link = page.get_by_role("link", name="Begin with the first paper")
        expect(link).to_be_visible()
        tab_to(page, link)
        press("Enter")
        expect(sentence(page, 0)).to_be_focused()
        press("ArrowDown")
        press("j")
        expect(sentence(page, 2)).to_be_focused()
        press("Space")
        press("j")
        press("j")
        press("Enter")
        expect(count(page)).to_have_text(f"2 of {BUDGET} selected.")
        press("k")
        press("ArrowUp")
        expect(sentence(page, 2)).to_be_focused()
        press("Space")
        expect(count(page)).to_have_text(f"1 of {BUDGET} selected.")
        press("u")
        expect(count(page)).to_have_text(f"2 of {BUDGET} selected.")
        press("]")
        expect(sentence(page, 7)).to_be_focused()
        press("[")
        expect(sentence(page, 0)).to_be_focused()
        press("?")
        expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
        press("Escape")
        press("s")
        dialog = page.get_by_role("dialog", name="Submit these 2 sentences?")
        expect(dialog.get_by_role("button", name="Continue selecting")).to_be_focused()
        press("Escape")
        expect(dialog).to_have_count(0)
        press("s")
        press("Shift+Tab")
        press("Enter")
        expect(page.get_by_role("heading", name="Your aspect recall")).to_be_focused()
    assert read_run(served.run_file("Grace")).answer(A, "er_at_optimal") == Ranking(sentences=(4, 2), ordered=False)


def tab_to(page: Page, target: Any) -> None:
    """Press Tab until an element has the focus; fail if Tab does not reach it."""
    for _ in range(30):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail("Tab does not lead there")


def test_a_pick_over_the_budget_is_refused_with_a_reason(picking: Page) -> None:
    page = picking
    for index in range(1, BUDGET + 1):
        sentence(page, index).click()
    sentence(page, 12).click()
    expect(page.get_by_role("alert").filter(has_text="You have selected all 6 sentences")).to_be_visible()
    expect(sentence(page, 12)).to_have_attribute("aria-pressed", "false")
    expect(count(page)).to_have_text("6 of 6 selected.")
    sentence(page, 1).click()
    expect(page.get_by_text("You have selected all 6 sentences")).to_have_count(0)
    sentence(page, 12).click()
    expect(sentence(page, 12)).to_have_attribute("aria-pressed", "true")


def test_time_counts_while_somebody_works_and_goes_on_after_a_reload(serve: Serve, page: Page) -> None:
    passed = timedelta()  # by the server's clock, which bounds the time of work
    with serve(clock=lambda: utc_now() + passed) as served:
        page.clock.install()
        sign_in(page, served, "Ada")
        open_first(page)
        for index in (1, 2, 3):
            page.clock.run_for(1100)
            passed += timedelta(seconds=1.1)
            sentence(page, index).click()
        saved(page)
        page.reload()
        expect(count(page)).to_have_text(f"3 of {BUDGET} selected.")
        submit(page, "Submit 3 sentences")
        expect(page.get_by_text(re.compile(r"^0:(?:0[3-9]|[1-5]\d) min of work"))).to_be_visible()


def test_tabs_of_one_browser_may_be_different_people(serve: Serve, new_page: NewPage) -> None:
    page = new_page(expected_errors=["status of 401"])
    with serve() as served:
        sign_in(page, served, "Ada")
        open_first(page)
        other = page.context.new_page()
        other.goto(served.address.url)
        other.get_by_role("button", name="Sign out").click()
        expect(other.get_by_label("Your name")).to_be_visible()  # else the page is left before it has said so
        other.goto(f"{served.address.url}#/pick/{A}")
        expect(other.get_by_label("Your name")).to_be_visible()
        sign_in(other, served, "Bob")
        open_first(other)
        sentence(page, 2).click()
        saved(page)
        sentence(other, 4).click()
        saved(other)
        last = {path.name.split("-")[0]: path.read_text().splitlines()[-1] for path in served.folder.glob("*.jsonl")}
    assert {name: json.loads(line)["sentences"] for name, line in last.items()} == {
        "ada": [2],
        "bob": [4],
    }


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\u202eevil\u202c \u0000 \u001b[2J",
    "",
    "w" * 100_000,
    "שלום <b>bold</b>",
)


def test_hostile_texts_and_names_are_shown_as_text(serve: Serve, page: Page, tmp_path: Path) -> None:
    instance = SAMPLE[0]
    query: Query = replace(
        instance.query,
        instance_id="a/b?c#d%2F<b>&é",
        hypothesis="</script><img src=x onerror=alert(2)>",
        sentences=HOSTILE + instance.query.sentences[len(HOSTILE) :],
    )
    hostile: Instance = replace(instance, query=query, origin=None)
    write_dataset(tmp_path / "hostile.json", [hostile])
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    with serve(open_dataset(tmp_path / "hostile.json")) as served:
        sign_in(page, served, "<i>Ada</i>")
        expect(page.locator(".person-bar strong")).to_have_text("<i>Ada</i>")
        open_first(page)
        expect(page.locator(".pick-hypothesis")).to_have_text(query.hypothesis)
        for index in range(len(HOSTILE)):
            sentence(page, index).click(position={"x": 30, "y": 10})
        expect(count(page)).to_have_text(f"{BUDGET} of {BUDGET} selected.")
        assert page.locator(".people img, .people i, .people b b").count() == 0
        assert_fits(page)
        submit(page, "Submit 6 sentences")
        assert page.locator(".people img").count() == 0


def test_every_page_fits_and_is_accessible(serve: Serve, new_page: NewPage) -> None:
    page = new_page(expected_errors=["status of 400"])
    with serve() as served:
        page.goto(served.address.url)
        expect(page.get_by_label("Your name")).to_be_focused()
        assert_accessible(page, 1280, 360)
        page.get_by_label("Your name").fill("   ")
        page.get_by_role("button", name="Begin").click()
        expect(page.get_by_role("alert").filter(has_text="one letter at least")).to_be_visible()
        sign_in(page, served, "Ada")
        page.get_by_text("What counts as evidence").last.click()
        assert_accessible(page, 1280, 360)
        open_first(page)
        sentence(page, 2).click()
        saved(page)
        assert_accessible(page, 1280, 360)
        page.locator("aside").get_by_role("button", name="Submit 1 sentence").click()
        assert_accessible(page, 1280, 360)
        page.get_by_role("dialog").get_by_role("button", name="Submit 1 sentence").click()
        expect(page.get_by_role("heading", name="Your aspect recall")).to_be_visible()
        assert_accessible(page, 1280, 360)


def test_a_sentence_that_is_reached_is_not_hidden_by_the_bar(serve: Serve, new_page: NewPage) -> None:
    page = new_page(360, 740)
    with serve() as served:
        sign_in(page, served, "Ada")
        open_first(page)
        for key in (*["j"] * 25, *["k"] * 20):
            page.keyboard.press(key)
            box = box_of(page.locator("*:focus"))
            bar = box_of(page.locator(".pick-bar"))
            side = box_of(page.locator(".pick-side"))
            assert box["y"] >= bar["y"] + bar["height"] - 1
            assert box["y"] + min(box["height"], 24) <= side["y"] + 1


def drag_over(page: Page, index: int) -> str:
    """Drag the mouse over the words of a sentence; return the selected text."""
    words = box_of(sentence(page, index).locator(".pick-words"))
    page.mouse.move(words["x"] + 12, words["y"] + 12)
    page.mouse.down()
    page.mouse.move(words["x"] + 200, words["y"] + 12, steps=5)
    page.mouse.up()
    selected: str = page.evaluate("String(getSelection())")
    return selected


def test_text_that_is_selected_for_copying_is_not_picked(picking: Page, tmp_path: Path) -> None:
    page = picking
    assert drag_over(page, 4) in SAMPLE[A].query.sentences[4]
    assert len(page.evaluate("String(getSelection())")) > 5
    expect(sentence(page, 4)).to_have_attribute("aria-pressed", "false")
    sentence(page, 5).click(click_count=2)  # selects a word
    sentence(page, 6).click(click_count=3)  # selects all of it
    expect(count(page)).to_have_text(f"0 of {BUDGET} selected.")
    sentence(page, 4).click()
    expect(sentence(page, 4)).to_have_attribute("aria-pressed", "true")
    drag_over(page, 4)
    expect(sentence(page, 4)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Space")
    expect(count(page)).to_have_text(f"0 of {BUDGET} selected.")
    saved(page)
    (path,) = (tmp_path / "people").glob("*.jsonl")
    assert json.loads(path.read_bytes().splitlines()[-1])["revision"] >= 2


UNTIL_AT_REST = """async () => {
  for (let at = null; at !== scrollY;) {
    at = scrollY;
    await new Promise((resume) => setTimeout(resume, 150));
  }
}"""


def test_a_finger_picks_by_a_tap_and_not_by_scrolling(serve: Serve, new_page: NewPage) -> None:
    page = new_page(360, 740, has_touch=True, is_mobile=True)
    with serve() as served:
        sign_in(page, served, "Ada")
        open_first(page)
        box = box_of(sentence(page, 3))
        touch = page.context.new_cdp_session(page)
        for kind, y in (("touchStart", 0), ("touchMove", -30), ("touchMove", -60), ("touchEnd", None)):
            points = [] if y is None else [{"x": box["x"] + 60, "y": box["y"] + 15 + y}]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        expect(count(page)).to_have_text(f"0 of {BUDGET} selected.")
        page.evaluate(UNTIL_AT_REST)  # a tap on a page that still glides only stops it
        sentence(page, 3).tap(position={"x": 60, "y": 12})
        expect(sentence(page, 3)).to_have_attribute("aria-pressed", "true")


def test_what_one_tab_picks_or_submits_is_seen_in_the_others_at_once(serve: Serve, page: Page) -> None:
    with serve() as served:
        sign_in(page, served, "Ada")
        open_first(page)
        other, queue = page.context.new_page(), page.context.new_page()
        other.goto(f"{served.address.url}#/pick/{A}")
        expect(count(other)).to_have_text(f"0 of {BUDGET} selected.")
        queue.goto(f"{served.address.url}#/queue")
        expect(queue.get_by_text("0 of 10 submitted")).to_be_visible()
        sentence(other, 5).click()
        expect(page.locator(".picks li b")).to_have_text(["5"])
        told = page.get_by_role("alert").filter(has_text="both are now combined")
        expect(told).to_be_visible()
        expect(page.get_by_role("button", name="Undo")).to_be_disabled()
        sentence(page, 1).click()
        expect(other.locator(".picks li b")).to_have_text(["1", "5"])
        other.get_by_role("button", name="Undo").click()
        expect(page.locator(".picks li b")).to_have_text(["1"])
        expect(other.locator(".picks li b")).to_have_text(["1"])
        other.locator("aside").get_by_role("button", name="Submit 1 sentence").click()
        submit(page, "Submit 1 sentence")
        expect(other.get_by_role("alert").filter(has_text="submitted this paper in another tab")).to_be_visible()
        expect(other.get_by_role("dialog")).to_have_count(0)
        expect(other.get_by_role("button", name=re.compile("^Submit"))).to_have_count(0)
        other.get_by_role("link", name="Your answer and the evidence").click()
        expect(other.get_by_role("heading", name="Your aspect recall")).to_be_visible()
        assert_accessible(other)
        expect(queue.get_by_text("1 of 10 submitted")).to_be_visible()


def test_changes_can_be_undone_and_redone_by_keys_also_after_a_reload(picking: Page) -> None:
    page = picking
    for index in (1, 2, 3):
        sentence(page, index).click()
    sentence(page, 2).click()
    picked = page.locator(".picks li b")
    expect(picked).to_have_text(["1", "3"])
    saved(page)
    page.reload()
    expect(picked).to_have_text(["1", "3"])
    page.keyboard.press("Control+z")
    expect(picked).to_have_text(["1", "2", "3"])
    page.keyboard.press("Meta+z")
    expect(picked).to_have_text(["1", "2"])
    saved(page)
    page.reload()
    expect(picked).to_have_text(["1", "2"])
    page.keyboard.press("Control+Shift+z")
    expect(picked).to_have_text(["1", "2", "3"])
    page.keyboard.press("Control+y")
    expect(picked).to_have_text(["1", "3"])
    expect(page.get_by_role("button", name="Redo")).to_be_disabled()
    for _ in range(4):
        page.get_by_role("button", name="Undo").click()
    expect(count(page)).to_have_text(f"0 of {BUDGET} selected.")
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_a_person_comes_back_to_the_paper_and_the_place_that_were_left(serve: Serve, new_page: NewPage) -> None:
    page = new_page(1280, 600)
    with serve() as served:
        sign_in(page, served, "Ada")
        page.goto(f"{served.address.url}#/pick/{B}")
        expect(sentence(page, 0)).to_be_focused()
        sentence(page, 40).evaluate("(one) => one.scrollIntoView()")  # by scrolling alone, without a key or a click
        page.evaluate(STILL)
        page.goto(f"{served.address.url}#/queue")
        expect(page.get_by_text(SAMPLE[B].query.hypothesis[:60]).first).to_be_visible()
        elsewhere = new_page(1280, 600)
        sign_in(elsewhere, served, "Ada")
        elsewhere.get_by_role("link", name="Continue", exact=True).click()
        expect(elsewhere.locator(".pick-hypothesis")).to_have_text(SAMPLE[B].query.hypothesis)
        expect(elsewhere.get_by_text(re.compile("You stopped at sentence (39|40)"))).to_be_visible()
        expect(sentence(elsewhere, 40)).to_be_in_viewport()
        expect(sentence(elsewhere, 0)).not_to_be_in_viewport()


def test_each_submitted_paper_has_its_score_and_the_end_a_summary_beside_the_systems(
    serve: Serve, new_page: NewPage, sample_runs: tuple[Path, ...]
) -> None:
    page = new_page(360, 740)
    recalls = []
    with serve(runs=sample_runs, limit=3) as served:
        sign_in(page, served, "Ada")
        expect(page.get_by_role("heading", name="Your score")).to_have_count(0)
        page.get_by_role("link", name="Begin with the first paper").click()
        for number, instance_id in enumerate(SAMPLE.ids[:3], 1):
            sentence(page, 2).click()
            submit(page, "Submit 1 sentence")
            if number == 1:
                expect(page.get_by_label("System A")).to_have_value("Ada (you)")
                page.get_by_label("System B").select_option("oracle")
                expect(page.locator(".side-name")).to_contain_text(["Ada (you)", "oracle"])
            recalls.append(shown_recall(page))
            page.get_by_role("link", name="All papers, and your score").click()
            shown = page.locator(".queue-item").filter(has_text=SAMPLE[instance_id].query.hypothesis)
            expect(shown).to_contain_text(f"submitted · {recalls[-1]:.1f} %")
            expect(
                page.get_by_role("heading", name="Your score so far" if number < 3 else "Your score")
            ).to_be_visible()
            assert_accessible(page)
            if number < 3:
                page.get_by_role("link", name="Continue", exact=True).click()
        summary = page.locator(".own-summary").text_content() or ""
        rows = page.locator(".own-scores tbody tr").all_text_contents()
    assert re.fullmatch(r"You [\d.]+, .*(bm25|tfidf) [\d.]+ on your 3 papers\.", summary)
    assert "oracle" not in summary
    for name in ("You", "abstract_backwards *", "bm25", "lead *", "oracle *", "tfidf"):
        assert len([row for row in rows if re.match(rf"{re.escape(name)}\d+\.\d \[", row)]) == 1, (name, rows)


def test_what_one_person_picks_on_two_machines_is_put_together(machines: tuple[Page, Page], tmp_path: Path) -> None:
    page, other = machines
    for index in (1, 2):
        sentence(page, index).click()
        saved(page)
    sentence(other, 5).click()
    expect(other.locator(".picks li b")).to_have_text(["1", "2", "5"])
    expect(other.get_by_role("alert").filter(has_text="changed in another tab")).to_be_visible()
    saved(other)
    sentence(page, 2).click()  # takes it back, not knowing of 5
    expect(page.locator(".picks li b")).to_have_text(["1", "5"])
    saved(page)
    other.evaluate("window.dispatchEvent(new Event('focus'))")  # as when somebody comes back to it
    expect(other.locator(".picks li b")).to_have_text(["1", "5"])
    submit(page, "Submit 2 sentences")
    other.clock.fast_forward(60_000)  # an idle page learns it by itself
    expect(other.get_by_role("alert").filter(has_text="submitted this paper in another tab")).to_be_visible()
    expect(other.get_by_role("button", name=re.compile("^Submit|evidence"))).to_have_count(0)
    (path,) = (tmp_path / "people").glob("ada-*.jsonl")
    assert read_run(path).answer(A, "er_at_optimal") == Ranking(sentences=(1, 5), ordered=False)


def test_what_has_no_room_beside_the_other_tabs_picks_is_named(machines: tuple[Page, Page]) -> None:
    page, other = machines
    for index in range(1, BUDGET + 1):
        sentence(page, index).click()
    saved(page)
    sentence(other, 20).click()
    told = "Left out, since the budget is used up: sentence 20."
    expect(other.get_by_role("alert").filter(has_text=told)).to_be_visible()
    expect(count(other)).to_have_text(f"{BUDGET} of {BUDGET} selected.")


def test_a_submission_that_has_not_seen_the_other_tabs_picks_is_not_final(machines: tuple[Page, Page]) -> None:
    page, other = machines
    sentence(page, 2).click()
    saved(page)
    other.locator("aside").get_by_role("button", name="I find no evidence").click()
    other.get_by_role("dialog").get_by_role("button", name="Submit no sentence").click()
    expect(other.locator(".picks li b")).to_have_text(["2"])
    expect(other.get_by_role("alert").filter(has_text="both are now combined")).to_be_visible()
    submit(other, "Submit 1 sentence")
