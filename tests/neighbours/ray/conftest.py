"""One Ray cluster for all tests of this folder, with two processors and two GPUs that are only declared."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def cluster() -> Iterator[str]:
    """Start a cluster on this machine and give its address; workers find the modules of the tests."""
    ray = pytest.importorskip("ray", reason="needs ray, a neighbour's package")
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", PYTHONPATH=os.pathsep.join(filter(None, paths)))
    context = ray.init(
        "local", num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    yield context.address_info["gcs_address"]
    ray.shutdown()
