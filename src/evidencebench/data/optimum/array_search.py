"""Branch and bound over arrays: the search for problems on which the one over bit masks runs out of nodes.

It bounds some hundred nodes at once, by weights of the aspects (a Lagrangian relaxation). Let each aspect have a weight
y in 0..1. An aspect counts at most 1, and at most as often as it is held, so a choice of sentences covers at most
sum(1 - y) plus the sum of y that each sentence holds; and no choice holds more than the ``size`` sentences that hold
most. Any weights give a bound, and steps along a subgradient find good ones (Held, Wolfe and Crowder, "Validation of
subgradient optimization", 1974).

Weights are whole multiples of 2^-20, counted in floats. All sums are whole numbers far below 2^53, so they are exact.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evidencebench.data.optimum.branch_and_bound import OutOfNodesError, bits, union_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# Weights are multiples of 1 / _SCALE.
_SCALE = 1 << 20
# How many nodes are bounded at once: at most _MAX_BATCH, fewer where aspects x sentences are more than usual.
_MAX_BATCH = 256
_BATCH_CELLS = 1 << 22
# Multiplications in one product of matrices, from which on OpenBLAS uses threads.
_PART = 1 << 18
# Steps towards better weights: at the first node of a question, and at each later one, which begins with its parent's.
_FIRST_STEPS = 100
_STEPS = 20
# A step aims at a bound this far below the target, in aspects.
_BELOW = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Nodes of a search that may each choose ``size`` more sentences, a row a node."""

    size: int
    left: Booleans  # node x aspect: still to be covered
    open: Booleans  # node x sentence: may still be chosen
    chosen: Integers  # node x depth: the sentences chosen so far
    targets: Floats  # node: how many of the aspects left must be covered
    weights: Floats  # node x aspect: in multiples of 1 / 2^20

    def __len__(self) -> int:
        return len(self.targets)

    def at(self, rows: slice | Booleans) -> "Nodes":
        """Return some of the nodes."""
        return Nodes(
            size=self.size,
            left=self.left[rows],
            open=self.open[rows],
            chosen=self.chosen[rows],
            targets=self.targets[rows],
            weights=self.weights[rows],
        )


