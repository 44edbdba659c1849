"""Charts: a row for each bar, a small chart for each property, a curve for each system, and marks inside a table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

from evidencebench.pages.figures.data import (
    BOLD_SIZE,
    Bar,
    BarGroup,
    ChartLine,
    bar_title,
    fit_text,
    is_number,
    shown_name,
    title_name,
    value_text,
    width_of,
)
from evidencebench.pages.figures.drawing import (
    HEAD,
    MARGIN,
    NARROW,
    WIDTH,
    Scale,
    chart,
    dash_of,
    line,
    look_of,
    look_of_bar,
    marker,
    percent_lines,
    text,
    tick_names,
    ticks,
    upright_lines,
)
from evidencebench.pages.html import Node, node
from evidencebench.scoring.significance import signed

PERCENT_TICKS = tuple((tick / 100, str(tick)) for tick in (0, 25, 50, 75, 100))

# Charts with a row for each bar: its name, its mark and interval on a common axis, and its numbers.

_ROW = 22  # height of a row, in units
_GAP = 12
_LEAST_PLOT, _MOST_NOTE = 190, 110
_TALL = 25 * _ROW  # where the rows are taller, the axis has its numbers above them too
# Height of the line "← second better | first better →", and the space between zero and its words, in units.
_SIDES, _FROM_ZERO = 20, 8


def interval_chart(bars: Sequence[Bar], *, title: str, unit: str = "aspect recall, %") -> Node:
    """Return a chart with a row for each bar, in the given order, on an axis from 0 to 100 %.

    ``title`` is also the chart's name for screen readers. ``unit`` says what the axis measures.

    Examples
    --------
    >>> drawn = interval_chart([Bar(name="bm25", mean=0.37, low=0.29, high=0.439)], title="er_at_10")
    >>> drawn.findtext("desc")
    'aspect recall, %: bm25 37.0 [29.0, 43.9]'
    """
    return _row_chart([BarGroup(name="", bars=bars)], title, f": {_describe(bars)}", unit)


def grouped_chart(groups: Sequence[BarGroup], *, title: str, unit: str = "aspect recall, %") -> Node:
    """Return a chart as `interval_chart` does, with the bars in groups, each group below its name.

    Bars with the same name have the same mark and colour in every group, also where ``series`` is None.
    """
    words = [f"{shown_name(group.name)}: {_describe(group.bars)}" for group in groups] or ["no rows"]
    return _row_chart(groups, title, f". {'. '.join(words)}", unit, is_grouped=True)


def reach_of(bars: Iterable[Bar]) -> float:
    """Return how far from zero an axis must go so that these differences fit: from 0.05 to 1.0."""
    numbers = [number for bar in bars for number in (bar.mean, *(bar.interval or ())) if is_number(number)]
    return min(1.0, max([0.05, *(1.05 * abs(number) for number in numbers)]))


def difference_chart(
    bars: Sequence[Bar],
    *,
    title: str,
    unit: str = "difference in aspect recall, points",
    reach: float | None = None,
    sides: tuple[str, str] = ("second", "first"),
) -> Node:
    """Return a forest plot: a row for each difference (in -1..1), on an axis around zero.

    ``reach`` is how far the axis goes to both sides; charts with the same reach can be compared (None: as far as these
    bars need). ``sides`` names the system that is better left of zero, and the one that is better right of it. The
    other arguments are those of `interval_chart`.
    """
    reach = reach_of(bars) if reach is None else reach
    words = f": {_describe(bars, signed=True)}"
    return _row_chart([BarGroup(name="", bars=bars)], title, words, unit, reach=reach, sides=sides)


class _RowColumns(NamedTuple):
    """The x coordinates of the columns in every row."""

    names: float  # right end of the names
    scale: Scale
    values: float  # left end of the numbers
    notes: float  # left end of the notes
    signed: bool  # whether the numbers are differences


def _columns_of(bars: Sequence[Bar], reach: float | None) -> _RowColumns:
    # The widest numbers there can be, so that charts below one another have the same axis.
    widest = "100.0 [100.0, 100.0]" if reach is None else "−100.0 [−100.0, −100.0]"
    values = width_of(widest if any(bar.interval for bar in bars) else widest.partition(" ")[0])
    notes = min(_MOST_NOTE, max((width_of(shown_name(bar.note)) for bar in bars), default=0.0))
    taken = values + 2 * MARGIN + 2 * _GAP + (notes + _GAP if notes else 0)
    names = max((width_of(shown_name(bar.name, bar.suffix)) for bar in bars), default=0.0)
    names = min(names, WIDTH - taken - _LEAST_PLOT)
    start = MARGIN + names + _GAP
    end = start + WIDTH - taken - names
    low, high = (0.0, 1.0) if reach is None else (-reach, reach)
    scale = Scale(low=low, high=high, start=round(start, 1), end=round(end, 1))
    return _RowColumns(start - _GAP, scale, end + _GAP, end + 2 * _GAP + values, signed=reach is not None)


def _row_chart(
    groups: Sequence[BarGroup],
    title: str,
    words: str,
    unit: str,
    *,
    reach: float | None = None,
    sides: tuple[str, str] = ("", ""),
    is_grouped: bool = False,
) -> Node:
    """Return the chart; ``words`` has the numbers. With a ``reach`` its axis is around zero, else from 0 to 100 %."""
    bars = [bar for group in groups for bar in group.bars]
    columns, named = _columns_of(bars, reach), PERCENT_TICKS
    if reach is not None:
        steps = ticks(-100 * reach, 100 * reach, most=7)
        named = tuple((tick / 100, signed(tick, "+g") if tick else "0") for tick in steps)
    has_ticks_above = (len(bars) + len(groups) * is_grouped) * _ROW > _TALL
    y = top = HEAD + (20 if has_ticks_above else 4) + (0 if reach is None else _SIDES)
    names = list(dict.fromkeys(bar.name for bar in bars))
    drawn: list[Node] = []
    for group in groups:
        if is_grouped:
            shown = fit_text(shown_name(group.name), WIDTH - 2 * MARGIN, BOLD_SIZE)
            drawn.append(line(MARGIN, y + 2, WIDTH - MARGIN, y + 2, "chart-grid"))
            drawn.append(text(MARGIN, y + _ROW - 5, shown, "chart-group"))
            y += _ROW
        bottom = y + len(group.bars) * _ROW
        drawn += upright_lines(columns.scale, named, y, bottom)
        drawn += [] if reach is None else _zero_line(columns.scale.at(0), sides, top, bottom)
        for bar in group.bars:
            drawn.append(_row(bar, y + _ROW / 2, columns, names.index(bar.name) if is_grouped else 0))
            y += _ROW
    drawn += tick_names(columns.scale, named, y + 15)
    if y - top > _TALL:
        drawn += tick_names(columns.scale, named, top - 4)
    middle = (columns.scale.start + columns.scale.end) / 2
    room = 2 * (min(middle, WIDTH - middle) - MARGIN)
    drawn.append(text(middle, y + 31, fit_text(title_name(unit), room), "chart-tick", "middle"))
    notes = {
        "* hollow mark: a control": any(bar.is_control for bar in bars),
        "hollow and dashed: unfinished; what has no answer counts as 0": any(bar.unfinished for bar in bars),
        "no rows": not bars,
    }
    foot = [note for note, holds in notes.items() if holds]
    drawn += [text(MARGIN, y + 48 + 16 * row, note, "chart-note") for row, note in enumerate(foot)]
    return chart(title, f"{title_name(unit)}{words}", *drawn, height=y + 42 + 16 * len(foot))


def _zero_line(zero: float, sides: tuple[str, str], top: float, bottom: float) -> list[Node]:
    taken = MARGIN + _FROM_ZERO + width_of("←  better")
    rooms = (zero - taken, WIDTH - zero - taken)
    left, right = (fit_text(shown_name(side), room) for side, room in zip(sides, rooms, strict=True))
    return [
        line(zero, top, zero, bottom, "chart-zero"),
        text(zero - _FROM_ZERO, HEAD + 12, f"← {left} better", "chart-tick", "end"),
        text(zero + _FROM_ZERO, HEAD + 12, f"{right} better →", "chart-tick"),
    ]


def _row(bar: Bar, y: float, columns: _RowColumns, position: int) -> Node:
    """Return a bar's row, with its middle at the height ``y``; ``position`` gives the look where the series is None."""
    series = position if bar.series is None else bar.series
    name = fit_text(shown_name(bar.name), columns.names - MARGIN + 1 - width_of(bar.suffix)) + bar.suffix
    note = fit_text(shown_name(bar.note), WIDTH - MARGIN - columns.notes + 1)
    parts: list[Node] = []
    if is_number(bar.mean):
        if bar.interval:
            low, high = map(columns.scale.at, bar.interval)
            parts.append(line(low, y, high, y, "chart-interval"))
            parts += [line(end, y - 4, end, y + 4, "chart-interval") for end in (low, high)]
        parts.append(marker(columns.scale.at(bar.mean), y, series))
    tooltip = bar_title(bar, signed=columns.signed) + (f", {title_name(bar.note)}" if bar.note else "")
    return node(
        "g",
        {"class": look_of_bar(bar, series)},
        node("title", None, tooltip),
        text(columns.names, y + 4, name, "chart-name", "end"),
        text(columns.values, y + 4, value_text(bar, signed=columns.signed), "chart-value"),
        text(columns.notes, y + 4, note, "chart-note") if bar.note else None,
        *parts,
    )


