"""Tables as text, Markdown, CSV, LaTeX and HTML."""

import csv
import html
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, zip_longest
from types import MappingProxyType
from typing import Generic, TypeVar
from unicodedata import category


@dataclass(frozen=True, slots=True)
class Bold:
    """The text of a cell in bold; as text and in CSV, it stands between two pairs of stars."""

    text: str

    def __str__(self) -> str:
        return f"**{self.text}**"


Cell = str | int | float | Bold | None
Row = TypeVar("Row")

WIDTH = 80  # that all output fits into, in columns

# The least width of a column of words, in characters: of the first column, which names the row, and of any other.
_SHORTEST, _SHORTEST_OTHER = 12, 20
_NUMBERS = re.compile(r"[-+0-9., \[\]()*]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    notes: Sequence[str] = ()  # explain the marks; they stand below it, except in CSV
    caption: str = ""  # explains the whole table; with one, or a label, LaTeX is a floating ``table``
    label: str = ""  # of LaTeX, to refer to it
    below_heads: Sequence[str] = ()  # a second line of the heads, one text a column
    breaks: Sequence[int] = ()  # rows before which a rule stands, where the format has rules


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    name: str  # in CSV; empty: not there
    heading: str  # in tables for readers; empty: not there
    value: Callable[[Row], Cell]
    text: Callable[[Row], Cell] | None = None  # what readers see; None: the value

    def shown(self, row: Row) -> Cell:
        return self.value(row) if self.text is None else self.text(row)


def share_column(name: str, heading: str, value: Callable[[Row], float | None]) -> Column[Row]:
    def percents(row: Row) -> float | None:
        share = value(row)
        return None if share is None else 100 * share

    return Column(name, heading, value, percents)


def table_for_readers(
    columns: Sequence[Column[Row]], rows: Sequence[Row], *, title: str = "", notes: Sequence[str] = ()
) -> Table:
    columns = [column for column in columns if column.heading]
    cells = [[column.shown(row) for column in columns] for row in rows]
    return Table(columns=[column.heading for column in columns], rows=cells, title=title, notes=notes)


def table_for_csv(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> Table:
    columns = [column for column in columns if column.name]
    cells = [[column.value(row) for column in columns] for row in rows]
    return Table(columns=[column.name for column in columns], rows=cells)


def printable(text: str) -> str:
    """Return text on one line, without characters that could control a terminal.

    >>> printable("a" + chr(27) + "[2Jb") == "a" + chr(0xFFFD) + "[2Jb"
    True
    """
    if text.isprintable():
        return text
    return "".join(_PRINTED.get(category(character), character) for character in text.translate(_SPACES))


_SPACES = str.maketrans("\n\r\t\ufffe\uffff", "   \ufffd\ufffd")  # the last two stand in no XML
_PRINTED = dict.fromkeys(("Cc", "Cf", "Cs"), "\ufffd")


def as_text(table: Table, width: int = WIDTH) -> str:
    """Where a table is too wide, words are cut, and columns without room stand in a table of their own below."""
    heads = [[printable(name) for name in line] for line in (table.columns, table.below_heads) if line]
    cells = [*heads, *([_cell_text(cell) for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_number = [
        all(isinstance(cell, int | float | None) for cell in column) for column in zip(*table.rows, strict=True)
    ] or [False] * len(widths)
    has_words = [not all(map(_NUMBERS.fullmatch, column[len(heads) :])) for column in zip(*cells, strict=True)]
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= width else " "
    _narrow_columns(widths, has_words, width - len(gap) * (len(widths) - 1))
    ruled = {len(heads), *(len(heads) + row for row in table.breaks)}
    blocks = [
        _block_text(cells, columns, widths, is_number, gap=gap, ruled=ruled)
        for columns in _blocks(widths, len(gap), width)
    ]
    title = [line for part in table.title.splitlines() for line in _wrap(part, width)]
    notes = [line for part in _notes(table) for line in _wrap(part, width)]
    return "\n".join([*title, "\n\n".join(blocks), *notes])


def _notes(table: Table) -> list[str]:
    """Return the lines below a table that has no place of its own for a caption."""
    return [*([table.caption] if table.caption else []), *table.notes]


def _wrap(text: str, width: int) -> list[str]:
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
        if len(block) > 1 and sum(widths[column] + gap for column in block) + widths[number] > width:
            yield block
            block = [0]
        block.append(number)
    yield block


def _block_text(
    cells: Sequence[Sequence[str]],
    columns: Sequence[int],
    widths: Sequence[int],
    is_number: Sequence[bool],
    *,
    gap: str,
    ruled: set[int],
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
    shown: list[str] = []
    for number, (row, first) in enumerate(zip(cells, firsts, strict=True)):
        if number in ruled:
            shown.append(rule)
        shown += lines(row, first)
    if len(cells) in ruled:
        shown.append(rule)
    return "\n".join(shown)


def shortened(text: str, n_characters: int, ellipsis: str = "…") -> str:
    """Return text no longer than ``n_characters``, cut in its middle: names of many parts often differ at their ends.

    >>> shortened("bm25_of_20261121_a", 12)
    'bm25_…1121_a'
    """
    if len(text) <= n_characters:
        return text
    kept = max(0, n_characters - len(ellipsis))
    return f"{text[: kept // 2]}{ellipsis}{text[len(text) - (kept - kept // 2) :]}"


LONGEST_NAME = 28  # characters of a system's name where there is little room
_PASSES = 4


def shortened_apart(names: Iterable[str], n_characters: int = LONGEST_NAME) -> dict[str, str]:
    """Return name -> its text, no longer than ``n_characters``; different names have different texts.

    A name is cut in its middle; of those that are then alike, what differs is kept instead.

    >>> list(shortened_apart(["a_long_name_of_one_system", "a_long_name_of_two_system"], 14).values())
    ['a_l…one_system', 'a_l…two_system']
    """
    shown = {name: shortened(name, n_characters) for name in names}
    for _ in range(_PASSES):
        alike: dict[str, list[str]] = {}
        for name, text in shown.items():
            alike.setdefault(text, []).append(name)
        for group in (group for group in alike.values() if len(group) > 1):
            letters = enumerate(zip_longest(*group))
            first = next(place for place, there in letters if len(set(there)) > 1)  # where they begin to differ
            for name in group:
                rest = shortened(name[first:], n_characters - 3)
                shown[name] = f"{name[: n_characters - 1 - len(rest)]}…{rest}"
    taken: set[str] = set()
    for name, text in shown.items():
        numbered = (f"{shortened(text, n_characters - 4)} #{n}" for n in count(2))
        shown[name] = next(one for one in chain([text], numbered) if one not in taken)
        taken.add(shown[name])
    return shown


def as_markdown(table: Table) -> str:
    def escaped(text: str) -> str:
        return html.escape(text, quote=False).replace("|", r"\|")

    def shown(cell: Cell) -> str:
        if isinstance(cell, Bold):
            return f"**{escaped(printable(cell.text)).replace('*', chr(92) + '*')}**"
        return escaped(_cell_text(cell))

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    title = [f"**{html.escape(printable(table.title), quote=False)}**", ""] if table.title else []
    below = [f"<br>{escaped(text)}" if text else "" for text in table.below_heads or [""] * len(table.columns)]
    heads = line([f"{escaped(name)}{more}" for name, more in zip(table.columns, below, strict=True)])
    rows = [line(list(map(shown, row))) for row in table.rows]
    notes = [
        line for note in _notes(table) for line in ("", html.escape(printable(note), quote=False).replace("*", "\\*"))
    ]
    return "\n".join([*title, heads, line(["---"] * len(table.columns)), *rows, *notes])


def as_csv(table: Table) -> str:
    """Return the table as CSV with a header line; the title is left out, and floats keep all digits."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerows([_as_csv_cell(cell) for cell in row] for row in (table.columns, *table.rows))
    return target.getvalue().rstrip("\n")


def _as_csv_cell(cell: Cell) -> str | int | float:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if not isinstance(cell, str | Bold):
        return cell
    text = printable(str(cell))
    return text if _NO_FORMULA.fullmatch(text) else safe_cell(text)


def safe_cell(value: object) -> str:
    """Return the text of a cell of a CSV that no spreadsheet takes for a formula: an apostrophe stands before it.

    See https://owasp.org/www-community/attacks/CSV_Injection.

    >>> safe_cell("=1+1"), safe_cell("1 + 1")
    ("'=1+1", '1 + 1')
    """
    text = str(value)
    is_formula = text.startswith(("\t", "\r")) or text.lstrip()[:1] in _FORMULA_SIGNS
    return f"'{text}" if is_formula else text


def cell_as_written(cell: str) -> str:
    return cell[1:] if safe_cell(cell[1:]) == cell else cell


# A number, or a sign alone.
_NO_FORMULA = re.compile(r"[-+]?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?|.")
# The last four are as wide as a sign of Chinese or Japanese, and spreadsheets read them as the first four.
_FORMULA_SIGNS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")


_LATEX_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {
        "†": r"\textdagger{}",
        "‡": r"\textdaggerdbl{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
    }
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$"}
)


def _latex_text(text: str) -> str:
    """Return text for a cell of LaTeX; behind the end of a row, a bracket or a star would be read as an option."""
    escaped = text.strip().translate(_LATEX_ESCAPES)
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped.startswith(("[", "*")) else escaped


def as_latex(table: Table) -> str:
    def shown(cell: Cell) -> str:
        if isinstance(cell, Bold):
            return rf"\textbf{{{_latex_text(printable(cell.text))}}}"
        return _latex_text(_cell_text(cell))

    def line(cells: Sequence[Cell]) -> str:
        return " & ".join(map(shown, cells)) + r" \\"

    numeric = [all(not isinstance(row[n], str | Bold) for row in table.rows) for n in range(len(table.columns))]
    title = [f"% {printable(line)}" for line in table.title.splitlines()]
    layout = "".join("r" if right else "l" for right in numeric)
    heads = [line(names) for names in (table.columns, table.below_heads) if names]
    body = [
        [r"\midrule", line(row)] if number in table.breaks else [line(row)] for number, row in enumerate(table.rows)
    ]
    span = rf"\multicolumn{{{len(table.columns)}}}{{l}}"
    notes = [rf"{span}{{\footnotesize {printable(note).translate(_LATEX_ESCAPES)}}} \\" for note in table.notes]
    tabular = [
        *(rf"\begin{{tabular}}{{{layout}}}", r"\toprule", *heads, r"\midrule"),
        *(line_of_row for lines in body for line_of_row in lines),
        *(r"\bottomrule", *notes, r"\end{tabular}"),
    ]
    caption = [rf"\caption{{{printable(table.caption).translate(_LATEX_ESCAPES)}}}"] if table.caption else []
    label = [rf"\label{{{printable(table.label)}}}"] if table.label else []
    if caption or label:
        tabular = [r"\begin{table}", r"\centering", *caption, *label, *tabular, r"\end{table}"]
    return "\n".join([*title, *tabular])


def excerpt_html(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], n_rows: int) -> str:
    """Return the first of ``n_rows`` rows as a notebook shows them: long texts are cut, and a note counts the rest.

    >>> "<p>and 2 more</p>" in excerpt_html("", ["n"], [[1]], n_rows=3)
    True
    """

    def shown(cell: Cell, tag: str) -> str:
        text = shortened(cell, 300) if isinstance(cell, str) else cell
        side = "right" if isinstance(cell, int | float) else "left"
        return f'<{tag} style="text-align: {side}">{html.escape(_cell_text(text))}</{tag}>'

    def line(cells: Sequence[Cell], tag: str = "td") -> str:
        return f"<tr>{''.join(shown(cell, tag) for cell in cells)}</tr>"

    above, rest = title.splitlines(), [f"and {n_rows - len(rows):,} more"] if n_rows > len(rows) else []
    texts, notes = ([f"<p>{html.escape(printable(text))}</p>" for text in lines] for lines in (above, rest))
    head, body = line(columns, "th"), map(line, rows)
    return "\n".join([*texts, "<table>", "<thead>", head, "</thead>", "<tbody>", *body, "</tbody>", "</table>", *notes])


def as_html(table: Table) -> str:
    """Return the table as a notebook shows it, with its title above, and its caption and notes below."""
    shown = excerpt_html(table.title, table.columns, table.rows, len(table.rows))
    return "\n".join([shown, *(f"<p>{html.escape(printable(note))}</p>" for note in _notes(table))])


RENDERERS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"text": as_text, "markdown": as_markdown, "csv": as_csv, "latex": as_latex}
)


def _cell_text(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:.1f}" if isinstance(cell, float) else printable(str(cell))
