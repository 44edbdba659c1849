"""Units beside the running text: rows of tables with their heads, captions, notes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
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
        """Add paragraphs behind their label, as units of some whole sentences."""
        note = ""
        for paragraph in paragraphs:
            for start, stop in sentence_spans(paragraph):
                if note and len(note) + stop - start > _LONGEST_NOTE:
                    self.add(_led(label, note), kind, label=label, place=place)
                    note = ""
                note = " ".join(filter(None, (stopped(note) if start == 0 else note, paragraph[start:stop])))
        self.add(_led(label, note) if note else "", kind, label=label, place=place)

    def add_table(
        self, rows: Sequence[Sequence[Cell]], *, n_heads: int | None = None, label: str, caption: str, place: Place
    ) -> None:
        """Add a unit for each row that holds something; None: how many rows are heads is guessed."""
        n_heads = min(_MOST_HEAD_ROWS, _guessed_heads(rows) if n_heads is None else n_heads, max(0, len(rows) - 1))
        lead = " ".join(filter(None, (stopped(label), stopped(_first_words(caption)))))
        table = _Table(_grid(rows), n_heads)
        for row, text in table.lines():
            if self.is_full:
                return
            self.add(" ".join(filter(None, (lead, text))), UnitKind.TABLE_ROW, label=label, row=row, place=place)


class _Group(NamedTuple):
    """What stands above rows that belong to it: a row that is a label alone, or one that others are set in below."""

    text: str
    indent: int
    is_alone: bool


class _Table:
    def __init__(self, grid: Iterator[list[_Placed]], n_heads: int) -> None:
        self._grid = grid
        heads = list(islice(grid, n_heads))
        self._n_columns = max((cell.stop for row in heads for cell in row), default=0)
        self._over: list[str] = []  # heads over all columns but the first
        self._heads: list[list[str]] = [[] for _ in range(self._n_columns)]
        for cell in (cell for row in heads for cell in row if cell.text and cell.is_own):
            if self._n_columns > 2 and cell.stop - cell.start >= self._n_columns - 1:  # noqa: PLR2004 - a label, several
                self._over.append(cell.text)
                continue
            for texts in self._heads[cell.start : cell.stop]:
                texts.extend({cell.text}.difference(texts))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each row; one that is a label alone, where no row belongs to it."""
        groups: list[_Group] = []
        unused: tuple[int, str] | None = None
        label = ""
        for number, row in enumerate(self._grid, 1):
            cells = [cell for cell in row if cell.text]
            if not any(cell.is_own for cell in cells):
                continue
            first = cells[0]
            is_alone = len(cells) == 1 and (first.stop - first.start > 1 or (first.start == 0 and len(row) > 1))
            if is_alone or first.start == 0:
                groups = _groups_around(groups, first.indent, is_alone=is_alone)
            around = [group.text for group in groups]
            if is_alone:
                if unused:
                    yield unused
                unused = number, self._line([*around, first.text], [])
                groups.append(_Group(first.text, first.indent, is_alone=True))
                label = ""
                continue
            if first.start == 0:
                label = first.text
                groups.append(_Group(label, first.indent, is_alone=False))
                cells = cells[1:]
            elif groups and not groups[-1].is_alone:  # an empty label is that of the row above
                around = around[:-1]
            unused = None
            yield number, self._line([*around, label], cells)
        if unused:
            yield unused

    def _line(self, labels: Sequence[str], cells: Sequence[_Placed]) -> str:
        label = ", ".join(filter(None, labels))
        stub = self._head(0, 1)
        if stub and label and stub.lower() not in label.lower():
            label = f"{stub}: {label}"
        values = (": ".join(filter(None, (self._head(cell.start, cell.stop), cell.text))) for cell in cells)
        return " ".join(filter(None, (*map(stopped, (label, *self._over)), "; ".join(values))))

    def _head(self, start: int, stop: int) -> str:
        """Return the head of a cell's columns: what they share, else their heads side by side."""
        columns = self._heads[start:stop]
        if len(columns) > 1:
            shared = [text for text in columns[0] if all(text in texts for texts in columns[1:])]
            texts = shared or list(dict.fromkeys(texts[-1] for texts in columns if texts))
            return _cut((", " if shared else " / ").join(texts), _LONGEST_HEAD)
        return _cut(", ".join(columns[0]), _LONGEST_HEAD) if columns else ""


def _groups_around(groups: Sequence[_Group], indent: int, *, is_alone: bool) -> list[_Group]:
    """Return the groups that a row is in, by how far it and the rows before it are set in."""
    kept: list[_Group] = []
    has_set_in = {above.indent for above, below in pairwise(groups) if above.indent < below.indent}
    for group in groups:
        holds = group.is_alone and not is_alone and group.indent not in has_set_in
        if not (group.indent < indent or (group.indent == indent and holds)):
            break
        kept.append(group)
    return kept


def _grid(rows: Sequence[Sequence[Cell]]) -> Iterator[list[_Placed]]:
    """Yield the cells of each row in order, with their columns, and those that span from above."""
    hanging: list[tuple[_Placed, int]] = []  # with the rows below that they span
    for cells in rows:
        placed: list[_Placed] = []
        waiting = iter(hanging)
        above = next(waiting, None)
        column = 0
        new: list[tuple[_Placed, int]] = []
        for cell in cells:
            while above and above[0].start <= column:
                placed.append(above[0])
                column = max(column, above[0].stop)
                above = next(waiting, None)
            stop = min(_MOST_COLUMNS, column + max(1, cell.n_columns))
            if stop > column:
                own = _Placed(column, stop, cell.text, min(cell.indent, _MOST_INDENT), is_own=True)
                placed.append(own)
                if cell.n_rows > 1:
                    new.append((own._replace(is_own=False), cell.n_rows - 1))
            column = stop
        while above:
            placed.append(above[0])
            above = next(waiting, None)
        hanging = sorted([*((cell, n - 1) for cell, n in hanging if n > 1), *new])
        yield placed


def _guessed_heads(rows: Sequence[Sequence[Cell]]) -> int:
    """Return 1 where the first row has no numbers behind its label and the next one has, else 0."""
    if len(rows) < 2:  # noqa: PLR2004 - a head and what is below it
        return 0
    first, second = ([any(map(str.isdigit, cell.text[:3])) for cell in row[1:]] for row in rows[:2])
    return int(bool(first) and not any(first) and any(second))


def _first_words(caption: str) -> str:
    """Return the first sentence of a caption, cut behind a word where it is long."""
    start, stop = next(iter(sentence_spans(caption)), (0, 0))
    return _cut(caption[start:stop], _LONGEST_CAPTION)


def _cut(text: str, n_characters: int) -> str:
    if len(text) <= n_characters:
        return text
    beginning = text[:n_characters]
    return (beginning.rpartition(" ")[0] or beginning).rstrip(" ,;:(") + "\u2026"


def _led(label: str, text: str) -> str:
    """Return a text behind its label, unless it begins with it."""
    return text if text.lower().startswith(label.lower()) else f"{stopped(label)} {text}"


def stopped(text: str) -> str:
    """Return a text that ends with a stop; an empty one stays empty."""
    return text if not text or text.endswith(_STOPS) else f"{text}."
