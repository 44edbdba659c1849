"""Charts: a row for each bar, a curve for each system, and marks inside a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

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
    Scale,
    chart,
    dashes_of,
    line,
    look_of,
    marker,
    percent_lines,
    text,
    tick_names,
    ticks,
    upright_lines,
)
from evidencebench.pages.html import Node, node
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.significance import signed

PERCENT_TICKS = tuple((tick / 100, str(tick)) for tick in (0, 25, 50, 75, 100))

# Charts with a row for each bar: its name, its mark and interval on a common axis, and its numbers.

_ROW = 22  # height of a row, in units
_GAP = 12
_LEAST_PLOT, _MOST_NOTE = 190, 110
_TALL = 25 * _ROW  # where the rows are taller, the axis has its numbers above them too
# Height of the line "← second better | first better →", and the space between zero and its words, in units.
_SIDES, _FROM_ZERO = 20, 8


class _RowColumns(NamedTuple):
    """The x coordinates of the columns in every row."""

    names: float  # right end of the names
    scale: Scale
    values: float  # left end of the numbers
    notes: float  # left end of the notes
    signed: bool  # whether the numbers are differences


def _columns_of(bars: Sequence[Series], reach: float | None) -> _RowColumns:
    # The widest numbers there can be, so that charts below one another have the same axis.
    widest = "100.0 [100.0, 100.0]" if reach is None else "−100.0 [−100.0, −100.0]"
    has_intervals = any(bar.point.interval for bar in bars)
    values = width_of(widest if has_intervals else widest.partition(" ")[0])
    notes = min(_MOST_NOTE, max((width_of(shown_name(bar.note)) for bar in bars), default=0.0))
    taken = values + 2 * MARGIN + 2 * _GAP + (notes + _GAP if notes else 0)
    names = max((width_of(shown_name(bar.name, bar.suffix)) for bar in bars), default=0.0)
    names = min(names, WIDTH - taken - _LEAST_PLOT)
    start = MARGIN + names + _GAP
    end = start + WIDTH - taken - names
    low, high = (0.0, 1.0) if reach is None else (-reach, reach)
    scale = Scale(low=low, high=high, start=round(start, 1), end=round(end, 1))
    return _RowColumns(start - _GAP, scale, end + _GAP, end + 2 * _GAP + values, signed=reach is not None)


def row_chart(groups: Sequence[Group], *, title: str, unit: str) -> Node:
    """Return a chart with a row for each bar on an axis from 0 to 100 %, or around zero where groups have sides.

    ``title`` is also its name for screen readers. ``unit`` says what the axis measures.
    """
    bars = [bar for group in groups for bar in group.bars]
    is_tall = (len(bars) + sum(bool(group.name) for group in groups)) * _ROW > _TALL
    reach = reach_of(bar.point for bar in bars) if any(group.sides for group in groups) else None
    columns, named = _columns_of(bars, reach), PERCENT_TICKS
    if reach is not None:
        steps = ticks(-100 * reach, 100 * reach, most=7)
        named = tuple((tick / 100, signed(tick, "+g") if tick else "0") for tick in steps)
    y = top = HEAD + (20 if is_tall else 4)
    drawn = tick_names(columns.scale, named, top - 4) if is_tall else []
    for group in groups:
        if group.name:
            shown = fit_text(title_name(group.name), WIDTH - 2 * MARGIN, BOLD_SIZE)
            drawn.append(line(MARGIN, y + 2, WIDTH - MARGIN, y + 2, "chart-grid"))
            drawn.append(text(MARGIN, y + _ROW - 5, shown, "chart-group"))
            y += _ROW
        if group.sides:
            drawn += _sides(columns.scale.at(0), group.sides, y + 8)
            y += _SIDES
        bottom = y + len(group.bars) * _ROW
        drawn += upright_lines(columns.scale, named, y, bottom)
        if group.sides:
            drawn.append(line(columns.scale.at(0), y, columns.scale.at(0), bottom, "chart-zero"))
        for bar in group.bars:
            drawn.append(_row(bar, y + _ROW / 2, columns))
            y += _ROW
    drawn += tick_names(columns.scale, named, y + 15)
    middle = (columns.scale.start + columns.scale.end) / 2
    room = 2 * (min(middle, WIDTH - middle) - MARGIN)
    drawn.append(text(middle, y + 31, fit_text(title_name(unit), room), "chart-tick", "middle"))
    notes = {
        "* hollow mark: a control": any(bar.is_control for bar in bars),
        "hollow and dashed: unfinished; what has no answer counts as 0": any(bar.unfinished for bar in bars),
    }
    foot = [note for note, holds in notes.items() if holds]
    drawn += [text(MARGIN, y + 48 + 16 * row, note, "chart-note") for row, note in enumerate(foot)]
    words = _describe(groups, signed=columns.signed)
    return chart(title, f"{title_name(unit)}{words}", *drawn, height=y + 42 + 16 * len(foot))


def _sides(zero: float, sides: tuple[str, str], y: float) -> list[Node]:
    taken = MARGIN + _FROM_ZERO + width_of("←  better")
    rooms = (zero - taken, WIDTH - zero - taken)
    left, right = (fit_text(shown_name(side), room) for side, room in zip(sides, rooms, strict=True))
    return [
        text(zero - _FROM_ZERO, y, f"← {left} better", "chart-tick", "end"),
        text(zero + _FROM_ZERO, y, f"{right} better →", "chart-tick"),
    ]


def _row(bar: Series, y: float, columns: _RowColumns) -> Node:
    """Return a bar's row, with its middle at the height ``y``."""
    name = fit_text(shown_name(bar.name), columns.names - MARGIN + 1 - width_of(bar.suffix)) + bar.suffix
    note = fit_text(shown_name(bar.note), WIDTH - MARGIN - columns.notes + 1)
    parts: list[Node] = []
    if bar.point.interval:
        low, high = map(columns.scale.at, bar.point.interval)
        parts.append(line(low, y, high, y, "chart-interval"))
        parts += [line(end, y - 4, end, y + 4, "chart-interval") for end in (low, high)]
    tooltip = bar_title(bar, signed=columns.signed) + (f", {title_name(bar.note)}" if bar.note else "")
    return node(
        "g",
        {"class": look_of(bar)},
        node("title", None, tooltip),
        text(columns.names, y + 4, name, "chart-name", "end"),
        text(columns.values, y + 4, value_text(bar.point, signed=columns.signed), "chart-value"),
        text(columns.notes, y + 4, note, "chart-note") if bar.note else None,
        *parts,
        marker(columns.scale.at(bar.point.mean), y, bar.number),
    )


