"""Kill the desk of a review while two people decide, and look whether anything that was saved is lost.

    python tools/kill_desk.py --kills 20

Makes 200 papers of the sample's sentences and 12 questions, serves ``evidencebench review``, and lets two reviewers
save decisions while the table fills. The server is ended with SIGKILL while requests are in flight, and started again;
every answer that was acknowledged must be there, and the table must go on where it was. It prints how long the desk
takes to open (from the start of the process until the whole table is answered), how long the table's request takes
alone, and how long a save takes, each as median and maximum.
"""

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

from evidencebench.data.sample import load_sample
from evidencebench.query import Kind
from evidencebench.review.decisions import CHOICES_OF

REVIEWERS = ("Ada", "Grace")
TIMEOUT = 60
LEAST_SAVES = 4  # before a kill
_SAID = ("decision", "written", "accepted", "note", "revision")
N_SENTENCES = 180  # of a paper, as the benchmark's have


class Kept(NamedTuple):
    """The last answer of a cell that a server has acknowledged, and one that was in flight when it was killed."""

    saved: dict[tuple[str, str], dict[str, Any]]
    in_flight: dict[tuple[str, str], dict[str, Any]]


@dataclass(kw_only=True)
class Measured:
    opens: list[float] = field(default_factory=list)  # seconds
    tables: list[float] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)
    saves_idle: list[float] = field(default_factory=list)  # once the table was full
    n_kills: int = 0
    n_in_flight: int = 0
    n_lost: int = 0
    n_found: list[int] = field(default_factory=list)  # cells, when each server ended


class Desk:
    """A served desk, and what reviewers ask of it."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "evidencebench", "review", str(folder), "--port", "0", *options]
        self._began = time.perf_counter()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.origin = self._process.stdout.readline().split()[-1].rstrip("/")
        self.address = self.origin.removeprefix("http://")
        self._local = threading.local()
        self._connections: list[http.client.HTTPConnection] = []

    def ask(self, method: str, path: str, body: object = None, person: str = "") -> Any:
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection(self.address, timeout=TIMEOUT)
            self._connections.append(self._local.connection)
        port = self.address.rpartition(":")[2]
        head = {"origin": self.origin, "cookie": f"evidencebench_name_{port}={person}"}
        head |= {"content-type": "application/json"} if body is not None else {}
        connection: http.client.HTTPConnection = self._local.connection
        connection.request(method, f"/api/people/{path}", None if body is None else json.dumps(body), head)
        reply = connection.getresponse()
        content = reply.read()
        if reply.status != http.HTTPStatus.OK:
            raise SystemExit(f"{path}: {reply.status} {content[:300]!r}")
        return json.loads(content)

    def table(self, person: str) -> Any:
        return self.ask("GET", f"queue?list=review&person={person}", person=person)

    def since_start(self) -> float:
        return time.perf_counter() - self._began

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        with self._process:  # which closes its pipe and waits
            self._process.send_signal(number)

    def close(self) -> None:
        """Close the connections, once nobody uses them."""
        for connection in self._connections:
            connection.close()


def make_papers(folder: Path, n_papers: int, n_questions: int, chance: Random) -> Path:
    """Write papers of the sample's sentences in another order, and return the file of questions beside them."""
    sample = list(load_sample())
    folder.mkdir()
    texts = [zip(instance.query.sentences, instance.query.kinds, strict=True) for instance in sample]
    body = [text for of_paper in texts for text, kind in of_paper if kind is Kind.BODY]
    for number in range(n_papers):
        title = sample[number % len(sample)].query.hypothesis
        lines = [f"# Paper {number}: {title}", "# Results", *chance.choices(body, k=N_SENTENCES)]
        (folder / f"paper_{number:03}.txt").write_text("\n".join(lines) + "\n")
    questions = folder.parent / "questions.txt"
    asked = list(dict.fromkeys(instance.query.hypothesis for instance in sample))
    asked += [f"{text} In women." for text in asked]
    kinds = cycle(("effect", "number"))
    questions.write_text("".join(f"{text} [{kind}]\n" for text, kind in zip(asked[:n_questions], kinds, strict=False)))
    return questions


def decide(
    desk: Desk, person: str, kept: Kept, saves: list[float], *, cells: Sequence[str], chance: Random, until: float
) -> None:
    """Save decisions of one person until a time, or until the server is gone."""
    while time.perf_counter() < until:
        cell = chance.choice(cells)
        key = person, cell
        before = kept.saved.get(key, {"revision": 0})
        accepted = sorted(chance.sample(range(20), 3))
        is_number = int(cell.partition(".")[2]) % 2 == 1
        answer = {
            "task": cell,
            "decision": "" if is_number else chance.choice(CHOICES_OF["effect"]),
            "written": f"tea: {chance.randrange(100)}; water: 59" if is_number else "",
            "accepted": accepted,
            "note": "x" * chance.randrange(200),
            "revision": before["revision"] + 1,
            "tab": person,
        }
        try:
            desk.ask("GET", f"task?list=review&id={cell}&person={person}", person=person)
            kept.in_flight[key] = answer
            began = time.perf_counter()
            saved = desk.ask("PUT", "answer", {"person": person, "list": "review", "answer": answer}, person)["answer"]
        except (OSError, http.client.HTTPException):
            return
        saves.append(time.perf_counter() - began)
        kept.saved[key] = saved
        del kept.in_flight[key]


