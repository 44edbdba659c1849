"""The way from data to scores by command line: ``data solve``, ``run bm25 --jobs 2``, ``score`` of four tasks.

There is no peer: the published code has no such path. Goal: run and score of 20,000 instances under 2 minutes
together, each step linear in the number of instances. Peak anonymous memory of every process is sampled from outside.
"""

from collections.abc import Iterator
from pathlib import Path

from synthetic import synthetic_file
from timing import FULL_SIZE, Figure, Process, linear, main_of, measured, shown_seconds

_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")
_JOBS = 2
_GOAL_SECONDS = 120.0
# The process that multiprocessing starts to clean up after the others stays below.
_BOOKKEEPER_MB = 15.0


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:
    """Yield the time of each step, its growth, and its memory."""
    small, large = _steps(folder, n_instances // 10), _steps(folder, n_instances)
    for name, process in large.items():
        yield linear(name, process.seconds, small[name].seconds)
    together = large["run bm25"].seconds + large["score"].seconds
    # The goal is set for one size; start-up time rules the small ones.
    is_full = n_instances == FULL_SIZE
    yield Figure(
        name="run + score together",
        ours=shown_seconds(together),
        goal=f"< {shown_seconds(_GOAL_SECONDS)}" if is_full else "-",
        reached=together < _GOAL_SECONDS if is_full else None,
    )
    for name, process in large.items():
        yield Figure(name=f"{name}: peak MB", ours=_shown(process), peer=_shown(small[name]))


def _steps(folder: Path, n_instances: int) -> dict[str, Process]:
    data = synthetic_file(folder, n_instances)
    solved, run = data.with_suffix(".solved.json"), data.with_suffix(".bm25.jsonl")
    tasks = [argument for task in _TASKS for argument in ("--task", task)]
    jobs = ["--jobs", str(_JOBS)]
    return {
        "data solve": _command("data", "solve", data, "-o", solved, "--overwrite", *jobs),
        "run bm25": _command("run", "bm25", "--data", solved, "-o", run, "--overwrite", *tasks, *jobs),
        "score": _command("score", run, "--data", solved, *tasks),
        "score no controls": _command("score", run, "--data", solved, *tasks, "--no-controls"),
    }


def _command(*arguments: str | Path) -> Process:
    return measured(["-m", "evidencebench", *arguments])


def _shown(process: Process) -> str:
    """Return the peak of each process, the largest first."""
    return "+".join(f"{peak:.0f}" for peak in process.peaks_mb if peak > _BOOKKEEPER_MB) or "?"


if __name__ == "__main__":
    main_of("pipeline.py", __doc__, figures)
