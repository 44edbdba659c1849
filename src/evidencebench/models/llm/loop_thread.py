"""A background thread that runs an asyncio loop, for callers in other threads."""

import asyncio
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evidencebench.errors import DrainingError

T = TypeVar("T")

_LONGEST_CLOSING_SECONDS = 10.0


@dataclass(slots=True, kw_only=True)
class _RunningLoop:
    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event
    thread: threading.Thread
    process_id: int = field(default_factory=os.getpid)
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_ending: bool = False  # no new work is accepted; read and changed under the lock


class LoopThread:
    """A loop that starts at its first use, and again in a forked process; `closing` is awaited in it at its end."""

    def __init__(self, closing: Callable[[], Awaitable[object]]) -> None:
        self._closing = closing
        self._lock = threading.Lock()
        self._running: _RunningLoop | None = None
        self._is_closed = False
        self._end: Callable[[], object] = lambda: None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, run in the loop; call it from another thread than the loop's, which waits.

        If the calling thread is interrupted, its work is cancelled. Raises `DrainingError` if the loop is closed before
        the work is done.
        """
        try:
            future = self._submit(work)
        except BaseException:
            work.close()  # Python warns of coroutines that were never started
            raise
        try:
            return future.result()
        except concurrent.futures.CancelledError as error:
            raise _closed_error() from error
        finally:
            future.cancel()  # does nothing if the work is done

    def close(self) -> None:
        """Cancel all work and end the thread; a second call does nothing."""
        self._is_closed = True
        self._end()

    def _submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        running = self._ensure_started()
        with running.lock:
            if running.is_ending:
                raise _closed_error()
            return asyncio.run_coroutine_threadsafe(work, running.loop)

    def _ensure_started(self) -> _RunningLoop:
        running = self._running
        if running is not None and running.process_id != os.getpid():
            # After a fork: the thread is in the other process only, and may have held the lock.
            self._lock, self._running = threading.Lock(), None
        with self._lock:
            if self._is_closed:
                raise _closed_error()
            if self._running is None:
                self._running = _start(self._closing)
                self._end = weakref.finalize(self, _end, self._running)  # also when the interpreter exits
            if threading.current_thread() is self._running.thread:
                raise RuntimeError("run() would wait for its own thread; await the work instead")
            return self._running


def _closed_error() -> DrainingError:
    return DrainingError("the client was closed before the replies were there; make another to go on")


def _start(closing: Callable[[], Awaitable[object]]) -> _RunningLoop:
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

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

    thread = threading.Thread(target=serve, name="evidencebench-llm", daemon=True)
    thread.start()
    return _RunningLoop(loop=loop, stop=stop, thread=thread)


def _end(running: _RunningLoop) -> None:
    """End a loop; it cancels its work. The lock makes sure that all accepted work reached the loop before."""
    if running.process_id != os.getpid():
        return
    with running.lock:
        running.is_ending = True
        running.loop.call_soon_threadsafe(running.stop.set)
    if threading.current_thread() is not running.thread:
        running.thread.join(_LONGEST_CLOSING_SECONDS)
