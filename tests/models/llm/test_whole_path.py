"""Data to score over real HTTP: known answers give known scores, faults cost nothing twice, and nothing is lost."""

import json
import os
import random
import signal
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doors import (
    ChatRequest,
    RunMismatchError,
    RunReport,
    draw_examples,
    read_run,
    request_body,
    sample_path,
    write_examples,
)
from evidencebench import (
    TASKS,
    Dataset,
    answers_from,
    answers_of,
    evaluate,
    execute,
    load_sample,
    make_client,
    make_system,
    open_dataset,
    task_named,
)
from kit.command_line import start, until
from kit.examples import IS_THOROUGH
from kit.fake_models import fake_model_app, running_fake_server
from kit.patience import MOST_SECONDS
from kit.specs import strategy_specs
from kit.stored_replies import stored_replies

httpx = pytest.importorskip("httpx", reason="needs the extra 'llm'")

SAMPLE = load_sample()
NOWHERE = "http://127.0.0.1:1/v1"

URL = "base_url={model_server}"
VARIANTS = (
    "llm_base:model=local/fake,base_url={model_server},structured=true",
    "llm_base:model=anthropic/fake,base_url={model_server},key_env=",
    "llm_base:model=anthropic/fake,base_url={model_server},key_env=,structured=true",
    "llm_base:model=openai-responses/fake,base_url={model_server},key_env=",
    "llm_rank:model=openai-responses/fake,base_url={model_server},key_env=,structured=false",
    "llm_rank:model=local/fake,base_url={model_server},structured=true",
    "llm_rank:model=local/fake,base_url={model_server},method=listwise",
    "llm_sections:model=local/fake,base_url={model_server},structured=true",
    f"llm_vote:systems=[llm_base:model=local/a,{URL}+llm_sections:model=local/b,{URL}],method=rrf",
)
STRATEGIES = [spec for spec in (*strategy_specs(top=500).values(), *VARIANTS) if "{examples_file}" not in spec]
"""Those that may be asked about the sample, of which the examples are drawn."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


def without_server(dataset: Dataset, **options: Any) -> dict[str, Any]:
    """Return the option by which a client asks a fake model with no server in between, at the address `NOWHERE`."""
    app = fake_model_app(dataset, **options)
    return {"transport": httpx.ASGITransport(app)}


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


@pytest.fixture(scope="module")
def asked_about(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Give the sample, or by default its first papers."""
    return SAMPLE if IS_THOROUGH else many(tmp_path_factory.mktemp("asked_about"), 1, n_instances=3)


@pytest.mark.parametrize("spec", STRATEGIES)
def test_against_the_oracle_every_strategy_covers_everything_and_against_lead_it_is_the_control(
    spec: str, asked_about: Dataset, tmp_path: Path
) -> None:
    for port, (behaviour, control) in enumerate((("oracle", "oracle"), ("lead", "lead")), start=1):
        path, tasks = tmp_path / f"{behaviour}.jsonl", ("er_at_optimal", "result_er_at_optimal", "er_at_10")
        asked = spec.replace("{model_server}", f"http://127.0.0.1:{port}/v1")  # no reply of the one is the other's
        report = run(asked, asked_about, path, *tasks, **without_server(asked_about, behaviour=behaviour))
        assert report.n_failed == 0, report.first_error
        scores = evaluate({"run": answers_of(read_run(path))}, asked_about, [TASKS[task] for task in tasks])["run"]
        for task in tasks[: 2 if behaviour == "oracle" else 3]:
            assert list(scores[task].scores["aspect_recall"]) == scores_of_control(control, asked_about, task)


@pytest.mark.parametrize(("tasks", "full_prices"), [(tuple(TASKS), 0.398), (("er_at_10",), 1.0)])
def test_a_paper_that_tasks_share_is_paid_nearly_once_and_one_task_pays_nothing_more(
    tmp_path: Path, tasks: tuple[str, ...], full_prices: float
) -> None:
    client = make_client(**without_server(SAMPLE, behaviour="lead"))
    spec = f"llm_base:model=anthropic/claude-sonnet-4-5,base_url={NOWHERE},key_env="
    path = tmp_path / "run.jsonl"
    execute(spec, SAMPLE, path, tasks=[task_named(task) for task in tasks], client=client, max_waiting=1)
    client.close()
    now = client.totals.now
    assert (now.cached_tokens > 0) == (len(tasks) > 1)
    charged_usd = now.cost_usd - now.completion_tokens * 15e-6
    assert charged_usd == pytest.approx(full_prices * now.prompt_tokens * 3e-6, rel=0.02)


