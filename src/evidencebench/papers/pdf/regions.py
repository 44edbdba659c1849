"""Which lines of a page are running text, headings and captions, and which belong to tables, figures and formulas.

Lines of running text are as wide as the column and made of words, or go on where such a line ends. A heading stands
right above them, in other type. What is left is a cell, a label or a formula: it is told by the nearest caption.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from evidencebench.papers.lines import captioned
from evidencebench.papers.pdf.lines import PrintedLine
from evidencebench.papers.pdf.paragraphs import ENDED, is_abstract_part, section_of
from evidencebench.papers.pdf.reading_order import in_reading_order
from evidencebench.papers.sections import SectionSort, number_of

_SMALL_WORD = re.compile(r"\b[a-z]{2,}\b")
_WORD = re.compile(
    r"[(\[\"'\u201c\u2018]*[^\W\d_](?:[^\W\d_]|[\u2019'/\u2013-])+[)\]\"'\u201d\u2019.,;:?!]*(?:\d{1,3})?"
)
# What the name of a table or a figure may follow.
_NAMES = re.compile(r"(?:\(|\b(?:in|[Ss]ee|and|from|of|to|with|by|or|the|as|on))$")
_NOTED = re.compile(r"[*\u2020\u2021\u00a7]{1,2}\s?[A-Z]|\d{1,2}\s?(?:[A-Z][a-z]* [a-z]|https?:)")
_COUNT = re.compile(r"\d+(?!\w)")  # "12-Month survival", but no "1Department"
_ITEM = re.compile(r"(?:\(?[\da-z]{1,3}[.)]|[\u2022\u25cf\u25aa\u2013-]) ")  # of a list, whose other lines are set in
_CITATION = re.compile(r"\[\d[\d, \u2010-\u2015-]*\]\.?")
_FORMULA = re.compile(
    r"[=<>\u2264\u2265\u2248\u00b1\u2211\u220f\u222b\u221a\u2202\u2207\u2208\u2212+]|\(\d{1,3}[a-z]?\)$"
)

# In sizes of type.
_SAME_SIZE = 0.06
_LEVEL, _ABOUT_SIZE, _SIDE_BY_SIDE = 0.45, 0.3, 3.0  # of parts of one row: their heights, their sizes, the gap
_LEAST_STEP, _NEXT, _CAPTION_STEP = 0.4, 1.85, 1.5  # from line to line
_FARTHER, _MOST_STEP = 1.1, 3.0  # than the usual step; of a manuscript
_INDENT, _LEAST_INDENT, _FLUSH = 2.5, 1.2, 0.3
_ABOVE_TEXT = 4.5  # from a heading to its text
_NEAR_TEXT = 6.0  # from a formula to the text around it

_FULL, _WIDE = 0.8, 0.6  # of the usual width of a line
_LARGER, _SMALLER, _SMALLEST_HEADING, _SMALLEST_BOLD = 0.5, 1.6, 0.8, 1.2  # points
_MOST_WORDS, _SOME_WORDS = 0.5, 0.15  # of what a row holds
_LEAST_SMALL_WORDS = 3
_LEAST_ROWS = 3
_LEAST_LETTERS, _LONGEST_HEADING, _LONGEST_SENTENCE, _LONGEST_NAME = 3, 160, 80, 6
_AROUND_FORMULA = 4  # rows
_LATE, _SMALLEST_LATE = 0.4, 2.6  # the share of pages before those that may end in small type; points
_FAR = 200.0  # points by which a caption beside seems further away than one above or below


class RegionSort(StrEnum):
    """What lines that are left out belong to; the values are words of the loss report."""

    TABLE = "table"
    FIGURE = "figure"
    FORMULA = "display formula"
    NOTE = "note in small type"


class _TextRow:
    """Lines side by side in one column."""

    def __init__(self, lines: list[PrintedLine], reach: float) -> None:
        longest = max(lines, key=lambda line: len(line.glyphs))
        self.lines = lines
        self.text = " ".join(line.text for line in lines)
        self.left, self.right = min(line.left for line in lines), max(line.right for line in lines)
        self.baseline, self.size = longest.baseline, longest.size
        self.reach = reach  # the farthest step from line to line, in sizes of type
        is_capitals = self.text.isupper() and sum(map(str.isalpha, self.text)) > _LEAST_LETTERS
        self.look = all(line.is_bold for line in lines), all(line.is_italic for line in lines), is_capitals
        words = self.text.split()
        self.n_small_words = len(_SMALL_WORD.findall(self.text))
        self.share_of_words = sum(_WORD.fullmatch(word) is not None for word in words) / max(1, len(words))
        self.is_wordy = self.share_of_words > _MOST_WORDS
        self.is_unfinished = self.text[-1] not in ".?!:"
        self.is_text = self.is_heading = False
        self.is_note = False  # at the foot of a page, behind a mark
        self.caption: RegionSort | None = None  # what it is part of the caption of
        self.first: _TextRow | None = None  # the caption's first row

    def is_alike(self, other: "_TextRow") -> bool:
        return abs(self.size - other.size) < _SAME_SIZE * max(self.size, other.size)

    def overlaps(self, other: "_TextRow") -> bool:
        return min(self.right, other.right) > max(self.left, other.left)

    def stands_out_from(self, other: "_TextRow") -> bool:
        return any(own and not others for own, others in zip(self.look, other.look, strict=True))

    def is_beside(self, text: "_TextRow") -> bool:
        """Whether it stands right above or below a row of running text, in type of its size."""
        step = abs(self.baseline - text.baseline) / max(text.size, self.size)
        return text.is_text and self.is_alike(text) and _LEAST_STEP < step < self.reach

    def is_second_line_of(self, above: "_TextRow") -> bool:
        """Whether it stands right below a row of the same look."""
        is_near = _LEAST_STEP < (self.baseline - above.baseline) / self.size < self.reach
        return is_near and self.is_alike(above) and self.look == above.look and self.overlaps(above)


@dataclass(slots=True)
class PageFloat:
    """A table or a figure with its caption's lines, or notes without one, in reading order."""

    sort: RegionSort
    caption: list[PrintedLine] = field(default_factory=list)
    lines: list[PrintedLine] = field(default_factory=list)


