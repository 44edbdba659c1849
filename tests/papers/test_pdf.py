"""A paper as a PDF: its sentences in reading order, and nothing else that stands on its pages."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
import reportlab
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfbase.pdfmetrics import registerFont
from reportlab.pdfbase.ttfonts import TTFont

from doors import UnreadableError, pages_of, read_content, read_pdf
from evidencebench import Kind, Paper
from kit.examples import IS_THOROUGH, examples
from kit.outlines import n_left_out, outline
from kit.printing import BOLD, PLAIN, Sheet, sentences

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
    sheet.paragraph(72, _begin(sheet), " ".join(sentences(6)))
    paper = _read(sheet)
    assert paper.title == _TITLE
    assert outline(paper) == [
        *(("", "section", text) for text in (_TITLE, "Abstract")),
        *(("Abstract", "abstract", text) for text in sentences(3, "green tea")),
        ("", "section", "Introduction"),
        *(("Introduction", "normal", text) for text in sentences(6)),
    ]
    assert {place.page for place in paper.places} == {1}
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
    assert [text for _, kind, text in outline(_read(sheet)) if kind == "normal"] == said


def test_words_hyphenated_at_line_ends_are_joined_but_compounds_stay() -> None:
    sheet = Sheet()
    y = _begin(sheet)
    said = [
        "Those of the patients in the town and in the villages around it who were hospi-",
        "talised for any reason in the three years of the trial joined a new case-",
        "control study as well, and of all that was measured in its groups a p-",
        "value was computed.",
        "Another case-control study of double blind trials in two towns was a double-",
        "blind one.",
    ]
    sheet.lines(72, y, said)
    words = " ".join(said).replace("hospi- ", "hospi").replace("- ", "-")
    first, last = words.split(". ")
    assert _read(sheet).sentences[-2:] == (f"{first}.", last)


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


def test_a_manuscript_with_numbered_lines_close_to_its_text_is_read() -> None:
    sheet = Sheet()
    said = sentences(24)
    lines = [(_TITLE, BOLD), ("Ann Author", PLAIN), ("ABSTRACT", BOLD), *[(text, PLAIN) for text in said[:3]]]
    lines += [("INTRODUCTION", BOLD), *[(text, PLAIN) for text in said[3:]]]
    y = 80.0
    for number, (text, font) in enumerate(lines, start=1):
        sheet.line(60, y, str(number), size=9)
        sheet.line(86, y, text, font=font)
        y += 22
        if number == 16:
            sheet.end_page()
            y = 80.0
    paper = _read(sheet)
    assert paper.title == _TITLE
    assert paper.sentences == (_TITLE, "ABSTRACT", *said[:3], "INTRODUCTION", *said[3:])
    assert paper.loss.left_out["line number"].n_elements == len(lines)


def test_the_letters_of_a_ligature_belong_to_their_word() -> None:
    registerFont(TTFont("Vera", Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"))  # it has wide ones
    sheet = Sheet()
    sheet.paragraph(72, 80, "The \ufb01rst \ufb02ow was \ufb01ve litres. " + " ".join(sentences(3)), font="Vera")
    assert _read(sheet).sentences[0] == "The first flow was five litres."


def test_a_scanned_a_damaged_and_an_encrypted_pdf_are_refused_with_that_word() -> None:
    scanned, encrypted = Sheet(), Sheet(password="secret")  # noqa: S106 a sample's
    for _ in range(2):
        scanned.canvas.rect(72, 72, 400, 600, fill=1)
        scanned.end_page()
    encrypted.paragraph(72, 80, " ".join(sentences(4)))
    for content, said in (
        (scanned.pdf(), "scanned: 2 of 2 pages .*recognise its text"),
        (encrypted.pdf(), "encrypted: .*password"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3 nothing", "damaged: .*fetch it again"),
    ):
        with pytest.raises(UnreadableError, match=rf"tea\.pdf: PDF: {said}"):
            read_content(content, name="tea.pdf")


def test_every_span_is_the_sentence_in_the_text_of_the_pages() -> None:
    sheet = Sheet()
    y = _begin(sheet)
    said = sentences(16, "long-lasting adminis-tration of tea")
    y = sheet.paragraph(72, y, " ".join(said[:8]), width=180)
    sheet.end_page()
    sheet.paragraph(72, 80, " ".join(said[8:]), width=180)
    content = sheet.pdf()
    paper = read_content(content, name="tea.pdf")
    text = "\f".join(page.text for page in pages_of(content, "tea.pdf")[0])
    assert len(paper.sentences) == len(said) + 6
    for sentence, span, place in zip(paper.sentences, paper.spans, paper.places, strict=True):
        assert list(filter(str.isalnum, text[span.start : span.stop])) == list(filter(str.isalnum, sentence))
        assert place.page == 1 + text[: span.start].count("\f")


def test_a_sentence_goes_on_over_columns_and_pages_and_behind_a_figure() -> None:
    sheet = Sheet()
    y = _begin(sheet)
    first, second, third = sentences(3)
    words = " ".join((*sentences(6, start=10), first)).rsplit(" ", 6)
    y = sheet.paragraph(72, y, words[0], width=210)
    sheet.line(72, y + 20, "Figure 1. The pressure over time, by group.", size=8)
    sheet.paragraph(310, 230, " ".join(words[1:]) + " " + " ".join(second.split()[:9]), width=210)
    sheet.end_page()
    sheet.paragraph(72, 80, " ".join(second.split()[9:]) + " " + third, width=210)
    paper = _read(sheet)
    assert paper.sentences[-3:] == (first, second, third)
    assert [place.page for place in paper.places[-3:]] == [1, 1, 1], "a paragraph is on the page where it begins"
    assert paper.loss.left_out["figure"].n_elements == 1


def test_tables_captions_references_and_notes_are_left_out_and_counted() -> None:
    sheet = Sheet()
    y = sheet.paragraph(72, _begin(sheet), " ".join(sentences(4)))
    y = sheet.paragraph(72, y + 14, "Table 1. Pressure by group, in mmHg, at the end of the trial.", size=9)
    for row in (("Group", "Before", "After"), ("Tea", "140", "131"), ("Water", "141", "140")):
        for column, cell in enumerate(row):
            sheet.line(72 + 90 * column, y, cell, size=9)
        y += 12
    y = sheet.paragraph(72, y + 20, "Table 1 shows that it fell. " + " ".join(sentences(3, start=5)))
    sheet.line(72, y + 40, "* Deceased before the end of the trial, to the sorrow of all.", size=7)
    y = sheet.line(72, y + 80, "References", size=12, font=BOLD) and y + 94
    references = ["1. Smith A. Tea and pressure. J Tea 2001;1:1-9.", "2. Doe B. Water. J Water 2002;2:3-4."]
    sheet.lines(72, y, references, size=8)
    paper = _read(sheet)
    assert paper.sentences[-8:] == (*sentences(4), "Table 1 shows that it fell.", *sentences(3, start=5))
    left_out = n_left_out(paper)
    assert min(left_out["table"], left_out["references"]) >= 2
    assert left_out["note in small type"] == 1
    assert paper.loss.share_kept == 1


def test_the_cells_of_a_table_in_the_type_of_the_text_are_left_out() -> None:
    sheet = Sheet()
    y = sheet.paragraph(72, _begin(sheet), " ".join(sentences(4))) + 14
    sheet.line(120, y, "Table 1: Pressure by group at the end.")
    for row in (("Group", "Before", "After"), ("Tea", "140.1", "131.2"), ("Water", "141.0", "140.3")):
        y += 13
        for x, cell in zip((160, 260, 340), row, strict=True):
            sheet.line(x, y, cell)
    sheet.paragraph(72, y + 28, " ".join(sentences(4, start=5)))
    paper = _read(sheet)
    assert paper.sentences[-8:] == tuple(sentences(8))
    assert paper.loss.left_out["table"].n_characters == len("Table1:Pressurebygroupattheend.GroupBeforeAfter") + 28


def test_sections_have_the_levels_of_their_numbers_or_of_their_type() -> None:
    for numbers, sizes in ((("1 ", "2 ", "2.1 ", "2.2 ", "3 "), (10,) * 5), (("",) * 5, (14, 14, 12, 12, 14))):
        sheet = Sheet()
        sheet.line(72, 80, _TITLE, size=18, font=BOLD)
        y = 110.0
        names = ("Introduction", "Methods", "Participants", "Outcomes", "Results")
        for number, name, size in zip(numbers, names, sizes, strict=True):
            sheet.line(72, y, number + name, size=size, font=BOLD)
            y = sheet.paragraph(72, y + 18, " ".join(sentences(2, name))) + 20
        found = dict.fromkeys(path for path, kind, _ in outline(_read(sheet)) if kind == "normal")
        expected = ["Introduction", "Methods", "Methods/Participants", "Methods/Outcomes", "Results"]
        assert [re.sub(r"[\d. ]", "", path) for path in found] == expected


def test_a_number_that_stands_apart_from_its_heading_belongs_to_it() -> None:
    sheet = Sheet()
    sheet.line(72, 80, _TITLE, size=18, font=BOLD)
    sheet.line(72, 120, "1", size=12, font=BOLD)
    sheet.line(96, 120, "Introduction", size=12, font=BOLD)
    sheet.paragraph(72, 140, " ".join(sentences(4)))
    assert _read(sheet).sentences[:2] == (_TITLE, "1 Introduction")


def test_labels_of_a_structured_abstract_stay_with_their_text() -> None:
    for is_run_in in (True, False):
        sheet = Sheet()
        sheet.line(72, 80, _TITLE, size=18, font=BOLD)
        sheet.line(72, 120, "Abstract", size=12, font=BOLD)
        y = 140.0
        for label, text in zip(("Background", "Results"), sentences(2), strict=True):
            if is_run_in:
                y = sheet.paragraph(72, y, f"{label}: {text}") + 8
            else:
                sheet.line(72, y, label, font=BOLD)
                y = sheet.paragraph(72, y + 14, text) + 8
        sheet.line(72, y + 10, "Background", size=12, font=BOLD)
        sheet.paragraph(72, y + 28, " ".join(sentences(4, "black tea")))
        first, second = sentences(2)
        assert outline(_read(sheet))[2:6] == [
            ("Abstract", "abstract", f"Background: {first}"),
            ("Abstract", "abstract", f"Results: {second}"),
            ("", "section", "Background"),
            ("Background", "normal", sentences(1, "black tea")[0]),
        ]


def test_a_label_in_the_abstract_s_first_line_is_its_heading() -> None:
    sheet = Sheet()
    sheet.line(72, 80, _TITLE, size=18, font=BOLD)
    sheet.paragraph(72, 120, "Abstract. " + " ".join(sentences(3)))
    sheet.line(72, 220, "1. Introduction", size=12, font=BOLD)
    sheet.paragraph(72, 240, " ".join(sentences(3, "black tea")))
    assert outline(_read(sheet))[1:3] == [("", "section", "Abstract"), ("Abstract", "abstract", sentences(1)[0])]


def test_raised_numbers_are_citations_behind_words_and_exponents_behind_numbers() -> None:
    sheet = Sheet()
    x, y = 72.0, _begin(sheet)
    for text, rise in (
        ("It fell", 0), ("3,4", 4), (" in 10", 0), ("6", 4), (" cells at 24 kg/m", 0), ("2", 4), (" of H", 0),
        ("2", -2), ("O.", 0), ("5", 4), (" It rose.", 0),
    ):  # fmt: skip
        x = sheet.line(x, y, text, rise=rise, size=7 if rise else 10)
    sheet.paragraph(72, y + 20, " ".join(sentences(3)))
    assert _read(sheet).sentences[-5:-3] == ("It fell [3,4] in 10^6 cells at 24 kg/m2 of H2O.[5]", "It rose.")


def test_text_that_is_turned_hidden_or_off_the_page_is_left_out() -> None:
    sheet = Sheet()
    y = _begin(sheet)
    sheet.paragraph(72, y, " ".join(sentences(4)))
    sheet.line(2000, 300, "This text stands beside the page.")
    sheet.canvas.saveState()
    hidden = sheet.canvas.beginText(72, 100)
    hidden.setTextRenderMode(3)
    hidden.textLine("This text cannot be seen.")
    sheet.canvas.drawText(hidden)
    sheet.canvas.restoreState()
    sheet.canvas.rotate(90)
    sheet.canvas.drawString(200, -30, "arXiv:1911.00001v2 [q-bio] 1 Nov 2019")
    paper = _read(sheet)
    assert paper.sentences[-4:] == tuple(sentences(4))
    assert set(paper.loss.left_out) == {"author or affiliation", "hidden text", "rotated text"}


def test_the_recognised_text_of_a_scanned_page_is_read() -> None:
    sheet = Sheet()
    sheet.canvas.rect(72, 72, 400, 600, fill=1)
    text = sheet.canvas.beginText(72, 700)
    text.setFont("Times-Roman", 10)
    text.setTextRenderMode(3)
    text.textLines("\n".join(sentences(5)))
    sheet.canvas.drawText(text)
    assert _read(sheet).sentences == tuple(sentences(5))


def test_a_page_that_is_turned_as_a_whole_is_read() -> None:
    sheet = Sheet()
    sheet.paragraph(72, 80, " ".join(sentences(4)))
    sheet.end_page()
    sheet.canvas.rotate(90)
    for row, text in enumerate(sentences(4, start=5)):
        sheet.canvas.drawString(60, -80 - 14 * row, text)
    assert _read(sheet).sentences == tuple(sentences(8))


def test_a_page_of_scattered_letters_ends() -> None:
    sheet = Sheet()
    for place in range(20_000 if IS_THOROUGH else 4_000):
        sheet.line(place * 7919 % 500, place * 104_729 % 800, "a", size=2)
    with suppress(UnreadableError):
        assert len(_read(sheet).sentences) < 20_000


@examples(60)  # each starts a process
@given(st.data())
def test_a_mutated_pdf_is_an_error_in_words_or_a_paper(data: st.DataObject) -> None:
    sheet = Sheet(is_packed=False)
    sheet.paragraph(72, _begin(sheet), " ".join(sentences(6)), width=200)
    sheet.end_page()
    sheet.paragraph(72, 80, " ".join(sentences(6, start=7)))
    whole = sheet.pdf()
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 20))):
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.integers(start, min(len(content), start + 200)))
        content[start:stop] = data.draw(st.binary(max_size=20) | st.just(whole[start // 2 : start // 2 + 100]))
    with suppress(UnreadableError):
        paper = read_pdf(bytes(content), "tea.pdf")
        assert all(paper.sentences)


def test_a_table_above_its_caption_and_a_formula_are_no_sentences() -> None:
    sheet = Sheet()
    y = sheet.paragraph(72, _begin(sheet), " ".join(sentences(4))) + 20
    for row in (("Model", "MAP", "nDCG"), ("Tea", "78.1", "84.1"), ("Water", "77.0", "75.7")):
        for column, cell in enumerate(row):
            sheet.line(90 + 110 * column, y, cell)
        y += 13
    y = sheet.paragraph(72, y + 6, "Table 1: Results of both groups at the end of the trial, in per cent.", size=9)
    y = sheet.paragraph(72, y + 24, " ".join(sentences(3, start=5)))
    sheet.line(230, y + 8, "d = x + y (1)")
    sheet.paragraph(72, y + 30, " ".join(sentences(3, start=8)))
    paper = _read(sheet)
    assert paper.sentences[-10:] == tuple(sentences(10))
    assert {"table", "display formula"} <= set(paper.loss.left_out)


def test_small_numbered_and_run_in_headings_are_headings() -> None:
    sheet = Sheet()
    y = sheet.paragraph(72, _begin(sheet), " ".join(sentences(3))) + 16
    sheet.line(72, y, "2.1 Overview of the groups")
    y = sheet.paragraph(72, y + 14, " ".join(sentences(3, start=4))) + 16
    sheet.line(72, y, "Blood samples", size=9, font=BOLD)
    y = sheet.paragraph(72, y + 14, " ".join(sentences(3, start=7))) + 16
    sheet.line(72, y, "Outcomes.", font=BOLD)
    sheet.line(125, y, "All of the patients in the two groups of the trial were seen once more after")
    sheet.line(72, y + 12, "the end of it.")
    paper = _read(sheet)
    headings = [text for text, kind in zip(paper.sentences, paper.kinds, strict=True) if kind is Kind.HEADING]
    assert headings[-4:] == ["Introduction", "2.1 Overview of the groups", "Blood samples", "Outcomes"]
    assert paper.sentences[-1].startswith("All of the patients in the two groups")


def test_a_paragraph_is_not_split_before_a_last_line_of_numbers() -> None:
    sheet = Sheet()
    said = ["In the tea group fewer of the patients than in the other had an event (6 vs. 2, P =", "0.02)."]
    sheet.lines(72, _begin(sheet), said)
    assert _read(sheet).sentences[-1] == " ".join(said)


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("shape", ["bold", "small", "as the text", "in parts", "a b s t r a c t", "Abstract\u2014"])
def test_an_abstract_is_told_by_its_place_and_shape(shape: str, n_columns: int) -> None:
    sheet = Sheet()
    sheet.line(72, 80, _TITLE, size=18, font=BOLD)
    sheet.line(72, 110, "Ann Author, Ben Writer, Department of Tea, University of the Old Town", size=11)
    notice = "Correspondence: a.author@example.org. This is an open access article under the licence of its authors."
    y = sheet.paragraph(72, 130, notice, size=8) + 10
    if shape == "a b s t r a c t":
        sheet.line(72, y, shape, size=9)
        y += 14
    said = sentences(6, "green tea")
    paragraphs = [("", said)]
    if shape == "in parts":
        paragraphs = [("BACKGROUND ", said[:2]), ("RESULTS ", said[2:])]
    elif shape == "Abstract\u2014":
        paragraphs = [(shape, said)]
    size, font = 10 if shape in ("bold", "as the text") else 8.5, BOLD if shape == "bold" else PLAIN
    for label, texts in paragraphs:
        y = sheet.paragraph(72, y, label + " ".join(texts), size=size, font=font, width=430)
    y = sheet.paragraph(72, y + 8, "\u00a9 2019 The Authors. All rights reserved.", size=8) + 20
    if shape != "bold":
        sheet.line(72, y, "Introduction", size=12, font=BOLD)
    width = 450 / n_columns - 12
    for column in range(n_columns):
        text = " ".join(sentences(10, "black tea", start=1 + 10 * column))
        sheet.paragraph(72 + 230 * column, y + 18, text, width=width)
    sheet.end_page()
    sheet.line(72, 80, "Summary", size=12, font=BOLD)
    sheet.paragraph(72, 98, " ".join(sentences(4, "white tea")), width=width)
    paper = _read(sheet)
    read = [
        (text.removeprefix("BACKGROUND ").removeprefix("RESULTS "), kind)
        for text, kind in zip(paper.sentences, paper.kinds, strict=True)
        if kind is not Kind.HEADING
    ]
    assert [text for text, kind in read if kind is Kind.ABSTRACT] == said
    body = [*sentences(10 * n_columns, "black tea"), *sentences(4, "white tea")]
    assert [text for text, kind in read if kind is Kind.BODY] == body


def test_affiliations_and_notices_are_no_abstract() -> None:
    sheet = Sheet()
    sheet.line(72, 80, _TITLE, size=18, font=BOLD)
    sheet.paragraph(72, 110, "Department of Tea, University of the Old Town and the Institute of Water. " * 5, size=8)
    notice = "This article was submitted to a section of the journal and may be read by all who like to do so. "
    sheet.paragraph(72, 180, notice * 5, size=8)
    sheet.line(72, 280, "Introduction", size=12, font=BOLD)
    sheet.paragraph(72, 298, " ".join(sentences(20)))
    assert _read(sheet).sentences == (_TITLE, "Introduction", *sentences(20))


def test_rows_of_tables_captions_notes_and_end_matter_are_units() -> None:
    sheet = Sheet()
    y = sheet.paragraph(72, _begin(sheet), " ".join(sentences(12))) + 20
    y = sheet.paragraph(72, y, "Table 2. Pain at week 4. Means are given.", size=9) + 4
    rows = [
        ("", "Tea", "", "Water"),
        ("Outcome", "Mean", "SD", "Mean"),
        ("Pain", "3.1", "0.4", "5.0"),
        ("Sleep, hours", "7.2", "1.1", "6.9"),
        ("in the night", "", "", ""),
        ("Falls", "1", "2", "3"),
    ]
    for row in rows:
        for x, cell in zip((90, 220, 300, 380), row, strict=True):
            sheet.line(x, y, cell, size=9)
        y += 11
    sheet.line(90, y, "All of the values are those of the patients who came back to us.", size=8)
    y = sheet.paragraph(72, y + 30, " ".join(sentences(6, start=13))) + 20
    sheet.paragraph(72, y, "Figure 1: Flow of the patients through the trial.", size=9)
    sheet.line(72, 780, "1 The tea was bought from a shop in the old town.", size=7)
    sheet.end_page()
    y = sheet.paragraph(72, 80, " ".join(sentences(4, start=19))) + 20
    sheet.line(72, y, "Funding", size=9, font=BOLD)
    sheet.paragraph(72, y + 14, "The Tea Board paid for the trial.", size=9)
    paper = _read(sheet)
    assert paper.sentences[-22:] == tuple(sentences(22))
    lead = "Table 2. Pain at week 4."
    assert [(unit.kind.value, unit.label, unit.row, unit.place.page, unit.text) for unit in paper.units] == [
        ("caption", "Table 2", None, 1, "Table 2. Pain at week 4. Means are given."),
        ("table row", "Table 2", 1, 1, f"{lead} Outcome: Pain. Tea, Mean: 3.1; SD: 0.4; Water, Mean: 5.0"),
        (
            "table row",
            "Table 2",
            2,
            1,
            f"{lead} Outcome: Sleep, hours in the night. Tea, Mean: 7.2; SD: 1.1; Water, Mean: 6.9",
        ),
        ("table row", "Table 2", 3, 1, f"{lead} Outcome: Falls. Tea, Mean: 1; SD: 2; Water, Mean: 3"),
        (
            "footnote",
            "Table 2",
            None,
            1,
            "Table 2. All of the values are those of the patients who came back to us.",
        ),
        ("caption", "Figure 1", None, 1, "Figure 1. Flow of the patients through the trial."),
        ("footnote", "", None, 1, "1 The tea was bought from a shop in the old town."),
        ("end matter", "Funding", None, 2, "Funding. The Tea Board paid for the trial."),
    ]


def test_an_appendix_behind_the_references_is_read_and_their_own_words_join_lines() -> None:
    sheet = Sheet()
    y = sheet.paragraph(72, _begin(sheet), " ".join(sentences(6, "GENEFAST tea"))) + 16
    lines = [
        "All of the cups of tea that were drunk in the groups of the trial were read in the evening by GENE-",
        "FAST as it was made for it, and all that was to be seen in them was then written down with no-",
        "table care by two of us who had learned to read the leaves of tea in the old town and in off-the-",
        "shelf books.",
    ]
    y = sheet.lines(72, y, lines)
    sheet.line(72, y + 16, "References", size=12, font=BOLD)
    sheet.paragraph(72, y + 34, "1. Author A. Tea and its uses in the old town. J Tea 2009, 1:2-3.")
    sheet.end_page()
    sheet.line(72, 80, "A Appendix - Baselines", size=12, font=BOLD)
    sheet.paragraph(72, 98, " ".join(sentences(4, "white tea")))
    read = _read(sheet).sentences
    assert read[-6] == " ".join(lines).replace("GENE- ", "GENE").replace("no- ", "no").replace("the- ", "the-")
    assert read[-5:] == ("A Appendix - Baselines", *sentences(4, "white tea"))


def test_a_caption_s_words_that_end_a_sentence_are_text() -> None:
    sheet = Sheet()
    y = sheet.paragraph(72, _begin(sheet), " ".join(sentences(8)), width=200)
    sheet.lines(72, y, ["We give the means of all of the patients of both in"])
    rest = "Table 2. On average, the patients of the group with tea had more of it than the others had in all."
    sheet.paragraph(300, 245, f"{rest} {' '.join(sentences(6, start=9))}", width=200)
    assert _read(sheet).sentences[-8:-6] == (
        "We give the means of all of the patients of both in Table 2.",
        rest.removeprefix("Table 2. "),
    )


def test_an_accent_alone_cuts_no_line() -> None:
    sheet = Sheet()
    y = _begin(sheet)
    x = sheet.line(72, y, "In the large trial of tea and water by Saier and Farber")
    sheet.line(x - 20, y, "\u00a8")
    sheet.line(x, y, " (2019), pressure fell by 3 mmHg.")
    sheet.paragraph(72, y + 20, " ".join(sentences(4)))
    assert (
        "In the large trial of tea and water by Saier and Farber (2019), pressure fell by 3 mmHg."
        in _read(sheet).sentences
    )


@pytest.mark.parametrize("finding", ["None.", "No deaths occurred.", "Pressure fell (P = 0.03).", "It did not."])
def test_a_short_sentence_below_a_heading_is_no_heading_and_no_label(finding: str) -> None:
    sheet = Sheet()
    y = _begin(sheet)
    y = sheet.paragraph(72, y, " ".join(sentences(3)))
    sheet.line(72, y + 14, "Harms", size=10, font=BOLD)
    sheet.line(72, y + 28, finding, size=10)
    sheet.line(72, y + 50, "Discussion", size=12, font=BOLD)
    sheet.paragraph(72, y + 66, " ".join(sentences(3, start=4)))
    rows = {text: kind for _, kind, text in outline(_read(sheet))}
    assert (rows["Harms"], rows[finding]) == ("section", "normal")


def test_numbered_findings_in_the_type_of_the_text_are_sentences_and_items_are_whole() -> None:
    sheet = Sheet()
    y = sheet.paragraph(72, _begin(sheet), " ".join(sentences(3)))
    items = ("1. Pain fell in both groups.", "2. Sleep improved with tea.", "3. Mood did not change.")
    for number, item in enumerate(items):
        sheet.line(86, y + 14 * (number + 1), item, size=10)
    sheet.paragraph(72, y + 60, " ".join(sentences(3, start=4)))
    rows = outline(_read(sheet))
    assert [kind for _, kind, text in rows if text in items] == ["normal"] * 3


def test_the_first_line_of_an_item_with_few_small_words_belongs_to_it() -> None:
    sheet = Sheet()
    y = sheet.paragraph(72, _begin(sheet), " ".join(sentences(3)))
    sheet.line(90, y + 14, "\u2022 OMRON HEM/7 (Digital Arm/Wrist Monitor): Introduced in 1994, this", size=10)
    sheet.line(100, y + 26, "device takes the pressure at the upper arm, and it stores up to sixty of the", size=10)
    sheet.line(100, y + 38, "readings for later use by the nurse.", size=10)
    sheet.paragraph(72, y + 60, " ".join(sentences(3, start=4)))
    assert any("Introduced in 1994, this device takes" in sentence for sentence in _read(sheet).sentences)


@pytest.mark.parametrize(
    ("name", "below"),
    [("Journal of Tea Studies", "January 2020"), ("Drinks and Health", "Volume 18, Issue 3, ISSN 1234-5678")],
)
def test_the_name_of_a_journal_is_not_the_title(name: str, below: str) -> None:
    sheet = Sheet()
    sheet.line(72, 40, name, size=22, font=BOLD)
    sheet.line(72, 56, below, size=9)
    sheet.paragraph(72, _begin(sheet), " ".join(sentences(6)))
    assert _read(sheet).title == _TITLE


@pytest.mark.parametrize(
    ("font", "shown"), [("CMSY10", "-> 5 \u2212 2 mg, \ufffd20"), ("TTE1A2B3C", "-> 5 \ufffd 2 mg, \ufffd20")]
)
def test_a_sign_that_its_font_does_not_name_is_not_passed_over(font: str, shown: str) -> None:
    sheet = Sheet(is_packed=False)
    y = _begin(sheet)
    sheet.paragraph(72, y, " ".join(sentences(3)))
    sheet.line(72, 400, "The doses were -> 5 #000 2 mg, #00420 of them a day.", font="Helvetica")
    content = sheet.pdf().replace(b"/BaseFont /Helvetica", f"/BaseFont /{font}".encode())
    content = content.replace(b"#000", rb"\000").replace(b"#004", rb"\004")
    paper = read_content(content, name="tea.pdf")
    assert paper.sentences[-1] == f"The doses were {shown} of them a day."
    n_unnamed = shown.count("\ufffd")
    assert [str(n_unnamed) in warning for warning in paper.warnings] == [True]


def _small_capitals(sheet: Sheet, x: float, y: float, text: str) -> float:
    """Draw capitals, those within a word smaller; return where they end."""
    for word in text.split():
        x = sheet.line(x, y, word[0], size=10)
        x = sheet.line(x, y, f"{word[1:].upper()} ", size=8)
    return x


def test_headings_in_small_capitals_are_headings_alone_and_within_a_line() -> None:
    sheet = Sheet()
    y = _begin(sheet)
    for number, title in enumerate(("Materials Used", "Tea Leaves"), 1):
        y = sheet.paragraph(72, y, " ".join(sentences(4, start=10 * number)))
        _small_capitals(sheet, 200, y + 12, f"{number}. {title}")
        y += 32
    y = sheet.paragraph(72, y, " ".join(sentences(4, start=30)))
    begun = _small_capitals(sheet, 72, y + 12, "3. Statistical Methods")
    sheet.line(begun, y + 12, "Between May and June, the adults drank the tea,")
    sheet.paragraph(72, y + 24, "or the water, as they were told. " + " ".join(sentences(4, start=40)))
    paper = _read(sheet)
    headings = [text for kind, text in zip(paper.kinds, paper.sentences, strict=True) if kind is Kind.HEADING]
    assert headings[3:] == ["1. MATERIALS USED", "2. TEA LEAVES", "3. STATISTICAL METHODS"]
    assert "Between May and June, the adults drank the tea, or the water, as they were told." in paper.sentences


def test_a_title_of_centred_lines_is_one() -> None:
    sheet = Sheet()
    lines = (
        "A randomized trial of green tea in adults with a",
        "high blood pressure and no other disease that is",
        "known",
    )
    for number, text in enumerate(lines):
        sheet.canvas.setFont(BOLD, 16)
        sheet.canvas.drawCentredString(297, 760 - 19 * number, text)
    sheet.line(72, 180, "Introduction", size=12, font=BOLD)
    sheet.paragraph(72, 200, " ".join(sentences(8)))
    assert _read(sheet).title == " ".join(lines)


@pytest.mark.parametrize("is_left", [False, True])
def test_text_that_a_figure_stands_beside_is_read_whole(*, is_left: bool) -> None:
    sheet = Sheet()
    said = sentences(12)
    y = sheet.paragraph(72, _begin(sheet), " ".join(said[:5]))
    sheet.lines(90 if is_left else 360, y + 12, ["Dose (mg)", "10   20   30", "Water   Tea"])
    sheet.lines(90 if is_left else 360, y + 60, ["Fig. 1. Dose and fall."], size=8)
    y = sheet.paragraph(272 if is_left else 72, y, " ".join(said[5:8]), width=200)
    sheet.paragraph(72, y, " ".join(said[8:]))
    paper = _read(sheet)
    assert paper.sentences[-12:] == tuple(said)


@pytest.mark.parametrize(
    ("lines", "subject", "doi", "year"),
    [
        (
            ["Tea 1998, 11:312. doi:10.1000/tea-11.", "Received 3 May 1997, accepted 2 June 1998"],
            "",
            "10.1000/tea-11",
            1998,
        ),
        (["https://doi.org/10.1000/a(b)c", "(c) 1999 The Author"], "", "10.1000/a(b)c", 1999),
        (["The tea of 2050", "Downloaded on 1 May 2000"], "J Tea 1996. doi:10.1000/b", "10.1000/b", None),
        (["See 10.1000/table for 1234 cups"], "", None, None),
    ],
)
def test_doi_and_year_are_those_of_the_first_page(lines: list[str], subject: str, doi: str, year: int) -> None:
    sheet = Sheet()  # made in 2000, as it says
    sheet.canvas.setSubject(subject)
    sheet.lines(72, 40, lines, size=8)
    sheet.paragraph(72, _begin(sheet), " ".join(sentences(8)) + " In 1995, tea was hot, and in 2001 too.")
    paper = _read(sheet)
    assert (paper.ids.get("doi"), paper.year) == (doi, year)
