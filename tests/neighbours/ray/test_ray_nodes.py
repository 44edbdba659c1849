"""A machine that leaves a Ray cluster takes no item with it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidencebench import RayCluster
from kit.engine_work import slow_from

ray: Any = pytest.importorskip("ray", reason="needs ray, a neighbour's package")

N_ITEMS = 400  # enough that the last actor has started before the first three are through
MOST_SECONDS = 120


@pytest.fixture
def node(cluster: str) -> Iterator[subprocess.Popen[bytes]]:
    """Give a second node of the cluster, with two processors: a group of processes that can be killed."""
    words = [str(Path(sys.executable).with_name("ray")), "start", "--address", cluster, "--num-cpus", "2", "--block"]
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    ends_at = time.monotonic() + MOST_SECONDS
    while len(_nodes()) < 2 and process.poll() is None and time.monotonic() < ends_at:
        time.sleep(0.1)
    assert len(_nodes()) == 2
    yield process
    _kill(process)


def _nodes() -> list[str]:
    return [one["NodeID"] for one in ray.nodes() if one["Alive"]]


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(MOST_SECONDS)


def test_a_node_that_leaves_takes_no_item_with_it(node: subprocess.Popen[bytes]) -> None:
    found, processes = [], set[int]()
    has_left = False
    for outcome in RayCluster(n_actors=4).outcomes(slow_from, (0.1,), range(N_ITEMS)):
        item, process = outcome.value
        found.append(item)
        processes.add(process)
        if len(processes) == 4 and not has_left:
            _kill(node)
            has_left = True
    assert has_left
    assert sorted(found) == list(range(N_ITEMS))
