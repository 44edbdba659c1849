"""Charts as text for a terminal: intervals on an axis from 0 to 100 %."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from evidencebench.pages.figures.data import Bar, cut, is_number
from evidencebench.pages.figures.drawing import Scale
from evidencebench.tables import WIDTH

_TICKS = (0, 25, 50, 75, 100)
_LEAST_WIDTH = 40
_LONGEST_NAME = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A letter that is drawn in every row at a further number, such as the mean of a control."""

    letter: str  # one character
    name: str  # its name in the line below the chart
    values: Sequence[float | None]  # in 0..1, one for each row; a row without a number gets no letter


NEEDED = "├┤─●○◌◉·…"
"""The characters that a terminal must be able to show; on any other the charts are drawn in ASCII."""

# Each of these characters -> its ASCII character.
_TO_ASCII = str.maketrans(dict(zip("├┤─●○◌◉·", "||-ox?@.", strict=True)))


def terminal_bars(
    bars: Sequence[Bar], *, marks: Sequence[Mark] = (), width: int = WIDTH, ascii_only: bool = False
) -> str:
    """Return a chart as lines of text, one for each bar: its name, its interval on an axis, its mean in percent.

    ``marks`` are letters that are drawn on the axis of every row; a line below explains them. ``width`` is the number
    of columns (at least 40 are used). ``ascii_only`` draws without the characters of `NEEDED`.

    Examples
    --------
    >>> print(terminal_bars([Bar(name="bm25", mean=0.37, low=0.25, high=0.5)], width=40))
          0    25    50    75   100
    bm25  ·     ├──●──┤     ·     ·   37.0
    """
    width = max(width, _LEAST_WIDTH)
    names = [_name(bar, min(_LONGEST_NAME, width // 3), ascii_only=ascii_only) for bar in bars]
    name_width = max(map(cell_len, names), default=0)
    n_columns = width - name_width - len("    ") - len("100.0")
    axis = Scale(low=0, high=1, start=0, end=(n_columns - 1) // 4 * 4)  # so that the ticks are evenly apart
    tracks = [_track(bar, {mark.letter: mark.values[row] for mark in marks}, axis) for row, bar in enumerate(bars)]
    lines = [f"{' ' * name_width}  {_tick_names(axis)}"] if bars else []
    for bar, name, track in zip(bars, names, tracks, strict=True):
        drawn = track.translate(_TO_ASCII) if ascii_only else track
        value = f"{100 * bar.mean:.1f}" if is_number(bar.mean) else "-"
        lines.append(f"{set_cell_size(name, name_width)}  {drawn}  {value:>5}")
    indent = name_width + 2
    entries = [_cut_to_columns(entry, width - indent, ascii_only=ascii_only) for entry in _legend(bars, marks, tracks)]
    return "\n".join([*lines, *_wrap(entries, indent=indent, width=width)])


def _name(bar: Bar, n_columns: int, *, ascii_only: bool) -> str:
    return _cut_to_columns(bar.name, n_columns - len(bar.suffix), ascii_only=ascii_only) + bar.suffix


def _cut_to_columns(text: str, n_columns: int, *, ascii_only: bool) -> str:
    """Return text cut to at most ``n_columns`` of a terminal, where a letter may take two columns or none."""
    for n_characters in range(n_columns, 0, -1):
        found = cut(text, n_characters, "..." if ascii_only else "…")
        if ascii_only:
            found = found.translate(_TO_ASCII).encode("ascii", "replace").decode()
        if cell_len(found) <= n_columns:
            return found
    return ""


def _column(axis: Scale, value: float) -> int:
    return round(axis.at(value))


def _tick_names(axis: Scale) -> str:
    line = ""
    for tick in _TICKS:
        name, column = str(tick), _column(axis, tick / 100)
        start = column if tick == 0 else column - (len(name) - 1 if tick == _TICKS[-1] else len(name) // 2)
        line = line.ljust(start) + name
    return line


def _track(bar: Bar, marks: Mapping[str, float | None], axis: Scale) -> str:
    track = [" "] * (_column(axis, 1) + 1)
    for tick in _TICKS:
        track[_column(axis, tick / 100)] = "·"
    if is_number(bar.mean) and bar.interval:
        low, high = (_column(axis, end) for end in bar.interval)
        track[low : high + 1] = "─" * (high + 1 - low)
        track[low], track[high] = "├┤"
    placed: dict[int, str] = {}
    for letter, value in marks.items():
        if is_number(value):
            column = _column(axis, value)
            placed[column] = "+" if column in placed else letter
    for column, letter in placed.items():
        track[column] = letter
    if is_number(bar.mean):
        column = _column(axis, bar.mean)
        track[column] = "◉" if column in placed else "○" if bar.is_control else "◌" if bar.unfinished else "●"
    return "".join(track)


def _legend(bars: Sequence[Bar], marks: Sequence[Mark], tracks: Sequence[str]) -> list[str]:
    entries = [f"{mark.letter} {mark.name}" for mark in marks if any(map(is_number, mark.values))]
    if any("+" in track for track in tracks):
        entries.append("+ several of them")
    if any("◉" in track for track in tracks):
        entries.append("◉ one of them at the mean")
    if any(bar.unfinished for bar in bars):
        entries.append("◌ unfinished: what has no answer counts as 0")
    return entries


def _wrap(entries: Sequence[str], *, indent: int, width: int) -> list[str]:
    lines: list[str] = []
    for entry in entries:
        if lines and cell_len(lines[-1]) + 2 + cell_len(entry) <= width:
            lines[-1] += f"  {entry}"
        else:
            lines.append(f"{' ' * indent}{entry}")
    return lines
