"""Work in processes of this machine, and what engines share whose workers may die: these are replaced.

What a dead worker had is tried again, each item alone, and the rest is finished.
"""

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from evidencebench.engine.local import InProcess
from evidencebench.engine.protocol import (
    Engine,
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

_MOST_IN_BATCH = 64
_BATCH_SECONDS = 0.05
MOST_BATCH_SECONDS = 1.0
"""A batch that takes longer is given back, so that another worker, or the next call, has the rest."""

_MOST_EARLY_DEATHS = 3

Reply = tuple[Any, Exception | None]


@dataclass(frozen=True, slots=True)
class Event(Generic[Worker]):
    """What a worker told: that it is ready, replies to items in their order, why it cannot begin, or that it died."""

    worker: Worker
    replies: Sequence[Reply] = ()
    gives_back: bool = False  # the rest of its batch, which it has not begun
    cannot_begin: Exception | None = None
    died: str | None = None  # why, in words
    is_lost: bool = False  # it died with its machine, or cannot be reached: no item is to blame


class Workers(Protocol[Worker]):
    """The workers of an engine. Each calls the setup when it starts, and then answers batches of items."""

    @property
    def share_memory_of_machine(self) -> bool:
        """Whether one worker may die since others take the memory; what it had begun is then tried again all alone."""

    def start(self) -> Worker:
        """Start a worker; a later event tells that it is ready, cannot begin or died."""

    def send(self, worker: Worker, items: Sequence[Any]) -> None:
        """Give a batch to a worker that is ready and has none; later events have its replies."""

    def wait(self) -> Iterable[Event[Worker]]:
        """Return the next events, or none after half a second."""


def dispatch(
    workers: Workers[Worker], n_workers: int, items: Iterable[Item], interrupt: InterruptFlag
) -> Iterator[Outcome[Item, Any]]:
    """Yield outcomes as `Engine.outcomes` says, but for the ``KeyboardInterrupt``; at most ``n_workers`` work at once.

    What a dead worker had is tried again, each item alone. An item fails with a `WorkerError` where two workers died
    that had nothing else, machines that left not counted.
    """
    work = _Dispatch(workers, n_workers, items, interrupt)
    while work.give():
        for event in workers.wait():
            yield from work.take(event)


_Numbered = tuple[int, Any]  # the number of an item, and the item


@dataclass(slots=True)
class _Batch:
    """The items that a worker has and has not answered yet."""

    left: deque[_Numbered]
    n_answered: int = 0
    sent_at: float = field(default_factory=time.monotonic)


class _Dispatch(Generic[Worker]):
    """Which worker has which items, and which items no worker has."""

    def __init__(
        self, workers: Workers[Worker], n_workers: int, items: Iterable[Any], interrupt: InterruptFlag
    ) -> None:
        self._workers, self._n_workers, self._interrupt = workers, n_workers, interrupt
        self._items: Iterator[_Numbered] = enumerate(items)
        self._taken: deque[_Numbered] = deque()
        self._suspects: deque[_Numbered] = deque()  # a worker died that had them
        self._died_alone: set[int] = set()  # numbers of items
        self._starting: set[Worker] = set()
        self._idle: dict[Worker, int] = {}  # worker -> how many items it gets next
        self._begun: dict[Worker, _Batch] = {}
        self._n_early_deaths = 0

    def give(self) -> bool:
        """Give items to the workers that have none, and start workers; return whether any item is left."""
        if self._interrupt.is_set:
            self._taken.clear()
            self._suspects.clear()
        for worker, size in list(self._idle.items()):
            if self._suspects:
                is_alone = not (self._begun and self._workers.share_memory_of_machine)
                batch = deque([self._suspects.popleft()] if is_alone else [])
            else:
                self._take_up_to(size)
                batch = deque(self._taken.popleft() for _ in range(min(size, len(self._taken))))
            if batch:
                del self._idle[worker]
                self._begun[worker] = _Batch(batch)
                self._workers.send(worker, [item for _, item in batch])
        n_missing = self._n_workers - len(self._starting) - len(self._idle) - len(self._begun)
        self._take_up_to(n_missing)
        n_without_worker = len(self._taken) + len(self._suspects) - len(self._starting)
        for _ in range(min(n_missing, n_without_worker)):
            self._starting.add(self._workers.start())
        return bool(self._begun or self._taken or self._suspects)

    def take(self, event: Event[Worker]) -> Iterator[Outcome[Any, Any]]:
        worker = event.worker
        if event.cannot_begin is not None:
            raise event.cannot_begin
        if event.died is not None:
            yield from self._bury(worker, event.died, is_lost=event.is_lost)
        elif worker in self._starting:
            self._starting.remove(worker)
            self._idle[worker], self._n_early_deaths = 1, 0
        else:
            batch = self._begun[worker]
            batch.n_answered += len(event.replies)
            answered = [batch.left.popleft() for _ in event.replies]
            if event.gives_back:
                self._taken.extendleft(reversed(batch.left))
                batch.left.clear()
            if not batch.left:
                del self._begun[worker]
                # A batch takes some 50 ms, so that quick items share a message.
                pace = batch.n_answered / max(time.monotonic() - batch.sent_at, 1e-9)
                self._idle[worker] = max(1, min(2 * batch.n_answered, int(pace * _BATCH_SECONDS), _MOST_IN_BATCH))
            for (number, item), (result, error) in zip(answered, event.replies, strict=True):
                yield Outcome(number, item, result, error)

    def _take_up_to(self, n_items: int) -> None:
        if not self._interrupt.is_set:
            self._taken.extend(islice(self._items, max(0, n_items - len(self._taken))))

    def _bury(self, worker: Worker, why: str, *, is_lost: bool) -> Iterator[Outcome[Any, Any]]:
        """Note what a dead worker had, to be tried again; yield the outcome of an item that two workers died of."""
        self._idle.pop(worker, None)
        if worker in self._starting:
            self._starting.remove(worker)
            self._n_early_deaths += 1
            if self._n_early_deaths == _MOST_EARLY_DEATHS:
                raise WorkerError(f"{_MOST_EARLY_DEATHS} workers died before they had begun an item; the last: {why}")
        batch = self._begun.pop(worker, None)
        left = batch.left if batch is not None else deque()
        if len(left) == 1 and left[0][0] in self._died_alone and not is_lost:
            number, item = left[0]
            yield Outcome(number, item, error=WorkerError(f"two workers died that had nothing else to do: {why}"))
            return
        if len(left) == 1 and not is_lost:
            self._died_alone.add(left[0][0])
        self._suspects.extend(left)


def why_it_died(status: int | None) -> str:
    """Return why a worker died; ``status`` is as in `subprocess`, or None where the engine cannot know it."""
    memory = "as the system does where memory runs out"
    if status is None:
        return f"killed, {memory}, or ended by the code that it ran"
    if status == -signal.SIGKILL:
        return f"killed (SIGKILL), {memory}"
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"


def reply_to(work: Callable[[Any], Any], item: Any) -> Reply:
    """Return what a worker in another process replies to an item; an error that cannot be sent is told in words."""
    try:
        return work(item), None
    except Exception as error:  # noqa: BLE001 - it is the item's outcome
        return None, sendable(error)


def sendable(error: Exception) -> Exception:
    """Return an error as it can be sent to another process, with its traceback where it is one of our mistakes."""
    if not isinstance(error, EvidenceBenchError):
        error.add_note(f"In a worker:\n{''.join(traceback.format_exception(error))}")
    try:  # some classes of errors can be pickled but not read back, which only trying shows
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made in this line
    except Exception:  # noqa: BLE001 - whatever an error class does there
        return WorkerError(f"{type(error).__name__}: {error}")
    return error


_WAIT_SECONDS = 0.5
_SEND_SECONDS = 0.005
_SPAWN = multiprocessing.get_context("spawn")
_SAFE_PATH = "PYTHONSAFEPATH"


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

    def send(self, worker: Connection, items: Sequence[Any]) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it died; `wait` tells so
            worker.send(items)

    def wait(self) -> Iterator[Event[Connection]]:
        for ready in wait(list(self._processes), _WAIT_SECONDS):
            worker: Any = ready
            try:
                event = Event(worker, *worker.recv())
            except (EOFError, OSError):
                process = self._processes.pop(worker)
                worker.close()
                process.join()
                status = process.exitcode
                process.close()
                yield Event(worker, died=why_it_died(status))
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
    for number, item in enumerate(items, 1):
        replies.append(reply_to(work, item))
        now = time.monotonic()
        gives_back = now - begun_at > MOST_BATCH_SECONDS and number < len(items)
        if gives_back or now - sent_at > _SEND_SECONDS or number == len(items):
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
        for number, reply in enumerate(replies, 1):
            _send(there, [reply], gives_back=gives_back and number == len(replies))


def _die_with_parent() -> None:
    """Wait until the parent process has ended, then end this one; a parent that is killed cannot end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
