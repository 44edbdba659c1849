"""Charts: a row for each bar, a curve for each system, and marks inside a table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from evidencebench.pages.figures.data import (
    BOLD_SIZE,
    Group,
    Series,
    bar_title,
    fit_text,
    reach_of,
    shown_name,
    title_name,
    value_text,
    width_of,
)
from evidencebench.pages.figures.drawing import (
    HEAD,
    MARGIN,
    WIDTH,
    Place,
    Scale,
    chart,
    dashes_of,
    line,
    look_of,
    marker,
    text,
    ticks,
)
from evidencebench.pages.html import Node, node
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.significance import signed

PERCENT_TICKS = tuple((tick / 100, str(tick)) for tick in (0, 25, 50, 75, 100))

# A mark with its interval on an axis: the same in the rows of a chart and in those of a table.


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAxis(Scale):
    """The axis of rows. In a table, the width of whose column nobody knows yet, places are shares of the width."""

    low: float = 0.0
    high: float = 1.0
    start: float = 0.0
    end: float = 100.0
    unit: str = "%"  # behind its places; empty in a chart, whose units they are
    ticks: Sequence[tuple[float, str]] = PERCENT_TICKS  # (number, name)
    rule: float | None = None  # a number that is marked by a line of its own, such as the ceiling or zero

    def place(self, value: float) -> str:
        return f"{self.at(value):g}{self.unit}"

    def lines(self, top: Place, bottom: Place) -> list[Node]:
        marked = [("chart-grid", value) for value, _ in self.ticks]
        marked += [] if self.rule is None else [("chart-zero", self.rule)]
        return [line(self.place(value), top, self.place(value), bottom, look) for look, value in marked]

    def names(self, y: Place) -> list[Node]:
        return [text(self.place(value), y, name, "chart-tick", "middle") for value, name in self.ticks]

    def mark(self, bar: Series, middle: Place, ends: tuple[Place, Place]) -> list[Node]:
        """Return a bar's interval and mark at the height ``middle``; ``ends`` are those of the strokes at its ends."""
        drawn, x = [], self.place(bar.point.mean)
        if bar.point.interval:
            low, high = map(self.place, bar.point.interval)
            drawn = [
                line(*places, "chart-interval")
                for places in (
                    (low, middle, high, middle),
                    (low, ends[0], low, ends[1]),
                    (high, ends[0], high, ends[1]),
                )
            ]
        if self.unit:
            return [*drawn, node("svg", {"x": x, "y": middle, "overflow": "visible"}, marker(0, 0, bar.number))]
        return [*drawn, marker(float(x), float(middle), bar.number)]


def difference_axis(differences: Iterable[Estimate], *, most: int = 5, **places: Any) -> RowAxis:
    """Return an axis around zero that reaches as far as these differences; ``places`` are fields of it."""
    reach = reach_of(differences)
    steps = ticks(-100 * reach, 100 * reach, most=most)
    named = [(tick / 100, signed(tick, "+g") if tick else "0") for tick in steps]
    return RowAxis(low=-reach, high=reach, ticks=named, rule=0.0, **places)


def row_mark(axis: RowAxis, bar: Series, *, signed: bool = False) -> Node:
    """Return a bar's mark and interval for a table's row; the numbers stand in the row too, so it has no name."""
    parts = node("title", None, bar_title(bar, signed=signed)), *axis.mark(bar, "50%", ("34%", "66%"))
    drawn = (*axis.lines("0", "100%"), node("g", {"class": look_of(bar)}, *parts))
    return node("svg", {"class": "chart row-plot", "aria-hidden": "true"}, *drawn)


# Charts with a row for each bar: its name, its mark and interval on a common axis, and its numbers.

_ROW = 22  # height of a row, in units
_GAP = 12
_LEAST_PLOT, _MOST_NOTE = 190, 110
_TALL = 25 * _ROW  # where the rows are taller, the axis has its numbers above them too
# Height of the line "← second better | first better →", and the space between zero and its words, in units.
_SIDES, _FROM_ZERO = 20, 8


