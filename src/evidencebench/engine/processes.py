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
from evidencebench.engine.interrupts import first_interrupt_noted
from evidencebench.engine.protocol import Engine, Item, Result, Setup, do_nothing
from evidencebench.errors import WorkerError


def engine_of(jobs: int) -> Engine:
    """Return what ``--jobs`` asks for: so many processes, or with 1 no other than this one."""
    return Processes(jobs) if jobs > 1 else InProcess()


@dataclass(frozen=True, slots=True)
class Processes:
    """Runs items in ``n_processes`` processes, which are started anew for each call and end with this one."""

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
        with first_interrupt_noted(on_interrupt) as interrupted, self._pool(setup, arguments) as pool:
            while True:
                if error is not None or interrupted.yet:
                    begun = {future for future in begun if not future.cancel()}
                else:
                    # One item more than workers, so that none is idle and little is begun in vain.
                    begun |= {pool.submit(_work, item) for item in islice(left, self.n_processes + 1 - len(begun))}
                if not begun:
                    break
                done, begun = wait(begun, return_when=FIRST_COMPLETED)
                for future in done:
                    failed = future.exception()
                    if failed is None:
                        yield future.result()
                    elif isinstance(failed, Exception) and not isinstance(failed, BrokenProcessPool):
                        error = error or failed  # raised when all that was begun is handed over
                    else:
                        raise failed
        if error is not None:
            raise error
        if interrupted.yet:
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
    """Keep new Python processes from importing modules of the current folder, such as a ``socket.py`` that lies there.

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


class _Worker:
    """What a worker process works with, set once when it starts."""

    work: Callable[[Any], Any]


def _work(item: Any) -> Any:
    return _Worker.work(item)


def _start_worker(setup: Setup[Any, Any], arguments: tuple[Any, ...], safe_path: str | None) -> None:
    _set_safe_path(safe_path)  # processes that own code starts keep its own setting
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


def _die_with_parent() -> None:
    """End this process when its parent is gone; a parent that is killed cannot end it itself."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
