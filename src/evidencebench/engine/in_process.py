"""Work in this process, one item after the other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evidencebench.engine.protocol import Item, Outcome, Result, Setup, do_nothing


@dataclass(frozen=True, slots=True)
class InProcess:
    """Runs each item in the process and thread of the caller."""

    shares_memory: ClassVar[bool] = True
    is_one_machine: ClassVar[bool] = True

    def outcomes(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,  # noqa: ARG002 - Ctrl-C ends the current item at once
    ) -> Iterator[Outcome[Item, Result]]:
        """Yield outcomes as `Engine.outcomes` says, in the order of the items."""
        work = setup(*arguments)
        for number, item in enumerate(items):
            yield outcome_of(work, number, item)


def outcome_of(work: Callable[[Item], Result], number: int, item: Item) -> Outcome[Item, Result]:
    """Return what comes of an item in this thread."""
    try:
        return Outcome(number, item, work(item))
    except Exception as error:  # noqa: BLE001 - it is the item's outcome
        return Outcome(number, item, error=error)
