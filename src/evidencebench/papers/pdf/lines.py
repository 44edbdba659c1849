"""Characters to lines; running heads, line numbers."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from evidencebench.papers.pdf.extraction import GENERATED, PdfFont, PdfPage

# In sizes of type.
_WIDEST_GAP = 1.5  # between the words of a line; columns and cells are further apart
_LABEL_GAP = 2.5  # behind a short label, such as a heading's number or a bullet
_NUMBER_GAP = 0.6  # behind a number that may be that of the line
_SPACE = 0.22  # from here on a gap is a space, though the file has none
_OVERLAP = 0.6
_SAME_BASELINE = 0.1
_SAME_ROW = 0.3
_SCRIPT_SHIFT = 0.75
_LONGEST_LABEL = 5
_LEAST_SMALL = 4  # capitals of smaller type, of a heading in small capitals

_LONE_ACCENTS = "\u00a8\u02c6\u02c7\u02d8\u02d9\u02dd"  # over a letter that has no character with them

_BOLD = re.compile(
    r"bold|black|heavy|demi|CMBX|CMSSBX|\.B(?![a-z])|-B(?![a-z])|AdvP?[A-Z]+-?b$|-Medi(?!um)", re.IGNORECASE
)
_ITALIC = re.compile(r"ital|obli|CMTI|CMSL|\.I(?![a-z])|-I(?![a-z])", re.IGNORECASE)
_FORCE_BOLD = 1 << 18
_SUBSET = re.compile(r"^[A-Z]{6}\+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeStyle:
    """How type looks: its font without the letters that mark a part of it, its size in points."""

    name: str
    size: float
    is_bold: bool
    is_italic: bool


def styles_of(fonts: Sequence[PdfFont]) -> tuple[TypeStyle, ...]:
    return tuple(
        TypeStyle(
            name=_SUBSET.sub("", font.name),
            size=round(font.size, 1),
            is_bold=bool(font.flags & _FORCE_BOLD or _BOLD.search(font.name)),
            is_italic=bool(_ITALIC.search(font.name)),
        )
        for font in fonts
    )


class Glyph(NamedTuple):
    """A character of a line: its place in the page; whether a space stands before it; 1 raised, -1 lowered, else 0."""

    place: int
    has_space: bool
    script: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedLine:
    """A line, or a part of one that stands apart; places as in `PageArrays`."""

    page: PdfPage
    glyphs: tuple[Glyph, ...]
    text: str  # its characters and spaces
    left: float
    right: float
    baseline: float
    style: TypeStyle  # that of most of its characters
    is_bold: bool  # whether all its letters are
    is_italic: bool
    begins_italic: bool
    column: tuple[float, float]  # the left and the right edge of the column that it stands in; at first its own
    n_lead: int = 0  # how many of its first characters stand out in bold or italic type, if not all do
    is_heading: bool = False

    @property
    def size(self) -> float:
        return max(self.style.size, 1.0)


def with_labels(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Return lines of which each has its label, such as a heading's number, which stands apart from it."""
    labelled: list[PrintedLine] = []
    for line in lines:
        before = labelled[-1] if labelled else line
        size = max(before.size, line.size)
        is_level = abs(before.baseline - line.baseline) < _SAME_ROW * size
        is_near = -_SAME_ROW < (line.left - before.right) / size < _LABEL_GAP
        if labelled and len(before.text) <= _LONGEST_LABEL and is_level and is_near:
            left, right = min(before.left, line.left), max(before.right, line.right)
            labelled[-1] = replace(
                before if len(before.glyphs) > len(line.glyphs) else line,
                glyphs=(*before.glyphs, line.glyphs[0]._replace(has_space=True), *line.glyphs[1:]),
                text=f"{before.text} {line.text}",
                left=left,
                right=right,
                is_bold=before.is_bold and line.is_bold,
                is_italic=before.is_italic and line.is_italic,
                begins_italic=before.begins_italic,
                column=(left, right),
            )
        else:
            labelled.append(line)
    return labelled


def lines_of(page: PdfPage, styles: Sequence[TypeStyle]) -> Iterator[PrintedLine]:
    """Yield the lines of a page in the order of the file, without what cannot be seen or does not stand upright."""
    drawn, has_space, may_end, must_end = _drawn(page, styles)
    start = 0
    for end in may_end:
        if end in must_end or all(page.text[index].isdigit() for index in drawn[start:end]):
            yield _line(page, styles, drawn[start:end], [False, *has_space[start + 1 : end]])
            start = end