def regions_of(pages: Sequence[Sequence[PrintedLine]]) -> tuple[list[PrintedLine], list[PageFloat]]:
    """Return the lines that are read, in reading order, and the others; those of each page come in reading order."""
    body, width, step = _usual(pages)
    font = _usual_font(pages, body)
    all_read: list[PrintedLine] = []
    all_floats: list[PageFloat] = []
    is_references = is_end = False
    for number, lines in enumerate(pages):
        rows = _rows(lines, max(_NEXT, _FARTHER * step))
        _find_text(rows, body, width)
        _find_short_sentences(rows, body, width, font)
        _find_narrow_text(rows, body, width, font)
        _find_captions(rows)
        is_late = number >= _LATE * len(pages)
        first_text = next((at for at, row in enumerate(rows) if row.is_text), len(rows))
        read: list[PrintedLine] = []
        marked: dict[int, list[_TextRow]] = {}  # the rows of each table and figure, by its caption's first
        floats: dict[int | RegionSort, PageFloat] = {}
        for at, row in enumerate(rows):
            above = rows[max(0, at - 1)]
            goes_on = above.is_heading and row.is_second_line_of(above) and not section_of(above.text)
            is_heading = goes_on or _is_heading(rows, row, body, is_late=is_late)
            row.is_heading = is_heading and not (row.is_text or row.caption)
            section = section_of(row.text) if row.is_heading or row.is_text else None
            row.is_heading |= is_late and section is SectionSort.REFERENCES and row.text[0].isupper()
            is_references = section is SectionSort.REFERENCES or (is_references and not (row.is_heading and section))
            if row.is_heading and section:
                is_end = is_late and section is SectionSort.BACK_MATTER
            is_end_text = is_end and row.n_small_words > 0 and row.size < body - _FLUSH
            is_front = number == 0 and at < first_text and row.size > body - _SMALLER
            is_read = row.is_text or row.is_heading or is_front or is_end_text
            if is_references or (is_read and not row.caption):
                lead = row.lines[0]  # which may be a heading far before the text
                is_led = lead.is_bold and not row.look[0] and lead.text[-1] == "."
                read.append(replace(lead, is_heading=row.is_heading or is_led))
                read += [replace(line, is_heading=row.is_heading) for line in row.lines[1:]]
                continue
            sort, caption = (row.caption, row) if row.caption else _sort(rows, at, body)
            beside = floats.setdefault(id(caption.first) if caption else sort, PageFloat(sort))
            (beside.caption if row.caption else beside.lines).extend(row.lines)
            if caption is not None and row.overlaps(caption):
                marked.setdefault(id(caption.first), []).append(row)
        all_floats.extend(floats.values())
        # What is left out parts the text above it from the text below, as wide as it is.
        marks = list(map(_mark, marked.values()))
        all_read += [line for line in in_reading_order([*read, *marks]) if line.glyphs]
    return all_read, all_floats


