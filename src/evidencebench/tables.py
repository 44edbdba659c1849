"""Tables as text, Markdown, CSV and LaTeX."""

import csv
import html
import io
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from unicodedata import category

Cell = str | int | float | None

WIDTH = 80
"""The width that all output fits into, in columns."""

# The least width of a column of words, in characters: of the first column, which names the row, and of any other.
_SHORTEST, _SHORTEST_OTHER = 12, 20
_NUMBERS = re.compile(r"[-+0-9., \[\]()*]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A title, the columns' names and rows of cells; None is an empty cell.

    Floats are shown with one decimal; CSV keeps all their digits. ``notes`` explain the marks in the table; they stand
    below it, except in CSV.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    notes: Sequence[str] = ()


def printable(text: str) -> str:
    """Return text on one line, without characters that could control a terminal.

    Line ends and tabs become spaces, other control and direction-changing characters U+FFFD.

    >>> printable("a" + chr(27) + "[2Jb") == "a" + chr(0xFFFD) + "[2Jb"
    True
    """
    return "".join(_PRINTED.get(category(character), character) for character in text.translate(_SPACES))


_SPACES = str.maketrans("\n\r\t", "   ")
_PRINTED = dict.fromkeys(("Cc", "Cf", "Cs"), "\ufffd")


def as_text(table: Table, width: int = WIDTH) -> str:
    """Return the table in aligned columns, numbers to the right.

    A table that is wider than ``width`` is made to fit: long words are cut, first cells that would look alike are
    wrapped, and columns that have no room left stand in a table of their own below.
    """
    rows = [[_cell_text(cell) for cell in row] for row in table.rows]
    cells = [[printable(name) for name in table.columns], *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_number = [
        all(isinstance(cell, int | float | None) for cell in column) for column in zip(*table.rows, strict=True)
    ] or [False] * len(widths)
    has_words = [not all(map(_NUMBERS.fullmatch, column[1:])) for column in zip(*cells, strict=True)]
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= width else " "
    _narrow_columns(widths, has_words, width - len(gap) * (len(widths) - 1))
    blocks = [_block_text(cells, columns, widths, is_number, gap) for columns in _blocks(widths, len(gap), width)]
    title = [line for part in table.title.splitlines() for line in _wrap(part, width)]
    notes = [line for part in table.notes for line in _wrap(part, width)]
    return "\n".join([*title, "\n\n".join(blocks), *notes])


def _wrap(text: str, width: int) -> list[str]:
    """Return text in lines that fit; an empty text is one empty line."""
    return textwrap.wrap(printable(text), width) or [""]


def _narrow_columns(widths: list[int], has_words: Sequence[bool], room: int) -> None:
    """Narrow the widest columns of words, in place, until all columns fit or none may be narrower."""
    least = [_SHORTEST_OTHER] * len(widths)
    least[:1] = [_SHORTEST]
    while sum(widths) > room:
        wide = [n for n, words in enumerate(has_words) if (words or n == 0) and widths[n] > least[n]]
        if not wide:
            return
        widths[max(wide, key=widths.__getitem__)] -= 1


def _blocks(widths: Sequence[int], gap: int, width: int) -> Iterator[list[int]]:
    """Yield the columns of each block: the first column, and the next ones that fit beside it."""
    block = [0]
    for number in range(1, len(widths)):
        if len(block) > 1 and sum(widths[one] + gap for one in block) + widths[number] > width:
            yield block
            block = [0]
        block.append(number)
    yield block


def _block_text(
    cells: Sequence[Sequence[str]], columns: Sequence[int], widths: Sequence[int], is_number: Sequence[bool], gap: str
) -> str:
    firsts = [shortened(row[0], widths[0]) for row in cells]
    is_ambiguous = len(set(firsts[1:])) < len({row[0] for row in cells[1:]})

    def lines(row: Sequence[str], first: str) -> Iterator[str]:
        head, *rest = (textwrap.wrap(row[0], widths[0]) if is_ambiguous else []) or [first]
        shown = [head, *(shortened(row[number], widths[number]) for number in columns[1:])]
        padded = (
            cell.rjust(widths[number]) if is_number[number] else cell.ljust(widths[number])
            for cell, number in zip(shown, columns, strict=True)
        )
        yield gap.join(padded).rstrip()
        yield from rest

    rule = gap.join("-" * widths[number] for number in columns)
    header, *body = [list(lines(row, first)) for row, first in zip(cells, firsts, strict=True)]
    return "\n".join([*header, rule, *(line for row in body for line in row)])


def shortened(text: str, n_characters: int, ellipsis: str = "…") -> str:
    """Return text no longer than ``n_characters``, cut in its middle: names of many parts often differ at their ends.

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

    rows = [line([_cell_text(cell) for cell in row]) for row in table.rows]
    title = [f"**{html.escape(printable(table.title), quote=False)}**", ""] if table.title else []
    notes = [
        line for note in table.notes for line in ("", html.escape(printable(note), quote=False).replace("*", "\\*"))
    ]
    return "\n".join([*title, line(table.columns), line(["---"] * len(table.columns)), *rows, *notes])


def as_csv(table: Table) -> str:
    """Return the table as CSV with a header line; the title is left out, and floats keep all digits."""
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
    | {"†": r"\textdagger{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)


def as_latex(table: Table) -> str:
    """Return the table as a LaTeX ``tabular`` with booktabs rules."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cell.translate(_LATEX_ESCAPES) for cell in cells) + r" \\"

    numeric = [all(not isinstance(row[position], str) for row in table.rows) for position in range(len(table.columns))]
    body = [line([_cell_text(cell) for cell in row]) for row in table.rows]
    title = [f"% {printable(line)}" for line in table.title.splitlines()]
    layout = "".join("r" if right else "l" for right in numeric)
    head = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", line(table.columns), r"\midrule"]
    span = rf"\multicolumn{{{len(table.columns)}}}{{l}}"
    notes = [rf"{span}{{\footnotesize {printable(note).translate(_LATEX_ESCAPES)}}} \\" for note in table.notes]
    return "\n".join([*title, *head, *body, r"\bottomrule", *notes, r"\end{tabular}"])


RENDERERS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"text": as_text, "markdown": as_markdown, "csv": as_csv, "latex": as_latex}
)
"""Format name -> function that renders a table."""


def _cell_text(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:.1f}" if isinstance(cell, float) else printable(str(cell))