def row_chart(groups: Sequence[Group], *, title: str, unit: str) -> Node:
    """Return a chart with a row for each bar on an axis from 0 to 100 %, or around zero where groups have sides.

    ``title`` is also its name for screen readers. ``unit`` says what the axis measures.
    """
    bars = [bar for group in groups for bar in group.bars]
    has_sides = any(group.sides for group in groups)
    # From the left: names, the axis, numbers, notes. Numbers take the widest that there can be, so that charts below
    # one another have the same axis.
    widest = "−100.0 [−100.0, −100.0]" if has_sides else "100.0 [100.0, 100.0]"
    has_intervals = any(bar.point.interval for bar in bars)
    of_values = width_of(widest if has_intervals else widest.partition(" ")[0])
    of_notes = min(_MOST_NOTE, max((width_of(shown_name(bar.note)) for bar in bars), default=0.0))
    taken = of_values + 2 * MARGIN + 2 * _GAP + (of_notes + _GAP if of_notes else 0)
    of_names = max((width_of(shown_name(bar.name, bar.suffix)) for bar in bars), default=0.0)
    of_names = min(of_names, WIDTH - taken - _LEAST_PLOT)
    places: dict[str, Any] = {
        "start": round(MARGIN + of_names + _GAP, 1),
        "end": round(WIDTH - taken + MARGIN + _GAP, 1),
        "unit": "",
    }
    axis = difference_axis((bar.point for bar in bars), most=7, **places) if has_sides else RowAxis(**places)
    values, notes = axis.end + _GAP, axis.end + 2 * _GAP + of_values

    def row(bar: Series, y: float) -> Node:
        room = of_names + 1 - width_of(bar.suffix)
        name = fit_text(shown_name(bar.name), room) + bar.suffix
        note = fit_text(shown_name(bar.note), WIDTH - MARGIN - notes + 1)
        tooltip = bar_title(bar, signed=has_sides) + (f", {title_name(bar.note)}" if bar.note else "")
        return node(
            "g",
            {"class": look_of(bar)},
            node("title", None, tooltip),
            text(axis.start - _GAP, y + 4, name, "chart-name", "end"),
            text(values, y + 4, value_text(bar.point, signed=has_sides), "chart-value"),
            text(notes, y + 4, note, "chart-note") if bar.note else None,
            *axis.mark(bar, y, (y - 4, y + 4)),
        )

    is_tall = (len(bars) + sum(bool(group.name) for group in groups)) * _ROW > _TALL
    y = HEAD + (20 if is_tall else 4)
    drawn = axis.names(y - 4) if is_tall else []
    for group in groups:
        if group.name:
            shown = fit_text(title_name(group.name), WIDTH - 2 * MARGIN, BOLD_SIZE)
            drawn.append(line(MARGIN, y + 2, WIDTH - MARGIN, y + 2, "chart-grid"))
            drawn.append(text(MARGIN, y + _ROW - 5, shown, "chart-group"))
            y += _ROW
        if group.sides:
            drawn += _sides(axis.at(0), group.sides, y + 8)
            y += _SIDES
        drawn += axis.lines(y, y + len(group.bars) * _ROW)
        drawn += (row(bar, y + _ROW * place + _ROW / 2) for place, bar in enumerate(group.bars))
        y += len(group.bars) * _ROW
    drawn += axis.names(y + 15)
    middle = (axis.start + axis.end) / 2
    room = 2 * (min(middle, WIDTH - middle) - MARGIN)
    drawn.append(text(middle, y + 31, fit_text(title_name(unit), room), "chart-tick", "middle"))
    told = {
        "* hollow mark: a baseline": any(bar.is_control for bar in bars),
        "hollow and dashed: unfinished; missing answers count as 0": any(bar.unfinished for bar in bars),
    }
    foot = [words for words, holds in told.items() if holds]
    drawn += [text(MARGIN, y + 48 + 16 * place, words, "chart-note") for place, words in enumerate(foot)]
    words = _describe(groups, signed=has_sides)
    return chart(title, f"{title_name(unit)}{words}", *drawn, height=y + 42 + 16 * len(foot))


