"""One list of titles serves plain text, Markdown, web pages and PDFs."""

from collections.abc import Callable

import pytest

from doors import SectionSort, paragraphs, read_content, section_of
from evidencebench import Kind, Paper
from kit.printing import BOLD, Sheet, sentences

_TITLES = {
    **dict.fromkeys(("Competing Interests", "Authors' contributions", "Data sharing"), SectionSort.BACK_MATTER),
    **dict.fromkeys(("5. Conclusions", "MATERIALS AND METHODS"), SectionSort.BODY),
    "Literature cited": SectionSort.REFERENCES,
    "Summary": SectionSort.ABSTRACT,
    "Tea and water": None,
}


def test_a_title_announces_the_same_in_every_format_and_a_longer_one_back_matter_where_its_type_tells_it() -> None:
    for title, announced in _TITLES.items():
        assert section_of(title) is paragraphs.section_of(title) is announced
    for title in ("Acknowledgements and thanks", "Acknowledgements, and thanks to the nurses"):
        assert (section_of(title), paragraphs.section_of(title)) == (None, SectionSort.BACK_MATTER)


_SAID = sentences(4)


def _markdown(title: str) -> Paper:
    return read_content(f"# Tea\n\n## Results\n\n{' '.join(_SAID)}\n\n## {title}\n\nBy us.\n".encode(), name="tea.md")


def _page(title: str) -> Paper:
    body = f"<h1>Tea</h1><h2>Results</h2><p>{' '.join(_SAID)}</p><h2>{title}</h2><p>By us.</p>"
    return read_content(f"<!DOCTYPE html><html><body>{body}</body></html>".encode(), name="tea.html")


def _pdf(title: str) -> Paper:
    sheet = Sheet()
    sheet.line(72, 80, "Results", size=12, font=BOLD)
    y = sheet.paragraph(72, 100, " ".join(_SAID))
    sheet.line(72, y + 20, title, size=12, font=BOLD)
    sheet.line(72, y + 40, "By us.")
    return read_content(sheet.pdf(), name="tea.pdf")


@pytest.mark.parametrize("read_as", [_markdown, _page, _pdf])
@pytest.mark.parametrize("title", ["Data sharing", "Contributors"])
def test_back_matter_is_left_out_of_every_format_that_has_headings(read_as: Callable[[str], Paper], title: str) -> None:
    paper = read_as(title)
    assert [text for text, kind in zip(paper.sentences, paper.kinds, strict=True) if kind is Kind.BODY] == _SAID
    assert paper.loss.left_out["other back matter"].n_characters >= len("Byus.")


@pytest.mark.parametrize("label", ["Design, Setting, and Participants", "Main Outcomes and Measures", "Importance"])
def test_labels_of_medical_abstracts_belong_to_the_abstract(label: str) -> None:
    text = f"# Tea\n\n# Abstract\n\n# Objective\n\nTo ask.\n\n# {label}\n\nIt fell.\n\n# Introduction\n\nTea is old.\n"
    paper = read_content(text.encode(), name="tea.md")
    kinds = dict(zip(paper.sentences, paper.kinds, strict=True))
    assert (kinds["It fell."], kinds["Tea is old."]) == (Kind.ABSTRACT, Kind.BODY)
