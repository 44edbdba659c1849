"""Read_pdf: the steps; pages that cannot be read."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from evidencebench.errors import UnreadableError
from evidencebench.papers.blocks import Block, paper_of
from evidencebench.papers.lines import words_of
from evidencebench.papers.paper import Loss, Paper, Part, n_visible
from evidencebench.papers.pdf.boxes import page_boxes
from evidencebench.papers.pdf.extraction import UNNAMED, PdfPage, pages_of
from evidencebench.papers.pdf.identity import doi_of, year_of
from evidencebench.papers.pdf.lines import PrintedLine, line_numbers, lines_of, running_lines, styles_of, with_labels
from evidencebench.papers.pdf.page_units import units_of
from evidencebench.papers.pdf.paragraphs import (
    ABSTRACT_LABEL,
    BEGINS,
    ENDED,
    PartRole,
    PrintedParagraph,
    paragraphs_of,
    text_of_lines,
)
from evidencebench.papers.pdf.reading_order import in_reading_order
from evidencebench.papers.pdf.regions import regions_of
from evidencebench.papers.pdf.roles import PaperPart, parts_of
from evidencebench.query import Kind
from evidencebench.tables import shortened
from evidencebench.wording import counted

_OCR = "recognise its text first, as with 'ocrmypdf"
_LEAST_CHARACTERS = 80  # of a page that holds text; the last one of a paper may have less
_ALMOST_NONE = 25
_MOST = 0.5  # of the pages may have no text, or gibberish
_LONGEST_LIST = 60
_LONGEST_RUN_IN, _LEAST_RUN_IN = 24, 3  # words and letters of a heading within a paragraph's first line

# The least of a text that can be read; articles have 0.7 and 0.57 on their worst pages, and letters that were swapped
# for others, as by fonts that do not say which letters they show, 0.41 at most where all are moved by as many places.
# Pages of tables, where most characters are no letters, say little.
_LEAST_LETTERS_AND_DIGITS = 0.3
_FREQUENT_LETTERS = "eaiontrs"
_LEAST_FREQUENT = 0.45
_LEAST_SAMPLE, _LEAST_LETTERS = 200, 0.5


def unread_pages(pages: Sequence[PdfPage], name: str, count: Loss) -> tuple[str, ...]:
    """Return what a reader must know of single pages, and count them; raises `UnreadableError` if most are unread."""
    opened = [page for page in pages if not page.is_broken]
    if not opened:
        raise UnreadableError(
            f"{name}: PDF: damaged: none of its {len(pages)} pages can be opened; fetch it again, or open it in a "
            "viewer and print it to a new PDF"
        )
    n_without = sum(n_visible(page.text) < _LEAST_CHARACTERS for page in opened)
    if n_without > _MOST * len(opened) or not any(n_visible(page.text) for page in opened):
        raise UnreadableError(
            f"{name}: PDF: scanned: {n_without} of {len(opened)} pages hold no text, only pictures of it; {_OCR} "
            "scan.pdf paper.pdf'"
        )
    illegible = [page for page in opened if not _is_legible(page.text)]
    if len(illegible) > _MOST * (len(opened) - n_without):
        raise UnreadableError(
            f"{name}: PDF: the text of {len(illegible)} of {len(opened)} pages is gibberish: its fonts do not say "
            f"which letters they show; {_OCR} --force-ocr old.pdf paper.pdf'"
        )
    warnings: list[str] = []
    if broken := [page for page in pages if page.is_broken]:
        listed = _listed(broken)
        count.leave_out(f"{listed}, which could not be opened", "", n_elements=len(broken))
        warnings.append(f"{listed.capitalize()} could not be opened; fetch the PDF again to have all of it.")
    if empty := [page for page in opened if n_visible(page.text) < _ALMOST_NONE]:
        listed = _listed(empty)
        count.leave_out(f"{listed}, with hardly any text", "", n_elements=len(empty))
        warnings.append(f"There is hardly any text on {listed}; pictures of text are not read.")
    if illegible:
        warnings.append(f"The text of {_listed(illegible)} is gibberish: its fonts do not say which letters they show.")
    return tuple(warnings)


def _is_legible(text: str) -> bool:
    """Say whether text looks like words of a language, by the share of letters, and that of frequent ones.

    >>> _is_legible("SBP (mmHg) 0.41 (1.23) -1.99 (1.14) 0.82 (-3.09, 4.72) LDL (mmHg) 0.01 (0.02) 0.02 (0.03) " * 20)
    True
    """
    counts = Counter(unicodedata.normalize("NFKD", text.casefold()))
    n_all = sum(n for letter, n in counts.items() if not letter.isspace())
    n_meant = sum(n for letter, n in counts.items() if unicodedata.category(letter)[0] in "LMN")
    n_latin = sum(n for letter, n in counts.items() if "a" <= letter <= "z")
    n_frequent = sum(counts[letter] for letter in _FREQUENT_LETTERS)
    is_prose = n_latin >= max(_LEAST_SAMPLE, _LEAST_LETTERS * n_all)
    is_swapped = is_prose and n_frequent < _LEAST_FREQUENT * n_latin
    return n_all < _LEAST_SAMPLE or not (is_swapped or n_meant < _LEAST_LETTERS_AND_DIGITS * n_all)


def _listed(pages: Sequence[PdfPage]) -> str:
    numbers = shortened(", ".join(str(page.number) for page in pages), _LONGEST_LIST)
    return f"pages {numbers}" if len(pages) > 1 else f"page {numbers}"


# Role -> the kind of its sentences, and the part of the paper that it counts to.
_READ: dict[PartRole, tuple[Kind, Part]] = {
    PartRole.TITLE: (Kind.HEADING, "title"),
    PartRole.HEADING: (Kind.HEADING, "body"),
    PartRole.ABSTRACT: (Kind.ABSTRACT, "abstract"),
    PartRole.BODY: (Kind.BODY, "body"),
}


def is_pdf(content: bytes) -> bool:
    """Say whether a file is a PDF, which may begin with some bytes of something else."""
    return b"%PDF-" in content[:1024]


def read_pdf(content: bytes, name: str) -> Paper:
    pages, fonts, facts = pages_of(content, name)
    styles = styles_of(fonts)
    count = Loss()
    warnings = unread_pages(pages, name, count)
    for page in pages:
        for sort, text in page.unread.items():
            count.leave_out(sort, text)
    rows = [list(lines_of(page, styles)) for page in pages]
    first = [line.text for line in rows[0]]
    rows = [with_labels(_without(row, line_numbers(row), "line number", count)) for row in rows]
    running = running_lines(rows)
    rows = [in_reading_order(_without(row, running, "running head or page number", count)) for row in rows]
    lines, floats = regions_of(rows)
    for beside in floats:
        for line in (*beside.caption, *beside.lines):
            count.leave_out(beside.sort.value, line.text)
    words = words_of("\n".join(line.text for line in lines))
    parts = _rejoined(parts_of(paragraphs_of(lines)))
    title = next((part for part in parts if part.role is PartRole.TITLE), None)
    blocks = list(_blocks(parts, words, count))
    read = {line.text for part in parts if part.role in _READ for line in part.paragraph.lines}
    doi, year = doi_of(first, facts), year_of([line for line in first if line not in read], facts)
    count.check(sum(n_visible(page.letters) for page in pages))
    if n_unnamed := sum(block.text.text.count(UNNAMED) for block in blocks):
        told = f"The fonts do not say what {counted(n_unnamed, 'sign')} of the text shows; each is shown as {UNNAMED}."
        warnings = (*warnings, told)
    paper = paper_of(
        blocks,
        name=name,
        file_format="PDF",
        ids={"doi": doi} if doi else {},
        title=text_of_lines(title.paragraph.lines, words).text if title else "",
        loss=count,
        units=units_of(floats, parts, words),
        warnings=warnings,
        locate=page_boxes(lines),
    )
    return replace(paper, year=year)


def _without(lines: Sequence[PrintedLine], unwanted: AbstractSet[int], sort: str, count: Loss) -> list[PrintedLine]:
    for line in lines:
        if id(line) in unwanted:
            count.leave_out(sort, line.text)
    return [line for line in lines if id(line) not in unwanted]


_NUMBERING = "0123456789.() "


def _run_in(lines: Sequence[PrintedLine]) -> tuple[PrintedLine, ...]:
    """Return the lines of a heading that stands in a paragraph's first line, the last of them cut; none without one."""
    n_whole = next((at for at, line in enumerate(lines) if not line.is_bold), len(lines))
    if n_whole == len(lines):
        return ()
    last = lines[n_whole]
    glyphs = last.glyphs[: last.n_lead]
    n_lead = len(glyphs) + sum(glyph.has_space for glyph in glyphs)
    lead, rest = last.text[:n_lead], last.text[n_lead:]
    words = " ".join([*(line.text for line in lines[:n_whole]), lead])
    is_ended = words.rstrip()[-1:] in (".", ":", "?") or rest[:1] in (".", ":")
    is_short = len(words.split()) <= _LONGEST_RUN_IN and sum(map(str.isalpha, words)) >= _LEAST_RUN_IN
    begins = words.lstrip(_NUMBERING)[:1].isupper() and rest.lstrip(" .:")[:1].isupper()
    if not (glyphs and is_short and begins and (is_ended or not last.begins_italic)):
        return ()
    return (*lines[:n_whole], replace(last, glyphs=glyphs, text=lead))


