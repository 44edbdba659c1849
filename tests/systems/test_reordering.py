"""Redundancy-aware orders equal a slow and obvious reference, and cope with ties, constants and nothing at all."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from evidencebench.systems.diverse import MOST_CHOSEN, Rows, discounted_order
from evidencebench.systems.fusion import Floats, unit_scores

Pairs = list[list[float]]

# Few values, so that ties abound; quarters and eighths, so that products are exact.
fractions = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)
similarities = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1).map(lambda value: round(value, 9))


def rows_of(pairs: ArrayLike) -> Rows:
    return np.asarray(pairs, dtype=np.float64).__getitem__


@st.composite
def scored_pairs(draw: st.DrawFn) -> tuple[list[float], Pairs]:
    scores = draw(st.lists(fractions, max_size=8))
    size = len(scores)
    rows = st.lists(similarities, min_size=size, max_size=size)
    return scores, draw(st.lists(rows, min_size=size, max_size=size))


def slowly_discounted(scores: Sequence[float], similarity: Pairs, strength: float) -> tuple[int, ...]:
    chosen: list[int] = []
    while len(chosen) < len(scores):
        value = dict(enumerate(scores))
        for index in value:
            for other in chosen:
                value[index] *= 1 - strength * similarity[other][index]
        unchosen = [index for index in value if index not in chosen]
        chosen.append(min(unchosen, key=lambda index: (-value[index], -scores[index], index)))
    return tuple(chosen)


@given(scored_pairs(), fractions)
def test_discounting_equals_the_definition(drawn: tuple[list[float], Pairs], strength: float) -> None:
    scores, similarity = drawn
    assert discounted_order(scores, rows_of(similarity), strength=strength) == slowly_discounted(
        scores, similarity, strength
    )


@pytest.mark.parametrize(
    ("scores", "similarity", "message"),
    [
        ([0.5, math.nan], np.eye(2), "sentence 1: expected a finite score, got nan"),
        ([0.5, -1.0], np.eye(2), r"expected scores of at least 0, got -1\.0"),
        ([[0.5]], np.eye(1), r"expected one score a sentence, got an array of shape \(1, 1\)"),
        ([0.5, 0.4], np.full((2, 2), np.nan), "similarity: expected numbers, got NaN"),
        ([0.5, 0.4], np.zeros((2, 3)), r"similarity: expected rows of 2 numbers, got shape \(3,\)"),
    ],
)
def test_what_cannot_be_ordered_is_refused(scores: list[float], similarity: Floats, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        discounted_order(scores, rows_of(similarity))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_scores_of_any_size_are_brought_to_the_unit_without_swapping_any(scores: list[float]) -> None:
    unit = unit_scores(scores)
    assert unit.max() == 1
    assert unit.min() == (0 if unit_scores(scores).min() < 1 else 1)
    order = np.argsort(scores, kind="stable")
    assert (np.diff(unit[order]) >= 0).all()


def test_behind_the_most_that_are_chosen_one_by_one_the_others_follow_by_their_value_then() -> None:
    random = np.random.default_rng(0)
    n = MOST_CHOSEN + 50
    scores, similarity = random.random(n), random.random(n).round(9)
    alike = np.arange(n) % 7
    order = discounted_order(scores, lambda index: np.where(alike == alike[index], similarity, 0.0), strength=0.1)
    left, chosen = scores.copy(), list[int]()
    for _ in range(MOST_CHOSEN):
        chosen.append(int(np.argmax(np.where(np.isin(np.arange(n), chosen), -1.0, left))))
        left *= 1 - 0.1 * np.where(alike == alike[chosen[-1]], similarity, 0.0)
    others = [index for index in range(n) if index not in set(chosen)]
    assert list(order[:MOST_CHOSEN]) == chosen
    assert list(order[MOST_CHOSEN:]) == sorted(others, key=lambda index: -left[index])
