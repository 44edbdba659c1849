"""Read a PDF as a paper."""

from collections import Counter
from collections.abc import Iterator, Sequence

from evidencebench.papers.blocks import Block, paper_of
from evidencebench.papers.paper import LeftOut, Loss, Paper
from evidencebench.papers.pdf.lines import lines_of, styles_of
from evidencebench.papers.pdf.page_edges import line_numbers, running_lines
from evidencebench.papers.pdf.pages import pages_of
from evidencebench.papers.pdf.paragraph_text import text_of_lines, vocabulary_of
from evidencebench.papers.pdf.paragraphs import PrintedParagraph, paragraphs_of
from evidencebench.papers.pdf.reading_order import in_reading_order
from evidencebench.papers.pdf.roles import PaperPart, PartRole, parts_of
from evidencebench.query import Kind

_BEGINNING = b"%PDF-"
_HEAD_BYTES = 1024

_KINDS = {
    PartRole.TITLE: Kind.HEADING,
    PartRole.HEADING: Kind.HEADING,
    PartRole.ABSTRACT: Kind.ABSTRACT,
    PartRole.BODY: Kind.BODY,
}


def is_pdf(content: bytes) -> bool:
    """Say whether a file is a PDF, which may begin with some bytes of something else."""
    return _BEGINNING in content[:_HEAD_BYTES]


def read_pdf(content: bytes, name: str) -> Paper:
    """Return the paper in a PDF; raises `UnreadableError` if it is scanned, encrypted, damaged or too long."""
    pages, fonts = pages_of(content, name)
    styles = styles_of(fonts)
    rows = [lines_of(page, styles) for page in pages]
    numbers = {one for lines in rows for one in line_numbers(lines)}
    rows = [[line for line in lines if id(line) not in numbers] for lines in rows]
    running = running_lines(rows)
    lines = [line for page in rows for line in in_reading_order([line for line in page if id(line) not in running])]
    vocabulary = vocabulary_of(lines)
    parts = _rejoined(parts_of(paragraphs_of(lines, styles), styles))
    blocks = list(_blocks(parts, vocabulary))
    title = next(
        (block.text.text for block, part in zip(blocks, parts, strict=False) if part.role is PartRole.TITLE), ""
    )
    left_out: Counter[str] = Counter()
    n_left_out: Counter[str] = Counter()
    for part in parts:
        if part.role not in _KINDS:
            left_out[part.role.value] += 1
            n_left_out[part.role.value] += sum(len(line.glyphs) for line in part.paragraph.lines)
    loss = Loss(left_out={key: LeftOut(n_elements=n, n_characters=n_left_out[key]) for key, n in left_out.items()})
    return paper_of(blocks, name=name, file_format="PDF", title=title, loss=loss)


def _rejoined(parts: Sequence[PaperPart]) -> list[PaperPart]:
    """Join the parts of a paragraph that goes on in another column or on another page, or behind a figure."""
    found: list[PaperPart] = []
    before: int | None = None  # where the last running text stands in found
    for part in parts:
        if part.role in (PartRole.HEADING, PartRole.TITLE):
            before = None
        elif part.role in (PartRole.ABSTRACT, PartRole.BODY):
            if (
                before is not None
                and found[before].role is part.role
                and _goes_on(found[before].paragraph, part.paragraph)
            ):
                lines = (*found[before].paragraph.lines, *part.paragraph.lines)
                found[before] = PaperPart(paragraph=PrintedParagraph(lines=lines), role=part.role)
                continue
            before = len(found)
        found.append(part)
    return found


def _goes_on(first: PrintedParagraph, second: PrintedParagraph) -> bool:
    last, line = first.lines[-1], second.lines[0]
    if first.is_ended:
        return False
    is_elsewhere = last.page is not line.page or last.column != line.column
    return is_elsewhere or line.text[0].islower()


def _blocks(parts: Sequence[PaperPart], vocabulary: Counter[str]) -> Iterator[Block]:
    path: list[tuple[int, str]] = []
    for part in parts:
        kind = _KINDS.get(part.role)
        if kind is None:
            continue
        text = text_of_lines(part.paragraph.lines, vocabulary)
        if not text.text:
            continue
        if part.role is PartRole.HEADING:
            path = [(level, title) for level, title in path if level < part.level]
        yield Block(
            text=text,
            kind=kind,
            section=tuple(title for _, title in path),
            page=part.paragraph.lines[0].page.number,
        )
        if part.role is PartRole.HEADING:
            path.append((part.level, text.text))
