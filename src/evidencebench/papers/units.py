"""Units beside the running text: rows of tables with their heads, captions, notes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from evidencebench.papers.blocks import sentence_spans
from evidencebench.papers.paper import Place, Unit, UnitKind

MOST_UNITS = 20_000
"""The most units of one paper; an article has about a hundred."""

MOST_CHARACTERS = 5_000_000
"""The most characters in the units of one paper: each row repeats its caption and heads."""

_MOST_COLUMNS, _MOST_HEAD_ROWS, _MOST_INDENT = 128, 8, 8
_LONGEST_CAPTION = 160  # of the caption within a row
_LONGEST_NOTE = 400  # of a unit made of sentences, unless one is longer
_LONGEST_HEAD, _LONGEST = 200, 10_000
_STOPS = (".", ":", "?", "!", ";", "\u2026")


class Cell(NamedTuple):
    """A cell of a table, with the columns and rows that it spans."""

    text: str  # white space collapsed; empty where it has none
    n_columns: int = 1
    n_rows: int = 1
    indent: int = 0  # of a row's first cell: how far it is set in


class _Placed(NamedTuple):
    start: int  # column, from 0
    stop: int
    text: str
    indent: int
    is_own: bool  # not spanning from a row above


class UnitWriter:
    """Makes the units of one paper, in order; what is more than the bounds allow is left out."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self._n_characters = 0

    @property
    def is_full(self) -> bool:
        return len(self.units) >= MOST_UNITS or self._n_characters >= MOST_CHARACTERS

    def add(self, text: str, kind: UnitKind, *, label: str = "", place: Place, row: int | None = None) -> None:
        if text and not self.is_full:
            text = _cut(text, _LONGEST)
            self.units.append(Unit(text=text, kind=kind, label=label, row=row, place=place))
            self._n_characters += len(text)

    def add_notes(self, paragraphs: Iterable[str], kind: UnitKind, *, label: str = "", place: Place) -> None:
        """Add paragraphs behind their label, unless they begin with it, as units of some whole sentences."""
        notes = [""]
        for paragraph in paragraphs:
            for start, stop in sentence_spans(paragraph):
                if notes[-1] and len(notes[-1]) + stop - start > _LONGEST_NOTE:
                    notes.append("")
                notes[-1] = _joined(_stopped(notes[-1]) if start == 0 else notes[-1], paragraph[start:stop])
        for note in filter(None, notes):
            is_led = note.lower().startswith(label.lower())
            self.add(note if is_led else f"{_stopped(label)} {note}", kind, label=label, place=place)

    def add_table(
        self, rows: Sequence[Sequence[Cell]], *, n_heads: int | None = None, label: str, caption: str, place: Place
    ) -> None:
        """Add a unit for each row that holds something; None: how many rows are heads is guessed."""
        n_heads = min(_MOST_HEAD_ROWS, _guessed_heads(rows) if n_heads is None else n_heads, max(0, len(rows) - 1))
        first = next(iter(sentence_spans(caption)), (0, 0))
        lead = _joined(_stopped(label), _stopped(_cut(caption[slice(*first)], _LONGEST_CAPTION)))
        grid = _grid(rows)
        heads = _Heads(list(islice(grid, n_heads)))
        for row, labels, cells in _labelled(grid):
            if self.is_full:
                return
            self.add(_joined(lead, heads.line(labels, cells)), UnitKind.TABLE_ROW, label=label, row=row, place=place)


