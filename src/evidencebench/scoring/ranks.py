"""How sure a rank is: every pair of systems tested, p-values adjusted for how many tests there are."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from math import ceil
from typing import TypeVar

from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Floats, Resampling
from evidencebench.scoring.sign_flips import MAX_ENUMERATED_CLUSTERS, sign_flip

Name = TypeVar("Name", bound=Hashable)

ALPHA = 0.05
"""Below it, a p-value is called significant."""


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


def enough_draws(n_tests: int) -> int:
    """Return how many sign flips a test needs for its smallest p-value to survive Holm over so many tests.

    The smallest is 1 / (1 + draws), and Holm multiplies it by the number of tests; twice as many draws leave room.
    """
    return ceil(2 * n_tests / ALPHA)


def can_be_significant(n_clusters: int, n_tests: int) -> bool:
    """Say whether so many tests over so few clusters could find anything: whether their smallest p survives Holm.

    Were every cluster's difference to point one way, two of all 2 ** n_clusters sign patterns would be as extreme.

    Examples
    --------
    >>> can_be_significant(9, 21), can_be_significant(10, 21)
    (False, True)
    """
    if n_clusters > MAX_ENUMERATED_CLUSTERS:  # where there are `enough_draws`
        return True
    return n_tests * 2.0 ** (1 - n_clusters) < ALPHA


def pairwise_p_values(
    scores: Mapping[Name, Floats], clusters: Sequence[str], resampling: Resampling = DEFAULT_RESAMPLING
) -> dict[tuple[Name, Name], float]:
    """Return (system, system) -> p from sign flips, adjusted by Holm over all pairs; each pair stands there once.

    ``scores`` holds for each system one score an instance, the instances and their clusters in the same order.
    """
    pairs = list(combinations(scores, 2))
    generator, n_draws = resampling.generator(), max(resampling.n_draws, enough_draws(len(pairs)))
    p_values = [sign_flip(scores[a] - scores[b], clusters, generator, n_draws)[0] for a, b in pairs]
    return dict(zip(pairs, holm(p_values), strict=True))


def ranges_from(
    means: Mapping[Name, float], p_values: Mapping[tuple[Name, Name], float]
) -> dict[Name, tuple[int, int]]:
    """Return the ranks that each system can claim, from means and `pairwise_p_values`.

    A system's best rank is 1 + how many are significantly better; its worst is the number of systems - how many are
    significantly worse.

    Examples
    --------
    >>> ranges_from({"a": 0.5, "b": 0.4, "c": 0.1}, {("a", "b"): 0.3, ("a", "c"): 0.01, ("b", "c"): 0.2})
    {'a': (1, 2), 'b': (1, 3), 'c': (2, 3)}
    """
    better, worse = dict.fromkeys(means, 0), dict.fromkeys(means, 0)
    for (a, b), p_value in p_values.items():
        if p_value < ALPHA:
            winner, loser = (a, b) if means[a] > means[b] else (b, a)
            better[loser] += 1
            worse[winner] += 1
    return {name: (1 + better[name], len(means) - worse[name]) for name in means}
