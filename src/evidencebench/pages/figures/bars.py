"""The data of charts: a mean with its interval, and groups of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evidencebench.pages.figures.scale import is_number
from evidencebench.scoring.resampling import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One row of a chart of intervals."""

    name: str  # what it is about: a system, a task; any text
    mean: float  # in 0..1, of a difference in -1..1; what is no number is left out
    low: float | None  # end of the interval; None: there is none
    high: float | None
    note: str = ""  # a few words behind the numbers
    is_control: bool = False  # drawn hollow, grey, with a star behind its name
    series: int | None = None  # gives it its mark and colour, the same in every chart; None: the chart decides


@dataclass(frozen=True, slots=True, kw_only=True)
class BarGroup:
    """Bars, one a system, say, under a name that they share, such as "1-4 aspects"."""

    name: str
    bars: Sequence[Bar]


def bar_of(name: str, estimate: Estimate, **look: Any) -> Bar:
    """Return an estimate as it is drawn; ``look`` are the other fields of a `Bar`."""
    return Bar(name=name, mean=estimate.mean, low=estimate.low, high=estimate.high, **look)


def interval_of(bar: Bar) -> tuple[float, float] | None:
    """Return the ends of a bar's interval, the lower one first; None where one of them is missing."""
    if is_number(bar.low) and is_number(bar.high):
        return min(bar.low, bar.high), max(bar.low, bar.high)
    return None


def value_text(bar: Bar, *, signed: bool = False) -> str:
    """Return a bar's numbers in percent; a dash where there are none.

    Examples
    --------
    >>> value_text(Bar(name="bm25", mean=0.37, low=0.29, high=0.439))
    '37.0 [29.0, 43.9]'
    """
    if not is_number(bar.mean):
        return "-"
    form = "+.1f" if signed else ".1f"
    interval = interval_of(bar)
    ends = "" if interval is None else f" [{100 * interval[0]:{form}}, {100 * interval[1]:{form}}]"
    return f"{100 * bar.mean:{form}}{ends}"
