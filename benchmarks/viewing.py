"""The app on large data: the first page, pages while it is busy and after, the search, and memory.

The app runs in a process of its own and is asked over loopback. Peers do the same work without it, in the same minutes
on the same machine: reading the file with ``json.load``, and looking for a word in every text with SQLite's
``LIKE '%word%'``. Memory is all that is resident.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from evidencebench.data.dataset import open_dataset
from synthetic import synthetic_file
from timing import Figure, main_of, seconds_of, shown_seconds, under_seconds

_N_PAGES = 60
_N_STARTS = 3
_GOAL_FIRST_PAGE = 1.0
_GOAL_PAGE = 0.2
_GOAL_SEARCH = 1.0
_GOAL_MB = 500.0
_LONGEST_SURVEY_SECONDS = 600.0


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:
    """Yield the figures of the app."""
    data = synthetic_file(folder, n_instances)
    open_dataset(data)  # warms the page cache
    with tempfile.TemporaryDirectory() as cache:
        loading = _seconds_to_load(data)
        yield from _starting(data, cache, loading)
        with viewing(data, cache) as app:
            yield from _busy(app, n_instances)
            app.wait_until_surveyed()
            yield Figure(name="view: indexed and graded", ours=shown_seconds(time.perf_counter() - app.begun))
            yield from _quiet(app, n_instances, data)


def _starting(data: Path, cache: str, loading: float) -> Iterator[Figure]:
    starts = []
    for _ in range(_N_STARTS):
        with viewing(data, cache) as app:
            starts.append(app.first_page_seconds)
    first = median(starts)
    yield Figure(
        name="view: first page, json.load",
        ours=shown_seconds(first),
        peer=shown_seconds(loading),
        ratio=f"{loading / first:.3g} x",
        goal=f"< {shown_seconds(_GOAL_FIRST_PAGE)}",
        reached=first < _GOAL_FIRST_PAGE,
    )


def _busy(app: "_App", n_instances: int) -> Iterator[Figure]:
    """Yield what pages take while the app passes over the data."""
    yield from _pages(app, n_instances, "at first")


def _quiet(app: "_App", n_instances: int, data: Path) -> Iterator[Figure]:
    """Yield what pages, the search and memory take once it has."""
    yield from _pages(app, n_instances, "later")
    words = _words(data)
    ours = median(app.seconds_of("/api/rows", q=word, n=50) for word in words)
    with tempfile.TemporaryDirectory() as scratch:
        peer = _seconds_to_scan(data, Path(scratch) / "texts.sqlite", words)
    yield Figure(
        name="view: search, LIKE '%word%'",
        ours=shown_seconds(ours),
        peer=shown_seconds(peer),
        ratio=f"{peer / ours:,.0f} x",
        goal=f"< {shown_seconds(_GOAL_SEARCH)}",
        reached=ours < _GOAL_SEARCH,
    )
    peak = app.peak_mb()
    yield Figure(
        name="view: resident, peak", ours=f"{peak:.0f} MB", goal=f"< {_GOAL_MB:.0f} MB", reached=peak < _GOAL_MB
    )


def _pages(app: "_App", n_instances: int, when: str) -> Iterator[Figure]:
    random = Random(0)
    asked: dict[str, Callable[[], float]] = {
        "list": lambda: app.seconds_of("/api/rows", offset=random.randrange(n_instances), n=50),
        "paper": lambda: app.seconds_of("/api/instances", id=f"synthetic_{random.randrange(n_instances)}"),
    }
    for name, ask in asked.items():
        taken = sorted(ask() for _ in range(_N_PAGES))
        slow = taken[int(0.95 * len(taken))]
        yield under_seconds(f"view: {name} {when}, p95", slow, _GOAL_PAGE, note=f"p50 {shown_seconds(median(taken))}")


class _App:
    """An app in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], address: str, begun: float) -> None:
        self._process = process
        self.begun = begun
        self._host = address.removeprefix("http://").rstrip("/")
        self.get("/")
        self.get("/api/overview")
        self.get("/api/rows?n=50")
        self.first_page_seconds = time.perf_counter() - begun

    def get(self, target: str) -> Any:
        connection = HTTPConnection(self._host)
        try:
            connection.request("GET", target)
            reply = connection.getresponse()
            body = reply.read()
            if reply.status != 200:
                raise RuntimeError(f"{target}: status {reply.status}: {body!r}")
            return json.loads(body) if reply.headers["Content-Type"] == "application/json" else body
        finally:
            connection.close()

    def seconds_of(self, path: str, **asked: object) -> float:
        query = "&".join(f"{name}={value}" for name, value in asked.items())
        return seconds_of(lambda: self.get(f"{path}?{query}"))

    def wait_until_surveyed(self) -> None:
        until = time.monotonic() + _LONGEST_SURVEY_SECONDS
        while True:
            found = self.get("/api/rows?n=1")
            if found["n_scored"] == found["n_searched"] == found["n_instances"]:
                return
            if time.monotonic() > until:
                raise RuntimeError(f"surveyed {found['n_scored']} of {found['n_instances']} only")
            time.sleep(0.5)

    def peak_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6


@contextmanager
def viewing(data: Path, cache: str) -> Iterator[_App]:
    """View data in a process of its own, and give it once its first page is there."""
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "evidencebench", "view", "--data", str(data), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"EVIDENCEBENCH_CACHE": cache},
    ) as process:
        try:
            assert process.stdout is not None
            yield _App(process, process.stdout.readline().split()[-1], begun)
        finally:
            process.send_signal(signal.SIGTERM)


def _seconds_to_load(data: Path) -> float:
    code = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"
    return seconds_of(lambda: subprocess.run([sys.executable, "-c", code, str(data)], check=True))


def _words(data: Path) -> list[str]:
    """Return words that stand in many papers and in few."""
    random, dataset = Random(1), open_dataset(data)
    return [
        random.choice(dataset[random.randrange(len(dataset))].query.sentences).split()[0].strip(".") for _ in range(9)
    ]


def _seconds_to_scan(data: Path, path: Path, words: list[str]) -> float:
    """Return the median time in which SQLite looks through all texts for a word."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE paper (text TEXT)")
    texts = (" ".join((query.hypothesis, *query.sentences)) for query in open_dataset(data).queries())
    connection.executemany("INSERT INTO paper VALUES (?)", ((text,) for text in texts))
    connection.commit()
    asked = "SELECT rowid FROM paper WHERE text LIKE ?"
    taken = [seconds_of(lambda: connection.execute(asked, (f"%{word}%",)).fetchall()) for word in words]  # noqa: B023 - called at once
    connection.close()
    return median(taken)


if __name__ == "__main__":
    main_of("viewing.py", __doc__, figures)
