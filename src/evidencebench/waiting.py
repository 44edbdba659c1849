"""Ask a system that waits for a server: many instances at once, and again where replies come in batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evidencebench.engine.threads import wait_for_all
from evidencebench.errors import CostLimitError, StopError
from evidencebench.llm.client import ChatClient
from evidencebench.recording import Recorder, Todo, Worked


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
        Returns, once batches are done, whether it submitted any.
    on_interrupt
        Called at a first interrupt, in the signal's handler.
    """

    client: ChatClient | None
    max_waiting: int
    settle: Callable[[], bool]
    on_interrupt: Callable[[], object]

    def interrupt(self) -> None:
        """Let what waits for long end soon."""
        if self.client is not None:
            self.client.drain()
        self.on_interrupt()


def ask_all(work: Callable[[Todo], Worked], todo: Sequence[Todo], recorder: Recorder, waiting: Waiting) -> None:
    """Ask until nothing is left to be answered, or what is left waits for a batch that does not come.

    Parameters
    ----------
    work
        Asks one instance; called in threads.
    todo
        What is to be answered.
    recorder
        Keeps what comes.
    waiting
        How it is done.

    Raises
    ------
    StopError
        If no more requests may be sent; what was finished is kept, and batches that were begun are submitted.
    """
    before: set[Todo] = set()
    try:
        while pending := _ask_once(work, todo, recorder, waiting):
            # The order in which answers come means nothing.
            if not waiting.settle() and set(pending) == before:
                return
            todo, before = pending, set(pending)
    except CostLimitError:
        waiting.settle()
        raise


def _ask_once(work: Callable[[Todo], Worked], todo: Sequence[Todo], recorder: Recorder, waiting: Waiting) -> list[Todo]:
    """Ask from threads, keep what is answered, and return what waits for a batch.

    Raises
    ------
    StopError
        If no more requests may be sent; what was finished is kept.
    """
    stops: list[StopError] = []
    pending: list[Todo] = []

    def worked_on(one: Todo) -> Worked:
        worked = work(one)
        if worked.stop is not None:  # told here, in the thread, so that it begins no other instance meanwhile
            stops.append(worked.stop)
        return worked

    def keep(worked: Worked) -> None:
        recorder.keep(worked)
        if worked.stop is None and worked.unanswered:
            pending.append(worked.unanswered)

    wait_for_all(
        worked_on,
        todo,
        keep,
        n_threads=min(waiting.max_waiting, max(1, len(todo))),
        is_over=lambda: bool(stops),
        on_interrupt=waiting.interrupt,
    )
    if stops:
        raise stops[0]
    return pending
