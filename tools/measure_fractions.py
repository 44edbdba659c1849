"""What less training data costs a finder: a table of aspect recall, cross-validated by paper.

    python tools/measure_fractions.py train

For each seed, papers are cut into three folds. Each is answered by a model that was trained on a share of the other
folds' instances, or on all of them with a share of their sentences that state no aspect; which share is drawn anew for
each seed. Nothing else differs: the features, the trees and their seed are those of ``train finder``.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory

import numpy as np

from evidencebench import Instance, evaluate, open_dataset
from evidencebench.systems.finder import Finder
from evidencebench.training.crossval_splits import DEFAULT_TASKS
from evidencebench.training.finder import FinderExample, finder_examples, fit_finder, write_finder
from evidencebench.training.folds import inner_folds, split_at_fold

_SHARES = (1.0, 0.5, 0.25, 0.1)
Examples = Sequence[list[FinderExample]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--seeds", type=int, default=3, help="default: 3")
    arguments = parser.parse_args()
    instances = list(open_dataset(arguments.data))
    with TemporaryDirectory() as folder:
        examples = finder_examples(instances, Path(folder), mixed=False, seed=0)
    print("| trained on |", *(f" {task} |" for task in DEFAULT_TASKS), sep="")
    print("| --- |", " --- |" * len(DEFAULT_TASKS), sep="")
    settings = [(share, 1.0) for share in _SHARES] + [(1.0, share) for share in _SHARES[1:]]
    for of_instances, of_sentences in settings:
        recalls = [_recalls(instances, examples, of_instances, of_sentences, seed) for seed in range(arguments.seeds)]
        what = f"{of_instances:.0%} of the instances"
        if of_sentences < 1:
            what = f"{of_sentences:.0%} of the sentences without an aspect"
        cells = [[100 * of_seed[task] for of_seed in recalls] for task in DEFAULT_TASKS]
        shown = [f"{mean(cell):.1f} ± {stdev(cell):.1f}" for cell in cells]
        print(f"| {what} | {' | '.join(shown)} |", flush=True)


def _recalls(
    instances: Sequence[Instance], examples: Examples, of_instances: float, of_sentences: float, seed: int
) -> dict[str, float]:
    """Return the mean aspect recall of each task; each instance is answered by a model that has not seen its paper."""
    generator = np.random.default_rng(seed)
    recalls: dict[str, list[float]] = {task: [] for task in DEFAULT_TASKS}
    for fold in inner_folds([instance.query.paper_id for instance in instances], seed=seed):
        seen = split_at_fold(examples, fold)[0]
        n = max(1, round(of_instances * len(seen)))
        drawn = [seen[place] for place in sorted(generator.choice(len(seen), n, replace=False).tolist())]
        with TemporaryDirectory() as folder:
            write_finder(fit_finder({"study": _thinned(drawn, of_sentences, generator)}, seed=seed), Path(folder))
            held_back = [instances[place] for place in fold]
            scores = evaluate({"finder": Finder(model=Path(folder))}, held_back, DEFAULT_TASKS)["finder"]
        for task, values in recalls.items():
            values.extend(scores[task].recalls)
    return {task: float(np.mean(values)) for task, values in recalls.items()}


def _thinned(examples: Examples, share: float, generator: np.random.Generator) -> Examples:
    """Return the examples with a share of the sentences that state no aspect."""
    thinned = []
    for (example,) in examples:
        draws = generator.random(len(example.table)) < share
        kept = draws | (example.shares["all"] > 0) if "all" in example.shares else draws
        shares = {scope: of_scope[kept] for scope, of_scope in example.shares.items()}
        thinned.append([FinderExample(table=example.table[kept], shares=shares)])
    return thinned


if __name__ == "__main__":
    main()
