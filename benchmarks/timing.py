"""What the benchmarks share: timings in pairs, processes measured from outside, and the printed summary."""

import argparse
import contextlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

BENCHMARKS = Path(__file__).parent
REPOSITORY = BENCHMARKS.parent
FULL_SIZE = 20_000
QUICK_SIZE = 2_000
# A tenth of it still holds the instances that every benchmark needs.
SMALLEST_SIZE = 400
# A growth of 10 in the number of instances may cost this much more time before it stops being called linear.
LINEAR_GROWTH = 12.0
_SAMPLE_SECONDS = 0.02
# Widths of the six columns of the summary, 80 characters with the spaces between them.
_WIDTHS = (28, 11, 12, 8, 11, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the summary: what was measured, here and with a peer, and the goal.

    Attributes
    ----------
    name
        What was measured.
    ours, peer, ratio, goal
        As printed; "-" where there is none.
    reached
        Whether the goal is reached; None where there is none.
    """

    name: str
    ours: str
    peer: str = "-"
    ratio: str = "-"
    goal: str = "-"
    reached: bool | None = None


Measurement = Callable[[Path, int], Iterable[Figure]]
"""(folder for the synthetic files, number of instances) -> figures, each as soon as it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Medians over runs A B A B ...: seconds of ours and of the peer, and of peer / ours within a pair."""

    ours: float
    peer: float
    ratio: float


def paired(ours: Callable[[], float], peer: Callable[[], float], n_pairs: int) -> Pair:
    """Run two timings in turn, so that what else the machine does meets both, and return the medians."""
    runs = [(ours(), peer()) for _ in range(n_pairs)]
    return Pair(ours=median(a for a, _ in runs), peer=median(b for _, b in runs), ratio=median(b / a for a, b in runs))


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A command that ended well.

    Attributes
    ----------
    output
        What it printed.
    seconds
        From its start to its end.
    processor_seconds
        Of the processor, in it and in the processes that it started and waited for.
    peaks_mb
        Peak anonymous memory of it and of each process it started, largest first, sampled; pages of mapped files do
        not count. Empty where the system has no /proc.
    """

    output: str
    seconds: float
    processor_seconds: float
    peaks_mb: tuple[float, ...]


def measured(arguments: Sequence[str | Path]) -> Process:
    """Run Python with these arguments in a fresh process and return what it took.

    Raises
    ------
    RuntimeError
        If the command fails; the message holds its errors.
    """
    peaks: dict[int, float] = {}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start, used_before = time.perf_counter(), _processor_seconds()
        with subprocess.Popen([sys.executable, *map(str, arguments)], stdout=output, stderr=errors) as process:
            while process.poll() is None:
                for pid in _family(process.pid):
                    peaks[pid] = max(peaks.get(pid, 0.0), anonymous_mb(pid))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_SAMPLE_SECONDS)
        seconds = time.perf_counter() - start
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError(f"{' '.join(map(str, arguments))}: exit code {process.returncode}: {errors.read()}")
        peaks_mb = tuple(sorted((peak for peak in peaks.values() if peak), reverse=True))
        used = _processor_seconds() - used_before
        return Process(output=output.read(), seconds=seconds, processor_seconds=used, peaks_mb=peaks_mb)


def _processor_seconds() -> float:
    """Return the processor's time of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def anonymous_mb(pid: int | str = "self") -> float:
    """Return the anonymous memory of a process in MB, or 0 if that cannot be known."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:  # it has ended, or there is no /proc
        return 0.0
    for line in status.splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def _family(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="utf-8").split():
                yield from _family(int(child))


def at_least(name: str, pair: Pair, goal: float) -> Figure:
    """Return a comparison with a peer that should be at least ``goal`` times slower."""
    return Figure(
        name=name,
        ours=shown_seconds(pair.ours),
        peer=shown_seconds(pair.peer),
        ratio=_times(pair.ratio),
        goal=f">= {_times(goal)}",
        reached=pair.ratio >= goal,
    )


def under_seconds(name: str, seconds: float, goal: float, *, note: str = "-") -> Figure:
    """Return a time that should stay under ``goal`` seconds; ``note`` stands in the peer's column."""
    return Figure(
        name=name, ours=shown_seconds(seconds), peer=note, goal=f"< {shown_seconds(goal)}", reached=seconds < goal
    )


def linear(name: str, large: float, small: float) -> Figure:
    """Return how the time grows for ten times the instances; the peer's column holds the time for one time."""
    growth = large / small
    return Figure(
        name=f"{name}: 10 x data",
        ours=shown_seconds(large),
        peer=shown_seconds(small),
        ratio=_times(growth),
        goal=f"<= {_times(LINEAR_GROWTH)}",
        reached=growth <= LINEAR_GROWTH,
    )


def shown_seconds(seconds: float) -> str:
    """Return a time with a fitting unit and three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError(seconds)


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} x" if ratio >= 100 else f"{ratio:.3g} x"


def main_of(name: str, description: str | None, *measurements: Measurement, data: str | None = None) -> None:
    """Run measurements as a command of its own: parse its arguments, measure, and print the summary.

    Parameters
    ----------
    name, description
        As its help shows them.
    measurements
        What to measure.
    data
        What it measures on; None: synthetic instances.
    """
    parser = argparse.ArgumentParser(
        prog=name, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="where synthetic files are kept; default: a temporary folder")
    parser.add_argument("--instances", type=int, default=FULL_SIZE, metavar="N", help=f"default: {FULL_SIZE}")
    parser.add_argument("--quick", action="store_true", help=f"the same as --instances {QUICK_SIZE}")
    chosen = parser.parse_args()
    n_instances = QUICK_SIZE if chosen.quick else chosen.instances
    if n_instances < SMALLEST_SIZE:
        parser.error(f"--instances: expected at least {SMALLEST_SIZE}, got {n_instances}")
    with contextlib.ExitStack() as stack:
        folder = chosen.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evidencebench-")))
        folder.mkdir(parents=True, exist_ok=True)
        print(data or f"{n_instances:,} synthetic instances; in lines '10 x data', the peer is a tenth of them")
        print(_line("figure", "ours", "peer", "ratio", "goal", "met"))
        print(" ".join("-" * width for width in _WIDTHS))
        figures: list[Figure] = []
        for measurement in measurements:
            for figure in measurement(folder, n_instances):
                figures.append(figure)
                met = {True: "yes", False: "NO", None: "-"}[figure.reached]
                print(_line(figure.name, figure.ours, figure.peer, figure.ratio, figure.goal, met), flush=True)
    goals = [figure for figure in figures if figure.reached is not None]
    print(f"{sum(bool(figure.reached) for figure in goals)} of {len(goals)} goals reached")


def _line(*cells: str) -> str:
    name, *values = cells
    first, *others = _WIDTHS
    return " ".join([name.ljust(first), *(value.rjust(width) for value, width in zip(values, others, strict=True))])
