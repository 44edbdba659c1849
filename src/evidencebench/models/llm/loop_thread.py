"""One background thread that runs an asyncio loop, for callers that wait in threads of their own."""

import asyncio
import concurrent.futures
import contextlib
import inspect
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from evidencebench.errors import DrainingError

T = TypeVar("T")

_LONGEST_CLOSING_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event
    thread: threading.Thread
    process_id: int
    is_over: threading.Event
    waited_for: set[concurrent.futures.Future[Any]]


class LoopThread:
    """A loop that starts when first used, and again in a forked process; `closing` is awaited in it when it ends."""

    def __init__(self, closing: Callable[[], Awaitable[None]]) -> None:
        self._closing = closing
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._is_closed = False
        self._finalizer: Callable[[], object] = lambda: None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns, run in the loop; blocks the calling thread, which is not the loop's own.

        A calling thread that is interrupted cancels its work. Raises `DrainingError` if the loop is closed before the
        work is done.
        """
        try:
            running = self._started()
            future = asyncio.run_coroutine_threadsafe(work, running.loop)
        except BaseException as error:
            work.close()  # closed, since Python warns of coroutines that were never started
            if isinstance(error, RuntimeError) and self._is_closed:
                raise _closed() from error
            raise
        running.waited_for.add(future)
        if running.is_over.is_set():  # the loop ended before it could take the work on
            future.cancel()
        try:
            return future.result()
        except concurrent.futures.CancelledError as error:
            raise _closed() from error
        finally:
            future.cancel()  # does nothing to what is done
            running.waited_for.discard(future)
            if running.is_over.is_set() and inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
                work.close()

    def close(self) -> None:
        """Cancel what runs, and end the thread; a second time does nothing."""
        self._is_closed = True
        self._finalizer()

    def _started(self) -> _Running:
        if self._is_closed:
            raise _closed()
        running = self._running
        if running is not None and running.process_id == os.getpid():
            if threading.current_thread() is running.thread:
                raise RuntimeError("run() would wait for its own thread; await the work instead")
            return running
        if running is not None:  # a fork: the thread stayed in the other process, and may have held the lock
            self._lock, self._running = threading.Lock(), None
        with self._lock:
            if self._running is None:
                self._running = _start(self._closing)
                self._finalizer = weakref.finalize(self, _end, self._running)  # also when the interpreter exits
            return self._running


def _closed() -> DrainingError:
    return DrainingError("the client was closed before the replies were there; make another to go on")


def _start(closing: Callable[[], Awaitable[None]]) -> _Running:
    loop, stop, is_over = asyncio.new_event_loop(), asyncio.Event(), threading.Event()
    waited_for: set[concurrent.futures.Future[Any]] = set()

    async def live() -> None:
        await stop.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await closing()

    def serve() -> None:
        try:
            loop.run_until_complete(live())
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()  # asyncio.run would also start a thread, which an interpreter that exits does not allow
            is_over.set()
            for future in tuple(waited_for):
                future.cancel()

    thread = threading.Thread(target=serve, name="evidencebench-llm", daemon=True)
    thread.start()
    return _Running(loop=loop, stop=stop, thread=thread, process_id=os.getpid(), is_over=is_over, waited_for=waited_for)


def _end(running: _Running) -> None:
    if running.process_id != os.getpid() or not running.thread.is_alive():
        return
    with contextlib.suppress(RuntimeError):  # it ended meanwhile
        running.loop.call_soon_threadsafe(running.stop.set)
    if threading.current_thread() is not running.thread:
        running.thread.join(_LONGEST_CLOSING_SECONDS)
