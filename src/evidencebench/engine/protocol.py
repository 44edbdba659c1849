"""The protocol of engines, the results of one as they come or in order, and Ctrl-C while it runs."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Generic, Protocol, TypeVar

from evidencebench.errors import StopError
from evidencebench.wording import counted

Item = TypeVar("Item")
Result = TypeVar("Result")

Setup = Callable[..., Callable[[Item], Result]]
"""Returns the function that is run over the items. Each process calls it once, and so opens its own files."""


ENDING_SIGNALS = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""What ends a program as Ctrl-C does; Windows has no SIGHUP."""


def require_workers(engine: str, n_workers: object) -> None:
    """Raise `ValueError` unless an engine has a worker: without one, it would end with all items undone."""
    if not isinstance(n_workers, int) or n_workers < 1:
        raise ValueError(f"{engine}: expected at least 1 worker, got {n_workers!r}")


def do_nothing() -> None:
    """Do nothing: the default of ``on_interrupt``."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Item, Result]):
    """What came of one item: a result, or the error in its place.

    Attributes
    ----------
    number
        The position of the item among the items, from 0.
    item
        The item itself.
    result
        What the function returned.
    error
        What it raised instead, or a `WorkerError` where the worker of this item died, twice; None: it returned.

    Examples
    --------
    >>> from evidencebench import InProcess
    >>> [outcome.error for outcome in InProcess().outcomes(lambda: lambda item: 1 / item, (), [1, 0])]
    [None, ZeroDivisionError('division by zero')]
    """

    number: int
    item: Item
    result: Result | None = None
    error: Exception | None = None

    @property
    def value(self) -> Result:
        """The result; raises the error where there is none."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value] # without an error it is what the function returned


class Engine(Protocol):
    """Runs a function over items: in this process, in threads, in processes or on a cluster.

    Examples
    --------
    >>> from evidencebench import InProcess
    >>> max(outcome.value for outcome in InProcess().outcomes(lambda add: lambda item: item + add, (10,), [1, 2, 3]))
    13
    """

    @property
    def shares_memory(self) -> bool:
        """Whether workers run in this process; if not, the setup, its arguments and the items are pickled."""

    @property
    def is_one_machine(self) -> bool:
        """Whether workers run on this machine; if not, they know a file by its checksum, not by where it lies."""

    def outcomes(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,
    ) -> Iterator[Outcome[Item, Result]]:
        """Yield the outcome of each item as soon as it is ready, in any order. An error ends no other item's work.

        After the first Ctrl-C no further item begins; those that have begun are finished, then ``KeyboardInterrupt`` is
        raised. A second one ends at once. What a worker had begun when it died is tried once more, alone.

        Parameters
        ----------
        setup, arguments
            A module-level function, called in each worker. What it returns is called with items; its errors are raised.
        items
            They are taken in this process, shortly before they begin. No item begins after the last.
        on_interrupt
            Called once, in the signal handler of the first Ctrl-C, so that long waits can be ended.

        Raises
        ------
        WorkerError
            If workers die before they have begun an item.
        """


def too_many_errors(n_errors: int, most: int | None, last: str) -> StopError | None:
    """Return the stop if more errors came than a user allows; None allows any number."""
    if most is None or n_errors <= most:
        return None
    return StopError(f"{counted(n_errors, 'error')}, and at most {most} are allowed; the last: {last}")


def results(
    engine: Engine,
    setup: Setup[Item, Result],
    arguments: Sequence[Any],
    items: Iterable[Item],
    *,
    on_error: Callable[[Item, Exception], object] | None = None,
    on_interrupt: Callable[[], object] = do_nothing,
) -> Iterator[Result]:
    """Yield the result of each item as soon as it is ready, in any order.

    ``on_error`` is called with an item that failed, and its error; None: it is raised. Where it returns, the work goes
    on. Where it raises, no further item begins; those that have begun are finished and their results yielded; then what
    it raised is raised. The other arguments are an engine and those of `Engine.outcomes`.
    """
    raised: list[Exception] = []
    begun = takewhile(lambda _: not raised, items)
    for outcome in engine.outcomes(setup, arguments, begun, on_interrupt=on_interrupt):
        if outcome.error is None:
            yield outcome.value
            continue
        try:
            if on_error is None:
                raised.append(outcome.error)
            else:
                on_error(outcome.item, outcome.error)
        except Exception as error:  # noqa: BLE001 - raised when what has begun is finished
            raised.append(error)
    if raised:
        raise raised[0]


def outcomes_in_order(
    engine: Engine, setup: Setup[Item, Result], arguments: Sequence[Any], items: Iterable[Item]
) -> Iterator[Outcome[Item, Result]]:
    early: dict[int, Outcome[Item, Result]] = {}
    n_yielded = 0
    for outcome in engine.outcomes(setup, arguments, items):
        early[outcome.number] = outcome
        while n_yielded in early:
            yield early.pop(n_yielded)
            n_yielded += 1


def map_in_order(
    engine: Engine, setup: Setup[Item, Result], arguments: Sequence[Any], items: Iterable[Item]
) -> Iterator[Result]:
    """Yield the results in the order of the items; raise the error of the first that fails."""
    return (outcome.value for outcome in outcomes_in_order(engine, setup, arguments, items))


class InterruptFlag:
    """Whether Ctrl-C was pressed. A plain attribute, since a signal handler may set it at any moment."""

    is_set = False


@contextmanager
def catch_first_interrupt(on_interrupt: Callable[[], object]) -> Iterator[InterruptFlag]:
    """Give a flag. The first Ctrl-C sets it and calls ``on_interrupt``; the end of the block, or a second, raises."""
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
    if interrupt.is_set:
        raise KeyboardInterrupt
