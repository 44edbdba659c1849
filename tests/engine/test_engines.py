"""Every engine yields each result once, also those of items that began before an error, and raises the error itself."""

import contextlib
from collections.abc import Iterator
from itertools import count, takewhile

import pytest

from engine_work import failing_at, interrupting, never_ready
from evidencebench import execute, load_sample
from evidencebench.engine.in_process import InProcess
from evidencebench.engine.ordering import map_in_order
from evidencebench.engine.processes import Processes, engine_of
from evidencebench.engine.protocol import Engine
from evidencebench.engine.threads import Threads
from evidencebench.errors import ChangedDataError, SystemSpecError
from evidencebench.systems.controls import Lead

ENGINES: list[Engine] = [InProcess(), Threads(2), Processes(2)]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)


@every_engine
def test_every_item_is_worked_on_once_and_in_order_where_that_is_asked_for(engine: Engine) -> None:
    expected = [2 * item for item in range(50)]
    assert sorted(engine.results(failing_at, (), range(50))) == expected
    assert list(map_in_order(engine, failing_at, (), range(50), chunk_size=7)) == expected
    assert list(engine.results(failing_at, (), ())) == list(map_in_order(engine, failing_at, (), ())) == []


@every_engine
def test_an_error_of_the_work_is_raised_once_what_was_begun_is_handed_over(engine: Engine) -> None:
    found: list[int] = []
    with pytest.raises(ChangedDataError, match=r"^3 has changed$"):
        take_into(found, engine.results(failing_at, (3,), range(1000)))
    assert {0, 2, 4} <= set(found)
    assert len(found) < 20


def take_into(found: list[int], results: Iterator[int]) -> None:
    """Append each result to ``found`` as it comes, so that the results before an error are kept."""
    for one in results:
        found += [one]


@every_engine
def test_in_order_the_first_error_is_raised_at_its_place(engine: Engine) -> None:
    found: list[int] = []
    with pytest.raises(ChangedDataError, match=r"^11 has changed$"):
        take_into(found, map_in_order(engine, failing_at, (11, 12, 30), range(100), chunk_size=4))
    assert found == [2 * item for item in range(11)]


@every_engine
def test_what_keeps_a_worker_from_starting_is_told_in_its_own_words(engine: Engine) -> None:
    with pytest.raises(ChangedDataError, match=r"^the file is another one$"):
        list(engine.results(never_ready, (), range(4)))


@every_engine
def test_no_item_is_begun_once_there_are_no_more(engine: Engine) -> None:
    found: list[int] = []
    take_into(found, engine.results(failing_at, (), takewhile(lambda _: len(found) < 5, range(1000))))
    assert 5 <= len(found) < 20


@every_engine
def test_no_item_is_begun_for_whoever_takes_no_more_results(engine: Engine) -> None:
    given = count()
    results = engine.results(failing_at, (), given)
    with contextlib.closing(results) as taking:  # type: ignore[type-var]
        assert isinstance(next(taking), int)
    assert next(given) < 20


def test_an_interrupt_lets_processes_finish_what_was_begun_and_begin_nothing() -> None:
    found: list[int] = []
    told: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        take_into(found, Processes(2).results(interrupting, (5,), range(1000), on_interrupt=lambda: told.append(1)))
    assert {0, 1, 2, 3, 4, 5} <= set(found)
    assert len(found) < 20
    assert told == [1]


def test_jobs_are_processes_and_one_is_this_one() -> None:
    assert (engine_of(0), engine_of(1), engine_of(3)) == (InProcess(), InProcess(), Processes(3))


@every_engine
def test_a_run_is_the_same_on_every_engine(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> None:
    sample, folder = load_sample(), tmp_path_factory.mktemp("runs")
    execute("bm25", sample, folder / "jobs.jsonl")
    execute("bm25", sample, folder / "engine.jsonl", engine=engine)
    expected, found = ((folder / f"{name}.jsonl").read_bytes().splitlines() for name in ("jobs", "engine"))
    assert sorted(found[1:]) == sorted(expected[1:])
    assert execute("bm25", sample, folder / "engine.jsonl").n_resumed == len(sample)
    if engine.shares_memory:
        assert execute(Lead(), sample, folder / "lead.jsonl", engine=engine).n_failed == 0
    else:
        with pytest.raises(SystemSpecError, match=r"asked in one process, got engine=Processes\(n_processes=2\)"):
            execute(Lead(), sample, folder / "lead.jsonl", engine=engine)
