"""The text of a paper and the rows of the list stand first, on a screen and on paper."""

import re
from pathlib import Path

import pypdfium2
import pytest
from playwright.sync_api import Page, expect

from doors import GradedAnswer, TaskTerms, viewer_data_of
from evidencebench import load_sample
from kit.asking_app import running
from kit.browsing import address_of, assert_fits, box_of
from kit.paper_records import State, overview_of, record_of, show_paper

SAMPLE = load_sample()
SCREENS = ((1440, 900, 185, 6), (390, 844, 265, 3), (360, 780, 265, 2), (720, 450, 205, 2))
"""Width, height (the last is 1440 x 900 at 200 %), where the text begins at most, and how many sentences are whole."""

LISTS = ((1440, 900, 235, 19), (390, 844, 380, 13))
"""Width, height, where the first row of the list begins at most, and how many rows a long list would show whole."""

N_WHOLE = """(all) => {
  const bottom = document.querySelector(".bars").getBoundingClientRect().top;
  return all.filter((one) => one.getBoundingClientRect().bottom <= bottom).length;
}"""


def _assert_text_first(page: Page, address: str) -> None:
    for width, height, most, n_whole in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        page.goto("about:blank")
        page.goto(address)
        first = page.locator(".sentence").first
        expect(first).to_be_visible()
        page.wait_for_function("() => scrollY === 0")
        box = box_of(first)
        assert box["y"] <= most, f"the first sentence begins at {box['y']:.0f} of {height}, {width} wide"
        assert page.locator(".sentence").evaluate_all(N_WHOLE) >= n_whole, (width, height)
        assert_fits(page)
    for width, height, most, n_whole in LISTS:
        page.set_viewport_size({"width": width, "height": height})
        page.goto("about:blank")
        page.goto(address.partition("#")[0] + "#/papers")
        rows = page.locator(".row")
        expect(rows).to_have_count(len(SAMPLE))
        box = box_of(rows.first)
        assert box["y"] <= most, f"the first row begins at {box['y']:.0f} of {height}, {width} wide"
        assert (height - box["y"]) // max(box_of(row)["height"] for row in rows.all()) >= n_whole
        assert_fits(page)


def test_sentences_and_rows_are_on_the_first_screen_of_a_report_and_of_the_app(
    page: Page, report: Path, sample_runs: tuple[Path, ...]
) -> None:
    _assert_text_first(page, address_of(report, f"#/papers/{SAMPLE.ids[0]}?a=bm25&b=tfidf"))
    with running(viewer_data_of(sample_runs, SAMPLE)) as app:
        _assert_text_first(page, f"{app.url}#/papers/{SAMPLE.ids[0]}?a=bm25&b=tfidf")
        page.goto("about:blank")


@pytest.mark.parametrize("beside", [7, 11, 13])
def test_a_printed_paper_is_short_and_whole_and_no_heading_stands_apart_from_its_text(
    page: Page, tmp_path: Path, beside: int
) -> None:
    """A heading every ``beside`` sentences: somewhere one would be the last line of a column."""
    systems = [f"system {n}" for n in range(19)]
    kinds = "".join("h" if index % beside == 0 else "b" for index in range(150))
    sentences = [
        f"Heading{index}x" if kind == "h" else f"Sentence{index}x " + "says what a paper says about this matter. " * 4
        for index, kind in enumerate(kinds)
    ]
    answer = GradedAnswer(status="answered", certain=(3, 5), recall=0.1)
    sources = [(4, 5 + aspect) for aspect in range(12)]
    record = record_of(
        *[answer] * len(systems),
        sentences=sentences,
        kinds=kinds,
        sources=sources,
        terms=TaskTerms(budget=2, n_aspects=12, ceiling=0.5),
    )
    show_paper(page, tmp_path, overview_of(systems), record, State(b=1))
    document = pypdfium2.PdfDocument(page.pdf(format="A4"))
    texts = [one.get_textpage() for one in document]
    assert len(texts) <= 8
    last = texts[-1].get_text_range()
    assert "Aspects (12)" in last
    for name in systems:
        assert texts[-1].search(name).get_next(), name
        left, _, right, _ = texts[-1].get_charbox(last.index(name))
        assert 0 < left < right < document[len(texts) - 1].get_width(), name
    n_headings = 0
    for text in texts:
        words = text.get_text_range().split("Aspects (12)")[0]
        for found in re.finditer(r"Heading(\d+)x", words):
            n_headings += 1
            next_place = words.find(f"Sentence{int(found[1]) + 1}x")
            assert next_place >= 0, f"{found[0]} is the last of its page"
            left, bottom, _, _ = text.get_charbox(found.start())
            next_left, _, _, next_top = text.get_charbox(next_place)
            assert abs(left - next_left) < 5, f"{found[0]} is the last of its column"
            assert 0 < bottom - next_top < 30
    assert n_headings == kinds.count("h")
    document.close()
