"""The protocol of engines: an engine runs a function over items, and yields each result as soon as it is there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Setup = Callable[..., Callable[[Item], Result]]
"""Makes a worker: called once in each process, so that files that it opens are never sent from process to process."""


def do_nothing() -> None:
    """Do nothing at an interrupt."""


class Engine(Protocol):
    """Where work runs.

    >>> from evidencebench.engine.in_process import InProcess
    >>> list(InProcess().results(lambda add: lambda item: item + add, (10,), [1, 2, 3]))
    [11, 12, 13]
    """

    @property
    def shares_memory(self) -> bool:
        """Whether workers run in this process; else the setup and its arguments are pickled for them."""
        ...

    def results(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,
    ) -> Iterator[Result]:
        """Yield the result of each item as soon as it is there, in whatever order.

        After an error of the work, or a first interrupt, no item is begun; what was begun is finished and yielded, then
        the error or ``KeyboardInterrupt`` is raised. A second interrupt ends at once.

        Parameters
        ----------
        setup, arguments
            A module-level function, and what it is called with in each worker; it returns what is called with an item.
        items
            Taken one at a time in this process, never far ahead: end them to have no more begun.
        on_interrupt
            Called once, in the handler of a first interrupt, to let what waits for long end soon.

        Raises
        ------
        WorkerError
            If a worker dies.
        """
        ...
