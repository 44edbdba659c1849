"""Ctrl-C while an engine runs: the first one lets the items that have begun finish, the second one ends at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class InterruptFlag:
    """Whether Ctrl-C was pressed. A plain attribute, since a signal handler may set it at any moment."""

    is_set = False


@contextmanager
def catch_first_interrupt(on_interrupt: Callable[[], object]) -> Iterator[InterruptFlag]:
    """Give a flag. The first Ctrl-C sets it and calls ``on_interrupt``; the second raises ``KeyboardInterrupt``."""
    interrupt = InterruptFlag()
    if threading.current_thread() is not threading.main_thread():  # Python runs signal handlers in the main thread only
        yield interrupt
        return

    is_over = False

    def set_flag(*_: object) -> None:
        if is_over:  # the block was left in another thread
            signal.signal(signal.SIGINT, before)
            signal.raise_signal(signal.SIGINT)
            return
        if interrupt.is_set:
            raise KeyboardInterrupt
        interrupt.is_set = True
        on_interrupt()

    before = signal.signal(signal.SIGINT, set_flag)
    try:
        yield interrupt
    finally:
        is_over = True
        # A generator that holds this block may be dropped in any thread, and only the main thread may set handlers.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)
