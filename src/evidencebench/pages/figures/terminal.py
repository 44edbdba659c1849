"""Charts as text for a terminal: intervals on an axis from 0 to 100 %."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from evidencebench.pages.figures.data import Series, cut
from evidencebench.pages.figures.drawing import Scale
from evidencebench.tables import WIDTH

_TICKS = (0, 25, 50, 75, 100)
_LONGEST_NAME = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A letter that is drawn in every row at a further number, such as the mean of a control."""

    letter: str  # one character
    name: str  # its name in the line below the chart
    values: Sequence[float | None]  # in 0..1, one for each row; a row without a number gets no letter


NEEDED = "├┤─●○◌◉·…"
"""The characters that a terminal must be able to show; on any other the charts are drawn in ASCII."""

_TO_ASCII = str.maketrans(dict(zip("├┤─●○◌◉·", "||-ox?@.", strict=True)))


def terminal_bars(
    bars: Sequence[Series], *, marks: Sequence[Mark] = (), width: int = WIDTH, ascii_only: bool = False
) -> str:
    """Return a chart as lines of text, one for each bar: its name, its interval on an axis, its mean in percent.

    ``marks`` are letters that are drawn on the axis of every row; a line below explains them. ``width`` is the number
    of columns (at least 40 are used). ``ascii_only`` draws without the characters of `NEEDED`.
    """
    width = max(width, 40)
    longest = min(_LONGEST_NAME, width // 3)
    names = [_cut(bar.name, longest - len(bar.suffix), ascii_only=ascii_only) + bar.suffix for bar in bars]
    name_width = max(map(cell_len, names), default=0)
    n_columns = width - name_width - len("    ") - len("100.0")
    axis = Scale(low=0, high=1, start=0, end=(n_columns - 1) // 4 * 4)  # so that the ticks are evenly apart
    tracks = [_track(bar, {mark.letter: mark.values[row] for mark in marks}, axis) for row, bar in enumerate(bars)]
    head = ""
    for tick in _TICKS:  # the middle of a name is at its tick; the first begins and the last ends there
        before = 0 if tick == 0 else len("00") if tick == _TICKS[-1] else len(str(tick)) // 2
        head = head.ljust(round(axis.at(tick / 100)) - before) + str(tick)
    lines = [f"{' ' * name_width}  {head}"] if bars else []
    for bar, name, track in zip(bars, names, tracks, strict=True):
        drawn = track.translate(_TO_ASCII) if ascii_only else track
        lines.append(f"{set_cell_size(name, name_width)}  {drawn}  {100 * bar.point.mean:>5.1f}")
    legend = [f"{mark.letter} {mark.name}" for mark in marks if any(value is not None for value in mark.values)]
    explained = {
        "+ several of them": any("+" in track for track in tracks),
        "◉ a reference value that equals the mean": any("◉" in track for track in tracks),
        "◌ unfinished: missing answers count as 0": any(bar.unfinished for bar in bars),
    }
    below: list[str] = []
    for entry in (*legend, *(words for words, is_needed in explained.items() if is_needed)):
        shown = _cut(entry, width - name_width - 2, ascii_only=ascii_only)
        if below and cell_len(below[-1]) + 2 + cell_len(shown) <= width:
            below[-1] += f"  {shown}"
        else:
            below.append(f"{' ' * name_width}  {shown}")
    return "\n".join([*lines, *below])


def _cut(text: str, n_columns: int, *, ascii_only: bool) -> str:
    """Return text cut to at most ``n_columns`` of a terminal, where a letter may take two columns or none."""
    for n_characters in range(n_columns, 0, -1):
        shown = cut(text, n_characters, "..." if ascii_only else "…")
        if ascii_only:
            shown = shown.translate(_TO_ASCII).encode("ascii", "replace").decode()
        if cell_len(shown) <= n_columns:
            return shown
    return ""


def _track(bar: Series, marks: Mapping[str, float | None], axis: Scale) -> str:
    def column(value: float) -> int:
        return round(axis.at(value))

    track = [" "] * (column(1) + 1)
    for tick in _TICKS:
        track[column(tick / 100)] = "·"
    if bar.point.interval:
        low, high = map(column, bar.point.interval)
        track[low : high + 1] = "─" * (high + 1 - low)
        track[low], track[high] = "├┤"
    placed: dict[int, str] = {}
    for letter, value in marks.items():
        if value is not None:
            placed[column(value)] = "+" if column(value) in placed else letter
    for place, letter in placed.items():
        track[place] = letter
    middle = column(bar.point.mean)
    track[middle] = "◉" if middle in placed else "○" if bar.is_control else "◌" if bar.unfinished else "●"
    return "".join(track)
