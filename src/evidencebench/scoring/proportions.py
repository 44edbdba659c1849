"""The exact interval of a share: k of n, such as 47 of 50 [1]_.

References
----------
.. [1] Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
   Biometrika 26 (1934).
"""

from dataclasses import dataclass

import numpy as np

from evidencebench.errors import UndefinedScoreError
from evidencebench.scoring.resampling import DEFAULT_LEVEL

_HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """A share, ``k`` of ``n``, with the ends of its exact interval."""

    k: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share, 0 to 1."""
        return self.k / self.n


def proportion(k: int, n: int, level: float = DEFAULT_LEVEL) -> Proportion:
    """Return a share with its exact interval; it holds the true share with a chance of at least ``level``.

    Raises `UndefinedScoreError` where ``n`` is 0, and `ValueError` unless ``0 <= k <= n``.

    >>> found = proportion(47, 50)
    >>> round(found.low, 4), round(found.high, 4)
    (0.8345, 0.9875)
    """
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
    found = np.arange(k, n + 1)
    steps = np.arange(1, n + 1)
    log_choices = np.concatenate([[0.0], np.cumsum(np.log((n + 1 - steps) / steps))])[k:]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        chances = np.exp(log_choices + found * np.log(middle) + (n - found) * np.log1p(-middle))
        low, high = (middle, high) if chances.sum() < tail else (low, middle)
    return (low + high) / 2
