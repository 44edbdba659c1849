"""The processor's time of a paper's answers, by systems that need neither a language model nor vectors.

    python benchmarks/answering.py
    PYTHONPATH=EARLIER/src python benchmarks/answering.py    # the same of another version, to be run in turn

Each paper is asked by the four published tasks, one after the other, as ``run`` does. Papers: the first 40 of the train
split where it is there, else the synthetic sample. Goal: a first answer of a trained ``finder`` in 30 ms.
"""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median

from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.sample import load_sample
from evidencebench.data.tasks import TASKS
from evidencebench.execution.making import make_system
from evidencebench.system import NamedSystem
from evidencebench.training.finder import FinderTraining
from timing import REPOSITORY, Figure, main_of

_REAL = REPOSITORY.parent / "shared" / "data" / "evidencebench_train_set.json"
_SYSTEMS = ("bm25", "tfidf_char", "diverse:system=bm25", "fuse:systems=[bm25+tfidf+cues]", "cues", "finder")
_TASKS = tuple(TASKS[name] for name in ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5"))
_N_PAPERS, _GOAL_MS = 40, 30.0


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:  # noqa: ARG001 - papers are few: real ones
    """Yield the median of each system's first answer, and of all four, in the peer's column."""
    instances = list(open_dataset(_REAL) if _REAL.is_file() else load_sample())
    FinderTraining(figures=False).fit(instances, folder / "finder")
    asked = list(islice(instances, _N_PAPERS))
    for name in (*_SYSTEMS, f"finder:model={folder / 'finder'}"):
        system = make_system(name)
        _seconds(system, asked[-1])  # loads and warms
        seconds = [_seconds(system, instance) for instance in asked[:-1]]
        first, together = (1000 * median(column) for column in zip(*seconds, strict=True))
        is_goal = name.startswith("finder:")
        yield Figure(
            name="finder, trained" if is_goal else name.partition(":")[0],
            ours=f"{first:.1f} ms",
            peer=f"{together:.1f} ms",
            goal=f"{_GOAL_MS:.0f} ms" if is_goal else "-",
            reached=first <= _GOAL_MS if is_goal else None,
        )


def _seconds(system: NamedSystem, instance: Instance) -> tuple[float, float]:
    """Return the processor's seconds of the first task's answer, and of all tasks' answers."""
    started = time.process_time()
    first = 0.0
    for task in _TASKS:
        if task.applies_to(instance.labels):
            system.rank(instance.query, task.ranking_task(instance))
            first = first or time.process_time() - started
            if not system.reads_task:
                break
    return first, time.process_time() - started


if __name__ == "__main__":
    main_of("answering.py", __doc__, figures, data=f"{_N_PAPERS} papers; the peer is all four tasks together")
