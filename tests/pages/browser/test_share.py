"""One paper saved as one small file: from a report and from the app, opened from the disk."""

from pathlib import Path

from playwright.sync_api import Page, expect

from doors import report_page, viewer_data_of
from evidencebench import TASKS, Dataset, Resampling, execute, load_sample
from kit.asking_app import running
from kit.browsing import NewPage, address_of, assert_accessible, assert_fits
from kit.hostile_data import hostile_dataset

SAMPLE = load_sample()
QUERY = "?task=er_at_10&a=tfidf&b=bm25"
MOST_BYTES = 300_000


def shared_file(page: Page, folder: Path) -> Path:
    """Press the button and return the file that the browser saves."""
    folder.mkdir(exist_ok=True)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Share this paper").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def shown(page: Page) -> str:
    page.locator("#s-0").wait_for()
    return page.locator(".paper-holder").text_content() or ""


def report_of(dataset: Dataset, folder: Path) -> Path:
    runs = [folder / f"{system}.jsonl" for system in ("bm25", "tfidf")]
    for run in runs:
        execute(run.stem, dataset, run)
    made = report_page(runs, dataset, [TASKS["er_at_10"]], resampling=Resampling(n_draws=50), title="Two <rankings>")
    (folder / "report.html").write_text(made, "utf-8")
    return folder / "report.html"


def test_a_paper_of_a_report_is_saved_as_one_file_that_shows_the_same(new_page: NewPage, tmp_path: Path) -> None:
    report = report_of(SAMPLE, tmp_path)
    page = new_page()
    page.goto(address_of(report, f"#/papers/{SAMPLE.ids[3]}{QUERY}"))
    told = shown(page)
    path = shared_file(page, tmp_path / "once")
    assert path.name == f"paper_{SAMPLE.ids[3]}.html"
    assert path.stat().st_size < MOST_BYTES
    assert shared_file(page, tmp_path / "again").read_bytes() == path.read_bytes()
    # Each other paper, and the folder of the report, stay behind.
    text = path.read_text("utf-8")
    assert not any(one in text for one in SAMPLE.ids if one != SAMPLE.ids[3])
    assert str(tmp_path) not in text

    other = new_page()
    asked: list[str] = []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(address_of(path))
    assert shown(other) == told
    assert asked == [address_of(path)]
    assert "task=er_at_10&a=tfidf&b=bm25" in other.url
    expect(other.locator("a.row-link")).to_be_hidden()
    wide = other.locator(".paper").evaluate("(paper) => paper.offsetWidth")
    other.keyboard.press("l")  # there is no list to show
    assert other.locator(".paper").evaluate("(paper) => paper.offsetWidth") == wide > 1000
    # Files on a disk may share what they store: a report keeps its list.
    assert other.evaluate("localStorage.getItem('evidencebench-list-folded')") is None
    assert_accessible(other)
    other.keyboard.press("Escape")  # leads back to a list elsewhere
    expect(other.locator("#s-0")).to_be_visible()
    assert shared_file(other, tmp_path / "third").read_bytes() == path.read_bytes()


def test_a_paper_of_the_app_is_saved_by_the_same_code(
    new_page: NewPage, sample_runs: tuple[Path, ...], tmp_path: Path
) -> None:
    page = new_page()
    with running(viewer_data_of(sample_runs, SAMPLE)) as app:
        page.goto(f"{app.url}#/papers/{SAMPLE.ids[0]}{QUERY}")
        told = shown(page)
        path = shared_file(page, tmp_path / "app")
        page.goto("about:blank")
    other = new_page(360, 740)
    other.goto(address_of(path))
    other.locator("#s-0").wait_for()
    assert_fits(other)
    other.set_viewport_size({"width": 1280, "height": 900})
    other.reload()
    assert shown(other) == told


def test_hostile_texts_stay_text_in_a_shared_paper(new_page: NewPage, tmp_path: Path) -> None:
    dataset = hostile_dataset(tmp_path)
    page = new_page()
    page.goto(address_of(report_of(dataset, tmp_path), "#/papers"))
    page.locator("a.row-link").first.click()
    told = shown(page)
    path = shared_file(page, tmp_path / "hostile")
    other = new_page()
    other.goto(address_of(path))
    assert shown(other) == told
    assert other.locator("script").count() == 4
    assert other.evaluate("window.owned") is None
