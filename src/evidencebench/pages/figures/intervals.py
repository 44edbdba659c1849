"""Means with their intervals, one below the other, also in groups: recall by the number of aspects, say."""

from collections.abc import Sequence

from evidencebench.pages.figures.bars import Bar, BarGroup
from evidencebench.pages.figures.frame import chart
from evidencebench.pages.figures.lettering import shown_name, title_name
from evidencebench.pages.figures.rows import PERCENT_TICKS, described, layout_of, rows_of, top_of
from evidencebench.pages.figures.scale import percent_cell
from evidencebench.pages.markup import Node
from evidencebench.tables import Cell, Table


def interval_chart(bars: Sequence[Bar], *, title: str, unit: str = "aspect recall, %", key: str | None = None) -> Node:
    """Return a row a bar on an axis from 0 to 100 %, in the order given.

    ``title`` is also the chart's name for those who do not see it, ``unit`` says what the axis measures, and ``key``
    makes the chart's ids unique on a page (None: derived from what it shows).

    Examples
    --------
    >>> drawn = interval_chart([Bar(name="bm25", mean=0.37, low=0.29, high=0.439)], title="er_at_10")
    >>> drawn.findtext("desc")
    'aspect recall, %: bm25 37.0 [29.0, 43.9]'
    """
    groups = [BarGroup(name="", bars=bars)]
    drawn, height = rows_of(groups, layout_of(bars), PERCENT_TICKS, unit, top=top_of(len(bars)))
    return chart(title, f"{title_name(unit)}: {described(bars)}", *drawn, height=height, key=key)


def grouped_chart(
    groups: Sequence[BarGroup], *, title: str, unit: str = "aspect recall, %", key: str | None = None
) -> Node:
    """Return groups one below the other, each a row a bar under the group's name; otherwise as `interval_chart`.

    Bars of one name look the same in every group, also without a series of their own.
    """
    bars = [bar for group in groups for bar in group.bars]
    top = top_of(len(bars) + len(groups))
    drawn, height = rows_of(groups, layout_of(bars), PERCENT_TICKS, unit, top=top, with_names=True)
    told = [f"{shown_name(group.name)}: {described(group.bars)}" for group in groups] or ["no rows"]
    return chart(title, f"{title_name(unit)}. {'. '.join(told)}", *drawn, height=height, key=key)


def table_of_bars(bars: Sequence[Bar], *, name: str = "system") -> Table:
    """Return the numbers behind a chart of intervals, in percent; ``name`` heads the first column."""
    return _table([name], [[bar.name + (" *" if bar.is_control else "")] for bar in bars], bars)


def table_of_groups(groups: Sequence[BarGroup], *, group: str = "group", name: str = "system") -> Table:
    """Return the numbers behind a grouped chart, in percent; ``group`` and ``name`` head the first two columns."""
    pairs = [(one.name, bar) for one in groups for bar in one.bars]
    names = [[of, bar.name + (" *" if bar.is_control else "")] for of, bar in pairs]
    return _table([group, name], names, [bar for _, bar in pairs])


def _table(heads: Sequence[str], names: Sequence[Sequence[str]], bars: Sequence[Bar]) -> Table:
    with_notes = any(bar.note for bar in bars)
    rows: list[list[Cell]] = [
        [*first, *map(percent_cell, (bar.mean, bar.low, bar.high)), *([bar.note] if with_notes else [])]
        for first, bar in zip(names, bars, strict=True)
    ]
    return Table(columns=[*heads, "mean, %", "low", "high", *(["note"] if with_notes else [])], rows=rows)
