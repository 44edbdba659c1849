"""How sure a mean is: intervals, paired tests and ranks, all resampled by cluster.

Instances that share a paper (or a review) are not independent, so whole clusters are resampled. Every function takes
its random generator as an argument; the same seed gives the same digits.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from statistics import NormalDist
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from evidencebench.errors import UndefinedScoreError

Floats = npt.NDArray[np.float64]
Name = TypeVar("Name", bound=Hashable)

DEFAULT_DRAWS = 10_000
DEFAULT_LEVEL = 0.95
MAX_DRAWS = 1_000_000
"""What the command line draws at most; more would change no digit that is shown."""
# At most this many random numbers at a time: 32 MB.
_BLOCK_NUMBERS = 4_000_000
# Draws and sign flips are weighed so many at a time, which a processor's cache holds; in whole bytes of bits.
_CACHED_ROWS = 128
# Up to this many clusters with a difference, all sign patterns are enumerated and p is exact.
_MAX_ENUMERATED_CLUSTERS = 14
# A resampled mean equal to the observed one but for rounding counts as equal.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How intervals and tests are resampled.

    Attributes
    ----------
    seed
        Of the random generator; the same seed gives the same digits.
    n_draws
        Resamplings, at least 1.
    level
        Coverage of the intervals, between 0 and 1.
    """

    seed: int = 0
    n_draws: int = DEFAULT_DRAWS
    level: float = DEFAULT_LEVEL

    def __post_init__(self) -> None:
        if self.n_draws < 1:
            raise ValueError(f"n_draws: expected at least 1, got {self.n_draws}")
        if not 0 < self.level < 1:
            raise ValueError(f"level: expected a number between 0 and 1, got {self.level}")

    def generator(self) -> np.random.Generator:
        """Return a new generator, so that every figure is drawn alike."""
        return np.random.default_rng(self.seed)


DEFAULT_RESAMPLING = Resampling()


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over instances with its interval.

    Attributes
    ----------
    mean
        Mean over instances.
    low, high
        Ends of the percentile interval; None where all instances are of one paper, which leaves nothing to resample.
    n
        Instances behind the mean.
    n_clusters
        Papers (or reviews) behind it, which is what the interval resamples.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    n_clusters: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval, or None where there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """The difference of two systems on the same instances.

    Attributes
    ----------
    difference
        Mean of first - second, with the paired bootstrap's interval.
    p_value
        Two-sided, from sign-flip randomisation over clusters.
    exact
        Whether every sign pattern was enumerated.
    minimum_detectable
        The smallest true difference that such a test would find at the 5 % level with 80 % power; None where the
        differences have no spread to judge by.
    n_better, n_equal, n_worse
        Instances on which the first system scores higher, the same, lower.
    """

    difference: Estimate
    p_value: float
    exact: bool
    minimum_detectable: float | None
    n_better: int
    n_equal: int
    n_worse: int


def bootstrap(
    values: Sequence[float] | Floats,
    clusters: Sequence[str],
    generator: np.random.Generator,
    *,
    n_draws: int = DEFAULT_DRAWS,
    level: float = DEFAULT_LEVEL,
) -> Estimate:
    """Return the mean with a percentile interval, clusters resampled with replacement.

    Parameters
    ----------
    values
        One score an instance.
    clusters
        One cluster name an instance, in the same order.
    generator
        Source of randomness.
    n_draws
        Bootstrap draws, at least 1.
    level
        Coverage of the interval, in 0..1.

    Raises
    ------
    UndefinedScoreError
        If there is no value.

    Examples
    --------
    >>> estimate = bootstrap([0.0, 1.0, 1.0, 0.0], ["p", "q", "r", "s"], np.random.default_rng(0))
    >>> estimate.mean, estimate.low, estimate.high
    (0.5, 0.0, 1.0)
    """
    column = np.asarray(values, dtype=np.float64)[:, None]
    return bootstrap_columns(column, clusters, generator, n_draws=n_draws, level=level)[0]


