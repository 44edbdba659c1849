"""Write the table of docs/scale.md, "What to expect": hours and disk for more papers, computed from measured rates.

    python tools/make_expectations.py                              from the rates below
    python tools/make_expectations.py /somewhere/rehearsal.jsonl   from what benchmarks/rehearsal.py measured

The time of a step grows with the number of papers. Workers share a part of it; the rest is the command's own process.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SCALE = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- expectations -->\n", "<!-- end of expectations -->\n"

# Processor seconds for 1,000 papers: of the process that reads results and writes files, and of the workers together.
# Measured with --jobs 2 on the machine of docs/performance.md, on synthetic data of the 100k's dialect: the sums on
# 87,461 papers on 2026-11-23 (finder: 2026-11-22), how they are shared on 10,000 (finder: 1,000) on 2026-11-22.
RATES: Mapping[str, tuple[float, float]] = {
    "validate": (0.06, 0.23),
    "solve": (0.30, 0.20),
    "convert": (1.38, 0.00),
    "run bm25": (0.28, 3.07),
    "run finder": (0.75, 18.37),
    "score bm25": (0.17, 0.75),
}
BYTES_A_PAPER = 39_400  # of the published JSON
# Papers -> processors, and how they are named in the head of the table.
PLACES = {
    10**5: (2, "10^5 papers, 2 processors"),
    10**6: (16, "10^6, 16 processors"),
    10**7: (160, "10^7, 10 machines of 16"),
}
_LONGEST_AS_SECONDS, _LONGEST_AS_MINUTES = 90, 5400


def main() -> None:
    """Write the table into the document."""
    rates = _measured(Path(sys.argv[1])) if len(sys.argv) > 1 else RATES
    text = SCALE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    SCALE.write_text(f"{before}{BEGIN}{''.join(_table(rates))}{END}{after}", encoding="utf-8")


def _measured(journal: Path) -> dict[str, tuple[float, float]]:
    """Return the rates of each step at the largest size that a rehearsal measured, shared out as in `RATES`."""
    largest: dict[str, tuple[int, float]] = {}
    for line in map(json.loads, journal.read_text(encoding="utf-8").splitlines()):
        name, n = line["step"], line["n"]
        if name in RATES and n >= largest.get(name, (0, 0.0))[0]:
            largest[name] = (n, 1000 * line["processor_seconds"] / n)
    rates = dict(RATES)
    for name, (_, total) in largest.items():
        alone, shared = RATES[name]
        rates[name] = (total * alone / (alone + shared), total * shared / (alone + shared))
    return rates


def _table(rates: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    yield f"| step | command, s | workers, s | {' | '.join(name for _, name in PLACES.values())} |\n"
    yield f"| --- |{' ---: |' * (2 + len(PLACES))}\n"
    for step, (alone, shared) in rates.items():
        cells = [_duration(n / 1000 * (alone + shared / processors)) for n, (processors, _) in PLACES.items()]
        yield f"| {step} | {alone:.2f} | {shared:.2f} | {' | '.join(cells)} |\n"
    disk = [f"{n * BYTES_A_PAPER / 1e9:,.0f} GB" for n in PLACES]
    yield f"| the data on the disk, as JSON | | | {' | '.join(disk)} |\n"


def _duration(seconds: float) -> str:
    if seconds < _LONGEST_AS_SECONDS:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < _LONGEST_AS_MINUTES else f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    main()
