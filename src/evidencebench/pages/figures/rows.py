"""Rows of intervals: a name, a mark with its interval on a common axis, the numbers; shared by three charts."""

from collections.abc import Sequence
from dataclasses import dataclass

from evidencebench.pages.figures.bars import Bar, BarGroup, interval_of, value_text
from evidencebench.pages.figures.frame import HEAD, MARGIN, WIDTH, line, text, tick_names, upright_lines
from evidencebench.pages.figures.lettering import BOLD_SIZE, fitted, shown_name, title_name, width_of
from evidencebench.pages.figures.markers import look_of, marker
from evidencebench.pages.figures.scale import Scale, is_number
from evidencebench.pages.markup import Node, node

ROW = 22
"""Units from one row to the next."""

PERCENT_TICKS = tuple((tick / 100, str(tick)) for tick in (0, 25, 50, 75, 100))
_GAP = 12
_LEAST_PLOT, _MOST_NOTE = 190, 110
_TALL = 25 * ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the columns of the rows lie."""

    names: float  # where the names end, which stand to the left of it
    scale: Scale
    values: float  # where the numbers begin
    notes: float  # where the words behind them begin
    signed: bool = False  # whether the numbers are differences


def layout_of(bars: Sequence[Bar], *, low: float = 0.0, high: float = 1.0, signed: bool = False) -> Layout:
    """Return where the columns lie, so that the names, numbers and notes of these bars fit."""
    # As wide as numbers get, so that charts below one another share their axis.
    widest = "-100.0 [-100.0, -100.0]" if signed else "100.0 [100.0, 100.0]"
    values = width_of(widest if any(map(interval_of, bars)) else widest.partition(" ")[0])
    notes = min(_MOST_NOTE, max((width_of(shown_name(bar.note)) for bar in bars), default=0.0))
    taken = values + 2 * MARGIN + 2 * _GAP + (notes + _GAP if notes else 0)
    names = max((width_of(shown_name(bar.name, is_control=bar.is_control)) for bar in bars), default=0.0)
    names = min(names, WIDTH - taken - _LEAST_PLOT)
    start = MARGIN + names + _GAP
    end = start + WIDTH - taken - names
    scale = Scale(low=low, high=high, start=round(start, 1), end=round(end, 1))
    return Layout(names=start - _GAP, scale=scale, values=end + _GAP, notes=end + 2 * _GAP + values, signed=signed)


def rows_of(
    groups: Sequence[BarGroup],
    layout: Layout,
    named: Sequence[tuple[float, str]],
    unit: str,
    *,
    top: int,
    with_names: bool = False,
    behind: Sequence[Node] = (),
) -> tuple[list[Node], int]:
    """Return groups of bars from ``top`` downwards, with the axis below, and where all of it ends.

    ``named`` are the axis's ticks, ``with_names`` puts each group's name above it and lets bars of one name look the
    same in every group, and ``behind`` lies between the ticks and the marks.
    """
    bars = [bar for group in groups for bar in group.bars]
    names = list(dict.fromkeys(bar.name for bar in bars))
    drawn: list[Node] = []
    y = top
    for group in groups:
        if with_names:
            title = fitted(shown_name(group.name), WIDTH - 2 * MARGIN, BOLD_SIZE)
            drawn.append(line(MARGIN, y + 2, WIDTH - MARGIN, y + 2, "chart-grid"))
            drawn.append(text(MARGIN, y + ROW - 5, title, "chart-group"))
            y += ROW
        drawn += [*upright_lines(layout.scale, named, y, y + len(group.bars) * ROW), *behind]
        for bar in group.bars:
            drawn.append(_row(bar, y + ROW / 2, layout, names.index(bar.name) if with_names else 0))
            y += ROW
    below, height = _foot(bars, layout, named, unit, top=top, bottom=y)
    return [*drawn, *below], height


def _row(bar: Bar, y: float, layout: Layout, position: int) -> Node:
    """Return a bar as a row around the height ``y``; its series decides its look, or its position where it has none."""
    position = position if bar.series is None else bar.series
    name = shown_name(bar.name, is_control=bar.is_control)
    numbers = value_text(bar, signed=layout.signed)
    told = f"{title_name(bar.name)}{' (control)' if bar.is_control else ''}: {numbers}"
    if bar.note:
        told += f", {title_name(bar.note)}"
    return node(
        "g",
        {"class": look_of(position, is_control=bar.is_control)},
        node("title", None, told),
        text(layout.names, y + 4, fitted(name, layout.names - MARGIN + 1), "chart-name", "end"),
        *_mark(bar, y, layout.scale, position),
        text(layout.values, y + 4, numbers, "chart-value"),
        text(layout.notes, y + 4, fitted(shown_name(bar.note), WIDTH - MARGIN - layout.notes + 1), "chart-note")
        if bar.note
        else None,
    )


def _mark(bar: Bar, y: float, scale: Scale, position: int) -> list[Node]:
    if not is_number(bar.mean):
        return []
    drawn = []
    if (interval := interval_of(bar)) is not None:
        low, high = map(scale.at, interval)
        drawn = [line(low, y, high, y, "chart-interval")]
        drawn += [line(end, y - 4, end, y + 4, "chart-interval") for end in (low, high)]
    return [*drawn, marker(scale.at(bar.mean), y, position)]


def top_of(n_rows: int) -> int:
    """Return where the first of so many rows begins: lower where the axis is named above them too."""
    return HEAD + (20 if n_rows * ROW > _TALL else 4)


def _foot(
    bars: Sequence[Bar], layout: Layout, named: Sequence[tuple[float, str]], unit: str, *, top: int, bottom: int
) -> tuple[list[Node], int]:
    """Return the names of the axis below rows, what it measures and what a star means, and where all of it ends."""
    drawn = tick_names(layout.scale, named, bottom + 15)
    if bottom - top > _TALL:
        drawn += tick_names(layout.scale, named, top - 4)
    middle = (layout.scale.start + layout.scale.end) / 2
    room = 2 * (min(middle, WIDTH - middle) - MARGIN)
    drawn.append(text(middle, bottom + 31, fitted(title_name(unit), room), "chart-tick", "middle"))
    if not bars:
        note = "no rows"
    elif any(bar.is_control for bar in bars):
        note = "* hollow mark: a control"
    else:
        return drawn, bottom + 42
    return [*drawn, text(MARGIN, bottom + 48, note, "chart-note")], bottom + 58


def described(bars: Sequence[Bar], *, signed: bool = False) -> str:
    """Return bars in words."""
    shown = (f"{shown_name(bar.name, is_control=bar.is_control)} {value_text(bar, signed=signed)}" for bar in bars)
    return "; ".join(shown) or "no rows"
