"""What less training data costs a selector: a table of aspect recall, cross-validated by paper.

    python tools/measure_fractions.py train
    python tools/measure_fractions.py ei.json --limit 2000 --tasks er_at_10

For each seed, papers are cut into three folds. Each is answered by a model that was trained on a share of the other
folds' instances, or on all of them with a share of their sentences that state no aspect; which share is drawn anew for
each seed. Nothing else differs: the features, the trees and their seed are those of ``train selector``.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import numpy as np

from evidencebench.data.dataset import open_dataset
from evidencebench.systems.selectors.features import chosen_features
from evidencebench.training.folds import inner_folds, split_at_fold
from evidencebench.training.lazy_instances import LazyInstances
from evidencebench.training.selector import TUNED_TASKS, held_back_recalls
from evidencebench.training.selector_fitting import STRENGTH, fit_models
from evidencebench.training.selector_table import SelectorTable, table_file, write_table

_SHARES = (1.0, 0.5, 0.25, 0.1)
_FEATURES = chosen_features()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--limit", type=int, help="instances to read; default: all")
    parser.add_argument("--seeds", type=int, default=3, help="default: 3")
    parser.add_argument("--tasks", nargs="+", default=TUNED_TASKS, help="default: the four published tasks")
    chosen = parser.parse_args()
    instances = LazyInstances([open_dataset(chosen.data)], chosen.limit)
    with tempfile.TemporaryDirectory() as folder, table_file(Path(folder) / "model") as file:
        table = write_table(file, instances, _FEATURES, None, lambda *_: None)
        print(
            f"{len(instances)} instances, {len(set(table.papers))} papers, {len(table.features)} sentences", flush=True
        )
        print("| trained on |", *(f" {task} |" for task in chosen.tasks), sep="")
        print("| --- |", " --- |" * len(chosen.tasks), sep="")
        settings = [(share, 1.0) for share in _SHARES] + [(1.0, share) for share in _SHARES[1:]]
        for of_instances, of_sentences in settings:
            recalls = [
                _recalls(instances, table, of_instances, of_sentences, seed=seed) for seed in range(chosen.seeds)
            ]
            what = f"{of_instances:.0%} of the instances"
            if of_sentences < 1:
                what = f"{of_sentences:.0%} of the sentences without an aspect"
            cells = [[100 * one[task] for one in recalls] for task in chosen.tasks]
            shown = [f"{mean(cell):.1f}" + (f" ± {stdev(cell):.1f}" if len(cell) > 1 else "") for cell in cells]
            print(f"| {what} | {' | '.join(shown)} |", flush=True)


def _recalls(
    instances: LazyInstances, table: SelectorTable, of_instances: float, of_sentences: float, *, seed: int
) -> dict[str, float]:
    folds = inner_folds(table.papers, seed=seed)
    generator = np.random.default_rng(seed)
    groups = []
    for fold in folds:
        seen = split_at_fold(range(len(table.papers)), fold)[0]
        n = max(1, round(of_instances * len(seen)))
        groups.append(sorted(generator.choice(seen, n, replace=False).tolist()))
    thinned = _thinned(table, of_sentences, generator)
    models = fit_models(thinned, groups, _FEATURES, seed=seed)
    return held_back_recalls(instances, table, dict(zip(folds, models, strict=True)), (STRENGTH,))[STRENGTH]


def _thinned(table: SelectorTable, share: float, generator: np.random.Generator) -> SelectorTable:
    """Return the table with a share of the sentences that state no aspect."""
    if share == 1:
        return table
    kept = (table.shares["all"] > 0) | (generator.random(len(table.features)) < share)
    before = np.concatenate([[0], np.cumsum(kept)])
    return replace(
        table,
        features=table.features[kept],
        starts=before[table.starts].astype(np.intp),
        shares={scope: shares[kept] for scope, shares in table.shares.items()},
    )


if __name__ == "__main__":
    main()
