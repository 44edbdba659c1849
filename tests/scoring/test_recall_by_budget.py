"""Tests that recall at every budget, computed in one pass, is what each budget alone gives."""

from itertools import product
from typing import get_args

from hypothesis import assume, given
from hypothesis import strategies as st

from doors import Coverage, OverLength, Ties, ceiling, ceilings_by_budget, check_answer, recalls_by_budget
from evidencebench import Ranking, Rules, aspect_recall
from kit.strategies import coverages, rankings

RULES = [Rules(over_length=one, ties=other) for one, other in product(get_args(OverLength), get_args(Ties))]


@given(st.one_of(rankings(), rankings(scored=True)), coverages(), st.sampled_from(RULES), st.integers(1, 10))
def test_each_point_is_the_recall_of_the_selection_at_that_budget_to_the_last_bit(
    ranking: Ranking, coverage: Coverage, rules: Rules, largest: int
) -> None:
    assume(coverage.n_aspects)
    checked = check_answer(ranking, 8, rules)
    expected = [aspect_recall(checked.selection(k), coverage) for k in range(1, largest + 1)]
    assert recalls_by_budget(checked, coverage, largest) == expected


@given(coverages(max_aspects=12, n_sentences=14), st.integers(1, 14))
def test_each_ceiling_is_the_proven_one_of_its_budget(coverage: Coverage, largest: int) -> None:
    assume(coverage.n_aspects)
    expected = [ceiling(coverage, k) / coverage.n_aspects for k in range(1, largest + 1)]
    assert ceilings_by_budget(coverage, largest) == expected


def test_a_failed_answer_covers_nothing_and_ceilings_of_nothing_coverable_are_0() -> None:
    coverage = Coverage(n_aspects=2, masks={3: 1})
    assert recalls_by_budget(check_answer(None, 5), coverage, 3) == [0.0, 0.0, 0.0]
    assert ceilings_by_budget(Coverage(n_aspects=2, masks={}), 2) == [0.0, 0.0]