def _describe(groups: Sequence[Group], *, signed: bool = False) -> str:
    """Return all numbers in words, behind the words of what they measure."""
    words = ""
    for name, bars, *_ in groups:
        shown = (f"{shown_name(bar.name, bar.suffix)} {value_text(bar.point, signed=signed)}" for bar in bars)
        words += f"{f'. {shown_name(name)}' if name else ''}: {'; '.join(shown)}"
    return words


# Charts inside a table: an axis in a column's head, and in each row a mark with its interval.


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAxis:
    low: float = 0.0
    high: float = 1.0
    ticks: Sequence[tuple[float, str]] = PERCENT_TICKS  # (number, name)
    rule: float | None = None  # a number that is marked by a line of its own, such as the ceiling or zero

    def at(self, value: float) -> str:
        """Return where a number is drawn, as a share of the width; beyond an end, at that end."""
        share = (value - self.low) / (self.high - self.low)
        return f"{100 * min(1.0, max(0.0, share)):.4g}%"


def row_mark(axis: RowAxis, bar: Series) -> Node:
    """Return a bar's mark and interval on an axis, for a row; the numbers stand in the row too, so it has no name."""

    def line_in_row(look: str, left: str, right: str, top: str, bottom: str) -> Node:
        return node("line", {"class": look, "x1": left, "x2": right, "y1": top, "y2": bottom})

    rules = [] if axis.rule is None else [("row-rule", axis.rule)]
    upright = [*(("chart-grid", value) for value, _ in axis.ticks), *rules]
    drawn = [line_in_row(look, axis.at(value), axis.at(value), "0", "100%") for look, value in upright]
    parts = [node("title", None, bar_title(bar))]
    if bar.point.interval:
        low, high = map(axis.at, bar.point.interval)
        parts.append(line_in_row("chart-interval", low, high, "50%", "50%"))
        parts += [line_in_row("chart-interval", end, end, "34%", "66%") for end in (low, high)]
    at = {"x": axis.at(bar.point.mean), "y": "50%", "overflow": "visible"}
    drawn.append(node("g", {"class": look_of(bar)}, *parts, node("svg", at, marker(0, 0, bar.number))))
    return node("svg", {"class": "chart row-plot", "aria-hidden": "true"}, *drawn)


# Charts with a curve for each system, such as recall by budget; its name stands where the curve ends.

_PLOT = 300
_LABEL = 16
_FOOT = 42
_LEFT = MARGIN + 34
_MOST_NAME = 190
_MARKERS = 12
_TAIL = 36
_BETWEEN_TICKS = 4

_Points = list[tuple[int, Estimate]]


