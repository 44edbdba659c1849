"""A paper as plain text."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import MOST_CHARACTERS, Layout, LeftOut, UnreadableError, layout_of, read_content, read_plain
from evidencebench import Dataset, Kind, Paper, read_paper
from kit.examples import some_of
from kit.outlines import outline, real_files

_PARAGRAPH = "We asked 120 adults. Tea lowered it by 3 mmHg. No harm was seen [9]. The trial was small and short."


def read_text(text: str) -> Paper:
    paper = read_plain(text.encode(), name="tea.txt")
    for sentence, span in zip(paper.sentences, paper.spans, strict=True):
        assert text[span.start : span.stop].replace("-\n", "").split() == sentence.split() or "-\n" in text
    return paper


def test_lines_are_sentences_and_marked_ones_are_headings() -> None:
    text = "# Tea\n\nIt is drunk.\n## Summary:\n Tea lowered pressure. \n### Methods\nWe asked.\n"
    paper = read_content(text.encode(), name="tea.txt")
    assert (paper.format, paper.title) == ("text, one sentence a line", "Tea")
    assert paper.sentences == ("Tea", "It is drunk.", "Summary:", "Tea lowered pressure.", "Methods", "We asked.")
    assert paper.kinds == (Kind.HEADING, Kind.BODY, Kind.HEADING, Kind.ABSTRACT, Kind.HEADING, Kind.BODY)
    assert [place.section for place in paper.places] == [(), (), (), ("Summary:",), (), ("Methods",)]


def test_titled_parts_of_an_abstract_belong_to_it() -> None:
    text = "# Abstract\n# Methods\nWe asked.\n# Results\nIt fell.\n# Methods\nWe asked adults.\n# Notes\nNone.\n"
    assert [row for row in outline(read_text(text)) if row[1] != "section"] == [
        ("Abstract/Methods", "abstract", "We asked."),
        ("Abstract/Results", "abstract", "It fell."),
        ("Methods", "normal", "We asked adults."),
        ("Notes", "normal", "None."),
    ]


_LETTERS = st.characters(exclude_categories=["C", "Z"], exclude_characters="\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06")


@given(st.lists(st.text(alphabet=_LETTERS, min_size=1), min_size=1))
def test_every_line_is_one_sentence_in_order(words: list[str]) -> None:
    lines = [f"x{word}." for word in words]
    query = read_plain("\r\n".join(lines).encode(), name="p")
    assert list(query.sentences) == lines
    assert set(query.kinds) == {Kind.BODY}


@pytest.mark.parametrize("text", ["", "\n \n", "\u200b\n", "# Only a heading\n", "TITLE:\nTea\n"])
def test_a_text_without_sentences_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match="no sentence"):
        read_plain(text.encode(), name="tea.txt")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_is_decoded_by_its_mark(encoding: str) -> None:
    paper = read_plain("It was 5 µg.\nIt fell.".encode(encoding), name="tea.txt")
    assert paper.sentences == ("It was 5 µg.", "It fell.")
    assert (paper.spans[1].start, paper.spans[1].stop) == (13, 21)


def test_a_file_longer_than_any_book_and_an_empty_hypothesis_are_refused() -> None:
    with pytest.raises(UnreadableError, match="20,000,000 characters, got 20,000,001"):
        read_plain(b"x" * (MOST_CHARACTERS + 1), name="tea.txt")
    with pytest.raises(UnreadableError, match="hypothesis"):
        read_plain(b"A.", name="tea.txt").query_for(" ")


def test_what_is_pasted_is_split_into_sentences_with_or_without_a_last_stop() -> None:
    paper = read_text(_PARAGRAPH)
    assert (paper.format, len(paper.sentences)) == ("text with paragraphs", 4)
    pasted = "Tea lowered blood pressure. Water did not. No harm was seen"
    for text in (pasted, f"{pasted}.", f"Tea and blood pressure\n\n{pasted}. We asked six people"):
        assert "Water did not." in read_text(text).sentences


def test_paragraphs_have_headings_in_lines_of_their_own() -> None:
    text = (
        f"Tea and pressure\nAbstract\n{_PARAGRAPH}\n1. Introduction\n{_PARAGRAPH}\n2. Methods\n\n2.1 Who was asked\n\n"
        f"{_PARAGRAPH}\n{_PARAGRAPH}\n\nDose\n\n3 Cups a day were drunk.\n\nReferences\n\n1. A tea paper. J Tea 1.\n"
        "2. Other."
    )
    paper = read_text(text)
    assert paper.title == "Tea and pressure"
    assert [(path, text) for path, kind, text in outline(paper) if kind == "section"] == [
        *(("", "Tea and pressure"), ("", "Abstract"), ("", "1. Introduction"), ("", "2. Methods")),
        *(("2. Methods", "2.1 Who was asked"), ("2. Methods", "Dose")),
    ]
    assert {kind for path, kind, _ in outline(paper) if path == "Abstract"} == {"abstract"}
    paragraphs = [place.paragraph for place in paper.places if place.section[-1:] == ("2.1 Who was asked",)]
    assert paragraphs == [2, 2, 2, 2, 3, 3, 3, 3]
    assert paper.loss.left_out == {"references": LeftOut(n_elements=3, n_characters=36)}
    assert paper.loss.share_kept == 1


def test_cells_of_tables_keywords_and_captions_are_no_headings() -> None:
    cells = "Placebo\n3.1 Tea\n12\nPlacebo (n = 9)\nOR"
    assert Kind.HEADING not in read_text(f"{_PARAGRAPH}\n{cells}\n{_PARAGRAPH}").kinds
    for line in ("Key words: tea, milk", "KEYWORDS: tea", "Table 1. Tea by group", "Figure 2 Tea", "Box 1: Doses"):
        assert Kind.HEADING not in read_text(f"{_PARAGRAPH}\n\n{line}\n\n{_PARAGRAPH}").kinds


_WRAPPED = """Tea and blood pressure in
a long trial

