"""How many papers it takes to show equivalence, from the papers at hand as a pilot."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from evidencebench.construction.people.agreement.comparison import EQUIVALENCE_ALPHA
from evidencebench.construction.people.agreement.marks import PairSort
from evidencebench.construction.people.agreement.pair_statistic import PairStatistic
from evidencebench.construction.people.agreement.studentised import jackknife
from evidencebench.scoring.resampling import Floats

WANTED_POWER = 0.8
MOST_PAPERS = 20_000
"""More papers than this are not looked for."""

FEWEST_PAPERS = 10
"""Fewer papers than this are not advised, whatever the power: no interval over so few can be trusted."""

_N_DRAWS = 1_000
_STEP = 1.02  # the number of papers is found to within 2 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """The chance to show equivalence of one measure within a margin, from the papers of a pilot."""

    measure: str
    margin: float
    n_papers: int  # of the pilot
    is_defined: bool  # false where these allow no estimate
    now: float | None = None  # the chance with as many, if there is no true difference
    needed: int | None = None  # papers for `WANTED_POWER`, if there is no true difference; None: over `MOST_PAPERS`
    needed_as_observed: int | None = None  # the same, if the true difference is the observed one
    is_observed_beyond: bool = False  # whether the observed difference lies beyond the margin


def power_of(
    tables: Floats, pairs: Sequence[tuple[PairSort, int, int]], measure: str, *, margin: float, seed: int = 0
) -> Power:
    """Return the power of the equivalence test of a measure; ``tables`` are the pilot's, as of `chance_to_show`."""
    n_papers, statistic = len(tables), PairStatistic(pairs=pairs, measures=(measure,))
    values, errors = jackknife(tables[:, : 4 * len(pairs)], np.ones((1, n_papers)), statistic)
    observed, error = float(values[0, -1]), float(errors[0, -1])
    if not (np.isfinite(observed) and error > 0):
        return Power(measure=measure, margin=margin, n_papers=n_papers, is_defined=False)

    def chance(n: int, difference: float) -> float:
        return chance_to_show(tables, pairs, measure, n=n, margin=margin, difference=difference, seed=seed)

    def needed(difference: float) -> int | None:
        if abs(difference) >= margin:
            return None
        low = high = FEWEST_PAPERS
        while chance(high, difference) < WANTED_POWER:
            low, high = high, 2 * high
            if high > MOST_PAPERS:
                return None
        while high > low + 1 and high > low * _STEP:
            middle = (low + high) // 2
            low, high = (low, middle) if chance(middle, difference) >= WANTED_POWER else (middle, high)
        return high

    return Power(
        measure=measure,
        margin=margin,
        n_papers=n_papers,
        is_defined=True,
        now=chance(n_papers, 0.0),
        needed=needed(0.0),
        needed_as_observed=needed(observed),
        is_observed_beyond=abs(observed) >= margin,
    )


def chance_to_show(
    tables: Floats,
    pairs: Sequence[tuple[PairSort, int, int]],
    measure: str,
    *,
    n: int,
    margin: float,
    difference: float,
    seed: int,
) -> float:
    """Return the chance that a study of ``n`` papers shows equivalence, where the true difference is ``difference``.

    ``tables`` has the table of each pair in each paper of the pilot (papers x 4 columns a pair), as the sums of
    `sums_of` begin. Draws of n of these papers, moved so that their mean is the true difference, are what a study would
    see. Its test takes the quantile of Student's t in place of that of the studentised bootstrap.
    """
    n_papers, statistic = len(tables), PairStatistic(pairs=pairs, measures=(measure,))
    sums = tables[:, : 4 * len(pairs)]
    weights = np.random.default_rng(seed).multinomial(n, np.full(n_papers, 1 / n_papers), size=_N_DRAWS)
    values, errors = jackknife(sums, weights, statistic)
    moved = values[:, -1] - statistic(sums.sum(0))[-1] + difference
    reach = student_quantile(1 - EQUIVALENCE_ALPHA, n - 1) * errors[:, -1]
    return float((np.abs(moved) + reach < margin).mean())  # false where it is NaN


def student_quantile(share: float, degrees: int) -> float:
    """Return the quantile of Student's t, to within 0.001 from 9 degrees on (Abramowitz and Stegun 1964, 26.7.5)."""
    z = NormalDist().inv_cdf(share)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(sum(term / degrees**power for power, term in enumerate(terms)))