def line_chart(
    curves: Sequence[Series], *, title: str, x_name: str, y_name: str, width: int = WIDTH, has_bands: bool = False
) -> Node:
    """Return a chart of curves on an axis from 0 to 100 %; each curve has its own marks and dashes, and its name.

    ``x_name`` and ``y_name`` say what the axes measure. ``width`` is that of the chart, in units. ``has_bands``: the
    intervals are drawn too.
    """
    named = [curve for curve in curves if not curve.is_context]
    widest = max((width_of(_curve_name(curve)) for curve in named), default=0.0)
    right = width - MARGIN - _TAIL - min(_MOST_NAME, width / 3, widest)
    top = HEAD + 22
    bottom = top + max(_PLOT * min(1, width / 480), len(named) * _LABEL)
    places = [x for curve in curves for stretch in _stretches(curve) for x, _ in stretch]
    across = Scale(low=min(places, default=0), high=max(places, default=1), start=_LEFT + 8, end=right - 8)
    up = Scale(low=0, high=1, start=bottom, end=top)
    named_ticks = _named_ticks(across)
    return chart(
        title,
        f"{title_name(y_name)} by {title_name(x_name)}: {'; '.join(map(_describe_curve, curves))}",
        *percent_lines(up, _LEFT, right),
        *upright_lines(across, named_ticks, top, bottom),
        *tick_names(across, named_ticks, bottom + 15),
        text((_LEFT + right) / 2, bottom + 32, fit_text(title_name(x_name), right - _LEFT), "chart-tick", "middle"),
        text(MARGIN, top - 10, fit_text(title_name(y_name), right), "chart-tick"),
        *(_curve(curve, across, up) for curve in curves if curve.is_context),
        *(_band(curve, across, up) for curve in named if has_bands),
        *(_curve(curve, across, up) for curve in named),
        *_labels(named, across, up, right, width),
        height=round(bottom + _FOOT),
        width=width,
    )


def _curve_name(curve: Series) -> str:
    return shown_name(curve.name, curve.suffix)


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


def _stretches(curve: Series) -> list[_Points]:
    """Return the points between the gaps of a curve, each with its place on the axis."""
    grouped = groupby(enumerate(curve.points, 1), key=lambda point: point[1] is None)
    return [[(x, point) for x, point in points if point] for is_gap, points in grouped if not is_gap]


def _drawn_stretches(curve: Series, across: Scale, up: Scale) -> list[list[tuple[float, float]]]:
    return [[(across.at(x), up.at(point.mean)) for x, point in stretch] for stretch in _stretches(curve)]


def _corners(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _curve(curve: Series, across: Scale, up: Scale) -> Node:
    parts: list[Node] = []
    for places in _drawn_stretches(curve, across, up):
        is_line, dashes = len(places) > 1, {} if curve.is_context else dashes_of(curve)
        if is_line:
            parts.append(node("polyline", {"class": "chart-line", "points": _corners(places), **dashes}))
        marked = [*places[: -1 : -(-len(places) // _MARKERS)], places[-1]]
        if not (curve.is_context and is_line):
            parts += [marker(x, y, curve.number, size=3.5 if is_line or curve.is_context else 5) for x, y in marked]
    title = f"{title_name(curve.name)}{' (control)' if curve.is_control else ''}"
    look = "chart-context" if curve.is_context else look_of(curve)
    return node("g", {"class": look}, node("title", None, title), *parts)


def _band(curve: Series, across: Scale, up: Scale) -> Node | None:
    ends = [
        (across.at(x), up.at(point.interval[0]), up.at(point.interval[1]))
        for stretch in _stretches(curve)
        for x, point in stretch
        if point.interval
    ]
    if len(ends) < 2:  # noqa: PLR2004 - an area needs two sides
        return None
    corners = [*((x, low) for x, low, _ in ends), *((x, high) for x, _, high in reversed(ends))]
    return node("polygon", {"class": f"chart-band {look_of(curve)}", "points": _corners(corners)})


def _labels(curves: Sequence[Series], across: Scale, up: Scale, right: float, width: int) -> Iterator[Node]:
    """Yield each curve's mark and name at the right; a thin line leads there from a curve that reaches the end."""
    ends = [stretches[-1][-1] if (stretches := _drawn_stretches(curve, across, up)) else None for curve in curves]
    heights = _spread([up.start if end is None else end[1] for end in ends], up.end, up.start)
    x = right + _TAIL
    for curve, end, y in zip(curves, ends, heights, strict=True):
        yield node(
            "g",
            {"class": look_of(curve)},
            node("title", None, title_name(curve.name)),
            line(end[0] + 6, end[1], x - 14, y, "chart-lead") if end and end[0] == across.at(across.high) else None,
            marker(x - 8, y, curve.number, size=3.5),
            text(x, y + 4, fit_text(_curve_name(curve), width - MARGIN - x + 1), "chart-name"),
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
    points = [point for stretch in _stretches(curve) for point in stretch]
    if not points:
        return f"{_curve_name(curve)} has no points"
    (first_x, first), (last_x, last) = points[0], points[-1]
    return f"{_curve_name(curve)} {100 * first.mean:.1f} at {first_x}, {100 * last.mean:.1f} at {last_x}"
