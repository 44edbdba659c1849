"""Results of an engine, as they come or in the order of the items; and what becomes of an error."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from evidencebench.engine.protocol import Engine, Item, Outcome, Result, Setup, do_nothing
from evidencebench.errors import StopError
from evidencebench.wording import counted


def raise_error(_: Any, error: Exception) -> None:
    """Raise the error of an item: the default of ``on_error``."""
    raise error


def require_few_errors(n_errors: int, most: int | None, last: str) -> None:
    """Raise `StopError` if more errors came than a user allows; None allows any number."""
    if most is not None and n_errors > most:
        raise StopError(f"{counted(n_errors, 'error')}, and at most {most} are allowed; the last: {last}")


def results(
    engine: Engine,
    setup: Setup[Item, Result],
    arguments: Sequence[Any],
    items: Iterable[Item],
    *,
    on_error: Callable[[Item, Exception], object] = raise_error,
    on_interrupt: Callable[[], object] = do_nothing,
) -> Iterator[Result]:
    """Yield the result of each item as soon as it is ready, in any order.

    ``on_error`` is called with an item that failed, and its error. Where it returns, the work goes on. Where it raises,
    no further item begins; those that have begun are finished and their results yielded; then what it raised is raised.
    The other arguments are an engine and those of `Engine.outcomes`.
    """
    raised: list[Exception] = []
    begun = takewhile(lambda _: not raised, items)
    for outcome in engine.outcomes(setup, arguments, begun, on_interrupt=on_interrupt):
        if outcome.error is None:
            yield outcome.value
            continue
        try:
            on_error(outcome.item, outcome.error)
        except Exception as error:  # noqa: BLE001 - raised when what has begun is finished
            raised.append(error)
    if raised:
        raise raised[0]


def outcomes_in_order(
    engine: Engine, setup: Setup[Item, Result], arguments: Sequence[Any], items: Iterable[Item]
) -> Iterator[Outcome[Item, Result]]:
    """Yield the outcome of each item, in the order of the items."""
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