def _describe(bars: Sequence[Bar], *, signed: bool = False) -> str:
    shown = (f"{shown_name(bar.name, bar.suffix)} {value_text(bar, signed=signed)}" for bar in bars)
    return "; ".join(shown) or "no rows"


# A small chart with a column for each group of bars; several stand beside one another, under one legend.

_PANEL = 170
_PANEL_LEFT = MARGIN + 24
# Heights of the two lines of text below the plot, and of all that is below it, in units.
_NAME, _COUNT, _PANEL_FOOT = 16, 31, 38


def panel_chart(groups: Sequence[BarGroup], *, title: str, counts: Sequence[str] = ()) -> Node:
    """Return a chart with a column for each group, and in it an upright interval for each bar, from 0 to 100 %."""
    top, right = HEAD + 8, NARROW - MARGIN
    up = Scale(low=0, high=1, start=top + _PANEL, end=top)
    drawn = percent_lines(up, _PANEL_LEFT, right)
    room = (right - _PANEL_LEFT) / max(1, len(groups))
    for column, group in enumerate(groups):
        start = _PANEL_LEFT + column * room
        if column:
            drawn.append(line(start, top, start, up.start + _COUNT, "chart-grid"))
        name = fit_text(shown_name(group.name), room - 2)
        drawn.append(text(start + room / 2, up.start + _NAME, name, "chart-name", "middle"))
        if counts:
            drawn.append(text(start + room / 2, up.start + _COUNT, counts[column], "chart-tick", "middle"))
        step = room / (len(group.bars) + 1)
        for position, bar in enumerate(group.bars):
            if not is_number(bar.mean):
                continue
            x, series = round(start + step * (position + 1), 1), position if bar.series is None else bar.series
            parts = [node("title", None, bar_title(bar))]
            if bar.interval:
                low, high = map(up.at, bar.interval)
                parts.append(line(x, low, x, high, "chart-interval"))
            parts.append(marker(x, up.at(bar.mean), series, size=3.5))
            drawn.append(node("g", {"class": look_of_bar(bar, series)}, *parts))
    words = (f"{shown_name(group.name)}: {_describe(group.bars)}" for group in groups)
    height = top + _PANEL + _PANEL_FOOT
    return chart(title, f"aspect recall, %. {'. '.join(words)}", *drawn, height=height, width=NARROW)


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


