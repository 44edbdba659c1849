"""Work in processes of this machine; those that die are replaced."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, ClassVar

from evidencebench.engine.dispatch import DIED, MOST_EARLY_DEATHS, Death, Reply, dispatch, replies_to, sendable
from evidencebench.engine.protocol import (
    ENDING_SIGNALS,
    Item,
    Outcome,
    Result,
    Setup,
    do_nothing,
    require_workers,
)
from evidencebench.errors import WorkerError

_SPAWN = multiprocessing.get_context("spawn")
_SAFE_PATH = "PYTHONSAFEPATH"


@dataclass(frozen=True, slots=True)
class Processes:
    """Runs items in ``n_processes`` processes. Each call of `outcomes` starts new ones; they end with their parent."""

    n_processes: int
    shares_memory: ClassVar[bool] = False
    is_one_machine: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_workers("Processes", self.n_processes)

    def outcomes(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,
    ) -> Iterator[Outcome[Item, Result]]:
        """Yield outcomes as `Engine.outcomes` says."""
        pool = _ProcessPool(self.n_processes, setup, tuple(arguments))
        yield from dispatch(pool, self.n_processes, items, on_interrupt)


class _ProcessPool:
    """An executor, and a new one once a process has died, since that breaks it."""

    share_memory_of_machine = True

    def __init__(self, n_processes: int, setup: Setup[Any, Any], arguments: tuple[Any, ...]) -> None:
        self._n_processes, self._work = n_processes, (setup, arguments)
        self._executor: ProcessPoolExecutor | None = None
        self._n_early_deaths = 0

    def submit(self, items: Sequence[Any]) -> Future[list[Reply] | Exception]:
        if self._executor is None:
            self._executor = self._open()
        # New Python processes import no module of the current folder, such as a ``socket.py`` there.
        before = os.environ.get(_SAFE_PATH)
        try:
            _set_safe_path("1")
            return self._executor.submit(_replies, *self._work, items)
        except BrokenProcessPool as error:  # a process died that had nothing to do
            broken = Future[list[Reply] | Exception]()
            broken.set_exception(error)
            return broken
        finally:
            _set_safe_path(before)

    def death(self, error: BaseException) -> Death | None:
        if not isinstance(error, BrokenProcessPool):
            return None
        if self._executor is not None:
            self._n_early_deaths += not self._has_begun.is_set()
            self._executor = None
        if self._n_early_deaths == MOST_EARLY_DEATHS:
            raise WorkerError(f"{MOST_EARLY_DEATHS} workers died before they had begun an item: {DIED}")
        return Death(DIED, is_blamed=self._has_begun.is_set())

    def end(self, *, at_once: bool) -> None:
        if self._executor is None:
            return
        if at_once:
            self._life.close()
        self._executor.shutdown(cancel_futures=True)
        self._life.close()

    def _open(self) -> ProcessPoolExecutor:
        _start_tracker()
        life, self._life = _SPAWN.Pipe(duplex=False)
        self._has_begun = _SPAWN.Event()
        begin = (life, self._has_begun, os.environ.get(_SAFE_PATH))
        return ProcessPoolExecutor(self._n_processes, _SPAWN, _begin, begin)


def _start_tracker() -> None:
    """Start the process that frees what workers share: as it is of SIGINT and SIGTERM, it is made deaf to SIGHUP."""
    if not hasattr(signal, "SIGHUP") or threading.current_thread() is not threading.main_thread():
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        resource_tracker.ensure_running()
    finally:
        signal.signal(signal.SIGHUP, before)


def _set_safe_path(value: str | None) -> None:
    if value is None:
        os.environ.pop(_SAFE_PATH, None)
    else:
        os.environ[_SAFE_PATH] = value


# What runs in a worker process.

_work: Callable[[Any], Any] | None = None  # what its setup returned
_has_begun: Any = None


def _begin(life: Connection, has_begun: Any, safe_path: str | None) -> None:
    global _has_begun  # noqa: PLW0603 - a worker has one
    _has_begun = has_begun
    _set_safe_path(safe_path)  # a user's own code may start processes; they get the user's setting
    # Ctrl-C reaches every process of the terminal, and others all of a job; only the parent handles them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in ENDING_SIGNALS:
        signal.signal(number, lambda *_: None)  # unlike SIG_IGN, no program of own code inherits it
    threading.Thread(target=_die_with_parent, args=(life,), daemon=True).start()


def _die_with_parent(life: Connection) -> None:
    """Wait until the parent closes its end of a pipe, or has died, then end this process."""
    with suppress(EOFError, OSError):
        life.recv()
    os._exit(1)


def _replies(setup: Setup[Any, Any], arguments: tuple[Any, ...], items: Sequence[Any]) -> list[Reply] | Exception:
    global _work  # noqa: PLW0603 - a worker has one
    if _work is None:
        try:
            _work = setup(*arguments)
        except Exception as error:  # noqa: BLE001 - raised in the parent
            return sendable(error)
        _has_begun.set()
    return replies_to(_work, items)
