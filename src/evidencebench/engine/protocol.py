"""The protocol of engines: an engine runs a function over items, and yields an outcome for each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Setup = Callable[..., Callable[[Item], Result]]
"""Returns the function that is run over the items. Each process calls it once, and so opens its own files."""


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

    >>> from evidencebench.engine.in_process import InProcess
    >>> [outcome.result for outcome in InProcess().outcomes(lambda add: lambda item: item + add, (10,), [1, 2, 3])]
    [11, 12, 13]
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

        After the first Ctrl-C no further item begins: those that have begun are finished and their outcomes yielded,
        then ``KeyboardInterrupt`` is raised. A second Ctrl-C ends at once. Where a worker dies, another one takes its
        place, and what it had begun is tried once more, alone.

        Parameters
        ----------
        setup, arguments
            A module-level function and its arguments. It is called in each worker, and returns the function that is
            called with each item. What it raises is raised here.
        items
            They are taken in this process, shortly before they begin. No item begins after the last.
        on_interrupt
            Called once, in the signal handler of the first Ctrl-C, so that long waits can be ended.

        Raises
        ------
        WorkerError
            If workers die before they have begun an item.
        """