def _mark(rows: Sequence[_TextRow]) -> PrintedLine:
    heights = [row.baseline for row in rows]
    left, right = min(row.left for row in rows), max(row.right for row in rows)
    return replace(rows[0].lines[0], glyphs=(), left=left, right=right, baseline=(min(heights) + max(heights)) / 2)


def _usual(pages: Sequence[Sequence[PrintedLine]]) -> tuple[float, float, float]:
    """Return the size of the text, how wide its lines are, and the step from line to line in sizes of type."""
    steps: Counter[float] = Counter()
    sizes: Counter[float] = Counter()
    widths: Counter[int] = Counter()
    all_lines = [line for lines in pages for line in lines]
    sentences = [line for line in all_lines if len(_SMALL_WORD.findall(line.text)) >= _LEAST_SMALL_WORDS]
    for line in sentences or all_lines:
        sizes[line.style.size] += len(line.glyphs)
    body = max(sizes, key=sizes.__getitem__, default=1.0)
    for line in sentences:
        if abs(line.size - body) < _LARGER:
            widths[3 * round((line.right - line.left) / 3)] += 1
    for above, below in pairwise(sentences):
        if above.page is below.page and abs(above.size - body) < _LARGER and below.baseline > above.baseline:
            steps[round((below.baseline - above.baseline) / body, 1)] += 1
    step = max(steps, key=steps.__getitem__, default=_NEXT)
    return body, max(widths, key=widths.__getitem__, default=1), min(step, _MOST_STEP)


def _usual_font(pages: Sequence[Sequence[PrintedLine]], body: float) -> str:
    """Return the name of the font of most characters in the size of the text."""
    fonts: Counter[str] = Counter()
    for line in (line for lines in pages for line in lines):
        if abs(line.style.size - body) < _FLUSH:
            fonts[line.style.name] += len(line.glyphs)
    return max(fonts, key=fonts.__getitem__, default="")


def _rows(lines: Sequence[PrintedLine], reach: float) -> list[_TextRow]:
    rows: list[_TextRow] = []
    for line in lines:
        row = rows[-1] if rows else _TextRow([line], reach)
        size = max(line.size, row.size)
        is_level = abs(line.baseline - row.baseline) < _LEVEL * size and abs(line.size - row.size) < _ABOUT_SIZE * size
        most = _SIDE_BY_SIDE * (2 if row.look[0] and row.text[-1] == "." else 1)  # a run-in heading may stand far apart
        is_beside = -_LEVEL * size < line.left - row.right < most * size
        if rows and is_level and is_beside and line.column == row.lines[-1].column:
            rows[-1] = _TextRow([*row.lines, line], reach)
        else:
            rows.append(_TextRow([line], reach))
    return rows


