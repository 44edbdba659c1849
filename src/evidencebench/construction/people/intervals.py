"""Intervals by the studentised bootstrap over whole papers, with the jackknife's standard error in every draw.

Of the intervals that were tried it alone keeps its level for rare marks whose rate of errors differs between papers:
see ``docs/construction.md``, section Agreement, and ``tools/make_agreement_table.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evidencebench.scoring.resampling import Floats, Resampling

Statistic = Callable[[Floats], Floats]
"""Totals over papers (... x columns) -> values (... x values)."""

LEAST_DEFINED = 0.99  # an interval is given where at least this share of the draws has a value and a standard error

_BLOCK_NUMBERS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentisedDraws:
    """Values, their standard errors, and how far the draws lay from them, in standard errors."""

    values: Floats
    errors: Floats
    deviations: Floats  # values x draws, ascending; NaN in all of a value that has none

    def interval(self, which: int, level: float) -> tuple[float, float] | None:
        drawn = self.deviations[which]
        if np.isnan(drawn[0]):
            return None
        high, low = np.quantile(drawn, [(1 + level) / 2, (1 - level) / 2])
        ends = self.values[which] - np.array([high, low]) * self.errors[which]
        return (float(ends[0]), float(ends[1])) if np.isfinite(ends).all() else None

    def p_value(self, which: int, bound: float, *, is_above: bool) -> float | None:
        """Return the one-sided p-value that is small where a value is clearly above, or below, a bound."""
        drawn, sign = self.deviations[which], 1 if is_above else -1
        if np.isnan(drawn[0]):
            return None
        seen = sign * (self.values[which] - bound) / self.errors[which]
        return float((1 + (sign * drawn >= seen).sum()) / (1 + len(drawn)))


def studentised(sums: Floats, statistic: Statistic, resampling: Resampling) -> StudentisedDraws:
    """Return the values of a statistic of the papers' sums (papers x columns), and what their intervals are made of.

    As in Davison and Hinkley, "Bootstrap Methods and their Application" (1997), section 5.2.
    """
    n_papers = len(sums)
    values, errors = (figures[0] for figures in jackknife(sums, np.ones((1, n_papers)), statistic))
    generator = resampling.generator()
    drawn_papers = generator.multinomial(n_papers, np.full(n_papers, 1 / n_papers), size=resampling.n_draws)
    drawn, drawn_errors = jackknife(sums, drawn_papers, statistic)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = (drawn - values) / drawn_errors
    has_interval = (np.isfinite(deviations).mean(0) >= LEAST_DEFINED) & (errors > 0)
    deviations[~np.isfinite(deviations)] = np.nan
    deviations[:, ~has_interval] = np.nan
    # A draw without a standard error counts as far away on both sides in turn, which widens the interval.
    lost = np.isnan(deviations)
    sides = np.where(np.arange(len(deviations)) % 2, np.inf, -np.inf)[:, None]
    filled = np.where(lost & has_interval, np.broadcast_to(sides, deviations.shape), deviations)
    return StudentisedDraws(values=values, errors=errors, deviations=np.sort(filled.T, axis=1))


def jackknife(sums: Floats, weights: Floats | npt.NDArray[np.int64], statistic: Statistic) -> tuple[Floats, Floats]:
    """Return the values and the standard errors (draws x values) of draws that hold each paper so often.

    One copy of one paper is left out at a time (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter
    11); ``weights`` is draws x papers.
    """
    rows = max(1, _BLOCK_NUMBERS // max(1, sums.size))
    values, errors = [], []
    for start in range(0, len(weights), rows):
        block = weights[start : start + rows].astype(np.float64)
        totals, n_drawn = block @ sums, block.sum(1)[:, None]
        without = statistic(totals[:, None, :] - sums[None, :, :])
        is_in = block[:, :, None] > 0  # what leaving out a paper gives that is not in the draw has no meaning
        means = (block[:, :, None] * np.where(is_in, without, 0.0)).sum(1) / n_drawn
        squares = (block[:, :, None] * np.where(is_in, (without - means[:, None, :]) ** 2, 0.0)).sum(1)
        values.append(statistic(totals))
        errors.append(np.sqrt((n_drawn - 1) / n_drawn * squares))
    return np.concatenate(values), np.concatenate(errors)
