"""The record that charts draw, and how much of a name is shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.significance import signed as with_sign
from evidencebench.tables import printable, shortened

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


# What charts draw.


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The numbers of one system: an interval, or a curve of several. Shares in 0..1, differences in -1..1."""

    name: str  # of the system or the task, say; any text
    points: Sequence[Estimate | None]  # of a curve, at 1, 2, 3, ...; None is not drawn
    note: str = ""  # a few words behind the numbers
    is_control: bool = False  # a control is drawn hollow and grey, with a star behind its name
    unfinished: str = ""  # how many are answered, such as "3 of 12", which stands behind the name; drawn hollow, dashed
    number: int = 0  # of its mark, dashes and colour, the same in every chart
    is_context: bool = False  # a curve that is drawn thin and grey behind the others, without a name beside it

    @property
    def suffix(self) -> str:
        """What stands behind its name: a control's star, and how many are answered where some are not."""
        return f"{' *' if self.is_control else ''}{f' ({self.unfinished})' if self.unfinished else ''}"

    @property
    def point(self) -> Estimate:
        """The first that is there: of an interval, its only one."""
        return next(filter(None, self.points))


class Group(NamedTuple):
    """Intervals under a common name: those of all systems on a task, for example."""

    name: str  # empty: none is drawn
    bars: Sequence[Series]
    sides: tuple[str, str] | None = None  # of differences: the system that is better below zero, and above


def bar_of(name: str, estimate: Estimate, **look: Any) -> Series:
    return Series(name=name, points=(estimate,), **look)


def reach_of(differences: Iterable[Estimate]) -> float:
    """Return how far from zero an axis must go so that these differences fit: from 0.05 to 1.0."""
    numbers: Iterable[float] = (number for point in differences for number in (point.mean, *(point.interval or ())))
    return min(1.0, max([0.05, *(1.05 * abs(number) for number in numbers)]))


def value_text(point: Estimate, *, signed: bool = False) -> str:
    """Return a mean and its interval as text in percent."""
    mean, *ends = (100 * share for share in (point.mean, *(point.interval or ())))
    shown = [with_sign(share) if signed else f"{share:.1f}".replace("-", "−") for share in (mean, *ends)]
    return shown[0] + (f" [{', '.join(shown[1:])}]" if ends else "")


def bar_title(bar: Series, *, signed: bool = False) -> str:
    """Return what a chart tells of a bar when it is pointed at: its name, its numbers, and how much of it is done."""
    unfinished = f", unfinished: {bar.unfinished} done" if bar.unfinished else ""
    control = " (baseline)" if bar.is_control else ""
    return f"{title_name(bar.name)}{control}: {value_text(bar.point, signed=signed)}{unfinished}"
