"""The real mteb runs our tasks, without a hub, and its scores are ours."""

# ruff: noqa: E402 - imports stand behind importorskip

from pathlib import Path
from typing import Any

import pytest

mteb = pytest.importorskip("mteb", reason="needs mteb, a neighbour's package")

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from doors import PUBLISHED_TASKS, TaskError
from evidencebench import (
    Instance,
    Kind,
    Labels,
    Query,
    evaluate,
    load_sample,
    make_system,
    mteb_tasks,
    open_dataset,
    write_dataset,
)
from kit.embedding_models import make_embedding_model

SAMPLE = load_sample()


@pytest.fixture(scope="module", autouse=True)
def _offline() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_embedding_model(tmp_path_factory.mktemp("model"))


def run(model: Any, tasks: list[Any], folder: Path) -> dict[str, Any]:
    found = mteb.evaluate(
        model, tasks, cache=mteb.ResultCache(cache_path=folder), prediction_folder=folder, show_progress_bar=False
    )
    return {one.task_name: one for one in found.task_results}


def test_aspect_recall_in_mteb_is_that_of_our_dense_system_with_the_same_model(
    model_folder: Path, tmp_path: Path
) -> None:
    tasks = mteb_tasks(SAMPLE)
    results = run(SentenceTransformer(str(model_folder), device="cpu"), tasks, tmp_path)
    ours = evaluate({"dense": make_system(f"dense:model={model_folder}")}, SAMPLE, PUBLISHED_TASKS)["dense"]
    assert list(results) == [f"EvidenceBench-{name}-sample" for name in PUBLISHED_TASKS]
    for name in PUBLISHED_TASKS:
        (scores,) = results[f"EvidenceBench-{name}-sample"].scores["test"]
        assert scores["main_score"] == scores["aspect_recall"] == pytest.approx(ours[name].mean_recall, abs=1e-12)


class _Fixed:
    """A search model of mteb that ranks by numbers drawn once, many of them equal."""

    mteb_model_meta = mteb.get_model_meta("mteb/baseline-random-encoder")

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.results: dict[str, dict[str, float]] = {}

    def index(self, *_: Any, **__: Any) -> None:
        pass

    def search(self, queries: Any, *, top_ranked: dict[str, list[str]], **_: Any) -> dict[str, dict[str, float]]:
        self.results = {
            qid: {name: float(self._random.integers(0, 5)) for name in top_ranked[qid]} for qid in queries["id"]
        }
        return self.results


@pytest.mark.parametrize("seed", range(3))
def test_the_score_of_any_ranking_is_ours_ties_included(seed: int, tmp_path: Path) -> None:
    model = _Fixed(seed)
    for task, name in zip(mteb_tasks(SAMPLE), PUBLISHED_TASKS, strict=True):
        (found,) = run(model, [task], tmp_path).values()
        ours = evaluate({"same": model.results}, SAMPLE, name)["same"][name].mean_recall
        assert found.scores["test"][0]["main_score"] == ours


def test_an_instance_without_any_source_counts_as_0_and_one_without_aspects_is_left_out(tmp_path: Path) -> None:
    def paper(name: str, labels: Labels) -> Instance:
        query = Query(instance_id=name, paper_id=name, hypothesis="h", sentences=("a", "b"), kinds=(Kind.BODY,) * 2)
        return Instance(query=query, labels=labels)

    found = paper("found", Labels(aspects=("x",), sources={"x": (0, 1)}))
    lost = paper("lost", Labels(aspects=("x",), sources={"x": ()}))
    none = paper("none", Labels(aspects=(), sources={}))
    write_dataset(tmp_path / "data.json", [found, lost, none])
    (task,) = mteb_tasks(tmp_path / "data.json", "er_at_10")
    (result,) = run(_Fixed(0), [task], tmp_path).values()
    assert result.scores["test"][0]["main_score"] == 0.5
    assert task.metadata.name == "EvidenceBench-er_at_10-data"
    assert task.metadata.dataset["revision"] == open_dataset(tmp_path / "data.json").sha256


def test_a_task_without_a_budget_is_refused() -> None:
    with pytest.raises(TaskError, match="task 'result_er_unconstrained' has no budget"):
        mteb_tasks(SAMPLE, "result_er_unconstrained")


def test_a_task_that_applies_to_no_instance_is_refused(tmp_path: Path) -> None:
    query = Query(instance_id="a", paper_id="a", hypothesis="h", sentences=("a",), kinds=(Kind.BODY,))
    write_dataset(tmp_path / "data.json", [Instance(query=query, labels=Labels(aspects=("x",), sources={"x": (0,)}))])
    (task,) = mteb_tasks(tmp_path / "data.json", "result_er_at_5")
    with pytest.raises(TaskError, match="applies to none of the instances"):
        task.load_data()
