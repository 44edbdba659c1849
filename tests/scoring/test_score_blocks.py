"""Scores are the same on every engine, whatever block an instance is in."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doors import Failure, WorkerError, encode_answer, score_runs
from evidencebench import (
    Dataset,
    Engine,
    InProcess,
    Outcome,
    Processes,
    Ranking,
    TaskScores,
    Threads,
    execute,
    load_sample,
    open_dataset,
    write_dataset,
)

TASKS = ("er_at_optimal", "er_at_10", "result_er_at_5")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Give a data set of 75 instances, which is three blocks, the last one shorter."""
    path, sample = tmp_path_factory.mktemp("data") / "data.json", load_sample()
    copies = (sample[number % len(sample)] for number in range(75))
    write_dataset(path, (replace(one, query=replace(one.query, instance_id=f"i{n}")) for n, one in enumerate(copies)))
    return open_dataset(path)


@pytest.fixture(scope="module")
def runs(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Give a run with two papers in each query, and one with answers of every sort: failed, empty, missing, long."""
    folder = tmp_path_factory.mktemp("runs")
    execute("bm25", data, folder / "two.jsonl", control="two_papers")
    execute("lead", data, folder / "odd.jsonl", limit=None)
    execute("longest", data, folder / "epochs.jsonl", epochs=2)
    header, *lines = (folder / "odd.jsonl").read_bytes().splitlines()
    lines[3] = encode_answer("i3", None, Failure(error="a reason", notes={"truncated_sentences": 2}))
    lines[40] = encode_answer("i40", None, Ranking(sentences=(), notes={"truncated_sentences": 5, "refused": 1}))
    lines[41] = encode_answer("i41", None, Ranking(sentences=tuple(range(30)), ordered=False))
    lines[70] = encode_answer("i70", None, Ranking(sentences=(1, 1, 2)))
    del lines[50]
    (folder / "odd.jsonl").write_bytes(b"\n".join([header, *lines]) + b"\n")
    return [folder / "two.jsonl", folder / "odd.jsonl", folder / "epochs.jsonl"]


@pytest.mark.parametrize("engine", [Threads(2), Processes(2)], ids=lambda engine: type(engine).__name__)
@pytest.mark.parametrize("limit", [None, 64, 1])
def test_scores_on_an_engine_are_those_of_one_pass(
    engine: Engine, limit: int | None, data: Dataset, runs: list[Path]
) -> None:
    expected = score_runs(runs, data, TASKS, with_selections=True, limit=limit, engine=InProcess())
    told: list[tuple[int, int]] = []
    found = score_runs(
        runs, data, TASKS, with_selections=True, limit=limit, engine=engine, on_progress=lambda *now: told.append(now)
    )
    n_instances = limit or 75
    assert told[-1] == (n_instances, n_instances)
    for one, other in ((expected.scores, found.scores), (expected.controls, found.controls)):
        assert {name: list(by_task) for name, by_task in one.items()} == {n: list(tasks) for n, tasks in other.items()}
        for name, by_task in one.items():
            for task, scores in by_task.items():
                assert_same(scores, other[name][task])


def assert_same(one: TaskScores, other: TaskScores) -> None:
    for field in TaskScores.__dataclass_fields__:
        if field not in {"scores", "epoch_recalls"}:
            assert getattr(one, field) == getattr(other, field)
    np.testing.assert_array_equal(one.epoch_recalls, other.epoch_recalls)
    assert list(one.scores) == list(other.scores)
    for key, column in one.scores.items():
        np.testing.assert_array_equal(column, other.scores[key])


class LosesItsSecondItem(Threads):
    """An engine whose workers die at the second item."""

    def outcomes(self, setup: Any, arguments: Any, items: Any, **_: Any) -> Iterator[Outcome[Any, Any]]:
        for outcome in InProcess().outcomes(setup, arguments, items):
            yield replace(outcome, error=WorkerError("two workers died")) if outcome.number == 1 else outcome


def test_instances_that_take_their_workers_with_them_are_named(data: Dataset, runs: list[Path]) -> None:
    with pytest.raises(WorkerError, match="i32 to i63: two workers died"):
        score_runs(runs, data, "er_at_10", engine=LosesItsSecondItem(2))
