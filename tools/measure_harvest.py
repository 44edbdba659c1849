"""Count what `construct harvest` makes of the articles of the shared data, and how many passages are right.

    python tools/measure_harvest.py ../shared/data
    python tools/measure_harvest.py ../shared/data --show

Every article cites others, so that it is a review here. Printed are, without papers and with the same folder as papers:
how many passages were kept, and how many dropped for which reason. Then 60 of the kept passages are drawn; with
`--show` they are printed in their paragraphs, to be read one by one. The verdicts lie in `harvest_verdicts.csv`:

* `is_right`: the passage says what exactly one paper says or did, all its sentences belong to it, and the reference is
  that paper's, as far as its title tells;
* `reports_result`: it reports a result of a study;
* `error`: what is wrong with a passage that is not right.

From them the precision is told, with its exact interval (Clopper and Pearson).
"""

import argparse
import csv
import random
import tempfile
from collections import Counter
from pathlib import Path

from scipy.stats import binomtest

from evidencebench.construction.draft import Draft, open_drafts, output_of
from evidencebench.construction.harvest.harvest import HarvestRules, harvest
from evidencebench.construction.harvest.papers import papers_in

VERDICTS = Path(__file__).with_name("harvest_verdicts.csv")
SEED = 20261123
N_DRAWN = 60


def main() -> None:
    """Print the counts, the drawn passages if asked, and the precision."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    articles = given.data / "evidence_inference" / "xml"
    reviews = [*sorted(articles.glob("*.nxml")), *sorted((given.data / "jats").glob("*.nxml"))]
    with tempfile.TemporaryDirectory() as folder:
        print_counts("without papers", reviews, Path(folder, "all"), HarvestRules())
        drawn = draw(output_of("harvest", Path(folder, "all")), given.seed)
        print_counts(
            "with these articles as papers", reviews, Path(folder, "at_hand"), HarvestRules(papers=papers_in(articles))
        )
    if given.show:
        for draft in drawn:
            print_passage(draft)
    if given.seed == SEED and VERDICTS.is_file():
        print_precision(drawn)


def print_counts(what: str, reviews: list[Path], folder: Path, rules: HarvestRules) -> None:
    """Harvest the reviews into a folder, and print what became of the passages."""
    report = harvest(reviews, folder, rules=rules)
    found = open_drafts(output_of("harvest", folder))
    print(f"{what}: {len(reviews)} reviews, {len(report.unreadable)} not read")
    for reason, n in [("kept", report.n_kept), *found.dropped.items()]:
        print(f"  {n:>6,}  {reason}")


def draw(path: Path, seed: int) -> list[Draft]:
    """Return kept passages of running text drawn at random, each equally likely; rows of tables are left out."""
    found = open_drafts(path)
    kept = [name for name in sorted(found.going_on) if not is_row(found[name])]
    return [found[name] for name in random.Random(seed).sample(kept, N_DRAWN)]  # noqa: S311


def is_row(draft: Draft) -> bool:
    """Whether a passage is a row of a table, whose context is the table's caption."""
    section = draft.passage.section if draft.passage else ()
    return bool(section) and draft.context == f"{section[-1]}\n\n{draft.summary}"


def print_passage(draft: Draft) -> None:
    """Print a passage in its paragraphs."""
    assert draft.passage is not None
    before, _, behind = draft.context.partition(draft.summary)
    print(f"--- {draft.id} {draft.passage.start} {' > '.join(draft.passage.section)} {draft.passage.marks}")
    print(f"{before[-600:]}\n>>> {draft.summary}\n<<< {behind[:400]}\n")


def print_precision(drawn: list[Draft]) -> None:
    """Print the share of right passages by the verdicts, which must be on the drawn ones."""
    with VERDICTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    of_drawn = {(draft.id, str(draft.passage.start), str(draft.passage.stop)) for draft in drawn if draft.passage}
    n_same = sum((row["id"], row["start"], row["stop"]) in of_drawn for row in rows)
    if n_same < len(of_drawn):
        print(f"the rules have changed since: {n_same} of {len(of_drawn)} drawn passages have a verdict")
        return
    for column in ("is_right", "reports_result"):
        n = sum(row[column] == "yes" for row in rows)
        interval = binomtest(n, len(rows)).proportion_ci(method="exact")
        print(f"{column}: {n} of {len(rows)} [{100 * interval.low:.1f}, {100 * interval.high:.1f}] %")
    for error, n in Counter(row["error"] for row in rows if row["error"]).most_common():
        print(f"  {n}  {error}")


if __name__ == "__main__":
    main()