@np.errstate(invalid="ignore", over="ignore")
def _drawn(page: PdfPage, styles: Sequence[TypeStyle]) -> tuple[list[int], list[bool], list[int], set[int]]:
    """Return the characters that are seen, which have a space before them, and where lines end: of numbers, and any."""
    arrays = page.arrays
    is_space = np.array([*map(str.isspace, page.text)], dtype=bool)
    is_own = is_space & (np.array(arrays.flags, dtype=int) & GENERATED == 0)
    is_letter = np.array([" " <= letter not in _LONE_ACCENTS for letter in page.text], dtype=bool) & ~is_space
    is_upright = np.array(arrays.directions) == page.direction
    drawn = np.flatnonzero(is_letter & is_upright & np.array(page.is_shown, dtype=bool))
    if not drawn.size:
        return [], [], [], set()
    left, right, baseline = (np.array(one, float)[drawn] for one in (arrays.lefts, arrays.rights, arrays.baselines))
    own_size = np.array([max(style.size, 1.0) for style in styles])[np.array(arrays.fonts, dtype=int)[drawn]]
    size = np.maximum(own_size[1:], own_size[:-1])  # of a character and the one before it
    gap, shift = (left[1:] - right[:-1]) / size, abs(np.diff(baseline)) / size
    is_shifted = shift > _SAME_BASELINE
    # PDFium adds spaces where scripts begin and end, wherever they stand.
    spaced, own_spaced = (np.diff(np.cumsum(places)[drawn]) > 0 for places in (is_space, is_own))
    has_space = (gap > _SPACE) | np.where(is_shifted, own_spaced, spaced)
    # The letters of a ligature stand in the same place.
    is_near = ((gap > -_OVERLAP) | (left[1:] == left[:-1])) & (shift < _SCRIPT_SHIFT)
    may_end = ~(is_near & (gap < _NUMBER_GAP))
    must_end = ~(is_near & (gap < np.where(is_shifted, _NUMBER_GAP, _WIDEST_GAP)))
    end = len(drawn)
    ends = [(np.flatnonzero(places) + 1).tolist() for places in (may_end, must_end)]
    return drawn.tolist(), [False, *has_space.tolist()], [*ends[0], end], {*ends[1], end}


def _line(page: PdfPage, styles: Sequence[TypeStyle], indexes: Sequence[int], has_space: Sequence[bool]) -> PrintedLine:
    arrays = page.arrays
    letters = [page.text[index] for index in indexes]
    fonts = [arrays.fonts[index] for index in indexes]
    baselines = [arrays.baselines[index] for index in indexes]
    style = _style([styles[font] for font in fonts], letters)
    heights: defaultdict[float, float] = defaultdict(float)
    for (place, font), n in Counter(zip(baselines, fonts, strict=True)).items():
        heights[round(place, 1)] += n * styles[font].size
    baseline = max(heights, key=heights.__getitem__)
    least = _SAME_BASELINE * max(style.size, 1.0)
    script = {place: (baseline - place > least) - (place - baseline > least) for place in set(baselines)}
    scripts = [script[place] for place in baselines]
    own = [styles[font] for font in fonts]
    triples = zip(letters, fonts, scripts, strict=True)
    of_letters = {font for letter, font, shift in triples if not shift and letter.isalpha()}
    left, right = min(arrays.lefts[index] for index in indexes), max(arrays.rights[index] for index in indexes)
    return PrintedLine(
        page=page,
        glyphs=tuple(map(Glyph, indexes, has_space, scripts)),
        text="".join(f" {letter}" if spaced else letter for letter, spaced in zip(letters, has_space, strict=True)),
        left=left,
        right=right,
        baseline=baseline,
        style=style,
        is_bold=bool(of_letters) and all(styles[font].is_bold for font in of_letters),
        is_italic=bool(of_letters) and all(styles[font].is_italic for font in of_letters),
        begins_italic=own[0].is_italic,
        column=(left, right),
        n_lead=_n_lead(own, letters),
    )


def _style(styles: Sequence[TypeStyle], letters: Sequence[str]) -> TypeStyle:
    """Return the style of most characters; of small capitals, which are capitals in smaller type, that of the large."""
    usual = Counter(styles).most_common(1)[0][0]
    capitals = [style for style, letter in zip(styles, letters, strict=True) if letter.isupper()]
    has_small = any(map(str.islower, letters))
    return usual if has_small or not capitals else max(capitals, key=lambda style: style.size)


