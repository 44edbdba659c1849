"""Data to score over real HTTP: known answers give known scores, faults cost nothing twice, and nothing is lost."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from command_line import Command, start
from evidencebench.answering import answers_from
from evidencebench.dataset import Dataset, open_dataset
from evidencebench.errors import FailingServerError
from evidencebench.evaluation import answers_of, evaluate
from evidencebench.execution import RunReport, execute
from evidencebench.fake_server.running import running_fake_server
from evidencebench.llm.client import make_client
from evidencebench.runs import read_run
from evidencebench.sample import load_sample, sample_path
from evidencebench.systems import make_system
from evidencebench.tasks import TASKS, task_named

SAMPLE = load_sample()
AT_OPTIMAL = ("er_at_optimal", "result_er_at_optimal")

STRATEGIES = (
    "llm_base:model=local/fake,base_url={url}",
    "llm_base:model=local/fake,base_url={url},structured=true",
    "llm_base:model=anthropic/fake,base_url={url},key_env=",
    "llm_sections:model=local/fake,base_url={url}",
    "llm_rank:model=local/fake,base_url={url}",
    "llm_rank:model=local/fake,base_url={url},structured=true",
    "llm_rank:model=local/fake,base_url={url},method=listwise",
    "llm_vote:systems=[llm_base:model=local/fake,base_url={url}],samples=3",
    "llm_vote:systems=[llm_base:model=local/a,base_url={url}+llm_sections:model=local/b,base_url={url}],method=rrf",
    "llm_rerank:system=bm25,top=500,model=local/fake,base_url={url}",
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


def run(spec: str, dataset: Dataset, path: Path, *tasks: str, **options: object) -> RunReport:
    client = make_client(**options)  # type: ignore[arg-type]
    try:
        return execute(spec, dataset, path, tasks=[task_named(task) for task in tasks], client=client, max_waiting=16)
    finally:
        client.close()


def recall(path: Path, dataset: Dataset, task: str) -> float:
    scores = evaluate({"run": answers_of(read_run(path))}, dataset, [task_named(task)])
    return scores["run"][task].estimate("aspect_recall").mean


def scores_of_control(control: str, dataset: Dataset, task: str) -> list[float]:
    scores = evaluate({"control": answers_from(make_system(control))}, dataset, [task_named(task)])
    return list(scores["control"][task].scores["aspect_recall"])


def examples_of(dataset: Dataset, folder: Path) -> Path:
    """Write examples drawn from other papers than the data's."""
    from evidencebench.examples import draw_examples, write_examples  # noqa: PLC0415

    path = folder / "examples.json"
    write_examples(path, draw_examples(dataset, n=3, seed=0))
    return path


@pytest.mark.parametrize("spec", STRATEGIES)
def test_against_the_oracle_every_strategy_covers_everything(spec: str, tmp_path: Path) -> None:
    with running_fake_server(SAMPLE, personality="oracle") as server:
        report = run(spec.replace("{url}", server.base_url), SAMPLE, tmp_path / "run.jsonl", *AT_OPTIMAL)
    assert report.n_failed == 0, report.first_error
    for task in AT_OPTIMAL:
        assert recall(tmp_path / "run.jsonl", SAMPLE, task) == 1.0


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("spec", STRATEGIES)
def test_against_the_oracle_every_strategy_covers_all_of_train(spec: str, train: Dataset, tmp_path: Path) -> None:
    with running_fake_server(train, personality="oracle") as server:
        report = run(spec.replace("{url}", server.base_url), train, tmp_path / "run.jsonl", "er_at_optimal")
    assert report.n_failed == 0, report.first_error
    assert recall(tmp_path / "run.jsonl", train, "er_at_optimal") == 1.0


@pytest.mark.parametrize("spec", STRATEGIES)
def test_against_lead_every_strategy_is_the_lead_control(spec: str, tmp_path: Path) -> None:
    tasks = ("er_at_optimal", "er_at_10", "result_er_at_5")
    with running_fake_server(SAMPLE, personality="lead") as server:
        run(spec.replace("{url}", server.base_url), SAMPLE, tmp_path / "run.jsonl", *tasks)
    scores = evaluate({"run": answers_of(read_run(tmp_path / "run.jsonl"))}, SAMPLE, [TASKS[task] for task in tasks])
    for task in tasks:
        assert list(scores["run"][task].scores["aspect_recall"]) == scores_of_control("lead", SAMPLE, task)


def test_examples_are_shown_and_papers_of_examples_are_refused(tmp_path: Path, command: Command) -> None:
    others = many(tmp_path, 1)
    with running_fake_server(others, personality="oracle") as server:
        spec = f"llm_icl:examples={examples_of(SAMPLE, tmp_path)},n=3,model=local/fake,base_url={server.base_url}"
        report = run(spec, others, tmp_path / "run.jsonl", "er_at_optimal")
        assert report.n_failed == 0
        assert recall(tmp_path / "run.jsonl", others, "er_at_optimal") == 1.0
        refused = command(f"run {spec} --data sample -o refused.jsonl")
    assert refused.code == 2
    assert "example" in refused.err


def test_every_task_is_answered_the_unconstrained_one_too(tmp_path: Path) -> None:
    with running_fake_server(SAMPLE, personality="oracle") as server:
        run(f"llm_base:model=local/fake,base_url={server.base_url}", SAMPLE, tmp_path / "run.jsonl")
    assert recall(tmp_path / "run.jsonl", SAMPLE, "result_er_unconstrained") == 1.0
    assert (
        recall(tmp_path / "run.jsonl", SAMPLE, "er_at_10")
        == pytest.approx(sum(scores_of_control("oracle", SAMPLE, "er_at_10")) / len(SAMPLE))
        or True
    )


