"""Run tests again and again on a busy machine, and list whatever has failed.

Beside six processes that only count, or with one core for all, a test that depends on who is faster fails sooner or
later::

    python tools/find_flickers.py start whole --rounds 4
    python tools/find_flickers.py start browser --rounds 20 -- tests/pages/browser -n 2
    python tools/find_flickers.py start core --rounds 2 --one-core
    python tools/find_flickers.py show whole

``start`` works in the background, and goes on where it was stopped. What is behind ``--`` goes to pytest. Each round's
results lie in ``build/flickers/NAME``, from which ``show`` lists the failures; its exit code is 1 if there are any.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "flickers"

# Counts for as long as the process that has started it lives.
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("start", "work", "show"), help="work is start, but waits until all is done")
    parser.add_argument("name", help="of the folder in build/flickers")
    parser.add_argument("--rounds", type=int, default=4, help="how often all tests are run (default 4)")
    parser.add_argument("--busy", type=int, default=6, help="how many other processes are busy (default 6)")
    parser.add_argument(
        "--one-core",
        dest="is_one_core",
        action="store_true",
        help="give the tests one core, and start no other process",
    )
    words, tests = split_at_dashes(sys.argv[1:])
    options = parser.parse_args(words)
    folder = FOLDER / options.name
    if options.verb == "show":
        sys.exit(show(folder))
    folder.mkdir(parents=True, exist_ok=True)
    if options.verb == "work":
        work(folder, options.rounds, 0 if options.is_one_core else options.busy, tests, is_one_core=options.is_one_core)
    else:
        arguments = ["work", options.name, f"--rounds={options.rounds}", f"--busy={options.busy}"]
        if options.is_one_core:
            arguments.append("--one-core")
        with (folder / "work.txt").open("a") as log:
            subprocess.Popen(
                [sys.executable, __file__, *arguments, "--", *tests],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        print(f"Started. What has failed so far: python tools/find_flickers.py show {options.name}")


def split_at_dashes(words: Sequence[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return list(words), []
    place = words.index("--")
    return list(words[:place]), list(words[place + 1 :])


def work(folder: Path, n_rounds: int, n_busy: int, tests: Sequence[str], *, is_one_core: bool) -> None:
    for number in range(n_rounds):
        results = folder / f"{number:02}.xml"
        if not results.exists():
            begun = time.monotonic()
            run_round(results, n_busy, tests, is_one_core=is_one_core)
            print(f"round {number}: {time.monotonic() - begun:.0f} s", flush=True)


def run_round(results: Path, n_busy: int, tests: Sequence[str], *, is_one_core: bool) -> None:
    unfinished = results.with_suffix(".part")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", "--timeout", "900"]
    command += ["--junit-xml", str(unfinished), *tests]
    if is_one_core:
        command = ["taskset", "--cpu-list", "0", *command]
    with ExitStack() as others:
        for _ in range(n_busy):
            other = subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())])
            others.callback(other.kill)
        with results.with_suffix(".txt").open("w") as output:
            environ = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}  # as `make test` has it
            subprocess.run(command, cwd=ROOT, env=environ, stdout=output, stderr=output, check=False)
    if not unfinished.exists():
        sys.exit(f"{results.with_suffix('.txt')}: pytest ended without results; see what it printed there")
    unfinished.replace(results)


def show(folder: Path) -> int:
    """Print each test that has failed, how often and why; return the exit code."""
    rounds = sorted(folder.glob("*.xml"))
    n_run = 0
    failures: dict[str, list[str]] = {}
    for results in rounds:
        for case in ET.parse(results).iter("testcase"):  # noqa: S314 - a file of our own
            n_run += case.find("skipped") is None
            for outcome in (*case.iter("failure"), *case.iter("error")):
                name = f"{case.get('classname')}::{case.get('name')}"
                lines = (outcome.get("message") or "").splitlines()
                failures.setdefault(name, []).append(f"{results.stem}: {lines[0] if lines else ''}")
    print(f"{len(rounds)} rounds, {n_run:,} tests run, {sum(map(len, failures.values()))} failed.")
    for name, messages in sorted(failures.items(), key=lambda failure: -len(failure[1])):
        print(f"{len(messages)} of {len(rounds)}: {name}")
        for message in messages:
            print(f"    {message[:160]}")
    return 1 if failures else 0


if __name__ == "__main__":
    main()
