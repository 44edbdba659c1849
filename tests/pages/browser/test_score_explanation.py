"""The explanation of a score in a real Chromium: the words of every case, and two systems side by side."""

from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from doors import GradedAnswer, GradedInstance, TaskRecord, TaskTerms, viewer_data_of
from evidencebench import TASKS, load_sample
from kit.paper_records import (
    AT_2,
    AT_OPTIMAL,
    HALF,
    OTHER,
    RESULTS_AT_2,
    TERMS,
    UNLIMITED,
    State,
    overview_of,
    record_of,
    show_paper,
)

answered = partial(GradedAnswer, status="answered")
TIED = answered(tied=(2, 5, 0), n_drawn=2, recall=0.5)
# What is said of an answer where two sentences are allowed, and all four aspects count.
ANSWERS: list[tuple[GradedAnswer, str]] = [
    (HALF, "bm25 selected 2 sentences. 2 of them are evidence and cover 2 of the 4 aspects that count: 50.0 %."),
    (HALF, "At most 2 sentences may be selected. All 4 aspects of the paper count. The best 2 sentences cover 3 of 4 "),
    (HALF, "The best 2 sentences cover 3 of 4 (75.0 %), so no system can score more here."),
    (OTHER, "cover 3 of the 4 aspects that count: 75.0 %, the highest possible score."),
    (answered(certain=(0,)), "bm25 selected 1 sentence of the 2 allowed. None of them is evidence, so it covers 0 of"),
    (TIED, "bm25 named 3 sentences, of which only 2 count, each with the same probability: the score is the mean"),
    (
        TIED,
        "the mean over all possible selections. On average, 1.3 of them are evidence and cover 2 of the 4 aspects",
    ),
    (
        answered(certain=(2,), tied=(5, 0), n_drawn=1, recall=0.625),
        "named 3 sentences, of which only 2 count, 1 of them always and 1 of the 2 that are tied",
    ),
    (
        GradedAnswer(status="failed", error="the server is down"),
        "bm25 failed on this instance and gave no answer, which counts as 0 %. The error: the server is down",
    ),
    (GradedAnswer(status="empty"), "bm25 answered, but selected no sentence. An empty answer covers nothing."),
    (GradedAnswer(status="missing"), "bm25 has no answer for this instance in its run, which counts as 0 %."),
    (
        GradedAnswer(status="invalid", error="selects sentence 99"),
        "bm25 gave an answer that cannot be scored, which counts as 0 %: selects sentence 99",
    ),
]
# What is said on other tasks and papers.
OTHERS: list[tuple[TaskRecord, GradedInstance, str]] = [
    (
        UNLIMITED,
        record_of(None, terms=TaskTerms(budget=None, n_aspects=4, ceiling=1.0)),
        "bm25 cannot answer this task: it ranks sentences, and without a budget there is no place to stop.",
    ),
    (
        UNLIMITED,
        record_of(HALF, n_results=2, terms=TaskTerms(budget=None, n_aspects=2, ceiling=1.0)),
        (
            "Any number of sentences may be selected. Of the paper's 4 aspects, only the 2 labelled Results count. "
            "All sentences together cover all 2 (100.0 %)."
        ),
    ),
    (
        RESULTS_AT_2,
        record_of(None, n_results=0),
        "This task counts Results aspects only, and the paper has none. It is left out of this task's scores.",
    ),
    (
        AT_2,
        record_of(HALF, sources=((2,), (4,), (), ()), terms=TERMS),
        "2 aspects have no sentence in the paper and cannot be covered, but they count: 2 3",
    ),
    (
        AT_2,
        record_of(HALF, terms=TaskTerms(budget=2, n_aspects=4, ceiling=None)),
        "The ceiling is not known: it could not be proven.",
    ),
    (
        AT_OPTIMAL,
        record_of(HALF, terms=TaskTerms(budget=3, n_aspects=4, ceiling=1.0)),
        (
            "At most 3 sentences may be selected: the fewest that cover every aspect that can be covered. "
            "All 4 aspects of the paper count. The best 3 sentences cover all 4 (100.0 %)."
        ),
    ),
    (
        AT_OPTIMAL,
        record_of(GradedAnswer(status="empty"), sources=((),), terms=TaskTerms(budget=0, n_aspects=1, ceiling=0.0)),
        (
            "No sentence of the paper states an aspect, so none may be selected, and every score is 0 %. "
            "The paper's only aspect counts."
        ),
    ),
]


