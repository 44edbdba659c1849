"""Run a function over many items on this machine: in this process, or in several, results in order."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any, TypeVar

from evidencebench.errors import WorkerError

Item = TypeVar("Item")
Result = TypeVar("Result")

# How many chunks a worker has waiting: enough to stay busy, few enough that an interrupt is quick.
_CHUNKS_AHEAD = 3


def map_in_order(
    setup: Callable[..., Callable[[Item], Result]],
    arguments: Sequence[Any],
    items: Iterable[Item],
    *,
    jobs: int = 1,
    chunk_size: int = 8,
) -> Iterator[Result]:
    """Yield the result for each item, in the items' order.

    Parameters
    ----------
    setup
        A module-level function that makes the worker, called once in each process: the place to open files and
        build systems, which are then never sent from process to process.
    arguments
        What ``setup`` is called with.
    items
        What the worker is called with, one at a time.
    jobs
        Processes; with 1 everything runs in this one.
    chunk_size
        Items sent to a process at a time.

    Raises
    ------
    WorkerError
        If a worker process dies.
    """
    if jobs <= 1:
        yield from map(setup(*arguments), items)
        return
    waiting: deque[Future[list[Result]]] = deque()
    left = iter(items)
    executor = ProcessPoolExecutor(
        max_workers=jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(setup, tuple(arguments)),
    )
    try:
        while chunk := list(islice(left, chunk_size)):
            waiting.append(executor.submit(_work_through, chunk))
            if len(waiting) > jobs * _CHUNKS_AHEAD:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerError(
            "a worker process died, out of memory or ended by what it ran; what was finished is kept: "
            "run the same command again, with --jobs 1 to see what happens"
        ) from error
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _start_worker(setup: Callable[..., Callable[[Any], Any]], arguments: tuple[Any, ...]) -> None:
    # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _Worker.work = staticmethod(setup(*arguments))


class _Worker:
    """What a worker process works with, set once when it starts."""

    work: Callable[[Any], Any]


def _work_through(chunk: list[Any]) -> list[Any]:
    return [_Worker.work(item) for item in chunk]


def _die_with_parent() -> None:
    """End this process when its parent is gone, which a killed parent cannot ask for."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
