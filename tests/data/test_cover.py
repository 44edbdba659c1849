"""The oracle equals exhaustive search, its two methods agree, and nothing unproven passes for exact."""

import sys
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evidencebench.data.dataset import Dataset
from evidencebench.data.optima import derive_optima
from evidencebench.data.optimum import integer_program
from evidencebench.data.optimum.branch_and_bound import union_of
from evidencebench.data.optimum.cover import (
    Coverage,
    ceiling,
    coverage_from,
    coverage_of,
    greedy_ranking,
    maximum_coverage,
    minimum_cover,
)
from evidencebench.data.tasks import TASKS
from evidencebench.errors import MissingExtraError, UndefinedScoreError
from examples import IS_THOROUGH, examples
from strategies import coverages, random_coverage

TRIANGLE = coverage_from({"a": [0, 1], "b": [1, 2], "c": [0, 2]})
GREEDY_TRAP = coverage_from({"a": [0, 2], "b": [0, 2], "c": [0], "d": [1, 2], "e": [1, 2], "f": [1]})


def exhaustive(coverage: Coverage, budget: int) -> tuple[int, ...]:
    """Return the canonical choice: sizes ascend, each size is in lexicographic order, and max keeps the first."""
    sizes = range(min(budget, len(coverage.masks)) + 1)
    choices = (choice for size in sizes for choice in combinations(coverage.masks, size))
    return max(choices, key=lambda choice: coverage.mask_of(choice).bit_count())


def covered(coverage: Coverage, sentences: tuple[int, ...]) -> int:
    return coverage.mask_of(sentences).bit_count()


@examples(400)
@given(coverages(max_aspects=9, n_sentences=10))
def test_the_minimum_cover_is_the_canonical_choice_of_exhaustive_search(coverage: Coverage) -> None:
    cover = minimum_cover(coverage)
    assert cover.sentences == exhaustive(coverage, len(coverage.masks))
    assert cover.n_covered == coverage.coverable.bit_count()
    assert cover.proven
    assert cover.canonical


@examples(400)
@given(coverages(max_aspects=9, n_sentences=10), st.integers(0, 5))
def test_a_maximum_coverage_is_the_canonical_choice_of_exhaustive_search(coverage: Coverage, budget: int) -> None:
    cover = maximum_coverage(coverage, budget)
    assert cover.sentences == exhaustive(coverage, budget)
    assert cover.n_covered == covered(coverage, cover.sentences)
    assert cover.proven
    assert cover.canonical


def test_the_search_gives_up_the_right_aspects_where_the_budget_is_short() -> None:
    for seed in range(400):
        coverage = random_coverage(Random(seed), n_aspects=12, n_sentences=14, density=0.15)
        assert maximum_coverage(coverage, 3).sentences == exhaustive(coverage, 3)


@given(coverages(max_aspects=9, n_sentences=12), st.integers(0, 6))
def test_greedy_is_never_better_than_the_optimum(coverage: Coverage, budget: int) -> None:
    greedy = greedy_ranking(coverage)
    assert covered(coverage, greedy) == coverage.coverable.bit_count()
    assert len(greedy) >= len(minimum_cover(coverage).sentences)
    assert covered(coverage, greedy[:budget]) <= maximum_coverage(coverage, budget).n_covered


def test_greedy_needs_a_sentence_more_where_the_optimum_leaves_the_largest_out() -> None:
    assert greedy_ranking(GREEDY_TRAP) == (2, 0, 1)
    assert minimum_cover(GREEDY_TRAP).sentences == (0, 1)


@given(coverages(max_aspects=9, n_sentences=12))
def test_a_larger_budget_never_covers_less_until_the_minimum_cover_covers_all(coverage: Coverage) -> None:
    size = len(minimum_cover(coverage).sentences)
    most = [maximum_coverage(coverage, budget).n_covered for budget in range(size + 2)]
    assert most == sorted(most)
    assert most[size] == coverage.coverable.bit_count()
    assert all(fewer < most[size] for fewer in most[:size])


@given(coverages(), st.integers(0, 5))
def test_the_ceiling_is_what_a_maximum_coverage_covers(coverage: Coverage, budget: int) -> None:
    assert ceiling(coverage, budget) == maximum_coverage(coverage, budget).n_covered
    assert ceiling(coverage, None) == coverage.coverable.bit_count()


@examples(40)
@given(coverages(max_aspects=9, n_sentences=12), st.integers(1, 4))
def test_the_solver_agrees_with_the_search_and_is_proven(coverage: Coverage, budget: int) -> None:
    assume(coverage.masks)
    solved, searched = minimum_cover(coverage, max_nodes=0), minimum_cover(coverage)
    # Where every sentence is forced, no node is needed and none is handed over.
    assert (solved.method, solved.canonical) in {("milp", False), ("search", True)}
    assert solved.proven
    assert len(solved.sentences) == len(searched.sentences)
    assert solved.n_covered == searched.n_covered
    most = maximum_coverage(coverage, budget, max_nodes=0)
    assert most.proven
    assert most.n_covered == maximum_coverage(coverage, budget).n_covered == ceiling(coverage, budget, max_nodes=0)
    assert len(most.sentences) <= budget


@examples(60)
@given(coverages(max_aspects=9, n_sentences=12), st.integers(0, 5), st.sampled_from([0, 4_000]))
def test_no_sentence_of_a_maximum_coverage_adds_nothing(coverage: Coverage, budget: int, max_nodes: int) -> None:
    chosen = maximum_coverage(coverage, budget, max_nodes=max_nodes).sentences
    for left_out in chosen:
        assert covered(coverage, tuple(index for index in chosen if index != left_out)) < covered(coverage, chosen)


