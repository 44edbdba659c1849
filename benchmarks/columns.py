"""Parquet beside JSON: writing it, reading it, its size, and the way back, on instances in the dialect of the 100k.

Each reading has a process of its own; its time is that of the processor. The peers: our reading of the JSON,
``json.load``, and pyarrow alone. Goals: an instance 3 times as fast as from the JSON; a fifth of its size; 87,461
instances converted in under 3 minutes, which is 2 ms an instance; under 2 GB of memory; linear.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from evidencebench.data.dataset import open_dataset, write_dataset
from synthetic import synthetic_100k_file
from timing import Figure, anonymous_mb, at_least, linear, main_of, measured, paired, under_seconds

_N_PAIRS = 5
_GOAL_RATIO = 3.0
_GOAL_SIZE = 0.2
_GOAL_MS = 2.0
_GOAL_MB = 2000.0
_N_AT_RANDOM = 200
_ONCE = "--once"
_NO_TEXT = ("id", "paper_id", "hypothesis", "aspects", "sentence_aspects", "er_optimal")


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:
    """Yield times, size and memory."""
    large, small = (synthetic_100k_file(folder, n) for n in (n_instances, n_instances // 10))
    columns, few_columns = large.with_suffix(".parquet"), small.with_suffix(".parquet")
    converting, converting_mb = _once("convert", large)
    converting_few, _ = _once("convert", small)
    _check_way_back(small)
    yield under_seconds("JSON to Parquet, an instance", converting / n_instances, _GOAL_MS / 1000)
    yield linear("JSON to Parquet", converting, converting_few)
    size = columns.stat().st_size / large.stat().st_size
    yield Figure(name="size of the JSON", ours=f"{size:.1%}", goal=f"< {_GOAL_SIZE:.0%}", reached=size < _GOAL_SIZE)
    ours = partial(_seconds, "typed", columns)
    yield at_least("all typed, vs our JSON", paired(ours, partial(_seconds, "typed", large), _N_PAIRS), _GOAL_RATIO)
    yield at_least("all typed, vs json.load", paired(ours, partial(_seconds, "json", large), _N_PAIRS), _GOAL_RATIO)
    arrow = partial(_seconds, "arrow", columns)
    yield at_least(
        "pyarrow alone, vs our JSON", paired(arrow, partial(_seconds, "typed", large), _N_PAIRS), _GOAL_RATIO
    )
    labels = partial(_seconds, "labels", columns)
    yield at_least("labels only, vs our JSON", paired(labels, partial(_seconds, "typed", large), _N_PAIRS), _GOAL_RATIO)
    yield linear("all typed", ours(), _seconds("typed", few_columns))
    yield under_seconds("open", _seconds("open", columns), 3.0)
    yield under_seconds("an instance at random", _seconds("random", columns) / _N_AT_RANDOM, 0.05)
    reading_mb = _once("typed", columns)[1]
    peak = max(converting_mb, reading_mb)
    yield Figure(
        name="memory, write and read", ours=f"{peak:.0f} MB", goal=f"< {_GOAL_MB:.0f} MB", reached=peak < _GOAL_MB
    )


def _check_way_back(path: Path) -> None:
    """Raise unless JSON -> Parquet -> JSON is JSON -> JSON, byte for byte: there is no escape in this data."""
    there, back = path.with_suffix(".there.json"), path.with_suffix(".back.json")
    write_dataset(there, open_dataset(path))
    write_dataset(back, open_dataset(path.with_suffix(".parquet")))
    if there.read_bytes() != back.read_bytes():
        raise RuntimeError(f"{path}: Parquet gives back another file")


def _seconds(reader: str, path: Path) -> float:
    return _once(reader, path)[0]


def _once(reader: str, path: Path) -> tuple[float, float]:
    """Return seconds of the processor and peak anonymous MB of a reader, in a fresh process."""
    process = measured([__file__, _ONCE, reader, path])
    seconds, at_end_mb = map(float, process.output.split())
    return seconds, max(at_end_mb, *process.peaks_mb)


def _typed(path: Path) -> int:
    return sum(len(instance.query.sentences) for instance in open_dataset(path))


def _json(path: Path) -> int:
    with path.open(encoding="utf-8") as file:
        return sum(len(record["paper_as_candidate_pool"]) for record in json.load(file).values())


def _arrow(path: Path, columns: tuple[str, ...] | None = None) -> int:
    import pyarrow.parquet as pq  # noqa: PLC0415 - what the other readers do not load

    file = pq.ParquetFile(path)
    groups = range(file.num_row_groups)
    return sum(file.read_row_group(group, columns=columns, use_threads=False).num_rows for group in groups)


def _at_random(path: Path) -> int:
    dataset = open_dataset(path)
    rng = random.Random(0)
    return sum(len(dataset[rng.randrange(len(dataset))].query.sentences) for _ in range(_N_AT_RANDOM))


_READERS: dict[str, Callable[[Path], object]] = {
    "convert": lambda path: write_dataset(path.with_suffix(".parquet"), open_dataset(path)),
    "open": open_dataset,
    "typed": _typed,
    "json": _json,
    "arrow": _arrow,
    "labels": lambda path: _arrow(path, _NO_TEXT),
    "random": _at_random,
}


def main() -> None:
    """Measure, or with --once be one of the processes that are measured."""
    if sys.argv[1:2] == [_ONCE]:
        start = time.process_time()
        _READERS[sys.argv[2]](Path(sys.argv[3]))
        print(time.process_time() - start, anonymous_mb())
    else:
        main_of("columns.py", __doc__, figures)


if __name__ == "__main__":
    main()
