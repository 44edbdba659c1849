"""Work in processes of this machine, and what engines share whose workers may die: these are replaced.

What a dead worker had is tried again, alone, and the rest is finished.
"""

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from evidencebench.engine.protocol import (
    InterruptFlag,
    Item,
    Outcome,
    Result,
    Setup,
    catch_first_interrupt,
    do_nothing,
    require_workers,
)
from evidencebench.errors import EvidenceBenchError, WorkerError

Worker = TypeVar("Worker", bound=Hashable)

_MOST_EARLY_DEATHS = 3

Reply = tuple[Any, Exception | None]


@dataclass(frozen=True, slots=True)
class Event(Generic[Worker]):
    """What a worker told: that it is ready, the reply to its item, or that it died."""

    worker: Worker
    reply: Reply = (None, None)
    died: str | None = None  # why, in words
    is_lost: bool = False  # it died with its machine, or cannot be reached: no item is to blame


class Workers(Protocol[Worker]):
    """The workers of an engine. Each calls the setup when it starts, and then answers one item after the other."""

    @property
    def share_memory_of_machine(self) -> bool:
        """Whether one worker may die since others take the memory; what it had begun is then tried again all alone."""

    def start(self) -> Worker:
        """Start a worker; a later event tells that it is ready or died."""

    def send(self, worker: Worker, item: Any) -> None:
        """Give an item to a worker that is ready and has none; a later event has its reply."""

    def wait(self) -> Iterable[Event[Worker]]:
        """Return the next events, or none after half a second; raise what keeps a worker from beginning."""

    def kill(self) -> None:
        """End all workers at once."""

    def end(self) -> None:
        """End all workers, of which none has anything to do, or all were killed."""


def dispatch(
    workers: Workers[Worker], n_workers: int, items: Iterable[Item], on_interrupt: Callable[[], object]
) -> Iterator[Outcome[Item, Any]]:
    """Yield outcomes as `Engine.outcomes` says; at most ``n_workers`` work at once, and all are ended.

    What a dead worker had is tried again, alone. An item fails with a `WorkerError` where two workers died of it,
    machines that left not counted.
    """
    with catch_first_interrupt(on_interrupt) as interrupt:
        work = _Dispatch(workers, n_workers, items, interrupt)
        try:
            while work.give():
                for event in workers.wait():
                    yield from work.take(event)
        except BaseException:
            workers.kill()
            raise
        finally:
            workers.end()


_Numbered = tuple[int, Any]  # the number of an item, and the item


class _Dispatch(Generic[Worker]):
    """Which worker has which item, and which items no worker has."""

    def __init__(
        self, workers: Workers[Worker], n_workers: int, items: Iterable[Any], interrupt: InterruptFlag
    ) -> None:
        self._workers, self._n_workers, self._interrupt = workers, n_workers, interrupt
        self._items: Iterator[_Numbered] = enumerate(items)
        self._taken: deque[_Numbered] = deque()
        self._suspects: deque[_Numbered] = deque()  # a worker died that had them
        self._died: set[int] = set()  # numbers of items that a worker died of
        self._starting: set[Worker] = set()
        self._idle: set[Worker] = set()
        self._begun: dict[Worker, _Numbered] = {}  # worker -> the item that it has
        self._n_early_deaths = 0

    def give(self) -> bool:
        """Give items to the workers that have none, and start workers; return whether any item is left."""
        if self._interrupt.is_set:
            self._taken.clear()
            self._suspects.clear()
        for worker in list(self._idle):
            if not self._suspects:
                self._take_up_to(1)
            elif self._begun and self._workers.share_memory_of_machine:
                break
            if waiting := self._suspects or self._taken:
                self._idle.remove(worker)
                self._begun[worker] = waiting.popleft()
                self._workers.send(worker, self._begun[worker][1])
        n_missing = self._n_workers - len(self._starting) - len(self._idle) - len(self._begun)
        self._take_up_to(n_missing)
        n_without_worker = len(self._taken) + len(self._suspects) - len(self._starting)
        for _ in range(min(n_missing, n_without_worker)):
            self._starting.add(self._workers.start())
        return bool(self._begun or self._taken or self._suspects)

    def _take_up_to(self, n_items: int) -> None:
        if not self._interrupt.is_set:
            self._taken.extend(islice(self._items, max(0, n_items - len(self._taken))))

    def take(self, event: Event[Worker]) -> Iterator[Outcome[Any, Any]]:
        if event.died is not None:
            yield from self._bury(event.worker, event.died, is_lost=event.is_lost)
            return
        self._idle.add(event.worker)
        if event.worker in self._starting:
            self._starting.remove(event.worker)
            self._n_early_deaths = 0
        else:
            number, item = self._begun.pop(event.worker)
            yield Outcome(number, item, *event.reply)

    def _bury(self, worker: Worker, why: str, *, is_lost: bool) -> Iterator[Outcome[Any, Any]]:
        """Note what a dead worker had, to be tried again; yield the outcome of an item that two workers died of."""
        self._idle.discard(worker)
        if worker in self._starting:
            self._starting.remove(worker)
            self._n_early_deaths += 1
            if self._n_early_deaths == _MOST_EARLY_DEATHS:
                raise WorkerError(f"{_MOST_EARLY_DEATHS} workers died before they had begun an item; the last: {why}")
        if (begun := self._begun.pop(worker, None)) is None:
            return
        number, item = begun
        if number in self._died and not is_lost:
            yield Outcome(number, item, error=WorkerError(f"two workers died that had nothing else to do: {why}"))
            return
        if not is_lost:
            self._died.add(number)
        self._suspects.append(begun)


