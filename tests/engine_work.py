"""Work that tests give to engines, apart from them, so that a worker process imports nothing else."""

import os
import signal
from collections.abc import Callable

from evidencebench.errors import ChangedDataError


def failing_at(*numbers: int) -> Callable[[int], int]:
    def work(item: int) -> int:
        if item in numbers:
            raise ChangedDataError(f"{item} has changed")
        return 2 * item

    return work


def never_ready() -> Callable[[int], int]:
    raise ChangedDataError("the file is another one")


def interrupting(at: int) -> Callable[[int], int]:
    def work(item: int) -> int:
        if item == at:
            os.kill(os.getppid(), signal.SIGINT)
        return item

    return work
