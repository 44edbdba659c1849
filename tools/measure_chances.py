"""Measure whether the chances that `find` prints hold, on a fifth of the papers that the finder was trained without.

Prints, by what `find` says of a sentence, how many sentences of the held-back papers it says it of, and how many of
them people had marked; asked each paper's own hypothesis, and another paper's, which no sentence answers.

    python tools/measure_chances.py ei.json
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.query import Kind
from evidencebench.systems.changed_queries import derange_hypotheses
from evidencebench.systems.finder import Finder
from evidencebench.tables import Cell, Table, as_markdown
from evidencebench.training.finder import FinderTraining
from evidencebench.training.folds import paper_folds, split_at_fold

N_FOLDS, SEED = 5, 0
BOUNDS = (0.0, 0.02, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 1.01)
"""Chances from one to the next are one row; those from 0.15 on are those that `find` says as the same tenth."""


def told(finder: Finder, instances: list[Instance], hypotheses: Mapping[str, str]) -> Iterator[tuple[float, bool]]:
    """Yield the chance of each sentence, headings left out, and whether people had marked it."""
    for instance in instances:
        query = replace(instance.query, hypothesis=hypotheses[instance.id])
        marked = {index for source in instance.labels.sources.values() for index in source}
        chances = finder.chances(query) or ()
        for index, chance in enumerate(chances):
            if query.kinds[index] is not Kind.HEADING:
                yield chance, index in marked


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="what data convert makes of Evidence Inference")
    instances = list(open_dataset(parser.parse_args().data))
    fold = paper_folds([one.query.paper_id for one in instances], N_FOLDS, np.random.default_rng(SEED))[0]
    seen, held_back = split_at_fold(instances, fold)
    own = {one.id: one.query.hypothesis for one in held_back}
    other = derange_hypotheses([one.query for one in held_back], np.random.default_rng(SEED))
    with TemporaryDirectory() as folder:
        FinderTraining().fit(seen, Path(folder) / "model", seed=SEED)
        finder = Finder(model=Path(folder) / "model", goal="answer")
        asked_own, asked_other = (np.array(list(told(finder, held_back, asked))) for asked in (own, other))
    rows: list[list[Cell]] = []
    for low, high in pairwise(BOUNDS):
        of_row, of_other = (
            rows_of[(rows_of[:, 0] >= low) & (rows_of[:, 0] < high)] for rows_of in (asked_own, asked_other)
        )
        mean, share = (f"{100 * of_row[:, column].mean():.1f}" if len(of_row) else "" for column in (0, 1))
        rows.append([f"{100 * low:.0f} to {100 * min(1, high):.0f}", len(of_row), mean, share, len(of_other)])
    columns = ["chance told, %", "sentences", "mean told, %", "marked, %", "asked another's, sentences"]
    print(as_markdown(Table(columns=columns, rows=rows)))


if __name__ == "__main__":
    main()
