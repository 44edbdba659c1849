"""Pages of a PDF that cannot be read: the others are read, and the reader is told; a PDF without any is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from doors import LeftOut, UnreadableError, cli, read_content
from kit.printing import Sheet, sentences

_KIDS = b"/Kids [ 4 0 R 5 0 R 6 0 R ]"
_SWAPPED = str.maketrans({chr(code): chr(code + 3) for code in range(ord(" "), ord("z") + 1)})


def _three_pages(*, gibberish: tuple[int, ...] = (), empty: tuple[int, ...] = ()) -> bytes:
    sheet = Sheet(is_packed=False)
    for page in (1, 2, 3):
        text = " ".join(sentences(8, start=8 * page))
        if page not in empty:
            sheet.paragraph(72, 80, text.translate(_SWAPPED) if page in gibberish else text)
        sheet.end_page()
    return sheet.pdf()


def _without_pages(content: bytes, kids: bytes) -> bytes:
    assert _KIDS in content
    return content.replace(_KIDS, b"/Kids [ %s ]" % kids)


def test_a_page_that_cannot_be_opened_is_told_and_the_others_are_read() -> None:
    paper = read_content(_without_pages(_three_pages(), b"4 0 R 98 0 R 6 0 R"), name="tea.pdf")
    assert paper.sentences == (*sentences(8, start=8), *sentences(8, start=24))
    assert {place.page for place in paper.places} == {1, 3}
    (told,) = paper.warnings
    assert told.startswith("Page 2 could not be opened")
    assert paper.loss.left_out == {"page 2, which could not be opened": LeftOut(n_elements=1, n_characters=0)}
    paper = read_content(_without_pages(_three_pages(), b"98 0 R 5 0 R 99 0 R"), name="tea.pdf")
    assert paper.warnings[0].startswith("Pages 1, 3 ")
    content = _without_pages(_three_pages(), b"97 0 R 98 0 R 99 0 R")
    with pytest.raises(UnreadableError, match="none of its 3 pages"):
        read_content(content, name="tea.pdf")


def test_a_page_without_text_among_others_is_told() -> None:
    paper = read_content(_three_pages(empty=(3,)), name="tea.pdf")
    assert len(paper.sentences) == 16
    (told,) = paper.warnings
    assert "hardly any text on page 3" in told
    assert list(paper.loss.left_out) == ["page 3, with hardly any text"]


def test_text_whose_fonts_do_not_say_which_letters_they_show_is_refused_or_told() -> None:
    with pytest.raises(UnreadableError, match=r"2 of 3 pages .*gibberish.*fonts.*ocrmypdf --force-ocr"):
        read_content(_three_pages(gibberish=(1, 3)), name="tea.pdf")
    paper = read_content(_three_pages(gibberish=(2,)), name="tea.pdf")
    (told,) = paper.warnings
    assert "page 2 is gibberish" in told
    sheet = Sheet()
    sheet.paragraph(72, 80, "\u2460\u2702\u25a0 \u2706\u2709\u2764 " * 60, font="ZapfDingbats")
    with pytest.raises(UnreadableError, match="gibberish"):
        read_content(sheet.pdf(), name="tea.pdf")


def test_show_and_find_tell_what_was_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tea.pdf"
    path.write_bytes(_without_pages(_three_pages(), b"4 0 R 98 0 R 6 0 R"))
    told = "Page 2 could not be opened; fetch the PDF again to have all of it."
    shown = CliRunner().invoke(cli, ["papers", "show", str(path), "--json"])
    assert (shown.exit_code, json.loads(shown.stdout)[0]["warnings"]) == (0, [told])
    assert f"warning: {path}: {told}" in shown.stderr
    found = CliRunner().invoke(cli, ["find", "The tea lowered the pressure.", str(path), "-k", "1"])
    assert told in " ".join(found.output.split())


def test_a_sentence_is_shown_on_its_own_page_where_its_paragraph_begins_on_the_one_before(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.line(72, 90, "Results", size=16)
    begun = (
        "Blood pressure was lower with tea. The second sentence begins on the first page, and goes on for a while to be"
    )
    sheet.paragraph(72, 640, f"Nurses took all of the measures with care in all of the groups. {begun}")
    sheet.end_page()
    sheet.paragraph(
        72, 72, "over on the second page, where it ends. The last sentence stands wholly on the second page."
    )
    path = tmp_path / "tea.pdf"
    path.write_bytes(sheet.pdf())
    (paper,) = json.loads(CliRunner().invoke(cli, ["papers", "show", str(path), "--json"]).stdout)
    last = paper["sentences"][-1]
    assert last["text"].startswith("The last sentence")
    assert last["page"] == 2
    assert last["paragraph"] == paper["sentences"][-2]["paragraph"]