def _find_text(rows: Sequence[_TextRow], body: float, width: float) -> None:
    for row in rows:
        row.is_text = _is_full(row, width) and row.n_small_words >= _LEAST_SMALL_WORDS and row.is_wordy
    for block in _blocks_alike(rows, width):  # what stands out as headings do is text only where it is long
        text = " ".join(row.text for row in block)
        is_title = block[0].size > body + _LARGER and text[-1] != "."
        longest = 3 * _LONGEST_HEADING if is_title else _LONGEST_HEADING
        is_long = len(text) > (_LONGEST_SENTENCE if text[-1] == "." else longest)
        is_other = abs(block[0].size - body) > _FLUSH and text[-1].isalnum()
        if block[0].size > body + _LARGER or is_other or any(block[0].look) or number_of(text):
            is_text = is_long and 2 * sum(row.is_text for row in block) >= len(block)
            for row in block:
                row.is_text = is_text
    for above, row in pairwise(rows):
        row.is_text = row.is_text or _goes_on(above, row, width)
    for below, row in pairwise(reversed(rows)):
        row.is_text = row.is_text or _begins(row, below, width)
    for row in rows:  # a paragraph of one line
        is_sentence = row.text[0].isupper() and row.text[-1] in ".:?!" and row.n_small_words > _LEAST_SMALL_WORDS
        row.is_text |= is_sentence and abs(row.size - body) < _LARGER and row.is_wordy and not row.look[0]


def _find_short_sentences(rows: Sequence[_TextRow], body: float, width: float, font: str) -> None:
    """Find short sentences, as "None." below "Harms", and items: in the text's type, alone, below text or a heading."""
    for at, (above, row) in enumerate(pairwise(rows), 1):
        is_plain = row.lines[0].style.name == font and abs(row.size - body) < _FLUSH and not any(row.look)
        is_item = _ITEM.match(row.text) is not None and row.n_small_words > 0
        goes_on = is_item and row.is_unfinished and at + 1 < len(rows) and row.left < rows[at + 1].left
        is_sentence = ENDED.search(row.text) is not None and section_of(row.text) is None
        begins = (is_sentence and (is_item or row.text[0].isupper())) or goes_on
        is_below = _ABOUT_SIZE < (row.baseline - above.baseline) / row.size < _MOST_STEP and row.overlaps(above)
        is_headed = any(above.look) or above.size > body + _LARGER
        is_at_left = row.left - row.lines[0].column[0] < _INDENT * row.size
        if is_plain and begins and is_below and is_at_left and (above.is_text or is_headed):
            row.is_text = row.is_text or _is_alone(rows, row)
        elif is_plain and above.is_text:
            row.is_text = row.is_text or _goes_on(above, row, width)


def _find_narrow_text(rows: Sequence[_TextRow], body: float, width: float, font: str) -> None:
    """Find text that a figure stands beside: rows below each other in the text's type, right below or above text."""
    for block in _blocks_alike(rows, width):
        is_plain = block[0].lines[0].style.name == font and abs(block[0].size - body) < _FLUSH
        is_wordy = sum(row.n_small_words for row in block) >= _LEAST_SMALL_WORDS * len(block) and block[0].is_wordy
        if len(block) >= _LEAST_ROWS and is_plain and is_wordy and not any(block[0].look):
            is_near = any(row.is_beside(text) and row.overlaps(text) for row in (block[0], block[-1]) for text in rows)
            for row in block if is_near or any(row.is_text for row in block) else ():
                row.is_text |= row.is_wordy and row.n_small_words > 0


def _is_alone(rows: Sequence[_TextRow], row: _TextRow) -> bool:
    """Whether nothing stands beside a row, as a cell of a table would."""
    return not any(
        other is not row
        and abs(other.baseline - row.baseline) < _LEVEL * row.size
        and other.lines[0].column == row.lines[0].column
        for other in rows
    )


