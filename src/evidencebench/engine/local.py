"""InProcess and Threads."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from evidencebench.engine.protocol import (
    Item,
    Outcome,
    Result,
    Setup,
    catch_first_interrupt,
    do_nothing,
    require_workers,
)

# Work in this process, one item after the other.


@dataclass(frozen=True, slots=True)
class InProcess:
    """Runs each item in the process and thread of the caller."""

    shares_memory: ClassVar[bool] = True
    is_one_machine: ClassVar[bool] = True

    def outcomes(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,  # noqa: ARG002 - Ctrl-C ends the current item at once
    ) -> Iterator[Outcome[Item, Result]]:
        """Yield outcomes as `Engine.outcomes` says, in the order of the items."""
        work = setup(*arguments)
        for number, item in enumerate(items):
            yield outcome_of(work, number, item)


def outcome_of(work: Callable[[Item], Result], number: int, item: Item) -> Outcome[Item, Result]:
    """Return what comes of an item in this thread."""
    try:
        return Outcome(number, item, work(item))
    except Exception as error:  # noqa: BLE001 - it is the item's outcome
        return Outcome(number, item, error=error)


# Work in threads of this process: for work that mostly waits for a server.


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Threads:
    """Runs items in ``n_threads`` threads; outcomes are yielded in the thread of the caller."""

    n_threads: int
    shares_memory: ClassVar[bool] = True
    is_one_machine: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_workers("Threads", self.n_threads)

    def outcomes(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,
    ) -> Iterator[Outcome[Item, Result]]:
        """Yield outcomes as `Engine.outcomes` says; the setup is called once, and all threads share its function."""
        pool = _ThreadPool(setup(*arguments), items)

        def interrupt() -> None:
            pool.stop()
            on_interrupt()

        with catch_first_interrupt(interrupt) as flag:
            try:
                pool.start(self.n_threads)
                yield from pool.outcomes()
            finally:
                pool.stop()
        if flag.is_set:
            raise KeyboardInterrupt


class _ThreadPool(Generic[Item, Result]):
    """The worker threads and the queues between them and the calling thread."""

    def __init__(self, work: Callable[[Item], Result], items: Iterable[Item]) -> None:
        self._work, self._items = work, enumerate(items)
        self._lock = threading.Lock()
        # A signal handler calls `stop`, which may use only a flag and simple queues: a lock could block for ever.
        self._is_stopped = False
        # One for each item that may begin: at most two items a thread have begun and are not yielded yet.
        self._permits: queue.SimpleQueue[None] = queue.SimpleQueue()
        # Each entry is an outcome, an error that ends all, or None where a thread has ended.
        self._done: queue.SimpleQueue[Outcome[Item, Result] | BaseException | None] = queue.SimpleQueue()
        self._n_running = 0

    def start(self, n_threads: int) -> None:
        for _ in range(2 * n_threads):
            self._permits.put(None)
        for number in range(n_threads):
            # Daemon threads, so that a second Ctrl-C ends the program though a thread waits for a silent server.
            thread = threading.Thread(target=self._run_items, name=f"evidencebench-{number}", daemon=True)
            self._n_running += 1
            thread.start()

    def stop(self) -> None:
        """Begin no further item."""
        self._is_stopped = True
        for _ in range(self._n_running):
            self._permits.put(None)

    def outcomes(self) -> Iterator[Outcome[Item, Result]]:
        """Yield outcomes until every thread has ended; then raise what ended it, such as an error of the items."""
        error: BaseException | None = None
        while self._n_running:
            entry = self._done.get()
            if entry is None:
                self._n_running -= 1
            elif isinstance(entry, BaseException):
                error = error or entry
                self.stop()
            else:
                yield entry
                self._permits.put(None)
        if error is not None:
            raise error

    def _run_items(self) -> None:
        try:
            while True:
                self._permits.get()
                with self._lock:  # since the iterator of the items may not be thread-safe
                    if self._is_stopped:
                        return
                    try:
                        number, item = next(self._items)
                    except StopIteration:
                        return
                self._done.put(outcome_of(self._work, number, item))
        except BaseException as error:  # noqa: BLE001 - `outcomes` raises it in the caller's thread
            self._done.put(error)
        finally:
            self._done.put(None)


def call_together(
    work: Sequence[Callable[[], T]],
    at_once: int,
    *,
    room: threading.Semaphore | None = None,
    ends_all: Callable[[BaseException], bool] = lambda _: False,
) -> list[T | BaseException]:
    """Call functions, at most ``at_once`` at a time, and return what each returned or raised, in their order.

    This thread calls them too, so that all are called even if ``room``, which bounds the helping threads of several
    calls together, has none left. No further function begins after an error that ``ends_all``, or after this thread
    was interrupted: the helpers are daemons.
    """
    room = room or threading.Semaphore(at_once)
    places, outcomes = iter(range(len(work))), dict[int, T | BaseException]()
    is_stopped, caller = threading.Event(), threading.current_thread()

    def take_turns() -> None:
        for place in places:
            if is_stopped.is_set():
                return
            try:
                outcomes[place] = work[place]()
            except BaseException as error:
                if not isinstance(error, Exception) and threading.current_thread() is caller:
                    raise
                outcomes[place] = error
                if ends_all(error):
                    is_stopped.set()

    def help_out() -> None:
        try:
            take_turns()
        finally:
            room.release()

    helpers: list[threading.Thread] = []
    try:
        while len(helpers) < min(len(work), at_once) - 1 and room.acquire(blocking=False):
            helpers.append(threading.Thread(target=help_out, name="evidencebench-together", daemon=True))
            helpers[-1].start()
        take_turns()
        for helper in helpers:
            helper.join()
    finally:
        is_stopped.set()
    return [outcomes[place] for place in sorted(outcomes)]
