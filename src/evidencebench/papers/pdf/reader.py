"""Read a PDF as a paper."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from evidencebench.papers.blocks import Block, paper_of
from evidencebench.papers.line_ends import words_of
from evidencebench.papers.losses import LossCount, Part
from evidencebench.papers.paper import Paper
from evidencebench.papers.pdf.lines import PrintedLine, lines_of, styles_of, with_labels
from evidencebench.papers.pdf.page_edges import line_numbers, running_lines
from evidencebench.papers.pdf.pages import pages_of
from evidencebench.papers.pdf.paragraph_text import text_of_lines
from evidencebench.papers.pdf.paragraphs import BEGINS, ENDED, PrintedParagraph, paragraphs_of
from evidencebench.papers.pdf.reading_order import in_reading_order
from evidencebench.papers.pdf.roles import PaperPart, PartRole, parts_of
from evidencebench.papers.pdf.section_names import ABSTRACT_LABEL
from evidencebench.papers.pdf.unread_pages import unread_pages
from evidencebench.query import Kind

_HEAD_BYTES = 1024

# Role -> the kind of its sentences, and the part of the paper that it counts to.
_READ: dict[PartRole, tuple[Kind, Part]] = {
    PartRole.TITLE: (Kind.HEADING, "title"),
    PartRole.HEADING: (Kind.HEADING, "body"),
    PartRole.ABSTRACT: (Kind.ABSTRACT, "abstract"),
    PartRole.BODY: (Kind.BODY, "body"),
}


def is_pdf(content: bytes) -> bool:
    """Say whether a file is a PDF, which may begin with some bytes of something else."""
    return b"%PDF-" in content[:_HEAD_BYTES]


def read_pdf(content: bytes, name: str) -> Paper:
    """Return the paper in a PDF; raises `UnreadableError` if it is scanned, encrypted, damaged or too long."""
    pages, fonts = pages_of(content, name)
    styles = styles_of(fonts)
    count = LossCount()
    warnings = unread_pages(pages, name, count)
    for page in pages:
        for sort, text in page.unread.items():
            count.leave_out(sort, text)
    rows = [lines_of(page, styles) for page in pages]
    rows = [with_labels(_without(row, line_numbers(row), "line number", count)) for row in rows]
    running = running_lines(rows)
    rows = [in_reading_order(_without(row, running, "running head or page number", count)) for row in rows]
    lines = [line for row in rows for line in row]
    words = words_of("\n".join(line.text for line in lines))
    parts = _rejoined(parts_of(paragraphs_of(lines, styles), styles))
    title = next((part for part in parts if part.role is PartRole.TITLE), None)
    blocks = list(_blocks(parts, words, count))
    return paper_of(
        blocks,
        name=name,
        file_format="PDF",
        title=text_of_lines(title.paragraph.lines, words).text if title else "",
        loss=count.loss,
        warnings=warnings,
    )


def _without(
    lines: Sequence[PrintedLine], unwanted: AbstractSet[int], sort: str, count: LossCount
) -> list[PrintedLine]:
    for line in lines:
        if id(line) in unwanted:
            count.leave_out(sort, line.text)
    return [line for line in lines if id(line) not in unwanted]


def _rejoined(parts: Sequence[PaperPart]) -> list[PaperPart]:
    """Join the parts of a paragraph that goes on in another column or on another page, or behind a figure."""
    rejoined: list[tuple[PaperPart, list[PrintedLine]]] = []
    last: tuple[PaperPart, list[PrintedLine]] | None = None  # the last running text
    for part in parts:
        lines = list(part.paragraph.lines)
        if part.role in (PartRole.ABSTRACT, PartRole.BODY):
            if last and last[0].role is part.role and _goes_on(last[1][-1], lines[0]):
                last[1].extend(lines)
                continue
            last = part, lines
            rejoined.append(last)
        else:
            last = None if part.role in (PartRole.HEADING, PartRole.TITLE, PartRole.LABEL) else last
            rejoined.append((part, lines))
    return [replace(part, paragraph=PrintedParagraph(lines=tuple(lines))) for part, lines in rejoined]


def _goes_on(last: PrintedLine, line: PrintedLine) -> bool:
    is_elsewhere = last.page is not line.page or last.column != line.column
    return ENDED.search(last.text) is None and (is_elsewhere or not BEGINS.match(line.text))


def _blocks(parts: Sequence[PaperPart], words: AbstractSet[str], count: LossCount) -> Iterator[Block]:
    path: list[tuple[int, str]] = []
    label: tuple[PrintedLine, ...] = ()
    for part in parts:
        lines = part.paragraph.lines
        if part.role is PartRole.LABEL:
            label = lines
            continue
        if part.role not in _READ:
            count.leave_out(part.role.value, part.paragraph.text)
            continue
        kind, counted = _READ[part.role]
        path = [(level, title) for level, title in path if level < part.level or kind is not Kind.HEADING]
        text = text_of_lines(lines, words, label=label if kind is Kind.ABSTRACT else ())
        count.read(counted, "".join(line.text for line in lines))
        count.keep(counted, "".join(line.text for line in lines))
        label = ()
        section = ("Abstract",) if kind is Kind.ABSTRACT else tuple(title for _, title in path)
        if kind is Kind.ABSTRACT and (word := ABSTRACT_LABEL.match(text.text)):
            heading = text[: len(word[0].rstrip(" .:-\u2013\u2014"))]
            yield Block(text=heading, kind=Kind.HEADING, page=lines[0].page.number)
            text = text[word.end() :]
        if text.text:
            yield Block(text=text, kind=kind, section=section, page=lines[0].page.number)
        if part.role is PartRole.HEADING:
            path.append((part.level, text.text))
