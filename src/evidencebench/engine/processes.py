"""Work in processes of this machine."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, ClassVar

from evidencebench.engine.dispatch import MOST_BATCH_SECONDS, Event, Reply, dispatch, reply_to, sendable, why_it_died
from evidencebench.engine.in_process import InProcess
from evidencebench.engine.interrupts import catch_first_interrupt
from evidencebench.engine.protocol import Engine, Item, Outcome, Result, Setup, do_nothing, require_workers

_WAIT_SECONDS = 0.5
_SEND_SECONDS = 0.005
_SPAWN = multiprocessing.get_context("spawn")


def engine_of(engine: Engine | None, jobs: int, *, at_most: int) -> Engine:
    """Return ``engine``, or where it is None so many processes, ``at_most`` of them; this process alone for 1."""
    if engine is None:
        require_workers("jobs", jobs)
        n_processes = min(jobs, at_most)
        return Processes(n_processes) if n_processes > 1 else InProcess()
    if not hasattr(engine, "outcomes"):
        raise ValueError(f"engine: expected an engine, such as evidencebench.Processes(4), got {engine!r}")
    return engine


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
        workers = _WorkerProcesses(setup, tuple(arguments))
        with catch_first_interrupt(on_interrupt) as interrupt:
            try:
                yield from dispatch(workers, self.n_processes, items, interrupt)
            except BaseException:
                workers.end(at_once=True)
                raise
            workers.end()
        if interrupt.is_set:
            raise KeyboardInterrupt


class _WorkerProcesses:
    """The processes of one call, each named by this end of the pipe to it."""

    share_memory_of_machine = True

    def __init__(self, setup: Setup[Any, Any], arguments: tuple[Any, ...]) -> None:
        self._setup, self._arguments = setup, arguments
        self._processes: dict[Connection, SpawnProcess] = {}
        self._ready: set[Connection] = set()

    def start(self) -> Connection:
        here, there = _SPAWN.Pipe()
        with _safe_path() as before:
            process = _SPAWN.Process(target=_serve, args=(there, self._setup, self._arguments, before))
            process.start()
        there.close()  # so that the end of the process is the end of the pipe
        self._processes[here] = process
        return here

    def send(self, worker: Connection, items: Sequence[Any]) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it died; `wait` tells so
            worker.send(items)

    def wait(self) -> Iterator[Event[Connection]]:
        for ready in wait(list(self._processes), _WAIT_SECONDS):
            worker: Any = ready
            try:
                event = Event(worker, *worker.recv())
            except (EOFError, OSError):
                yield Event(worker, died=self._why_it_died(worker))
            else:
                self._ready.add(worker)
                yield event

    def end(self, *, at_once: bool = False) -> None:
        """End all processes; those that have nothing to do end by themselves, unless ``at_once``."""
        for worker, process in self._processes.items():
            worker.close()
            if at_once or worker not in self._ready:
                process.kill()
        for process in self._processes.values():
            process.join()
            process.close()

    def _why_it_died(self, worker: Connection) -> str:
        process = self._processes.pop(worker)
        worker.close()
        process.join()
        status = process.exitcode
        process.close()
        return why_it_died(status)


_SAFE_PATH = "PYTHONSAFEPATH"


@contextmanager
def _safe_path() -> Iterator[str | None]:
    """Keep new Python processes from importing modules of the current folder, such as a ``socket.py`` there."""
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


def _serve(there: Connection, setup: Setup[Any, Any], arguments: tuple[Any, ...], safe_path: str | None) -> None:
    """Answer batches of items until the pipe ends: the main function of a worker process."""
    _set_safe_path(safe_path)  # a user's own code may start processes; they get the user's setting
    # Ctrl-C reaches every process of the terminal, and others all of a job; only the parent handles them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # unlike SIG_IGN, no program of own code inherits it
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the parent needs no more
        try:
            work = setup(*arguments)
        except Exception as error:  # noqa: BLE001 - raised in the parent
            there.send(((), False, sendable(error)))
            return
        there.send(((), False))
        while True:
            _answer(there, work, there.recv())


def _answer(there: Connection, work: Callable[[Any], Any], items: Sequence[Any]) -> None:
    """Reply to items, each at once, but where they are so quick that several replies go into one message."""
    replies: list[Reply] = []
    begun_at = sent_at = time.monotonic()
    for place, item in enumerate(items, 1):
        replies.append(reply_to(work, item))
        now = time.monotonic()
        gives_back = now - begun_at > MOST_BATCH_SECONDS and place < len(items)
        if gives_back or now - sent_at > _SEND_SECONDS or place == len(items):
            _send(there, replies, gives_back=gives_back)
            replies, sent_at = [], now
        if gives_back:
            return


def _send(there: Connection, replies: Sequence[Reply], *, gives_back: bool) -> None:
    try:
        there.send((replies, gives_back))
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - a result that cannot be pickled, whatever its class raises
        if len(replies) == 1:
            there.send(([(None, sendable(error))], gives_back))
            return
        for place, reply in enumerate(replies, 1):
            _send(there, [reply], gives_back=gives_back and place == len(replies))


def _die_with_parent() -> None:
    """Wait until the parent process has ended, then end this one; a parent that is killed cannot end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
