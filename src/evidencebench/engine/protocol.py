"""The protocol of engines: an engine runs a function over items, and yields each result as soon as it is ready."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Setup = Callable[..., Callable[[Item], Result]]
"""Returns the function that is run over the items. Each process calls it once, and so opens its own files."""


def do_nothing() -> None:
    """Do nothing: the default of ``on_interrupt``."""


class Engine(Protocol):
    """Runs a function over items: in this process, in threads or in processes.

    >>> from evidencebench.engine.in_process import InProcess
    >>> list(InProcess().results(lambda add: lambda item: item + add, (10,), [1, 2, 3]))
    [11, 12, 13]
    """

    @property
    def shares_memory(self) -> bool:
        """Whether workers run in this process; if not, the setup, its arguments and the items are pickled."""
        ...

    def results(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,
    ) -> Iterator[Result]:
        """Yield the result of each item as soon as it is ready, in any order.

        After an error, or after the first Ctrl-C, no further item begins. Items that have begun are finished and their
        results yielded; then the error or ``KeyboardInterrupt`` is raised. A second Ctrl-C ends at once.

        Parameters
        ----------
        setup, arguments
            A module-level function and its arguments. It is called in each worker, and returns the function that is
            called with each item.
        items
            They are taken one at a time in this process, shortly before they begin. No item begins after the last.
        on_interrupt
            Called once, in the signal handler of the first Ctrl-C, so that long waits can be ended.

        Raises
        ------
        WorkerError
            If a worker process dies.
        """
        ...
