"""P-values by sign flips of whole clusters or by an own test, Holm, ranges of ranks; scores as text."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, nan
from statistics import NormalDist
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from evidencebench.scoring.resampling import (
    DEFAULT_RESAMPLING,
    Estimate,
    Floats,
    Resampling,
    block_sizes,
    bootstrap_pairs,
    by_cluster,
    cached_rows,
    products,
    standard_error,
)
from evidencebench.tables import Column, Row, printable
from evidencebench.wording import counted, shown_seconds

Name = TypeVar("Name", bound=Hashable)

ALPHA = 0.05  # a p-value below it is called significant
MAX_ENUMERATED_CLUSTERS = 14  # with a difference; of so many, all patterns of signs are tried, and p is exact
_POWER = 0.8  # of the smallest difference that a test can be said to detect
_ROUNDING = 1e-12  # sums and scores that differ by no more count as equal


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlips:
    """The two-sided p-value of a mean difference of 0, from sign flips of whole clusters or from an own test."""

    p_value: float
    exact: bool  # all patterns of signs were tried
    least: float  # the smallest p of so many differing clusters or flips, however large the difference; own test: 0

    @property
    def is_bound(self) -> bool:
        """Whether no drawn flip was as extreme: p is then at most the value, and more flips might make it smaller."""
        return not self.exact and 0 < self.least >= self.p_value

    @property
    def can_be_significant(self) -> bool:
        """Whether the test could be significant if it were the only one."""
        return self.least < ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest(SignFlips):
    """First - second on the same instances, with the interval of the paired bootstrap; p is not adjusted."""

    difference: Estimate
    minimum_detectable: float | None  # at the 5 % level with 80 % power; None where the differences have no spread
    n_better: int  # instances on which the first system scores higher
    n_equal: int
    n_worse: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustedP:
    value: float
    is_bound: bool = False  # it is at most this value, as no drawn flip was as extreme
    n_tests: int = field(default=1, compare=False, repr=False)  # that Holm adjusted over

    @property
    def is_significant(self) -> bool:
        return self.value < ALPHA


def paired_test(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    clusters: Sequence[str],
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> PairedTest:
    if len(first) != len(second):
        raise ValueError(f"expected as many scores of one system as of the other, got {len(first)} and {len(second)}")
    values = np.column_stack([np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)])
    return paired_tests(values, [(0, 1)], clusters, resampling)[1][0]


def paired_tests(
    values: Floats,
    pairs: Sequence[tuple[int, int]],
    clusters: Sequence[str],
    resampling: Resampling,
    n_flips: int | None = None,
) -> tuple[list[Estimate], list[PairedTest]]:
    """Return the mean of each column of ``values`` (instances x systems), and a test for each pair of columns.

    All share the draws and the flips; each has the digits that it would have alone.
    """
    means, differences = bootstrap_pairs(values, pairs, clusters, resampling)
    if resampling.test is None:
        flips = sign_flips(by_cluster(values, clusters)[0], pairs, resampling, n_flips or resampling.n_draws)
    else:
        flips = [own_test(values[:, first], values[:, second], clusters, resampling) for first, second in pairs]

    def test(pair: tuple[int, int], difference: Estimate, flip: SignFlips) -> PairedTest:
        column = values[:, pair[0]] - values[:, pair[1]]
        n_better, n_worse = int((column > _ROUNDING).sum()), int((column < -_ROUNDING).sum())
        return PairedTest(
            difference=difference,
            p_value=flip.p_value,
            exact=flip.exact,
            least=flip.least,
            minimum_detectable=minimum_detectable_difference(column, clusters),
            n_better=n_better,
            n_equal=len(column) - n_better - n_worse,
            n_worse=n_worse,
        )

    return means, list(map(test, pairs, differences, flips))


def sign_flips(sums: Floats, pairs: Sequence[tuple[int, int]], resampling: Resampling, n_flips: int) -> list[SignFlips]:
    """Return the test of each pair of columns of ``sums`` (clusters x systems): the first - the second.

    Where few clusters differ, all patterns of signs are tried; else p = (1 + flips at least as extreme) / (1 + flips):
    Phipson and Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics and Molecular
    Biology 9 (2010). All pairs share the drawn flips, and each has the digits that it would have alone.
    """
    tests: dict[int, SignFlips] = {}
    drawn: list[int] = []
    for place, (first, second) in enumerate(pairs):
        between = sums[:, first] - sums[:, second]
        between = between[np.abs(between) > _ROUNDING]  # flipping a cluster without a difference changes nothing
        if len(between) <= MAX_ENUMERATED_CLUSTERS:
            threshold = abs(between.sum()) - _ROUNDING * max(1.0, float(np.abs(between).sum()))
            p_value = float((np.abs(_patterns(len(between)) @ between) >= threshold).mean())
            least = min(1.0, 2.0 ** (1 - len(between)))  # all differences of one sign: two patterns are as extreme
            tests[place] = SignFlips(p_value=p_value, exact=True, least=least)
        else:
            drawn.append(place)
    if drawn:
        generator = np.random.default_rng((resampling.seed, 1))  # not that of intervals: the same whatever is drawn
        extreme = _n_extreme(sums, [pairs[place] for place in drawn], generator, n_flips)
        for place, n_extreme in zip(drawn, extreme, strict=True):
            p_value = (1 + int(n_extreme)) / (1 + n_flips)
            tests[place] = SignFlips(p_value=p_value, exact=False, least=1 / (1 + n_flips))
    return [tests[place] for place in range(len(pairs))]


def own_test(first: Floats, second: Floats, clusters: Sequence[str], resampling: Resampling) -> SignFlips:
    """Return what ``resampling.test`` says of two systems; where no score differs, there is nothing to test."""
    if resampling.test is None or not (np.abs(first - second) > _ROUNDING).any():
        return SignFlips(p_value=1.0, exact=True, least=1.0)
    given = resampling.test(first.copy(), second.copy(), tuple(clusters))
    try:
        p_value = float(given)
    except (TypeError, ValueError):
        p_value = nan
    if not 0 <= p_value <= 1:
        raise ValueError(f"test '{resampling.test_name}': expected p, a number in 0..1, got {given!r}")
    return SignFlips(p_value=p_value, exact=False, least=0.0)


@lru_cache(maxsize=MAX_ENUMERATED_CLUSTERS + 1)
def _patterns(n_clusters: int) -> Floats:
    return (1 - 2 * (np.arange(1 << n_clusters)[:, None] >> np.arange(n_clusters) & 1)).astype(np.float64)


def _n_extreme(
    sums: Floats, pairs: Sequence[tuple[int, int]], generator: np.random.Generator, n_flips: int
) -> npt.NDArray[np.int64]:
    n_clusters = len(sums)
    columns = [np.ascontiguousarray(column) for column in sums.T]
    first, second = (np.array(places) for places in zip(*pairs, strict=True))
    observed, sizes = sums.sum(axis=0), np.abs(sums).sum(axis=0)
    thresholds = np.abs(observed[first] - observed[second]) - _ROUNDING * np.maximum(1.0, sizes[first] + sizes[second])
    n_extreme = np.zeros(len(pairs), dtype=np.int64)
    for n_rows in block_sizes(n_flips, n_clusters):
        packed = np.frombuffer(generator.bytes(-(-n_rows * n_clusters // 8)), dtype=np.uint8)
        step = cached_rows(n_clusters)
        for start in range(0, n_rows, step):
            n_cached = min(step, n_rows - start)
            bits = np.unpackbits(packed[start * n_clusters // 8 :], count=n_cached * n_clusters)
            minus = bits.reshape(n_cached, n_clusters).astype(np.float64)
            totals = observed[:, None] - 2 * np.array([products(minus, column) for column in columns])
            n_extreme += (np.abs(totals[first] - totals[second]) >= thresholds[:, None]).sum(axis=1)
    return n_extreme


def minimum_detectable_difference(differences: Sequence[float] | Floats, clusters: Sequence[str]) -> float | None:
    """(z(1 - alpha/2) + z(power)) x the cluster-robust standard error; None where the differences have no spread."""
    error = standard_error(differences, clusters)
    if error is None or not np.ptp(differences):
        return None
    return float((NormalDist().inv_cdf(1 - ALPHA / 2) + NormalDist().inv_cdf(_POWER)) * error)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979)."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=lambda position: p_values[position])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = highest
    return adjusted


def adjust(tests: Sequence[SignFlips], alike: Sequence[Hashable] = ()) -> list[AdjustedP | None]:
    """Return p-values adjusted by Holm over the tests that can be significant; None for the others.

    Tests with the same value in ``alike``, of the same answers, count once. That a test's smallest possible p is not
    below `ALPHA` is known before the signs are looked at, so that the others need not be corrected for it (Tarone, "A
    modified Bonferroni method for discrete data", Biometrics 46, 1990).
    """
    keys = alike or range(len(tests))
    able = {key: test for key, test in zip(keys, tests, strict=True) if test.can_be_significant}
    values = holm([test.p_value for test in able.values()])
    bounds = {value for test, value in zip(able.values(), values, strict=True) if test.is_bound}
    adjusted = {
        key: AdjustedP(value=value, is_bound=value in bounds and value < 1, n_tests=len(able))
        for key, value in zip(able, values, strict=True)
    }
    return [adjusted.get(key) for key in keys]


def enough_draws(n_tests: int) -> int:
    """Return twice the flips with which the smallest p, 1 / (1 + flips), is below `ALPHA` when Holm multiplies it."""
    return ceil(2 * n_tests / ALPHA)


def can_be_significant(test: SignFlips, adjusted: AdjustedP | None) -> bool:
    """Say whether a test can be significant among those that it was adjusted with, however large the difference."""
    return adjusted is not None and test.least * adjusted.n_tests < ALPHA


def ranges_from(
    means: Mapping[Name, float], p_values: Mapping[tuple[Name, Name], float]
) -> dict[Name, tuple[int, int]]:
    """Return system -> its best rank, 1 + those significantly better, and its worst, all - those worse."""
    better, worse = dict.fromkeys(means, 0), dict.fromkeys(means, 0)
    for (a, b), p_value in p_values.items():
        if p_value < ALPHA:
            winner, loser = (a, b) if means[a] > means[b] else (b, a)
            better[loser] += 1
            worse[winner] += 1
    return {name: (1 + better[name], len(means) - worse[name]) for name in means}


# How the names of notes begin that say what was asked of language models, and what that cost.
_TOKENS = ("prompt_tokens", "completion_tokens")
_TIMES = ("milliseconds", "timed_replies", "milliseconds_to_first_token", "streamed_replies")
SPENT = ("requests", *_TOKENS, "cost_microusd", "unpriced_replies", "maybe_charged", "prices_of", *_TIMES)


def notes_line(notes: Mapping[str, int]) -> str:
    """Return the notes of answers on one line: replies by class and by reader, requests, tokens, cost, then the others.

    >>> notes_line({"reply_answered": 9, "reply_refused": 1, "requests": 10, "prompt_tokens": 41000,
    ...             "completion_tokens": 900, "cost_microusd": 12345, "truncated_sentences": 7})
    'replies: answered 9, refused 1; 10 requests; 41,000 + 900 tokens; $0.0123; 7 truncated sentences'
    >>> notes_line({"read_by answer line": 8, "read_by json": 1, "requests": 1, "truncated_sentences": 1})
    'read by: answer line 8, json 1; 1 request; 1 truncated sentence'
    """
    others = {name: n for name, n in notes.items() if name.partition(" ")[0] not in SPENT}
    parts = []
    for prefix, title in (("reply_", "replies"), ("read_by ", "read by")):
        counts = {name: others.pop(name) for name in notes if name.startswith(prefix)}
        texts = (f"{name.removeprefix(prefix).replace('_', ' ')} {count:,}" for name, count in counts.items())
        parts += [f"{title}: {', '.join(texts)}"] if counts else []
    if requests := notes.get("requests", 0):
        parts.append(counted(requests, "request"))
    if any(tokens := [notes.get(name, 0) for name in _TOKENS]):
        parts.append("{:,} + {:,} tokens".format(*tokens))
    parts += filter(None, (cost_text(notes), seconds_text(notes)))
    for name, n in others.items():
        ours, space, theirs = printable(name).partition(" ")  # theirs is such as a model's name, and stays as it is
        ours = ours.removesuffix("s") if n == 1 and ours.endswith("_sentences") else ours
        parts.append(f"{n:,} {ours.replace('_', ' ')}{space}{theirs}")
    return "; ".join(parts)


def cost_text(notes: Mapping[str, int]) -> str | None:
    """Return what answers cost, in dollars, and what of it is not known; None where nothing was asked.

    >>> cost_text({"cost_microusd": 810600, "prices_of 2026-11-10": 99, "maybe_charged": 21})
    'at least $0.8106 at prices of 2026-11-10; 21 attempts without a reply, perhaps charged for'
    >>> cost_text({"requests": 3, "unpriced_replies": 3})
    'cost unknown: 3 replies of unknown price'
    """
    n_unpriced, n_maybe = notes.get("unpriced_replies", 0), notes.get("maybe_charged", 0)
    unknown = [f"{counted(n_unpriced, 'reply', 'replies')} of unknown price"] if n_unpriced else []
    unknown += [f"{counted(n_maybe, 'attempt')} without a reply, perhaps charged for"] if n_maybe else []
    if "cost_microusd" not in notes:
        return f"cost unknown: {'; '.join(unknown)}" if unknown else None
    days = " and ".join(sorted(name.removeprefix("prices_of ") for name in notes if name.startswith("prices_of ")))
    known = f"${notes['cost_microusd'] / 1e6:,.4f}{f' at prices of {days}' if days else ''}"
    return "; ".join([f"at least {known}", *unknown]) if unknown else known


def seconds_text(notes: Mapping[str, int]) -> str | None:
    """Return how long the replies took on average, when they were sent; None where that is not known."""
    parts = []
    for sum_of, n_of, what in zip(_TIMES[::2], _TIMES[1::2], ("a reply", "to its first token"), strict=True):
        if n := notes.get(n_of, 0):
            parts.append(f"{shown_seconds(notes.get(sum_of, 0) / 1000 / n)} {what}")
    return ", ".join(parts) or None


def spent_line(notes: Mapping[str, int]) -> str:
    """Return what answers took of language models: requests, tokens and cost; empty where nothing was asked."""
    return notes_line({name: count for name, count in notes.items() if name.partition(" ")[0] in SPENT})


def p_text(p: AdjustedP | None, name: str = "") -> str:
    """Return a p-value with four decimals; with ``name``, such as ``"p"``, as a statement.

    A value that no drawn flip reached is shown as ``≤``, rounded up, since more flips might make it smaller; one from
    all patterns of signs is exact, also where so few papers allow no smaller one.

    >>> p_text(AdjustedP(value=0.0441)), p_text(AdjustedP(value=0.00281, is_bound=True)), p_text(AdjustedP(value=1e-9))
    ('0.0441', '≤ 0.0029', '< 0.0001')
    >>> p_text(AdjustedP(value=0.0441), "p"), p_text(AdjustedP(value=0.0028, is_bound=True), "p"), p_text(None, "p")
    ('p = 0.0441', 'p ≤ 0.0028', 'no test')
    >>> p_text(AdjustedP(value=0.049996)), p_text(AdjustedP(value=0.05))
    ('0.049996', '0.0500')
    """
    if p is None:
        return "no test"
    digits = 4
    while ALPHA - 10.0**-digits < p.value < ALPHA:  # rounding would hide that it is significant
        digits += 1
    step = 10.0**-digits
    if p.value < step:
        sign, shown = "<", step
    elif p.is_bound:
        sign, shown = "≤", ceil(round(p.value / step, 6)) * step
    else:
        sign, shown = "=" if name else "", p.value
    return " ".join(filter(None, (name, sign, f"{shown:.{digits}f}")))


def percent(estimate: Estimate | None, alone: str | None = None) -> str:
    """Return a mean with its interval in percent; ``alone`` replaces that of a single paper, None: by what it is of.

    >>> percent(Estimate(mean=0.45, low=0.381, high=0.519, n=9, n_clusters=7))
    '45.0 [38.1, 51.9]'
    >>> percent(Estimate(mean=0.45, low=None, high=None, n=2, n_clusters=1))
    '45.0 (one review or paper)'
    """
    if estimate is None:
        return "-"
    if estimate.interval is None:
        alone = estimate.alone if alone is None else alone
        return f"{100 * estimate.mean:.1f}{f' ({alone})' if alone else ''}"
    low, high = estimate.interval
    return f"{100 * estimate.mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def mean_or_none(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.mean


def estimate_columns(
    names: tuple[str, str, str], heading: str, estimate: Callable[[Row], Estimate | None], *, none: str = "-"
) -> list[Column[Row]]:
    """For readers, the mean and the ends are one column; ``none`` is what they see where there is no mean."""

    def end(name: str) -> Callable[[Row], float | None]:
        return lambda row: getattr(estimate(row), name, None)

    def text(row: Row) -> str:
        return none if (mean := estimate(row)) is None else percent(mean)

    mean, low, high = names
    return [Column(mean, heading, end("mean"), text), Column(low, "", end("low")), Column(high, "", end("high"))]


def signed(points: float, form: str = "+.1f") -> str:
    """Return a difference with its sign; minus is U+2212, as wide as plus and never taken for a hyphen.

    >>> signed(-3.14), signed(-0.04), signed(2)
    ('−3.1', '+0.0', '+2.0')
    """
    shown = f"{points:{form}}"
    return f"{0.0:{form}}" if float(shown) == 0 else shown.replace("-", "−")


def score_text(estimate: Estimate) -> str:
    """Return a mean with its interval, as it is shown after a signature: ``0.370 [0.290, 0.439]``."""
    if estimate.interval is None:
        return f"{estimate.mean:.3f} ({estimate.alone}: no interval)"
    low, high = estimate.interval
    return f"{estimate.mean:.3f} [{low:.3f}, {high:.3f}]"
