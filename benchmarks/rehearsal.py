"""Everything that is done with EvidenceBench-100k, rehearsed on synthetic data of its dialect: 1,000 to 87,461 papers.

    python benchmarks/rehearsal.py /somewhere/large                      all that is not measured yet
    python benchmarks/rehearsal.py /somewhere/large --steps solve,score  these anew
    python benchmarks/rehearsal.py /somewhere/large --sizes 1000,10000   without the largest

Each step is a command in a process of its own. What it took is appended to ``rehearsal.jsonl`` in the folder, so that
a rehearsal that is interrupted goes on; then the table is printed, in Markdown. The folder needs 12 GB. Each exponent
says how the processor's time grows from one size to the next: 1 is linear. Memory is the sum of the peaks of all
processes of a step, without the pages of files. The peer of Parquet is JSON, in the same table.
"""

import argparse
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synthetic import synthetic_100k_file
from timing import Process, measured
from viewing import viewing

SIZES = (1_000, 10_000, 87_461)
_JOBS = 2
_TASKS = ("er_at_optimal", "er_at_10")
_SYSTEMS = ("bm25", "cues", "finder")
_MB = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The files of one size in the folder."""

    folder: Path
    n: int

    @property
    def data(self) -> Path:
        """The data set, made if it is not there."""
        return synthetic_100k_file(self.folder, self.n)

    def file(self, name: str) -> Path:
        """Return the path of what a step writes."""
        return self.folder / f"{self.n}_{name}"

    @property
    def runs(self) -> list[Path]:
        """The runs of all systems."""
        return [self.file(f"{system}.jsonl") for system in _SYSTEMS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command, what it writes, and the goals at the largest size, if there are any."""

    arguments: Callable[[Place], list[str | Path]]
    output: str | None = None
    goal_seconds: float | None = None  # on two cores that do nothing else
    goal_mb: float | None = 2_000


def _command(*arguments: str | Path) -> list[str | Path]:
    return ["-m", "evidencebench", *arguments]


def _code(code: str, *arguments: Path) -> list[str | Path]:
    return ["-c", f"import sys; from evidencebench import open_dataset; {code}", *arguments]


def _tasks() -> list[str]:
    return [argument for task in _TASKS for argument in ("--task", task)]


def _jobs() -> list[str]:
    return ["--jobs", str(_JOBS)]


_OPEN = "open_dataset(sys.argv[1])"
_ITERATE = "print(sum(len(one.query.sentences) for one in open_dataset(sys.argv[1])))"


def _run(system: str, goal_seconds: float | None = None) -> Step:
    return Step(
        arguments=lambda at: _command(
            *("run", system, "-d", at.data, "-o", at.file(f"{system}.jsonl"), "--overwrite"), *_tasks(), *_jobs()
        ),
        output=f"{system}.jsonl",
        goal_seconds=goal_seconds,
    )


def _score(system: str) -> Step:
    return Step(arguments=lambda at: _command("score", at.file(f"{system}.jsonl"), "-d", at.data, *_tasks()))


_MINUTE = 60.0
STEPS: Mapping[str, Step] = {
    "open": Step(arguments=lambda at: _code(_OPEN, at.data), goal_seconds=3),
    "iterate": Step(arguments=lambda at: _code(_ITERATE, at.data)),
    "validate": Step(arguments=lambda at: _command("data", "validate", at.data, *_jobs())),
    "solve": Step(
        arguments=lambda at: _command("data", "solve", at.data, "-o", at.file("solved.json"), "--overwrite", *_jobs()),
        output="solved.json",
        goal_seconds=90,
    ),
    "convert": Step(
        arguments=lambda at: _command("data", "convert", at.data, at.file("data.parquet"), "--overwrite"),
        output="data.parquet",
        goal_seconds=3 * _MINUTE,
    ),
    "open Parquet": Step(arguments=lambda at: _code(_OPEN, at.file("data.parquet"))),
    "iterate Parquet": Step(arguments=lambda at: _code(_ITERATE, at.file("data.parquet"))),
    "convert back": Step(
        arguments=lambda at: _command("data", "convert", at.file("data.parquet"), at.file("back.json"), "--overwrite"),
        output="back.json",
    ),
    "run bm25": _run("bm25", 8 * _MINUTE),
    "score bm25": _score("bm25"),
    "run cues": _run("cues"),
    "run finder": _run("finder", 90 * _MINUTE),
    "leaderboard": Step(arguments=lambda at: _command("leaderboard", *at.runs, "-d", at.data, *_tasks())),
    "report": Step(
        arguments=lambda at: _command(
            "report", *at.runs, "-d", at.data, *_tasks(), "-o", at.file("report.html"), "--overwrite"
        ),
        output="report.html",
    ),
    "train finder": Step(
        arguments=lambda at: _command(
            "train", "finder:figures=false", "-d", at.data, "-o", at.file("finder_model"), "--overwrite"
        ),
        output="finder_model",
        goal_mb=4_000,
    ),
}
VIEW = "view"


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where data and results are kept")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of instances; default: %(default)s")
    parser.add_argument("--steps", default="", help=f"measured anew, of: {', '.join((*STEPS, VIEW))}")
    chosen = parser.parse_args()
    anew = [name for name in chosen.steps.split(",") if name]
    if unknown := set(anew) - {*STEPS, VIEW}:
        parser.error(f"--steps: no step {', '.join(sorted(unknown))}")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    journal = chosen.folder / "rehearsal.jsonl"
    known = _read(journal)
    # All sizes of a step one after the other: a machine that others use too is fast and slow by the hour.
    for name in (*STEPS, VIEW):
        for n in map(int, chosen.sizes.split(",")):
            if name in anew or (not anew and (name, n) not in known):
                place = Place(folder=chosen.folder, n=n)
                found = _viewed(place) if name == VIEW else _taken(STEPS[name], place)
                found |= {"step": name, "n": n, "day": datetime.now(UTC).date().isoformat()}
                with journal.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(found)}\n")
                print(found, flush=True)
    print("\n".join(_table(_read(journal))))


