"""``train finder`` on synthetic papers in the dialect of EvidenceBench-100k: 1,000 of them, and 10,000.

Features lie on the disk, and at most 150,000 sentences of either sort are fitted to. Goal: at
most 4 GB for 87,461 instances; peak anonymous memory is sampled from outside.
"""

from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from synthetic import synthetic_100k_file
from timing import Figure, linear, main_of, measured


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:
    """Yield the processor's time, its growth, and the memory."""
    small, large = _trained(folder, n_instances // 20), _trained(folder, n_instances // 2)
    yield linear("train finder", large[0], small[0])
    yield Figure(name="train finder: peak MB", ours=f"{large[1]:.0f} MB", peer=f"{small[1]:.0f} MB")


def _trained(folder: Path, n_instances: int) -> tuple[float, float]:
    """Return the seconds of the processor and the megabytes at the peak that a training takes."""
    data, model = str(synthetic_100k_file(folder, n_instances)), str(folder / f"finder_{n_instances}")
    command = ["-m", "evidencebench", "train", "finder:figures=false", "--data", data, "-o", model, "--overwrite"]
    before = getrusage(RUSAGE_CHILDREN)
    process = measured(command)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, process.peaks_mb[0]


if __name__ == "__main__":
    main_of("training.py", __doc__, figures)
