"""Every engine yields an outcome for each item once; an item that fails, or takes its worker with it, ends no other."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import pytest

from doors import (
    DIED,
    ChangedDataError,
    Death,
    Lead,
    SystemSpecError,
    WorkerError,
    _why_it_died,
    dispatch,
    engine_of,
    map_in_order,
    outcomes_in_order,
    results,
)
from evidencebench import Engine, InProcess, Processes, RayCluster, Threads, execute, load_sample
from kit.engine_work import (
    dying_at,
    dying_at_start,
    dying_once,
    failing_at,
    failing_with_two_parts,
    interrupting,
    never_ready,
    not_to_be_sent,
    slow_until_shared,
)
from kit.patience import MOST_SECONDS

ENGINES: list[Engine] = [InProcess(), Threads(2), Processes(2)]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)

# Where an error ends the work, another worker may do many items before the one that failed has its turn to say so. With
# two workers, work over endless items has to end; with one, it ends right there.
ALONE: list[Engine] = [InProcess(), Threads(1), Processes(1)]
one_worker = pytest.mark.parametrize("engine", ALONE, ids=lambda engine: type(engine).__name__)
MOST_BEGUN = 20  # one worker has a few items at a time as it begins


@every_engine
def test_every_item_is_worked_on_once_and_in_order_where_that_is_asked_for(engine: Engine) -> None:
    expected = [2 * item for item in range(300)]
    assert sorted(results(engine, failing_at, (), range(300))) == expected
    assert list(map_in_order(engine, failing_at, (), range(300))) == expected
    assert list(results(engine, failing_at, (), ())) == list(map_in_order(engine, failing_at, (), ())) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: Processes(0),
        lambda: Threads(-1),
        lambda: RayCluster(n_actors=0),
        lambda: RayCluster(cpus_per_actor=0),
        lambda: RayCluster(gpus_per_actor=-1),
        lambda: RayCluster(gpus_per_actor=float("nan")),
    ],
)
def test_an_engine_without_a_worker_would_end_with_nothing_done_and_is_refused(make: Callable[[], Engine]) -> None:
    with pytest.raises(ValueError, match=r"^(Processes|Threads|RayCluster): .*(at least 1|more than 0)"):
        make()


@every_engine
def test_an_item_that_fails_ends_no_other(engine: Engine) -> None:
    found = list(outcomes_in_order(engine, failing_at, (3, 77, 78), range(100)))
    assert [one.number for one in found] == [one.item for one in found] == list(range(100))
    assert [(one.item, str(one.error)) for one in found if one.error] == [(n, f"{n} has changed") for n in (3, 77, 78)]
    assert [one.value for one in found if not one.error] == [2 * n for n in range(100) if n not in (3, 77, 78)]
    with pytest.raises(ChangedDataError):
        _ = found[77].value


@every_engine
def test_an_error_that_is_not_kept_is_raised_once_what_was_begun_is_handed_over(engine: Engine) -> None:
    found: list[int] = []
    with pytest.raises(ChangedDataError):
        take_into(found, results(engine, failing_at, (3,), count()))
    assert {0, 2, 4} <= set(found)


@one_worker
def test_no_item_is_begun_after_an_error_that_is_not_kept(engine: Engine) -> None:
    found: list[int] = []
    with pytest.raises(ChangedDataError):
        take_into(found, results(engine, failing_at, (3,), count()))
    assert found[:3] == [0, 2, 4]
    assert len(found) < MOST_BEGUN


def take_into(found: list[int], given: Iterator[int]) -> None:
    """Append each result to ``found`` as it comes, so that the results before an error are kept."""
    for one in given:
        found += [one]


@pytest.mark.parametrize("engine", [*ENGINES, *ALONE[1:]], ids=repr)
def test_whoever_takes_the_results_decides_which_errors_end_the_work(engine: Engine) -> None:
    failed: list[int] = []

    def keep_two(item: int, error: Exception) -> None:
        if len(failed) == 2:
            raise error
        failed.append(item)

    found: list[int] = []
    with pytest.raises(ChangedDataError):
        take_into(found, results(engine, failing_at, (4, 7, 30), count(), on_error=keep_two))
    assert len(failed) == 2
    assert set(failed) < {4, 7, 30}
    assert {2 * item for item in range(30) if item not in (4, 7)} <= set(found)


@every_engine
def test_in_order_the_first_error_is_raised_at_its_place(engine: Engine) -> None:
    found: list[int] = []
    with pytest.raises(ChangedDataError, match=r"^11 has changed$"):
        take_into(found, map_in_order(engine, failing_at, (11, 12, 30), range(100)))
    assert found == [2 * item for item in range(11)]


@every_engine
def test_what_keeps_a_worker_from_starting_is_told_in_its_own_words(engine: Engine) -> None:
    with pytest.raises(ChangedDataError, match=r"^the file is another one$"):
        list(engine.outcomes(never_ready, (), range(4)))


@every_engine
def test_no_item_is_begun_once_there_are_no_more(engine: Engine) -> None:
    found: list[int] = []
    take_into(found, results(engine, failing_at, (), takewhile(lambda _: len(found) < 5, count())))
    assert 5 <= len(found) < MOST_BEGUN


@every_engine
def test_no_item_is_begun_for_whoever_takes_no_more_results(engine: Engine) -> None:
    given = count()
    outcomes = engine.outcomes(failing_at, (), given)
    with contextlib.closing(outcomes) as taking:  # type: ignore[type-var]
        assert isinstance(next(taking).value, int)
    assert next(given) < MOST_BEGUN


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_items_that_take_their_worker_with_them_fail_alone(how: str) -> None:
    found = list(outcomes_in_order(Processes(2), dying_at, (how, 5, 150, 151), range(200)))
    assert [one.result for one in found] == [None if n in (5, 150, 151) else 2 * n for n in range(200)]
    for poisoned in (5, 150, 151):
        with pytest.raises(WorkerError, match=r"two workers died.*memory.*ended by the code"):
            _ = found[poisoned].value


def test_an_item_whose_worker_died_is_tried_once_more(tmp_path: Path) -> None:
    found = sorted(results(Processes(2), dying_once, (tmp_path, 0, 33, 34, 90), range(100)))
    assert found == [2 * item for item in range(100)]
    times = [(tmp_path / str(item)).stat().st_size for item in range(100)]
    assert [times[item] for item in (0, 33, 34, 90)] == [2, 2, 2, 2]
    assert sum(times) <= 100 + 4 * 64  # a worker replies to a whole batch


def test_workers_that_die_as_they_start_are_not_started_for_ever(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=r"3 workers died.*before.*ended by the code"):
        list(Processes(2).outcomes(dying_at_start, (tmp_path / "log",), range(100)))
    assert 3 <= len((tmp_path / "log").read_text().splitlines()) <= 4


def test_processes_share_slow_items_though_quick_ones_came_in_batches(tmp_path: Path) -> None:
    found = list(results(Processes(2), slow_until_shared, (tmp_path,), range(80)))
    assert sorted(item for item, _ in found) == list(range(80))
    assert len({process for item, process in found if item >= 40}) == 2


def test_what_cannot_be_sent_back_is_an_error_in_words() -> None:
    found = list(outcomes_in_order(Processes(1), not_to_be_sent, (), range(6)))
    with pytest.raises(Exception, match="pickle"):
        _ = found[3].value
    assert [one.result for one in found][4:] == [4, 5]
    (failed,) = Processes(1).outcomes(failing_with_two_parts, (), [0])
    assert isinstance(failed.error, WorkerError)
    assert str(failed.error) == "TwoPartError: broken: a reason"


@pytest.mark.parametrize("n_processes", [1, 2])
def test_an_interrupt_lets_processes_finish_what_was_begun_and_begin_nothing(n_processes: int) -> None:
    found: list[int] = []
    told: list[int] = []
    taking = results(Processes(n_processes), interrupting, (5,), count(), on_interrupt=lambda: told.append(1))
    with pytest.raises(KeyboardInterrupt):
        take_into(found, taking)
    assert {0, 1, 2, 3, 4, 5} <= set(found)
    assert n_processes > 1 or len(found) < MOST_BEGUN
    assert told == [1]


def test_jobs_are_processes_and_one_is_this_one() -> None:
    assert [engine_of(None, jobs, at_most=3) for jobs in (1, 2, 9)] == [InProcess(), Processes(2), Processes(3)]
    assert engine_of(None, 9, at_most=1) == InProcess()
    assert engine_of(Threads(2), 9, at_most=1) == Threads(2)


@pytest.mark.parametrize("system", ["bm25", Lead()], ids=["specification", "object"])
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"jobs": 0}, "^jobs: .*at least 1 worker, got 0$"),
        ({"jobs": 1.5}, r"^jobs: .*1\.5$"),
        ({"engine": "processes"}, r"engine, .*Processes\(4\), got 'processes'"),
    ],
)
def test_a_place_to_work_that_is_none_is_refused_in_words(
    system: str | Lead, how: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        execute(system, load_sample(), tmp_path / "run.jsonl", **how)


@every_engine
def test_a_run_is_the_same_on_every_engine(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> None:
    sample, folder = load_sample(), tmp_path_factory.mktemp("runs")
    for name, runs_on in (("jobs", None), ("engine", engine)):
        execute("bm25", sample, folder / f"{name}.jsonl", engine=runs_on, control="two_papers", seed=3)
    expected, found = ((folder / f"{name}.jsonl").read_bytes().splitlines() for name in ("jobs", "engine"))
    assert sorted(found[1:]) == sorted(expected[1:])
    again = execute("bm25", sample, folder / "engine.jsonl", control="two_papers", seed=3)
    assert again.n_resumed == len(sample)
    if engine.shares_memory:
        assert execute(Lead(), sample, folder / "lead.jsonl", engine=engine).n_failed == 0
    else:
        with pytest.raises(SystemSpecError):
            execute(Lead(), sample, folder / "lead.jsonl", engine=engine)


def test_as_many_items_as_there_are_threads_wait_at_once() -> None:
    barrier = threading.Barrier(20, timeout=MOST_SECONDS)
    assert len(list(results(Threads(20), lambda: lambda _: barrier.wait(), (), range(40)))) == 40


def test_an_interrupt_lets_threads_finish_what_was_begun() -> None:
    released = threading.Event()
    found: list[int] = []
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        if item == 2:
            os.kill(os.getpid(), signal.SIGINT)
        released.wait(MOST_SECONDS)
        return item

    with pytest.raises(KeyboardInterrupt):
        take_into(found, results(Threads(4), lambda: work, (), range(1000), on_interrupt=released.set))
    assert len(found) == len(begun) < 1000


def test_a_second_interrupt_waits_for_nothing() -> None:
    is_first_seen, is_over = threading.Event(), threading.Event()
    finished = []

    def work(item: int) -> int:
        if item == 0:
            os.kill(os.getpid(), signal.SIGINT)
            assert is_first_seen.wait(MOST_SECONDS)  # two signals at once would count as one
            os.kill(os.getpid(), signal.SIGINT)
        is_over.wait(MOST_SECONDS)
        finished.append(item)
        return item

    with pytest.raises(KeyboardInterrupt):
        list(results(Threads(2), lambda: work, (), range(1000), on_interrupt=is_first_seen.set))
    assert not finished
    is_over.set()


def test_work_that_another_thread_drops_leaves_ctrl_c_as_it_was() -> None:
    # Work of an earlier test may have been dropped in another thread too, and its handler stays until the next Ctrl-C.
    before = signal.default_int_handler
    signal.signal(signal.SIGINT, before)
    outcomes: Any = Threads(1).outcomes(lambda: lambda item: item, (), range(100))
    next(outcomes)
    other = threading.Thread(target=outcomes.close)
    other.start()
    other.join()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


# What is done about workers that die: whom it is counted against, and when no more are started.


class DyingWorkers:
    """Workers that answer with the item, but die ``n_deaths`` times of ``"bad"``; ``is_blamed`` or not."""

    share_memory_of_machine = False

    def __init__(self, n_deaths: int, *, is_blamed: bool) -> None:
        self.submitted: list[Sequence[Any]] = []
        self.is_ended = False
        self._n_left = n_deaths
        self._is_blamed = is_blamed

    def submit(self, items: Sequence[Any]) -> "Future[list[tuple[Any, Exception | None]] | Exception]":
        self.submitted.append(items)
        future = Future[list[tuple[Any, Exception | None]] | Exception]()
        if "bad" in items and self._n_left:
            self._n_left -= 1
            future.set_exception(Death("it went away", is_blamed=self._is_blamed))
        else:
            future.set_result([(item, None) for item in items])
        return future

    def death(self, error: BaseException) -> Death | None:
        return error if isinstance(error, Death) else None

    def end(self, *, at_once: bool) -> None:
        assert not at_once
        self.is_ended = True


@pytest.mark.parametrize(("is_blamed", "fails"), [(True, True), (False, False)])
def test_a_machine_that_leaves_is_not_counted_against_the_item_that_its_worker_had(
    *, is_blamed: bool, fails: bool
) -> None:
    workers = DyingWorkers(4, is_blamed=is_blamed)
    found = list(dispatch(workers, 1, ["good", "bad", "fine"], lambda: None))
    assert {one.item for one in found} == {"good", "bad", "fine"}
    assert [one.item for one in found if one.error] == (["bad"] if fails else [])
    assert workers.submitted.count(["bad"]) in ({2} if fails else {4, 5})  # with another item at first, or alone
    assert workers.is_ended


class FallingTogether(DyingWorkers):
    """Two workers that share a machine: the death of the first takes the second with it, before it has begun."""

    share_memory_of_machine = True

    def submit(self, items: Sequence[Any]) -> "Future[list[tuple[Any, Exception | None]] | Exception]":
        if len(self.submitted) >= 2:
            return super().submit(items)
        self.submitted.append(items)
        future = Future[list[tuple[Any, Exception | None]] | Exception]()
        future.set_exception(Death("one went away, and all with it", is_blamed=True))
        return future


def test_an_item_is_not_blamed_for_the_death_of_a_worker_that_had_another() -> None:
    workers = FallingTogether(1, is_blamed=True)
    found = list(dispatch(workers, 2, ["other", "bad"], lambda: None))
    assert {one.item: one.error for one in found} == {"other": None, "bad": None}
    assert workers.submitted.count(["bad"]) == 3  # beside the other, then alone: it dies once, and then answers


OF_RAY = """The actor died unexpectedly before finishing this task.
\tclass_name: _Actor
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker \
unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) it was killed."""


def test_a_dead_worker_is_told_in_the_same_words_whatever_engine_it_worked_for() -> None:
    assert _why_it_died(Exception(OF_RAY)) == DIED
    left = "The actor died because its node has died. Node Id: 1"
    assert _why_it_died(Exception(left)) == left
