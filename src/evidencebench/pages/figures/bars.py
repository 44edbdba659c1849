"""Interval charts, panels, row plots."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evidencebench.pages.figures.data import (
    BOLD_SIZE,
    Bar,
    BarGroup,
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
    line,
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

# Charts with a row for each bar: its name, its mark and interval on a common axis, and its numbers.


# Height of a row, in units.
_ROW = 22
_GAP = 12
_LEAST_PLOT, _MOST_NOTE = 190, 110
# Where the rows are taller than this, the axis has its numbers above them too.
_TALL = 25 * _ROW
_PERCENT_TICKS = tuple((tick / 100, str(tick)) for tick in (0, 25, 50, 75, 100))
_LEAST_REACH = 0.05
# Height of the line "← second better | first better →", and the space between zero and its words, in units.
_SIDES, _FROM_ZERO = 20, 8
_BETTER = " better"


def interval_chart(bars: Sequence[Bar], *, title: str, unit: str = "aspect recall, %", key: str | None = None) -> Node:
    """Return a chart with a row for each bar, in the given order, on an axis from 0 to 100 %.

    ``title`` is also the chart's name for screen readers. ``unit`` says what the axis measures. ``key`` makes
    the ids of the chart's elements unique on a page (None: derived from the chart's title and numbers).

    Examples
    --------
    >>> drawn = interval_chart([Bar(name="bm25", mean=0.37, low=0.29, high=0.439)], title="er_at_10")
    >>> drawn.findtext("desc")
    'aspect recall, %: bm25 37.0 [29.0, 43.9]'
    """
    group = BarGroup(name="", bars=bars)
    drawn, height = _rows([group], _columns_of(bars), _PERCENT_TICKS, unit, _top_of(len(bars)))
    return chart(title, f"{title_name(unit)}: {_describe(bars)}", *drawn, height=height, key=key)


def grouped_chart(
    groups: Sequence[BarGroup], *, title: str, unit: str = "aspect recall, %", key: str | None = None
) -> Node:
    """Return a chart as `interval_chart` does, with the bars in groups, each group below its name.

    Bars with the same name have the same mark and colour in every group, also where ``series`` is None.
    """
    bars = [bar for group in groups for bar in group.bars]
    top = _top_of(len(bars) + len(groups))
    drawn, height = _rows(groups, _columns_of(bars), _PERCENT_TICKS, unit, top, is_grouped=True)
    words = [f"{shown_name(group.name)}: {_describe(group.bars)}" for group in groups] or ["no rows"]
    return chart(title, f"{title_name(unit)}. {'. '.join(words)}", *drawn, height=height, key=key)


def reach_of(bars: Iterable[Bar]) -> float:
    """Return how far from zero an axis must go so that these differences fit: from 0.05 to 1.0."""
    numbers = [number for bar in bars for number in (bar.mean, *(bar.interval or ())) if is_number(number)]
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
    """Return a forest plot: a row for each difference (in -1..1), on an axis around zero.

    ``reach`` is how far the axis goes to both sides; charts with the same reach can be compared (None: as far as these
    bars need). ``sides`` names the system that is better left of zero, and the one that is better right of it. The
    other arguments are those of `interval_chart`.
    """
    reach = reach_of(bars) if reach is None else reach
    columns = _columns_of(bars, low=-reach, high=reach, signed=True)
    top = _top_of(len(bars)) + _SIDES
    above, zero = HEAD + 12, columns.scale.at(0)
    taken = MARGIN + _FROM_ZERO + width_of(f"← {_BETTER}")
    left, right = (
        fit_text(shown_name(side), room - taken) for side, room in zip(sides, (zero, WIDTH - zero), strict=True)
    )
    behind = [
        line(zero, top, zero, top + len(bars) * _ROW, "chart-zero"),
        text(zero - _FROM_ZERO, above, f"← {left}{_BETTER}", "chart-tick", "end"),
        text(zero + _FROM_ZERO, above, f"{right}{_BETTER} →", "chart-tick"),
    ]
    named = [(tick / 100, signed(tick, "+g") if tick else "0") for tick in ticks(-100 * reach, 100 * reach, most=7)]
    drawn, height = _rows([BarGroup(name="", bars=bars)], columns, named, unit, top, behind=behind)
    return chart(title, f"{unit}: {_describe(bars, signed=True)}", *drawn, height=height, key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowColumns:
    """The x coordinates of the columns in every row."""

    names: float  # right end of the names
    scale: Scale
    values: float  # left end of the numbers
    notes: float  # left end of the notes
    signed: bool  # whether the numbers are differences


def _columns_of(bars: Sequence[Bar], *, low: float = 0.0, high: float = 1.0, signed: bool = False) -> _RowColumns:
    # The widest numbers there can be, so that charts below one another have the same axis.
    widest = "−100.0 [−100.0, −100.0]" if signed else "100.0 [100.0, 100.0]"
    values = width_of(widest if any(bar.interval for bar in bars) else widest.partition(" ")[0])
    notes = min(_MOST_NOTE, max((width_of(shown_name(bar.note)) for bar in bars), default=0.0))
    taken = values + 2 * MARGIN + 2 * _GAP + (notes + _GAP if notes else 0)
    names = max((width_of(shown_name(bar.name, bar.suffix)) for bar in bars), default=0.0)
    names = min(names, WIDTH - taken - _LEAST_PLOT)
    start = MARGIN + names + _GAP
    end = start + WIDTH - taken - names
    scale = Scale(low=low, high=high, start=round(start, 1), end=round(end, 1))
    behind = end + 2 * _GAP + values
    return _RowColumns(names=start - _GAP, scale=scale, values=end + _GAP, notes=behind, signed=signed)


def _top_of(n_rows: int) -> int:
    return HEAD + (20 if n_rows * _ROW > _TALL else 4)


def _rows(
    groups: Sequence[BarGroup],
    columns: _RowColumns,
    named: Sequence[tuple[float, str]],
    unit: str,
    top: int,
    *,
    is_grouped: bool = False,
    behind: Sequence[Node] = (),
) -> tuple[list[Node], int]:
    bars = [bar for group in groups for bar in group.bars]
    names = list(dict.fromkeys(bar.name for bar in bars))
    drawn: list[Node] = []
    y = top
    for group in groups:
        if is_grouped:
            title = fit_text(shown_name(group.name), WIDTH - 2 * MARGIN, BOLD_SIZE)
            drawn.append(line(MARGIN, y + 2, WIDTH - MARGIN, y + 2, "chart-grid"))
            drawn.append(text(MARGIN, y + _ROW - 5, title, "chart-group"))
            y += _ROW
        drawn += [*upright_lines(columns.scale, named, y, y + len(group.bars) * _ROW), *behind]
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
    told = [note for note, holds in notes.items() if holds]
    drawn += [text(MARGIN, y + 48 + 16 * place, note, "chart-note") for place, note in enumerate(told)]
    return drawn, y + 42 + 16 * len(told)


def _row(bar: Bar, y: float, columns: _RowColumns, position: int) -> Node:
    """Return a bar's row, with its middle at the height ``y``; ``position`` gives the look where the series is None."""
    position = position if bar.series is None else bar.series
    numbers = value_text(bar, signed=columns.signed)
    told = f", {title_name(bar.note)}" if bar.note else ""
    name = fit_text(shown_name(bar.name), columns.names - MARGIN + 1 - width_of(bar.suffix)) + bar.suffix
    note = fit_text(shown_name(bar.note), WIDTH - MARGIN - columns.notes + 1)
    return node(
        "g",
        {"class": look_of_bar(bar, position)},
        node("title", None, f"{bar_title(bar, signed=columns.signed)}{told}"),
        text(columns.names, y + 4, name, "chart-name", "end"),
        text(columns.values, y + 4, numbers, "chart-value"),
        text(columns.notes, y + 4, note, "chart-note") if bar.note else None,
        *_mark(bar, y, columns.scale, position),
    )


