"""The synthetic data set that ships with the package: ten instances over nine invented papers, in ``sample.json``."""

from pathlib import Path

from evidencebench.data.catalog import SAMPLE, data_path
from evidencebench.data.dataset import Dataset, open_dataset


def sample_path() -> Path:
    return data_path(SAMPLE)


def load_sample() -> Dataset:
    """Return the sample data set: for trying things, not for results, since all of it is invented.

    Examples
    --------
    >>> len(load_sample())
    10
    """
    return open_dataset(sample_path())