def _is_full(row: _TextRow, width: float) -> bool:
    return row.right - row.left >= _FULL * width


def _blocks_alike(rows: Sequence[_TextRow], width: float) -> list[list[_TextRow]]:
    """Return rows right below each other in type of one look; "2.1 Overview" stands alone."""
    blocks: list[list[_TextRow]] = []
    for row in rows:
        above = blocks[-1][-1] if blocks else row
        is_other = len(number_of(above.text)) > 1 or above.lines[0].style.name != row.lines[0].style.name
        if blocks and row.is_second_line_of(above) and (_is_full(above, width) or not is_other):
            blocks[-1].append(row)
        else:
            blocks.append([row])
    return blocks


def _goes_on(above: _TextRow, row: _TextRow, width: float) -> bool:
    """Whether a row goes on with the text above it, or with that at the foot of the column before."""
    if not above.is_unfinished and (captioned(row.text) or len(number_of(row.text)) > 1):  # "2.1 Overview"
        return False
    is_higher = row.baseline < above.baseline - row.reach * row.size
    is_at_top = above.is_text and row.is_alike(above) and is_higher and row.left > above.right  # of the next column
    indent = 0.0 if is_at_top else (row.left - above.left) / row.size
    is_far = is_at_top and row.left > row.lines[0].column[0] + _INDENT * row.size
    is_rest = not is_far and len(row.lines) == 1 and (above.is_unfinished or _CITATION.fullmatch(row.text) is not None)
    is_sentence = row.n_small_words > 0 and row.share_of_words > _SOME_WORDS
    is_other = row.stands_out_from(above) and (row.look[0] or not above.is_unfinished)
    is_next = row.is_beside(above) or (above.is_unfinished and is_at_top)
    is_within = -_INDENT < indent < (_INDENT if _ITEM.match(above.text) else _LEAST_INDENT)
    is_line = is_rest or is_sentence or (_is_full(row, width) and row.is_wordy)
    return is_within and is_next and is_line and not is_other


def _begins(row: _TextRow, below: _TextRow, width: float) -> bool:
    """Whether a row is the first of the text below it, or is as wide as that."""
    if captioned(row.text) or (row.stands_out_from(below) and not below.lines[0].n_lead):
        return False
    is_flush = max(abs(row.left - below.left), abs(row.right - below.right)) < _FLUSH * row.size
    is_long = row.is_wordy and (_is_full(row, width) or row.n_small_words >= _LEAST_SMALL_WORDS)
    is_wide = is_long and row.right > below.left + _WIDE * width
    is_item = _ITEM.match(row.text) is not None and row.left < below.left  # the first line of a list's item hangs
    is_within = -(_INDENT if is_item else _LEAST_INDENT) < (row.left - below.left) / row.size < _INDENT
    return is_within and row.is_beside(below) and (is_flush or is_wide or (is_item and row.is_unfinished))


def _find_captions(rows: Sequence[_TextRow]) -> None:
    above: _TextRow | None = None
    text: _TextRow | None = None  # the last of the running text
    for row in rows:
        what = captioned(row.text)
        is_named = text is not None and row.is_alike(text) and _NAMES.search(text.text) is not None
        if what and not (is_named or (above and above.is_text and above.is_unfinished and row.is_beside(above))):
            row.caption, row.first = RegionSort(what), row
        elif above and above.caption and row.is_alike(above):
            step = (row.baseline - above.baseline) / row.size
            if -_ABOUT_SIZE < step < _CAPTION_STEP:
                row.caption, row.first = above.caption, above.first
        row.is_text = row.is_text and not row.caption
        above, text = row, row if row.is_text else text