def _mark(bar: Bar, y: float, scale: Scale, position: int) -> list[Node]:
    if not is_number(bar.mean):
        return []
    drawn = []
    if bar.interval:
        low, high = map(scale.at, bar.interval)
        drawn = [line(low, y, high, y, "chart-interval")]
        drawn += [line(end, y - 4, end, y + 4, "chart-interval") for end in (low, high)]
    return [*drawn, marker(scale.at(bar.mean), y, position)]


def _describe(bars: Sequence[Bar], *, signed: bool = False) -> str:
    shown = (f"{shown_name(bar.name, bar.suffix)} {value_text(bar, signed=signed)}" for bar in bars)
    return "; ".join(shown) or "no rows"


# A small chart with a column for each group of bars; several stand beside one another, under one legend.


_PLOT = 170
_LEFT = MARGIN + 24
# Heights of the two lines of text below the plot, and of all that is below it, in units.
_NAME, _COUNT, _FOOT = 16, 31, 38


def panel_chart(groups: Sequence[BarGroup], *, title: str, counts: Sequence[str] = (), key: str | None = None) -> Node:
    """Return a chart with a column for each group, and in it an upright interval for each bar, from 0 to 100 %."""
    top, right = HEAD + 8, NARROW - MARGIN
    up = Scale(low=0, high=1, start=top + _PLOT, end=top)
    drawn = percent_lines(up, _LEFT, right)
    room = (right - _LEFT) / max(1, len(groups))
    for place, group in enumerate(groups):
        start = _LEFT + place * room
        if place:
            drawn.append(line(start, top, start, up.start + _COUNT, "chart-grid"))
        name = fit_text(shown_name(group.name), room - 2)
        drawn.append(text(start + room / 2, up.start + _NAME, name, "chart-name", "middle"))
        if counts:
            drawn.append(text(start + room / 2, up.start + _COUNT, counts[place], "chart-tick", "middle"))
        step = room / (len(group.bars) + 1)
        places = ((bar, round(start + step * (at + 1), 1), at) for at, bar in enumerate(group.bars))
        drawn += [_upright(bar, x, up, at) for bar, x, at in places if is_number(bar.mean)]
    words = (f"{shown_name(group.name)}: {_describe_panel(group.bars)}" for group in groups)
    return chart(
        title, f"aspect recall, %. {'. '.join(words)}", *drawn, height=top + _PLOT + _FOOT, width=NARROW, key=key
    )


def _upright(bar: Bar, x: float, up: Scale, position: int) -> Node:
    position = position if bar.series is None else bar.series
    lines = []
    if bar.interval:
        low, high = map(up.at, bar.interval)
        lines.append(line(x, low, x, high, "chart-interval"))
    mark = marker(x, up.at(bar.mean), position, size=3.5)
    return node("g", {"class": look_of_bar(bar, position)}, node("title", None, bar_title(bar)), *lines, mark)


def _describe_panel(bars: Sequence[Bar]) -> str:
    return "; ".join(f"{shown_name(bar.name, bar.suffix)} {value_text(bar)}" for bar in bars)


# Charts inside a table: an axis in a column's head, and in each row a mark with its interval.


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
    drawn = [_upright_row(axis.place(value), "chart-grid") for value, _ in axis.ticks]
    if axis.rule is not None:
        drawn.append(_upright_row(axis.place(axis.rule), "row-rule"))
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


def _upright_row(place: str, look: str) -> Node:
    return node("line", {"class": look, "x1": place, "x2": place, "y1": "0", "y2": "100%"})


def _plot(look: str, *drawn: Node) -> Node:
    return node("svg", {"class": f"chart row-plot {look}".strip(), "aria-hidden": "true"}, *drawn)
