"""A Ray cluster keeps the laws of engines: an outcome for each item, whatever fails or dies."""

import contextlib
from itertools import count
from pathlib import Path

import pytest

from doors import ChangedDataError, EngineError, WorkerError, map_in_order, outcomes_in_order, results
from evidencebench import RayCluster
from kit.engine_work import dying_at, dying_at_start, dying_once, failing_at, gpus_seen, never_ready, slow_from

pytest.importorskip("ray", reason="needs ray, a neighbour's package")

RAY = RayCluster(n_actors=2)


def test_every_item_is_worked_on_once_and_in_order_where_that_is_asked_for() -> None:
    expected = [2 * item for item in range(300)]
    assert sorted(results(RAY, failing_at, (), range(300))) == expected
    assert list(map_in_order(RAY, failing_at, (), range(300))) == expected
    assert list(results(RAY, failing_at, (), ())) == []


def test_an_item_that_fails_ends_no_other() -> None:
    found = list(outcomes_in_order(RAY, failing_at, (3, 77, 78), range(100)))
    assert [(one.item, str(one.error)) for one in found if one.error] == [(n, f"{n} has changed") for n in (3, 77, 78)]
    assert [one.value for one in found if not one.error] == [2 * n for n in range(100) if n not in (3, 77, 78)]


def test_what_keeps_a_worker_from_starting_is_told_in_its_own_words() -> None:
    with pytest.raises(ChangedDataError, match=r"^the file is another one$"):
        list(RAY.outcomes(never_ready, (), range(4)))


def test_no_item_is_begun_for_whoever_takes_no_more_results() -> None:
    given = count()
    with contextlib.closing(RAY.outcomes(failing_at, (), given)) as taking:  # type: ignore[type-var]
        assert isinstance(next(taking).value, int)
    assert next(given) < 20


def test_items_that_take_their_worker_with_them_fail_alone() -> None:
    found = list(outcomes_in_order(RAY, dying_at, ("exit", 5, 50), range(80)))
    assert [one.result for one in found] == [None if n in (5, 50) else 2 * n for n in range(80)]
    with pytest.raises(WorkerError, match=r"that had nothing else to do: killed, as the system does where memory"):
        _ = found[50].value


def test_an_item_whose_worker_died_is_tried_once_more(tmp_path: Path) -> None:
    found = sorted(results(RAY, dying_once, (tmp_path, 0, 33), range(60)))
    assert found == [2 * item for item in range(60)]
    assert [(tmp_path / f"{item}").stat().st_size for item in (0, 33)] == [2, 2]


def test_workers_that_die_as_they_start_are_not_started_for_ever(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="3 workers died before they had begun an item"):
        list(RAY.outcomes(dying_at_start, (tmp_path / "log",), range(100)))


def test_actors_share_slow_items_though_quick_ones_came_in_batches() -> None:
    found = list(results(RAY, slow_from, (0.6,), range(46)))
    assert sorted(item for item, _ in found) == list(range(46))
    assert len({process for item, process in found if item >= 40}) == 2


def test_an_actor_asks_for_its_gpus_and_sees_only_these() -> None:
    seen = set(results(RayCluster(n_actors=8, gpus_per_actor=1), gpus_seen, (), range(30)))
    assert seen == {"0", "1"}  # two actors, though eight were asked for: one for each GPU
    shared = list(results(RayCluster(gpus_per_actor=2), gpus_seen, (), range(4)))
    assert set(shared) == {"0,1"}


def test_a_cluster_without_room_for_an_actor_is_a_clear_error() -> None:
    with pytest.raises(EngineError, match=r"asks for 1 CPU and 3 GPU, .*: the largest has 2 CPU and 2 GPU; ask"):
        list(RayCluster(gpus_per_actor=3).outcomes(failing_at, (), range(3)))