class _Heads:
    def __init__(self, rows: Sequence[Sequence[_Placed]]) -> None:
        n_columns = max((cell.stop for row in rows for cell in row), default=0)
        self._over: list[str] = []  # heads over all columns but the first
        self._columns: list[list[str]] = [[] for _ in range(n_columns)]
        for cell in (cell for row in rows for cell in row if cell.text and cell.is_own):
            is_over = n_columns > 2 and cell.stop - cell.start >= n_columns - 1  # noqa: PLR2004 - a label, several
            for texts in [self._over] if is_over else self._columns[cell.start : cell.stop]:
                texts.extend({cell.text}.difference(texts))

    def line(self, labels: Sequence[str], cells: Sequence[_Placed]) -> str:
        """Return what a row says: its labels and, for each cell, the heads of its columns."""
        label, stub = ", ".join(labels), self._over_cell(0, 1)
        if stub and label and stub.lower() not in label.lower():
            label = f"{stub}: {label}"
        values = (": ".join(filter(None, (self._over_cell(cell.start, cell.stop), cell.text))) for cell in cells)
        return _joined(*map(_stopped, (label, *self._over)), "; ".join(values))

    def _over_cell(self, start: int, stop: int) -> str:
        """Return what the heads of a cell's columns share, else these side by side."""
        columns = self._columns[start:stop]
        shared = [text for text in columns[0] if all(text in texts for texts in columns)] if columns else []
        texts = shared or dict.fromkeys(texts[-1] for texts in columns if texts)
        return _cut((", " if shared else " / ").join(texts), _LONGEST_HEAD)


def _labelled(grid: Iterable[Sequence[_Placed]]) -> Iterator[tuple[int, list[str], list[_Placed]]]:
    """Yield the number, the labels and the cells of each row; of one that is a label alone, if no row belongs to it."""
    groups: list[tuple[int, bool, str]] = []  # for each label: how far it is set in, whether it has cells, its text
    unused: tuple[int, list[str], list[_Placed]] | None = None
    for number, row in enumerate(grid, 1):
        cells = [cell for cell in row if cell.text]
        if not any(cell.is_own for cell in cells):
            continue
        first = cells[0]
        is_alone = len(cells) == 1 and (first.stop - first.start > 1 or (first.start == 0 and len(row) > 1))
        if is_alone or first.start == 0:  # an empty label is that of the row above
            are_set_in = bool(groups) and groups[-1][0] > first.indent
            while groups and groups[-1][:2] >= (first.indent, not is_alone and not are_set_in):
                groups.pop()
            groups.append((first.indent, not is_alone, first.text))
            cells = cells[1:]
        if is_alone and unused:
            yield unused
        line = (number, [text for *_, text in groups], cells)
        unused = line if is_alone else None
        if not is_alone:
            yield line
    if unused:
        yield unused


def _grid(rows: Iterable[Sequence[Cell]]) -> Iterator[list[_Placed]]:
    """Yield the cells of each row in order, with their columns, and those that span from above."""
    hanging: list[tuple[_Placed, int]] = []  # with the rows below that they span
    for cells in rows:
        placed = [cell for cell, _ in hanging]
        taken = {cell.start: cell.stop for cell in placed}
        hanging = [(cell, n - 1) for cell, n in hanging if n > 1]
        column = 0
        for cell in cells:
            while column in taken:
                column = taken[column]
            stop = min(_MOST_COLUMNS, column + max(1, cell.n_columns))
            if stop > column:
                placed.append(_Placed(column, stop, cell.text, min(cell.indent, _MOST_INDENT), is_own=True))
                if cell.n_rows > 1:
                    hanging.append((placed[-1]._replace(is_own=False), cell.n_rows - 1))
            column = stop
        yield sorted(placed)


def _guessed_heads(rows: Sequence[Sequence[Cell]]) -> int:
    """Return 1 where the first row has no numbers behind its label and the next one has, else 0."""
    first, second, *_ = ([any(map(str.isdigit, cell.text[:3])) for cell in row[1:]] for row in (*rows[:2], (), ()))
    return int(bool(first) and not any(first) and any(second))


def _cut(text: str, n_characters: int) -> str:
    """Return a text, cut behind a word where it is long."""
    if len(text) <= n_characters:
        return text
    beginning = text[:n_characters]
    return (beginning.rpartition(" ")[0] or beginning).rstrip(" ,;:(") + "\u2026"


def _joined(*texts: str) -> str:
    return " ".join(filter(None, texts))


def _stopped(text: str) -> str:
    """Return a text that ends with a stop; an empty one stays empty."""
    return text if not text or text.endswith(_STOPS) else f"{text}."
