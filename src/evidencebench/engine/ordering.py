"""Results in the order of the items, on any engine. Results after an error are lost, so the work must be cheap."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from evidencebench.engine.protocol import Engine, Item, Result, Setup

_Chunk = tuple[int, list[Any]]


def map_in_order(
    engine: Engine,
    setup: Setup[Item, Result],
    arguments: Sequence[Any],
    items: Iterable[Item],
    *,
    chunk_size: int = 8,
) -> Iterator[Result]:
    """Yield the result of each item, in the order of the items; raise the error of the first item that fails.

    The first four arguments are an engine and those of `Engine.results`. ``chunk_size`` items are sent to a process
    at a time.
    """
    chunks = enumerate(_chunks(items, 1 if engine.shares_memory else chunk_size))
    early: dict[int, tuple[list[Result], Exception | None]] = {}
    n_yielded = 0
    for number, results, failed in engine.results(_make_chunk_worker, (setup, arguments), chunks):
        early[number] = (results, failed)
        while n_yielded in early:
            found, error = early.pop(n_yielded)
            n_yielded += 1
            yield from found
            if error is not None:
                raise error


def _chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    left = iter(items)
    while chunk := list(islice(left, size)):
        yield chunk


def _make_chunk_worker(
    setup: Setup[Any, Any], arguments: Sequence[Any]
) -> Callable[[_Chunk], tuple[int, list[Any], Exception | None]]:
    work = setup(*arguments)

    def run_chunk(chunk: _Chunk) -> tuple[int, list[Any], Exception | None]:
        number, items = chunk
        results: list[Any] = []
        for item in items:
            try:
                results.append(work(item))
            except Exception as error:  # noqa: BLE001 - raised by `map_in_order`, after the results before it
                return number, results, error
        return number, results, None

    return run_chunk
