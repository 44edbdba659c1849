"""Covers that the search cannot finish: HiGHS finds the optimum, and a second method has to confirm it.

HiGHS works in floating point, and solvers of its kind have returned wrong optima. So its selection is recounted, and
its optimality is confirmed by the `Search` of `branch_and_bound` with a bound of linear programming that is
computed in whole numbers: rounding can make the bound weak, never wrong.
"""

from collections import deque
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from evidencebench.data.optimum.branch_and_bound import OutOfNodesError, Search, union_of
from evidencebench.errors import MissingExtraError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_TIME_LIMIT_SECONDS = 120.0
_MAX_PROOF_NODES = 20_000
# Multipliers are whole multiples of 2^-20: sums of 2^11 of them stay far inside 64 bits.
_SCALE = 1 << 20
# How many recent multipliers are tried again: neighbours in the search often share them.
_RECENT = 8
# Steps by which recent multipliers are bettered before a linear program is solved, which takes as long as 100 of them.
_STEPS = 30
_CLEARLY = 1e-3


def solve(universe: int, masks: Mapping[int, int], budget: int | None) -> tuple[tuple[int, ...], bool]:
    """Return an optimal selection, ascending, and whether it is proven optimal; needs scipy.

    ``masks``: sentence -> bit mask of the aspects it covers. Without a budget: the fewest sentences that cover
    the universe. With one: at most that many, which cover the most of it.
    """
    indices, columns = list(masks), list(masks.values())
    chosen = _milp(universe, columns, budget)
    selection = tuple(sorted(indices[position] for position in chosen))
    covered = (union_of(columns[position] for position in chosen) & universe).bit_count()
    if budget is None:
        return selection, covered == universe.bit_count() and _unreachable(universe, columns, len(chosen) - 1, covered)
    return selection, len(chosen) <= budget and _unreachable(universe, columns, budget, covered + 1)


class LinearBound:
    """An upper bound for `Search`: how many aspects of the universe ``size`` of the masks cover at most.

    For any multipliers y in 0..1, a choice of masks covers at most sum(1 - y) plus the sum of the ``size`` largest
    sums of y within a mask: an aspect counts at most 1, and at most as often as it is held. Good multipliers come from
    the linear relaxation; the bound is then computed in integers, so it holds whatever the solver did. Any
    multipliers give a bound, so recent ones are tried before a new program is solved.
    """

    def __init__(self, n_aspects: int) -> None:  # the bit length of the first universe asked for
        self._n_aspects = n_aspects
        self._recent: deque[Integers] = deque(maxlen=_RECENT)

    def __call__(self, universe: int, masks: list[int], size: int, target: int) -> int:
        """Return a bound; the first one below ``target`` is returned, even if a lower one could be found."""
        positions = _positions(universe)
        matrix = _matrix(universe, masks)
        for multipliers in self._recent:
            bound = _bound(matrix, multipliers[positions], size)
            if bound < target:
                return bound
        if self._recent:
            bettered = _whole(_bettered(matrix, self._recent[0][positions] / _SCALE, size, target))
            bound = _bound(matrix, bettered, size)
            if bound < target:
                self._remember(positions, bettered)
                return bound
        solved = _whole(_multipliers(matrix, size))
        self._remember(positions, solved)
        return _bound(matrix, solved, size)

    def _remember(self, positions: list[int], multipliers: Integers) -> None:
        kept = np.zeros(self._n_aspects, dtype=np.int64)
        kept[positions] = multipliers
        self._recent.appendleft(kept)


def _whole(multipliers: Floats) -> Integers:
    return np.clip(np.floor(multipliers * _SCALE), 0, _SCALE).astype(np.int64)


