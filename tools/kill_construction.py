"""Kill a construction again and again, with edits in between, and compare what comes of it with one left alone.

    python tools/kill_construction.py --kills 20

Runs ``construct run`` of the synthetic review against the server for trials, ends it with SIGKILL in each step in turn,
and finishes it: in steps that ask a model, while requests are in flight and where the step writes by turns; in
`harvest`, `filter` and `assemble` where they write (`killed_run.py`). Half-way, people edit drafts; the run that is
left alone has these edits from the start. Both data sets must be the same, byte for byte, and no request may be sent
whose reply was stored before a kill.
"""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from evidencebench.construction.demo import synthetic_studies, write_synthetic_review
from evidencebench.construction.draft import DATASET_FOLDER, MODEL_STEPS, STEP_FILES
from evidencebench.construction.edits import Edit, add_edit
from evidencebench.data.sample import load_sample
from evidencebench.integrations.fake_model import Call, FakeModel, Reply, Settings
from evidencebench.integrations.fake_server import FakeServer
from evidencebench.web.serving import listening_socket, served_in_thread

LATENCY = 0.02  # seconds, so that requests are in flight when a process is killed
ENDED = "ended before"
STEPS = (*STEP_FILES, "assemble")
N_PAPERS = 5  # of the synthetic review
WRITES_KILLED_AT = 2  # of a step that goes on where it was killed: the last one that a kill waits for
EDITS = (
    Edit(id="review.xml:B1:1", step="hypotheses", hypothesis="Tea changes what the trial of it measures.", by="ann"),
    Edit(id="review.xml:B2:1", step="aspects", rejected="not of this study", by="ann"),
)


class CountingModel(FakeModel):
    """Knows the right answers, errs as it is named, and counts how often each request was answered."""

    def __init__(self) -> None:
        super().__init__(load_sample(), Settings(latency_seconds=LATENCY), synthetic_studies())
        self.folder = Path()  # of the run that asks
        self.steps = Counter[str]()  # step -> its requests
        self.answered = Counter[tuple[str, str]]()  # the text of a request, and the key that its seed is in, too
        self.held: tuple[Path, str] | None = None  # the folder, and the step from which on no more replies are given
        self.n_before_held = 0  # replies that are given first
        self.is_holding, self.is_released = threading.Event(), threading.Event()

    def reply(self, call: Call, key: str) -> Reply:
        request = "\n".join(message.content for message in call.messages), key
        if request not in self.answered:
            self.steps[_step(self.folder)] += 1
        self.answered[request] += 1
        if self.held is not None and STEPS.index(_step(self.held[0])) >= STEPS.index(self.held[1]):
            self.n_before_held -= 1
            if self.n_before_held < 0:
                self.is_holding.set()
                self.is_released.wait(60)
        return super().reply(call, key)

    @contextmanager
    def holding(self, folder: Path, step: str, n: int) -> Iterator[None]:
        """Give so many replies to a step and those behind it, and then none until the block ends."""
        self.held, self.n_before_held = (folder, step), n
        self.is_holding.clear()
        self.is_released.clear()
        try:
            yield
        finally:
            self.held = None
            self.is_released.set()


@dataclass(kw_only=True)
class Killed:
    """What came of it."""

    n_requests: int = 0  # different ones
    kills: Counter[str] = field(default_factory=Counter)  # the step that was running -> kills
    n_in_writing: int = 0  # of these kills
    n_in_flight: int = 0  # requests that were asked again, since their process died before it could store the reply
    n_stored_again: int = 0  # that were asked again though the reply was stored
    is_same: bool = False  # whether the data sets have the same bytes


