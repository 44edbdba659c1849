"""The report of 300 instances with 6 runs: made, and opened in Chromium where there is one. And that of 5,000 with 3.

The peer is ``leaderboard`` on the same runs, in turn with it: it grades and ranks the same answers and shows them as
text. Goals: under 5 s from start to end of the process, under 15 MB, and usable in Chromium in under 2 s: results
drawn, the plot of two systems there, and a paper opened by a click. That of 5,000, with its papers and in two
processes: under 20 s, and drawn and a paper opened in under 3 s.
"""

import shutil
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from synthetic import synthetic_file
from timing import Figure, main_of, measured, paired, shown_seconds, under_seconds

_N_INSTANCES = 300
_SYSTEMS = ("bm25", "bm25:k1=2.0", "tfidf", "tfidf_char", "cues", "fuse:systems=[bm25+tfidf]")
_N_PAIRS = 3
_GOAL_SECONDS = 5.0
_GOAL_MB = 15.0
_GOAL_OPEN_SECONDS = 2.0
_N_LARGE, _LARGE_SYSTEMS, _GOAL_LARGE_SECONDS, _GOAL_LARGE_OPEN_SECONDS = 5_000, _SYSTEMS[:3], 20.0, 3.0
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:  # noqa: ARG001 - the goals are for one size
    """Yield the time and the size of the report, and the time until it can be used."""
    data, runs = _made(folder, _N_INSTANCES, _SYSTEMS)
    page = folder / "report.html"
    report = _report(data, runs, page)
    board: list[str | Path] = ["-m", "evidencebench", "leaderboard", *runs, "--data", data]
    pair = paired(lambda: measured(report).seconds, lambda: measured(board).seconds, _N_PAIRS)
    yield Figure(
        name="report, vs leaderboard",
        ours=shown_seconds(pair.ours),
        peer=shown_seconds(pair.peer),
        ratio=f"{pair.ratio:.3g} x",
        goal=f"< {shown_seconds(_GOAL_SECONDS)}",
        reached=pair.ours < _GOAL_SECONDS,
    )
    size = page.stat().st_size / 1e6
    yield Figure(name="report: size", ours=f"{size:.1f} MB", goal=f"< {_GOAL_MB:.0f} MB", reached=size < _GOAL_MB)
    large_page = folder / "large_report.html"
    large = measured([*_report(*_made(folder, _N_LARGE, _LARGE_SYSTEMS), large_page), "--jobs", "2"]).seconds
    note = f"{len(_LARGE_SYSTEMS)} runs, {large_page.stat().st_size / 1e6:.0f} MB"
    yield under_seconds(f"report of {_N_LARGE:,}", large, _GOAL_LARGE_SECONDS, note=note)
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None or find_spec("playwright") is None:
        yield Figure(name="report: usable in Chromium", ours="no browser")
        return
    drawn, opened = _usable(found, page)
    yield under_seconds("report: drawn in Chromium", drawn, _GOAL_OPEN_SECONDS)
    yield under_seconds("report: and a paper opened", opened, _GOAL_OPEN_SECONDS)
    drawn, opened = _usable(found, large_page)
    yield under_seconds(f"report of {_N_LARGE:,}: drawn", drawn, _GOAL_LARGE_OPEN_SECONDS)
    yield under_seconds(f"report of {_N_LARGE:,}: a paper opened", opened, _GOAL_LARGE_OPEN_SECONDS)


def _report(data: Path, runs: list[Path], page: Path) -> list[str | Path]:
    return ["-m", "evidencebench", "report", *runs, "--data", data, "-o", page, "--overwrite"]


def _made(folder: Path, n_instances: int, systems: tuple[str, ...]) -> tuple[Path, list[Path]]:
    """Return the data, its optima solved as in the published files, and the runs."""
    data = synthetic_file(folder, n_instances)
    solved = data.with_suffix(".solved.json")
    measured(["-m", "evidencebench", "data", "solve", data, "-o", solved, "--overwrite"])
    runs = [folder / f"report_{n_instances}_{number}.jsonl" for number in range(len(systems))]
    for system, run in zip(systems, runs, strict=True):
        measured(["-m", "evidencebench", "run", system, "--data", solved, "-o", run, "--overwrite"])
    return solved, runs


def _usable(browser_path: str, page_path: Path) -> tuple[float, float]:
    """Return the seconds until the plot is there, and until a paper that is clicked then is; the middle of three."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everywhere

    times = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, headless=True, args=_FLAGS)
        for _ in range(3):
            page = browser.new_page()
            start = time.perf_counter()
            page.goto(page_path.resolve().as_uri(), wait_until="commit")
            page.locator(".scatter-mark").first.wait_for()
            drawn = time.perf_counter() - start
            page.locator(".scatter tbody a").first.click()
            page.locator("#s-0").wait_for()
            times.append((drawn, time.perf_counter() - start))
            page.close()
        browser.close()
    return sorted(times)[1]


if __name__ == "__main__":
    main_of("reporting.py", __doc__, figures, data=f"{_N_INSTANCES} synthetic instances, {len(_SYSTEMS)} runs")
