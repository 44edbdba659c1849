"""Break the core in forty places, one at a time, and say which breaks the tests catch.

Run it before the tests are changed and after: what was caught must be caught::

    python tools/mutate.py > before.txt
    python tools/mutate.py --tests PATH/TO/OTHER/CHECKOUT > after.txt

Each place is broken in a copy of the tree, in which the tests of its folders then run until one fails.
"""

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Break(NamedTuple):
    """Some text of a file of the package, what replaces it, and the folders of tests that should notice."""

    file: str
    text: str
    broken: str
    tests: str


def read_breaks(topics: Sequence[str]) -> list[Break]:
    found = tomllib.loads(Path(__file__).with_name("mutations.toml").read_text(encoding="utf-8"))
    return [
        Break(**entry, tests=found[topic]["tests"]) for topic in topics or found for entry in found[topic]["breaks"]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=Path, default=ROOT, help="the checkout whose tests and package are taken")
    parser.add_argument("topics", nargs="*", help="of mutations.toml, such as scoring; all by default")
    options = parser.parse_args()
    checkout = options.tests.resolve()
    breaks = read_breaks(options.topics)
    n_caught = 0
    with tempfile.TemporaryDirectory() as made:
        tree = copied(checkout, Path(made))
        for number, place in enumerate(breaks, 1):
            failed = first_failure(tree, place)
            n_caught += failed is not None
            print(f"{number:2} {place.file}: {place.broken}: {failed or 'NOT CAUGHT'}", flush=True)
    print(f"{n_caught} of {len(breaks)} caught")


def copied(checkout: Path, folder: Path) -> Path:
    """Copy what is committed; tests look for the real data beside it."""
    tree = folder / "main"
    (folder / "shared").symlink_to(ROOT.parent / "shared")
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=checkout, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(tree, filter="data")
    return tree


def first_failure(tree: Path, place: Break) -> str | None:
    """Return the first test that fails once a place is broken; None if all pass."""
    file = tree / "src" / "evidencebench" / place.file
    text = file.read_text(encoding="utf-8")
    if text.count(place.text) != 1:
        sys.exit(f"{place.file}: expected {place.text!r} once, found {text.count(place.text)} times")
    file.write_text(text.replace(place.text, place.broken), encoding="utf-8")
    # A break may make a test wait for ever.
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "--tb=no", "--timeout", "120"]
    environ = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    ended = subprocess.run(
        [*command, *place.tests.split()], cwd=tree, env=environ, stdout=subprocess.PIPE, text=True, check=False
    )
    file.write_text(text, encoding="utf-8")
    failures = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if ended.returncode not in {0, 1, 2} or (ended.returncode and not failures):
        sys.exit(f"pytest ended with exit code {ended.returncode}:\n{ended.stdout[-2000:]}")
    return failures[0].split(" - ")[0] if failures else None


if __name__ == "__main__":
    main()