def upper_bound(coverage: Coverage, size: int) -> int:
    """Give the bound of a solver that remembers nothing."""
    universe = coverage.coverable
    bound = integer_program.LinearBound(universe.bit_length())
    return bound(universe, list(coverage.masks.values()), size, universe.bit_count() + 1)


@given(
    coverages(),
    st.integers(1, 4),
    st.lists(st.floats(-1, 2), min_size=6, max_size=6),
)
def test_the_upper_bound_is_never_below_the_truth_whatever_multipliers_the_solver_gives(
    coverage: Coverage, size: int, multipliers: list[float]
) -> None:
    assume(coverage.masks)
    n_coverable = coverage.coverable.bit_count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(integer_program, "_multipliers", lambda _matrix, _size: np.array(multipliers[:n_coverable]))
        bound = upper_bound(coverage, size)
    assert bound >= covered(coverage, exhaustive(coverage, size))


@examples(40)
@given(coverages(max_aspects=8, n_sentences=9), st.integers(1, 4))
def test_the_upper_bound_of_the_linear_relaxation_is_never_below_the_truth(coverage: Coverage, size: int) -> None:
    assume(coverage.masks)
    bound = upper_bound(coverage, size)
    assert covered(coverage, exhaustive(coverage, size)) <= bound <= coverage.coverable.bit_count()


def test_remembered_multipliers_bound_as_truly_as_new_ones() -> None:
    coverage = random_coverage(Random(3), 12, 14, 0.3)
    universe, masks = coverage.coverable, list(coverage.masks.values())
    bound = integer_program.LinearBound(universe.bit_length())
    for left in range(1, universe, 97):
        for size in (1, 2, 3):
            most = max((union_of(chosen) & universe & left).bit_count() for chosen in combinations(masks, size))
            assert bound(universe & left, masks, size, most + 1) >= most


HARD = [(60, 200, 0.05, 14), (60, 200, 0.1, 9)] if IS_THOROUGH else [(40, 120, 0.1, 8), (50, 150, 0.08, 10)]


@pytest.mark.slow
@pytest.mark.parametrize(("n_aspects", "n_sentences", "density", "minimum"), HARD)
def test_hard_covers_are_solved_and_proven(n_aspects: int, n_sentences: int, density: float, minimum: int) -> None:
    coverage = random_coverage(Random(0), n_aspects, n_sentences, density)
    cover = minimum_cover(coverage)
    assert (len(cover.sentences), cover.n_covered, cover.proven) == (minimum, n_aspects, True)
    assert cover.method == "milp"
    most = maximum_coverage(coverage, minimum - 1)
    assert most.proven
    assert most.n_covered < n_aspects


def test_an_optimum_whose_proof_cannot_finish_is_not_passed_off_as_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_program, "_MAX_PROOF_NODES", 0)
    cover = minimum_cover(TRIANGLE, max_nodes=0)
    assert (len(cover.sentences), cover.n_covered, cover.proven, cover.method) == (2, 3, False, "milp")
    assert not maximum_coverage(TRIANGLE, 1, max_nodes=0).proven
    with pytest.raises(UndefinedScoreError, match="the most aspects that 1 sentences cover could not be proven"):
        ceiling(TRIANGLE, 1, max_nodes=0)


@pytest.mark.parametrize("budget", [None, 1, 2, 3])
def test_a_wrong_answer_of_the_solver_is_never_proven(monkeypatch: pytest.MonkeyPatch, budget: int | None) -> None:
    monkeypatch.setattr(integer_program, "_milp", lambda _universe, _columns, budget: [1, 0, 2][:budget])
    sentences, proven = integer_program.solve(GREEDY_TRAP.coverable, GREEDY_TRAP.masks, budget)
    best = exhaustive(GREEDY_TRAP, budget or 3)
    is_optimal = covered(GREEDY_TRAP, sentences) == covered(GREEDY_TRAP, best) and (
        budget is not None or len(sentences) == len(best)
    )
    assert proven == is_optimal


def test_without_scipy_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    assert minimum_cover(GREEDY_TRAP).proven
    with pytest.raises(MissingExtraError, match=r"pip install 'evidencebench\[solver\]'"):
        minimum_cover(TRIANGLE, max_nodes=0)
    with pytest.raises(MissingExtraError, match=r"pip install 'evidencebench\[solver\]'"):
        maximum_coverage(TRIANGLE, 1, max_nodes=0)


def test_a_cover_whose_sentences_are_all_forced_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    cover = minimum_cover(coverage_from({f"a{n}": [n] for n in range(400)}))
    assert (cover.sentences, cover.method) == (tuple(range(400)), "search")


@pytest.mark.data
def test_all_382_published_optima_are_reproduced(train: Dataset) -> None:
    n_reproduced = 0
    for instance in train:
        derived = derive_optima(instance)
        stored = instance.labels.evaluations
        assert not derived.unproven
        assert derived.evaluations.keys() == stored.keys()
        for task, evaluation in derived.evaluations.items():
            assert evaluation.optimal == stored[task].optimal
            assert len(evaluation.sentences) == len(stored[task].sentences)
            assert len(evaluation.covered) == len(stored[task].covered)
            n_reproduced += 1
    assert n_reproduced == 96 + 96 + 95 + 95


@pytest.mark.data
def test_the_published_selections_cover_exactly_what_they_say(train: Dataset) -> None:
    for instance in train:
        for task, stored in instance.labels.evaluations.items():
            aspects = instance.labels.that_count(TASKS[task].scope)
            mask = coverage_of(instance.labels, TASKS[task].scope).mask_of(stored.sentences)
            assert {aspect for bit, aspect in enumerate(aspects) if mask >> bit & 1} == set(stored.covered)
