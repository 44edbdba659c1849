"""Where a number lies on an axis, and which numbers the axis names."""

import math
from dataclasses import dataclass

# Less than this apart, two numbers are one.
_LEAST_STEP = 1e-300
# A bound that is a multiple of the step but for rounding counts as one.
_ROUNDING = 1e-9


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
    power = 10.0 ** math.floor(math.log10(least))
    step = next((nice * power for nice in (1, 2, 5, 10) if nice * power >= least * (1 - _ROUNDING)), 10 * power)
    first, last = math.ceil(low / step - _ROUNDING), math.floor(high / step + _ROUNDING)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]