def check(desk: Desk, kept: Kept, found: Measured) -> None:
    """Count what was acknowledged and is not there; what was in flight may be there or not."""
    for key in {**kept.saved, **kept.in_flight}:
        person, cell = key
        task = desk.ask("GET", f"task?list=review&id={cell}&person={person}", person=person)
        now, sent = task["answer"], kept.in_flight.pop(key, None)
        is_sent = now is not None and sent is not None and all(now[name] == sent[name] for name in _SAID)
        if is_sent:
            found.n_in_flight += 1
            kept.saved[key] = now
        elif now != kept.saved.get(key):
            found.n_lost += 1


def kill_desk(
    folder: Path,
    *,
    n_papers: int,
    n_questions: int,
    n_kills: int,
    seed: int,
    most_seconds: float = 2,  # after the first saves, until a kill
    idle_seconds: float = 2,  # in which reviewers decide once the table is full
) -> Measured:
    chance, found = Random(seed), Measured()  # noqa: S311
    questions = make_papers(folder / "papers", n_papers, n_questions, chance)
    kept = Kept({}, {})
    cells = [f"{row}.{column}" for row in range(n_papers) for column in range(n_questions)]
    for number in range(n_kills + 1):
        desk = Desk(folder / "papers", *(("--questions", str(questions)) if not number else ()))
        table = desk.table(REVIEWERS[0])
        found.opens.append(desk.since_start())
        began = time.perf_counter()
        table = desk.table(REVIEWERS[1])
        found.tables.append(time.perf_counter() - began)
        assert len(table["cells"]) == n_papers * n_questions
        check(desk, kept, found)
        is_last = number == n_kills
        while is_last and desk.table(REVIEWERS[0])["progress"]["is_running"]:
            time.sleep(0.2)
        saves = found.saves_idle if is_last else found.saves
        n_before = len(saves)
        until = time.perf_counter() + (idle_seconds if is_last else TIMEOUT)
        threads = [
            threading.Thread(
                target=decide,
                args=(desk, person, kept, saves),
                kwargs={"cells": cells, "chance": Random(chance.random()), "until": until},  # noqa: S311
            )
            for person in REVIEWERS
        ]
        for thread in threads:
            thread.start()
        if is_last:
            for thread in threads:
                thread.join()
            found.n_found.append(desk.table(REVIEWERS[0])["progress"]["done"])
            desk.end()
            desk.close()
            return found
        while len(saves) < n_before + LEAST_SAVES and any(thread.is_alive() for thread in threads):
            time.sleep(0.005)
        time.sleep(chance.uniform(0, most_seconds))
        desk.end(signal.SIGKILL)
        found.n_kills += 1
        for thread in threads:
            thread.join()
        desk.close()
        found.n_found.append(len(_found_lines(folder / "papers")))
    return found


def _found_lines(papers: Path) -> list[bytes]:
    """Return what the desk's system has found so far, a line a cell."""
    files = (papers / "evidencebench-review" / "systems").glob("*.jsonl")
    return [line for file in files for line in file.read_bytes().splitlines()[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--papers", type=int, default=200)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = kill_desk(
            Path(folder), n_papers=asked.papers, n_questions=asked.questions, n_kills=asked.kills, seed=asked.seed
        )
        asked_cells = asked_of(Path(folder) / "papers")
    named = {
        "start to table": (found.opens, 2.0),
        "table alone": (found.tables, 2.0),
        "save while it fills": (found.saves, 0.1),
        "save when full": (found.saves_idle, 0.1),
    }
    for name, (seconds, limit) in named.items():
        n_over = sum(one > limit for one in seconds)
        worst = (
            f"median {median(seconds):.3f} s, most {max(seconds):.3f} s, {n_over} of {len(seconds):,} over {limit:g} s"
        )
        print(f"{name:20} {worst}" if seconds else f"{name:20} -")
    print(f"kills {found.n_kills}, saved although the reply was lost {found.n_in_flight}, lost {found.n_lost}")
    print(f"cells in the journal at each end: {' '.join(map(str, found.n_found))}")
    print(f"cells asked {len(asked_cells):,}, more than once {sum(n > 1 for n in asked_cells.values()):,}")
    print(f"processors {os.cpu_count()}")


def asked_of(papers: Path) -> Counter[tuple[str, str]]:
    """Count how often each cell was asked, by the journal: text and question."""
    return Counter((found["text"], found["question"]) for found in map(json.loads, _found_lines(papers)))


if __name__ == "__main__":
    main()
