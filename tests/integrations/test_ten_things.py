"""Ten things of research take no more code here than with the packages that researchers know."""

import subprocess
import sys
from pathlib import Path

from kit.examples import thorough_only

ROOT = Path(__file__).parents[2]


def run(*words: str) -> str:
    command = [sys.executable, str(ROOT / "benchmarks" / "ten_things.py"), *words]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    return ended.stdout


def test_ours_are_no_longer_and_the_guide_has_the_figures() -> None:
    table = run()
    for row in table.splitlines()[2:]:
        _, ours, *theirs = row.strip("| ").split(" | ")
        assert all(int(ours) <= int(lines) for lines in theirs if lines != "–"), row
    assert len(table.splitlines()) == 12
    assert table in (ROOT / "docs" / "guides.md").read_text(encoding="utf-8")


@thorough_only
def test_the_ten_things_run_with_ir_measures() -> None:
    printed = run("--run", "ir_measures")
    assert "== own_system: {StRecall@10: 0.552" in printed
    assert printed.rstrip().endswith("== find: not possible")