ABSTRACT
We asked six adults about tea and
asked no one else, in a double-blind
trial. Their treat-
ment was tea, given double-
blind. The sys-
tolic pressure fell by 3 mmHg, pre-
and post-dose, in COX-
2 carriers.

Methods
The treatment of each adult was
open for a year.
"""


def test_broken_lines_are_joined_and_their_hyphens_undone() -> None:
    paper = read_text(_WRAPPED)
    assert paper.title == "Tea and blood pressure in a long trial"
    assert outline(paper)[1:] == [
        ("", "section", "ABSTRACT"),
        ("ABSTRACT", "abstract", "We asked six adults about tea and asked no one else, in a double-blind trial."),
        ("ABSTRACT", "abstract", "Their treatment was tea, given double-blind."),
        ("ABSTRACT", "abstract", "The systolic pressure fell by 3 mmHg, pre- and post-dose, in COX-2 carriers."),
        ("", "section", "Methods"),
        ("Methods", "normal", "The treatment of each adult was open for a year."),
    ]
    assert _WRAPPED[paper.spans[3].start : paper.spans[3].stop] == "Their treat-\nment was tea, given double-\nblind."
    assert paper.loss.left_out == {"hyphen at a line's end": LeftOut(n_elements=2, n_characters=2)}


def test_broken_lines_are_told_among_many_short_ones() -> None:
    text = """Tea and blood pressure

Group
Before
Tea 140
Milk 141

Pressure was taken by a nurse in the morning of each day of the trial, and
again in the evening. All that came were asked whether they had had a cup of
tea, of milk or of water on the day before, and how they had slept then. It was
written down by another nurse.

They were asked about:
- tea
- milk, and whether they had it in
  the morning