def _sides(zero: float, sides: tuple[str, str], y: float) -> list[Node]:
    taken = MARGIN + _FROM_ZERO + width_of("←  better")
    rooms = (zero - taken, WIDTH - zero - taken)
    left, right = (fit_text(shown_name(side), room) for side, room in zip(sides, rooms, strict=True))
    return [
        text(zero - _FROM_ZERO, y, f"← {left} better", "chart-tick", "end"),
        text(zero + _FROM_ZERO, y, f"{right} better →", "chart-tick"),
    ]


def _describe(groups: Sequence[Group], *, signed: bool = False) -> str:
    """Return all numbers in words, behind the words of what they measure."""
    words = ""
    for name, bars, *_ in groups:
        shown = (f"{shown_name(bar.name, bar.suffix)} {value_text(bar.point, signed=signed)}" for bar in bars)
        words += f"{f'. {shown_name(name)}' if name else ''}: {'; '.join(shown)}"
    return words


# Charts with a curve for each system, such as recall by budget; its name stands where the curve ends.

NARROW, BROAD = 340, 780
"""Widths of a chart on a phone and across a page, where its text is of 11 pixels or more."""


def axes(across: RowAxis, up: Scale, x_name: str, y_name: str, *, left: float, right: float) -> list[Node]:
    """Return an axis across and an upright one from 0 to 100 %, with what they measure; the plot is between the two."""
    drawn = [*across.lines(up.end, up.start), *across.names(up.start + 15)]
    for share, name in PERCENT_TICKS:
        y = up.at(share)
        drawn += [line(left, y, right, y, "chart-grid"), text(left - 5, y + 4, name, "chart-tick", "end")]
    shown_x, shown_y = fit_text(title_name(x_name), right - left), fit_text(title_name(y_name), right)
    below = text((left + right) / 2, up.start + 32, shown_x, "chart-tick", "middle")
    return [*drawn, below, text(MARGIN, up.end - 10, shown_y, "chart-tick")]


_PLOT = 250
_LABEL = 16
_FOOT = 42
_LEFT = MARGIN + 34
_MOST_NAME = 190
_MOST_NAMED = 14  # of curves; where there are more, those of the context have no names
_MARKERS = 12
_TAIL = 36
_BETWEEN_TICKS = 4


def line_chart(curves: Sequence[Series], *, title: str, x_name: str, y_name: str, width: int = WIDTH) -> Node:
    """Return a chart of curves on an axis from 0 to 100 %; each has its own marks and dashes, a name and its intervals.

    ``x_name`` and ``y_name`` say what the axes measure. ``width`` is that of the chart, in units.
    """
    named = [curve for curve in curves if len(curves) <= _MOST_NAMED or not curve.is_context]
    widest = max((width_of(shown_name(curve.name, curve.suffix)) for curve in named), default=0.0)
    right = width - MARGIN - _TAIL - min(_MOST_NAME, width / 4, widest)
    top = HEAD + 22
    bottom = top + max(_PLOT, len(named) * _LABEL)
    places = [x for curve in curves for x, point in enumerate(curve.points, 1) if point] or [0, 1]
    ends = {"low": min(places), "high": max(places), "start": _LEFT + 8, "end": right - 8}
    across = RowAxis(**ends, unit="", ticks=_named_ticks(Scale(**ends)))
    up = Scale(low=0, high=1, start=bottom, end=top)
    # Of each curve the stretches between its gaps, and of each point its place, its height, and those of its interval.
    drawn = [
        [
            [(across.at(x), up.at(point.mean), *map(up.at, point.interval or ())) for x, point in stretch if point]
            for is_gap, stretch in groupby(enumerate(curve.points, 1), key=lambda point: point[1] is None)
            if not is_gap
        ]
        for curve in curves
    ]
    # What is in front comes last: the bands lie behind all curves that have one.
    order = sorted(zip(curves, drawn, strict=True), key=lambda curve: not curve[0].is_context)
    return chart(
        title,
        f"{title_name(y_name)} by {title_name(x_name)}: {'; '.join(map(_describe_curve, curves))}",
        *axes(across, up, x_name, y_name, left=_LEFT, right=right),
        *(band for curve, stretches in order if not curve.is_context for band in _bands(curve, stretches)),
        *(_curve(*curve) for curve in order),
        *_labels([one for one in zip(curves, drawn, strict=True) if one[0] in named], across, up, right, width),
        height=round(bottom + _FOOT),
        width=width,
    )


