"""``find --mark``: copies of PDFs with their evidence highlighted, as a viewer shows them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from doors import PageBox, read_content
from kit.command_line import Command
from kit.printing import BOLD, Sheet, sentences

pypdf = pytest.importorskip("pypdf", reason="needs the extra mark")

_FIND = "find {Tea lowers pressure.} --system lead"


def _paper(word: str = "tea") -> bytes:
    sheet = Sheet()
    for page, head in enumerate((f"The effect of {word} on pressure", "Results")):
        sheet.line(72, 80, head, size=18, font=BOLD)
        sheet.paragraph(72, 140, " ".join(sentences(8, word, start=10 * page)), width=220)
        sheet.end_page()
    return sheet.pdf()


def _notes(path: Path) -> list[tuple[int, Any]]:
    """Return the highlights of a PDF, each with the number of its page."""
    pages = enumerate(pypdf.PdfReader(path, strict=True).pages, 1)
    return [(number, note.get_object()) for number, page in pages for note in page.get("/Annots", [])]


def _corners(boxes: Sequence[PageBox]) -> list[float]:
    """Return the corners as Acrobat orders them: of each rectangle the upper two, then the lower two."""
    return [x for _, left, low, right, high in boxes for x in (left, high, right, high, left, low, right, low)]


def _colour(path: Path, page: int, x: float, y: float) -> tuple[int, ...]:
    image = pypdfium2.PdfDocument(path)[page - 1].render(scale=2)
    row = image.to_numpy()[round(image.height - 2 * y)][round(2 * x)]
    return tuple(map(int, row[:3]))


def test_a_copy_holds_the_paper_s_bytes_and_a_note_at_each_sentence_that_viewers_show(command: Command) -> None:
    content = _paper()
    Path("tea.pdf").write_bytes(content)
    Path("questions").write_text("Tea lowers pressure.\nWater raises pressure.\n")
    found = command("find --hypotheses questions tea.pdf --system lead -k 9 --mark {it/s #1} --html page.html --json")
    assert "tea.pdf: marked in it/s #1/tea.pdf\n" in found.err
    assert 'href="it/s%20%231/tea.pdf#page=2"' in Path("page.html").read_text(encoding="utf-8")
    copy = Path("it/s #1/tea.pdf")
    assert copy.read_bytes().startswith(content)
    assert read_content(copy.read_bytes(), name="tea.pdf").sentences == read_content(content, name="tea.pdf").sentences
    boxes = read_content(content, name="tea.pdf").boxes
    notes = _notes(copy)
    assert [(page, note["/QuadPoints"], note["/Contents"]) for page, note in notes] == [
        (row["page"], _corners(boxes[row["sentence"]]), f"{finding['hypothesis']}\n{row['message']}")
        for page in (1, 2)
        for finding in found.json["findings"]
        for row in finding["evidence"]
        if row["page"] == page
    ]
    assert len(notes) == 18
    assert {(note["/Subtype"], note["/T"]) for _, note in notes} == {("/Highlight", "evidencebench")}
    assert len({tuple(note["/C"]) for _, note in notes}) == 2, "a colour a question"
    box = boxes[2][1]
    for x, y, is_coloured in ((box.left + 0.5, box.top - 0.5, True), (box.left - 5, box.top - 0.5, False)):
        assert (min(_colour(copy, 1, x, y)) < 240) is is_coloured
        assert min(_colour(Path("tea.pdf"), 1, x, y)) == 255


def test_a_likelier_sentence_has_a_stronger_colour(command: Command) -> None:
    Path("tea.pdf").write_bytes(_paper())
    Path("chances.py").write_text(
        "from evidencebench import Ranking, Traits\n"
        "class Own:\n"
        "    traits = Traits(chances=lambda query: [number / 40 for number in range(len(query.sentences))])\n"
        "    def rank(self, query, task):\n"
        "        return Ranking(sentences=(1, 5, 15))\n"
    )
    assert "tea.pdf: marked" in command("find {Tea lowers pressure.} tea.pdf --system chances.py:Own --mark out").err
    assert [len(note["/C"]) for _, note in _notes(Path("out/tea.pdf"))] == [3, 3, 3]
    strengths = [sum(note["/C"]) for _, note in _notes(Path("out/tea.pdf"))]
    assert strengths == sorted(strengths, reverse=True) != sorted(strengths)


def test_what_is_there_stays_and_what_cannot_be_marked_is_told(command: Command) -> None:
    for name in ("a/tea.pdf", "b/TEA.pdf", "b/paper", "b/locked.pdf", "b/signed.pdf"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(_paper(f"tea {name[:4]}"))
    content = Path("a/tea.pdf").read_bytes()
    Path("b/notes.txt").write_text("Tea lowers pressure.\n")
    writer = pypdf.PdfWriter(Path("b/locked.pdf"))
    writer.encrypt("", "owner", algorithm="RC4-128")
    writer.write("b/locked.pdf")
    writer = pypdf.PdfWriter(Path("b/signed.pdf"))
    form = pypdf.generic.DictionaryObject({pypdf.generic.NameObject("/SigFlags"): pypdf.generic.NumberObject(3)})
    writer.root_object[pypdf.generic.NameObject("/AcroForm")] = form
    writer.write("b/signed.pdf")
    told = command(f"{_FIND} a b --mark out").err
    assert {path.name for path in Path("out").iterdir()} == {"tea.pdf", "TEA-2.pdf", "paper.pdf"}
    assert "notes.txt: not marked: it is no PDF in a file of its own\n" in told
    assert "locked.pdf: not marked: PDF: encrypted: its text can be read, but nothing be added; save a copy" in told
    assert "signed.pdf: not marked: PDF: signed: its signature would not hold; print it to a new PDF\n" in told
    before = Path("out/tea.pdf").read_bytes()
    assert "out/tea.pdf: exists" in command(f"{_FIND} a --mark out").refusal
    assert "a/tea.pdf: is one of the papers" in command(f"{_FIND} a/tea.pdf --mark a --overwrite").refusal
    assert (Path("a/tea.pdf").read_bytes(), Path("out/tea.pdf").read_bytes()) == (content, before)
    assert "out/tea.pdf" in command(f"{_FIND} a -k 1 --mark out --overwrite").err
    assert len(_notes(Path("out/tea.pdf"))) == 1
    Path("a/tea.pdf").write_bytes(content.partition(b"startxref")[0] + b"startxref\n12\n%%EOF\n")
    assert "out/tea.pdf" in command(f"{_FIND} a -k 2 --mark out --overwrite").err
    assert len(_notes(Path("out/tea.pdf"))) == 2, "the copy of a damaged PDF is whole"
    assert "not marked: nothing was found in it" in command("find {Zebras.} a --mark none").err
