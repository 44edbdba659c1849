"""A small chart with a column for each group of bars; several stand beside one another, under one legend."""

from collections.abc import Sequence

from evidencebench.pages.figures.chart_data import Bar, BarGroup, bar_title, is_number, value_text
from evidencebench.pages.figures.drawing import (
    HEAD,
    MARGIN,
    NARROW,
    Scale,
    chart,
    line,
    look_of_bar,
    marker,
    percent_lines,
    text,
)
from evidencebench.pages.figures.lettering import fit_text, shown_name
from evidencebench.pages.markup import Node, node

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
    words = (f"{shown_name(group.name)}: {_describe(group.bars)}" for group in groups)
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


def _describe(bars: Sequence[Bar]) -> str:
    return "; ".join(f"{shown_name(bar.name, bar.suffix)} {value_text(bar)}" for bar in bars)
