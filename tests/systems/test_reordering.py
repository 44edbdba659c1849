"""Redundancy-aware orders equal a slow and obvious reference, and cope with ties, constants and nothing at all."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from evidencebench.systems.diverse import MOST_CHOSEN, Rows, discounted_order
from evidencebench.systems.fusion import unit_scores

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
    order = discounted_order(np.array(scores), rows_of(similarity), strength=strength)
    assert order == slowly_discounted(scores, similarity, strength)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_scores_of_any_size_are_brought_to_the_unit_without_swapping_any(scores: list[float]) -> None:
    unit = unit_scores(np.array(scores))
    assert unit.max() == 1
    assert unit.min() in {0, 1}
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