def _n_lead(styles: Sequence[TypeStyle], letters: Sequence[str]) -> int:
    """Return how many characters stand out at a line's beginning, as a heading within the paragraph's first line.

    Its number may be plain.
    """
    first = next((at for at, letter in enumerate(letters[:_LONGEST_LABEL]) if letter.isalpha()), 0)
    for stands_out in ([style.is_bold for style in styles], [style.is_italic for style in styles]):
        if stands_out[first] and not all(stands_out[first:]):
            return stands_out.index(False, first)
    end = next((at for at, letter in enumerate(letters) if letter.islower()), 0)
    large = max(style.size for style in styles)
    small_capitals = [at for at in range(end) if letters[at].isupper() and styles[at].size < large]
    return small_capitals[-1] + 1 if len(small_capitals) >= _LEAST_SMALL else 0


_N_EDGE_ROWS = 3  # at the top and at the foot of a page
_EDGE_GAP = 1.6  # between them and the text, in sizes of type
_LEAST_REPEATED = 0.3  # the share of pages from which on a line runs
_MOST_AT_EDGE = 20  # lines at the top or the foot of a page
_SAME_PLACE = 4.0  # points
_NUMBER = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"(?:page )?(?:[A-Za-z]{0,2}\d{1,6}|[ivxl]{1,6})(?: (?:of|/) \d+)?|[-\u2013\u2014] ?\d+ ?[-\u2013\u2014]",
    re.IGNORECASE,
)
_LEAST_NUMBERED = 5  # lines of a page
_LEAST_OF_ROWS = 0.5
_LONGEST_NUMBER = 5


def running_lines(pages: Sequence[Sequence[PrintedLine]]) -> set[int]:
    """Return the identities of the lines that run over the pages: heads, feet and page numbers."""
    pages_from_top = [sorted(lines, key=lambda line: line.baseline) for lines in pages]
    # The lines at the top and at the foot of each page that stand apart from its text.
    edges = [[*_apart(lines), *_apart(lines[::-1])] for lines in pages_from_top]
    placed = [
        (number, line, _NUMBER.sub("#", line.text.casefold()), round(line.baseline / _SAME_PLACE))
        for number, lines in enumerate(edges)
        for line in lines
    ]
    places: dict[tuple[str, int], set[int]] = defaultdict(set)  # pattern and height -> pages
    for number, _, pattern, height in placed:
        places[pattern, height].add(number)
    least = max(2, round(_LEAST_REPEATED * len(pages)))
    running = set()
    for number, line, pattern, height in placed:
        n_near = sum(len(places.get((pattern, height + step), ())) for step in (-1, 0, 1))
        is_number = _PAGE_NUMBER.fullmatch(line.text) is not None
        if n_near >= least or (is_number and (len(pages) == 1 or _counts(edges, number, line))):
            running.add(id(line))
    return running


def line_numbers(lines: Sequence[PrintedLine]) -> set[int]:
    """Return the identities of the lines that only number the lines of a manuscript's page."""
    numbers = [line for line in lines if line.text.isdecimal() and len(line.text) <= _LONGEST_NUMBER]
    n_rows = len({round(line.baseline) for line in lines if not line.text.isdecimal()})
    columns: dict[tuple[str, int], list[PrintedLine]] = defaultdict(list)
    for line in sorted(numbers, key=lambda line: line.baseline):
        columns["left", round(line.left / 6)].append(line)
        columns["right", round(line.right / 6)].append(line)
    numbering = set()
    for column in columns.values():
        steps = Counter(int(below.text) - int(above.text) for above, below in pairwise(column))
        step, n = steps.most_common(1)[0] if steps else (0, 0)
        # A list's items may be numbered too, and have more lines.
        least = max(_LEAST_NUMBERED, _LEAST_OF_ROWS * n_rows) if step == 1 else _LEAST_NUMBERED
        if n + 1 >= least and n >= 0.8 * (len(column) - 1) and step in (1, 5):
            numbering |= {id(line) for line in column}
    return numbering


def _apart(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Return the lines before the last wide gap of the first rows."""
    n_rows, n_apart = 1, 0
    for n_lines, (line, after) in enumerate(pairwise(lines), start=1):
        step = abs(after.baseline - line.baseline)
        if step > _EDGE_GAP * max(line.size, after.size):
            n_apart = n_lines
        n_rows += step > 0.5 * line.size
        if n_rows > _N_EDGE_ROWS:
            break
    return list(lines[: min(n_apart, _MOST_AT_EDGE)])


def _counts(edges: Sequence[Sequence[PrintedLine]], number: int, line: PrintedLine) -> bool:
    """Whether the page before or behind has a page number that is one less or more."""
    own = _NUMBER.search(line.text)
    if own is None:
        return False
    for step in (-2, -1, 1, 2):
        for other in edges[number + step] if 0 <= number + step < len(edges) else ():
            n = _NUMBER.search(other.text) if _PAGE_NUMBER.fullmatch(other.text) else None
            if n and int(n[0]) == int(own[0]) + step:
                return True
    return False
