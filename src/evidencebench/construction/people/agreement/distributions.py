"""Quantiles of Student's t, and exact intervals of shares, from the incomplete beta function."""

from math import exp, lgamma, log

_TINY = 1e-300
_MOST_TERMS = 10_000
_HALVINGS = 200


def clopper_pearson(n_yes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a share of which ``n_yes`` of ``n`` are seen [1]_.

    >>> [round(end, 4) for end in clopper_pearson(47, 50)]
    [0.8345, 0.9875]

    References
    ----------
    .. [1] Clopper and Pearson, "The use of confidence or fiducial limits", Biometrika 26 (1934).
    """
    if not 0 <= n_yes <= n or n < 1:
        raise ValueError(f"expected some of at least 1, got {n_yes} of {n}")
    tail = (1 - level) / 2
    low = 0.0 if n_yes == 0 else beta_quantile(tail, n_yes, n - n_yes + 1)
    high = 1.0 if n_yes == n else beta_quantile(1 - tail, n_yes + 1, n - n_yes)
    return low, high


def student_quantile(share: float, degrees: float) -> float:
    """Return the value that Student's t with ``degrees`` of freedom stays below in ``share`` of cases.

    >>> round(student_quantile(0.95, 49), 4)
    1.6766
    """
    if share < 1 / 2:
        return -student_quantile(1 - share, degrees)
    # t**2 / (degrees + t**2) is distributed as beta with 1/2 and degrees/2.
    x = beta_quantile(2 * share - 1, 0.5, degrees / 2)
    return float((degrees * x / (1 - x)) ** 0.5) if x < 1 else float("inf")


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the x below which the beta distribution with ``a`` and ``b`` lies in ``share`` of cases, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        if incomplete_beta(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction [1]_.

    References
    ----------
    .. [1] Press et al., "Numerical Recipes", 3rd edition (2007), section 6.4: Lentz's method.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there the fraction converges slowly
        return 1 - incomplete_beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    found, c, d = 1.0, 1.0, 0.0
    for term in range(_MOST_TERMS):
        half = term // 2
        if term == 0:
            numerator = 1.0
        elif term % 2 == 0:
            numerator = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        else:
            numerator = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        d = 1 / _away_from_zero(1 + numerator * d)
        c = _away_from_zero(1 + numerator / c)
        found *= c * d
        if abs(1 - c * d) < 1e-15:  # noqa: PLR2004 - as exact as a float
            break
    return front * (found - 1)


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
