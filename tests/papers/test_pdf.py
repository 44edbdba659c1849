"""A paper as a PDF: its sentences in reading order, and nothing else that stands on its pages."""

import pytest

from evidencebench.errors import UnreadableError
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_content
from evidencebench.query import Kind
from printing import BOLD, Sheet, sentences

_TITLE = "The effect of tea on blood pressure in adults"


def _read(sheet: Sheet) -> Paper:
    return read_content(sheet.pdf(), name="tea.pdf")


def _begin(sheet: Sheet) -> float:
    sheet.line(72, 80, _TITLE, size=18, font=BOLD)
    sheet.line(72, 110, "Ann Author, Ben Writer", size=11)
    sheet.line(72, 140, "Abstract", size=12, font=BOLD)
    y = sheet.paragraph(72, 156, " ".join(sentences(3, "green tea")))
    sheet.line(72, y + 14, "Introduction", size=12, font=BOLD)
    return y + 30


def test_title_abstract_and_body_are_read_as_such() -> None:
    sheet = Sheet()
    y = _begin(sheet)
    sheet.paragraph(72, y, " ".join(sentences(6)))
    paper = _read(sheet)
    assert paper.title == _TITLE
    assert paper.sentences == (_TITLE, "Abstract", *sentences(3, "green tea"), "Introduction", *sentences(6))
    assert paper.kinds == (Kind.HEADING, Kind.HEADING, *[Kind.ABSTRACT] * 3, Kind.HEADING, *[Kind.BODY] * 6)
    assert {place.page for place in paper.places} == {1}
    assert [place.section for place in paper.places[-2:]] == [("Introduction",)] * 2
    assert paper.loss.left_out["author or affiliation"].n_elements == 1


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_columns_are_read_one_after_the_other(n_columns: int) -> None:
    sheet = Sheet()
    _begin(sheet)
    said: list[str] = []
    width = 450 / n_columns - 12
    for page in range(2):
        for column in range(n_columns):
            text = sentences(5, start=1 + len(said))
            said += text
            sheet.paragraph(72 + column * 450 / n_columns, 300 if page == 0 else 80, " ".join(text), width=width)
        sheet.end_page()
    assert [text for text, kind in zip(*_text(_read(sheet)), strict=True) if kind is Kind.BODY] == said


def _text(paper: Paper) -> tuple[tuple[str, ...], tuple[Kind, ...]]:
    return paper.sentences, paper.kinds


def test_words_hyphenated_at_line_ends_are_joined_but_compounds_stay() -> None:
    sheet = Sheet()
    y = _begin(sheet)
    said = [
        "The hospi-",
        "talised patients joined a case-",
        "control study, and a p-",
        "value was computed.",
        "Another case-control study of double blind trials was a double-",
        "blind one.",
    ]
    sheet.lines(72, y, said)
    assert _read(sheet).sentences[-2:] == (
        "The hospitalised patients joined a case-control study, and a p-value was computed.",
        "Another case-control study of double blind trials was a double-blind one.",
    )


def test_running_heads_page_numbers_and_line_numbers_are_no_sentences() -> None:
    sheet = Sheet()
    y = _begin(sheet)
    said = sentences(20)
    for page, part in enumerate((said[:8], said[8:14], said[14:]), start=1):
        sheet.line(72, 30, f"Journal of Tea 2019, 12:{page}", size=8)
        sheet.line(290, 820, str(100 + page), size=8)
        for row, text in enumerate(part):
            sheet.line(72, y, text)
            sheet.line(40, y, str(row + 1), size=7)
            y += 12
        sheet.end_page()
        y = 80
    assert _read(sheet).sentences[-20:] == tuple(said)


def test_a_scanned_pdf_is_refused_with_that_word() -> None:
    sheet = Sheet()
    for _ in range(2):
        sheet.canvas.rect(72, 72, 400, 600, fill=1)
        sheet.end_page()
    with pytest.raises(UnreadableError, match=r"tea\.pdf: PDF: scanned: 2 of 2 pages hold no text.*recognise its text"):
        _read(sheet)


def test_a_damaged_pdf_is_refused_in_words() -> None:
    with pytest.raises(UnreadableError, match=r"tea\.pdf: PDF: damaged: PDFium cannot open it; fetch it again"):
        read_content(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3 nothing", name="tea.pdf")
