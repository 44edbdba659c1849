"""Charts with a row for each bar: its name, its mark and interval on a common axis, and its numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evidencebench.pages.figures.chart_data import Bar, BarGroup, bar_title, is_number, value_text
from evidencebench.pages.figures.drawing import (
    HEAD,
    MARGIN,
    WIDTH,
    Scale,
    chart,
    line,
    look_of_bar,
    marker,
    text,
    tick_names,
    ticks,
    upright_lines,
)
from evidencebench.pages.figures.lettering import BOLD_SIZE, fit_text, shown_name, title_name, width_of
from evidencebench.pages.markup import Node, node
from evidencebench.scoring.score_texts import signed

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
