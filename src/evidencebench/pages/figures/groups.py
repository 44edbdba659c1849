"""Means with their intervals in groups: recall by the number of aspects, say, a row a system in each."""

from collections.abc import Sequence

from evidencebench.pages.figures.bars import Group
from evidencebench.pages.figures.frame import MARGIN, WIDTH, chart, line, text, upright_lines
from evidencebench.pages.figures.intervals import cells_of
from evidencebench.pages.figures.lettering import BOLD_SIZE, fitted, shown_name, told_name
from evidencebench.pages.figures.rows import PERCENT_TICKS, ROW, described, foot, layout_of, row, top_of
from evidencebench.pages.markup import Node
from evidencebench.tables import Cell, Table


def grouped_chart(
    groups: Sequence[Group], *, title: str, unit: str = "aspect recall, %", key: str | None = None
) -> Node:
    """Return groups one below the other, each a row a bar under the group's name.

    Parameters
    ----------
    groups
        In the order given; their bars' numbers are in 0..1. Bars of one name look the same in every group, also
        without a series of their own.
    title, unit, key
        As in `interval_chart`.
    """
    bars = [bar for group in groups for bar in group.bars]
    layout = layout_of(bars)
    names = list(dict.fromkeys(bar.name for bar in bars))
    looks = {name: position for position, name in enumerate(names)}
    y = top = top_of(len(bars) + len(groups))
    drawn: list[Node] = []
    for group in groups:
        drawn += [
            line(MARGIN, y + 2, WIDTH - MARGIN, y + 2, "chart-grid"),
            text(MARGIN, y + ROW - 5, fitted(shown_name(group.name), WIDTH - 2 * MARGIN, BOLD_SIZE), "chart-group"),
        ]
        y += ROW
        drawn += upright_lines(layout.scale, PERCENT_TICKS, y, y + len(group.bars) * ROW)
        drawn += [row(bar, y + (n + 0.5) * ROW, layout, looks[bar.name]) for n, bar in enumerate(group.bars)]
        y += len(group.bars) * ROW
    below, height = foot(bars, layout, PERCENT_TICKS, unit, top=top, bottom=y)
    told = [f"{shown_name(group.name)}: {described(group.bars)}" for group in groups] or ["no rows"]
    return chart(
        title,
        f"{told_name(unit)}. {'. '.join(told)}",
        *drawn,
        *below,
        height=height,
        key=key,
    )


def table_of_groups(groups: Sequence[Group], *, group: str = "group", name: str = "system") -> Table:
    """Return the numbers behind a grouped chart, in percent; ``group`` and ``name`` head the first two columns."""
    with_notes = any(bar.note for one in groups for bar in one.bars)
    rows: list[list[Cell]] = [
        [one.name, *cells_of(bar), *([bar.note] if with_notes else [])] for one in groups for bar in one.bars
    ]
    return Table(columns=[group, name, "mean, %", "low", "high", *(["note"] if with_notes else [])], rows=rows)
