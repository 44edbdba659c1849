"""Give items to the workers of a pool; what a dead worker had is tried again, each item alone."""

import pickle
import queue
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import islice
from typing import Any, Protocol

from evidencebench.engine.protocol import Item, Outcome, catch_first_interrupt
from evidencebench.errors import EvidenceBenchError, WorkerError

Reply = tuple[Any, Exception | None]

_MOST_IN_BATCH = 8
_BATCH_SECONDS = 0.05  # so long a batch takes, so that quick items share a message and slow ones are told one by one
_WAIT_SECONDS = 0.5  # on some systems, Ctrl-C interrupts no longer wait


MOST_EARLY_DEATHS = 3

DIED = "killed, as the system does where memory runs out, or ended by the code that it ran"
"""Why a worker died that nobody saw die."""


class Death(Exception):  # noqa: N818 - of a worker, which is no error of the work
    """Why a worker died, in words; ``is_blamed``: the items that it had may be the cause."""

    def __init__(self, why: str, *, is_blamed: bool) -> None:
        super().__init__(why)
        self.is_blamed = is_blamed


class Pool(Protocol):
    """Workers that answer batches of items, started as they are needed."""

    @property
    def share_memory_of_machine(self) -> bool:
        """Whether one worker may die since others take the memory; what it had is then tried again all alone."""

    def submit(self, items: Sequence[Any]) -> Future[list[Reply] | Exception]:
        """Return the replies to items, or what keeps a worker from beginning."""

    def death(self, error: BaseException) -> Death | None:
        """Return what an error of a future tells of a worker's death; None: it tells of none."""

    def end(self, *, at_once: bool) -> None:
        """End the workers; ``at_once``: whatever they do."""


def dispatch(
    pool: Pool,
    n_workers: int,
    items: Iterable[Item],
    on_interrupt: Callable[[], object],
    *,
    most_in_batch: int = _MOST_IN_BATCH,
) -> Iterator[Outcome[Item, Any]]:
    """Yield outcomes as `Engine.outcomes` says; at most ``n_workers`` batches are worked on at once."""
    with catch_first_interrupt(on_interrupt) as interrupt:
        work = _Dispatch(pool, enumerate(items), most_in_batch)
        try:
            while True:
                while not interrupt.is_set and work.n_running < work.most_running(n_workers) and work.submit_next():
                    pass
                if not work.n_running:
                    break
                yield from work.take_done()
        except BaseException:
            pool.end(at_once=True)
            raise
        pool.end(at_once=False)


_Numbered = tuple[int, Any]  # the number of an item, and the item
_Done = tuple[list[_Numbered], float, Future[list[Reply] | Exception]]  # a batch, its seconds, and what came of it


class _Dispatch:
    """Which items are worked on, and which are to be tried again."""

    def __init__(self, pool: Pool, items: Iterator[_Numbered], most_in_batch: int) -> None:
        self._pool, self._items, self._most_in_batch = pool, items, most_in_batch
        self._suspects: deque[_Numbered] = deque()  # a worker died that had them
        self._died_alone: set[int] = set()  # numbers of items
        self._is_careful = False  # while a suspect is worked on
        self._size = 1  # of the next batch
        self._done: queue.SimpleQueue[_Done] = queue.SimpleQueue()
        self.n_running = 0

    def most_running(self, n_workers: int) -> int:
        is_alone = self._pool.share_memory_of_machine and (self._is_careful or self._suspects)
        return 1 if is_alone else n_workers

    def submit_next(self) -> bool:
        """Submit the next items; return whether there were any."""
        self._is_careful = bool(self._suspects)
        batch = [self._suspects.popleft()] if self._suspects else list(islice(self._items, self._size))
        if not batch:
            return False
        future = self._pool.submit([item for _, item in batch])
        self.n_running += 1
        future.add_done_callback(partial(self._note, batch, time.monotonic()))
        return True

    def _note(self, batch: list[_Numbered], begun_at: float, future: Future[list[Reply] | Exception]) -> None:
        self._done.put((batch, time.monotonic() - begun_at, future))

    def take_done(self) -> Iterator[Outcome[Any, Any]]:
        try:
            batch, seconds, future = self._done.get(timeout=_WAIT_SECONDS)
        except queue.Empty:
            return
        self.n_running -= 1
        # Where a worker's death takes the others with it, only what is worked on alone can be to blame.
        was_alone = self._is_careful or not self._pool.share_memory_of_machine
        self._is_careful = False
        error = future.exception()
        if error is not None:
            yield from self._bury(batch, error, was_alone=was_alone)
            return
        fitting = int(len(batch) * _BATCH_SECONDS / max(seconds, 1e-9))
        self._size = max(1, min(fitting, 2 * self._size, self._most_in_batch))
        replies = future.result()
        if isinstance(replies, Exception):
            raise replies
        for (number, item), (result, failure) in zip(batch, replies, strict=True):
            yield Outcome(number, item, result, failure)

    def _bury(self, batch: list[_Numbered], error: BaseException, *, was_alone: bool) -> Iterator[Outcome[Any, Any]]:
        """Note what a dead worker had, to be tried again; yield the outcome of an item that two workers died of."""
        death = self._pool.death(error)
        if death is None:
            raise error
        if len(batch) == 1 and death.is_blamed and was_alone:
            number, item = batch[0]
            if number in self._died_alone:
                yield Outcome(number, item, error=WorkerError(f"two workers died that had nothing else to do: {death}"))
                return
            self._died_alone.add(number)
        self._suspects.extend(batch)


def replies_to(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Reply]:
    return [_reply_to(work, item) for item in items]


def _reply_to(work: Callable[[Any], Any], item: Any) -> Reply:
    try:
        result = work(item)
        pickle.dumps(result)  # so that what cannot be sent is an error of this item
    except Exception as error:  # noqa: BLE001 - it is the item's outcome
        return None, sendable(error)
    return result, None


def sendable(error: Exception) -> Exception:
    """Return an error as it can be sent to another process, with its traceback where it is one of our mistakes."""
    if not isinstance(error, EvidenceBenchError):
        error.add_note(f"In a worker:\n{''.join(traceback.format_exception(error))}")
    try:  # some classes of errors can be pickled but not read back, which only trying shows
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made in this line
    except Exception:  # noqa: BLE001 - whatever an error class does there
        return WorkerError(f"{type(error).__name__}: {error}")
    return error
