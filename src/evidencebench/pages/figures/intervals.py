"""Means with their intervals, one below the other."""

from collections.abc import Sequence

from evidencebench.pages.figures.bars import Bar, percent_cell
from evidencebench.pages.figures.frame import chart, upright_lines
from evidencebench.pages.figures.lettering import told_name
from evidencebench.pages.figures.rows import PERCENT_TICKS, ROW, described, foot, layout_of, row, top_of
from evidencebench.pages.markup import Node
from evidencebench.tables import Cell, Table


def interval_chart(bars: Sequence[Bar], *, title: str, unit: str = "aspect recall, %", key: str | None = None) -> Node:
    """Return a row a bar on an axis from 0 to 100 %, in the order given.

    Parameters
    ----------
    bars
        The rows; their numbers are in 0..1.
    title
        Shown above, and the chart's name for those who do not see it.
    unit
        What the axis measures.
    key
        What makes the chart's ids unique on a page; None: derived from what it shows.

    Examples
    --------
    >>> drawn = interval_chart([Bar(name="bm25", mean=0.37, low=0.29, high=0.439)], title="er_at_10")
    >>> drawn.findtext("desc")
    'aspect recall, %: bm25 37.0 [29.0, 43.9]'
    """
    layout = layout_of(bars)
    top = top_of(len(bars))
    bottom = top + len(bars) * ROW
    below, height = foot(bars, layout, PERCENT_TICKS, unit, top=top, bottom=bottom)
    rows = [row(bar, top + (number + 0.5) * ROW, layout) for number, bar in enumerate(bars)]
    return chart(
        title,
        f"{told_name(unit)}: {described(bars)}",
        *upright_lines(layout.scale, PERCENT_TICKS, top, bottom),
        *rows,
        *below,
        height=height,
        key=key,
    )


def table_of_bars(bars: Sequence[Bar], *, name: str = "system") -> Table:
    """Return the numbers behind a chart of intervals, in percent; ``name`` heads the first column."""
    with_notes = any(bar.note for bar in bars)
    rows = [[*cells_of(bar), *([bar.note] if with_notes else [])] for bar in bars]
    return Table(columns=[name, "mean, %", "low", "high", *(["note"] if with_notes else [])], rows=rows)


def cells_of(bar: Bar) -> list[Cell]:
    """Return a bar's name and its three numbers in percent."""
    name = f"{bar.name}{' *' if bar.is_control else ''}"
    return [name, *map(percent_cell, (bar.mean, bar.low, bar.high))]
