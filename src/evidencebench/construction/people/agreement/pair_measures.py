"""How well two raters agree, from counts: each measure takes an array of 2 x 2 tables and returns one value a table.

The last axis of a table: neither marked it, only the second, only the first, both. A value that is undefined is NaN.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from evidencebench.scoring.resampling import Floats

PairMeasure = Callable[[Floats], Floats]


def exact_accuracy(tables: Floats) -> Floats:
    """Return the share on which both say the same."""
    return _ratio(tables[..., 0] + tables[..., 3], tables.sum(-1))


def f1(tables: Floats) -> Floats:
    """Return the F1 of one rater's marks against the other's, which is symmetric; undefined where neither has any.

    >>> f1(np.array([95.0, 2.0, 1.0, 2.0])).item().__round__(4)
    0.5714
    """
    _, second, first, both = np.moveaxis(tables, -1, 0)
    return _ratio(2 * both, 2 * both + first + second)


def cohen_kappa(tables: Floats) -> Floats:
    """Return Cohen's kappa (Cohen 1960); undefined where both raters say the same of everything."""
    neither, second, first, both = np.moveaxis(tables, -1, 0)
    # (observed - expected) / (1 - expected), times n squared.
    return _ratio(
        2 * (neither * both - first * second),
        (neither + first) * (first + both) + (neither + second) * (second + both),
    )


def krippendorff_alpha(tables: Floats) -> Floats:
    """Return Krippendorff's alpha of two raters, nominal (Krippendorff 2011); undefined where only one value occurs."""
    neither, second, first, both = np.moveaxis(tables, -1, 0)
    differing = first + second
    return alpha_of_counts(np.stack([differing, 2 * neither + differing, 2 * both + differing], -1))


def alpha_of_counts(counts: Floats) -> Floats:
    """Return Krippendorff's alpha of any number of raters.

    The last axis: off the diagonal of the coincidence matrix, values "not marked", values "marked". A sentence that m
    raters judged, u of them with a mark, adds u (m - u) / (m - 1), m - u and u.
    """
    differing, unmarked, marked = np.moveaxis(counts, -1, 0)
    return 1 - _ratio((unmarked + marked - 1) * differing, unmarked * marked)


def spearman(tables: Floats) -> Floats:
    """Return Spearman's rank correlation, of yes and no the phi coefficient; undefined where a rater is constant."""
    neither, second, first, both = np.moveaxis(tables, -1, 0)
    margins = (neither + second) * (first + both) * (neither + first) * (second + both)
    return _ratio(neither * both - first * second, np.sqrt(np.maximum(margins, 0)))


PAIR_MEASURES: Mapping[str, PairMeasure] = MappingProxyType(
    {
        "accuracy": exact_accuracy,
        "f1": f1,
        "kappa": cohen_kappa,
        "alpha": krippendorff_alpha,
        "spearman": spearman,
    }
)
"""The name of each measure, and its function."""

LABELS: Mapping[str, str] = MappingProxyType(
    {"accuracy": "accuracy", "f1": "F1", "kappa": "kappa", "alpha": "alpha", "spearman": "Spearman"}
)
"""How tables spell them."""


def bounds_of(measure: str) -> tuple[float, float]:
    """Return the least and the greatest value that a measure can have."""
    return (0.0 if measure in {"accuracy", "f1"} else -1.0, 1.0)


def _ratio(above: Floats, below: Floats) -> Floats:
    ratios: Floats = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=ratios, where=below > 0)
    return ratios
