"""Percentile intervals by the bootstrap over whole clusters; exact intervals of shares."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from evidencebench.errors import UndefinedScoreError
from evidencebench.wording import counted, name_of

Floats = npt.NDArray[np.float64]

DEFAULT_DRAWS = 10_000
DEFAULT_LEVEL = 0.95
MAX_DRAWS = 1_000_000  # of the command line; more would change no digit that is shown
_CACHED_NUMBERS, _MOST_CACHED_ROWS = 1 << 17, 128
_COUNTED_NUMBERS = 1 << 15
# Products of more numbers, and of single rows that are longer, are computed by BLAS in several threads, which wait for
# each other longer than they compute.
_MOST_MULTIPLIED, _LONGEST_ROW = 400_000, 10_000
_BLAS_ROWS = 4  # OpenBLAS computes so many at a time, so that a product in pieces of them has the same digits
# At most this many random numbers at a time: 32 MB.
_BLOCK_NUMBERS = 4_000_000
_PAIRS_AT_A_TIME = 64  # so that the draws of very many pairs need not fit into memory at once
# Draws of up to so many numbers are kept, one byte a number: those of 6,700 papers, 10,000 times.
_MOST_KEPT_NUMBERS = 1 << 26


PairTest = Callable[[Floats, Floats, Sequence[str]], float]
"""A test of your own: the first system's scores, the second's, and the clusters, one an instance -> p, in 0..1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How intervals and tests are drawn: ``n_draws`` times; an interval holds ``level`` (in 0..1) of the draws.

    ``test`` is your own test in place of sign flips: a function of the first system's scores, the second's (arrays of
    one number an instance) and the cluster of each instance, its review or paper. It returns p, in 0..1, which Holm
    adjusts. It is not asked where all scores are equal.

    >>> def one_sided(first, second, clusters):
    ...     return 0.5 ** (first > second).sum()
    >>> Resampling(n_draws=2000, test=one_sided).test_name
    'one_sided'
    """

    seed: int = 0
    n_draws: int = DEFAULT_DRAWS
    level: float = DEFAULT_LEVEL
    test: PairTest | None = None

    def __post_init__(self) -> None:
        if self.n_draws < 1:
            raise ValueError(f"n_draws: expected at least 1, got {self.n_draws}")
        if not 0 < self.level < 1:
            raise ValueError(f"level: expected a number between 0 and 1, got {self.level}")
        if self.test is not None and not callable(self.test):
            raise TypeError(f"test: expected a function (first, second, clusters) -> p, got {self.test!r}")

    @property
    def test_name(self) -> str:
        """What tables call the test: ``sign-flip test``, or the name of your own function."""
        return "sign-flip test" if self.test is None else name_of(self.test)

    def generator(self) -> np.random.Generator:
        """Return a new generator from the seed, so that every figure gets the same draws."""
        return np.random.default_rng(self.seed)


DEFAULT_RESAMPLING = Resampling()


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over instances of ``n_clusters`` reviews or papers; the ends of its interval are None for a single one."""

    mean: float
    low: float | None
    high: float | None
    n: int
    n_clusters: int

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def alone(self) -> str:
        """What it is of where it has no interval: what is resampled is a review where the data names it, or a text."""
        return "one instance" if self.n == 1 else "one review or paper"

    @property
    def extent(self) -> str:
        clusters = counted(self.n_clusters, "review or paper", "reviews or papers")
        return f"{counted(self.n, 'instance')}{'' if self.n == self.n_clusters else f' from {clusters}'}"

    @property
    def negated(self) -> "Estimate":
        low, high = (None, None) if self.interval is None else (-self.interval[1], -self.interval[0])
        return replace(self, mean=-self.mean, low=low, high=high)


def bootstrap(
    values: Sequence[float] | Floats, clusters: Sequence[str], resampling: Resampling = DEFAULT_RESAMPLING
) -> Estimate:
    """Return the mean of ``values``, one an instance, with its interval; ``clusters`` holds each instance's cluster."""
    return bootstrap_columns(np.asarray(values, dtype=np.float64)[:, None], clusters, resampling)[0]


def bootstrap_columns(
    values: Floats, clusters: Sequence[str], resampling: Resampling = DEFAULT_RESAMPLING
) -> list[Estimate]:
    """Return what `bootstrap` returns for each column of ``values`` (instances x columns), in less time."""
    return bootstrap_pairs(values, (), clusters, resampling)[0]


