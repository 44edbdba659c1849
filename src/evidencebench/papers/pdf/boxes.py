"""Where sentences stand on pages, a rectangle a line."""

import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from evidencebench.papers.paper import PageBox
from evidencebench.papers.pdf.lines import PrintedLine

_ABOVE, _BELOW = 0.8, 0.25  # the baseline: how high letters reach, and how low, in sizes of type


def page_boxes(lines: Iterable[PrintedLine]) -> Callable[[Sequence[tuple[int, int]]], tuple[PageBox, ...]]:
    """Return what says where characters of the text of the pages stand, given as the ends of pieces of it."""
    ordered = sorted(lines, key=_start)
    starts = [*map(_start, ordered), sys.maxsize]

    def boxes(pieces: Sequence[tuple[int, int]]) -> tuple[PageBox, ...]:
        edges: dict[int, list[float]] = defaultdict(list)  # of the characters, by the place of their line
        for start, stop in pieces:
            for number in range(bisect_right(starts, start) - 1, bisect_left(starts, stop)):
                page = ordered[number].page
                part = slice(max(start, starts[number]) - page.start, min(stop, starts[number + 1]) - page.start)
                edges[number].extend(page.arrays.lefts[part] + page.arrays.rights[part])
        return tuple(_box(ordered[number], min(ends), max(ends)) for number, ends in edges.items() if ends)

    return boxes


def _start(line: PrintedLine) -> int:
    return line.page.start + line.glyphs[0].place


def _box(line: PrintedLine, near: float, far: float) -> PageBox:
    """Return a part of a line on the page as the file has it, where the line may lie on its side."""
    high, low = line.baseline - _ABOVE * line.size, line.baseline + _BELOW * line.size
    sides = ((near, -low, far, -high), (high, near, low, far), (-far, high, -near, low), (-low, -far, -high, -near))
    return PageBox(line.page.number, *(round(side, 1) for side in sides[line.page.direction]))
