"""People annotate and adjudicate in a real browser: with the keyboard alone, in two tabs, and over a killed server."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from doors import (
    Annotations,
    AnnotationTask,
    Criterion,
    FileDigest,
    MarksAnswer,
    RatingsAnswer,
    TasksHeader,
    TaskSort,
    annotation_folder,
    read_tasks,
    write_tasks,
)
from evidencebench import Kind
from kit.browsing import NewPage, assert_accessible, assert_asks_before_leaving, say_name
from kit.serving_commands import Serving, serving_command

pytest.importorskip("starlette", reason="needs the extra 'view'")

TEXTS = (
    "Tea and pressure",
    "We asked 120 adults.",
    "<script>alert(1)</script> Pressure fell by 3 mmHg.",
    "Pulse did not.",
)
KINDS = (Kind.HEADING, Kind.ABSTRACT, Kind.BODY, Kind.BODY)
AWAY = ("ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET")


def task(number: int) -> AnnotationTask:
    return AnnotationTask(
        id=f"task_{number}",
        instance_id=f"instance_{number}",
        paper_id=f"paper_{number}",
        hypothesis="Tea lowers blood pressure.",
        aspect_id=f"instance_{number}_aspect_1",
        aspect=f"Pressure fell by {number} mmHg. <b>Not bold</b>",
        summary="In 120 adults, pressure fell.",
        sentences=(*TEXTS, *(f"Sentence {place} of the discussion." for place in range(4, 30))),
        kinds=(*KINDS, *26 * (Kind.BODY,)),
    )


def serving_words(
    folder: Path, sort: TaskSort = "sentences", criteria: Sequence[Criterion] = (), n: int = 3
) -> tuple[str, ...]:
    """Write tasks, and return the arguments of the command that serves them."""
    header = TasksHeader(
        sort=sort, seed=0, data=FileDigest(name="tea.json", sha256="ab" * 32), criteria=tuple(criteria)
    )
    write_tasks(folder / f"{sort}.jsonl", header, [task(number) for number in range(1, n + 1)])
    return "construct", "validate", "sample", "--sort", sort, "--folder", str(folder)


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    """Give the arguments of the command that serves three tasks."""
    return serving_words(tmp_path)


def sign_in(page: Page, url: str, name: str) -> None:
    say_name(page, url, name)
    expect(page.get_by_role("heading", name="Your tasks")).to_be_visible()


def sentence(page: Page, index: int) -> Locator:
    return page.locator(f"#pick-{index}")


def marked(page: Page) -> Locator:
    return page.locator('.pick-sentence[aria-pressed="true"]')


def saved(page: Page) -> None:
    expect(page.locator(".pick-saved")).to_have_text("Saved.")


def sentences_of(tmp_path: Path) -> dict[str, dict[str, tuple[int, ...]]]:
    found = Annotations.read(annotation_folder(tmp_path / "sentences", read_tasks(tmp_path / "sentences.jsonl")))
    return {
        name: {task: one.sentences for task, one in of_one.items() if one.is_done and isinstance(one, MarksAnswer)}
        for name, of_one in found.by_annotator.items()
    }


def test_two_annotators_differ_and_one_decides(
    serving: Serving, words: tuple[str, ...], tmp_path: Path, new_page: NewPage
) -> None:
    with serving(*words) as (url, _):
        said: dict[str, list[list[int]]] = {"Ada": [[2], [2, 3], []], "Bo": [[2], [3, 9], []]}
        for name, marks in said.items():
            page = new_page()
            sign_in(page, url, name)
            page.get_by_role("link", name="Begin with the first").click()
            for number, indices in enumerate(marks, 1):
                expect(page.locator(".pick-eyebrow")).to_contain_text(f"Task {number} of 3")
                for index in indices:
                    sentence(page, index).click()
                page.get_by_role("button", name="Done").click()
            expect(page.get_by_text("All tasks are done. Thank you!")).to_be_visible()
            expect(page.locator(".task-command")).to_contain_text("evidencebench construct validate sample")
        assert sentences_of(tmp_path) == {
            "Ada": {"task_1": (2,), "task_2": (2, 3), "task_3": ()},
            "Bo": {"task_1": (2,), "task_2": (3, 9), "task_3": ()},
        }

        page.get_by_role("link", name="Adjudicate").click()
        expect(page.get_by_role("heading", name="Tasks on which annotators differ")).to_be_visible()
        page.get_by_role("link", name="Begin with the first").click()
        expect(page.locator(".pick-eyebrow")).to_contain_text("Dispute 1 of 1")
        expect(marked(page)).to_have_count(1)  # sentence 3, on which both agree
        expect(page.get_by_label("Who selected sentence 2")).to_contain_text("Ada selected it")
        expect(page.get_by_label("Who selected sentence 2")).to_contain_text("Bo did not")
        expect(sentence(page, 3)).to_be_disabled()
        expect(sentence(page, 20)).to_be_hidden()  # far from any dispute
        page.keyboard.press("Escape")
        expect(page.get_by_text("0 of 1 done")).to_be_visible()
        assert not (tmp_path / "sentences" / "adjudicated.jsonl").exists()  # only to look at a dispute decides nothing
        page.get_by_role("link", name="Begin with the first").click()
        expect(sentence(page, 2)).to_be_focused()
        page.keyboard.press("a")
        expect(sentence(page, 20)).to_be_visible()
        assert_accessible(page)
        page.keyboard.press("x")
        page.get_by_label("Note").fill("It says so.")
        saved(page)
        page.get_by_role("button", name="Done").click()
        expect(page.get_by_text("All disputes are decided. Thank you!")).to_be_visible()
    found = Annotations.read(annotation_folder(tmp_path / "sentences", read_tasks(tmp_path / "sentences.jsonl")))
    (decision,) = found.adjudicated.values()
    assert isinstance(decision, MarksAnswer)
    assert (decision.sentences, decision.note, decision.by) == ((2, 3), "It says so.", "Bo")
    assert decision.is_done


def test_the_keyboard_alone_is_enough_and_a_reload_goes_on(
    serving: Serving, words: tuple[str, ...], tmp_path: Path, page: Page
) -> None:
    with serving(*words) as (url, _):
        sign_in(page, url, "Ada")
        page.keyboard.press("Enter")  # "Begin" has the focus
        expect(sentence(page, 0)).to_be_focused()
        done = page.get_by_role("button", name="Done")
        expect(done).to_have_text("Done: no sentence states it")
        for key in ("j", "j", "x", "ArrowDown", "Space", "k", "k", "x"):
            page.keyboard.press(key)
        expect(marked(page)).to_have_count(3)
        expect(done).to_have_text("Done: 3 sentences selected")
        page.keyboard.press("u")
        page.keyboard.press("Control+z")
        expect(marked(page)).to_have_count(1)
        saved(page)
        page.reload()
        expect(sentence(page, 2)).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".pick-facts")).to_contain_text("Not done yet.")
        page.keyboard.press("n")
        expect(page.locator(".pick-eyebrow")).to_contain_text("Task 2 of 3")
        page.keyboard.press("p")
        expect(page.locator(".pick-eyebrow")).to_contain_text("Task 1 of 3")
        expect(sentence(page, 0)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".pick-eyebrow")).to_contain_text("Task 2 of 3")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("done, and on to the next task")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(page.get_by_text("1 of 3 done")).to_be_visible()
    assert sentences_of(tmp_path) == {"Ada": {"task_1": (2,)}}


def type_and(page: Page, text: str, leave: str) -> None:
    """Type a note, and leave the page before anything else can run."""
    page.get_by_label("Note").evaluate(
        f"(note, text) => {{ note.value = text; note.dispatchEvent(new Event('input')); setTimeout(() => {leave}); }}",
        text,
    )


def test_a_note_that_was_typed_right_before_the_page_is_left_is_asked_about_and_saved(
    serving: Serving, words: tuple[str, ...], page: Page
) -> None:
    with serving(*words) as (url, _):
        sign_in(page, url, "Ada")
        page.goto(f"{url}#/tasks/task_1")
        page.get_by_label("Note").press_sequentially("The dose")
        saved(page)
        with page.expect_event("dialog") as asks:
            type_and(page, "The dose is another one.", "location.reload()")
            asks.value.accept()
        assert asks.value.type == "beforeunload"
        expect(page.get_by_label("Note")).to_have_value("The dose is another one.")
        page.get_by_label("Note").press("End")  # so that the browser asks
        with page.expect_event("dialog") as asks:
            type_and(page, "The dose is another one. So is the time.", "location.replace('about:blank')")
            asks.value.accept()
        page.wait_for_url("about:blank")
        page.goto(f"{url}#/tasks/task_1")
        expect(page.get_by_label("Note")).to_have_value("The dose is another one. So is the time.")


def test_what_was_marked_while_the_server_refused_the_mark_before_is_saved(
    serving: Serving, words: tuple[str, ...], new_page: NewPage
) -> None:
    page = new_page(expected_errors=["status of 400"])
    held: list[Route] = []
    with serving(*words) as (url, _):
        sign_in(page, url, "Ada")
        page.goto(f"{url}#/tasks/task_1")
        page.route("**/api/people/answer*", lambda route: route.continue_() if held else held.append(route))
        sentence(page, 2).click()
        expect(page.locator(".pick-saved")).to_have_text("Saving…")
        sentence(page, 3).click()
        held[0].fulfill(status=400, json={"error": "not now"})
        saved(page)
        page.reload()
        expect(marked(page)).to_have_count(2)


def test_what_two_tabs_of_one_person_mark_is_put_together(
    serving: Serving, words: tuple[str, ...], tmp_path: Path, new_page: NewPage
) -> None:
    with serving(*words) as (url, _):
        one = new_page(expected_errors=["status of 409"])
        sign_in(one, url, "Ada")
        other = one.context.new_page()
        for page in (one, other):
            page.goto(f"{url}#/tasks/task_1")
            expect(sentence(page, 0)).to_be_focused()
        sentence(one, 2).click()
        saved(one)
        sentence(other, 9).click()
        expect(marked(other)).to_have_count(2)
        expect(other.get_by_role("alert").filter(has_text="changed in another tab")).to_be_visible()
        saved(other)
        sentence(one, 2).click()  # taken back, though the other tab has saved since
        expect(sentence(one, 9)).to_have_attribute("aria-pressed", "true")
        one.get_by_role("button", name="Done").click()
        expect(one.locator(".pick-eyebrow")).to_contain_text("Task 2 of 3")
    assert sentences_of(tmp_path) == {"Ada": {"task_1": (9,)}}


def test_a_killed_server_loses_nothing_and_what_was_marked_meanwhile_is_saved_when_it_is_back(
    words: tuple[str, ...], tmp_path: Path, new_page: NewPage
) -> None:
    page = new_page(expected_errors=[*AWAY, "status of 401", "status of 409"])
    with serving_command(*words) as (url, port):
        sign_in(page, url, "Ada")
        page.goto(f"{url}#/tasks/task_2")
        sentence(page, 2).click()
        saved(page)
    sentence(page, 9).click()
    expect(page.locator(".pick-saved")).to_have_text("Not saved.")
    expect(page.get_by_role("alert").filter(has_text="does not answer")).to_be_visible()
    assert_asks_before_leaving(page)
    with serving_command(*words, port=port):
        saved(page)
        expect(page.get_by_role("alert").filter(has_text="does not answer")).to_have_count(0)
        page.reload()
        expect(marked(page)).to_have_count(2)
        page.get_by_role("button", name="Done").click()
        expect(page.locator(".pick-eyebrow")).to_contain_text("Task 3 of 3")
    sentence(page, 3).click()
    page.get_by_role("button", name="Done").click()  # and the page of the task is left
    expect(page.locator(".people-page").get_by_role("alert")).to_contain_text("does not answer")
    with serving_command(*words, port=port):
        page.get_by_role("link", name="All tasks").last.click()
        expect(page.get_by_text(re.compile("^ (1|2) of 3 done"))).to_be_visible()
        for _ in range(600):
            if "task_3" in sentences_of(tmp_path)["Ada"]:
                break
            page.wait_for_timeout(100)
        page.goto("about:blank")
    assert sentences_of(tmp_path) == {"Ada": {"task_2": (2, 9), "task_3": (3,)}}


def test_text_of_papers_stays_text_and_every_page_fits_and_is_accessible(
    serving: Serving, words: tuple[str, ...], page: Page
) -> None:
    with serving(*words) as (url, _):
        page.goto(url)
        assert_accessible(page, 360, 1280)
        sign_in(page, url, "Ada <i>")
        assert_accessible(page, 360, 1280)
        page.goto(f"{url}#/tasks/task_1")
        expect(sentence(page, 2)).to_contain_text("<script>alert(1)</script> Pressure")
        expect(page.locator("h1.pick-hypothesis")).to_have_text("Pressure fell by 1 mmHg. <b>Not bold</b>")
        sentence(page, 2).click()
        assert_accessible(page, 360, 1280)
        assert page.locator("main script, main b b, main i").count() == 0
        page.goto("about:blank")


def test_hypotheses_are_rated_with_yes_and_no(serving: Serving, tmp_path: Path, page: Page) -> None:
    criteria = [Criterion(name=name, question=f"Is it {name}?") for name in ("valuable", "relevant")]
    with serving(*serving_words(tmp_path, "hypotheses", criteria, n=2)) as (url, _):
        sign_in(page, url, "Ada")
        page.keyboard.press("Enter")
        expect(page.get_by_role("group", name="Is it valuable?").get_by_role("button", name="Yes")).to_be_focused()
        expect(page.get_by_role("list", name="Sentences of the paper")).to_contain_text("We asked 120 adults.")
        assert_accessible(page)
        page.keyboard.press("y")
        page.get_by_role("button", name="Done").click()
        expect(page.get_by_role("alert").filter(has_text="Some questions are not answered yet.")).to_be_visible()
        page.get_by_role("group", name="Is it relevant?").get_by_role("button", name="No").click()
        page.keyboard.press("Enter")
        expect(page.locator(".pick-eyebrow")).to_contain_text("Task 2 of 2")
        page.keyboard.press("y")
        page.keyboard.press("x")
        page.keyboard.press("Enter")
        expect(page.get_by_text("All tasks are done. Thank you!")).to_be_visible()
    tasks = read_tasks(tmp_path / "hypotheses.jsonl")
    found = annotation_folder(tmp_path / "hypotheses", tasks).answers_of("Ada")
    assert [one.ratings for one in found.values() if isinstance(one, RatingsAnswer)] == 2 * [
        {"valuable": True, "relevant": False}
    ]
    assert all(one.is_done for one in found.values())


def test_a_pair_shows_the_sentence_among_those_around_it(serving: Serving, tmp_path: Path, page: Page) -> None:
    with serving("construct", "validate", "sample", "--sort", "pairs", "--folder", str(tmp_path)) as (url, _):
        sign_in(page, url, "Ada")
        first, *_ = tasks = read_tasks(tmp_path / "pairs.jsonl").records
        page.get_by_role("link", name="Begin with the first").click()
        expect(page.locator(".pick-eyebrow")).to_contain_text(f"Task 1 of {len(tasks)}")
        expect(page.locator(".task-excerpt")).to_have_text(f"{first.before} {first.text} {first.after}".strip())
        expect(page.locator(".task-excerpt mark")).to_have_text(first.text)
        assert_accessible(page)
        page.keyboard.press("y")
        page.keyboard.press("Enter")
        expect(page.locator(".pick-eyebrow")).to_contain_text("Task 2 of")
    asked = read_tasks(tmp_path / "pairs.jsonl")
    (answer,) = annotation_folder(tmp_path / "pairs", asked).answers_of("Ada").values()
    assert isinstance(answer, RatingsAnswer)
    assert (answer.id, answer.ratings, answer.is_done) == (first.id, {"holds": True}, True)


def test_a_long_list_shows_a_hundred_tasks_at_first(serving: Serving, tmp_path: Path, page: Page) -> None:
    with serving(*serving_words(tmp_path, n=130)) as (url, _):
        sign_in(page, url, "Ada")
        expect(page.get_by_text("0 of 130 done")).to_be_visible()
        expect(page.locator(".queue-item")).to_have_count(100)
        page.get_by_role("button", name="Show more").click()
        expect(page.locator(".queue-item")).to_have_count(130)
        expect(page.get_by_role("button", name="Show more")).to_be_hidden()
