"""The elements of the report's sections: paragraphs, tables that scroll inside their frame, and folded parts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from evidencebench.data.tasks import Task
from evidencebench.pages.figures.charts import RowAxis, row_mark
from evidencebench.pages.figures.data import Series
from evidencebench.pages.html import Child, Node, beginning_of, node
from evidencebench.pages.viewer import task_title
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.significance import signed
from evidencebench.tables import Cell
from evidencebench.wording import without_folders

# Attributes of an element that shows text from a file; the browser takes the text's direction from the text.
FOREIGN = {"class": "foreign", "dir": "auto"}

_LONG = 24
_NUMBERS = re.compile(r"[-−+\d.,\[\]()$%≤< ]*")


def section(name: str, title: str, *children: Child) -> Node:
    heading = node("h2", {"id": f"{name}-title"}, title)
    return node("section", {"id": name, "aria-labelledby": f"{name}-title", "tabindex": "-1"}, heading, *children)


def paragraph(*children: Child, look: str = "") -> Node:
    return node("p", {"class": look} if look else None, *children)


def note(*children: Child) -> Node:
    return paragraph(*children, look="note")


def isolated_name(text: str, short: str | None = None) -> Node:
    """Return a name in an element of its own, so that its text direction changes nothing around it."""
    told = {} if short is None else {"title": beginning_of(text)}
    return node("bdi", FOREIGN | told, beginning_of(text) if short is None else short)


def isolated_names(names: Iterable[str] | Mapping[str, str]) -> list[Child]:
    """Return names from files with commas between them; a mapping has a text to stand behind each."""
    ends = names if isinstance(names, Mapping) else dict.fromkeys(names, "")
    return [part for name, end in ends.items() for part in (", ", isolated_name(name), end)][1:]


def code(text: str) -> Node:
    """Return an element for a command or a signature; it may be long. Files in it are shown by their names."""
    return node("code", FOREIGN, without_folders(text))


def by_task(tasks: Sequence[Task], make: Callable[[Task], Sequence[Child]]) -> list[Node]:
    """Return a block for each task, with the children that ``make`` returns; the page shows that of the chosen task."""
    blocks = []
    for task in tasks:
        words = (f"{task_title(task)} ", node("code", FOREIGN, task.name))
        heading = node("h3", {"class": "task-heading"}, *words) if len(tasks) > 1 else None
        blocks.append(node("div", {"data-task": task.name}, heading, *make(task)))
    return blocks


def folding_part(summary: str, *children: Child) -> Node:
    return node("details", None, node("summary", None, summary), *children)


def table_node(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell | Node]], *, most: int = 300
) -> Node | None:
    """Return a table, its texts cut to ``most`` characters."""
    if not rows:
        return None
    numeric = [all(not isinstance(cell, str) for cell in column) for column in zip(*rows, strict=True)]
    number = {"class": "number"}
    head = (
        node("th", {"scope": "col", **(number if right else _word_attributes(name))}, beginning_of(name))
        for name, right in zip(columns, numeric, strict=True)
    )

    def line(row: Sequence[Cell | Node]) -> Node:
        cells: list[Node] = []
        for cell, right in zip(row, numeric, strict=True):
            shown = cell if isinstance(cell, Node) else _cell_text(cell, most)
            text = shown if isinstance(shown, str) else "".join(shown.itertext())
            look = number if right else {"class": "value"} if _NUMBERS.fullmatch(text) else _word_attributes(text)
            cells.append(node("td", look, shown) if cells else node("th", {"scope": "row", **look}, shown))
        return node("tr", None, *cells)

    return framed_table(beginning_of(title), "", head, map(line, rows), caption=title)


def framed_table(
    label: str, look: str, heads: Iterable[Child], rows: Iterable[Node], *, caption: str = "", told: str = ""
) -> Node:
    """Return a table in a frame, which scrolls (by keyboard too) where it is wider; ``told`` is behind its caption."""
    head = node("thead", None, node("tr", None, *heads))
    above = node("caption", None, caption, node("span", {"class": "muted"}, told) if told else None)
    table = node(
        "table", {"class": look} if look else None, above if caption else None, head, node("tbody", None, *rows)
    )
    return node("div", {"class": "frame", "tabindex": 0, "role": "group", "aria-label": label}, table)


def interval_table(
    title: str, look: str, columns: Mapping[str, RowAxis | None], rows: Iterable[Node], *, told: str
) -> Node:
    """Return a table of systems with `interval_cell`s below the axes of their columns; ``told`` ends its title."""
    heads = (
        axis_head(name, axis, node("span", {"class": "bin"}, name)) if axis else node("th", {"scope": "col"}, name)
        for name, axis in {"system": None, **columns}.items()
    )
    return framed_table(title, f"forest bins{look}", heads, rows, caption=title, told=told)


def axis_head(name: str, axis: RowAxis, shown: Node | None = None) -> Node:
    """Return the head of a column with a mark in each row; where nothing is shown, screen readers read its name."""
    head = shown if shown is not None else node("span", {"class": "visually-hidden"}, name)
    plot = node("svg", {"class": "chart row-plot row-axis", "aria-hidden": "true"}, *axis.names("75%"))
    return node("th", {"scope": "col", "class": "forest-plot"}, head, plot)


def system_cell(name: str, short: str, word: str = "") -> Node:
    told = node("span", {"class": "use-word"}, word) if word else None
    return node("th", {"scope": "row", "class": "forest-name"}, isolated_name(name, short), told)


def interval_cell(axis: RowAxis, bar: Series, value: str, *, signed: bool = False) -> Node:
    """Return a cell with a mark on the axis of its column, and its numbers below."""
    return node(
        "td",
        {"class": "forest-plot"},
        row_mark(axis, bar, signed=signed),
        node("span", None, value.replace(", ", ",\u00a0")),
    )


def figure(caption: str, *drawings: Node) -> Node:
    """Return a figure, drawn once, or for a narrow and for a broad page, with a caption that stands alone."""
    looks = ("narrow", "broad") if drawings[1:] else ("drawing",)
    frames = (node("div", {"class": look}, one) for look, one in zip(looks, drawings, strict=True))
    return node("figure", None, *frames, node("figcaption", None, caption))


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
    """
    mean, *ends = (signed(100 * value) for value in (difference.mean, *(difference.interval or ())))
    return f"{mean} [{', '.join(ends)}]" if ends else f"{mean} ({difference.alone}: no interval)"


def list_node(*items: Child) -> Node:
    return node("ul", None, *(node("li", None, item) for item in items))


def terms_node(facts: Iterable[tuple[Child, Sequence[Child]]], look: str = "") -> Node:
    parts = (part for term, words in facts for part in (node("dt", None, term), node("dd", None, *words)))
    return node("dl", {"class": look} if look else None, *parts)
