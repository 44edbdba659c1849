"""Where sentences stand on pages, a rectangle a line."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evidencebench.papers.paper import PageBox
from evidencebench.papers.pdf.extraction import PdfFont, PdfPage

# In sizes of type.
_ABOVE, _BELOW = 0.8, 0.25  # the baseline: how high letters reach, and how low
_FARTHEST_WORD = 2.5  # from the word before it in the line, as behind a heading's number
_OVERLAP = 0.6
_SCRIPT_SHIFT = 0.75  # sub- and superscripts belong to their line


@dataclass(slots=True)
class _WordRow:
    """Words that stand beside each other; places as in `PageArrays`."""

    page: PdfPage
    left: float
    right: float
    baseline: float
    size: float

    @property
    def sides(self) -> tuple[float, float, float, float]:
        """Left, bottom, right and top on the page as the file has it, where the row may lie on its side."""
        near, far = self.left, self.right
        high, low = self.baseline - _ABOVE * self.size, self.baseline + _BELOW * self.size
        return (
            (near, -low, far, -high),
            (high, near, low, far),
            (-far, high, -near, low),
            (-low, -far, -high, -near),
        )[self.page.direction]


def page_boxes(
    pages: Sequence[PdfPage], fonts: Sequence[PdfFont]
) -> Callable[[Sequence[tuple[int, int]]], tuple[PageBox, ...]]:
    """Return what says where characters of the text of the pages stand, given as the ends of pieces of it."""
    starts = [page.start for page in pages]
    sizes = [max(font.size, 1.0) for font in fonts]
    shared: dict[float, float] = {}  # one number for all lines that end in the same place

    def boxes(pieces: Sequence[tuple[int, int]]) -> tuple[PageBox, ...]:
        rows: list[_WordRow] = []
        row = None
        for start, stop in pieces:
            if start == stop:  # of a mark
                continue
            page = pages[bisect_right(starts, start) - 1]
            arrays, first, last = page.arrays, start - page.start, stop - page.start - 1
            # Behind a hyphen that stays, a piece may go on in the next line.
            is_level = arrays.baselines[first] == arrays.baselines[last]
            for at, end in ((first, last),) if is_level else ((at, at) for at in range(first, last + 1)):
                left, right, baseline = arrays.lefts[at], arrays.rights[end], arrays.baselines[at]
                size = sizes[arrays.fonts[at]]
                if (
                    row is None
                    or row.page is not page
                    or not -_OVERLAP * size < left - row.right < _FARTHEST_WORD * size
                    or abs(baseline - row.baseline) > _SCRIPT_SHIFT * max(size, row.size)
                ):
                    row = _WordRow(page, left, right, baseline, size)
                    rows.append(row)
                    continue
                row.right = max(row.right, right)
                if size > row.size:
                    row.baseline, row.size = baseline, size
        return tuple(
            PageBox(
                row.page.number, *(shared.setdefault(side, side) for side in (round(side, 1) for side in row.sides))
            )
            for row in rows
        )

    return boxes
