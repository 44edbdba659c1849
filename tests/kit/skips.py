"""What was not tested here, and what it takes: told at the end of ``make test``."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

DATA_FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Where tests look for the published files."""

# What a reason says -> what is missing, and how to get it.
_CURES = {
    "chromium": ("a browser", "apt-get install chromium"),
    "real file": ("the real data", f"put the published files into {DATA_FOLDER}"),
    "shared/data": ("the real data", f"put the published files into {DATA_FOLDER}"),
    "neighbour": ("a neighbour's package", "make neighbours"),
    "extra": ("an optional package", "pip install -e '.[test]'"),
}


def skip_lines(reasons: Iterable[str]) -> list[str]:
    """Return a line for each thing that was missing: how many tests were skipped for want of it, and how to get it.

    Examples
    --------
    >>> skip_lines(["needs Chromium", "needs Chromium", "needs bash"])
    ['2 skipped for want of a browser: apt-get install chromium', '1 skipped: needs bash']
    """
    lines = Counter(_line(reason.removeprefix("Skipped: ")) for reason in reasons)
    return [f"{n} skipped{line}" for line, n in lines.most_common()]


def _line(reason: str) -> str:
    for word, (missing, cure) in _CURES.items():
        if word in reason.lower():
            return f" for want of {missing}: {cure}"
    return f": {reason}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell it below the results; conftest.py hands this hook to pytest."""
    lines = skip_lines(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    if lines:
        terminalreporter.section("not tested here")
    for line in lines:
        terminalreporter.write_line(line)
