"""The page of disagreements in a browser."""

from pathlib import Path

from playwright.sync_api import Page

from browsing import address_of, assert_accessible
from evidencebench.construction.people.agreement import Disagreement
from evidencebench.pages.disagreements import disagreements_page


def test_it_is_accessible_and_fits_a_phone(page: Page, tmp_path: Path) -> None:
    found = [
        Disagreement(
            task="task_1",
            paper_id="paper",
            aspect="Pressure fell.",
            number=number,
            kind="body",
            sentence=f"It fell by {number} mmHg. " * 8,
            before="Before.",
            after="After.",
            marked_by=("Ada",) if number % 2 else ("Bo",),
            not_marked_by=("Bo",) if number % 2 else ("Ada",),
        )
        for number in range(6)
    ]
    (tmp_path / "page.html").write_text(disagreements_page(found, title="Disagreements in tasks.jsonl"), "utf-8")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address_of(tmp_path / "page.html"))
    assert_accessible(page)
