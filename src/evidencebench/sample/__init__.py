"""The synthetic data set that ships with the package: ten instances over nine invented papers."""

from importlib.resources import files
from pathlib import Path

from evidencebench.dataset import Dataset, open_dataset


def sample_path() -> Path:
    """Return where the sample file lies."""
    return Path(str(files(__package__))) / "sample.json"


def load_sample() -> Dataset:
    """Return the sample data set: for trying things, not for results, since all of it is invented.

    Examples
    --------
    >>> len(load_sample())
    10
    """
    return open_dataset(sample_path())
