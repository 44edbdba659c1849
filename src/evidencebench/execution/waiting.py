"""Ask a system that waits for a server: many instances at once, and again where replies come in batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from evidencebench.engine.threads import Threads
from evidencebench.errors import CostLimitError, StopError
from evidencebench.execution.answering import InstanceOutcome, Todo

DEFAULT_MAX_WAITING = 16
"""How many instances a system that waits for a server is asked at once."""


class Drainable(Protocol):
    """A client that can be told to send nothing more."""

    def drain(self) -> None:
        """Let what is in flight finish, and send nothing more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How a system that waits for a server is asked.

    Attributes
    ----------
    client
        What is drained at an interrupt; None: nothing.
    max_waiting
        How many instances are asked at once.
    settle
        Returns, once batches are done, whether it submitted any; None: nothing goes in batches.
    on_interrupt
        Called at a first interrupt, in the signal's handler.
    """

    client: Drainable | None = None
    max_waiting: int = DEFAULT_MAX_WAITING
    settle: Callable[[], bool] | None = None
    on_interrupt: Callable[[], object] = lambda: None

    def interrupt(self) -> None:
        """Let what waits for long end soon."""
        if self.client is not None:
            self.client.drain()
        self.on_interrupt()


def ask_all(
    work: Callable[[Todo], InstanceOutcome],
    todo: Sequence[Todo],
    keep: Callable[[InstanceOutcome], object],
    waiting: Waiting,
) -> None:
    """Ask until nothing is left to be answered, or what is left waits for a batch that does not come.

    ``work`` asks one instance and is called in threads; ``keep`` gets what came of it, in this thread.

    Raises
    ------
    StopError
        If no more requests may be sent; what was finished is kept, and batches that were begun are submitted.
    """
    before: set[Todo] = set()
    while True:
        left, stop = _ask_once(work, todo, keep, waiting)
        if stop is not None and not isinstance(stop, CostLimitError):
            raise stop
        if not left:
            return
        # Below a cost limit too, what was begun is submitted: replies cost less than was set aside for them, so that
        # there may be room for more. The order in which answers come means nothing.
        if not (waiting.settle is not None and waiting.settle()) and (stop is not None or set(left) == before):
            if stop is not None:
                raise stop
            return
        todo, before = left, set(left)


def _ask_once(
    work: Callable[[Todo], InstanceOutcome],
    todo: Sequence[Todo],
    keep: Callable[[InstanceOutcome], object],
    waiting: Waiting,
) -> tuple[list[Todo], StopError | None]:
    """Ask from threads and keep what is answered; return what is not, and why it was stopped, if it was."""
    left = {one[0]: one for one in todo}
    stops: list[StopError] = []

    def worked_on(one: Todo) -> tuple[Todo, InstanceOutcome]:
        worked = work(one)
        if worked.stop is not None:  # in this thread, so that it begins no other instance
            stops.append(worked.stop)
        return one, worked

    def grave() -> list[StopError]:
        """Return the stops after which nothing can be answered; below a cost limit, what is stored still can."""
        return [stop for stop in stops if not isinstance(stop, CostLimitError)]

    engine = Threads(min(waiting.max_waiting, max(1, len(todo))))
    for one, worked in engine.results(
        lambda: worked_on, (), todo, is_over=lambda: bool(grave()), on_interrupt=waiting.interrupt
    ):
        keep(worked)
        del left[one[0]]
        if worked.unanswered:
            left[one[0]] = worked.unanswered
    return list(left.values()), next(iter(grave() or stops), None)