IN_CONTEXT = "llm_icl:examples={examples_file},n=3,model=local/fake,base_url={model_server}"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write examples drawn from the sample."""
    path = tmp_path_factory.mktemp("examples") / "examples.json"
    write_examples(path, draw_examples(SAMPLE, n=3, seed=0))
    return path


def test_examples_are_shown_and_papers_of_examples_are_refused(examples: Path, tmp_path: Path) -> None:
    others = many(tmp_path, 1)
    with running_fake_server(others, behaviour="oracle") as server:
        spec = IN_CONTEXT.replace("{model_server}", server.base_url).replace("{examples_file}", str(examples))
        report = run(spec, others, tmp_path / "run.jsonl", "er_at_optimal")
        assert report.n_failed == 0, report.first_error
        assert recall(tmp_path / "run.jsonl", others, "er_at_optimal") == 1.0
        with pytest.raises(RunMismatchError):
            run(spec, SAMPLE, tmp_path / "refused.jsonl", "er_at_optimal")
        assert server.totals()["requests"] == len(others)


def test_every_task_is_answered_the_unconstrained_one_too(tmp_path: Path) -> None:
    run(f"llm_base:model=local/fake,base_url={NOWHERE}", SAMPLE, tmp_path / "run.jsonl", **without_server(SAMPLE))
    for task in TASKS:
        ceiling = scores_of_control("oracle", SAMPLE, task)
        assert recall(tmp_path / "run.jsonl", SAMPLE, task) == pytest.approx(sum(ceiling) / len(ceiling)), task


def many(folder: Path, n_copies: int, *, n_instances: int = 10) -> Dataset:
    """Return the sample several times, under other names and with other words, so that no prompt is like another."""
    records = json.loads(sample_path().read_bytes())
    copies: dict[str, object] = {}
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


@pytest.mark.slow
def test_requests_at_thirty_percent_faults_are_answered_or_counted_and_none_is_paid_twice(
    tmp_path: Path,
) -> None:
    n_copies = 30 if IS_THOROUGH else 10
    dataset = many(tmp_path, n_copies)
    task, n = "er_at_optimal", 10 * n_copies
    with running_fake_server(dataset, behaviour="oracle", fault_rate=0.3, hang_seconds=0.2, seed=1) as server:
        spec = f"llm_base:model=local/fake,base_url={server.base_url}"
        report = run(spec, dataset, tmp_path / "run.jsonl", task, max_connections=64)
        totals = server.totals()
        paid = Counter(entry["key"] for entry in server.log_entries() if entry["outcome"] == "paid")
    assert len(totals["faults"]) >= 6
    assert sum(totals["faults"].values()) > 0.3 * n
    answers = read_run(tmp_path / "run.jsonl")
    assert len(answers.done) == len(dataset) == n
    assert report.n_failed < n / 50
    assert set(paid.values()) == {1}
    assert len(paid) == n - report.n_failed
    scores = evaluate({"run": answers_of(answers)}, dataset, [TASKS[task]])["run"][task]
    assert scores.counts.failed == report.n_failed
    assert sum(scores.scores["aspect_recall"]) == n - report.n_failed


@pytest.mark.slow
def test_killed_again_and_again_it_ends_in_the_same_run_and_asks_for_no_stored_reply_again(tmp_path: Path) -> None:
    n_kills = 5 if IS_THOROUGH else 2
    dataset = many(tmp_path, 6 * n_kills)
    generator = random.Random(3)
    whole, pieced, cache = tmp_path / "whole.jsonl", tmp_path / "pieced.jsonl", tmp_path / "pieces"
    enough = 0  # answers, until the process is killed: none comes while this thread is not looking
    with running_fake_server(
        dataset,
        behaviour="oracle",
        fault_rate=0.1,
        hang_seconds=0.2,
        latency_seconds=0.05,
        seed=2,
        may_answer=lambda app: len(app.entries) < enough,
    ) as server:
        spec = f"llm_base:model=local/fake,base_url={server.base_url}"
        words = ("run", spec, "--data", str(dataset.path), "-t", "er_at_optimal", "-o", str(pieced))
        environment = os.environ | {"EVIDENCEBENCH_CACHE": str(cache)}
        for _ in range(n_kills):
            stored, n_asked = stored_keys(cache), len(server.log_entries())
            process = start(*words, env=environment)
            enough = n_asked + generator.randrange(20, 40)
            until(lambda n=enough: len(server.log_entries()) >= n and stored_keys(cache), process)  # type: ignore[misc]
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=MOST_SECONDS)
            asked_now = {entry["key"] for entry in server.log_entries()[n_asked:]}
            assert not asked_now & stored
        stored, n_asked = stored_keys(cache), len(server.log_entries())
        assert 0 < len(stored) < len(dataset)
        enough = 10**6
        process = start(*words, env=environment)
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        assert not {entry["key"] for entry in server.log_entries()[n_asked:]} & stored
        # Paid twice can only be what was on its way, unread, when the process was killed: 16 requests each time.
        paid = Counter(entry["key"] for entry in server.log_entries() if entry["outcome"] == "paid")
        assert sum(paid.values()) - len(dataset) <= n_kills * 16
        run(spec, dataset, whole, "er_at_optimal")
    assert answer_lines(whole) == answer_lines(pieced)


def stored_keys(folder: Path) -> set[str]:
    """Return the keys of stored requests as the server's log has them."""
    requests = [msgspec.json.decode(request, type=ChatRequest) for request, _ in stored_replies(folder)]
    bodies = (request_body(request) for request in requests)
    return {sha256(msgspec.json.encode(body, order="sorted")).hexdigest() for body in bodies}


def answer_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a run but for how long replies took, and what a killed process forgets: lost attempts."""
    lines = sorted(map(json.loads, path.read_bytes().splitlines()[1:]), key=lambda line: str(line["id"]))
    for line in lines:
        del line["crc"]
        for name in ("maybe_charged", "milliseconds"):
            line["notes"].pop(name, None)
    return lines


def test_two_hundred_requests_are_in_flight_at_once(tmp_path: Path) -> None:
    dataset = many(tmp_path, 20)
    with running_fake_server(
        dataset, behaviour="lead", may_answer=lambda app: app.totals["most_in_flight"] >= 200
    ) as server:
        client = make_client(max_connections=200)
        spec = f"llm_base:model=local/fake,base_url={server.base_url}"
        execute(spec, dataset, tmp_path / "run.jsonl", tasks=[TASKS["er_at_10"]], client=client, max_waiting=200)
        client.close()
        assert server.totals()["most_in_flight"] == 200