"""
    paper = read_text(text)
    assert paper.title == "Tea and blood pressure"
    last = ("They were asked about:", "- tea", "- milk, and whether they had it in the morning")
    assert paper.sentences[-4:] == ("It was written down by another nurse.", *last)


def test_pages_are_counted_and_their_heads_and_numbers_left_out() -> None:
    parts = [("Methods\n", "once"), ("a day.\n", "often"), ("a day.\n", "late")]
    pages = [
        f"J Tea {number}, 1-9\n\n{first}We asked six adults\nabout tea {dose}\n\n{number}\n"
        for number, (first, dose) in enumerate(parts, start=1)
    ]
    paper = read_plain("\f".join([*pages, "a day. That was\nin the end."]).encode(), name="tea.txt")
    assert paper.sentences == (
        "Methods",
        *(f"We asked six adults about tea {dose} a day." for dose in ["once", "often", "late"]),
        "That was in the end.",
    )
    assert [place.page for place in paper.places] == [1, 1, 1, 1, 1]
    assert paper.loss.left_out["page number or running head"].n_elements == 6


def test_the_texts_of_evidence_inference_name_their_parts() -> None:
    text = (
        "TITLE: \nTea lowers pressure.\n\n\nABSTRACT.RESULTS:\nIt fell. No harm was seen.\n\n"
        "BODY.METHODS:\nBODY.WHO WAS ASKED:\nWe asked 9.\nGroup\n\nBODY.2. DATA:\nNone.\n"
    )
    paper = read_text(text)
    assert (paper.title, paper.format) == ("Tea lowers pressure.", "text with labelled parts")
    assert [row for row in outline(paper) if row[1] != "section"] == [
        *(("RESULTS", "abstract", text) for text in ("It fell.", "No harm was seen.")),
        *(("METHODS/WHO WAS ASKED", "normal", text) for text in ("We asked 9.", "Group")),
        ("2. DATA", "normal", "None."),
    ]
    without_parts = read_text("TITLE:\nTea\n\nIt fell.\nBODY.METHODS:\nWe asked.\n")
    assert without_parts.kinds == (Kind.HEADING, Kind.ABSTRACT, Kind.HEADING, Kind.BODY)


_WORDS = st.sampled_from(
    ["tea", "lowered-\npressure", "Fig. 2", "in", "adults.", "We", "\n", "\n\nMethods", "\f", "\u200b", "#", "TITLE:"]
)


@given(st.lists(_WORDS, max_size=60))
def test_any_text_keeps_its_characters_or_is_refused_in_words(words: list[str]) -> None:
    text = " ".join(words)
    try:
        paper = read_plain(text.encode(), name="p")
    except UnreadableError:
        return
    assert paper.loss.share_kept == 1
    starts = [span.start for span in paper.spans]
    assert starts == sorted(starts)
    for sentence, span in zip(paper.sentences, paper.spans, strict=True):
        source = iter(text[span.start : span.stop])
        assert all(character in source for character in sentence if character != " "), "they stand there in this order"


@pytest.mark.data
def test_real_papers_are_told_by_their_layout_and_found_again_in_broken_lines(train: Dataset) -> None:
    for query in some_of(list(train.queries()), thorough=1, quick=10):
        sentences = [" ".join(text.split()) for text in query.sentences]
        paragraphs = [" ".join(sentences[start : start + 6]) for start in range(0, len(sentences), 6)]
        assert layout_of(sentences) is Layout.SENTENCES
        assert layout_of(paragraphs) is Layout.PARAGRAPHS
        wrapped = "\n".join(textwrap.fill(text, 80, break_on_hyphens=False) for text in paragraphs)
        assert layout_of(wrapped.splitlines()) is Layout.WRAPPED
        paper = read_plain(wrapped.encode(), name=query.instance_id)
        words = [word for text in sentences for word in text.replace("-", "").split()]
        read_words = [word for text in paper.sentences for word in text.replace("-", "").split()]
        assert len(set(words) - set(read_words)) <= 0.02 * len(set(words))
        assert paper.loss.share_kept == 1


@pytest.mark.data
def test_the_real_texts_of_evidence_inference_are_read() -> None:
    papers = [
        read_paper(path) for path in some_of(real_files("evidence_inference/txt/*.txt")[:80], thorough=1, quick=5)
    ]
    assert {paper.format for paper in papers} == {"text with labelled parts"}
    assert all(paper.title for paper in papers)
    assert sum(Kind.ABSTRACT in paper.kinds for paper in papers) > 0.9 * len(papers)


def test_columns_side_by_side_are_told_and_a_table_in_a_text_is_not() -> None:
    row = "Pressure fell in all of those who       had tea, and it rose in the others.\n"
    with pytest.raises(UnreadableError, match=r"^tea.txt: .*two columns side by side.*give the PDF"):
        read_content((row * 40).encode(), name="tea.txt")
    text = "Pressure fell in all of those who had tea for four weeks in the trial.\n" * 60 + row * 10
    assert read_content(text.encode(), name="tea.txt").sentences