def row_mark(axis: RowAxis, bar: Bar) -> Node:
    """Return a bar's mark and interval on an axis, for a row; the numbers stand in the row too, so it has no name."""

    def line_in_row(look: str, left: str, right: str, top: str, bottom: str) -> Node:
        return node("line", {"class": look, "x1": left, "x2": right, "y1": top, "y2": bottom})

    rules = [] if axis.rule is None else [("row-rule", axis.rule)]
    upright = [*(("chart-grid", value) for value, _ in axis.ticks), *rules]
    drawn = [line_in_row(look, axis.at(value), axis.at(value), "0", "100%") for look, value in upright]
    if is_number(bar.mean):
        series = bar.series or 0
        parts = [node("title", None, bar_title(bar))]
        if bar.interval:
            low, high = map(axis.at, bar.interval)
            parts.append(line_in_row("chart-interval", low, high, "50%", "50%"))
            parts += [line_in_row("chart-interval", end, end, "34%", "66%") for end in (low, high)]
        at = {"x": axis.at(bar.mean), "y": "50%", "overflow": "visible"}
        drawn.append(node("g", {"class": look_of_bar(bar, series)}, *parts, node("svg", at, marker(0, 0, series))))
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

_Points = list[tuple[float, float]]


def line_chart(lines: Sequence[ChartLine], *, title: str, x_name: str, y_name: str, width: int = WIDTH) -> Node:
    """Return a chart of curves on an axis from 0 to 100 %; each curve has its own marks and dashes, and its name.

    ``x_name`` and ``y_name`` say what the axes measure. ``width`` is that of the chart, in units.
    """
    named = [(position, curve) for position, curve in enumerate(lines) if not curve.is_context]
    numbered = [(position if curve.series is None else curve.series, curve) for position, curve in named]
    widest = max((width_of(_line_name(curve)) for _, curve in named), default=0.0)
    right = width - MARGIN - _TAIL - min(_MOST_NAME, width / 3, widest)
    top = HEAD + 22
    bottom = top + max(_PLOT * min(1, width / 480), len(named) * _LABEL)
    places = [x for curve in lines for stretch in _stretches(curve) for x, _ in stretch]
    across = Scale(low=min(places, default=0), high=max(places, default=1), start=_LEFT + 8, end=right - 8)
    up = Scale(low=0, high=1, start=bottom, end=top)
    named_ticks = _named_ticks(across)
    return chart(
        title,
        f"{title_name(y_name)} by {title_name(x_name)}: {'; '.join(map(_describe_line, lines))}",
        *percent_lines(up, _LEFT, right, gap=6),
        *upright_lines(across, named_ticks, top, bottom),
        *tick_names(across, named_ticks, bottom + 15),
        text((_LEFT + right) / 2, bottom + 32, fit_text(title_name(x_name), right - _LEFT), "chart-tick", "middle"),
        text(MARGIN, top - 10, fit_text(title_name(y_name), right), "chart-tick"),
        *(_context(curve, across, up) for curve in lines if curve.is_context),
        *(_band(curve, series, across, up) for series, curve in numbered),
        *(_curve(curve, series, across, up) for series, curve in numbered),
        *_labels(numbered, across, up, right, width),
        height=round(bottom + _FOOT),
        width=width,
    )


