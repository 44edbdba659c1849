"""What a first Ctrl-C means: finish what was begun."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupted:
    """Whether an interrupt came; a plain attribute, which a signal's handler may set at any moment."""

    yet = False


@contextmanager
def first_interrupt_noted(on_interrupt: Callable[[], object]) -> Iterator[Interrupted]:
    """Give a flag that a first interrupt sets, calling `on_interrupt`; a second one raises ``KeyboardInterrupt``."""
    interrupted = Interrupted()
    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
        yield interrupted
        return

    def note(*_: object) -> None:
        if interrupted.yet:
            raise KeyboardInterrupt
        interrupted.yet = True
        on_interrupt()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)
