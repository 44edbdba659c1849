"""Work in threads of this process: for work that mostly waits for a server."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from evidencebench.engine.interrupts import first_interrupt_noted
from evidencebench.engine.protocol import Item, Result, Setup, do_nothing


@dataclass(frozen=True, slots=True)
class Threads:
    """Runs ``n_threads`` items at once; results are yielded in the thread that asks for them."""

    n_threads: int
    shares_memory: ClassVar[bool] = True

    def results(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,
    ) -> Iterator[Result]:
        """Yield results as `Engine.results` says; the worker is made once and shared by the threads."""
        pool = _ThreadPool(setup(*arguments), items)

        def interrupt() -> None:
            pool.stop()
            on_interrupt()

        with first_interrupt_noted(interrupt) as interrupted:
            try:
                pool.start(self.n_threads)
                yield from pool.results()
            finally:
                pool.stop()
        if interrupted.yet:
            raise KeyboardInterrupt


class _ThreadPool(Generic[Item, Result]):
    """The worker threads and the queues between them and the calling thread."""

    def __init__(self, work: Callable[[Item], Result], items: Iterable[Item]) -> None:
        self._work, self._items = work, iter(items)
        self._lock = threading.Lock()
        # Only what a signal's handler may touch while this thread is in the midst of it: a flag and simple queues.
        self._is_stopped = False
        # One for each item that may be begun: no more than two a thread are ahead of what takes the results.
        self._permits: queue.SimpleQueue[None] = queue.SimpleQueue()
        # A result, an error, or None where a thread has ended.
        self._done: queue.SimpleQueue[tuple[Result] | BaseException | None] = queue.SimpleQueue()
        self._n_running = 0

    def start(self, n_threads: int) -> None:
        for _ in range(2 * n_threads):
            self._permits.put(None)
        for number in range(n_threads):
            # Daemons, so that a second interrupt ends the program though a server is silent.
            thread = threading.Thread(target=self._run_items, name=f"evidencebench-{number}", daemon=True)
            self._n_running += 1
            thread.start()

    def stop(self) -> None:
        """Let no more items be begun."""
        self._is_stopped = True
        for _ in range(self._n_running):
            self._permits.put(None)

    def results(self) -> Iterator[Result]:
        """Yield results until every thread has ended; raise the first error then."""
        error: BaseException | None = None
        while self._n_running:
            found = self._done.get()
            if found is None:
                self._n_running -= 1
            elif isinstance(found, BaseException):
                error = error or found
                self.stop()
            else:
                yield found[0]
                self._permits.put(None)
        if error is not None:
            raise error

    def _run_items(self) -> None:
        try:
            while True:
                self._permits.get()
                with self._lock:  # the iterator of items need not be thread-safe
                    if self._is_stopped:
                        return
                    try:
                        item = next(self._items)
                    except StopIteration:
                        return
                self._done.put((self._work(item),))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that called
            self._done.put(error)
        finally:
            self._done.put(None)
