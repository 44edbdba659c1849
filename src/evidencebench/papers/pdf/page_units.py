"""Units of a PDF: rows of tables by where their cells stand, captions, notes, end matter."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from evidencebench.papers.lines import split_caption
from evidencebench.papers.paper import Place, Unit, UnitKind
from evidencebench.papers.pdf.front import is_notice
from evidencebench.papers.pdf.lines import PrintedLine
from evidencebench.papers.pdf.paragraphs import KEYWORDS, PartRole, paragraphs_of, section_of, text_of_lines
from evidencebench.papers.pdf.regions import PageFloat, RegionSort
from evidencebench.papers.pdf.roles import PaperPart
from evidencebench.papers.sections import SectionSort
from evidencebench.papers.units import Cell, UnitWriter

_LEVEL, _WRAPPED = 0.45, 1.35  # in sizes of type: the heights of a row's cells, the step within a cell
_ALIGNED = 0.6  # the share of a table's rows that have a cell in each column
_CELL_GAP = 0.55  # between cells; words are closer
_WIDE = 0.6  # of a table: a note below its rows
_MOST_HEADS = 4
_FEWEST_WORDS = 4  # of a note
_SMALL_WORD = re.compile(r"\b[a-z]{2,}\b")
_VALUE = re.compile(
    r"[<>\u2264\u2265=~\u00b1+\u2212\u2013(-]*\s?\d|[-\u2013\u2014\u2212]$|n[/.]?[as]\b|ref", re.IGNORECASE
)
_LED = re.compile(r"(?P<label>[A-Z][^.:]{3,60})[.:]\s+(?=[A-Z])")
_DECLARES = re.compile(r"\b(?:fund(?:ed|ing)|grants?\b|support(?:ed)? by|conflicts? of|competing|sponsor|trial regist)")


def units_of(floats: Iterable[PageFloat], parts: Sequence[PaperPart], words: AbstractSet[str]) -> tuple[Unit, ...]:
    """Return the units of all pages, tables, figures and notes before the end matter."""
    writer = UnitWriter()
    for beside in floats:
        place = Place(page=(beside.caption or beside.lines)[0].page.number)
        label, caption = split_caption(text_of_lines(beside.caption, words).text)
        writer.add_notes([caption], UnitKind.CAPTION, label=label, place=place)
        if "table" in label.lower():
            _add_table(writer, beside.lines, words, label=label, caption=caption, place=place)
        elif beside.sort is RegionSort.NOTE:
            for paragraph in paragraphs_of(beside.lines):
                _add_note(writer, text_of_lines(paragraph.lines, words).text, place)
    label = ""
    for part in parts:
        lines = part.paragraph.lines
        text, place = text_of_lines(lines, words).text, Place(page=lines[0].page.number)
        if part.role is PartRole.BACK_MATTER and section_of(text) is SectionSort.BACK_MATTER:
            label = text.rstrip(" .:")
        elif part.role is PartRole.KEYWORDS:
            rest = KEYWORDS.sub("", text, count=1).lstrip(" :.\u2014\u2013-")
            writer.add_notes([rest], UnitKind.END_MATTER, label="Keywords", place=place)
        elif part.role is PartRole.BACK_MATTER:
            _add_note(writer, text, place, label)
        elif part.role is PartRole.NOTE or (part.role is PartRole.AUTHORS and _DECLARES.search(text)):
            _add_note(writer, text, place)
    return tuple(writer.units)


def _add_note(writer: UnitWriter, text: str, place: Place, label: str = "") -> None:
    """Add a note of some words; one that begins with the title of end matter is that."""
    led = _LED.match(text)
    if led and section_of(led["label"]) is SectionSort.BACK_MATTER:
        label, text = led["label"], text[led.end() :]
    is_end = bool(label) or _DECLARES.search(text) is not None
    if is_end or (len(_SMALL_WORD.findall(text)) >= _FEWEST_WORDS and not is_notice(text)):
        kind = UnitKind.END_MATTER if is_end else UnitKind.FOOTNOTE
        writer.add_notes([text], kind, label=label, place=place)


class _PrintedCell(NamedTuple):
    text: str
    left: float
    right: float
    line: PrintedLine  # that it is a part of


def _add_table(
    writer: UnitWriter, lines: Sequence[PrintedLine], words: AbstractSet[str], *, label: str, caption: str, place: Place
) -> None:
    rows = _level_rows([cell for line in lines for cell in _cells(line, words)])
    columns = _columns(rows)
    width = max((line.right for line in lines), default=0) - min((line.left for line in lines), default=0)
    cells: list[list[Cell]] = []
    notes: list[str] = []
    for above, row in pairwise([[], *rows]):
        text, line = row[0].text, row[0].line
        is_long = len(row) == 1 and row[0].right - row[0].left > _WIDE * width
        if is_long and cells and len(_SMALL_WORD.findall(text)) >= _FEWEST_WORDS:
            notes.append(text)
            continue
        placed = _placed(row, columns)
        is_near = above and line.baseline - above[0].line.baseline < _WRAPPED * line.size
        is_led = bool(placed[0].text) and not placed[0].text[0].islower()
        has_values = any(_VALUE.match(cell.text) for cell in placed)
        if cells and len(columns) > 1 and len(cells[-1]) == len(placed) and is_near and not (is_led or has_values):
            pairs = zip(cells[-1], placed, strict=True)
            cells[-1] = [one._replace(text=f"{one.text} {other.text}".strip()) for one, other in pairs]
        else:
            cells.append(placed)
    n_heads = next((n for n, row in enumerate(cells[: _MOST_HEADS + 1]) if _is_below_heads(row, n)), 1)
    writer.add_table(cells, n_heads=n_heads if len(columns) > 1 else 0, label=label, caption=caption, place=place)
    writer.add_notes([" ".join(notes)], UnitKind.FOOTNOTE, label=label, place=place)


def _cells(line: PrintedLine, words: AbstractSet[str]) -> Iterator[_PrintedCell]:
    """Yield the parts of a line with more white space between them than words have."""
    is_words = len(_SMALL_WORD.findall(line.text)) >= _FEWEST_WORDS  # which may be spread over a column's width
    arrays, cells = line.page.arrays, [[line.glyphs[0]]]
    for before, glyph in pairwise(line.glyphs):
        gap = arrays.lefts[glyph.place] - arrays.rights[before.place]
        if glyph.has_space and not (glyph.script or is_words) and gap > _CELL_GAP * line.size:
            cells.append([glyph._replace(has_space=False)])
        else:
            cells[-1].append(glyph)
    for cell in cells:
        text = text_of_lines([replace(line, glyphs=tuple(cell))], words).text
        yield _PrintedCell(text, arrays.lefts[cell[0].place], arrays.rights[cell[-1].place], line)


def _level_rows(cells: Sequence[_PrintedCell]) -> list[list[_PrintedCell]]:
    """Return cells that stand side by side together, from top to bottom, each from left to right."""
    rows: list[list[_PrintedCell]] = []
    for cell in sorted(cells, key=lambda cell: cell.line.baseline):
        if rows and cell.line.baseline - rows[-1][0].line.baseline < _LEVEL * cell.line.size:
            rows[-1].append(cell)
        else:
            rows.append([cell])
    return [sorted(row, key=lambda cell: cell.left) for row in rows]


def _columns(rows: Sequence[Sequence[_PrintedCell]]) -> list[tuple[float, float]]:
    """Return the left and right edges of a table's columns; none where most rows do not agree on them."""
    counts = Counter(len(row) for row in rows if len(row) > 1)
    n_columns = max(counts, key=lambda n: n * counts[n], default=0)
    full = [row for row in rows if len(row) == n_columns]
    columns = list(zip(*full, strict=True))
    edges = [(median(cell.left for cell in column), median(cell.right for cell in column)) for column in columns]
    is_clear = all(before[1] < after[0] for before, after in pairwise(edges))
    return edges if is_clear and len(full) >= _ALIGNED * sum(counts[n] for n in counts if n >= n_columns) else []


