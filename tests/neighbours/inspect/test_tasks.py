"""Tasks, scorer and models in inspect_ai: the same answers get the same scores there and here."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doors import ChatReply, ChatRequest, FailingServerError, LlmBase, Message, TaskError, cli
from evidencebench import TASKS, evaluate, execute, load_sample, make_system, open_run
from kit.scripted_models import CHAT, ScriptedSender, budget_in, client_of, shown_in

inspect_ai = pytest.importorskip("inspect_ai", reason="needs inspect_ai, a neighbour's package")

from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402 - as above

from doors import inspect_aspect_recall as aspect_recall  # noqa: E402 - as above

SAMPLE = load_sample()


def evaluated(task: str, model: Any, folder: Path, **settings: Any) -> Any:
    """Return the log of one task."""
    (log,) = inspect_ai.eval(f"evidencebench/{task}", model=model, log_dir=str(folder), display="none", **settings)
    return log


def values_of(log: Any) -> dict[str, float]:
    return {one.id: one.scores["aspect_recall"].value for one in log.samples}


def figures_of(log: Any) -> dict[str, float]:
    (score,) = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}


@pytest.mark.parametrize("task", TASKS)
def test_our_systems_are_models_whose_scores_are_ours(task: str, tmp_path: Path) -> None:
    spec = "bm25:k1=1.2,b=0.75" if TASKS[task].budget is not None else "oracle"
    name, _, options = spec.partition(":")
    arguments = {key: float(value) for key, value in (one.split("=") for one in options.split(",") if one)}
    log = evaluated(task, get_model(f"evidencebench/{name}", **arguments), tmp_path)
    ours = evaluate({"ours": make_system(spec)}, SAMPLE, task)["ours"][task]
    assert log.status == "success"
    assert values_of(log) == dict(zip(ours.ids, ours.recalls.tolist(), strict=True))
    assert figures_of(log)["mean"] == pytest.approx(ours.mean_recall, abs=1e-15)
    assert figures_of(log)["failed"] == 0


def conversation(request: ChatRequest) -> ChatReply:
    """Answer in one of many ways, by a digest of what was asked."""
    shown, digest = shown_in(request), hashlib.sha256(repr(request.messages).encode()).digest()
    some = [index for index in shown if digest[index % 32] > 128]
    budget = budget_in(request) or len(shown)
    replies = [
        ChatReply(text=f"Too many.\nANSWER: {some}"),
        ChatReply(text="I cannot help with that request.", finish="refused"),
        ChatReply(text="It is hard to say."),
        ChatReply(text=f"ANSWER: {some}"[:20], finish="length"),
        ChatReply(text="ANSWER: []"),
        ChatReply(text=f"ANSWER: [{len(shown) + 5}, {some[0]}]"),
        ChatReply(text=f"They bear on it.\n\nANSWER: {some[:budget]}"),
    ]
    return replies[digest[0] % 7]


_STOP_REASONS = {"stop": "stop", "length": "max_tokens", "refused": "content_filter"}


def mock(reply: Callable[..., ModelOutput]) -> Any:
    """Return a model of inspect_ai that replies by a function; else it would count tokens, with a download."""

    def with_usage(*given: Any) -> ModelOutput:
        output = reply(*given)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/model", custom_outputs=with_usage)


def scripted(asked: list[tuple[str, ...]]) -> Any:
    """Return a model of inspect_ai that answers as `conversation` does, and notes what it was asked."""

    def reply(messages: list[Any], *_: Any) -> ModelOutput:
        turns = tuple(Message(one.role, one.text) for one in messages)
        asked.append(tuple(one.text for one in turns))
        found = conversation(ChatRequest(model="local/fake", messages=turns))
        return ModelOutput.from_content("mockllm/model", found.text, stop_reason=_STOP_REASONS[found.finish])

    return mock(reply)


@pytest.mark.parametrize("task", ["er_at_optimal", "er_at_10", "result_er_unconstrained"])
def test_a_model_is_asked_and_read_as_by_our_strategy(task: str, tmp_path: Path) -> None:
    asked: list[tuple[str, ...]] = []
    log = evaluated(task, scripted(asked), tmp_path)
    sender = ScriptedSender(conversation)
    execute(LlmBase(chat=CHAT, client=client_of(sender)), SAMPLE, tmp_path / "ours.jsonl", tasks=task)
    ours = evaluate({"ours": open_run(tmp_path / "ours.jsonl")}, SAMPLE, task)["ours"][task]
    assert {turns[0] for turns in asked} == {request.messages[0].text for request in sender.asked}
    assert sorted(map(len, asked)) == sorted(len(request.messages) for request in sender.asked)
    assert values_of(log) == dict(zip(ours.ids, ours.recalls.tolist(), strict=True))
    assert figures_of(log)["failed"] == ours.counts.failed
    assert 0 < ours.counts.failed < len(ours.ids)


def test_a_model_that_calls_a_tool_is_asked_once_more_and_then_has_failed(tmp_path: Path) -> None:
    asked: list[list[Any]] = []

    def reply(messages: list[Any], tools: list[Any], *_: Any) -> ModelOutput:
        assert tools == []
        asked.append(messages)
        if len(asked) > 20:
            raise SystemExit("the model is asked without end")
        return ModelOutput.for_tool_call("mockllm/model", "search", {"query": "tea"})

    log = evaluated("er_at_10", mock(reply), tmp_path, limit=1)
    assert [[one.role for one in turns] for turns in asked] == [["user"], ["user", "assistant", "user"]]
    assert not any(getattr(one, "tool_calls", None) for turns in asked for one in turns)
    (score,) = values_of(log).values()
    assert (log.status, score, figures_of(log)["failed"]) == ("success", 0, 1)
    assert "the model called a tool" in log.samples[0].scores["aspect_recall"].explanation


@pytest.mark.parametrize("repairs", [0, 1, 3])
def test_a_model_is_asked_again_as_often_as_repairs_says(repairs: int, tmp_path: Path) -> None:
    replies = [*["It is hard to say."] * repairs, f"ANSWER: {list(range(30))}", "ANSWER: [0, 1, 2]"]

    model = mock(lambda messages, *_: ModelOutput.from_content("mockllm/model", replies[len(messages) // 2]))
    log = evaluated("er_at_10", model, tmp_path, limit=1, task_args={"repairs": repairs})
    (sample,) = log.samples
    assert sum(event.event == "model" for event in sample.events) == repairs + 2
    assert (sample.limit, sample.scores["aspect_recall"].answer) == (None, "[0, 1, 2]")


STRATEGIES = (
    "llm_sections:section_tokens=300",
    "llm_rank:method=listwise",
    "llm_rerank:system=bm25,top=20",
    "llm_vote:systems=[llm_base:model=inspect/any],samples=3",
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("control", [None, "wrong_hypothesis"])
def test_every_strategy_and_the_control_score_as_here(strategy: str, control: str | None, tmp_path: Path) -> None:
    asked: list[tuple[str, ...]] = []
    arguments = {"strategy": strategy.split(",") if "," in strategy else strategy, "control": control}
    log = evaluated("er_at_10", scripted(asked), tmp_path, task_args=arguments)
    sender = ScriptedSender(conversation)
    name = strategy.replace("inspect/any", "local/fake") + ("" if "model=" in strategy else ",model=local/fake")
    name = name.replace("local/fake", "local/fake,base_url=http://127.0.0.1:9/v1")
    ours_path = tmp_path / "ours.jsonl"
    execute(name, SAMPLE, ours_path, tasks="er_at_10", control=control, client=client_of(sender))
    ours = evaluate({"ours": open_run(ours_path)}, SAMPLE, "er_at_10")["ours"]["er_at_10"]
    assert sorted({turns[0] for turns in asked}) == sorted({one.messages[0].text for one in sender.asked})
    assert len(asked) == len(sender.asked)
    assert values_of(log) == dict(zip(ours.ids, ours.recalls.tolist(), strict=True))
    again = inspect_ai.score(log, aspect_recall(), action="overwrite")
    assert values_of(again) == values_of(log)


def test_a_control_of_two_papers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="expected one that changes the hypothesis"):
        evaluated("er_at_10", scripted([]), tmp_path, task_args={"control": "two_papers"})


def test_a_run_asks_a_model_of_inspect_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    model = scripted(asked)

    def found(name: str) -> Any:
        assert name == "mockllm/model"
        return model

    monkeypatch.setattr("inspect_ai.model.get_model", found)
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(tmp_path / "cache"))
    spec = "llm_base:model=inspect/mockllm/model,temperature=0.5"
    command = ["run", spec, "--data", "sample", "-t", "er_at_10", "--json", "-o"]
    first = CliRunner().invoke(cli, [*command, str(tmp_path / "run.jsonl")])
    sender = ScriptedSender(conversation)
    execute(LlmBase(chat=CHAT, client=client_of(sender)), SAMPLE, tmp_path / "ours.jsonl", tasks="er_at_10")
    recalls = [
        evaluate({"run": open_run(tmp_path / name)}, SAMPLE, "er_at_10")["run"]["er_at_10"].recalls.tolist()
        for name in ("run.jsonl", "ours.jsonl")
    ]
    assert recalls[0] == recalls[1]
    totals = json.loads(first.stdout)["asked"]
    assert (totals["sent"], totals["prompt_tokens"]) == (len(asked), len(asked))
    again = CliRunner().invoke(cli, [*command, str(tmp_path / "again.jsonl")])
    assert json.loads(again.stdout)["asked"]["sent"] == 0


def test_a_model_that_inspect_does_not_have_stops_the_run(tmp_path: Path) -> None:
    words = ["run", "llm_base:model=inspect/nobody/nothing", "--data", "sample", "-o", str(tmp_path / "run.jsonl")]
    result = CliRunner().invoke(cli, words)
    assert isinstance(result.exception, FailingServerError)
    assert "inspect/nobody/nothing" in str(result.exception)


def test_what_a_model_is_sent_holds_no_label(tmp_path: Path) -> None:
    asked: list[tuple[str, ...]] = []
    log = evaluated("er_at_10", scripted(asked), tmp_path)
    for instance in SAMPLE:
        sent = "\n".join("\n".join(turns) for turns in asked if instance.query.hypothesis in turns[0])
        assert sent
        assert not any(text in sent for text in (*instance.labels.aspects, *instance.labels.texts.values()))
    inputs = {repr(one.input) for one in log.samples}
    assert not any(aspect in text for text in inputs for one in SAMPLE for aspect in one.labels.aspects)


def test_a_sample_that_ends_in_an_error_scores_0_and_counts(tmp_path: Path) -> None:
    failing = SAMPLE.ids[2]

    def reply(messages: list[Any], *_: Any) -> ModelOutput:
        if SAMPLE[failing].query.hypothesis in messages[0].text:
            raise RuntimeError("the server is down")
        return ModelOutput.from_content("mockllm/model", "ANSWER: [0, 1, 2]")

    log = evaluated("er_at_10", mock(reply), tmp_path, fail_on_error=False)

    first_three = {one.id: None if one.id == failing else {0, 1, 2} for one in SAMPLE}
    ours = evaluate({"ours": first_three}, SAMPLE, "er_at_10")["ours"]["er_at_10"]
    assert values_of(log) == dict(zip(ours.ids, ours.recalls.tolist(), strict=True))
    assert figures_of(log)["mean"] == pytest.approx(ours.mean_recall, abs=1e-15)
    assert figures_of(log)["failed"] == 1


def test_a_log_is_scored_again_from_the_log_alone(tmp_path: Path) -> None:
    log = evaluated("er_at_10", get_model("evidencebench/lead"), tmp_path)
    again = inspect_ai.score(log, aspect_recall(), action="overwrite")
    assert values_of(again) == values_of(log)


def test_a_ranking_cannot_be_a_model_where_any_number_counts(tmp_path: Path) -> None:
    log = evaluated("result_er_unconstrained", get_model("evidencebench/bm25"), tmp_path)
    assert "ranks all sentences, and task 'result_er_unconstrained' has no budget" in log.samples[0].error.message


def test_the_command_of_inspect_runs_our_tasks_with_their_parameters(tmp_path: Path) -> None:
    words = ["eval", "evidencebench/er_at_10", "--model", "evidencebench/bm25", "-M", "k1=1.2", "-T", "limit=3"]
    ended = subprocess.run(
        [sys.executable, "-m", "inspect_ai", *words, "--log-dir", str(tmp_path), "--display", "plain"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "er_at_10 (3 samples): evidencebench/bm25" in ended.stdout
    (path,) = tmp_path.glob("*.eval")
    ours = evaluate({"ours": make_system("bm25:k1=1.2")}, SAMPLE, "er_at_10", limit=3)["ours"]["er_at_10"]
    log = inspect_ai.log.read_eval_log(str(path))
    assert values_of(log) == dict(zip(ours.ids, ours.recalls.tolist(), strict=True))
