"""Every measure of agreement is what the well-kept libraries say, and undefined where they divide by 0."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score

from evidencebench.construction.people.agreement import student_quantile
from evidencebench.construction.people.marks import (
    alpha_of_counts,
    cohen_kappa,
    exact_accuracy,
    f1,
    krippendorff_alpha,
    spearman,
)
from examples import examples

tables = st.tuples(*[st.integers(0, 60)] * 4).map(lambda cells: np.array(cells, dtype=np.float64))


def answers_of(table: np.ndarray) -> tuple[list[int], list[int]]:
    """Return what two raters say, from how often each combination occurs."""
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    both = [pair for pair, n in zip(pairs, table.astype(int), strict=True) for _ in range(n)]
    return [one for one, _ in both], [other for _, other in both]


@given(tables)
@examples(300)
def test_accuracy_f1_kappa_and_the_correlation_are_those_of_scikit_learn_and_scipy(table: np.ndarray) -> None:
    assume(table.sum() > 1)
    first, second = answers_of(table)
    assert math.isclose(exact_accuracy(table), accuracy_score(first, second))
    for measure, is_defined, theirs in (
        (f1, any(first) or any(second), f1_score),
        (cohen_kappa, len({*first, *second}) > 1, cohen_kappa_score),
        (spearman, len(set(first)) > 1 and len(set(second)) > 1, lambda *both: stats.spearmanr(*both).statistic),
    ):
        if is_defined:
            assert math.isclose(measure(table), theirs(first, second), abs_tol=1e-9)
        else:
            assert np.isnan(measure(table))


@given(st.lists(st.lists(st.sampled_from([0, 1, None]), min_size=3, max_size=3), min_size=2, max_size=30))
@examples(200)
def test_alpha_of_several_raters_is_that_of_krippendorffs_library(units: list[list[int | None]]) -> None:
    krippendorff = pytest.importorskip("krippendorff", reason="needs krippendorff, of the extra test")
    judged = [[one for one in unit if one is not None] for unit in units]
    paired = [unit for unit in judged if len(unit) > 1]
    assume(len({one for unit in paired for one in unit}) == 2)
    counts = np.zeros(3)
    for unit in paired:
        m, u = len(unit), sum(unit)
        counts += [u * (m - u) / (m - 1), m - u, u]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = krippendorff.alpha(
            reliability_data=np.array([[np.nan if one is None else one for one in unit] for unit in units]).T,
            level_of_measurement="nominal",
        )
    assert math.isclose(alpha_of_counts(counts), expected, abs_tol=1e-9)


def test_alpha_of_two_raters_is_that_of_a_table_worked_by_hand() -> None:
    # 100 sentences: 90 marked by neither, 2 by the second alone, 3 by the first alone, 5 by both.
    # Pooled: 15 marks of 200; by chance 2 x 15 x 185 / (200 x 199) differ.
    expected = 1 - 0.05 / (2 * 15 * 185 / (200 * 199))
    assert math.isclose(krippendorff_alpha(np.array([90.0, 2.0, 3.0, 5.0])), expected)


@given(st.floats(0.5, 0.99), st.integers(9, 20_000))
@examples(100)
def test_the_quantiles_of_student_are_those_of_scipy(share: float, degrees: int) -> None:
    assert math.isclose(student_quantile(share, degrees), stats.t.ppf(share, degrees), abs_tol=1e-3)