def why_it_died(status: int | None) -> str:
    """Return why a worker died; ``status`` is as in `subprocess`, or None where the engine cannot know it."""
    memory = "as the system does where memory runs out"
    if status is None:
        return f"killed, {memory}, or ended by the code that it ran"
    if status == -signal.SIGKILL:
        return f"killed (SIGKILL), {memory}"
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"


def reply_to(work: Callable[[Any], Any], item: Any) -> Reply:
    try:
        result = work(item)
        pickle.dumps(result)  # so that what cannot be sent is an error of this item
    except Exception as error:  # noqa: BLE001 - it is the item's outcome
        return None, sendable(error)
    return result, None


def sendable(error: Exception) -> Exception:
    """Return an error as it can be sent to another process, with its traceback where it is one of our mistakes."""
    if not isinstance(error, EvidenceBenchError):
        error.add_note(f"In a worker:\n{''.join(traceback.format_exception(error))}")
    try:  # some classes of errors can be pickled but not read back, which only trying shows
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made in this line
    except Exception:  # noqa: BLE001 - whatever an error class does there
        return WorkerError(f"{type(error).__name__}: {error}")
    return error


WAIT_SECONDS = 0.5
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
        yield from dispatch(_WorkerProcesses(setup, tuple(arguments)), self.n_processes, items, on_interrupt)


class _WorkerProcesses:
    """The processes of one call, each named by this end of the pipe to it."""

    share_memory_of_machine = True

    def __init__(self, setup: Setup[Any, Any], arguments: tuple[Any, ...]) -> None:
        self._setup, self._arguments = setup, arguments
        self._processes: dict[Connection, SpawnProcess] = {}
        self._ready: set[Connection] = set()

    def start(self) -> Connection:
        here, there = _SPAWN.Pipe()
        # New Python processes import no module of the current folder, such as a ``socket.py`` there.
        before = os.environ.get(_SAFE_PATH)
        process = _SPAWN.Process(target=_serve, args=(there, self._setup, self._arguments, before))
        try:
            _set_safe_path("1")
            process.start()
        finally:
            _set_safe_path(before)
        there.close()  # so that the end of the process is the end of the pipe
        self._processes[here] = process
        return here

    def send(self, worker: Connection, item: Any) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it died; `wait` tells so
            worker.send(item)

    def wait(self) -> Iterator[Event[Connection]]:
        for ready in wait(list(self._processes), WAIT_SECONDS):
            worker: Any = ready
            try:
                told = worker.recv()
            except (EOFError, OSError):
                process = self._processes.pop(worker)
                worker.close()
                process.join()
                status = process.exitcode
                process.close()
                yield Event(worker, died=why_it_died(status))
            else:
                if isinstance(told, Exception):
                    raise told
                self._ready.add(worker)
                yield Event(worker, told)

    def kill(self) -> None:
        for process in self._processes.values():
            process.kill()

    def end(self) -> None:
        for worker, process in self._processes.items():
            worker.close()  # at which it ends, unless it is still starting
            if worker not in self._ready:
                process.kill()
        for process in self._processes.values():
            process.join()
            process.close()


def _set_safe_path(value: str | None) -> None:
    if value is None:
        os.environ.pop(_SAFE_PATH, None)
    else:
        os.environ[_SAFE_PATH] = value


def _serve(there: Connection, setup: Setup[Any, Any], arguments: tuple[Any, ...], safe_path: str | None) -> None:
    """Answer items until the pipe ends: the main function of a worker process."""
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
            there.send(sendable(error))
            return
        there.send((None, None))
        while True:
            there.send(reply_to(work, there.recv()))


def _die_with_parent() -> None:
    """Wait until the parent process has ended, then end this one; a parent that is killed cannot end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
