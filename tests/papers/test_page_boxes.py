"""Where sentences stand on the pages of a PDF: the letters that PDFium draws within their boxes are their letters."""

import ctypes
import io
import unicodedata
from collections import Counter
from functools import cache
from itertools import pairwise

import pypdfium2
import pypdfium2.raw as pdfium
import pytest
from reportlab.lib.utils import simpleSplit

from doors import PageBox, read_content
from evidencebench import Paper, find_evidence
from kit.examples import some_of
from kit.outlines import real_files
from kit.printing import HEIGHT, PLAIN, Sheet, sentences


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))


def _overlaps(paper: Paper, content: bytes) -> list[float]:
    """Return, for each sentence, the share of letters that are its own and within its boxes."""
    document = pypdfium2.PdfDocument(content)

    @cache
    def drawn(number: int) -> list[tuple[float, float, str]]:
        text = document[number - 1].get_textpage()
        sides = [ctypes.c_double() for _ in range(4)]
        found = []
        for index in range(text.count_chars()):
            pdfium.FPDFText_GetCharBox(text.raw, index, *sides)
            left, right, bottom, top = (side.value for side in sides)
            found.append(((left + right) / 2, (bottom + top) / 2, chr(pdfium.FPDFText_GetUnicode(text.raw, index))))
        return found

    def within(box: PageBox) -> set[tuple[float, float, str]]:
        return {
            (x, y, letter)
            for x, y, letter in drawn(box.page)
            if box.left <= x <= box.right and box.bottom <= y <= box.top
        }

    overlaps = []
    for sentence, boxes in zip(paper.sentences, paper.boxes, strict=True):
        letters, there = _letters(sentence), Counter[str]()
        for place in set[tuple[float, float, str]]().union(*map(within, boxes)):
            there += _letters(place[2])
        if letters:
            overlaps.append((letters & there).total() / max(letters.total(), there.total()))
    return overlaps


@pytest.mark.parametrize("direction", [0, 90, 180, 270])
def test_boxes_are_in_the_page_s_own_space_however_it_is_turned_and_cropped(direction: int) -> None:
    sheet = Sheet()
    for column in (72, 320):
        sheet.paragraph(column, 120, " ".join(sentences(9, start=column)), width=200)
    sheet.end_page()
    sheet.canvas.translate(300, 400)
    sheet.canvas.rotate(direction)
    sheet.canvas.translate(-300, -400)
    sheet.paragraph(100, HEIGHT - 500, " ".join(sentences(9, start=50)), width=300)
    document = pypdfium2.PdfDocument(sheet.pdf())
    document[0].set_mediabox(-30, -20, 600, 850)
    for page in document:
        page.set_cropbox(20, 30, 580, 800)
        page.set_rotation(direction)
    content = io.BytesIO()
    document.save(content)
    paper = read_content(content.getvalue(), name="tea.pdf")
    assert paper.sentences == (*sentences(9, start=72), *sentences(9, start=320), *sentences(9, start=50))
    assert min(_overlaps(paper, content.getvalue())) == 1
    assert [box.page for boxes in paper.boxes for box in boxes] == sorted(
        place.page or 0 for boxes, place in zip(paper.boxes, paper.places, strict=True) for _ in boxes
    )
    upright = paper.boxes[0]
    assert upright[0].left == 72
    assert upright[0].bottom < HEIGHT - 120 < upright[0].top
    assert all(below.top < above.top for above, below in pairwise(upright))


def test_find_names_the_page_of_a_sentence_where_its_paragraph_began_on_the_page_before() -> None:
    sheet = Sheet()
    paragraph = sentences(12)
    lines = simpleSplit(" ".join(paragraph), PLAIN, 10, 300)
    for page in (lines[:9], lines[9:]):
        sheet.lines(72, 120, page)
        sheet.end_page()
    paper = read_content(sheet.pdf(), name="tea.pdf")
    assert paper.sentences == tuple(paragraph)
    assert {place.page for place in paper.places} == {1}
    found = find_evidence(paper, "Tea lowers pressure in group 12 of the trial.", system="lead", budget=12)
    assert [one.place.page for one in found.evidence] == sorted(one.place.page or 0 for one in found.evidence)
    assert {one.place.page for one in found.evidence} == {1, 2}


@pytest.mark.data
def test_in_real_papers_the_words_within_a_sentence_s_boxes_are_its_own() -> None:
    for path in some_of(real_files("pdf/*.pdf"), thorough=1, quick=4):
        content = path.read_bytes()
        overlaps = _overlaps(read_content(content, name=path.name), content)
        assert sum(overlap >= 0.9 for overlap in overlaps) >= 0.98 * len(overlaps) > 100, path
