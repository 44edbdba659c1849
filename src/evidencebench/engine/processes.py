"""Work in processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from evidencebench.engine.in_process import InProcess
from evidencebench.engine.interrupts import catch_first_interrupt
from evidencebench.engine.protocol import Engine, Item, Result, Setup, do_nothing
from evidencebench.errors import WorkerError


def engine_of(jobs: int) -> Engine:
    """Return the engine for ``--jobs``: ``jobs`` processes, or this process alone where it is 1."""
    return Processes(jobs) if jobs > 1 else InProcess()


@dataclass(frozen=True, slots=True)
class Processes:
    """Runs items in ``n_processes`` processes. Each call of `results` starts new ones; they end with their parent."""

    n_processes: int
    shares_memory: ClassVar[bool] = False

    def results(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,
    ) -> Iterator[Result]:
        """Yield results as `Engine.results` says."""
        left = iter(items)
        begun: set[Future[Result]] = set()
        error: Exception | None = None
        with catch_first_interrupt(on_interrupt) as interrupt, self._pool(setup, arguments) as pool:
            while True:
                if error is not None or interrupt.is_set:
                    begun = {future for future in begun if not future.cancel()}
                else:
                    # One item more than workers: no worker waits, and after an error little work is wasted.
                    begun |= {pool.submit(_run_item, item) for item in islice(left, self.n_processes + 1 - len(begun))}
                if not begun:
                    break
                done, begun = wait(begun, return_when=FIRST_COMPLETED)
                for future in done:
                    failed = future.exception()
                    if failed is None:
                        yield future.result()
                    elif isinstance(failed, Exception) and not isinstance(failed, BrokenProcessPool):
                        error = error or failed  # raised after the results of all items that have begun
                    else:
                        raise failed
        if error is not None:
            raise error
        if interrupt.is_set:
            raise KeyboardInterrupt

    @contextmanager
    def _pool(self, setup: Setup[Any, Any], arguments: Sequence[Any]) -> Iterator[ProcessPoolExecutor]:
        with _safe_path() as before:
            pool = ProcessPoolExecutor(
                max_workers=self.n_processes,
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
    """Keep new Python processes from importing modules of the current folder, such as a ``socket.py`` there.

    It sets the variable PYTHONSAFEPATH for the block, and gives the variable's earlier value.
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


class _Worker:
    """Holds the function that a worker process runs over items; it is set once, when the process starts."""

    work: Callable[[Any], Any]


def _run_item(item: Any) -> Any:
    return _Worker.work(item)


def _start_worker(setup: Setup[Any, Any], arguments: tuple[Any, ...], safe_path: str | None) -> None:
    _set_safe_path(safe_path)  # a user's own code may start processes; they get the user's setting
    # Ctrl-C reaches every process of the terminal; only the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        _Worker.work = staticmethod(setup(*arguments))
    except Exception as error:  # noqa: BLE001 - raised for the first item; an error here would only break the pool
        _Worker.work = staticmethod(_make_failing_work(error))


def _make_failing_work(error: Exception) -> Callable[[Any], Any]:
    def work(_: Any) -> Any:
        raise error

    return work


def _die_with_parent() -> None:
    """Wait until the parent process has ended, then end this one; a parent that is killed cannot end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