def test_the_account_says_why_the_score_is_what_it_is(page: Page, tmp_path: Path) -> None:
    of_answers = ((AT_2, record_of(answer, terms=TERMS), words) for answer, words in ANSWERS)
    for task, record, words in (*of_answers, *OTHERS):
        show_paper(page, tmp_path, overview_of(["bm25"], task), record)
        _unfold(page)
        expect(page.locator(".explanation"), words).to_contain_text(words, use_inner_text=True)


def test_the_account_says_what_two_systems_chose_in_common(page: Page, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25", "tfidf"]), record_of(HALF, OTHER, terms=TERMS), State(b=1))
    expect(page.locator(".in-common")).to_be_hidden()  # folded at first
    _unfold(page)
    expect(page.locator(".in-common")).to_have_text("They selected 1 sentence in common.")


def test_a_task_that_does_not_apply_is_not_shown_as_a_score_of_nothing(page: Page, tmp_path: Path) -> None:
    show_paper(page, tmp_path, overview_of(["bm25", "llm"], RESULTS_AT_2), record_of(None, None), State(b=1))
    expect(page.get_by_role("heading", name="Why there is no score")).to_be_visible()
    expect(page.locator(".toolbar")).to_contain_text("A is not scored here")
    expect(page.locator(".toolbar")).not_to_contain_text("A selected")
    assert "names" not in (page.locator(".map-upright svg").get_attribute("aria-label") or "")
    page.evaluate("view.jump('missed', 1)")
    expect(page.locator("article [role=status]")).to_have_text("A is not scored here.")


def test_two_systems_are_not_set_side_by_side_where_one_cannot_answer(page: Page, tmp_path: Path) -> None:
    terms = TaskTerms(budget=None, n_aspects=4, ceiling=1.0)
    show_paper(page, tmp_path, overview_of(["bm25", "llm"], UNLIMITED), record_of(None, HALF, terms=terms), State(b=1))
    _unfold(page)
    expect(page.locator(".explanation")).to_contain_text("bm25 cannot answer this task")
    expect(page.locator(".explanation")).to_contain_text("llm selected 2 sentences.")
    expect(page.locator(".in-common")).to_have_count(0)


def test_what_is_shown_as_covered_adds_up_to_the_score(
    page: Page, sample_runs: tuple[Path, ...], tmp_path: Path
) -> None:
    answers = tmp_path / "answers.json"  # without an order, and more than most budgets allow
    answers.write_text(str({instance.id: list(range(1, 60, 4)) for instance in load_sample()}).replace("'", '"'))
    viewed = viewer_data_of((*sample_runs, answers), load_sample(), [TASKS["er_at_10"], TASKS["result_er_at_5"]])
    overview = viewed.overview()
    n_drawn = 0
    for position, instance in enumerate(load_sample()):
        record = viewed.record(position, instance)
        show_paper(page, tmp_path, overview, record)
        for task, terms in enumerate(record.terms):
            sums = page.evaluate(
                """(task) => {
                  const graded = gradedOf(read("overview"), read("record"), { task, a: null, b: null });
                  const sum = (side) => graded.counting.reduce((sum, aspect) => sum + side.covers(aspect), 0);
                  return graded.sides.map(sum);
                }""",
                task,
            )
            judged = [answer[task] for answer in record.answers]
            n_drawn += sum(one is not None and one.n_drawn > 0 for one in judged)
            assert sums == pytest.approx(
                [(one.recall or 0) * terms.n_aspects if one and terms else 0 for one in judged]
            )
    assert n_drawn > 10


def _unfold(page: Page) -> None:
    page.locator(".explanation summary").click()