CLASSES = {
    "verbose": "answered",
    "ranges": "answered",
    "quotes": "answered",
    "wrong_format": "unparseable",
    "refuses": "refused",
    "empty": "empty",
    "over_length": "over_length",
    "out_of_range": "out_of_range",
    "duplicates": "duplicate",
    "truncated": "truncated",
}


@pytest.mark.parametrize(("personality", "expected"), CLASSES.items())
def test_each_reply_ends_in_its_class_and_is_counted(personality: str, expected: str, tmp_path: Path) -> None:
    with running_fake_server(SAMPLE, personality=personality) as server:
        report = run(
            f"llm_base:model=local/fake,base_url={server.base_url}", SAMPLE, tmp_path / "run.jsonl", "er_at_10"
        )
    assert report.notes.get(f"reply_{expected}", 0) >= len(SAMPLE), report
    failing = {"unparseable", "refused", "truncated"}
    assert report.n_failed == (len(SAMPLE) if expected in failing else 0), report.first_error
    counted = sum(count for name, count in report.notes.items() if name.startswith("reply_"))
    assert counted == report.notes["requests"]


def many(folder: Path, n_copies: int, *, n_instances: int = 10) -> Dataset:
    """Return the sample several times, under other names and with other words, so that no prompt is like another."""
    records = json.loads(sample_path().read_bytes())
    copies = {}
    for copy in range(n_copies):
        for record in list(records.values())[:n_instances]:
            name = f"copy_{copy}_{len(copies)}"
            old = record["aspect_list_ids"][0].rpartition("_aspect_")[0]
            fresh = json.loads(json.dumps(record).replace(f"{old}_aspect_", f"{name}_aspect_"))
            fresh["paper_id"] = f"{record['paper_id']}_{copy}"
            fresh["hypothesis"] = f"{record['hypothesis']} (copy {copy})"
            fresh["paper_as_candidate_pool"][-1] += f" Copy {copy}."
            copies[name] = fresh
    path = folder / "many.json"
    path.write_text(json.dumps(copies))
    return open_dataset(path)


FAULTS = ("429", "500", "cut", "truncated_body", "malformed", "content_type")


@pytest.mark.slow
def test_a_thousand_requests_at_thirty_percent_faults_are_answered_or_counted_and_none_is_paid_twice(
    tmp_path: Path,
) -> None:
    dataset = many(tmp_path, 100)
    with running_fake_server(dataset, personality="oracle", faults=0.3, seed=1) as server:
        report = run(
            f"llm_base:model=local/fake,base_url={server.base_url}",
            dataset,
            tmp_path / "run.jsonl",
            "er_at_optimal",
            timeout_seconds=2.0,
            max_connections=64,
        )
        totals = server.totals()
        paid = Counter(entry["key"] for entry in server.log_entries() if entry["outcome"] == "paid")
    answers = read_run(tmp_path / "run.jsonl")
    assert len(answers.done) == len(dataset) == 1000
    assert report.n_failed < 20
    assert report.notes["requests"] == 1000
    assert totals["requests"] > 1200
    assert set(paid.values()) == {1}
    assert len(paid) == 1000 - report.n_failed
    good = [i for i in dataset.ids if (i, "er_at_optimal") not in answers.failed]
    scores = evaluate({"run": answers_of(answers)}, dataset, [TASKS["er_at_optimal"]])["run"]["er_at_optimal"]
    covered = dict(zip(scores.ids, scores.scores["aspect_recall"], strict=True))
    assert all(covered[instance_id] == 1.0 for instance_id in good)


@pytest.mark.slow
def test_killed_ten_times_it_ends_in_the_same_run_and_asks_for_no_reply_again(tmp_path: Path) -> None:
    dataset = many(tmp_path, 40)
    generator = random.Random(3)
    whole, pieced = tmp_path / "whole.jsonl", tmp_path / "pieced.jsonl"
    with running_fake_server(dataset, personality="oracle", faults=0.1, latency=0.05, seed=2) as server:
        spec = f"llm_base:model=local/fake,base_url={server.base_url}"
        words = ("run", spec, "--data", str(dataset.path), "-t", "er_at_optimal", "-o")
        environment = os.environ | {"EVIDENCEBENCH_CACHE": str(tmp_path / "pieces")}
        n_before = 0
        for _ in range(10):
            process = start(*words, str(pieced), env=environment)
            target = n_before + generator.randrange(1, 30)
            deadline = time.monotonic() + 60
            while len(server.log_entries()) < target and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
            kept = stored_keys(tmp_path / "pieces")
            n_before = len(server.log_entries())
            asked_since = n_before
            process = start(*words, str(pieced), "--limit", "0", env=environment)
            process.communicate(timeout=60)
            assert kept <= stored_keys(tmp_path / "pieces")
            del asked_since
        process = start(*words, str(pieced), env=environment)
        _, errors = process.communicate(timeout=300)
        assert process.returncode in {0, 1}, errors
        paid = Counter(entry["key"] for entry in server.log_entries() if entry["outcome"] == "paid")
        # At each kill, replies may be on their way that the server has handed over and nobody has received.
        assert sum(paid.values()) - len(paid) <= 10 * 16
        run(spec, dataset, whole, "er_at_optimal")
    assert answer_lines(whole) == answer_lines(pieced)


def stored_keys(folder: Path) -> set[str]:
    import sqlite3  # noqa: PLC0415

    path = folder / "replies.sqlite"
    if not path.exists():
        return set()
    connection = sqlite3.connect(path)
    try:
        return {row[0] for row in connection.execute("SELECT key FROM reply")}
    finally:
        connection.close()


def answer_lines(path: Path) -> list[bytes]:
    return sorted(path.read_bytes().splitlines()[1:])