def bootstrap_columns(
    values: Floats,
    clusters: Sequence[str],
    generator: np.random.Generator,
    *,
    n_draws: int = DEFAULT_DRAWS,
    level: float = DEFAULT_LEVEL,
) -> list[Estimate]:
    """Return an estimate for each column, all from the same draws: what `bootstrap` returns for each, sooner.

    Parameters
    ----------
    values
        Instances x columns.
    clusters, generator, n_draws, level
        As in `bootstrap`.

    Raises
    ------
    UndefinedScoreError
        If there is no instance.
    """
    if not len(values):
        raise UndefinedScoreError("the mean of no instance is undefined")
    sums, sizes = _by_cluster(values, clusters)
    observed = [float(column.mean()) for column in np.ascontiguousarray(values.T)]
    if len(sums) == 1:
        return [Estimate(mean=mean, low=None, high=None, n=len(values), n_clusters=1) for mean in observed]
    means = _bootstrap_means(sums, sizes, generator, n_draws)
    ends = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [
        Estimate(mean=mean, low=float(low), high=float(high), n=len(values), n_clusters=len(sums))
        for mean, low, high in zip(observed, *ends, strict=True)
    ]


def bootstrap_defined(values: Floats, clusters: Sequence[str], resampling: Resampling) -> list[Estimate | None]:
    """Return an estimate for each column over the instances where it is not NaN, and None where it is so nowhere.

    Columns that are defined on the same instances are drawn together (see `bootstrap_columns`); each has the digits
    that it would have alone.

    Parameters
    ----------
    values
        Instances x columns.
    clusters
        One cluster name an instance.
    resampling
        Of every column alike.

    Examples
    --------
    >>> values = np.array([[1.0, np.nan, np.nan], [0.5, 0.25, np.nan]])
    >>> [estimate and estimate.mean for estimate in bootstrap_defined(values, ["p", "q"], Resampling(n_draws=10))]
    [0.75, 0.25, None]
    """
    found: list[Estimate | None] = [None] * values.shape[1]
    alike: dict[bytes, list[int]] = {}
    for position, column in enumerate(values.T):
        alike.setdefault(np.isnan(column).tobytes(), []).append(position)
    for positions in alike.values():
        defined = ~np.isnan(values[:, positions[0]])
        if not defined.any():
            continue
        kept = [cluster for cluster, counts in zip(clusters, defined, strict=True) if counts]
        generator, n_draws, level = resampling.generator(), resampling.n_draws, resampling.level
        means = bootstrap_columns(values[defined][:, positions], kept, generator, n_draws=n_draws, level=level)
        for position, mean in zip(positions, means, strict=True):
            found[position] = mean
    return found


def paired_test(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    clusters: Sequence[str],
    generator: np.random.Generator,
    *,
    n_draws: int = DEFAULT_DRAWS,
    level: float = DEFAULT_LEVEL,
) -> PairedTest:
    """Compare two systems on the same instances.

    Parameters
    ----------
    first, second
        One score an instance, the instances in the same order.
    clusters
        One cluster name an instance.
    generator, n_draws, level
        As in `bootstrap`.

    Raises
    ------
    UndefinedScoreError
        If there is no instance.
    """
    if len(first) != len(second):
        raise ValueError(f"expected as many scores of one system as of the other, got {len(first)} and {len(second)}")
    columns = [np.asarray(values, dtype=np.float64)[:, None] for values in (first, second)]
    return paired_tests(columns[0] - columns[1], clusters, generator, n_draws=n_draws, level=level)[0]


def paired_tests(
    differences: Floats,
    clusters: Sequence[str],
    generator: np.random.Generator,
    *,
    n_draws: int = DEFAULT_DRAWS,
    level: float = DEFAULT_LEVEL,
    estimates: Sequence[Estimate] | None = None,
) -> list[PairedTest]:
    """Return a test for each column, all from the same draws: what `paired_test` returns for each, sooner.

    Parameters
    ----------
    differences
        Instances x pairs of systems: first - second.
    clusters, generator, n_draws, level
        As in `bootstrap`.
    estimates
        The means of the differences, where `bootstrap_columns` has just drawn them from the generator; None: they are
        drawn here.

    Raises
    ------
    UndefinedScoreError
        If there is no instance.
    """
    if estimates is None:
        estimates = bootstrap_columns(differences, clusters, generator, n_draws=n_draws, level=level)
    drawn = generator.bit_generator.state
    tests = []
    for difference, column in zip(estimates, np.ascontiguousarray(differences.T), strict=True):
        generator.bit_generator.state = drawn
        p_value, exact = sign_flip(column, clusters, generator, n_draws=n_draws)
        tests.append(
            PairedTest(
                difference=difference,
                p_value=p_value,
                exact=exact,
                minimum_detectable=_detectable(column, clusters),
                n_better=int((column > _ROUNDING).sum()),
                n_equal=int((np.abs(column) <= _ROUNDING).sum()),
                n_worse=int((column < -_ROUNDING).sum()),
            )
        )
    return tests


def _detectable(differences: Floats, clusters: Sequence[str]) -> float | None:
    try:
        return minimum_detectable_difference(differences, clusters)
    except UndefinedScoreError:
        return None


