"""Splits without leakage: what shares a paper or a review stays together, and sizes come closest to the shares."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm, prod
from random import Random

import numpy as np

_MOST_STEPS = 500_000_000  # of the exact search; a second or two


def linked_groups(keys: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """Return the positions in groups such that positions which share a key, directly or through others, are together.

    >>> linked_groups([["paper 1", "review 1"], ["paper 2"], ["paper 3", "review 1"]])
    [[0, 2], [1]]
    """
    parents = list(range(len(keys)))

    def root(position: int) -> int:
        while parents[position] != position:
            parents[position] = parents[parents[position]]
            position = parents[position]
        return position

    first: dict[Hashable, int] = {}
    for position, own in enumerate(keys):
        for key in own:
            one, other = root(position), root(first.setdefault(key, position))
            parents[max(one, other)] = min(one, other)
    groups: dict[int, list[int]] = {}
    for position in range(len(keys)):
        groups.setdefault(root(position), []).append(position)
    return list(groups.values())


def assign_groups(sizes: Sequence[int], shares: Mapping[str, Fraction], *, seed: int) -> list[str]:
    """Return the split of each group, so that the splits' sizes come as close to the shares as whole groups allow.

    Groups are drawn into splits at random, the largest first, with chances by the room that is left, so that each split
    has groups of all sizes. Where that misses the shares, the closest sizes are searched for exactly, unless there are
    too many groups.
    """
    names, n_all = list(shares), sum(sizes)
    scale = lcm(*(share.denominator for share in shares.values()))
    targets = [int(share * n_all * scale) for share in shares.values()]  # in 1/scale of an instance, so that all is int
    random = Random(seed)  # noqa: S311 - no secret
    order = list(range(len(sizes)))
    random.shuffle(order)
    order.sort(key=sizes.__getitem__, reverse=True)
    weights = [sizes[group] for group in order]
    places = _drawn_places([scale * weight for weight in weights], targets, random)
    missed = _distance(weights, places, targets, scale)
    # The distance of the best whole numbers: where all groups have one instance, it is reached.
    rest = n_all - sum(target // scale for target in targets)
    parts = sorted((target % scale for target in targets), reverse=True)
    if missed > sum(scale - part for part in parts[:rest]) + sum(parts[rest:]):
        places = _closest_places(weights, targets, scale, missed) or places
    split_of = dict(zip(order, places, strict=True))
    return [names[split_of[group]] for group in range(len(sizes))]


def _drawn_places(weights: Sequence[int], targets: Sequence[int], random: Random) -> list[int]:
    """Return a split for each group, drawn among those that it fits into; the roomiest one where it fits into none."""
    rooms = list(targets)
    places = []
    for weight in weights:
        fitting = [split for split, room in enumerate(rooms) if room >= weight]
        chosen = (
            random.choices(fitting, [rooms[split] for split in fitting])[0]
            if fitting
            else max(range(len(rooms)), key=rooms.__getitem__)
        )
        rooms[chosen] -= weight
        places.append(chosen)
    return places


def _distance(weights: Sequence[int], places: Sequence[int], targets: Sequence[int], scale: int) -> int:
    reached = [0] * len(targets)
    for weight, place in zip(weights, places, strict=True):
        reached[place] += scale * weight
    return sum(abs(size - target) for size, target in zip(reached, targets, strict=True))


def _closest_places(weights: Sequence[int], targets: Sequence[int], scale: int, missed: int) -> list[int] | None:
    """Return the places whose sizes are closest to the targets, by dynamic programming; None where it takes too long.

    A state is the sizes of all splits but the roomiest, which gets the rest. No split of a closest choice misses its
    target by more than what was drawn does, so that larger sizes are left out.
    """
    rest = max(range(len(targets)), key=targets.__getitem__)
    axes = [split for split in range(len(targets)) if split != rest]
    shape = tuple((targets[split] + missed) // scale + 1 for split in axes)
    if not axes or prod(shape) * len(weights) * len(axes) > _MOST_STEPS:
        return None
    never, start = len(weights), -1
    reached_by = np.full(shape, never, dtype=np.int32)  # the first group with which a state is reached
    reached_by[(0,) * len(axes)] = start
    for group, weight in enumerate(weights):
        before = reached_by < group
        for axis in range(len(axes)):
            states = np.moveaxis(reached_by, axis, 0)[weight:]
            from_states = np.moveaxis(before, axis, 0)[: max(0, shape[axis] - weight)]
            states[from_states & (states == never)] = group
    distance = np.zeros(shape, dtype=np.int64)
    left = np.full(shape, sum(weights), dtype=np.int64)
    for split, size in zip(axes, np.indices(shape, sparse=True), strict=True):
        distance += np.abs(scale * size - targets[split])
        left -= size
    distance += np.abs(scale * left - targets[rest])
    distance[reached_by == never] = np.iinfo(np.int64).max
    state = list(map(int, np.unravel_index(int(distance.argmin()), shape)))
    places = [rest] * len(weights)
    while (group := int(reached_by[tuple(state)])) != start:
        for axis, split in enumerate(axes):
            state[axis] -= weights[group]
            if state[axis] >= 0 and reached_by[tuple(state)] < group:
                places[group] = split
                break
            state[axis] += weights[group]
    return places
