"""What every test file shares: where the real data lies, and how long hypothesis may take."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from evidencebench.dataset import Dataset, open_dataset

DATA_FOLDER = Path(__file__).resolve().parents[1].parent / "shared" / "data"

# A loaded machine is no failure: no deadline an example, no complaint that data are slow to draw.
settings.register_profile("evidencebench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("evidencebench")


@pytest.fixture(scope="session")
def data_file() -> Callable[[str], Path]:
    """Give the path of a real file, or skip the test that needs it; mark such tests ``data``."""

    def path_of(name: str) -> Path:
        path = DATA_FOLDER / name
        if not path.is_file():
            pytest.skip(f"needs the real file {path}, which is not here")
        return path

    return path_of


@pytest.fixture(scope="session")
def train(data_file: Callable[[str], Path]) -> Dataset:
    """Give the published train split."""
    return open_dataset(data_file("evidencebench_train_set.json"))