def sign_flip(
    differences: Sequence[float] | Floats,
    clusters: Sequence[str],
    generator: np.random.Generator,
    *,
    n_draws: int = DEFAULT_DRAWS,
) -> tuple[float, bool]:
    """Return the two-sided p-value that the mean difference is 0, and whether it is exact.

    Were the systems equal, the sign of each cluster's difference would be a coin's toss. With few clusters all
    patterns are enumerated; otherwise p = (1 + draws at least as extreme) / (1 + draws) [1]_.

    References
    ----------
    .. [1] Phipson and Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics and
       Molecular Biology 9 (2010).
    """
    sums = _by_cluster(np.asarray(differences, dtype=np.float64)[:, None], clusters)[0][:, 0]
    sums = sums[sums != 0]  # a cluster without a difference looks the same whichever way it is flipped
    threshold = abs(sums.sum()) - _ROUNDING * max(1.0, float(np.abs(sums).sum()))
    if len(sums) <= _MAX_ENUMERATED_CLUSTERS:
        patterns = np.arange(1 << len(sums))[:, None] >> np.arange(len(sums)) & 1
        totals = (1 - 2 * patterns) @ sums
        return float((np.abs(totals) >= threshold).mean()), True
    n_extreme = 0
    for n_rows in _blocks(n_draws, len(sums)):
        n_bits = n_rows * len(sums)
        packed = np.frombuffer(generator.bytes(-(-n_bits // 8)), dtype=np.uint8)
        for start in range(0, n_rows, _CACHED_ROWS):
            n_cached = min(_CACHED_ROWS, n_rows - start)
            flipped = np.unpackbits(packed[start * len(sums) // 8 :], count=n_cached * len(sums))
            totals = sums.sum() - 2 * (flipped.reshape(n_cached, len(sums)).astype(np.float64) @ sums)
            n_extreme += int((np.abs(totals) >= threshold).sum())
    return (1 + n_extreme) / (1 + n_draws), False


def minimum_detectable_difference(
    differences: Sequence[float] | Floats, clusters: Sequence[str], *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Return the smallest true mean difference that a two-sided paired test of this size would detect.

    (z(1 - alpha/2) + z(power)) times the cluster-robust standard error of the observed differences.

    Raises
    ------
    UndefinedScoreError
        If the differences have no spread to judge by: fewer than two clusters, or all alike.
    """
    values = np.asarray(differences, dtype=np.float64)
    if len(set(clusters)) < 2 or not np.ptp(values):  # noqa: PLR2004 - no spread between fewer than two
        raise UndefinedScoreError("the detectable difference is undefined: the differences have no spread")
    residuals = _by_cluster((values - values.mean())[:, None], clusters)[0][:, 0]
    n_clusters = len(residuals)
    standard_error = np.sqrt(float(residuals @ residuals) * n_clusters / (n_clusters - 1)) / len(values)
    return float((NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)) * standard_error)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests by Holm's step-down method, in the given order [1]_.

    References
    ----------
    .. [1] Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=lambda position: p_values[position])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = highest
    return adjusted


def enough_draws(n_tests: int, alpha: float = 0.05) -> int:
    """Return how many sign flips a test needs for its smallest p-value to survive Holm over so many tests.

    The smallest is 1 / (1 + draws), and Holm multiplies it by the number of tests; twice as many draws leave room.
    """
    return ceil(2 * n_tests / alpha)


def can_be_significant(n_clusters: int, n_tests: int, alpha: float = 0.05) -> bool:
    """Say whether so many tests over so few clusters could find anything: whether their smallest p survives Holm.

    Were every cluster's difference to point one way, two of all 2 ** n_clusters sign patterns would be as extreme.

    Examples
    --------
    >>> can_be_significant(9, 21), can_be_significant(10, 21)
    (False, True)
    """
    if n_clusters > _MAX_ENUMERATED_CLUSTERS:  # where there are `enough_draws`
        return True
    return n_tests * 2.0 ** (1 - n_clusters) < alpha


def rank_ranges(
    scores: Mapping[str, Floats],
    clusters: Sequence[str],
    generator: np.random.Generator,
    *,
    n_draws: int = DEFAULT_DRAWS,
    alpha: float = 0.05,
) -> dict[str, tuple[int, int]]:
    """Return the best and worst rank that each system can claim, 1 being the best.

    A system's best rank is 1 + how many are significantly better; its worst is the number of systems - how many are
    significantly worse: by `pairwise_p_values`.

    Parameters
    ----------
    scores
        System name -> one score an instance, the instances in the same order.
    clusters
        One cluster name an instance.
    """
    p_values = pairwise_p_values(scores, clusters, generator, n_draws=n_draws, alpha=alpha)
    return ranges_from({name: float(column.mean()) for name, column in scores.items()}, p_values, alpha=alpha)


def pairwise_p_values(
    scores: Mapping[str, Floats],
    clusters: Sequence[str],
    generator: np.random.Generator,
    *,
    n_draws: int = DEFAULT_DRAWS,
    alpha: float = 0.05,
) -> dict[tuple[str, str], float]:
    """Return (system, system) -> p from sign flips, adjusted by Holm over all pairs; each pair stands there once.

    Parameters
    ----------
    scores, clusters
        As in `rank_ranges`.
    """
    pairs = list(combinations(scores, 2))
    n_draws = max(n_draws, enough_draws(len(pairs), alpha))
    p_values = [sign_flip(scores[a] - scores[b], clusters, generator, n_draws=n_draws)[0] for a, b in pairs]
    return dict(zip(pairs, holm(p_values), strict=True))


def ranges_from(
    means: Mapping[Name, float], p_values: Mapping[tuple[Name, Name], float], *, alpha: float = 0.05
) -> dict[Name, tuple[int, int]]:
    """Return the ranks that `rank_ranges` returns, from means and `pairwise_p_values`.

    Examples
    --------
    >>> ranges_from({"a": 0.5, "b": 0.4, "c": 0.1}, {("a", "b"): 0.3, ("a", "c"): 0.01, ("b", "c"): 0.2})
    {'a': (1, 2), 'b': (1, 3), 'c': (2, 3)}
    """
    better, worse = dict.fromkeys(means, 0), dict.fromkeys(means, 0)
    for (a, b), p_value in p_values.items():
        if p_value < alpha:
            winner, loser = (a, b) if means[a] > means[b] else (b, a)
            better[loser] += 1
            worse[winner] += 1
    return {name: (1 + better[name], len(means) - worse[name]) for name in means}


def _by_cluster(values: Floats, clusters: Sequence[str]) -> tuple[Floats, Floats]:
    """Return each cluster's sums (clusters x columns) and sizes, clusters in order of first appearance."""
    position_of: dict[str, int] = {}
    positions = [position_of.setdefault(cluster, len(position_of)) for cluster in clusters]
    if len(positions) != len(values):
        raise ValueError(f"expected one cluster for each of {len(values)} values, got {len(positions)}")
    sums = np.zeros((len(position_of), values.shape[1]))
    np.add.at(sums, positions, values)
    return sums, np.bincount(positions, minlength=len(position_of)).astype(np.float64)


def _bootstrap_means(sums: Floats, sizes: Floats, generator: np.random.Generator, n_draws: int) -> Floats:
    """Return the mean of each draw, draws x columns."""
    # A product a column, so that a column's digits do not depend on those beside it.
    columns = [np.ascontiguousarray(column) for column in sums.T]
    n_clusters, start = len(sums), 0
    totals, n_drawn = np.empty((len(columns), n_draws)), np.empty(n_draws)
    for n_rows in _blocks(n_draws, n_clusters):
        drawn = generator.integers(0, n_clusters, size=(n_rows, n_clusters), dtype=np.int32)
        for first in range(0, n_rows, _CACHED_ROWS):
            # How often each draw holds each cluster: the same for every column.
            weights = _counts(drawn[first : first + _CACHED_ROWS], n_clusters)
            rows = slice(start + first, start + first + len(weights))
            np.dot(weights, sizes, out=n_drawn[rows])
            for column, total in zip(columns, totals, strict=True):
                np.dot(weights, column, out=total[rows])
        start += n_rows
    return totals.T / n_drawn[:, None]


def _counts(drawn: npt.NDArray[np.int32], n_clusters: int) -> Floats:
    """Return how often each cluster stands in each row."""
    n_rows = len(drawn)
    numbered = drawn + np.arange(0, n_rows * n_clusters, n_clusters)[:, None]
    counts = np.bincount(numbered.ravel(), minlength=n_rows * n_clusters)
    return counts.reshape(n_rows, n_clusters).astype(np.float64)


def _blocks(n_rows: int, n_columns: int) -> Iterator[int]:
    """Yield sizes of row blocks that add up to ``n_rows`` and keep memory bounded."""
    size = max(1, _BLOCK_NUMBERS // max(1, n_columns))
    while n_rows > 0:
        yield min(size, n_rows)
        n_rows -= size
