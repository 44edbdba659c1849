"""P-values of differences by sign flips of whole clusters, adjusted for the number of tests; ranges of ranks."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, starmap
from math import ceil
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from evidencebench.scoring.resampling import (
    DEFAULT_RESAMPLING,
    Estimate,
    Floats,
    Resampling,
    block_sizes,
    bootstrap_columns,
    by_cluster,
    cached_rows,
    products,
    standard_error,
)

Name = TypeVar("Name", bound=Hashable)

ALPHA = 0.05
"""A p-value below it is called significant."""

MAX_ENUMERATED_CLUSTERS = 14
"""Up to this many clusters with a difference, all sign patterns are enumerated and p is exact."""
# Sums and scores that differ by no more than rounding count as equal.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """The difference of two systems on the same instances: first - second, with the paired bootstrap's interval."""

    difference: Estimate
    p_value: float  # two-sided, from sign flips of whole clusters
    exact: bool  # every sign pattern was enumerated
    minimum_detectable: float | None  # at the 5 % level with 80 % power; None where the differences have no spread
    n_better: int  # instances on which the first system scores higher
    n_equal: int
    n_worse: int


def paired_test(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    clusters: Sequence[str],
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> PairedTest:
    """Return the test of two systems' scores, one an instance each; ``clusters`` holds each instance's cluster."""
    if len(first) != len(second):
        raise ValueError(f"expected as many scores of one system as of the other, got {len(first)} and {len(second)}")
    values = np.column_stack([np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)])
    return paired_tests(values, [(0, 1)], clusters, resampling)[1][0]


def paired_tests(
    values: Floats, pairs: Sequence[tuple[int, int]], clusters: Sequence[str], resampling: Resampling
) -> tuple[list[Estimate], list[PairedTest]]:
    """Return the mean of each column of ``values`` (instances x systems), and a test for each pair of columns.

    All share the draws; each has the digits that it would have alone.
    """
    differences = np.column_stack([values[:, first] - values[:, second] for first, second in pairs])
    generator = resampling.generator()
    means = bootstrap_columns(np.column_stack([values, differences]), clusters, resampling, generator)
    drawn = generator.bit_generator.state

    def test(difference: Estimate, column: Floats) -> PairedTest:
        generator.bit_generator.state = drawn
        p_value, exact = sign_flip(column, clusters, generator, resampling.n_draws)
        return PairedTest(
            difference=difference,
            p_value=p_value,
            exact=exact,
            minimum_detectable=minimum_detectable_difference(column, clusters),
            n_better=int((column > _ROUNDING).sum()),
            n_equal=int((np.abs(column) <= _ROUNDING).sum()),
            n_worse=int((column < -_ROUNDING).sum()),
        )

    n_systems = values.shape[1]
    tests = starmap(test, zip(means[n_systems:], np.ascontiguousarray(differences.T), strict=True))
    return means[:n_systems], list(tests)


def sign_flip(
    differences: Floats, clusters: Sequence[str], generator: np.random.Generator, n_draws: int
) -> tuple[float, bool]:
    """Return the two-sided p-value for a mean difference of 0, and whether it is exact.

    If the systems were equal, the sign of each cluster's difference would be random. With few clusters all patterns of
    signs are enumerated; otherwise p = (1 + draws at least as extreme) / (1 + draws) [1]_.

    References
    ----------
    .. [1] Phipson and Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics and
       Molecular Biology 9 (2010).
    """
    sums = by_cluster(differences[:, None], clusters)[0][:, 0]
    sums = sums[sums != 0]  # flipping a cluster without a difference changes nothing
    threshold = abs(sums.sum()) - _ROUNDING * max(1.0, float(np.abs(sums).sum()))
    if len(sums) <= MAX_ENUMERATED_CLUSTERS:
        patterns = np.arange(1 << len(sums))[:, None] >> np.arange(len(sums)) & 1
        totals = (1 - 2 * patterns) @ sums
        return float((np.abs(totals) >= threshold).mean()), True
    n_extreme = 0
    for n_rows in block_sizes(n_draws, len(sums)):
        n_bits = n_rows * len(sums)
        packed = np.frombuffer(generator.bytes(-(-n_bits // 8)), dtype=np.uint8)
        step = cached_rows(len(sums))
        for start in range(0, n_rows, step):
            n_cached = min(step, n_rows - start)
            signs = np.unpackbits(packed[start * len(sums) // 8 :], count=n_cached * len(sums))
            totals = sums.sum() - 2 * products(signs.reshape(n_cached, len(sums)).astype(np.float64), sums)
            n_extreme += int((np.abs(totals) >= threshold).sum())
    return (1 + n_extreme) / (1 + n_draws), False


def minimum_detectable_difference(
    differences: Sequence[float] | Floats, clusters: Sequence[str], *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest true mean difference that a two-sided paired test of this size would detect.

    (z(1 - alpha/2) + z(power)) times the cluster-robust standard error of the observed differences; None where they
    have no spread.
    """
    values = np.asarray(differences, dtype=np.float64)
    error = standard_error(values, clusters)
    if error is None or not np.ptp(values):
        return None
    return float((NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)) * error)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests by Holm's step-down method, in the given order [1]_.

    References
    ----------
    .. [1] Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=lambda position: p_values[position])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = highest
    return adjusted


def enough_draws(n_tests: int) -> int:
    """Return how many sign flips a test needs to be able to be significant after Holm over ``n_tests``.

    The smallest p-value is 1 / (1 + draws), and Holm multiplies it by ``n_tests``. Twice the least number is returned.
    """
    return ceil(2 * n_tests / ALPHA)


def can_be_significant(n_clusters: int, n_tests: int) -> bool:
    """Say whether a test over ``n_clusters`` can be significant after Holm over ``n_tests``.

    The smallest p-value is 2 / 2 ** n_clusters: all differences have one sign, and two patterns are as extreme.

    Examples
    --------
    >>> can_be_significant(9, 21), can_be_significant(10, 21)
    (False, True)
    """
    if n_clusters > MAX_ENUMERATED_CLUSTERS:  # p is drawn, and there are `enough_draws`
        return True
    return n_tests * 2.0 ** (1 - n_clusters) < ALPHA


def pairwise_p_values(
    scores: Mapping[Name, Floats], clusters: Sequence[str], resampling: Resampling = DEFAULT_RESAMPLING
) -> dict[tuple[Name, Name], float]:
    """Return (system, system) -> p-value from sign flips, adjusted by Holm over all pairs; each pair has one entry.

    ``scores`` maps a system to one score an instance; ``clusters`` holds each instance's cluster.
    """
    pairs = list(combinations(scores, 2))
    generator, n_draws = resampling.generator(), max(resampling.n_draws, enough_draws(len(pairs)))
    p_values = [sign_flip(scores[a] - scores[b], clusters, generator, n_draws)[0] for a, b in pairs]
    return dict(zip(pairs, holm(p_values), strict=True))


def ranges_from(
    means: Mapping[Name, float], p_values: Mapping[tuple[Name, Name], float]
) -> dict[Name, tuple[int, int]]:
    """Return system -> the best and the worst rank that it can claim, from means and `pairwise_p_values`.

    The best is 1 + the number of systems that are significantly better; the worst is the number of all systems - the
    number that are significantly worse.
    """
    better, worse = dict.fromkeys(means, 0), dict.fromkeys(means, 0)
    for (a, b), p_value in p_values.items():
        if p_value < ALPHA:
            winner, loser = (a, b) if means[a] > means[b] else (b, a)
            better[loser] += 1
            worse[winner] += 1
    return {name: (1 + better[name], len(means) - worse[name]) for name in means}
