"""Where sentences stand on pages, a rectangle a line."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, starmap

from evidencebench.papers.paper import PageBox
from evidencebench.papers.pdf.lines import PrintedLine

_ABOVE, _BELOW = 0.8, 0.25  # the baseline: how high letters reach, and how low, in sizes of type


def page_boxes(lines: Iterable[PrintedLine]) -> Callable[[Sequence[tuple[int, int]]], tuple[PageBox, ...]]:
    """Return what says where characters of the text of the pages stand, given as the ends of pieces of it."""
    ordered = sorted(lines, key=_start)
    starts = list(map(_start, ordered))

    def boxes(pieces: Sequence[tuple[int, int]]) -> tuple[PageBox, ...]:
        edges: dict[int, list[float]] = defaultdict(list)  # of the characters, by the place of their line
        for at in chain.from_iterable(starmap(range, pieces)):
            number = bisect_right(starts, at) - 1
            page = ordered[number].page
            edges[number] += page.arrays.lefts[at - page.start], page.arrays.rights[at - page.start]
        return tuple(_box(ordered[number], min(ends), max(ends)) for number, ends in edges.items())

    return boxes


def _start(line: PrintedLine) -> int:
    return line.page.start + line.glyphs[0].index


def _box(line: PrintedLine, near: float, far: float) -> PageBox:
    """Return a part of a line on the page as the file has it, where the line may lie on its side."""
    high, low = line.baseline - _ABOVE * line.size, line.baseline + _BELOW * line.size
    sides = ((near, -low, far, -high), (high, near, low, far), (-far, high, -near, low), (-low, -far, -high, -near))
    return PageBox(line.page.number, *(round(side, 1) for side in sides[line.page.direction]))
