"""All four optima of an instance, against PuLP + CBC, which solves the same four integer programs.

The programs: fewest sentences for all aspects, most aspects for 10 sentences, and both again over Results aspects (5
sentences). Every value is compared; a difference ends the benchmark. Goals: 25 times faster, time linear in the number
of instances, and papers with the most aspects of any (30) solved and proven in half a second.
"""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pulp

from evidencebench.data.cover import Cover, Coverage, coverage_from, coverage_of, maximum_coverage, minimum_cover
from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.optima import derive_optima
from evidencebench.data.sample import sample_path
from evidencebench.data.tasks import TASKS
from synthetic import synthetic_file
from timing import REPOSITORY, Figure, at_least, linear, main_of, paired, seconds_of, under_seconds

_TRAIN = REPOSITORY.parent / "shared" / "data" / "evidencebench_train_set.json"
_N_SYNTHETIC = 40
_N_PAIRS = 3
_GOAL_RATIO = 25.0
_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")
_MOST_ASPECTS = 30
_N_HARD = 20
_GOAL_HARD_SECONDS = 0.5


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:
    """Yield the comparison with CBC, the growth, and the hard covers."""
    large, small = synthetic_file(folder, n_instances), synthetic_file(folder, n_instances // 10)
    # Of PuLP 4, about how its objects are made; raised for every variable, which would be the peer's loss.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="pulp")
    data = {"synthetic": (large, _N_SYNTHETIC), "sample": (sample_path(), None), "real train": (_TRAIN, None)}
    for name, (path, limit) in data.items():
        if path.exists():  # the real file is nobody's to ship
            yield _against_cbc(name, list(open_dataset(path).instances(limit)))
    pair = paired(lambda: _seconds_to_solve(small), lambda: _seconds_to_solve(large), _N_PAIRS)
    yield linear("four optima", pair.peer, pair.ours)
    yield _hard("hard minimum", None)
    yield _hard("hard maximum 5", 5)
    yield _hard("hard maximum 10", 10)


def _against_cbc(name: str, instances: Sequence[Instance]) -> Figure:
    _check_same(instances)

    def ours() -> None:
        for instance in instances:
            derive_optima(instance)

    def cbc() -> None:
        for instance in instances:
            _values_by_cbc(instance)

    pair = paired(lambda: seconds_of(ours), lambda: seconds_of(cbc), _N_PAIRS)
    return at_least(f"{len(instances)} {name}, vs CBC", pair, _GOAL_RATIO)


def _seconds_to_solve(path: Path) -> float:
    def solve() -> None:
        for instance in open_dataset(path):
            derive_optima(instance)

    return seconds_of(solve)


def _check_same(instances: Sequence[Instance]) -> None:
    for instance in instances:
        optima, by_cbc = derive_optima(instance), _values_by_cbc(instance)
        ours = {
            task: len(found.covered) if found.optimal is None else found.optimal
            for task, found in optima.evaluations.items()
        }
        if optima.unproven or ours != by_cbc:
            raise RuntimeError(f"{instance.id}: optima {ours} (unproven: {optima.unproven}), but CBC says {by_cbc}")


def _values_by_cbc(instance: Instance) -> dict[str, int]:
    """Return the value of each of the four optima, by task."""
    values = {}
    for name in _TASKS:
        task = TASKS[name]
        if task.applies_to(instance.labels):
            coverage = coverage_of(instance.labels, task.scope)
            values[name] = _value_by_cbc(coverage, task.budget if isinstance(task.budget, int) else None)
    return values


def _value_by_cbc(coverage: Coverage, budget: int | None) -> int:
    """Return the fewest sentences for all coverable aspects, or the most aspects for a budget."""
    holders = {
        aspect: [index for index, mask in coverage.masks.items() if mask >> aspect & 1]
        for aspect in range(coverage.n_aspects)
        if coverage.coverable >> aspect & 1
    }
    chosen = {index: pulp.LpVariable(f"sentence_{index}", cat="Binary") for index in coverage.masks}
    if budget is None:
        problem = pulp.LpProblem("minimum_cover", pulp.LpMinimize)
        problem += pulp.lpSum(chosen.values())
        for indices in holders.values():
            problem += pulp.lpSum(chosen[index] for index in indices) >= 1
    else:
        problem = pulp.LpProblem("maximum_coverage", pulp.LpMaximize)
        covered = {aspect: pulp.LpVariable(f"aspect_{aspect}", cat="Binary") for aspect in holders}
        problem += pulp.lpSum(covered.values())
        problem += pulp.lpSum(chosen.values()) <= budget
        for aspect, indices in holders.items():
            problem += covered[aspect] <= pulp.lpSum(chosen[index] for index in indices)
    problem.solve(pulp.PULP_CBC_CMD(msg=False))
    if problem.status != pulp.LpStatusOptimal:
        raise RuntimeError(f"CBC: {pulp.LpStatus[problem.status]}")
    return round(float(pulp.value(problem.objective)))


def _hard(name: str, budget: int | None) -> Figure:
    """Return how long the slowest of some covers took that are drawn as `synthetic` draws them."""
    slowest, n_proven = 0.0, 0
    for seed in range(_N_HARD):
        coverage = _random_coverage(seed)
        found: list[Cover] = []

        def solve(coverage: Coverage = coverage, found: list[Cover] = found) -> None:
            found.append(minimum_cover(coverage) if budget is None else maximum_coverage(coverage, budget))

        slowest = max(slowest, seconds_of(solve))
        n_proven += found[0].proven
    # Not proven is not solved, however quick.
    seconds = slowest if n_proven == _N_HARD else float("inf")
    return under_seconds(name, seconds, _GOAL_HARD_SECONDS, note=f"{n_proven}/{_N_HARD} proven")


def _random_coverage(seed: int) -> Coverage:
    generator, n_evidence = np.random.default_rng(seed), 4 + 2 * _MOST_ASPECTS
    sizes = generator.integers(1, 7, _MOST_ASPECTS)
    return coverage_from(
        {str(aspect): generator.choice(n_evidence, size, replace=False).tolist() for aspect, size in enumerate(sizes)}
    )


if __name__ == "__main__":
    main_of("oracle.py", __doc__, figures)
