"""What the search over arrays closes cannot reach the target, whatever weights it begins with."""

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.data.optimum.array_search import ArraySearch, Nodes, matrix_of, narrowed
from evidencebench.data.optimum.branch_and_bound import OutOfNodesError, Search, union_of
from evidencebench.data.optimum.cover import Coverage
from examples import examples
from strategies import coverages, random_coverage


def selections(masks: list[int], size: int) -> list[tuple[int, ...]]:
    """Return all selections of at most ``size`` of the masks, as their positions."""
    return [chosen for count in range(size + 1) for chosen in combinations(range(len(masks)), count)]


@examples(200)
@given(coverages(max_aspects=8, n_sentences=8), st.data())
def test_no_node_and_no_sentence_is_closed_that_reaches_the_target(coverage: Coverage, data: st.DataObject) -> None:
    masks = list(coverage.masks.values())
    if not masks:
        return
    matrix = matrix_of(masks)
    n_aspects, n_sentences = matrix.shape
    size, n_nodes = data.draw(st.integers(1, n_sentences)), data.draw(st.integers(1, 4))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    nodes = Nodes(
        size=size,
        left=random.random((n_nodes, n_aspects)) < 0.8,
        open=random.random((n_nodes, n_sentences)) < 0.8,
        chosen=np.arange(n_nodes)[:, None],  # tells which of the nodes are left
        targets=random.integers(1, n_aspects + 1, n_nodes).astype(float),
        weights=random.integers(0, 2**20 + 1, (n_nodes, n_aspects)).astype(float),
    )
    after = narrowed(matrix, nodes, data.draw(st.integers(0, 5)))
    kept = dict(zip(after.chosen[:, 0].tolist(), after.open, strict=True))
    for node in range(n_nodes):
        left = sum(1 << aspect for aspect in np.flatnonzero(nodes.left[node]).tolist())
        for chosen in selections(masks, size):
            covered = (union_of(masks[position] for position in chosen) & left).bit_count()
            if nodes.open[node, list(chosen)].all() and covered >= nodes.targets[node]:
                assert node in kept
                assert kept[node][list(chosen)].all()


@examples(150)
@given(coverages(max_aspects=8, n_sentences=9), st.integers(0, 5), st.integers(0, 255), st.integers(0, 9))
def test_it_answers_as_the_search_over_masks_after_any_question(
    coverage: Coverage, size: int, universe: int, target: int
) -> None:
    masks, universe = list(coverage.masks.values()), universe & coverage.coverable
    search = ArraySearch(masks, max_work=10**9)
    for first in range(len(masks)):  # each question is asked with what the ones before have left
        answer = search.can_reach(universe, masks[first:], size, target)
        assert answer == Search(10**6).can_reach(universe, masks[first:], size, target)


@pytest.mark.parametrize("budget", [2, 4])
def test_what_it_finds_reaches_the_target_and_nothing_reaches_one_more(budget: int) -> None:
    for seed in range(5):
        coverage = random_coverage(Random(seed), 70, 24, 0.1)  # more aspects than bits of a machine's word
        masks, universe = list(coverage.masks.values()), coverage.coverable
        search, target = ArraySearch(masks, max_work=10**9), 1
        while found := search.reaching(universe, masks, budget, target):
            assert len(found) <= budget
            assert set(found) <= set(masks)
            covered = union_of(found).bit_count()
            assert covered >= target
            target = covered + 1
        assert not Search(10**7).can_reach(universe, masks, budget, target)


def test_work_is_counted_over_all_questions() -> None:
    coverage = random_coverage(Random(0), 30, 60, 0.1)
    question = (coverage.coverable, list(coverage.masks.values()), 1, coverage.n_aspects)
    work_of_one = 5 * coverage.n_aspects * len(coverage.masks)  # the first node's 100 steps, as of 5 nodes
    search = ArraySearch(coverage.masks.values(), max_work=3 * work_of_one)
    assert [search.reaching(*question) for _ in range(3)] == [None] * 3
    with pytest.raises(OutOfNodesError):
        search.reaching(*question)


def test_a_matrix_holds_what_the_masks_hold() -> None:
    assert matrix_of([0b101, 0b010, 1 << 70])[[0, 1, 2, 70]].tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert matrix_of([0b101, 0b010, 1 << 70]).sum() == 4
