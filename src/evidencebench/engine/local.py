"""Run a function over many items on this machine: in this process, or in several."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from evidencebench.errors import WorkerError

Item = TypeVar("Item")
Result = TypeVar("Result")
Setup = Callable[..., Callable[[Item], Result]]

# How many chunks a worker has waiting: enough to stay busy.
_CHUNKS_AHEAD = 3


def map_in_order(
    setup: Setup[Item, Result],
    arguments: Sequence[Any],
    items: Iterable[Item],
    *,
    jobs: int = 1,
    chunk_size: int = 8,
) -> Iterator[Result]:
    """Yield the result for each item, in the items' order: for work that costs nothing to do again.

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
    with _pool(setup, arguments, jobs) as pool:
        while chunk := list(islice(left, chunk_size)):
            waiting.append(pool.submit(_work_through, chunk))
            if len(waiting) > jobs * _CHUNKS_AHEAD:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def work_off(
    setup: Setup[Item, Result],
    arguments: Sequence[Any],
    items: Iterable[Item],
    on_result: Callable[[Result], object],
    *,
    jobs: int = 1,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Hand over each result as soon as it is there, in whatever order: for work that should never be done twice.

    After an interrupt no item is begun, and what was begun is finished and handed over before the interrupt goes on.
    The same after an error of the work.

    Parameters
    ----------
    setup, arguments, items, jobs
        As in `map_in_order`.
    on_result
        Called in this process with each result.
    is_over
        Asked before each item; where it says so, no item is begun.

    Raises
    ------
    WorkerError
        If a worker process dies.
    """
    left = iter(items)
    if jobs <= 1:
        work = setup(*arguments)
        while not is_over() and (item := list(islice(left, 1))):
            on_result(work(item[0]))
        return
    begun: set[Future[list[Result]]] = set()
    errors: list[Exception] = []
    with _noted_interrupt() as interrupted, _pool(setup, arguments, jobs) as pool:
        while True:
            if errors or interrupted.is_set() or is_over():
                begun = {future for future in begun if not future.cancel()}
            else:
                # One item more than workers, so that none is idle and little is begun in vain.
                begun |= {pool.submit(_work_through, [item]) for item in islice(left, jobs + 1 - len(begun))}
            if not begun:
                break
            begun = _hand_over(begun, on_result, errors)
    if errors:
        raise errors[0]
    if interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def _noted_interrupt() -> Iterator[threading.Event]:
    """Give an event that a first interrupt sets, in place of raising anywhere; a second one is raised."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
        yield interrupted
        return

    def note(*_: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _hand_over(
    begun: set[Future[list[Result]]], on_result: Callable[[Result], object], errors: list[Exception]
) -> set[Future[list[Result]]]:
    """Wait for a result, hand over all that are there, note errors of the work, and return what is still to come."""
    done, left = wait(begun, return_when=FIRST_COMPLETED)
    for future in done:
        try:
            results = future.result()
        except BrokenProcessPool:
            raise
        except Exception as error:  # noqa: BLE001 - raised when all that was begun is handed over
            errors.append(error)
        else:
            for result in results:
                on_result(result)
    return left


@contextmanager
def _pool(setup: Setup[Any, Any], arguments: Sequence[Any], jobs: int) -> Iterator[ProcessPoolExecutor]:
    with _safe_path() as before:
        pool = ProcessPoolExecutor(
            max_workers=jobs,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start_worker,
            initargs=(setup, tuple(arguments), before),
        )
        try:
            yield pool
        except BrokenProcessPool as error:
            raise WorkerError(
                "a worker process died, out of memory or ended by what it ran; what was finished is kept: "
                "run the same command again, with --jobs 1 to see what happens"
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_SAFE_PATH = "PYTHONSAFEPATH"


@contextmanager
def _safe_path() -> Iterator[str | None]:
    """Let Python's processes take no module from the current folder as they start, since it may hold a socket.py.

    Gives what the variable that says so was before.
    """
    before = os.environ.get(_SAFE_PATH)
    _set_safe_path("1")
    try:
        yield before
    finally:
        _set_safe_path(before)


def _set_safe_path(value: str | None) -> None:
    if value is None:
        os.environ.pop(_SAFE_PATH, None)
    else:
        os.environ[_SAFE_PATH] = value


def _start_worker(setup: Setup[Any, Any], arguments: tuple[Any, ...], safe_path: str | None) -> None:
    _set_safe_path(safe_path)  # what own code starts is its own affair
    # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        _Worker.work = staticmethod(setup(*arguments))
    except Exception as error:  # noqa: BLE001 - told in its own words, where the pool would only say that it broke
        _Worker.work = staticmethod(_raising(error))


def _raising(error: Exception) -> Callable[[Any], Any]:
    def work(_: Any) -> Any:
        raise error

    return work


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
