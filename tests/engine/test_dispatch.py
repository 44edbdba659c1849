"""What is done about workers that die: whom it is counted against, and when no more are started."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from evidencebench.engine.processes import Event, dispatch, why_it_died
from evidencebench.engine.protocol import do_nothing
from evidencebench.engine.ray import _why_it_died


class DyingWorkers:
    """Workers that answer with the item, but die ``n_deaths`` times of ``"bad"``; with their machine if ``is_lost``."""

    share_memory_of_machine = False

    def __init__(self, n_deaths: int, *, is_lost: bool) -> None:
        self.n_started, self.is_ended = 0, False
        self._n_left = n_deaths
        self._is_lost = is_lost
        self._events: deque[Event[int]] = deque()

    def start(self) -> int:
        self.n_started += 1
        self._events.append(Event(self.n_started))
        return self.n_started

    def send(self, worker: int, items: Sequence[Any]) -> None:
        if "bad" in items and self._n_left:
            self._n_left -= 1
            self._events.append(Event(worker, died="it went away", is_lost=self._is_lost))
        else:
            self._events.append(Event(worker, replies=[(item, None) for item in items]))

    def wait(self) -> Iterable[Event[int]]:
        return [self._events.popleft()] if self._events else []

    def kill(self) -> None:
        raise AssertionError("nothing went wrong")

    def end(self) -> None:
        self.is_ended = True


@pytest.mark.parametrize(("is_lost", "fails"), [(False, True), (True, False)])
def test_a_machine_that_leaves_is_not_counted_against_the_item_that_its_worker_had(
    *, is_lost: bool, fails: bool
) -> None:
    workers = DyingWorkers(4, is_lost=is_lost)
    found = list(dispatch(workers, 1, ["good", "bad", "fine"], do_nothing))
    assert {one.item for one in found} == {"good", "bad", "fine"}
    assert [one.item for one in found if one.error] == (["bad"] if fails else [])
    assert (workers.n_started, workers.is_ended) == (3 if fails else 5, True)


OF_RAY = """The actor died unexpectedly before finishing this task.
\tclass_name: _Actor
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker \
unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) it was killed."""


def test_a_dead_worker_is_told_in_the_same_words_whatever_engine_it_worked_for() -> None:
    memory = "as the system does where memory runs out"
    assert why_it_died(-9) == f"killed (SIGKILL), {memory}"
    assert why_it_died(-11) == "ended by SIGSEGV"
    assert why_it_died(3) == "ended with exit code 3"
    assert _why_it_died(Exception(OF_RAY)) == why_it_died(None) == f"killed, {memory}, or ended by the code that it ran"
    left = "The actor died because its node has died. Node Id: 1"
    assert _why_it_died(Exception(left)) == left
