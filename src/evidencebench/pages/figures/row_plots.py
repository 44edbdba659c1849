"""Charts inside a table: an axis in a column's head, and in each row a mark with its interval.

They are as wide as their column, whatever the window, since all places are shares of the width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evidencebench.pages.figures.chart_data import Bar, is_number, value_text
from evidencebench.pages.figures.drawing import look_of_bar, marker
from evidencebench.pages.figures.lettering import title_name
from evidencebench.pages.markup import Node, node


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAxis:
    """The axis of a column: the number ``low`` is at its left, ``high`` at its right.

    ``ticks`` are (number, name); a tick without a name has a line only. ``rule`` is a number that is marked by a line
    of its own, such as the ceiling or zero; None: there is none.
    """

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    rule: float | None = None

    def place(self, value: float) -> str:
        """Return where a number is drawn, as a share of the width; beyond an end, at that end.

        >>> RowAxis(low=-1, high=1, ticks=()).place(0.5)
        '75%'
        """
        share = (value - self.low) / (self.high - self.low)
        return f"{100 * min(1.0, max(0.0, share)):.4g}%"


def row_axis(axis: RowAxis) -> Node:
    """Return the names of an axis's ticks, for the head of the column."""
    names = (
        node("text", {"class": "chart-tick", "x": axis.place(value), "y": "75%", "text-anchor": "middle"}, name)
        for value, name in axis.ticks
        if name
    )
    return _plot("row-axis", *names)


def row_mark(axis: RowAxis, bar: Bar) -> Node:
    """Return a bar's mark and interval on an axis, for a row; the numbers stand in the row too, so it has no name."""
    drawn = [_upright(axis.place(value), "chart-grid") for value, _ in axis.ticks]
    if axis.rule is not None:
        drawn.append(_upright(axis.place(axis.rule), "row-rule"))
    if not is_number(bar.mean):
        return _plot("", *drawn)
    mark: list[Node] = []
    if bar.interval:
        low, high = map(axis.place, bar.interval)
        mark = [node("line", {"class": "chart-interval", "x1": low, "x2": high, "y1": "50%", "y2": "50%"})]
        mark += [
            node("line", {"class": "chart-interval", "x1": end, "x2": end, "y1": "34%", "y2": "66%"})
            for end in (low, high)
        ]
    at = {"x": axis.place(bar.mean), "y": "50%", "overflow": "visible"}
    series = bar.series or 0
    look = look_of_bar(bar, series)
    told = f"{title_name(bar.name)}{' (control)' if bar.is_control else ''}: {value_text(bar)}"
    return _plot(
        "", *drawn, node("g", {"class": look}, node("title", None, told), *mark, node("svg", at, marker(0, 0, series)))
    )


def _upright(place: str, look: str) -> Node:
    return node("line", {"class": look, "x1": place, "x2": place, "y1": "0", "y2": "100%"})


def _plot(look: str, *drawn: Node) -> Node:
    return node("svg", {"class": f"chart row-plot {look}".strip(), "aria-hidden": "true"}, *drawn)
