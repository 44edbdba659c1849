"""Where a number lies on an axis, and which numbers the axis names."""

import math
from dataclasses import dataclass
from typing import TypeGuard

_NICE_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A straight axis: ``low`` and ``high`` are the numbers at its ends, ``start`` and ``end`` where these lie."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a number lies; one beyond an end lies at the end.

        Examples
        --------
        >>> Scale(low=0, high=1, start=100, end=300).at(0.25)
        150.0
        """
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.5
        return round(self.start + min(1.0, max(0.0, share)) * (self.end - self.start), 1)


def is_number(value: float | None) -> TypeGuard[float]:
    """Say whether there is a number to draw: not None, NaN or infinite."""
    return value is not None and math.isfinite(value)


def percent_cell(value: float | None) -> float | None:
    """Return a table's cell for a share, in percent; an empty one where there is no number."""
    return 100 * value if is_number(value) else None


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Return round numbers from ``low`` to ``high``, evenly apart, at most so many.

    Examples
    --------
    >>> ticks(0, 20)
    [0.0, 5.0, 10.0, 15.0, 20.0]
    >>> ticks(-0.13, 0.08)
    [-0.1, -0.05, 0.0, 0.05]
    """
    least = (high - low) / (most - 1)
    if least < _LEAST_STEP:
        return [low]
    step = _nice(least)
    first, last = math.ceil(low / step - _ROUNDING), math.floor(high / step + _ROUNDING)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


# Less than this apart, two numbers are one.
_LEAST_STEP = 1e-300
# A bound that is a multiple of the step but for rounding counts as one.
_ROUNDING = 1e-9


def _nice(least: float) -> float:
    """Return the smallest round number that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((nice * power for nice in _NICE_STEPS if nice * power >= least * (1 - _ROUNDING)), 10 * power)
