"""Work in this process: InProcess, Threads, and functions that are called together."""

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from evidencebench.engine.dispatch import Death, Reply, dispatch
from evidencebench.engine.processes import Processes
from evidencebench.engine.protocol import Engine, Item, Outcome, Result, Setup, do_nothing, require_workers


def usable_processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
        pool = _ThreadPool(self.n_threads, setup(*arguments))
        yield from dispatch(pool, self.n_threads, items, on_interrupt, most_in_batch=1)


_Asked = tuple[Sequence[Any], Future[list[Reply] | Exception]]


class _ThreadPool:
    """Threads that unlike those of an executor are daemons: a second Ctrl-C waits for no silent server."""

    share_memory_of_machine = False

    def __init__(self, n_threads: int, work: Callable[[Any], Any]) -> None:
        self._n_threads, self._work = n_threads, work
        self._n_started = 0
        self._asked: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()

    def submit(self, items: Sequence[Any]) -> Future[list[Reply] | Exception]:
        future = Future[list[Reply] | Exception]()
        self._asked.put((items, future))
        if self._n_started < self._n_threads:
            self._n_started += 1
            threading.Thread(target=self._serve, name=f"evidencebench-{self._n_started}", daemon=True).start()
        return future

    def death(self, error: BaseException) -> Death | None:  # noqa: ARG002 - threads do not die
        return None

    def end(self, *, at_once: bool) -> None:  # noqa: ARG002 - what has begun goes on, and nobody waits for it
        for _ in range(self._n_started):
            self._asked.put(None)

    def _serve(self) -> None:
        while (asked := self._asked.get()) is not None:
            items, future = asked
            try:
                outcomes = [outcome_of(self._work, number, item) for number, item in enumerate(items)]
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                future.set_exception(error)
            else:
                future.set_result([(outcome.result, outcome.error) for outcome in outcomes])


def engine_of(engine: Engine | None, jobs: int, *, at_most: int) -> Engine:
    """Return ``engine``, or where it is None so many processes, ``at_most`` of them; this process alone for 1."""
    if engine is None:
        require_workers("jobs", jobs)
        n_processes = min(jobs, at_most)
        return Processes(n_processes) if n_processes > 1 else InProcess()
    if not hasattr(engine, "outcomes"):
        raise ValueError(f"engine: expected an engine, such as evidencebench.Processes(4), got {engine!r}")
    return engine


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
