"""Work in this process, one item after the other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evidencebench.engine.protocol import Item, Result, Setup, do_nothing


@dataclass(frozen=True, slots=True)
class InProcess:
    """Runs each item in the process and thread of the caller."""

    shares_memory: ClassVar[bool] = True

    def results(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,  # noqa: ARG002 - Ctrl-C ends the current item at once
    ) -> Iterator[Result]:
        """Yield the result of each item, in their order."""
        work = setup(*arguments)
        for item in items:
            yield work(item)
