"""A real Chromium, browser pages that fail the test at an error, and files of pages with data and runs."""

from asyncio import AbstractEventLoop, _set_running_loop, get_running_loop
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from doors import report_page, viewer_data_of
from evidencebench import Dataset, Resampling, Task, execute, load_sample
from kit.bare_pages import bare_page
from kit.browsing import BROWSER_FLAGS, MOST_MILLISECONDS, NewPage, Pages, address_of, browser_path, open_report
from kit.serving_commands import Serving, serving_command

_HERE = Path(__file__).parent
expect.set_options(timeout=MOST_MILLISECONDS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def _chromium() -> Iterator[tuple[Browser, AbstractEventLoop]]:
    """Give a Chromium, started once in this process, and playwright's event loop."""
    path = browser_path()
    with sync_playwright() as playwright:
        loop = get_running_loop()
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=BROWSER_FLAGS)
        _set_running_loop(None)
        yield browser, loop
        _set_running_loop(loop)
        browser.close()


@pytest.fixture
def browser(_chromium: tuple[Browser, AbstractEventLoop]) -> Iterator[Browser]:
    """Give the Chromium; its event loop is set during this test only, so that other tests can run their own."""
    browser, loop = _chromium
    _set_running_loop(loop)
    yield browser
    _set_running_loop(None)


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Give a function that opens pages, as `Pages` does; fail the test at their errors."""
    pages = Pages(browser=browser)
    yield pages
    pages.close()
    assert not pages.problems, "\n".join(pages.problems)


@pytest.fixture
def serving(new_page: Pages) -> Serving:
    """Give a function that serves pages by a command; they are left before it is killed, as their icons may be late."""

    @contextmanager
    def serve(*words: str) -> Iterator[tuple[str, int]]:
        with serving_command(*words) as found:
            yield found
            new_page.leave()

    return serve


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """Give an empty page, 1280 by 900."""
    return new_page()


@pytest.fixture(scope="session")
def sample_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Give runs over the sample: bm25 and tfidf."""
    folder = tmp_path_factory.mktemp("runs")
    for system in ("bm25", "tfidf"):
        execute(system, load_sample(), folder / f"{system}.jsonl")
    return folder / "bm25.jsonl", folder / "tfidf.jsonl"


BarePage = Callable[..., Path]
"""Makes a page of a data set with runs, and returns the path of its file."""


@pytest.fixture
def make_bare_page(tmp_path: Path) -> BarePage:
    """Give a function that makes a page with nothing on it but the viewer: (dataset, runs, tasks) -> file."""

    def make(dataset: Dataset, runs: Sequence[Path] = (), tasks: Sequence[Task] = ()) -> Path:
        path = tmp_path / "bare.html"
        path.write_text(bare_page(viewer_data_of(runs, dataset, tasks)), encoding="utf-8")
        return path

    return make


@pytest.fixture(scope="session")
def sample_page(sample_runs: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a page with nothing on it but the viewer of the sample, with two runs and the controls."""
    path = tmp_path_factory.mktemp("page") / "sample.html"
    path.write_text(bare_page(viewer_data_of(sample_runs, load_sample())), encoding="utf-8")
    return path


@pytest.fixture
def sample(page: Page, sample_page: Path) -> Page:
    """Open the list of the sample."""
    page.goto(address_of(sample_page))
    page.locator("a.row-link").first.wait_for()
    return page


@pytest.fixture(scope="session")
def report(sample_runs: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a report of two runs over the sample."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    quick, command = Resampling(n_draws=200), "evidencebench report ..."
    tasks = ("er_at_10", "result_er_at_5")
    made = report_page(sample_runs, load_sample(), tasks, resampling=quick, title="Two rankings", command=command)
    path.write_text(made, "utf-8")
    return path


@pytest.fixture
def opened(page: Page, report: Path) -> Page:
    """Open the report, or that which a fixture ``report`` of the test file gives, and wait until it is drawn."""
    open_report(page, report)
    return page