def _rejoined(parts: Sequence[PaperPart]) -> list[PaperPart]:
    """Join the parts of a paragraph that goes on in another column or on another page, or behind a figure."""
    rejoined: list[tuple[PaperPart, list[PrintedLine]]] = []
    last: tuple[PaperPart, list[PrintedLine]] | None = None  # the last running text
    for part in parts:
        lines = list(part.paragraph.lines)
        if part.role in (PartRole.ABSTRACT, PartRole.BODY):
            if last and last[0].role is part.role and ENDED.search(last[1][-1].text) is None:
                before, line = last[1][-1], lines[0]
                if before.page is not line.page or before.column != line.column or not BEGINS.match(line.text):
                    last[1].extend(lines)
                    continue
            last = part, lines
        elif part.role in (PartRole.HEADING, PartRole.TITLE, PartRole.LABEL):
            last = None
        rejoined.append((part, lines))
    return [replace(part, paragraph=PrintedParagraph(lines=tuple(lines))) for part, lines in rejoined]


def _blocks(parts: Sequence[PaperPart], words: AbstractSet[str], count: Loss) -> Iterator[Block]:
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
        kind, counts_to = _READ[part.role]
        path = [(level, title) for level, title in path if level < part.level or kind is not Kind.HEADING]
        text = text_of_lines(lines, words, label=label if kind is Kind.ABSTRACT else ())
        count.read(counts_to, "".join(line.text for line in lines))
        count.keep(counts_to, "".join(line.text for line in lines))
        label = ()
        section = ("Abstract",) if kind is Kind.ABSTRACT else tuple(title for _, title in path)
        if kind is Kind.ABSTRACT and (word := ABSTRACT_LABEL.match(text.text)):
            heading = text[: len(word[0].rstrip(" .:-\u2013\u2014"))]
            yield Block(text=heading, kind=Kind.HEADING, page=lines[0].page.number)
            text = text[word.end() :]
        if kind is Kind.BODY and (run_in := _run_in(lines)):
            heading = text_of_lines(run_in, words)
            n_heading = len(heading.text)
            heading, text = heading[: len(heading.text.rstrip(" .:"))], text[n_heading:]
            yield Block(text=heading, kind=Kind.HEADING, section=section, page=lines[0].page.number)
            section, text = (*section, heading.text), text[len(text.text) - len(text.text.lstrip(" .:")) :]
        if text.text:
            yield Block(text=text, kind=kind, section=section, page=lines[0].page.number)
        if part.role is PartRole.HEADING:
            path.append((part.level, text.text))
