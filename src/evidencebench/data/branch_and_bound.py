"""Branch and bound over bit masks, within a node budget: the search behind `evidencebench.data.cover`.

A mask is an int whose bit j says that the sentence covers aspect j. ``universe`` is the mask of the aspects still to be
covered; masks are always read within it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping


class OutOfNodesError(Exception):
    """The search needs more nodes than it was given; `cover` catches it."""


def undominated(universe: int, masks: Iterable[int]) -> list[int]:
    """Return the masks within the universe that no other one contains, largest first."""
    kept: list[int] = []
    for mask in sorted(sorted({mask & universe for mask in masks} - {0}), key=int.bit_count, reverse=True):
        for other in kept:  # a plain loop, since this is where a search spends its time
            if mask | other == other:
                break
        else:
            kept.append(mask)
    return kept


def bits(mask: int) -> Iterator[int]:
    """Yield the single-bit masks of a mask, lowest first."""
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


def packing_bound(holders: Mapping[int, list[int]]) -> int:
    """Return a lower bound on the size of a cover; ``holders`` is bit of an aspect -> the masks with it."""
    reach = {bit: union_of(masks) for bit, masks in holders.items()}
    picked, blocked = 0, 0
    for bit in sorted(reach, key=lambda bit: reach[bit].bit_count()):
        if not bit & blocked:
            picked += 1
            blocked |= reach[bit]
    return picked


def greedy_count(universe: int, masks: Iterable[int], size: int) -> int:
    """Return how many aspects a greedy choice of ``size`` masks covers."""
    left = universe
    for _ in range(size):
        left &= ~max(masks, key=lambda mask: (mask & left).bit_count(), default=0)
    return (universe & ~left).bit_count()


def union_of(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


class Search:
    """A search that raises `OutOfNodesError` after ``max_nodes`` nodes, counted over all its calls."""

    def __init__(self, max_nodes: int) -> None:
        self._nodes_left = max_nodes

    def minimum_size(self, universe: int, masks: Collection[int]) -> int:
        """Return the smallest number of masks that cover the universe; all masks together must cover it."""
        masks, n_forced = undominated(universe, masks), 0
        # Masks that alone cover an aspect are taken.
        while forced := {holders[0] for holders in _holders_by_aspect(universe, masks).values() if len(holders) == 1}:
            universe &= ~union_of(forced)
            masks, n_forced = undominated(universe, masks), n_forced + len(forced)
        size = packing_bound(_holders_by_aspect(universe, masks))
        while not self.can_reach(universe, masks, size, universe.bit_count()):
            size += 1
        return n_forced + size

    def most_covered(self, universe: int, masks: Collection[int], size: int) -> int:
        masks = undominated(universe, masks)
        most = greedy_count(universe, masks, size)
        while most < universe.bit_count() and self.can_reach(universe, masks, size, most + 1):
            most += 1
        return most

    def can_reach(self, universe: int, masks: Iterable[int], size: int, target: int) -> bool:  # noqa: PLR0911 - a guard a bound
        """Say whether ``size`` masks can cover at least ``target`` aspects of the universe."""
        if target <= 0:
            return True
        if size == 0:
            return False
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise OutOfNodesError
        if size == 1:
            return any((mask & universe).bit_count() >= target for mask in masks)
        masks = undominated(universe, masks)
        if sum(mask.bit_count() for mask in masks[:size]) < target:
            return False
        droppable = universe.bit_count() - target
        holders_of = _holders_by_aspect(universe, masks)
        if packing_bound(holders_of) - droppable > size:
            return False
        # Branch on the rarest aspect: one of its masks is chosen, or the aspect stays uncovered.
        bit, holders = min(holders_of.items(), key=lambda pair: len(pair[1]))
        for mask in holders:
            if self.can_reach(universe & ~mask, masks, size - 1, target - mask.bit_count()):
                return True
            masks.remove(mask)  # every choice with it has been tried
        return droppable > 0 and self.can_reach(universe & ~bit, masks, size, target)


def first_reaching(search: Search, universe: int, masks: Mapping[int, int], size: int, target: int) -> tuple[int, ...]:
    """Return the lexicographically first ``size`` sentences that cover ``target`` aspects.

    ``masks`` is in ascending order of the sentence, and no fewer sentences than ``size`` reach the target.
    """
    # A sentence that alone covers an aspect is in every cover; the search is for the first cover of the rest.
    chosen: list[int] = []
    if target == universe.bit_count():
        holders = [[index for index, mask in masks.items() if mask & bit] for bit in bits(universe)]
        chosen = sorted({indices[0] for indices in holders if len(indices) == 1})
    for index in chosen:
        target -= (masks[index] & universe).bit_count()
        universe &= ~masks[index]
    size -= len(chosen)
    failed: list[int] = []
    rest = list(masks.values())
    for index, mask in masks.items():
        if target <= 0:
            break
        rest.pop(0)
        gain = mask & universe
        # A gain that failed with more sentences to follow fails here too, and so does any part of it.
        if not gain or any(gain | other == other for other in failed):
            continue
        if search.can_reach(universe & ~gain, rest, size - 1, target - gain.bit_count()):
            chosen.append(index)
            universe, size, target = universe & ~gain, size - 1, target - gain.bit_count()
            failed = []
        else:
            failed.append(gain)
    return tuple(sorted(chosen))


def _holders_by_aspect(universe: int, masks: Collection[int]) -> dict[int, list[int]]:
    return {bit: [mask for mask in masks if mask & bit] for bit in bits(universe)}
