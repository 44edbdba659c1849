"""Running heads and feet, page numbers and line numbers: what stands on pages but is no part of the paper's text."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from evidencebench.papers.pdf.lines import PrintedLine

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
    places: dict[tuple[str, int], set[int]] = defaultdict(set)  # pattern and height -> pages
    for number, lines in enumerate(edges):
        for line in lines:
            places[_pattern(line.text), _height(line)].add(number)
    least = max(2, round(_LEAST_REPEATED * len(pages)))
    running = set()
    for number, lines in enumerate(edges):
        for line in lines:
            near = (places.get((_pattern(line.text), _height(line) + step), ()) for step in (-1, 0, 1))
            alone = _PAGE_NUMBER.fullmatch(line.text) is not None
            if sum(map(len, near)) >= least or (alone and (len(pages) == 1 or _counts(edges, number, line))):
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


def _height(line: PrintedLine) -> int:
    return round(line.baseline / _SAME_PLACE)


def _pattern(text: str) -> str:
    return _NUMBER.sub("#", text.casefold())


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
