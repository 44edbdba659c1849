"""Run a function over many items in threads: for work that mostly waits for a server."""

import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def wait_for_all(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    on_result: Callable[[Result], object],
    *,
    n_threads: int,
    is_over: Callable[[], bool] = lambda: False,
    on_interrupt: Callable[[], object] = lambda: None,
) -> None:
    """Hand over each result in the calling thread as soon as it is there, in whatever order.

    After an interrupt no item is begun, and what was begun is finished and handed over before the interrupt goes on; a
    second interrupt goes on at once. The same after an error of the work, or of what takes the results.

    Parameters
    ----------
    work
        Called in the threads with each item.
    items
        Taken one at a time, never far ahead.
    on_result
        Called in the calling thread.
    n_threads
        How many items are worked on at once, at most.
    is_over
        Asked before each item; where it says so, no item is begun.
    on_interrupt
        Called once, at the first interrupt, to let what waits for long end soon.

    Raises
    ------
    KeyboardInterrupt
        After what was begun is handed over.
    """
    crew = _Crew(work, items, is_over)
    with _interrupts(crew, on_interrupt):
        try:
            crew.start(n_threads)
            for result in crew.results():
                on_result(result)
        finally:
            crew.stop()
    if crew.is_interrupted:
        raise KeyboardInterrupt


class _Crew(Generic[Item, Result]):
    """The threads, and what passes between them and the one that called."""

    def __init__(self, work: Callable[[Item], Result], items: Iterable[Item], is_over: Callable[[], bool]) -> None:
        self._work, self._items, self._is_over = work, iter(items), is_over
        self._lock = threading.Lock()
        # Only what a signal's handler may touch while this thread is in the midst of it: a flag and simple queues.
        self._is_stopped = False
        # One for each item that may be begun: no more than two a thread are ahead of what takes the results.
        self._permits: queue.SimpleQueue[None] = queue.SimpleQueue()
        # A result, an error, or None where a thread has ended.
        self._done: queue.SimpleQueue[tuple[Result] | BaseException | None] = queue.SimpleQueue()
        self._n_running = 0
        self.is_interrupted = False

    def start(self, n_threads: int) -> None:
        for _ in range(2 * n_threads):
            self._permits.put(None)
        for number in range(n_threads):
            # Daemons, so that a second interrupt ends the program though a server is silent.
            thread = threading.Thread(target=self._labour, name=f"evidencebench-{number}", daemon=True)
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

    def _labour(self) -> None:
        try:
            while True:
                self._permits.get()
                with self._lock:  # whatever yields the items need not be safe for threads
                    if self._is_stopped or self._is_over():
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


@contextmanager
def _interrupts(crew: _Crew[Item, Result], on_interrupt: Callable[[], object]) -> Iterator[None]:
    """Take a first interrupt as a wish to stop, and let a second one through."""
    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
        yield
        return

    def note(*_: object) -> None:
        if crew.is_interrupted:
            raise KeyboardInterrupt
        crew.is_interrupted = True
        crew.stop()
        on_interrupt()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
