"""Work in this process: InProcess, Threads, and functions that are called together."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

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
    try:
        return Outcome(number, item, work(item))
    except Exception as error:  # noqa: BLE001 - it is the item's outcome
        return Outcome(number, item, error=error)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Threads:
    """Runs items in ``n_threads`` threads, for work that waits for a server; yields outcomes in the caller's thread."""

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
        work, numbered, lock = setup(*arguments), enumerate(items), threading.Lock()
        # A signal handler calls `stop`, which may use only a flag and simple queues: a lock could block for ever.
        stopped = InterruptFlag()
        # One for each item that may begin: at most two items a thread have begun and are not yielded yet.
        permits: queue.SimpleQueue[None] = queue.SimpleQueue()
        # Each entry is an outcome, an error that ends all, or None where a thread has ended.
        done: queue.SimpleQueue[Outcome[Item, Result] | BaseException | None] = queue.SimpleQueue()

        def stop() -> None:
            stopped.is_set = True
            for _ in range(self.n_threads):
                permits.put(None)

        def interrupt() -> None:
            stop()
            on_interrupt()

        def serve() -> None:
            try:
                while True:
                    permits.get()
                    with lock:  # since the iterator of the items may not be thread-safe
                        entry = None if stopped.is_set else next(numbered, None)
                    if entry is None:
                        return
                    done.put(outcome_of(work, *entry))
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                done.put(error)
            finally:
                done.put(None)

        with catch_first_interrupt(interrupt):
            try:
                for number in range(self.n_threads):
                    # Daemons, so that a second Ctrl-C ends the program though a thread waits for a silent server.
                    threading.Thread(target=serve, name=f"evidencebench-{number}", daemon=True).start()
                    permits.put(None)
                    permits.put(None)
                for outcome in _take_all(done, self.n_threads, stop):
                    yield outcome
                    permits.put(None)
            finally:
                stop()


def _take_all(done: "queue.SimpleQueue[Any]", n_running: int, stop: Callable[[], None]) -> Iterator[Any]:
    """Yield what threads put, until all have ended; then raise the first error of theirs, at which the others stop."""
    error: BaseException | None = None
    while n_running:
        entry = done.get()
        if entry is None:
            n_running -= 1
        elif isinstance(entry, BaseException):
            error = error or entry
            stop()
        else:
            yield entry
    if error is not None:
        raise error


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
