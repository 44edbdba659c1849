"""The exact oracle: the fewest sentences that cover every aspect, and the most aspects that k sentences cover.

Both problems are NP-hard; on papers they are small. `minimum_cover` and `maximum_coverage` search over bit masks, which
is quickest for these. Where that runs out of nodes, `evidencebench.data.optimum.array_search` takes over. Both searches
are exact, and both choose the same selection.

The choice among optima is canonical: of the smallest optimal selections, the one whose sorted indices come
first in lexicographic order. It depends on the labels alone, so any other exact program can check it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat

from evidencebench.data.instance import Labels
from evidencebench.data.optimum.array_search import ArraySearch
from evidencebench.data.optimum.branch_and_bound import OutOfNodesError, Search, first_reaching, greedy_count, union_of
from evidencebench.errors import UndefinedScoreError
from evidencebench.query import AspectScope
from evidencebench.wording import counted, one_line

# Of the search over bit masks.
DEFAULT_NODES = 1_000
# Of the search over arrays: a minute or so, of 800,000 nodes with 60 aspects and 200 sentences.
DEFAULT_WORK = 10**10
# The optima that are kept: an instance's tasks, and the oracle, ask for those of its two scopes again and again.
_N_KEPT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which of the ``n_aspects`` that count, coverable or not, each sentence covers.

    ``masks`` is sentence index -> bit mask of the aspects it covers (bit j is the j-th aspect that counts), in
    ascending order of the index; sentences that cover none are absent.
    """

    n_aspects: int
    masks: Mapping[int, int]
    coverable: int = field(init=False, compare=False)  # bit mask of the aspects that at least one sentence covers

    def __post_init__(self) -> None:
        object.__setattr__(self, "coverable", union_of(self.masks.values()))

    def __repr__(self) -> str:
        return one_line(self, counted(self.n_aspects, "aspect"), f"{counted(len(self.masks), 'sentence')} cover any")

    def mask_of(self, sentences: Iterable[int]) -> int:
        """Return the bit mask of the aspects that these sentences cover together."""
        return union_of(map(self.masks.get, sentences, repeat(0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """An optimum, and whether it is proven and canonical."""

    sentences: tuple[int, ...]  # indices, ascending
    n_covered: int  # aspects, recounted from the labels
    proven: bool = True  # that no selection does better
    canonical: bool = True  # whether it is the documented choice among the optima
    method: str = "masks"  # or "arrays": the search that found it


def coverage_of(labels: Labels, scope: AspectScope = "all") -> Coverage:
    """Return which aspects each sentence covers, for the aspects in ``scope``; computed once for the same labels."""
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


def minimum_cover(coverage: Coverage, *, max_nodes: int = DEFAULT_NODES, max_work: int = DEFAULT_WORK) -> Cover:
    """Return the fewest sentences that cover every coverable aspect.

    Parameters
    ----------
    coverage
        Which aspects each sentence covers; aspects without a sentence are ignored.
    max_nodes
        Nodes of the search over bit masks, before the one over arrays begins.
    max_work
        Work of the search over arrays, before the best selection found is returned as not proven: aspects x sentences,
        summed over its nodes.

    Examples
    --------
    Greedy would take sentence 2 first and then need two more:

    >>> sources = {"a": [0, 2], "b": [0, 2], "c": [0], "d": [1, 2], "e": [1, 2], "f": [1]}
    >>> minimum_cover(coverage_from(sources)).sentences
    (0, 1)
    """
    return _minimum_cover(tuple(coverage.masks.items()), coverage.n_aspects, max_nodes, max_work)


@lru_cache(maxsize=_N_KEPT)
def _minimum_cover(masks: tuple[tuple[int, int], ...], n_aspects: int, max_nodes: int, max_work: int) -> Cover:
    coverage = Coverage(n_aspects=n_aspects, masks=dict(masks))
    universe = coverage.coverable
    search = Search(max_nodes)
    try:
        size = search.minimum_size(universe, coverage.masks.values())
        return _search_first(coverage, max_nodes, size, universe.bit_count())
    except (OutOfNodesError, RecursionError):
        return _solve_by_arrays(coverage, None, max_work)


def maximum_coverage(
    coverage: Coverage,
    budget: int,
    *,
    max_nodes: int = DEFAULT_NODES,
    max_work: int = DEFAULT_WORK,
) -> Cover:
    """Return at most ``budget`` sentences that cover as many aspects as ``budget`` sentences can.

    The selection holds no sentence that adds nothing, so it is shorter than the budget where fewer suffice.

    Parameters
    ----------
    coverage
        Which aspects each sentence covers.
    budget
        How many sentences may be selected, at least 0.
    max_nodes, max_work
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
        most = _most_covered(tuple(coverage.masks.items()), budget, max_nodes)
        if most < coverage.coverable.bit_count():
            return _search_first(coverage, max_nodes, budget, most)
        return minimum_cover(coverage, max_nodes=max_nodes, max_work=max_work)
    except (OutOfNodesError, RecursionError):
        return _solve_by_arrays(coverage, budget, max_work)


def ceiling(
    coverage: Coverage,
    budget: int | None,
    *,
    max_nodes: int = DEFAULT_NODES,
    max_work: int = DEFAULT_WORK,
) -> int:
    """Return the most aspects that ``budget`` sentences can cover (None: any number of sentences).

    The value of `maximum_coverage` without its selection, which is quicker; raises `UndefinedScoreError` where it could
    not be proven.

    >>> ceiling(coverage_from({"a": [0], "b": [1], "c": []}), 1)
    1
    """
    if budget is None:
        return coverage.coverable.bit_count()
    try:
        return _most_covered(tuple(coverage.masks.items()), budget, max_nodes)
    except (OutOfNodesError, RecursionError):
        search = ArraySearch(coverage.masks.values(), max_work)
        sentences, proven = _improve(coverage, budget, search, fewest=False)
        if not proven:
            raise UndefinedScoreError(f"the most aspects that {budget} sentences cover could not be proven") from None
        return coverage.mask_of(sentences).bit_count()


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


@lru_cache(maxsize=_N_KEPT)
def _most_covered(masks_by_index: tuple[tuple[int, int], ...], budget: int, max_nodes: int) -> int:
    masks = [mask for _, mask in masks_by_index]
    universe, search = union_of(masks), Search(max_nodes)
    n_coverable = universe.bit_count()
    if budget >= n_coverable:
        return n_coverable
    if greedy_count(universe, masks, budget) == n_coverable or search.can_reach(universe, masks, budget, n_coverable):
        return n_coverable
    return search.most_covered(universe, masks, budget)


def _search_first(coverage: Coverage, max_nodes: int, size: int, target: int) -> Cover:
    sentences = first_reaching(Search(max_nodes).can_reach, coverage.coverable, coverage.masks, size, target)
    return Cover(sentences=sentences, n_covered=coverage.mask_of(sentences).bit_count())


def _solve_by_arrays(coverage: Coverage, budget: int | None, max_work: int) -> Cover:
    """Return the minimum cover, or for a budget a maximum coverage, by the search over arrays."""
    search = ArraySearch(coverage.masks.values(), max_work)
    sentences, proven = _improve(coverage, budget, search)
    n_covered, canonical = coverage.mask_of(sentences).bit_count(), False
    if proven:
        with suppress(OutOfNodesError):
            size = len(sentences)
            sentences = first_reaching(search.can_reach, coverage.coverable, coverage.masks, size, n_covered)
            canonical = True
    return Cover(sentences=sentences, n_covered=n_covered, proven=proven, canonical=canonical, method="arrays")


def _improve(
    coverage: Coverage, budget: int | None, search: ArraySearch, *, fewest: bool = True
) -> tuple[tuple[int, ...], bool]:
    """Return the best selection found, and whether it is proven that none is better.

    It begins with the greedy one and asks for one aspect more, as long as there is one. Where all are covered, it
    asks for one sentence less, unless only the most aspects are wanted, not the ``fewest`` sentences.
    """
    universe, masks = coverage.coverable, coverage.masks
    index_of = {mask: index for index, mask in masks.items()}
    most = len(masks) if budget is None else budget
    sentences = greedy_ranking(coverage)[:most]
    while True:
        n_covered = coverage.mask_of(sentences).bit_count()
        if n_covered < universe.bit_count():
            size, target = most, n_covered + 1
        elif fewest:
            size, target = len(sentences) - 1, n_covered
        else:
            return sentences, True
        try:
            better = search.reaching(universe, masks.values(), size, target)
        except OutOfNodesError:
            return sentences, False
        if better is None:
            return sentences, True
        sentences = tuple(sorted(index_of[mask] for mask in better))
