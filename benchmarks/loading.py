"""Opening a file and iterating all its typed instances, against ``json.load``.

The peer reads the same file into plain dicts, which is what the published code does. Each run has a process of its own;
the file is in the page cache for both. Goals: 6 times faster; under 400 MB of anonymous memory, flat in the number of
instances (no page of the file is mapped).
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from evidencebench.data.dataset import Dataset, open_dataset
from synthetic import synthetic_file
from timing import Figure, anonymous_mb, at_least, linear, main_of, measured, paired, seconds_of, shown_seconds

_N_PAIRS = 5
_GOAL_RATIO = 6.0
_GOAL_MB = 400.0
# Memory at ten times the instances over memory at one time, which still counts as flat.
_FLAT = 1.5
_ONCE = "--once"


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:
    """Yield time, growth and memory of reading."""
    large, small = synthetic_file(folder, n_instances), synthetic_file(folder, n_instances // 10)
    _check_same(small)
    measured([__file__, _ONCE, "ours", large])  # warms the page cache
    pair = paired(lambda: sum(_once("ours", large)[:2]), lambda: sum(_once("json", large)[:2]), _N_PAIRS)
    yield at_least("open + iterate, vs json.load", pair, _GOAL_RATIO)
    runs = [(_once("ours", large), _once("ours", small)) for _ in range(_N_PAIRS)]
    at_large, at_small = (tuple(map(_median, zip(*found, strict=True))) for found in zip(*runs, strict=True))
    yield Figure(name="open alone", ours=shown_seconds(at_large[0]))
    yield linear("open + iterate", sum(at_large[:2]), sum(at_small[:2]))
    peak, peak_small, peak_json = at_large[2], at_small[2], _once("json", large)[2]
    yield Figure(
        name="memory, vs json.load",
        ours=f"{peak:.0f} MB",
        peer=f"{peak_json:.0f} MB",
        ratio=f"{peak_json / peak:.3g} x",
        goal=f"< {_GOAL_MB:.0f} MB",
        reached=peak < _GOAL_MB,
    )
    yield Figure(
        name="memory: 10 x data",
        ours=f"{peak:.0f} MB",
        peer=f"{peak_small:.0f} MB",
        ratio=f"{peak / peak_small:.3g} x",
        goal=f"<= {_FLAT} x",
        reached=peak <= _FLAT * peak_small,
    )


def _median(values: tuple[float, ...]) -> float:
    return sorted(values)[len(values) // 2]


def _once(reader: str, path: Path) -> tuple[float, float, float]:
    """Return seconds to open, seconds to iterate and peak anonymous MB, in a fresh process."""
    process = measured([__file__, _ONCE, reader, path])
    opening, iterating, at_end_mb = map(float, process.output.split())
    return opening, iterating, max(at_end_mb, *process.peaks_mb)


def _print_once(reader: str, path: Path) -> None:
    """Read a file in this process and print what it took."""
    loaded: list[object] = []
    if reader == "ours":
        opening = seconds_of(lambda: loaded.append(open_dataset(path)))
        iterating = seconds_of(lambda: _n_sentences(loaded[0]))
    else:
        opening = seconds_of(lambda: loaded.append(_json_loaded(path)))
        iterating = seconds_of(lambda: _n_sentences(loaded[0]))
    print(opening, iterating, anonymous_mb())


def _json_loaded(path: Path) -> object:
    with path.open(encoding="utf-8") as file:
        return json.load(file)


def _n_sentences(loaded: object) -> int:
    """Visit every instance, and count its sentences so that both readers are known to have read the same."""
    if isinstance(loaded, Dataset):
        return sum(len(instance.query.sentences) for instance in loaded)
    assert isinstance(loaded, dict)
    return sum(len(record["paper_as_candidate_pool"]) for record in loaded.values())


def _check_same(path: Path) -> None:
    if _n_sentences(open_dataset(path)) != _n_sentences(_json_loaded(path)):
        raise RuntimeError(f"{path}: the two readers disagree")


def main() -> None:
    """Measure, or with --once be one of the processes that are measured."""
    if sys.argv[1:2] == [_ONCE]:
        _print_once(sys.argv[2], Path(sys.argv[3]))
    else:
        main_of("loading.py", __doc__, figures)


if __name__ == "__main__":
    main()
