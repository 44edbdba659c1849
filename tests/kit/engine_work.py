"""Work that tests give to engines, apart from them, so that a worker process imports nothing else."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from doors import ChangedDataError


def failing_at(*numbers: int) -> Callable[[int], int]:
    def work(item: int) -> int:
        if item in numbers:
            raise ChangedDataError(f"{item} has changed")
        return 2 * item

    return work


def never_ready() -> Callable[[int], int]:
    raise ChangedDataError("the file is another one")


def dying_at_start(log: Path) -> Callable[[int], int]:
    with log.open("a") as file:
        file.write("started\n")
    os._exit(3)


def dying_at(how: str, *numbers: int) -> Callable[[int], int]:
    """Return work that takes its process with it, at some of the items."""

    def work(item: int) -> int:
        if item in numbers:
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(3)
        return 2 * item

    return work


def dying_once(folder: Path, *numbers: int) -> Callable[[int], int]:
    """Return work that takes its process with it at some items, but only the first time, and notes each time."""

    def work(item: int) -> int:
        time.sleep(0.001)
        times = folder / f"{item}"
        with times.open("a") as file:
            file.write("x")
        if item in numbers and times.stat().st_size == 1:
            os._exit(3)
        return 2 * item

    return work


def slow_from(seconds: float) -> Callable[[int], tuple[int, int]]:
    """Return work that is quick at first, and takes a while from item 40 on; the result has the process too."""

    def work(item: int) -> tuple[int, int]:
        time.sleep(seconds if item >= 40 else 0)
        return item, os.getpid()

    return work


def slow_until_shared(folder: Path) -> Callable[[int], tuple[int, int]]:
    """Return work that is quick at first; from item 40 on it takes a while, until a second process has such an item."""

    def work(item: int) -> tuple[int, int]:
        if item >= 40:
            (folder / str(os.getpid())).touch()
            ends_at = time.monotonic() + 1.5
            while len(list(folder.iterdir())) < 2 and time.monotonic() < ends_at:
                time.sleep(0.01)
        return item, os.getpid()

    return work


def gpus_seen() -> Callable[[int], str]:
    def work(_: int) -> str:
        time.sleep(0.1)  # so that all workers have a part
        return os.environ["CUDA_VISIBLE_DEVICES"]

    return work


def not_to_be_sent() -> Callable[[int], object]:
    return lambda item: (lambda: item) if item == 3 else item


class TwoPartError(Exception):
    """An error that cannot be made again from its message alone."""

    def __init__(self, what: str, *, why: str) -> None:
        super().__init__(f"{what}: {why}")


def failing_with_two_parts() -> Callable[[int], int]:
    def work(_: int) -> int:
        raise TwoPartError("broken", why="a reason")

    return work


def interrupting(at: int) -> Callable[[int], int]:
    def work(item: int) -> int:
        if item == at:
            os.kill(os.getppid(), signal.SIGINT)
        return item

    return work
