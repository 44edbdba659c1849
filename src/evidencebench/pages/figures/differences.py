"""Differences with their intervals around zero: a forest plot."""

from collections.abc import Iterable, Sequence

from evidencebench.pages.figures.bars import Bar, BarGroup, interval_of
from evidencebench.pages.figures.frame import HEAD, MARGIN, WIDTH, chart, line, text
from evidencebench.pages.figures.lettering import fitted, shown_name, width_of
from evidencebench.pages.figures.rows import ROW, described, layout_of, rows_of, top_of
from evidencebench.pages.figures.scale import is_number, ticks
from evidencebench.pages.markup import Node

_LEAST_REACH = 0.05
# Units for the line that says which side is whose.
_SIDES = 20
_GAP = 8
_BETTER = " better"


def reach_of(bars: Iterable[Bar]) -> float:
    """Return how far from zero an axis must go to show these differences whole: at least 5 points, at most 100."""
    numbers = [number for bar in bars for number in (bar.mean, *(interval_of(bar) or ())) if is_number(number)]
    return min(1.0, max([_LEAST_REACH, *(1.05 * abs(number) for number in numbers)]))


def difference_chart(
    bars: Sequence[Bar],
    *,
    title: str,
    unit: str = "difference in aspect recall, points",
    reach: float | None = None,
    sides: tuple[str, str] = ("second", "first"),
    key: str | None = None,
) -> Node:
    """Return a row a difference (in -1..1) on an axis around zero: a forest plot.

    ``reach`` is how far the axis goes to both sides, so that several charts can be compared (None: as far as these
    need), and ``sides`` tells which of the two is better to the left of zero, and which to the right; all else is as
    in `interval_chart`.
    """
    reach = reach_of(bars) if reach is None else reach
    layout = layout_of(bars, low=-reach, high=reach, signed=True)
    top = top_of(len(bars)) + _SIDES
    above, zero = HEAD + 12, layout.scale.at(0)
    taken = MARGIN + _GAP + width_of(f"← {_BETTER}")
    left, right = zero - taken, WIDTH - zero - taken
    behind = [
        line(zero, top, zero, top + len(bars) * ROW, "chart-zero"),
        text(zero - _GAP, above, f"← {fitted(shown_name(sides[0]), left)}{_BETTER}", "chart-tick", "end"),
        text(zero + _GAP, above, f"{fitted(shown_name(sides[1]), right)}{_BETTER} →", "chart-tick"),
    ]
    named = [(tick / 100, f"{tick:+g}" if tick else "0") for tick in ticks(-100 * reach, 100 * reach, most=7)]
    drawn, height = rows_of([BarGroup(name="", bars=bars)], layout, named, unit, top=top, behind=behind)
    return chart(title, f"{unit}: {described(bars, signed=True)}", *drawn, height=height, key=key)