class ArraySearch:
    """A search among ``masks`` that raises `OutOfNodesError` after ``max_work``, counted over all its calls.

    The work is what the arrays of its nodes hold: aspects x sentences, summed over the nodes.
    """

    def __init__(self, masks: Iterable[int], max_work: int) -> None:
        self._columns = {mask: column for column, mask in enumerate(dict.fromkeys(masks))}
        self._matrix = matrix_of(list(self._columns))
        self._work_left = max_work
        # What the question before ended with: the next one often asks for a part of it.
        self._weights = np.full(len(self._matrix), _SCALE / 2)
        self._found: list[int] = []

    def can_reach(self, universe: int, masks: Iterable[int], size: int, target: int) -> bool:
        """Say whether ``size`` of the masks can cover at least ``target`` aspects of the universe."""
        if target <= 0:
            return True
        allowed = {mask for mask in masks if mask & universe}
        again = allowed.intersection(self._found)
        if len(again) <= size and (union_of(again) & universe).bit_count() >= target:
            return True
        return self.reaching(universe, allowed, size, target) is not None

    def reaching(self, universe: int, masks: Iterable[int], size: int, target: int) -> list[int] | None:
        """Return at most ``size`` of the masks that cover at least ``target`` aspects, at least 1; None: none do."""
        allowed = list(masks)
        size = min(size, len(allowed))
        if size < 1:
            return None
        aspects = [bit.bit_length() - 1 for bit in bits(universe)]
        matrix = self._matrix[aspects][:, [self._columns[mask] for mask in allowed]]
        first = _first(matrix, size, target, self._weights[aspects])
        self._spend(matrix, _FIRST_STEPS // _STEPS)
        first = narrowed(matrix, first, _FIRST_STEPS)
        if not len(first):
            return None
        self._weights[aspects] = first.weights[0]
        useful = np.flatnonzero(first.open[0])
        first = _first(matrix[:, useful], min(size, len(useful)), target, first.weights[0])
        chosen = self._search(matrix[:, useful], first)
        if chosen is None:
            return None
        self._found = [allowed[useful[column]] for column in chosen]
        return self._found

    def _search(self, matrix: Floats, first: Nodes) -> list[int] | None:
        """Return the columns with which a node reaches its target, or None."""
        batch = max(1, min(_MAX_BATCH, _BATCH_CELLS // max(1, matrix.size)))
        waiting = [first] if first.size else []
        while waiting:
            nodes = waiting.pop()
            if len(nodes) > batch:
                waiting.append(nodes.at(slice(None, -batch)))
                nodes = nodes.at(slice(-batch, None))
            self._spend(matrix, len(nodes))
            ends = np.argwhere(_product(nodes.left, matrix) * nodes.open >= nodes.targets[:, None])
            if len(ends):
                node, last = ends[0].tolist()
                return [*nodes.chosen[node].tolist(), last]
            if nodes.size > 1:
                waiting += _children(matrix, narrowed(matrix, nodes, _STEPS))
        return None

    def _spend(self, matrix: Floats, n_nodes: int) -> None:
        self._work_left -= n_nodes * matrix.size
        if self._work_left < 0:
            raise OutOfNodesError


def matrix_of(masks: Sequence[int]) -> Floats:
    """Return aspects x masks, 1 where the mask holds the aspect."""
    n_bytes = -(-union_of(masks).bit_length() // 8)
    packed = np.frombuffer(b"".join(mask.to_bytes(n_bytes, "little") for mask in masks), dtype=np.uint8)
    held = np.unpackbits(packed.reshape(len(masks), n_bytes), axis=1, bitorder="little")
    return np.ascontiguousarray(held.T, dtype=np.float64)


def _product(rows: Floats | Booleans, matrix: Floats) -> Floats:
    """Return ``rows @ matrix``, in parts so small that OpenBLAS starts no threads, which cost more than they save."""
    height = max(1, _PART // matrix.size)
    return np.concatenate([rows[start : start + height] @ matrix for start in range(0, len(rows), height)])


def _first(matrix: Floats, size: int, target: int, weights: Floats) -> Nodes:
    """Return the one node that has chosen nothing yet."""
    n_aspects, n_sentences = matrix.shape
    return Nodes(
        size=size,
        left=np.ones((1, n_aspects), dtype=np.bool_),
        open=np.ones((1, n_sentences), dtype=np.bool_),
        chosen=np.empty((1, 0), dtype=np.int64),
        targets=np.array([float(target)]),
        weights=weights[None, :],
    )


def narrowed(matrix: Floats, nodes: Nodes, n_steps: int) -> Nodes:
    """Return the nodes whose bounds allow their targets, with better weights, and only sentences open that can help.

    No selection that reaches the target of its node is lost.
    """
    size = nodes.size
    for step in range(n_steps + 1):
        if not len(nodes):
            break
        weights = nodes.weights * nodes.left
        held = _product(weights, matrix) * nodes.open
        most = np.partition(held, -size, axis=1)[:, -size:]
        last = most[:, :1]
        # How far the bound lies above the target; below it, nothing reaches the target.
        slack = _SCALE * (nodes.left.sum(axis=1) - nodes.targets) - weights.sum(axis=1) + most.sum(axis=1)
        # A sentence that would bring the bound below the target, in place of the last of the most, is closed.
        is_open = nodes.open & (held >= last - slack[:, None])
        stepped = nodes.weights
        if step < n_steps:
            slope = (_product(nodes.open & (held >= last), matrix.T) - 1) * nodes.left
            length = (slack + _BELOW * _SCALE) / np.maximum((slope * slope).sum(axis=1), 1)
            stepped = np.clip(np.rint(nodes.weights - length[:, None] * slope), 0, _SCALE)
        nodes = replace(nodes, open=is_open, weights=stepped)
        if slack.min() < 0:
            nodes = nodes.at(slack >= 0)
    return nodes


def _children(matrix: Floats, nodes: Nodes) -> list[Nodes]:
    """Branch on the rarest aspect of each node: it stays uncovered, or one of its sentences is chosen."""
    if not len(nodes):
        return []
    rarest = np.where(nodes.left, _product(nodes.open, matrix.T), np.inf).argmin(axis=1)
    holders = nodes.open & (matrix[rarest] > 0)
    children = _without(nodes, rarest, holders), _with_one_of(matrix, nodes, holders)
    return [some for some in children if len(some)]


def _without(nodes: Nodes, aspects: Integers, holders: Booleans) -> Nodes:
    """Return the nodes without an aspect each and without its holders, where the targets allow it."""
    left = nodes.left.copy()
    left[np.arange(len(nodes)), aspects] = False
    return replace(nodes, left=left, open=nodes.open & ~holders).at(left.sum(axis=1) >= nodes.targets)


def _with_one_of(matrix: Floats, nodes: Nodes, holders: Booleans) -> Nodes:
    """Return a node for each holder chosen; of a parent's, the last holds most, and is searched first."""
    held = np.where(holders, _product(nodes.weights * nodes.left, matrix), -1)
    order = held.argsort(axis=1, kind="stable")
    parents, places = np.nonzero(np.take_along_axis(holders, order, axis=1))
    sentences = order[parents, places]
    # Every choice with a holder that is searched before has then been tried.
    tried = holders[parents] & (order.argsort(axis=1)[parents] >= places[:, None])
    gains = nodes.left[parents] & (matrix.T[sentences] > 0)
    return Nodes(
        size=nodes.size - 1,
        left=nodes.left[parents] & ~gains,
        open=nodes.open[parents] & ~tried,
        chosen=np.hstack([nodes.chosen[parents], sentences[:, None]]),
        targets=nodes.targets[parents] - gains.sum(axis=1),
        weights=nodes.weights[parents],
    )
