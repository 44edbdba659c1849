"""Break the core in forty places, one at a time, and say which breaks the tests catch.

Run it before the tests are changed and after: what was caught must be caught::

    python tools/mutate.py > before.txt
    python tools/mutate.py --tests PATH/TO/OTHER/CHECKOUT > after.txt

Each place is broken in a copy of the tree, in which the tests of its folders then run until one fails.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Break(NamedTuple):
    """Some text of a file of the package, what replaces it, and the folders of tests that should notice."""

    file: str
    text: str
    broken: str
    tests: str


SCORING = "tests/scoring src/evidencebench/scoring"
ORACLE = "tests/data src/evidencebench/data"
JOURNAL = "tests/storage tests/runs"
CLIENT = "tests/models/llm"
PAPERS = "tests/papers"

BREAKS = (
    Break("scoring/measures.py", "covered.bit_count() + open_aspects.bit_count() - n_missed", "covered.bit_count() + open_aspects.bit_count() - n_missed / 2", SCORING),
    Break("scoring/measures.py", "comb(n - n_holders, k)", "comb(n - n_holders, k - 1)", SCORING),
    Break("scoring/measures.py", "of_no_sentence=0.0,", "of_no_sentence=None,", SCORING),
    Break("scoring/selection.py", "if score > at_cut)", "if score >= at_cut)", SCORING),
    Break("scoring/selection.py", "kept.setdefault(index, position)", "kept[index] = position", SCORING),
    Break("scoring/selection.py", "if 0 <= index < n_sentences:", "if 0 <= index <= n_sentences:", SCORING),
    Break("scoring/resampling.py", "(1 - resampling.level) / 2, (1 + resampling.level) / 2", "(1 - resampling.level), resampling.level", SCORING),
    Break("scoring/resampling.py", "* n_clusters / (n_clusters - 1)", "* n_clusters / n_clusters", SCORING),
    Break("scoring/resampling.py", "if chances.sum() < tail", "if chances.sum() > tail", SCORING),
    Break("scoring/significance.py", "(1 + int(n_extreme)) / (1 + n_flips)", "int(n_extreme) / n_flips", SCORING),
    Break("scoring/significance.py", "highest = max(highest, min(1.0,", "highest = max(0.0, min(1.0,", SCORING),
    Break("scoring/significance.py", "(len(p_values) - rank) * p_values[position]", "len(p_values) * p_values[position]", SCORING),
    Break("data/cover.py", "-index))", "index))", ORACLE),
    Break("data/cover.py", "is_all = budget >= most or", "is_all = budget > most or", ORACLE),
    Break("data/cover.py", "left &= ~coverage.masks[index]", "left ^= coverage.masks[index]", ORACLE),
    Break("data/cover.py", "return cover if cover.proven else _unproven(coverage, budget)", "return cover", ORACLE),
    Break("data/cover.py", "masks.get(index, 0) | bit", "masks.get(index, 0) ^ bit", ORACLE),
    Break("files/records.py", "if name in by_id:", "if False:", JOURNAL),
    Break("files/records.py", "if is_begun:", "if False:", JOURNAL),
    Break("files/records.py", "if not try_lock(descriptor):", "if False:", JOURNAL),
    Break("files/records.py", "os.ftruncate(descriptor, size - len(line))", "pass", JOURNAL),
    Break("files/records.py", "if _lies_at(target, descriptor):", "if True:", JOURNAL),
    Break("files/records.py", "os.fchmod(descriptor, stat.S_IMODE(os.fstat(self._descriptor).st_mode))", "pass", JOURNAL),
    Break("models/llm/client.py", "is_first = request.key not in self._flights", "is_first = True", CLIENT),
    Break("models/llm/client.py", "return self._find_stored(request.key) or self._send(request)", "return self._send(request)", CLIENT),
    Break("models/llm/client.py", "if flight.n_waiting == 0:", "if False:", CLIENT),
    Break("models/llm/client.py", "self._budget.release(request.key)", "pass", CLIENT),
    Break("models/llm/client.py", "cache.give_back(request.key)", "pass", CLIENT),
    Break("models/llm/client.py", "cache.require_writable()", "pass", CLIENT),
    Break("models/llm/sender.py", "target.n_failures, target.has_replied = 0, True", "target.has_replied = True", CLIENT),
    Break("models/llm/sender.py", "if isinstance(last, BusyError):", "if False:", CLIENT),
    Break("models/llm/sender.py", "frozenset({408, 504, 524})", "frozenset({408, 504})", CLIENT),
    Break("models/llm/costs.py", "n_cached = min(usage.cached_tokens, usage.prompt_tokens)", "n_cached = usage.cached_tokens", CLIENT),
    Break("models/llm/costs.py", "max(fitting, key=len)", "min(fitting, key=len)", CLIENT),
    Break("papers/blocks.py", 'if "before_number" in lists and is_code:', "if False:", PAPERS),
    Break("papers/blocks.py", 'return is_starter and bool(stop["closing"])', "return is_starter", PAPERS),
    Break("papers/blocks.py", "if text[stop.end()] in _GOES_ON:", "if False:", PAPERS),
    Break("papers/blocks.py", "start=min(pieces)[0]", "start=pieces[-1][0]", PAPERS),
    Break("papers/plain.py", "units[0] = units[0]._replace(level=0)", "pass", PAPERS),
    Break("papers/plain.py", "if is_reference and not unit.is_sentence:", "if False:", PAPERS),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=Path, default=ROOT, help="the checkout whose tests and package are taken")
    checkout = parser.parse_args().tests.resolve()
    n_caught = 0
    for number, place in enumerate(BREAKS, 1):
        failed = first_failure(checkout, place)
        n_caught += failed is not None
        print(f"{number:2} {place.file}: {place.broken}: {failed or 'NOT CAUGHT'}", flush=True)
    print(f"{n_caught} of {len(BREAKS)} caught")


def first_failure(checkout: Path, place: Break) -> str | None:
    """Return the first test that fails once a place is broken; None if all pass."""
    with tempfile.TemporaryDirectory() as made:
        # Tests look for the real data beside the tree.
        tree = Path(made) / "main"
        tree.mkdir()
        (Path(made) / "shared").symlink_to(ROOT.parent / "shared")
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=checkout, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "x", "-C", str(tree)], input=archive.stdout, check=True)
        file = tree / "src" / "evidencebench" / place.file
        text = file.read_text(encoding="utf-8")
        if text.count(place.text) != 1:
            sys.exit(f"{place.file}: expected {place.text!r} once, got it {text.count(place.text)} times; correct BREAKS")
        file.write_text(text.replace(place.text, place.broken), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "--tb=no", "-p", "no:cacheprovider"]
        ended = subprocess.run(
            [*command, *place.tests.split()],
            cwd=tree,
            env=os.environ | {"PYTHONPATH": str(tree / "src")},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    failures = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if ended.returncode not in {0, 1, 2} or (ended.returncode and not failures):
        sys.exit(f"pytest ended with exit code {ended.returncode}:\n{ended.stdout[-2000:]}")
    return failures[0].split(" - ")[0] if failures else None


if __name__ == "__main__":
    main()
