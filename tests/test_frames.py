"""Data frames of pandas, polars and pyarrow hold what the objects hold, and what the commands print."""

import math
from typing import Any

import narwhals as nw
import pytest

from evidencebench import (
    BM25,
    Instance,
    comparisons_frame,
    evaluate,
    execute,
    instances_frame,
    load_sample,
    make_system,
    scores_frame,
    sentences_frame,
    standings_frame,
)
from evidencebench.integrations.frames import BACKENDS, Scores
from evidencebench.scoring.leaderboard import board_of
from evidencebench.scoring.measures import MEASURES
from evidencebench.scoring.score_runs import score_runs

TASKS = ["er_at_10", "result_er_at_5"]
SYSTEMS = ("bm25", "cues", "lead")


@pytest.fixture(scope="module")
def scores() -> Scores:
    return evaluate({name: make_system(name) for name in SYSTEMS}, load_sample(), TASKS)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of any library; undefined numbers are None in all."""
    rows: list[dict[str, Any]] = nw.from_native(frame, eager_only=True).rows(named=True)
    return [{key: None if value != value else value for key, value in row.items()} for row in rows]  # noqa: PLR0124


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_library_holds_the_same(backend: str, scores: Scores) -> None:
    data: Any = load_sample()[:2]
    makers: list[tuple[Any, Any]] = [(instances_frame, data), (sentences_frame, data)]
    makers += [(make, scores) for make in (scores_frame, standings_frame, comparisons_frame)]
    for make, source in makers:
        frame = make(source, backend=backend)
        assert type(frame).__module__.partition(".")[0] == backend
        assert rows_of(frame) == rows_of(make(source, backend="polars")) != []
        with pytest.raises(ValueError, match="backend: expected pandas, polars or pyarrow, got 'excel'"):
            make(source, backend="excel")


def test_instances_are_counted_as_in_their_labels() -> None:
    for row, instance in zip(rows_of(instances_frame("sample")), load_sample(), strict=True):
        sources = [set(instance.labels.sources.get(aspect, ())) for aspect in instance.labels.aspects]
        assert (row["id"], row["hypothesis"]) == (instance.id, instance.query.hypothesis)
        assert row["n_coverable_aspects"] == sum(bool(one) for one in sources)
        assert row["n_source_sentences"] == len(set().union(*sources))
        assert row["n_result_aspects"] == len(instance.labels.results)


def test_sentences_say_how_many_aspects_they_state() -> None:
    def n_stated(instance: Instance, place: int, aspects: tuple[str, ...]) -> int:
        return sum(place in instance.labels.sources.get(aspect, ()) for aspect in aspects)

    rows = rows_of(sentences_frame("sample"))
    expected = [
        (one.id, place, text, n_stated(one, place, one.labels.aspects), n_stated(one, place, one.labels.results))
        for one in load_sample()
        for place, text in enumerate(one.query.sentences)
    ]
    keys = ("id", "sentence", "text", "n_aspects", "n_result_aspects")
    assert [tuple(row[key] for key in keys) for row in rows] == expected
    assert {row["kind"] for row in rows} == {"heading", "abstract", "body"}


def test_scores_are_those_of_evaluate(scores: Scores) -> None:
    rows = rows_of(scores_frame(scores))
    for name, by_task in scores.items():
        for task, found in by_task.items():
            mine = [row for row in rows if (row["system"], row["task"]) == (name, task)]
            assert [row["id"] for row in mine] == list(found.ids)
            for key in MEASURES:
                assert [row[key] for row in mine] == [None if math.isnan(v) else v for v in found.scores[key].tolist()]


def test_standings_are_those_of_the_leaderboard(scores: Scores, tmp_path: Any) -> None:
    for name in SYSTEMS:
        execute(name, load_sample(), tmp_path / f"{name}.jsonl")
    paths = [tmp_path / f"{name}.jsonl" for name in SYSTEMS]
    scored = score_runs(paths, load_sample(), TASKS, with_controls=False)
    rows = rows_of(standings_frame(scores))
    for task in scored.tasks:
        standings = board_of(scored, task).standings
        mine = [row for row in rows if row["task"] == task.name]
        assert [row["system"] for row in mine] == [one.system for one in standings]
        for row, one in zip(mine, standings, strict=True):
            assert (row["mean"], row["low"], row["high"]) == (one.recall.mean, one.recall.low, one.recall.high)
            assert (row["rank_best"], row["rank_worst"]) == one.rank
            assert (row["n"], row["n_clusters"]) == (one.n, one.recall.n_clusters)


def test_each_pair_is_compared_once_a_task(scores: Scores) -> None:
    rows = rows_of(comparisons_frame(scores))
    assert len(rows) == 3 * len(TASKS)
    for row in rows:
        assert row["difference"] == pytest.approx(row["mean_first"] - row["mean_second"])
        assert row["low"] <= row["difference"] <= row["high"]
        assert row["p"] <= row["p_holm"]
        assert row["better"] + row["equal"] + row["worse"] == row["n"]


def test_a_source_that_is_given_twice_changes_no_p_value(scores: Scores) -> None:
    alone, first = rows_of(comparisons_frame(scores)), next(iter(scores))
    twice = rows_of(comparisons_frame({**scores, "again": scores[first]}))
    assert [row for row in twice if "again" not in (row["first"], row["second"])] == alone


def test_one_paper_has_no_interval_and_no_error() -> None:
    alone = evaluate({"bm25": BM25()}, load_sample()[:1], "er_at_10")
    (row,) = rows_of(standings_frame(alone))
    assert (row["low"], row["high"], row["standard_error"]) == (None, None, None)
    assert rows_of(comparisons_frame(alone)) == []