def _placed(row: Sequence[_PrintedCell], columns: Sequence[tuple[float, float]]) -> list[Cell]:
    """Return the cells of a row, an empty one for a column without any; one cell where no columns are known."""
    if not columns:
        return [Cell("; ".join(cell.text for cell in row))]
    placed: list[Cell] = []
    at = 0
    for cell in row:
        distances = [max(left - cell.right, cell.left - right) for left, right in columns]
        within = [n for n, (left, right) in enumerate(columns) if cell.left <= (left + right) / 2 <= cell.right]
        spanned = within or [distances.index(min(distances))]
        if spanned[0] < at:  # in the same column as the cell before
            placed[-1] = placed[-1]._replace(text=f"{placed[-1].text} {cell.text}")
            continue
        placed += [Cell("")] * (spanned[0] - at) + [Cell(cell.text, spanned[-1] - spanned[0] + 1)]
        at = spanned[-1] + 1
    return [*placed, *[Cell("")] * (len(columns) - at)]


def _is_below_heads(row: Sequence[Cell], n_above: int) -> bool:
    """Whether a row has values, or is a label alone below others."""
    texts = [cell.text for cell in row[1:] if cell.text]
    has_values = 2 * sum(_VALUE.match(text) is not None for text in texts) >= len(texts) > 0
    return has_values or (n_above > 0 and bool(row[0].text) and not texts)