def _is_heading(rows: Sequence[_TextRow], row: _TextRow, body: float, *, is_late: bool) -> bool:
    text = row.text
    if (
        sum(map(str.isalpha, text)) < _LEAST_LETTERS
        or len(text) > _LONGEST_HEADING
        or not (text[0].isupper() or _COUNT.match(text) or section_of(text) is SectionSort.ABSTRACT)
        or text[-1] in ",;-="
        or captioned(text)
    ):
        return False
    section = section_of(text) or (SectionSort.ABSTRACT if is_abstract_part(text) else None)
    is_name = section is not None and len(text.split()) <= _LONGEST_NAME
    is_capitals = text.isupper() and section in (SectionSort.ABSTRACT, SectionSort.BODY)  # as in small type
    if is_name and row.size > body - (_SMALLER if is_capitals else _SMALLEST_BOLD if row.look[0] else _LARGER):
        return True
    if is_name and is_late and section in (SectionSort.BACK_MATTER, SectionSort.REFERENCES):
        any_font = section is SectionSort.REFERENCES
        return row.size > body - _SMALLEST_LATE and _stands_alone(rows, row, any_font=any_font)
    if row.size < body - (_SMALLEST_BOLD if row.look[0] else _SMALLEST_HEADING):
        return False
    return row.share_of_words >= _MOST_WORDS and _stands_above_text(rows, row, body)


def _stands_alone(rows: Sequence[_TextRow], row: _TextRow, *, any_font: bool) -> bool:
    """Whether nothing stands beside a row of its column, and another font below it."""
    at = rows.index(row)
    around = [*rows[max(0, at - 1) : at], *rows[at + 1 : at + 2]]
    is_beside = any(abs(other.baseline - row.baseline) < _LEVEL * row.size for other in around)
    below = around[-1] if around else row
    return not is_beside and (any_font or below.lines[0].style.name != row.lines[0].style.name)


def _stands_above_text(rows: Sequence[_TextRow], row: _TextRow, body: float) -> bool:
    """Whether the next row below is text of another look, or a heading that stands above such text."""
    size = max(row.size, body)
    lower = [other for other in rows if _ABOUT_SIZE < (other.baseline - row.baseline) / size < _ABOVE_TEXT]
    below = min((other for other in lower if row.overlaps(other)), key=lambda other: other.baseline, default=None)
    if below is None or below.caption:
        return False
    is_other = row.stands_out_from(below) or abs(row.size - below.size) > _FLUSH or row.text.isupper()
    if below.is_text:
        return is_other or bool(number_of(row.text))
    is_heading_too = is_other or row.look == below.look or any(below.look) or bool(number_of(below.text))
    return is_heading_too and below.share_of_words >= _MOST_WORDS and _stands_above_text(rows, below, body)


def _sort(rows: Sequence[_TextRow], at: int, body: float) -> tuple[RegionSort, _TextRow | None]:
    """Return what a row that is not read belongs to, and its caption."""
    row = rows[at]
    around = rows[max(0, at - _AROUND_FORMULA) : at + _AROUND_FORMULA + 1]
    is_in_text = any(other.is_text and abs(other.baseline - row.baseline) < _NEAR_TEXT * body for other in around)
    if is_in_text and row.size > body - _SMALLER and _FORMULA.search(row.text):
        return RegionSort.FORMULA, None
    goes_on = at > 0 and rows[at - 1].is_note and row.is_second_line_of(rows[at - 1])
    row.is_note = row.size < body - _SMALLEST_HEADING and (goes_on or _NOTED.match(row.text) is not None)
    if row.is_note:
        return RegionSort.NOTE, None
    texts = [other.baseline for other in rows if other.is_text and row.overlaps(other)]
    captions = [
        other
        for other in rows
        if other.caption and not any(min(ends := (row.baseline, other.baseline)) < at < max(ends) for at in texts)
    ]
    if not captions:
        return RegionSort.NOTE if row.size < body - _LARGER else RegionSort.FIGURE, None

    def distance(other: _TextRow) -> float:
        apart = abs(other.baseline - row.baseline)
        return apart if row.overlaps(other) else apart + _FAR

    nearest = min(captions, key=distance)
    return nearest.caption or RegionSort.FIGURE, nearest
