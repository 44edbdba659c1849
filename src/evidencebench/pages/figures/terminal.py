"""Pictures made of characters: intervals on an axis from 0 to 100 %, in the columns of a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from evidencebench.pages.figures.bars import Bar, interval_of
from evidencebench.pages.figures.lettering import cut
from evidencebench.pages.figures.scale import Scale, is_number
from evidencebench.tables import WIDTH

_TICKS = (0, 25, 50, 75, 100)
_LEAST_WIDTH = 40
_LONGEST_NAME = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A number that every row has beside its own: a control's mean, say.

    ``letter`` is the one character that stands for it, and ``name`` what the line below the picture calls it.
    ``values`` are in 0..1, one a row; where it is no number the row has none.
    """

    letter: str
    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pen:
    left: str
    right: str
    between: str
    dot: str
    hollow: str
    both: str
    tick: str
    ellipsis: str


_DRAWN = _Pen(left="├", right="┤", between="─", dot="●", hollow="○", both="◉", tick="·", ellipsis="…")
_TYPED = _Pen(left="|", right="|", between="-", dot="o", hollow="x", both="@", tick=".", ellipsis="...")

NEEDED = "├┤─●○◉·…"
"""What a terminal must be able to show; else the pictures are made of ASCII."""


def terminal_bars(
    bars: Sequence[Bar], *, marks: Sequence[Mark] = (), width: int = WIDTH, ascii_only: bool = False
) -> str:
    """Return a row a bar: its name, its interval on an axis, its mean in percent.

    ``marks`` are on the axis of every row too, and a line below says which letter is what. ``width`` is how many
    columns may be used (at least 40 are), and ``ascii_only`` does without the characters of `NEEDED`.

    Examples
    --------
    >>> print(terminal_bars([Bar(name="bm25", mean=0.37, low=0.25, high=0.5)], width=40))
          0    25    50    75   100
    bm25  ·     ├──●──┤     ·     ·   37.0
    """
    pen = _TYPED if ascii_only else _DRAWN
    width = max(width, _LEAST_WIDTH)
    names = [_name(bar, min(_LONGEST_NAME, width // 3), pen) for bar in bars]
    name_width = max(map(cell_len, names), default=0)
    n_columns = width - name_width - len("    ") - len("100.0")
    axis = Scale(low=0, high=1, start=0, end=(n_columns - 1) // 4 * 4)  # so that the ticks are evenly apart
    tracks = [_track(bar, _of_row(marks, row), axis, pen) for row, bar in enumerate(bars)]
    lines = [f"{' ' * name_width}  {_tick_names(axis)}"] if bars else []
    for bar, name, track in zip(bars, names, tracks, strict=True):
        value = f"{100 * bar.mean:.1f}" if is_number(bar.mean) else "-"
        lines.append(f"{set_cell_size(name, name_width)}  {track}  {value:>5}")
    legend = _wrapped(_legend(marks, tracks, pen), indent=name_width + 2, width=width, pen=pen)
    return "\n".join([*lines, *([legend] if legend else [])])


def _name(bar: Bar, n_columns: int, pen: _Pen) -> str:
    """Return a bar's name, cut so that a control's star stays."""
    star = " *" if bar.is_control else ""
    return _fitted(bar.name, n_columns - len(star), pen) + star


def _fitted(text: str, n_columns: int, pen: _Pen) -> str:
    """Return text in at most so many columns, of which a letter may take two or none."""
    shorter = (_written(cut(text, n_characters, pen.ellipsis), pen) for n_characters in range(n_columns, 0, -1))
    return next((found for found in shorter if cell_len(found) <= n_columns), "")


def _written(text: str, pen: _Pen) -> str:
    return text.encode("ascii", "replace").decode() if pen is _TYPED else text


def _column(axis: Scale, value: float) -> int:
    return round(axis.at(value))


def _tick_names(axis: Scale) -> str:
    """Return the line above the rows: each tick's name around its column, the last one's end on it."""
    line = ""
    for tick in _TICKS:
        name, column = str(tick), _column(axis, tick / 100)
        start = column if tick == 0 else column - (len(name) - 1 if tick == _TICKS[-1] else len(name) // 2)
        line = line.ljust(start) + name
    return line


def _of_row(marks: Sequence[Mark], row: int) -> dict[str, float]:
    return {mark.letter: value for mark in marks if is_number(value := mark.values[row])}


def _track(bar: Bar, marks: dict[str, float], axis: Scale, pen: _Pen) -> str:
    track = [" "] * (_column(axis, 1) + 1)
    for tick in _TICKS:
        track[_column(axis, tick / 100)] = pen.tick
    if is_number(bar.mean) and (interval := interval_of(bar)) is not None:
        low, high = (_column(axis, end) for end in interval)
        track[low : high + 1] = pen.between * (high + 1 - low)
        track[low], track[high] = pen.left, pen.right
    placed: dict[int, str] = {}
    for letter, value in marks.items():
        column = _column(axis, value)
        placed[column] = "+" if column in placed else letter
    for column, letter in placed.items():
        track[column] = letter
    if is_number(bar.mean):
        column = _column(axis, bar.mean)
        track[column] = pen.both if column in placed else pen.hollow if bar.is_control else pen.dot
    return "".join(track)


def _legend(marks: Sequence[Mark], tracks: Sequence[str], pen: _Pen) -> list[str]:
    """Return what the letters stand for, and what is drawn where several of them meet."""
    entries = [f"{mark.letter} {mark.name}" for mark in marks if any(map(is_number, mark.values))]
    if any("+" in track for track in tracks):
        entries.append("+ several of them")
    if any(pen.both in track for track in tracks):
        entries.append(f"{pen.both} one of them at the mean")
    return entries


def _wrapped(entries: Sequence[str], *, indent: int, width: int, pen: _Pen) -> str:
    lines: list[str] = []
    for entry in entries:
        shown = _fitted(entry, width - indent, pen)
        if lines and cell_len(lines[-1]) + 2 + cell_len(shown) <= width:
            lines[-1] += f"  {shown}"
        else:
            lines.append(f"{' ' * indent}{shown}")
    return "\n".join(lines)
