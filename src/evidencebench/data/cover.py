"""The exact oracle: the fewest sentences that cover every aspect, and the most aspects that k sentences cover.

Both problems are NP-hard; on papers they are small. Of all optima the canonical one is chosen: of the smallest optimal
selections, the one whose sorted indices come first in lexicographic order. It depends on the labels alone, so any other
exact program can check it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from evidencebench.data.branch_and_bound import OutOfNodesError, Search, first_reaching, greedy_count, union_of
from evidencebench.data.instance import Labels
from evidencebench.errors import UndefinedScoreError
from evidencebench.query import AspectScope
from evidencebench.wording import check_type, counted, one_line

# Papers need at most 1,000; twice the most aspects of any, 60, need up to this many, in half a minute.
DEFAULT_NODES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which of the ``n_aspects`` that count, coverable or not, each sentence covers.

    ``masks`` is sentence index -> bit mask of the aspects it covers (bit j is the j-th aspect that counts), in
    ascending order of the index; sentences that cover none are absent.
    """

    n_aspects: int
    masks: Mapping[int, int]
    coverable: int = field(init=False, compare=False)  # bit mask of the aspects that at least one sentence covers
    # The optima that were computed: an instance's tasks, and the oracle, ask for them again and again.
    optima: dict[tuple[int | None, int], Any] = field(init=False, compare=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "coverable", union_of(self.masks.values()))

    def __repr__(self) -> str:
        return one_line(self, counted(self.n_aspects, "aspect"), f"{counted(len(self.masks), 'sentence')} cover any")

    def mask_of(self, sentences: Iterable[int]) -> int:
        return union_of(map(self.masks.get, sentences, repeat(0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """The canonical optimum; where it could not be proven, the greedy selection."""

    sentences: tuple[int, ...]  # indices, ascending
    n_covered: int  # aspects, recounted from the labels
    proven: bool = True  # that no selection does better


def coverage_of(labels: Labels, scope: AspectScope = "all") -> Coverage:
    """Return which aspects each sentence covers, for the aspects in ``scope``; computed once for the same labels."""
    check_type(labels, Labels, "the labels of an instance, such as load_sample()[0].labels")
    coverage: Coverage | None = labels.coverages.get(scope)
    if coverage is None:
        coverage = coverage_from({aspect: labels.sources.get(aspect, ()) for aspect in labels.that_count(scope)})
        labels.coverages[scope] = coverage
    return coverage


def coverage_from(sources: Mapping[str, Iterable[int]]) -> Coverage:
    """Return the coverage of plain sources: aspect -> indices of the sentences that cover it.

    >>> coverage_from({"a": [4, 7], "b": [7]}).masks
    {4: 1, 7: 3}
    """
    masks: dict[int, int] = {}
    for position, sentences in enumerate(sources.values()):
        bit = 1 << position
        for index in sentences:
            masks[index] = masks.get(index, 0) | bit
    return Coverage(n_aspects=len(sources), masks=dict(sorted(masks.items())))


def minimum_cover(coverage: Coverage, *, max_nodes: int = DEFAULT_NODES) -> Cover:
    """Return the fewest sentences that cover every coverable aspect.

    Parameters
    ----------
    coverage
        Which aspects each sentence covers; aspects without a sentence are ignored.
    max_nodes
        Nodes of the search, after which the greedy selection is returned as not proven.

    Examples
    --------
    Greedy would take sentence 2 first and then need two more:

    >>> sources = {"a": [0, 2], "b": [0, 2], "c": [0], "d": [1, 2], "e": [1, 2], "f": [1]}
    >>> minimum_cover(coverage_from(sources)).sentences
    (0, 1)
    """
    check_type(coverage, Coverage, "what coverage_of returns")
    cover: Cover | None = coverage.optima.get((None, max_nodes))
    if cover is None:
        universe = coverage.coverable
        try:
            size = Search(max_nodes).minimum_size(universe, coverage.masks.values())
            cover = _first_optimum(coverage, max_nodes, size, universe.bit_count())
        except (OutOfNodesError, RecursionError):
            cover = _unproven(coverage, None)
        coverage.optima[None, max_nodes] = cover
    return cover


def maximum_coverage(coverage: Coverage, budget: int, *, max_nodes: int = DEFAULT_NODES) -> Cover:
    """Return at most ``budget`` sentences that cover as many aspects as ``budget`` sentences can.

    The selection holds no sentence that adds nothing, so it is shorter than the budget where fewer suffice.

    Parameters
    ----------
    coverage
        Which aspects each sentence covers.
    budget
        How many sentences may be selected, at least 0.
    max_nodes
        As of `minimum_cover`.

    Raises
    ------
    ValueError
        If the budget is negative.

    Examples
    --------
    >>> sources = {"a": [0, 2], "b": [0, 2], "c": [0], "d": [1, 2], "e": [1, 2], "f": [1]}
    >>> best = maximum_coverage(coverage_from(sources), 1)
    >>> best.sentences, best.n_covered
    ((2,), 4)
    """
    if budget < 0:
        raise ValueError(f"expected a budget of at least 0, got {budget}")
    try:
        most = _most_covered(coverage, budget, max_nodes)
        if most < coverage.coverable.bit_count():
            return _first_optimum(coverage, max_nodes, budget, most)
    except (OutOfNodesError, RecursionError):
        return _unproven(coverage, budget)
    cover = minimum_cover(coverage, max_nodes=max_nodes)
    return cover if cover.proven else _unproven(coverage, budget)


def ceiling(coverage: Coverage, budget: int | None, *, max_nodes: int = DEFAULT_NODES) -> int:
    """Return the most aspects that ``budget`` sentences can cover (None: any number of sentences).

    The value of `maximum_coverage` without its selection, which is quicker; raises `UndefinedScoreError` where it could
    not be proven.

    >>> ceiling(coverage_from({"a": [0], "b": [1], "c": []}), 1)
    1
    """
    if budget is None:
        return coverage.coverable.bit_count()
    try:
        return _most_covered(coverage, budget, max_nodes)
    except (OutOfNodesError, RecursionError):
        raise UndefinedScoreError(f"the most aspects that {budget} sentences cover could not be proven") from None


def greedy_ranking(coverage: Coverage) -> tuple[int, ...]:
    """Return sentences in the order in which greedy cover takes them, until every coverable aspect is covered.

    The largest gain first, ties to the lowest index: within 1 - 1/e of `maximum_coverage` at every budget (Nemhauser,
    Wolsey and Fisher, "An analysis of approximations for maximizing submodular set functions", 1978).
    """
    left = coverage.coverable
    chosen: list[int] = []
    while left:
        index = max(coverage.masks, key=lambda index: ((coverage.masks[index] & left).bit_count(), -index))
        chosen.append(index)
        left &= ~coverage.masks[index]
    return tuple(chosen)


def _most_covered(coverage: Coverage, budget: int, max_nodes: int) -> int:
    check_type(coverage, Coverage, "what coverage_of returns")
    most: int | None = coverage.optima.get((budget, max_nodes))
    if most is None:
        masks, universe, search = list(coverage.masks.values()), coverage.coverable, Search(max_nodes)
        most = universe.bit_count()
        is_all = budget >= most or greedy_count(universe, masks, budget) == most
        if not is_all and not search.can_reach(universe, masks, budget, most):
            most = search.most_covered(universe, masks, budget)
        coverage.optima[budget, max_nodes] = most
    return most


def _first_optimum(coverage: Coverage, max_nodes: int, size: int, target: int) -> Cover:
    sentences = first_reaching(Search(max_nodes), coverage.coverable, coverage.masks, size, target)
    return Cover(sentences=sentences, n_covered=coverage.mask_of(sentences).bit_count())


def _unproven(coverage: Coverage, budget: int | None) -> Cover:
    """Return the greedy selection of at most ``budget`` sentences (None: any number)."""
    sentences = tuple(sorted(greedy_ranking(coverage)[:budget]))
    return Cover(sentences=sentences, n_covered=coverage.mask_of(sentences).bit_count(), proven=False)