def bootstrap_pairs(
    values: Floats,
    pairs: Sequence[tuple[int, int]],
    clusters: Sequence[str],
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> tuple[list[Estimate], list[Estimate]]:
    """Return the mean of each column of ``values``, and for each pair of columns that of the first - the second.

    The mean of a difference in a draw is that of the means, so many pairs take little more time than their columns.
    """
    if not len(values):
        raise UndefinedScoreError("the mean of no instance is undefined")
    sums, sizes = by_cluster(values, clusters)
    drawn = _bootstrap_means(sums, sizes, resampling) if len(sums) > 1 else None

    def estimates(columns: Floats, draws: Floats | None) -> list[Estimate]:
        means = [float(column.mean()) for column in np.ascontiguousarray(columns.T)]
        ends: list[list[float | None]] = [[None] * len(means)] * 2
        if draws is not None:
            ends = np.quantile(draws, [(1 - resampling.level) / 2, (1 + resampling.level) / 2], axis=0).tolist()
        return [
            Estimate(mean=mean, low=low, high=high, n=len(values), n_clusters=len(sums))
            for mean, low, high in zip(means, *ends, strict=True)
        ]

    differences: list[Estimate] = []
    for start in range(0, len(pairs), _PAIRS_AT_A_TIME):
        first, second = map(list, zip(*pairs[start : start + _PAIRS_AT_A_TIME], strict=True))
        between = None if drawn is None else drawn[:, first] - drawn[:, second]
        differences += estimates(values[:, first] - values[:, second], between)
    return estimates(values, drawn), differences


def bootstrap_defined(values: Floats, clusters: Sequence[str], resampling: Resampling) -> list[Estimate | None]:
    """Return an estimate for each column over its values that are not NaN; None for a column without any.

    Columns that are defined on the same instances share their draws; each has the digits that it would have alone.
    """
    estimates: dict[int, Estimate] = {}
    alike: dict[bytes, list[int]] = {}
    for position, column in enumerate(values.T):
        alike.setdefault(np.isnan(column).tobytes(), []).append(position)
    for positions in alike.values():
        if defined := np.flatnonzero(~np.isnan(values[:, positions[0]])).tolist():
            kept = [clusters[place] for place in defined]
            estimates |= zip(positions, bootstrap_columns(values[defined][:, positions], kept, resampling), strict=True)
    return [estimates.get(position) for position in range(values.shape[1])]


def by_cluster(values: Floats, clusters: Sequence[str]) -> tuple[Floats, Floats]:
    """Return each cluster's sums (clusters x columns) and sizes, clusters in order of first appearance."""
    position_of: dict[str, int] = {}
    positions = [position_of.setdefault(cluster, len(position_of)) for cluster in clusters]
    if len(positions) != len(values):
        raise ValueError(f"expected one cluster for each of {len(values)} values, got {len(positions)}")
    sums = np.zeros((len(position_of), values.shape[1]))
    np.add.at(sums, positions, values)
    return sums, np.bincount(positions, minlength=len(position_of)).astype(np.float64)


def standard_error(values: Sequence[float] | Floats, clusters: Sequence[str]) -> float | None:
    """Return the cluster-robust standard error of the mean of ``values``; None where there are not two clusters."""
    values = np.asarray(values, dtype=np.float64)
    if len(set(clusters)) <= 1:
        return None
    residuals = by_cluster((values - values.mean())[:, None], clusters)[0][:, 0]
    n_clusters = len(residuals)
    return float(np.sqrt(float(residuals @ residuals) * n_clusters / (n_clusters - 1)) / len(values))


def block_sizes(n_rows: int, n_columns: int) -> Iterator[int]:
    """Yield numbers of rows that add up to ``n_rows``, each small enough to be computed at a time."""
    size = max(1, _BLOCK_NUMBERS // max(1, n_columns))
    while n_rows > 0:
        yield min(size, n_rows)
        n_rows -= size


def cached_rows(n_columns: int) -> int:
    """Return how many draws (or sign flips) to compute at a time: few for a processor's cache, a multiple of 8."""
    return max(8, min(_MOST_CACHED_ROWS, _CACHED_NUMBERS // max(1, n_columns) // 8 * 8))


def _bootstrap_means(sums: Floats, sizes: Floats, resampling: Resampling) -> Floats:
    # One product for each column, so that its digits do not depend on the other columns.
    columns = [np.ascontiguousarray(column) for column in sums.T]
    totals, n_drawn, start = np.empty((len(columns), resampling.n_draws)), np.empty(resampling.n_draws), 0
    for weights in shared_counts(len(sums), resampling):
        rows = slice(start, start + len(weights))
        n_drawn[rows] = products(weights, sizes)
        for column, total in zip(columns, totals, strict=True):
            total[rows] = products(weights, column)
        start += len(weights)
    return totals.T / n_drawn[:, None]


def products(rows: Floats, column: Floats) -> Floats:
    """Return ``rows @ column``, computed in this thread alone, so that its digits depend on no number of threads."""
    n_rows, n_columns = rows.shape
    if n_rows == 1 and n_columns > _LONGEST_ROW:
        return np.asarray(np.dot(rows.repeat(2, axis=0), column)[:1])
    if n_rows <= _BLAS_ROWS or rows.size <= _MOST_MULTIPLIED:
        return np.asarray(np.dot(rows, column))
    pieces = (rows[first : first + _BLAS_ROWS] for first in range(0, n_rows, _BLAS_ROWS))
    return np.concatenate([products(piece, column) for piece in pieces])


def shared_counts(n_clusters: int, resampling: Resampling) -> Iterator[Floats]:
    """Yield what `draw_counts` does for a new generator; the last two are kept, since they take most of the time."""
    if n_clusters * resampling.n_draws > _MOST_KEPT_NUMBERS:
        yield from draw_counts(n_clusters, resampling.generator(), resampling.n_draws)
        return
    for counts in _kept_counts(n_clusters, resampling.seed, resampling.n_draws):
        yield counts.astype(np.float64)


@lru_cache(maxsize=2)
def _kept_counts(n_clusters: int, seed: int, n_draws: int) -> list[npt.NDArray[np.uint8]]:
    # That a draw holds a cluster more than 255 times has a chance below 1e-500.
    return [counts.astype(np.uint8) for counts in draw_counts(n_clusters, np.random.default_rng(seed), n_draws)]


def draw_counts(n_clusters: int, generator: np.random.Generator, n_draws: int) -> Iterator[Floats]:
    """Yield how often each draw holds each cluster (draws x clusters), a few draws at a time."""
    n_cached, n_counted = cached_rows(n_clusters), max(1, _COUNTED_NUMBERS // n_clusters)
    for n_rows in block_sizes(n_draws, n_clusters):
        drawn = generator.integers(0, n_clusters, size=(n_rows, n_clusters), dtype=np.int32)
        for start in range(0, n_rows, n_cached):
            counts = np.empty((min(n_cached, n_rows - start), n_clusters))
            for first in range(0, len(counts), n_counted):
                rows = drawn[start + first : min(start + first + n_counted, start + len(counts))]
                numbered = (rows + np.arange(0, rows.size, n_clusters)[:, None]).ravel()
                counts[first : first + len(rows)] = np.bincount(numbered, minlength=rows.size).reshape(rows.shape)
            yield counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    k: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.k / self.n


def proportion(k: int, n: int, level: float = DEFAULT_LEVEL) -> Proportion:
    """Return a share with its exact interval; it holds the true share with a chance of at least ``level``."""
    if not n:
        raise UndefinedScoreError("a share of nothing is undefined")
    if not 0 <= k <= n:
        raise ValueError(f"expected 0 <= k <= n, got k = {k} and n = {n}")
    tail = (1 - level) / 2
    low = _least_chance(k, n, tail) if k else 0.0
    high = 1 - _least_chance(n - k, n, tail) if k < n else 1.0
    return Proportion(k=k, n=n, low=low, high=high)


def _least_chance(k: int, n: int, tail: float) -> float:
    """Return the chance of success with which ``k`` or more of ``n`` succeed with the chance ``tail``."""
    successes, steps = np.arange(k, n + 1), np.arange(1, n + 1)
    log_choices = np.concatenate([[0.0], np.cumsum(np.log((n + 1 - steps) / steps))])[k:]
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        chances = np.exp(log_choices + successes * np.log(middle) + (n - successes) * np.log1p(-middle))
        low, high = (middle, high) if chances.sum() < tail else (low, middle)
    return (low + high) / 2