def _taken(step: Step, place: Place) -> dict[str, Any]:
    """Run a step and return what it took."""
    _ = place.data  # made before the clock starts
    process: Process = measured(step.arguments(place))
    output = None if step.output is None else _size_mb(place.file(step.output))
    return {
        "seconds": round(process.seconds, 2),
        "processor_seconds": round(process.processor_seconds, 2),
        "peak_mb": round(sum(process.peaks_mb)),
        "output_mb": output,
        "load": round(os.getloadavg()[0], 1),
    }


def _viewed(place: Place) -> dict[str, Any]:
    """Open the app on the data and return when its first page came, and when all was indexed and graded."""
    with tempfile.TemporaryDirectory() as cache, viewing(place.data, cache) as app:
        app.wait_until_surveyed()
        surveyed = time.perf_counter() - app.begun
        return {
            "seconds": round(app.first_page_seconds, 2),
            "surveyed_seconds": round(surveyed, 1),
            "load": round(os.getloadavg()[0], 1),
        }


def _size_mb(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return round(sum(one.stat().st_size for one in files if one.is_file()) / _MB, 1)


def _read(journal: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the last measurement of each step and size."""
    if not journal.exists():
        return {}
    lines = map(json.loads, journal.read_text(encoding="utf-8").splitlines())
    return {(line["step"], line["n"]): line for line in lines}


def _table(known: dict[tuple[str, int], dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table: seconds, exponents, memory and disk by step."""
    sizes = sorted({n for _, n in known})
    heads = [f"{n:,}" for n in sizes]
    yield f"| step | {' | '.join(heads)} | processor | exponents | peak MB | disk MB | goal | met |"
    yield f"| --- |{' --- |' * (len(heads) + 6)}"
    for name in (*STEPS, VIEW):
        found = [known.get((name, n)) for n in sizes]
        last = next((one for one in reversed(found) if one is not None), None)
        if last is None:
            continue
        cells = [name, *(_seconds(one, "seconds") for one in found), _seconds(last, "processor_seconds")]
        cells += [_exponents(sizes, found), _number(last.get("peak_mb")), _number(last.get("output_mb"))]
        yield f"| {' | '.join([*cells, *_goal(STEPS.get(name), last, is_full=last['n'] == SIZES[-1])])} |"


def _seconds(one: dict[str, Any] | None, key: str) -> str:
    value = None if one is None else one.get(key)
    return "" if value is None else f"{value:,.1f} s"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _exponents(sizes: list[int], found: list[dict[str, Any] | None]) -> str:
    """Return how the processor's time grows from each size to the next, as a power of the size."""
    exponents = []
    for (n, one), (m, other) in zip(
        zip(sizes, found, strict=True), zip(sizes[1:], found[1:], strict=True), strict=False
    ):
        if one is not None and other is not None:
            times = [each.get("processor_seconds", each["seconds"]) for each in (one, other)]
            exponents.append(f"{math.log(times[1] / times[0]) / math.log(m / n):.2f}")
    return ", ".join(exponents)


def _goal(step: Step | None, last: dict[str, Any], *, is_full: bool) -> tuple[str, str]:
    if step is None or not is_full:
        return "", ""
    goals = [] if step.goal_seconds is None else [(f"{step.goal_seconds:,.0f} s", last["seconds"] < step.goal_seconds)]
    goals += [] if step.goal_mb is None else [(f"{step.goal_mb:,.0f} MB", last["peak_mb"] < step.goal_mb)]
    return ", ".join(text for text, _ in goals), ", ".join("yes" if met else "NO" for _, met in goals)


if __name__ == "__main__":
    main()
