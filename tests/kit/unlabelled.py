"""Papers without labels, as when a reader has papers and hypotheses of their own."""

from dataclasses import replace
from pathlib import Path

from evidencebench import Dataset, Instance, Labels, load_sample, open_dataset, write_dataset

UNLABELLED = Labels(aspects=(), sources={})


def unlabelled_dataset(folder: Path, *, n_labelled: int = 0) -> Dataset:
    """Write the sample without the labels of its papers; the last ``n_labelled`` keep theirs."""
    sample = list(load_sample())
    first = len(sample) - n_labelled
    path = folder / "own.json"
    write_dataset(path, [_without_labels(one) for one in sample[:first]] + sample[first:])
    return open_dataset(path)


def _without_labels(instance: Instance) -> Instance:
    return replace(instance, labels=UNLABELLED, origin=None)
