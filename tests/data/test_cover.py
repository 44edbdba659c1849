"""The oracle equals exhaustive search and an integer programming solver, and nothing unproven passes for exact."""

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import Cover, Coverage, UndefinedScoreError, ceiling, coverage_from, derive_optima, greedy_ranking
from evidencebench import TASKS, Dataset, coverage_of, maximum_coverage, minimum_cover
from kit.examples import examples
from kit.strategies import coverages, random_coverage

TRIANGLE = coverage_from({"a": [0, 1], "b": [1, 2], "c": [0, 2]})


def exhaustive(coverage: Coverage, budget: int) -> tuple[int, ...]:
    """Return the canonical choice: sizes ascend, each size is in lexicographic order, and max keeps the first."""
    sizes = range(min(budget, len(coverage.masks)) + 1)
    choices = (choice for size in sizes for choice in combinations(coverage.masks, size))
    return max(choices, key=lambda choice: coverage.mask_of(choice).bit_count())


def covered(coverage: Coverage, sentences: tuple[int, ...]) -> int:
    return coverage.mask_of(sentences).bit_count()


def optimum(coverage: Coverage, budget: int | None, **options: int) -> Cover:
    return minimum_cover(coverage, **options) if budget is None else maximum_coverage(coverage, budget, **options)


@examples(800)
@given(coverages(max_aspects=9, n_sentences=10), st.none() | st.integers(0, 5))
def test_the_optimum_is_the_canonical_choice_of_exhaustive_search(coverage: Coverage, budget: int | None) -> None:
    cover = optimum(coverage, budget)
    assert cover.sentences == exhaustive(coverage, len(coverage.masks) if budget is None else budget)
    assert cover.n_covered == covered(coverage, cover.sentences)
    assert cover.proven


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


@given(coverages(), st.integers(0, 5))
def test_the_ceiling_is_what_a_maximum_coverage_covers(coverage: Coverage, budget: int) -> None:
    assert ceiling(coverage, budget) == maximum_coverage(coverage, budget).n_covered
    assert ceiling(coverage, None) == coverage.coverable.bit_count()


@examples(60)
@given(coverages(max_aspects=9, n_sentences=12), st.integers(0, 5), st.sampled_from([0, 4_000]))
def test_no_sentence_of_a_maximum_coverage_adds_nothing(coverage: Coverage, budget: int, max_nodes: int) -> None:
    chosen = maximum_coverage(coverage, budget, max_nodes=max_nodes).sentences
    for left_out in chosen:
        assert covered(coverage, tuple(index for index in chosen if index != left_out)) < covered(coverage, chosen)


@pytest.mark.slow
@pytest.mark.parametrize("n_aspects", [30, 40])
@pytest.mark.parametrize("budget", [None, 5, 10])
def test_an_integer_programming_solver_finds_nothing_better(n_aspects: int, budget: int | None) -> None:
    """Papers of the data set have at most 30 aspects; in its shape, the hardest have twice as many sources."""
    random = Random(0)
    for _ in range(3):
        sources = {f"a{n}": random.sample(range(4 + 2 * n_aspects), random.randint(1, 6)) for n in range(n_aspects)}
        coverage = coverage_from(sources)
        cover = optimum(coverage, budget)
        assert cover.proven
        assert value_by_highs(coverage, budget) == (len(cover.sentences) if budget is None else cover.n_covered)


def value_by_highs(coverage: Coverage, budget: int | None) -> int:
    """Return the fewest sentences for all coverable aspects, or the most aspects for a budget, by scipy and HiGHS."""
    milp = pytest.importorskip("scipy.optimize", reason="needs scipy")
    columns = list(coverage.masks.values())
    held = np.array([[mask >> aspect & 1 for mask in columns] for aspect in range(coverage.n_aspects)], dtype=float)
    held = held[held.any(axis=1)]
    n_aspects, n_sentences = held.shape
    if budget is None:
        cost, constraints = np.ones(n_sentences), [milp.LinearConstraint(held, lb=1)]
    else:
        cost = np.concatenate([np.zeros(n_sentences), -np.ones(n_aspects)])
        spent = np.concatenate([np.ones(n_sentences), np.zeros(n_aspects)])[None, :]
        constraints = [
            milp.LinearConstraint(np.hstack([held, -np.eye(n_aspects)]), lb=0),
            milp.LinearConstraint(spent, ub=budget),
        ]
    found = milp.milp(cost, constraints=constraints, integrality=np.ones(len(cost)), bounds=milp.Bounds(0, 1))
    return abs(round(float(found.fun)))


def test_an_optimum_whose_proof_cannot_finish_is_not_passed_off_as_exact() -> None:
    cover = minimum_cover(TRIANGLE, max_nodes=0)
    assert (cover.sentences, cover.n_covered, cover.proven) == ((0, 1), 3, False)
    assert not maximum_coverage(TRIANGLE, 1, max_nodes=0).proven
    with pytest.raises(UndefinedScoreError, match=r"1 sentences .*proven"):
        ceiling(TRIANGLE, 1, max_nodes=0)


@pytest.mark.parametrize("budget", [None, 5])
def test_with_more_nodes_a_selection_is_proven_and_the_same_from_then_on(budget: int | None) -> None:
    coverage = random_coverage(Random(7), 30, 40, 0.12)
    covers = [optimum(coverage, budget, max_nodes=2**power) for power in range(15)]
    states = [cover.proven for cover in covers]
    assert states == sorted(states)
    assert set(states) == {False, True}
    assert {cover.sentences for cover in covers if cover.proven} == {covers[-1].sentences}
    assert all(cover.n_covered <= covers[-1].n_covered for cover in covers)


def test_a_cover_whose_sentences_are_all_forced_needs_no_search() -> None:
    cover = minimum_cover(coverage_from({f"a{n}": [n] for n in range(400)}), max_nodes=0)
    assert (cover.sentences, cover.proven) == (tuple(range(400)), True)


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