def kill_construction(
    folder: Path, *, n_kills: int, seed: int, steps: Sequence[str] = STEPS, n_papers: int = N_PAPERS
) -> Killed:
    """Run it of so many papers, left alone and killed in these steps in turn, in an empty folder."""
    chance, found = Random(seed), Killed()  # noqa: S311
    with _served() as (model, address):
        alone, killed = folder / "alone", folder / "killed"
        for work in (alone, killed):
            work.mkdir(parents=True)
            write_synthetic_review(work, model=f"local/noisy-0.2-0.02,base_url={address}")
            for number in range(n_papers, N_PAPERS):
                (work / "papers" / f"paper_{number + 1}.xml").unlink()
        _edit(alone)
        model.folder = alone
        n_writes = int(_finish(alone, "assemble").split()[-1])
        model.answered.clear()
        stored: list[Counter[str]] = []  # after each kill: how many replies the cache has of a text
        sent: list[Counter[tuple[str, str]]] = []
        for number in range(n_kills):
            if number == n_kills // 2:
                _edit(killed)
            step = steps[number * len(steps) // n_kills]
            if number % 2 == 0 and step in MODEL_STEPS:
                at = chance.randint(1, max(1, model.steps[step] // 3))
                found.kills[_kill_asking(killed, model, step, at, chance.uniform(0.3, 1) * LATENCY)] += 1
            else:
                at = chance.randint(1, n_writes if step == STEPS[-1] else WRITES_KILLED_AT)
                was_killed = _kill_writing(killed, step, at)
                found.kills[step if was_killed else ENDED] += 1
                found.n_in_writing += was_killed
            stored.append(_stored(killed))
            sent.append(Counter(model.answered))
        _finish(killed)
        sent.append(Counter(model.answered))
    for before, after, kept in zip(sent, sent[1:], stored, strict=False):
        keys = Counter(text for text, _ in before)
        for request in before:
            n_again = after[request] - before[request]
            if kept[request[0]] >= keys[request[0]]:
                found.n_stored_again += n_again
            else:
                found.n_in_flight += n_again
    found.n_requests = len(sent[-1])
    found.is_same = _dataset(alone) == _dataset(killed)
    return found


@contextmanager
def _served() -> Iterator[tuple[CountingModel, str]]:
    model, bound = CountingModel(), listening_socket("127.0.0.1", 0)
    with served_in_thread(FakeServer(model), bound):
        yield model, f"http://127.0.0.1:{bound.getsockname()[1]}/v1"


def _start(folder: Path, step: str = "", n: int = 0) -> subprocess.Popen[bytes]:
    call = [sys.executable, str(Path(__file__).with_name("killed_run.py")), step, str(n)]
    environ = {**os.environ, "EVIDENCEBENCH_CACHE": str(folder / "cache")}
    call.append(str(folder / "construction.toml"))
    return subprocess.Popen(call, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _finish(folder: Path, step: str = "", n: int = 0) -> bytes:
    with _start(folder, step, n) as process:
        output, said = process.communicate()
        if process.returncode:
            raise SystemExit(said.decode(errors="replace"))
    return output


def _kill_writing(folder: Path, step: str, n: int) -> bool:
    """Let a run die where a step writes for the n-th time, and return whether it did; else it came to its end."""
    with _start(folder, step, n) as process:
        process.communicate()
    return process.returncode == -signal.SIGKILL


def _kill_asking(folder: Path, model: CountingModel, step: str, n: int, seconds: float) -> str:
    """Kill a run so many seconds after so many answers to a step, and return in which step that was."""
    with model.holding(folder, step, n), _start(folder) as process:
        while process.poll() is None and not model.is_holding.wait(0.005):
            pass
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return _step(folder) if process.returncode == -signal.SIGKILL else ENDED


def _step(folder: Path) -> str:
    for step, name in STEP_FILES.items():
        path = folder / "work" / name
        if not path.exists() or b"n_drafts" not in path.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[2]:
            return step
    return STEPS[-1]


def _edit(folder: Path) -> None:
    (folder / "work").mkdir(exist_ok=True)
    for edit in EDITS:
        add_edit(folder / "work", edit)


def _stored(folder: Path) -> Counter[str]:
    path = folder / "cache" / "replies.sqlite"
    if not path.exists():
        return Counter()
    with closing(sqlite3.connect(path)) as connection:
        rows = [json.loads(zlib.decompress(request)) for (request,) in connection.execute("SELECT request FROM reply")]
    return Counter("\n".join(message["text"] for message in row["messages"]) for row in rows)


def _dataset(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "work" / DATASET_FOLDER).iterdir()}


def main() -> int:
    """Run it, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = kill_construction(Path(scratch), n_kills=chosen.kills, seed=chosen.seed)
    told = ", ".join(f"{step} {n}" for step, n in found.kills.items())
    print(f"{told}; {found.n_in_writing} of them in writing")
    print(f"{found.n_requests} requests; asked again: {found.n_stored_again} stored, {found.n_in_flight} in flight")
    print("the same bytes" if found.is_same else "OTHER BYTES")
    return 0 if found.is_same and not found.n_stored_again else 1


if __name__ == "__main__":
    sys.exit(main())
