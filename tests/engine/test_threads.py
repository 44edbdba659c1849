"""Work in threads hands over every result once, stops where it is told to, and keeps what was begun."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

from evidencebench.engine.local import Threads
from evidencebench.engine.protocol import do_nothing, results

Item = TypeVar("Item")
Result = TypeVar("Result")


def wait_for_all(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    on_result: Callable[[Result], object],
    *,
    n_threads: int,
    on_interrupt: Callable[[], object] = do_nothing,
) -> None:
    for result in results(Threads(n_threads), lambda: work, (), items, on_interrupt=on_interrupt):
        on_result(result)


def test_as_many_items_as_there_are_threads_wait_at_once() -> None:
    barrier = threading.Barrier(20, timeout=60)
    found: list[int] = []
    wait_for_all(lambda _: barrier.wait(), range(40), found.append, n_threads=20)
    assert len(found) == 40


def test_an_interrupt_lets_what_was_begun_finish() -> None:
    released = threading.Event()
    found: list[int] = []
    n_begun = 0

    def work(item: int) -> int:
        nonlocal n_begun
        n_begun += 1
        if item == 2:
            os.kill(os.getpid(), signal.SIGINT)
        released.wait(30)
        return item

    with pytest.raises(KeyboardInterrupt):
        wait_for_all(work, range(1000), found.append, n_threads=4, on_interrupt=released.set)
    assert len(found) == n_begun < 1000


def test_a_second_interrupt_waits_for_nothing() -> None:
    def work(item: int) -> int:
        if item == 0:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(600)
        return item

    with pytest.raises(KeyboardInterrupt):
        wait_for_all(work, range(1000), lambda _: None, n_threads=2)


def test_work_that_another_thread_drops_leaves_ctrl_c_as_it_was() -> None:
    # Work of an earlier test may have been dropped in another thread too, and its handler stays until the next Ctrl-C.
    before = signal.default_int_handler
    signal.signal(signal.SIGINT, before)
    outcomes: Any = Threads(1).outcomes(lambda: lambda item: item, (), range(100))
    next(outcomes)
    other = threading.Thread(target=outcomes.close)
    other.start()
    other.join()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
