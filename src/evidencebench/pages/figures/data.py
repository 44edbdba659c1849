"""The records that charts draw, their tables, and how much of a name is shown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.significance import signed as with_sign
from evidencebench.tables import Cell, Table, printable, shortened

# Names in charts: how wide a text is about, and where it is cut. A name comes from a file and may have any length.

LONGEST_SHOWN = 40  # characters of a name
# The size of most text, in units; and the sizes with which bold text of 12 and of 14 units is measured, which is wider.
FONT_SIZE, BOLD_SIZE, TITLE_SIZE = 12.0, 13.5, 15.5
# The text between the two names of a difference, and the fewest characters in which both names are cut separately.
_BETWEEN, _LEAST_ROOM = " − ", 12
_NARROW_LETTERS = frozenset("ijlftrI.,:;'|!()[] ")
_BROAD_LETTERS = frozenset("#&+−<=>^~")
_FULL_LETTERS = frozenset("mwMW%@")
_END_OF_LATIN = "\u017f"


def shown_name(name: str, suffix: str = "") -> str:
    """Return a name as a chart shows it: on one line, cut to 40 characters, and a suffix behind that is not cut.

    It is cut in the middle, since names that are alike often differ at their ends. Of "first − second" both are cut so.
    """
    return f"{cut(name, LONGEST_SHOWN)}{suffix}"


def title_name(name: str) -> str:
    return cut(name, 200)


def cut(text: str, n_characters: int, ellipsis: str = "…") -> str:
    """Return text on one line of at most ``n_characters``; where it is cut, in the middle, stands the ellipsis."""
    # The text is cut before it is made printable, since a name may be a megabyte long.
    first, between, second = text.partition(_BETWEEN)
    room = n_characters - len(_BETWEEN)
    if len(text) <= n_characters or not between or room < _LEAST_ROOM:
        return printable(shortened(text, n_characters, ellipsis))
    of_first = min(len(first), max(room // 2, room - len(second)))
    return printable(f"{shortened(first, of_first, ellipsis)}{between}{shortened(second, room - of_first, ellipsis)}")


def width_of(text: str, size: float = FONT_SIZE) -> float:
    """Return about how wide a text is drawn, in units; the estimate is rather too wide than too narrow."""

    def share(letter: str) -> float:  # of the font's size, from DejaVu Sans, which is wider than most fonts
        if letter in _NARROW_LETTERS:
            return 0.4
        if letter in _FULL_LETTERS or letter > _END_OF_LATIN:
            return 1.0
        return 0.8 if letter in _BROAD_LETTERS or letter.isupper() or not letter.isascii() else 0.64

    return size * sum(map(share, text))


def fit_text(text: str, width: float, size: float = FONT_SIZE) -> str:
    """Return text cut so that it is not wider than ``width`` units, as `width_of` measures it."""
    if width_of(text, size) <= width:
        return text
    shorter = (cut(text, n_characters) for n_characters in range(len(text) - 1, 0, -1))
    return next((candidate for candidate in shorter if width_of(candidate, size) <= width), "…")


# The records that charts draw, and the tables of the same numbers.


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One row of a chart of intervals."""

    name: str  # of the system or the task, say; any text
    mean: float  # in 0..1, of a difference in -1..1; NaN and infinity are not drawn
    low: float | None  # lower end of the interval; None: no interval
    high: float | None
    note: str = ""  # a few words behind the numbers
    is_control: bool = False  # a control is drawn hollow and grey, with a star behind its name
    unfinished: str = ""  # how many are answered, such as "3 of 12", which stands behind the name; drawn hollow, dashed
    series: int | None = None  # number of its mark and colour, the same in every chart; None: the chart chooses

    @property
    def suffix(self) -> str:
        """What stands behind its name: a control's star, and how many are answered where some are not."""
        return f"{' *' if self.is_control else ''}{f' ({self.unfinished})' if self.unfinished else ''}"

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval, the lower one first; None where one of them is missing."""
        if is_number(self.low) and is_number(self.high):
            return min(self.low, self.high), max(self.low, self.high)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BarGroup:
    """Bars under a common name: the recalls of all systems on papers with "1-4 aspects", for example."""

    name: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """One curve."""

    name: str  # of the system, say; any text
    points: Sequence[tuple[float, float]]  # (x, y), x rising, y in 0..1; NaN leaves a gap
    low: Sequence[float] | None = None  # lower ends of the intervals, one for each point; None: no intervals
    high: Sequence[float] | None = None
    is_control: bool = False  # a control is drawn hollow and grey, with a star behind its name
    series: int | None = None  # number of its mark, dashes and colour; None: its place among the lines
    is_context: bool = False  # drawn thin and grey behind the others, without a name beside it

    @property
    def suffix(self) -> str:
        """What stands behind its name: a control's star."""
        return " *" if self.is_control else ""


