"""Tables as text, Markdown, CSV and LaTeX."""

import csv
import html
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from unicodedata import category

Cell = str | int | float | None

WIDTH = 80
"""Columns of a terminal that everything fits into."""

_SHORTEST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A title, the columns' names and rows of cells; None is an empty cell.

    Floats are shown with ``digits`` decimals, except in CSV, which keeps them whole.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    digits: int = 1


def printable(text: str) -> str:
    """Return text on one line that can do nothing to a terminal.

    Line ends and tabs become spaces, other control and direction-changing characters U+FFFD.

    Examples
    --------
    >>> printable("a" + chr(27) + "[2Jb") == "a" + chr(0xFFFD) + "[2Jb"
    True
    """
    return "".join(_PRINTED.get(category(character), character) for character in text.translate(_SPACES))


_SPACES = str.maketrans("\n\r\t", "   ")
_PRINTED = dict.fromkeys(("Cc", "Cf", "Cs"), "\ufffd")


def as_text(table: Table) -> str:
    """Return the table in aligned columns, numbers to the right; long first cells are cut to fit a terminal."""
    rows = [[_shown(cell, table.digits) for cell in row] for row in table.rows]
    columns = list(table.columns)
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= WIDTH else " "
    excess = sum(widths) + len(gap) * (len(widths) - 1) - WIDTH
    if excess > 0:
        widths[0] = max(_SHORTEST, widths[0] - excess)
        rows = [[shortened(first, widths[0]), *others] for first, *others in rows]
        columns[0] = shortened(columns[0], widths[0])
    is_number = [
        all(isinstance(cell, int | float | None) for cell in column) for column in zip(*table.rows, strict=True)
    ] or [False] * len(widths)

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, is_number, strict=True)
        )
        return gap.join(padded).rstrip()

    rule = gap.join("-" * width for width in widths)
    return "\n".join([*map(printable, table.title.splitlines()), line(columns), rule, *map(line, rows)])


def shortened(text: str, n_characters: int, ellipsis: str = "…") -> str:
    """Return text no longer than ``n_characters``, cut in its middle: names of many parts often differ at their ends.

    Examples
    --------
    >>> shortened("bm25_of_20261121_a", 12)
    'bm25_…1121_a'
    """
    if len(text) <= n_characters:
        return text
    kept = max(0, n_characters - len(ellipsis))
    return f"{text[: kept // 2]}{ellipsis}{text[len(text) - (kept - kept // 2) :]}"


def as_markdown(table: Table) -> str:
    """Return the table as GitHub-flavoured Markdown."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(html.escape(cell, quote=False).replace('|', chr(92) + '|') for cell in cells)} |"

    rows = [line([_shown(cell, table.digits) for cell in row]) for row in table.rows]
    title = [f"**{html.escape(printable(table.title), quote=False)}**", ""] if table.title else []
    return "\n".join([*title, line(table.columns), line(["---"] * len(table.columns)), *rows])


def as_csv(table: Table) -> str:
    """Return the table as CSV with a header line; the title is left out, and floats are whole."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_as_csv_cell(cell) for cell in row] for row in table.rows)
    return target.getvalue().rstrip("\n")


def _as_csv_cell(cell: Cell) -> str | int | float:
    if cell is None:
        return ""
    return printable(cell) if isinstance(cell, str) else cell


_LATEX_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)


def as_latex(table: Table) -> str:
    """Return the table as a LaTeX ``tabular`` with booktabs rules."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cell.translate(_LATEX_ESCAPES) for cell in cells) + r" \\"

    numeric = [all(not isinstance(row[position], str) for row in table.rows) for position in range(len(table.columns))]
    body = [line([_shown(cell, table.digits) for cell in row]) for row in table.rows]
    title = [f"% {printable(line)}" for line in table.title.splitlines()]
    layout = "".join("r" if right else "l" for right in numeric)
    head = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", line(table.columns), r"\midrule"]
    return "\n".join([*title, *head, *body, r"\bottomrule", r"\end{tabular}"])


RENDERERS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"text": as_text, "markdown": as_markdown, "csv": as_csv, "latex": as_latex}
)
"""Format name -> function that renders a table."""


def _shown(cell: Cell, digits: int) -> str:
    if cell is None:
        return ""
    return f"{cell:.{digits}f}" if isinstance(cell, float) else printable(str(cell))
