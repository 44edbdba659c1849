"""``find`` on papers far longer than any: what it takes in processor time and memory, in a process of its own.

The papers are the sentences of the train split one after the other, over and over, else those of the sample. Goals: an
answer for every paper that is not refused, in at most 1 GB, and memory that does not grow with the length's square.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from evidencebench.data.dataset import open_dataset
from evidencebench.data.sample import load_sample
from timing import REPOSITORY, Figure, main_of

_REAL = REPOSITORY.parent / "shared" / "data" / "evidencebench_train_set.json"
_LENGTHS = (1_000, 10_000, 30_000, 50_000)
_SYSTEMS = ("finder", "cues")
_GOAL_MB = 1000
_HYPOTHESIS = "Alcohol raises the risk of gastric cancer."


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:  # noqa: ARG001 - the papers are of fixed lengths
    """Yield processor time and peak memory for each system and length."""
    instances = list(open_dataset(_REAL) if _REAL.is_file() else load_sample())
    sentences = [" ".join(text.split()).lstrip("#") for one in instances for text in one.query.sentences]
    for n in _LENGTHS:
        paper = folder / f"{n}.txt"
        paper.write_text("\n".join(islice(cycle(sentences), n)), encoding="utf-8")
        for system in _SYSTEMS:
            seconds, megabytes = _measured(["find", _HYPOTHESIS, str(paper), "--system", system])
            yield Figure(name=f"{system}: {n:,} sentences", ours=f"{seconds:.1f} s")
            yield Figure(
                name=f"{system}: {n:,} sentences",
                ours=f"{megabytes:.0f} MB",
                goal=f"{_GOAL_MB} MB",
                reached=megabytes <= _GOAL_MB,
            )


def _measured(arguments: list[str]) -> tuple[float, float]:
    """Return the seconds of the processor and the megabytes at the peak that a command takes."""
    process = subprocess.Popen([sys.executable, "-m", "evidencebench", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"finding.py: expected an answer, got exit status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main_of("finding.py", __doc__, figures)
