"""The page of disagreements in a browser."""

from pathlib import Path

from playwright.sync_api import Page

from doors import Disagreement, disagreements_page
from kit.browsing import address_of, assert_accessible


def test_it_is_accessible_and_fits_a_phone(page: Page, tmp_path: Path) -> None:
    one = Disagreement(
        task="task_1",
        paper_id="paper",
        aspect="Pressure fell.",
        number=1,
        kind="body",
        sentence="It fell by 3 mmHg. " * 12,
        before="Before.",
        after="After.",
        marked_by=("Ada",),
        not_marked_by=("Bo",),
    )
    (tmp_path / "page.html").write_text(disagreements_page([one, one], title="Disagreements in tasks.jsonl"), "utf-8")
    page.goto(address_of(tmp_path / "page.html"))
    assert_accessible(page, 390)
