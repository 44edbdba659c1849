"""Intervals, equivalence and power: against loops that resample one study at a time, and against known laws."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evidencebench.construction.people.agreement import (
    chance_to_show,
    equivalence_at,
    jackknife,
    power_of,
    student_quantile,
    studentised,
)
from evidencebench.construction.people.marks import PairSort, PairStatistic
from evidencebench.scoring.resampling import Resampling
from examples import examples

PAIRS: list[tuple[PairSort, int, int]] = [("human-human", 0, 1), ("human-model", 0, 2), ("human-model", 1, 2)]
KAPPA = PairStatistic(pairs=PAIRS, measures=("kappa",))
FEW = Resampling(seed=3, n_draws=400)


@cache
def sums(n_papers: int = 30, seed: int = 0, model: float = 0.8) -> np.ndarray:
    """Return the tables of what two people and a model say of papers of 150 sentences; 3 % are sources."""
    drawn = np.random.default_rng(seed)
    answers = np.array([[n >> 2 & 1, n >> 1 & 1, n & 1] for n in range(8)])
    found = np.stack([drawn.beta(6, 2, n_papers)] * 3, axis=1) * [1, 1, model / 0.8]
    of_source = np.where(answers == 1, found[:, None, :], 1 - found[:, None, :]).prod(2)
    of_rest = np.where(answers == 1, 0.005, 0.995).prod(1)
    counts = drawn.multinomial(150, 0.03 * of_source + 0.97 * of_rest).astype(np.float64)
    columns = np.zeros((8, 3, 4))
    for number, (_, first, second) in enumerate(PAIRS):
        columns[np.arange(8), number, 2 * answers[:, first] + answers[:, second]] = 1
    return counts @ columns.reshape(8, -1)


@given(st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(lambda drawn: sum(drawn) > 1))
@examples(100)
def test_the_jackknife_leaves_out_one_copy_of_one_paper_at_a_time(weights: list[int]) -> None:
    papers = sums(6)
    values, errors = jackknife(papers, np.array([weights], dtype=np.float64), KAPPA)
    copies = [paper for paper, n in zip(papers, weights, strict=True) for _ in range(n)]
    n = len(copies)
    without = [KAPPA(sum(copies[:out] + copies[out + 1 :], np.zeros(12))) for out in range(n)]
    expected = np.sqrt((n - 1) / n * sum((one - np.mean(without, axis=0)) ** 2 for one in without))
    np.testing.assert_allclose(values[0], KAPPA(sum(copies, np.zeros(12))), atol=1e-12)
    np.testing.assert_allclose(errors[0], expected, atol=1e-9)


def interval(papers: np.ndarray, which: int, level: float = 0.95) -> tuple[float, float]:
    found = studentised(papers, KAPPA, FEW).interval(which, level)
    assert found is not None
    return found


def test_studentised_intervals_are_those_of_a_loop() -> None:
    papers = sums()
    drawn = FEW.generator().multinomial(30, np.full(30, 1 / 30), size=FEW.n_draws).astype(np.float64)
    values, errors = jackknife(papers, np.ones((1, 30)), KAPPA)
    deviations = []
    for weights in drawn:
        value, error = jackknife(papers, weights[None], KAPPA)
        deviations.append(((value - values) / error)[0])
    for which in range(len(values[0])):
        low, high = np.quantile(np.array(deviations)[:, which], [0.025, 0.975])
        expected = (values[0, which] - high * errors[0, which], values[0, which] - low * errors[0, which])
        np.testing.assert_allclose(interval(papers, which), expected)


def test_the_order_of_raters_changes_nothing() -> None:
    papers = sums()
    swapped = np.concatenate([papers[:, [0, 2, 1, 3]], papers[:, 8:12], papers[:, 4:8]], axis=1)
    for which in (-3, -2, -1):
        np.testing.assert_allclose(interval(papers, which), interval(swapped, which), atol=1e-9)


def test_papers_without_marks_leave_no_interval_and_none_is_invented() -> None:
    one_paper_has_all = np.zeros((10, 12))
    one_paper_has_all[:, [0, 4, 8]] = 50
    one_paper_has_all[0, [3, 7, 11]] = 5
    one_paper_has_all[0, [1, 5, 9]] = 2
    found = studentised(one_paper_has_all, KAPPA, FEW)
    assert found.values[0] > 0
    assert found.interval(0, 0.95) is None
    assert found.p_value(0, 0.0, is_above=True) is None
    assert equivalence_at(found, -1, 0.1).p_value is None


def test_equivalence_is_shown_where_the_interval_lies_within_the_margin() -> None:
    found = studentised(sums(), KAPPA, FEW)
    low, high = interval(sums(), -1, 0.9)
    widest = max(abs(low), abs(high))
    assert equivalence_at(found, -1, widest * 1.02).is_shown
    assert not equivalence_at(found, -1, widest * 0.98).is_shown
    p_values = [equivalence_at(found, -1, margin).p_value or 0.0 for margin in (0.01, 0.05, 0.1, 0.5)]
    assert p_values == sorted(p_values, reverse=True)


def test_a_model_that_agrees_better_is_not_worse_but_not_equivalent() -> None:
    better = sums().copy()
    better[:, 4:] = np.tile(better[:, 4:].sum(1)[:, None] / 4 * [1, 0, 0, 1], 2)  # the model says what each person says
    found = equivalence_at(studentised(better, KAPPA, FEW), -1, 0.05)
    assert (found.is_shown, found.is_not_worse) == (False, True)
    worse = equivalence_at(studentised(sums(model=0.3), KAPPA, FEW), -1, 0.05)
    assert (worse.is_shown, worse.is_not_worse) == (False, False)


def test_power_is_what_the_normal_distribution_says_for_many_papers() -> None:
    n, margin = 400, 0.03
    papers = sums()
    _, errors = jackknife(papers, np.ones((1, 30)), KAPPA)
    # The jackknife divides by n - 1, a study of n papers drawn from these by their number.
    error = errors[0, -1] * math.sqrt(29 / n)
    reach = margin / error - student_quantile(0.95, n - 1)
    expected = 2 * stats.norm.cdf(reach) - 1
    assert abs(chance_to_show(papers, KAPPA, n=n, margin=margin, difference=0.0, seed=0) - expected) < 0.06


def test_the_papers_that_are_needed_have_the_power() -> None:
    found = power_of(sums(), KAPPA, margin=0.06)
    assert found.needed is not None
    for n, is_enough in ((found.needed, True), (found.needed * 0.9, False)):
        chance = chance_to_show(sums(), KAPPA, n=int(n), margin=0.06, difference=0.0, seed=0)
        assert (chance >= 0.8) is is_enough


@pytest.mark.parametrize("n", [10, 30])
def test_papers_that_are_all_alike_allow_no_estimate_of_power(n: int) -> None:
    assert power_of(np.repeat(sums(1), n, axis=0), KAPPA, margin=0.05).now is None
