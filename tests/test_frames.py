"""Data frames of pandas, polars and pyarrow hold what the objects hold, and what the commands print."""

import math
from typing import Any

import narwhals as nw
import pytest

from doors import BACKENDS, Scores
from evidencebench import (
    MEASURES,
    Instance,
    evaluate,
    instances_frame,
    load_sample,
    make_system,
    scores_frame,
    sentences_frame,
)

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
    makers += [(make, scores) for make in (scores_frame,)]
    for make, source in makers:
        frame = make(source, backend=backend)
        assert type(frame).__module__.partition(".")[0] == backend
        assert frame.shape[0] == len(frame) == len(frame["id"])  # what `Frame` says that all have
        assert rows_of(frame) == rows_of(make(source, backend="polars")) != []
        with pytest.raises(ValueError, match=r"backend: .*pandas, polars or pyarrow.*'excel'"):
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
