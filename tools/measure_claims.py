"""Measure how well systems find what claims about papers refer to: CL-SciSumm's claims, those of held-out papers apart.

    python tools/measure_claims.py ../shared/data/claims/cl_scisumm_2018_train.json finder bm25

Printed are how often the first sentence, and one of the first five, is one that students marked, with 95 % intervals
over papers. Headings do not count. ``--held-out`` asks the papers of `held_out.toml` instead: once, at the end.
"""

import argparse
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from evidencebench import make_system
from evidencebench.query import Kind, Query
from evidencebench.scoring.resampling import bootstrap
from evidencebench.system import Brief, NamedSystem
from evidencebench.tables import Cell, Table, as_markdown

HELD_OUT = Path(__file__).with_name("held_out.toml")
SET = "claims/cl_scisumm_2018_train.json"
MOST = 5


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", type=Path)
    parser.add_argument("systems", nargs="+")
    parser.add_argument("--held-out", action="store_true", dest="is_held_out")
    options = parser.parse_args()
    data = json.loads(options.claims.read_text(encoding="utf-8"))
    held_out = set(tomllib.loads(HELD_OUT.read_text(encoding="utf-8"))[SET].split())
    claims = [claim for claim in data["claims"] if (claim["paper"] in held_out) == options.is_held_out]
    papers = [claim["paper"] for claim in claims]
    rows: list[list[Cell]] = []
    for name in options.systems:
        system = make_system(name)
        firsts, fives = zip(*(hits(system, data["papers"][claim["paper"]], claim) for claim in claims), strict=True)
        rows.append([name, len(claims), interval(firsts, papers), interval(fives, papers)])
    print(as_markdown(Table(columns=["system", "claims", "first, %", "one of five, %"], rows=rows)))


def hits(system: NamedSystem, paper: dict[str, list[str]], claim: dict[str, object]) -> tuple[bool, bool]:
    """Return whether the first sentence that is no heading, and one of the first five, is marked."""
    kinds = tuple(map(Kind, paper["kinds"]))
    query = Query(
        instance_id=str(claim["id"]),
        paper_id=str(claim["paper"]),
        hypothesis=str(claim["claim"]),
        sentences=tuple(paper["sentences"]),
        kinds=kinds,
        wish="answer",
    )
    ranking = system.rank(query, Brief(budget=None))
    marked = {index for group in claim["marked"] for index in group}  # type: ignore[attr-defined]
    shown = [index for index in ranking.sentences if kinds[index] is not Kind.HEADING][:MOST]
    return bool(marked.intersection(shown[:1])), bool(marked.intersection(shown))


def interval(values: Sequence[float], papers: Sequence[str]) -> str:
    """Return a mean in %, with its interval over papers."""
    estimate = bootstrap(values, papers)
    low, high = estimate.interval or (estimate.mean, estimate.mean)
    return f"{100 * estimate.mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"


if __name__ == "__main__":
    main()
