"""``data validate`` without solving again, against ``json.load`` of the same file.

The peer only reads; ours reads, checks every rule of the format and says what is broken where. On 4,000 real instances,
the train split under new ids and papers, indented as the published files are; and on 4,000 synthetic ones in the
dialect of EvidenceBench-100k, a third of whose aspects get a warning. Seconds are the processor's. Goals: at most twice
the time of ``json.load``, and linear.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from evidencebench.data.validation import validate_file
from synthetic import synthetic_100k_file
from timing import REPOSITORY, Figure, Pair, linear, main_of, measured, paired, shown_seconds

_TRAIN = REPOSITORY.parent / "shared" / "data" / "evidencebench_train_set.json"
_N_INSTANCES = 4_000
_N_PAIRS = 5
_GOAL_RATIO = 2.0
_ONCE = "--once"


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:  # noqa: ARG001 - the goal is for one size
    """Yield the time of validating over that of reading, and its growth."""
    if _TRAIN.exists():  # the real file is nobody's to ship
        yield _against_json("validate, real", _repeated_train(folder))
    large, small = synthetic_100k_file(folder, _N_INSTANCES), synthetic_100k_file(folder, _N_INSTANCES // 10)
    yield _against_json("validate, 100k's dialect", large)
    pair = paired(lambda: _once("ours", large), lambda: _once("ours", small), _N_PAIRS)
    yield linear("validate", pair.ours, pair.peer)


def _against_json(name: str, path: Path) -> Figure:
    _once("json", path)  # warms the page cache
    pair: Pair = paired(lambda: _once("ours", path), lambda: _once("json", path), _N_PAIRS)
    return Figure(
        name=name,
        ours=shown_seconds(pair.ours),
        peer=shown_seconds(pair.peer),
        ratio=f"1/{1 / pair.ratio:.3g} x",
        goal=f">= 1/{_GOAL_RATIO:.0f} x",
        reached=pair.ratio >= 1 / _GOAL_RATIO,
    )


def _repeated_train(folder: Path) -> Path:
    """Return the train split, written again and again under other ids until there are enough instances."""
    path = folder / f"train_{_N_INSTANCES}.json"
    if not path.exists():
        train = json.loads(_TRAIN.read_text(encoding="utf-8"))
        repeated: dict[str, object] = {}
        for number in range(_N_INSTANCES):
            instance_id = list(train)[number % len(train)]
            copy = f"{instance_id}_copy_{number // len(train)}"
            record = json.loads(json.dumps(train[instance_id]).replace(instance_id, copy))
            repeated[copy] = record | {"paper_id": f"{record['paper_id']}_copy_{number // len(train)}"}
        path.write_text(json.dumps(repeated, indent=4), encoding="utf-8")
    return path


def _once(reader: str, path: Path) -> float:
    return float(measured([__file__, _ONCE, reader, path]).output)


def _print_once(reader: str, path: Path) -> None:
    """Validate or read a file in this process and print the processor's seconds."""
    start = time.process_time()
    if reader == "json":
        with path.open(encoding="utf-8") as file:
            json.load(file)
    elif not validate_file(path).is_valid:
        raise RuntimeError(f"{path}: breaks the format")
    print(time.process_time() - start)


def main() -> None:
    """Measure, or with --once be one of the processes that are measured."""
    if sys.argv[1:2] == [_ONCE]:
        _print_once(sys.argv[2], Path(sys.argv[3]))
    else:
        main_of("validating.py", __doc__, figures, data=f"{_N_INSTANCES:,} instances")


if __name__ == "__main__":
    main()
