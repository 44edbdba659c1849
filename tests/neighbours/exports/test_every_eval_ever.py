"""The real validator of Every Eval Ever accepts our records, and they say what our scores say."""

# ruff: noqa: E402 - imports stand behind importorskip

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

core = pytest.importorskip(
    "every_eval_ever.validator.validation_core", reason="needs every-eval-ever, a neighbour's package"
)

from doors import DEFAULT_RESAMPLING, SCHEMA_VERSION, Evaluator, ScoredRuns, score_runs, write_records
from evidencebench import evaluate, execute, load_sample, task_named

SAMPLE = load_sample()
TASKS = ("er_at_optimal", "er_at_10", "result_er_at_5")
LAB = Evaluator(organization="My Lab", relationship="third_party")
NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> ScoredRuns:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("bm25", "lead"):
        execute(name, SAMPLE, folder / f"{name}.jsonl")
    return score_runs([folder / "bm25.jsonl", folder / "lead.jsonl"], SAMPLE, TASKS, with_controls=False)


def test_our_records_are_of_the_version_that_is_installed() -> None:
    assert core.get_schema_version() == SCHEMA_VERSION


def test_the_validator_finds_no_error_and_no_warning(scored: ScoredRuns, tmp_path: Path) -> None:
    paths = write_records(tmp_path, scored, LAB, DEFAULT_RESAMPLING, now=NOW)
    assert len(paths) == 2
    for path in paths:
        report = core.validate_file(path, repo_path=str(path.relative_to(tmp_path)), run_semantic_checks=True)
        assert (report.valid, report.errors, report.warnings) == (True, [], [])


def test_a_record_says_what_our_scores_say(scored: ScoredRuns, tmp_path: Path) -> None:
    path, _ = write_records(tmp_path, scored, LAB, DEFAULT_RESAMPLING, now=NOW)
    assert path.relative_to(tmp_path).parts[:4] == ("data", "evidencebench", "evidencebench", "bm25")
    record = json.loads(path.read_text())
    ours = evaluate({"bm25": scored.runs["bm25"]}, SAMPLE, TASKS)["bm25"]
    assert [one["evaluation_name"] for one in record["evaluation_results"]] == list(TASKS)
    for one in record["evaluation_results"]:
        estimate = ours[one["evaluation_name"]].estimate()
        found = one["score_details"]
        assert found["score"] == estimate.mean
        interval = found["uncertainty"]["confidence_interval"]
        assert (interval["lower"], interval["upper"]) == (estimate.low, estimate.high)
        assert found["uncertainty"]["num_samples"] == estimate.n
        assert one["source_data"]["additional_details"]["sha256"] == SAMPLE.sha256
        assert one["metric_config"]["metric_parameters"]["budget"] == task_named(one["evaluation_name"]).budget
    assert record["model_info"]["additional_details"]["option_k1"] == "0.9"


def test_the_same_scores_at_the_same_time_are_the_same_file(scored: ScoredRuns, tmp_path: Path) -> None:
    first = write_records(tmp_path, scored, LAB, DEFAULT_RESAMPLING, now=NOW)
    assert write_records(tmp_path, scored, LAB, DEFAULT_RESAMPLING, now=NOW) == first
    other = write_records(tmp_path, scored, replace(LAB, organization="Other"), DEFAULT_RESAMPLING, now=NOW)
    assert set(other).isdisjoint(first)