_Stretches = Sequence[Sequence[tuple[float, ...]]]


def _named_ticks(across: Scale) -> list[tuple[float, str]]:
    """Return (number, name) of as many round numbers as fit, and of the axis's first number, such as 1, if it fits."""
    for most in (8, 6, 4, 3, 2):
        steps = ticks(across.low, across.high, most=most)
        for chosen in ([across.low, *steps], steps):
            named = [(tick, f"{tick:g}") for tick in chosen]
            ends = [(across.at(tick), width_of(name) / 2) for tick, name in named]
            if all(right - left >= half + other + _BETWEEN_TICKS for (left, half), (right, other) in pairwise(ends)):
                return named
    return []


def _corners(points: Iterable[Sequence[float]]) -> str:
    return " ".join(f"{x},{y}" for x, y, *_ in points)


def _curve(curve: Series, stretches: _Stretches) -> Node:
    parts: list[Node] = []
    for stretch in stretches:
        x, _, *interval = stretch[0]
        is_line = len(stretch) > 1
        if is_line:
            dashes = {} if curve.is_context else dashes_of(curve)
            parts.append(node("polyline", {"class": "chart-line", "points": _corners(stretch), **dashes}))
        elif interval and not curve.is_context:
            parts.append(line(x, interval[0], x, interval[1], "chart-interval"))
        if not (curve.is_context and is_line):
            marked = [*stretch[: -1 : -(-len(stretch) // _MARKERS)], stretch[-1]]
            size = 3.5 if is_line or curve.is_context else 5
            parts += [marker(x, y, curve.number, size=size) for x, y, *_ in marked]
    title = f"{title_name(curve.name)}{' (baseline)' if curve.is_control else ''}"
    return node("g", {"class": look_of(curve)}, node("title", None, title), *parts)


def _bands(curve: Series, stretches: _Stretches) -> Iterator[Node]:
    for stretch in stretches:
        ends = [(x, *interval) for x, _, *interval in stretch if interval]
        if len(ends) > 1:
            corners = _corners([*ends, *((x, high) for x, _, high in reversed(ends))])
            yield node("polygon", {"class": f"chart-band {look_of(curve)}", "points": corners})


def _labels(
    curves: Sequence[tuple[Series, _Stretches]], across: Scale, up: Scale, right: float, width: int
) -> Iterator[Node]:
    """Yield each curve's mark and name at the right; a thin line leads there from a curve that reaches the end."""
    ends = [stretches[-1][-1] if stretches else (0.0, up.start) for _, stretches in curves]
    heights = _spread([y for _, y, *_ in ends], up.end, up.start)
    x = right + _TAIL
    for (curve, _), end, y in zip(curves, ends, heights, strict=True):
        name = fit_text(shown_name(curve.name, curve.suffix), width - MARGIN - x + 1)
        yield node(
            "g",
            {"class": look_of(curve)},
            node("title", None, title_name(curve.name)),
            line(end[0] + 6, end[1], x - 14, y, "chart-lead") if end[0] == across.at(across.high) else None,
            None if curve.is_context else marker(x - 8, y, curve.number, size=3.5),
            text(x, y + 4, name, "chart-name"),
        )


def _spread(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return heights near those wanted and in the same order, at least a line of text apart, within the bounds."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    heights, least, most = list(wanted), top, bottom
    for position in order:
        heights[position] = max(heights[position], least)
        least = heights[position] + _LABEL
    for position in reversed(order):
        heights[position] = min(heights[position], most)
        most = heights[position] - _LABEL
    return heights


def _describe_curve(curve: Series) -> str:
    name = shown_name(curve.name, curve.suffix)
    ends = [f"{100 * point.mean:.1f} at {x}" for x, point in enumerate(curve.points, 1) if point]
    return f"{name} {ends[0]}, {ends[-1]}" if ends else f"{name} has no points"
