"""Scores for public collections: the Hub's own reader takes our file, and nothing is invented."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from doors import DEFAULT_RESAMPLING, Evaluator, RunError, ScoredRuns, as_yaml, hub_entries, score_runs, signature_of
from doors import score_record_of as record_of
from evidencebench import execute, load_sample

SAMPLE = load_sample()
TASKS = ("er_at_optimal", "er_at_10")
NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> ScoredRuns:
    path = tmp_path_factory.mktemp("runs") / "bm25.jsonl"
    execute("bm25", SAMPLE, path)
    return score_runs(path, SAMPLE, TASKS, with_controls=False)


def test_the_hub_reads_our_entries(scored: ScoredRuns) -> None:
    header = scored.runs["bm25"].header
    assert header is not None
    text = as_yaml(hub_entries(scored, "bm25", DEFAULT_RESAMPLING, dataset_id="my-lab/my-data"))
    entries = parse_eval_result_entries(yaml.safe_load(text))
    assert [(one.dataset_id, one.task_id) for one in entries] == [("my-lab/my-data", task) for task in TASKS]
    for entry, task in zip(entries, scored.tasks, strict=True):
        recall = scored.scores["bm25"][task.name].estimate()
        assert entry.value == round(100 * recall.mean, 4)
        assert entry.date == header.created
        assert entry.notes is not None
        assert f"n={recall.n}" in entry.notes
        assert SAMPLE.sha256 in entry.notes
        assert signature_of(scored, "bm25", task, DEFAULT_RESAMPLING) in entry.notes


@pytest.mark.parametrize(
    "text", ["a: b", "- x", "'\"\\", "# no", "tab\tend", "\x00\x1b\x7f\x85", "grün ✓ 😀", "", "null", "1e3"]
)
def test_any_text_comes_through_the_yaml_as_one_text(text: str) -> None:
    entry = {"dataset": {"id": text, "task_id": "t"}, "value": 1.5, "notes": text}
    (found,) = yaml.safe_load(as_yaml([entry]))
    assert (found["dataset"]["id"], found["value"], found["notes"]) == (found["notes"], 1.5, found["notes"])
    assert isinstance(found["notes"], str)
    if text.isprintable():
        assert found["notes"] == text


def test_what_a_collection_calls_a_system_is_never_invented(scored: ScoredRuns, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps({instance_id: [1] for instance_id in SAMPLE.ids}))
    own = score_runs(tmp_path / "mine.json", SAMPLE, TASKS, with_controls=False)
    unnamed, named = (Evaluator(organization="Lab", relationship="other", model=model) for model in (None, "lab/mine"))
    with pytest.raises(RunError, match=r"mine\.json: .*--model ORGANISATION/NAME"):
        record_of(own, "mine.json", unnamed, DEFAULT_RESAMPLING, now=NOW)
    assert record_of(own, "mine.json", named, DEFAULT_RESAMPLING, now=NOW)["model_info"]["id"] == "lab/mine"
    assert record_of(scored, "bm25", unnamed, DEFAULT_RESAMPLING, now=NOW)["model_info"]["id"] == "evidencebench/bm25"


@pytest.mark.parametrize("model", ["alone", "../up/and", "a//b", "a/.", "a/b c", "/a/b", "a/" + "x" * 300])
def test_a_name_that_would_leave_the_folder_is_refused(scored: ScoredRuns, model: str) -> None:
    evaluator = Evaluator(organization="Lab", relationship="other", model=model)
    with pytest.raises(RunError, match="ORGANISATION/NAME"):
        record_of(scored, "bm25", evaluator, DEFAULT_RESAMPLING, now=NOW)