def bar_of(name: str, estimate: Estimate, **look: Any) -> Bar:
    return Bar(name=name, mean=estimate.mean, low=estimate.low, high=estimate.high, **look)


def is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def value_text(bar: Bar, *, signed: bool = False) -> str:
    """Return a bar's mean and interval as text in percent; a dash where the mean is no number."""
    if not is_number(bar.mean):
        return "–"
    mean, *ends = (100 * share for share in (bar.mean, *(bar.interval or ())))
    shown = [with_sign(share) if signed else f"{share:.1f}".replace("-", "−") for share in (mean, *ends)]
    return shown[0] + (f" [{', '.join(shown[1:])}]" if ends else "")


def bar_title(bar: Bar, *, signed: bool = False) -> str:
    """Return what a chart tells of a bar when it is pointed at: its name, its numbers, and how much of it is done."""
    unfinished = f", unfinished: {bar.unfinished} done" if bar.unfinished else ""
    control = " (control)" if bar.is_control else ""
    return f"{title_name(bar.name)}{control}: {value_text(bar, signed=signed)}{unfinished}"


def table_of_bars(bars: Sequence[Bar], *, name: str = "system") -> Table:
    """Return the numbers behind a chart of intervals, in percent; ``name`` heads the first column."""
    return _table([name], [([], bar) for bar in bars])


def table_of_groups(groups: Sequence[BarGroup], *, group: str = "group", name: str = "system") -> Table:
    """Return the numbers behind a grouped chart, in percent; ``group`` and ``name`` head the first two columns."""
    return _table([group, name], [([of.name], bar) for of in groups for bar in of.bars])


def _table(heads: Sequence[str], named: Sequence[tuple[Sequence[str], Bar]]) -> Table:
    has_notes = any(bar.note for _, bar in named)
    rows: list[list[Cell]] = [
        [*of, f"{bar.name}{bar.suffix}", *map(_percent, (bar.mean, bar.low, bar.high)), *[bar.note] * has_notes]
        for of, bar in named
    ]
    return Table(columns=[*heads, "mean, %", "low", "high", *["note"] * has_notes], rows=rows)


def table_of_lines(lines: Sequence[ChartLine], *, x_name: str = "x") -> Table:
    """Return the numbers behind curves in percent: a row for each x, a column for each line, intervals as text."""
    numbers = sorted({x for curve in lines for x, _ in curve.points if is_number(x)})
    columns = [_cells(curve) for curve in lines]
    rows: list[list[Cell]] = [[f"{x:g}", *(column.get(x) for column in columns)] for x in numbers]
    return Table(columns=[x_name, *(f"{curve.name}{curve.suffix}" for curve in lines)], rows=rows)


def _cells(curve: ChartLine) -> dict[float, Cell]:
    none = [None] * len(curve.points)
    cells: dict[float, Cell] = {}
    for (x, y), low, high in zip(curve.points, curve.low or none, curve.high or none, strict=True):
        cells[x] = _percent(y)
        if is_number(y) and is_number(low) and is_number(high):
            cells[x] = f"{100 * y:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
    return cells


def _percent(value: float | None) -> float | None:
    return 100 * value if is_number(value) else None