def _bettered(matrix: Floats, multipliers: Floats, size: int, target: int) -> Floats:
    """Return multipliers after some subgradient steps towards a bound below the target, fewer once it is below."""
    for _ in range(_STEPS):
        held = multipliers @ matrix
        largest = np.argpartition(held, -size)[-size:] if size < len(held) else np.arange(len(held))
        bound = float(len(multipliers) - multipliers.sum() + held[largest].sum())
        if bound < target - _CLEARLY:
            break
        slope = matrix[:, largest].sum(axis=1) - 1
        if not slope.any():
            break
        step = (bound - target + 2 * _CLEARLY) / float(slope @ slope)
        multipliers = np.clip(multipliers - step * slope, 0, 1)
    return multipliers


def _bound(matrix: Floats, multipliers: Integers, size: int) -> int:
    largest = np.sort(matrix.T.astype(np.int64) @ multipliers)[::-1][:size]
    return int((_SCALE * len(multipliers) - int(multipliers.sum()) + int(largest.sum())) // _SCALE)


def _unreachable(universe: int, columns: list[int], size: int, target: int) -> bool:
    """Say whether it is proven that ``size`` columns cannot cover ``target`` aspects."""
    if target > universe.bit_count():
        return True
    try:
        return not Search(_MAX_PROOF_NODES, LinearBound(universe.bit_length())).can_reach(
            universe, columns, size, target
        )
    except OutOfNodesError:
        return False


def _matrix(universe: int, masks: list[int]) -> Floats:
    """Return aspects x sentences, 1 where the sentence covers the aspect."""
    n_bytes = -(-universe.bit_length() // 8)
    packed = np.frombuffer(b"".join((mask & universe).to_bytes(n_bytes, "little") for mask in masks), dtype=np.uint8)
    held = np.unpackbits(packed.reshape(len(masks), n_bytes), axis=1, bitorder="little")
    return np.ascontiguousarray(held[:, _positions(universe)].T, dtype=np.float64)


def _positions(universe: int) -> list[int]:
    return [position for position in range(universe.bit_length()) if universe >> position & 1]


def _milp(universe: int, columns: list[int], budget: int | None) -> list[int]:
    """Return the positions of the columns that HiGHS selects."""
    try:
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise MissingExtraError(
            "this cover needs more search nodes than allowed, so an integer-programming solver: "
            "pip install 'evidencebench[solver]'"
        ) from error
    matrix = _matrix(universe, columns)
    n_aspects, n_columns = matrix.shape
    if budget is None:
        cost, constraints = np.ones(n_columns), [LinearConstraint(matrix, lb=1)]
    else:
        # Variables: one a column, then one an aspect, which is 1 only where a selected column holds it.
        cost = np.concatenate([np.zeros(n_columns), -np.ones(n_aspects)])
        held = np.hstack([matrix, -np.eye(n_aspects)])
        spent = np.concatenate([np.ones(n_columns), np.zeros(n_aspects)])[None, :]
        constraints = [LinearConstraint(held, lb=0), LinearConstraint(spent, ub=budget)]
    options = {"time_limit": _TIME_LIMIT_SECONDS}
    found = milp(cost, constraints=constraints, integrality=np.ones(len(cost)), bounds=Bounds(0, 1), options=options)
    if found.x is None:
        return list(range(n_columns)) if budget is None else []
    return [int(position) for position in np.flatnonzero(found.x[:n_columns] > 0.5)]  # noqa: PLR2004 - 0/1 rounded


def _multipliers(matrix: Floats, size: int) -> Floats:
    """Return the dual values of "an aspect counts only as often as it is held" in the linear relaxation."""
    from scipy.optimize import linprog  # noqa: PLC0415 - an extra, and slow to import

    n_aspects, n_columns = matrix.shape
    held = np.hstack([-matrix, np.eye(n_aspects)])
    spent = np.concatenate([np.ones(n_columns), np.zeros(n_aspects)])[None, :]
    found = linprog(
        np.concatenate([np.zeros(n_columns), -np.ones(n_aspects)]),
        A_ub=np.vstack([held, spent]),
        b_ub=np.concatenate([np.zeros(n_aspects), [size]]),
        bounds=(0, 1),
        method="highs-ds",
    )
    if found.x is None:
        return np.zeros(n_aspects)
    return np.asarray(-found.ineqlin.marginals[:n_aspects], dtype=np.float64)