def _line_name(curve: ChartLine) -> str:
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


def _stretches(curve: ChartLine) -> list[_Points]:
    grouped = groupby(curve.points, key=lambda point: is_number(point[0]) and is_number(point[1]))
    return [list(points) for is_drawn, points in grouped if is_drawn]


def _drawn_stretches(curve: ChartLine, across: Scale, up: Scale) -> list[_Points]:
    return [[(across.at(x), up.at(y)) for x, y in stretch] for stretch in _stretches(curve)]


def _corners(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _curve(curve: ChartLine, series: int, across: Scale, up: Scale) -> Node:
    parts: list[Node] = []
    for places in _drawn_stretches(curve, across, up):
        if len(places) > 1:
            dashes = {"stroke-dasharray": dash} if (dash := dash_of(series)) else {}
            parts.append(node("polyline", {"class": "chart-line", "points": _corners(places), **dashes}))
        every = max(1, -(-len(places) // _MARKERS))
        size = 3.5 if len(places) > 1 else 5
        parts += [marker(x, y, series, size=size) for x, y in [*places[:-1:every], places[-1]]]
    title = f"{title_name(curve.name)}{' (control)' if curve.is_control else ''}"
    return node("g", {"class": look_of(series, is_control=curve.is_control)}, node("title", None, title), *parts)


def _context(curve: ChartLine, across: Scale, up: Scale) -> Node:
    parts = [
        node("polyline", {"class": "chart-line", "points": _corners(places)})
        if len(places) > 1
        else marker(*places[0], size=2.5)
        for places in _drawn_stretches(curve, across, up)
    ]
    return node("g", {"class": "chart-context"}, node("title", None, title_name(_line_name(curve))), *parts)


def _band(curve: ChartLine, series: int, across: Scale, up: Scale) -> Node | None:
    if curve.low is None or curve.high is None:
        return None
    ends = [
        (across.at(x), up.at(low), up.at(high))
        for (x, _), low, high in zip(curve.points, curve.low, curve.high, strict=True)
        if is_number(x) and is_number(low) and is_number(high)
    ]
    if len(ends) < 2:  # noqa: PLR2004 - an area needs two sides
        return None
    corners = [*((x, low) for x, low, _ in ends), *((x, high) for x, _, high in reversed(ends))]
    look = look_of(series, is_control=curve.is_control)
    return node("polygon", {"class": f"chart-band {look}", "points": _corners(corners)})


def _labels(
    numbered: Sequence[tuple[int, ChartLine]], across: Scale, up: Scale, right: float, width: int
) -> Iterator[Node]:
    """Yield each line's mark and name at the right; a thin line leads there from a curve that reaches the end."""
    ends = [stretches[-1][-1] if (stretches := _stretches(curve)) else None for _, curve in numbered]
    places = _spread([up.start if end is None else up.at(end[1]) for end in ends], up.end, up.start)
    x = right + _TAIL
    for (series, curve), end, y in zip(numbered, ends, places, strict=True):
        yield node(
            "g",
            {"class": look_of(series, is_control=curve.is_control)},
            node("title", None, title_name(curve.name)),
            line(across.at(end[0]) + 6, up.at(end[1]), x - 14, y, "chart-lead")
            if end and end[0] == across.high
            else None,
            marker(x - 8, y, series, size=3.5),
            text(x, y + 4, fit_text(_line_name(curve), width - MARGIN - x + 1), "chart-name"),
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


def _describe_line(curve: ChartLine) -> str:
    points = [point for stretch in _stretches(curve) for point in stretch]
    if not points:
        return f"{_line_name(curve)} has no points"
    (first_x, first_y), (last_x, last_y) = points[0], points[-1]
    return f"{_line_name(curve)} {100 * first_y:.1f} at {first_x:g}, {100 * last_y:.1f} at {last_x:g}"
