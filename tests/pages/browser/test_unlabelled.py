"""Papers without labels: the pages show what the runs selected, and say that there is nothing to score."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from doors import read_run, report_page, viewer_data_of
from evidencebench import Dataset, Ranking, Resampling, execute
from kit.asking_app import running
from kit.browsing import NewPage, address_of, assert_accessible
from kit.unlabelled import unlabelled_dataset

N_LABELLED = 3
NOTHING_TO_SCORE = "The paper has no labels, so there is nothing to score"


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return unlabelled_dataset(tmp_path, n_labelled=N_LABELLED)


@pytest.fixture
def runs(dataset: Dataset, tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "bm25.jsonl", tmp_path / "lead.jsonl"]
    for path in paths:
        execute(path.stem, dataset, path)
    return paths


def first_ten(path: Path, instance_id: str) -> set[str]:
    """Return the ids of the rows of the first ten sentences that a run names."""
    answer = read_run(path).answer(instance_id, "er_at_10")
    assert isinstance(answer, Ranking)
    return {f"s-{index}" for index in answer.sentences[:10]}


def assert_selections_shown(page: Page, instance_id: str, runs: list[Path]) -> None:
    """Check that a paper shows what A and B selected, and that nothing is scored."""
    expect(page.locator(".terms")).to_contain_text(NOTHING_TO_SCORE)
    for letter, path in zip("ab", runs, strict=True):
        marked = page.locator(f".sentence:has(.lanes .mark-{letter})")
        expect(marked).to_have_count(10)
        assert set(marked.evaluate_all("rows => rows.map((row) => row.id)")) == first_ten(path, instance_id)
    expect(page.locator(".sentence.is-evidence")).to_have_count(0)
    expect(page.locator(".aspects")).to_contain_text("The paper has no labels.")
    assert not re.search(r"\d", "".join(page.locator(".paper-pane .score").all_inner_texts()))
    expect(page.locator(".paper-pane")).not_to_contain_text("NaN")


def test_view_shows_what_runs_selected_in_papers_without_labels(
    new_page: NewPage, dataset: Dataset, runs: list[Path]
) -> None:
    page = new_page()
    with running(viewer_data_of(runs, dataset)) as app:
        page.goto(f"{app.url}#/papers/{dataset.ids[0]}?a=bm25&b=lead")
        page.locator("#s-0").wait_for()
        assert_selections_shown(page, dataset.ids[0], runs)
        assert_accessible(page)
        unlabelled = len(dataset) - N_LABELLED
        page.goto(f"{app.url}#/papers?sort=aspects&order=asc")
        expect(page.locator("tr.row", has_text="no labels")).to_have_count(unlabelled)
        expect(page.locator("tr.row").last).to_contain_text("no labels")  # what has no value stands last
        without = sum(bool(one.labels.aspects) and not one.labels.results for one in dataset)
        expect(page.locator(".list-count")).to_contain_text(f"{without} without Results")
        page.goto(f"{app.url}#/papers/{dataset.ids[0]}?a=bm25&b=lead&task=er_at_optimal")
        expect(page.locator(".terms")).to_contain_text("it is not known how many sentences are enough")
        page.goto("about:blank")


def test_a_report_of_papers_without_labels_shows_selections_and_says_why_nothing_is_scored(
    new_page: NewPage, tmp_path: Path
) -> None:
    dataset = unlabelled_dataset(tmp_path)
    runs = [tmp_path / "bm25.jsonl", tmp_path / "lead.jsonl"]
    for path in runs:
        execute(path.stem, dataset, path)
    (tmp_path / "report.html").write_text(report_page(runs, dataset), "utf-8")
    page = new_page()
    page.goto(address_of(tmp_path / "report.html"))
    expect(page.locator("#summary")).to_contain_text("There is nothing to score: the papers have no labels")
    assert_accessible(page)
    page.get_by_role("link", name="See what each run selected").click()
    page.locator(f'a.row-link[data-id="{dataset.ids[1]}"]').click()
    page.locator("#s-0").wait_for()
    assert_selections_shown(page, dataset.ids[1], runs)


def test_a_report_scores_the_papers_with_labels_and_shows_selections_in_the_others(
    new_page: NewPage, dataset: Dataset, runs: list[Path], tmp_path: Path
) -> None:
    quick = Resampling(n_draws=50)
    (tmp_path / "report.html").write_text(report_page(runs, dataset, resampling=quick), "utf-8")
    page = new_page()
    page.goto(address_of(tmp_path / "report.html", f"#/papers/{dataset.ids[0]}?task=er_at_10&a=bm25&b=lead"))
    page.locator("#s-0").wait_for()
    assert_selections_shown(page, dataset.ids[0], runs)
    page.goto(address_of(tmp_path / "report.html", f"#/papers/{dataset.ids[-1]}?task=er_at_10&a=bm25&b=lead"))
    expect(page.locator(".sentence.is-evidence").first).to_be_attached()
