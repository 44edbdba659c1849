"""The elements of the report's sections: paragraphs, tables that scroll inside their frame, and folded parts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from evidencebench.data.tasks import Task
from evidencebench.pages.figures.data import Bar
from evidencebench.pages.figures.drawing import look_of_bar, marker
from evidencebench.pages.html import Child, Node, beginning_of, node
from evidencebench.pages.viewer import task_title
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.significance import signed
from evidencebench.tables import Cell, Table
from evidencebench.wording import without_folders

FOREIGN = {"class": "foreign", "dir": "auto"}
"""Attributes of an element that shows text from a file; the browser takes the text's direction from the text."""

_LONG = 24
_NUMBERS = re.compile(r"[-−+\d.,\[\]()$%≤< ]*")


def section(name: str, title: str, *children: Child) -> Node:
    """Return a section with a heading; links reach it as ``#name``."""
    heading = node("h2", {"id": f"{name}-title"}, title)
    return node("section", {"id": name, "aria-labelledby": f"{name}-title", "tabindex": "-1"}, heading, *children)


def paragraph(*children: Child, look: str = "") -> Node:
    """Return a paragraph; ``look`` is its class."""
    return node("p", {"class": look} if look else None, *children)


def note(*children: Child) -> Node:
    """Return a paragraph of small text, which explains."""
    return paragraph(*children, look="note")


def isolated_name(text: str) -> Node:
    """Return a name from a file in its own element, so that its text direction changes nothing around it."""
    return node("bdi", FOREIGN, beginning_of(text))


def code(text: str) -> Node:
    """Return an element for a command or a signature; it may be long. Files in it are shown by their names."""
    return node("code", FOREIGN, without_folders(text))


def task_switch(tasks: Sequence[Task]) -> Node | None:
    """Return the choice of a task for the whole page; the page's script shows it. None where there is one task."""
    if len(tasks) == 1:
        return None
    options = (node("option", {"value": task.name}, task_title(task)) for task in tasks)
    label = node(
        "label", {"class": "picker"}, node("span", {"class": "picker-name"}, "Task"), node("select", None, *options)
    )
    name = node("code", FOREIGN | {"class": "foreign task-name"})
    told = node("span", {"class": "task-told", "role": "status"})
    return node("div", {"id": "task-switch", "hidden": ""}, label, name, told)


def by_task(tasks: Sequence[Task], make: Callable[[Task], Sequence[Child]]) -> list[Node]:
    """Return a block for each task, with the children that ``make`` returns; the page shows that of the chosen task."""

    def heading(task: Task) -> Node | None:
        if len(tasks) == 1:
            return None
        return node("h3", {"class": "task-heading"}, f"{task_title(task)} ", node("code", FOREIGN, task.name))

    return [node("div", {"data-task": task.name}, heading(task), *make(task)) for task in tasks]


def folding_part(summary: str, *children: Child, is_open: bool = False) -> Node:
    """Return a part that the reader can fold away; it is open in print."""
    return node("details", {"open": ""} if is_open else None, node("summary", None, summary), *children)


def legend(bars: Sequence[Bar]) -> Node:
    """Return the marks of systems with their names, for charts that show marks only."""
    return node("ul", {"class": "legend"}, *map(_legend_entry, bars))


def _legend_entry(bar: Bar) -> Node:
    series = bar.series or 0
    title = node("title", None, beginning_of(bar.name))
    mark = node("g", {"class": look_of_bar(bar, series)}, title, marker(7, 7, series))
    picture = node("svg", {"class": "chart", "viewBox": "0 0 14 14", "aria-hidden": "true"}, mark)
    return node("li", None, picture, node("bdi", FOREIGN, f"{beginning_of(bar.name)}{bar.suffix}"))


def table_node(table: Table, *, most: int = 300, links: Mapping[str, Callable[[str], str]] | None = None) -> Node:
    """Return a table in a frame of its own, numbers at the right; text of more than ``most`` characters is cut."""
    columns = list(zip(*table.rows, strict=True)) or [("",)] * len(table.columns)
    numeric = [all(not isinstance(cell, str) for cell in column) for column in columns]
    number = {"class": "number"}
    head = (
        node("th", {"scope": "col", **(number if right else _word_attributes(name))}, beginning_of(name))
        for name, right in zip(table.columns, numeric, strict=True)
    )

    def line(row: Sequence[Cell]) -> Node:
        texts = [_cell_text(cell, most) for cell in row]
        looks = [
            number if right else {"class": "value"} if _NUMBERS.fullmatch(text) else _word_attributes(text)
            for text, right in zip(texts, numeric, strict=True)
        ]
        linked = [
            node("a", {"href": (links or {})[name](str(cell))}, text) if name in (links or {}) else text
            for name, cell, text in zip(table.columns, row, texts, strict=True)
        ]
        first, *cells = zip(linked, looks, strict=True)
        name = node("th", {"scope": "row", **first[1]}, first[0])
        return node("tr", None, name, *(node("td", look, text) for text, look in cells))

    caption = node("caption", None, table.title) if table.title else None
    body = node("tbody", None, *map(line, table.rows))
    label = beginning_of(table.title or f"Table: {', '.join(table.columns)}")
    return framed(label, node("table", None, caption, node("thead", None, node("tr", None, *head)), body))


def framed(label: str, inner: Node) -> Node:
    """Return an element in a frame, which scrolls (by keyboard too) where the element is wider than the page."""
    return node("div", {"class": "frame", "tabindex": 0, "role": "group", "aria-label": label}, inner)


def _cell_text(cell: Cell, most: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.1f}"
    return beginning_of(without_folders(cell), most) if isinstance(cell, str) else f"{cell:,}"


def _word_attributes(text: str) -> dict[str, str]:
    """Return the attributes of a cell with words; long text may break inside a word, to leave room for the numbers."""
    return FOREIGN | {"class": "foreign long"} if len(text) > _LONG else FOREIGN


def points_text(difference: Estimate) -> str:
    """Return a difference of recalls with its interval, as text in signed percentage points.

    >>> points_text(Estimate(mean=0.051, low=-0.002, high=0.104, n=9, n_clusters=7))
    '+5.1 [−0.2, +10.4]'
    >>> points_text(Estimate(mean=-0.0, low=None, high=None, n=1, n_clusters=1))
    '+0.0 (one paper: no interval)'
    """
    mean, *ends = (signed(100 * value) for value in (difference.mean, *(difference.interval or ())))
    return f"{mean} [{', '.join(ends)}]" if ends else f"{mean} ({difference.alone}: no interval)"


def list_node(*items: Child) -> Node:
    """Return a list with these items."""
    return node("ul", None, *(node("li", None, item) for item in items))


def terms_node(facts: Iterable[tuple[Child, Sequence[Child]]], look: str = "") -> Node:
    """Return a list of terms, each with what is said of it; ``look`` is its class."""
    parts = (part for term, said in facts for part in (node("dt", None, term), node("dd", None, *said)))
    return node("dl", {"class": look} if look else None, *parts)
