"""What the report's sections are built of: text, tables that scroll inside their frame, and folded parts."""

import re
from collections.abc import Sequence

from evidencebench.pages.markup import Child, Node, beginning_of, node
from evidencebench.scoring.resampling import Estimate
from evidencebench.tables import Cell, Table

FOREIGN = {"class": "foreign", "dir": "auto"}
"""Of elements that show text from a file: its direction is its own."""

_LONG = 24
_NUMBERS = re.compile(r"[-+\d.,\[\]()$% ]*")


def section(name: str, title: str, *children: Child) -> Node:
    """Return a section that can be linked to as ``#name``."""
    heading = node("h2", {"id": f"{name}-title"}, title)
    return node("section", {"id": name, "aria-labelledby": f"{name}-title", "tabindex": "-1"}, heading, *children)


def paragraph(*children: Child, look: str = "") -> Node:
    """Return a paragraph."""
    return node("p", {"class": look} if look else None, *children)


def note(*children: Child) -> Node:
    """Return a paragraph that explains."""
    return paragraph(*children, look="note")


def isolated_name(text: str) -> Node:
    """Return a name from a file in its own element, so that its text direction changes nothing around it."""
    return node("bdi", FOREIGN, beginning_of(text))


def code(text: str) -> Node:
    """Return a command or a signature, which may be long."""
    return node("code", FOREIGN, text)


def folded(summary: str, *children: Child, is_open: bool = False) -> Node:
    """Return a part that can be folded, and is open in print."""
    return node("details", {"open": ""} if is_open else None, node("summary", None, summary), *children)


def figure(chart: Node, table: Table, *, is_open: bool = False) -> Node:
    """Return a chart with the table behind it, folded unless it says more than the chart."""
    label = f"Chart: {chart.findtext('title') or ''}"
    numbers = folded("The numbers as a table", shown_table(table), is_open=is_open)
    return node("figure", None, _frame(label, chart), numbers)


def shown_table(table: Table, *, most: int = 300) -> Node:
    """Return a table in a frame of its own, numbers to the right; cells longer than ``most`` characters are cut."""
    columns = list(zip(*table.rows, strict=True)) or [("",)] * len(table.columns)
    numeric = [all(not isinstance(cell, str) for cell in column) for column in columns]
    number = {"class": "number"}
    head = (
        node("th", {"scope": "col", **(number if right else _look_of_words(name))}, beginning_of(name))
        for name, right in zip(table.columns, numeric, strict=True)
    )

    def line(row: Sequence[Cell]) -> Node:
        texts = [_text_of(cell, most) for cell in row]
        looks = [number if right else _look_of(text) for text, right in zip(texts, numeric, strict=True)]
        first, *cells = zip(texts, looks, strict=True)
        name = node("th", {"scope": "row", **first[1]}, first[0])
        return node("tr", None, name, *(node("td", look, text) for text, look in cells))

    caption = node("caption", None, table.title) if table.title else None
    body = node("tbody", None, *map(line, table.rows))
    label = beginning_of(table.title or f"Table: {', '.join(table.columns)}")
    return _frame(label, node("table", None, caption, node("thead", None, node("tr", None, *head)), body))


def _frame(label: str, inner: Node) -> Node:
    """Return what may be wider than the page, and then scrolls, also by the keyboard."""
    return node("div", {"class": "frame", "tabindex": 0, "role": "group", "aria-label": label}, inner)


def _text_of(cell: Cell, most: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.1f}"
    return beginning_of(cell, most) if isinstance(cell, str) else f"{cell:,}"


def _look_of(text: str) -> dict[str, str]:
    """Return the attributes of a cell with text: numbers keep to one line, all else may be anything."""
    return {"class": "value"} if _NUMBERS.fullmatch(text) else _look_of_words(text)


def _look_of_words(text: str) -> dict[str, str]:
    """Return the attributes of a cell with words; long ones may break anywhere, to leave room for the numbers."""
    return FOREIGN | {"class": "foreign long"} if len(text) > _LONG else FOREIGN


def points(difference: Estimate) -> str:
    """Return a difference in points of recall with its interval, signed.

    >>> points(Estimate(mean=0.051, low=-0.002, high=0.104, n=9, n_clusters=7))
    '+5.1 [-0.2, +10.4]'
    >>> points(Estimate(mean=-0.0, low=None, high=None, n=1, n_clusters=1))
    '+0.0 (one paper: no interval)'
    """
    mean, *ends = (f"{round(100 * one, 1) + 0.0:+.1f}" for one in (difference.mean, *(difference.interval or ())))
    return f"{mean} [{', '.join(ends)}]" if ends else f"{mean} (one paper: no interval)"


def shown_list(*items: Child) -> Node:
    """Return a list, an item a child."""
    return node("ul", None, *(node("li", None, item) for item in items))
