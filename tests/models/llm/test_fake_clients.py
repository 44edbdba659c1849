"""The official clients of OpenAI and Anthropic work against the server for trials: a real peer, no mirror of ours."""

import io
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import pytest

from evidencebench import TASKS, load_sample
from fake_models import RunningServer, running_fake_server
from marked_prompts import messages, prompt

anthropic = pytest.importorskip("anthropic", reason="needs the extra 'test'")
openai = pytest.importorskip("openai", reason="needs the extra 'test'")

SAMPLE = load_sample()
QUESTIONS = {query.instance_id: prompt(query) for query in SAMPLE.queries()}
QUESTION = prompt(SAMPLE[0].query, budget=TASKS["er_at_optimal"].budget_for(SAMPLE[0]))
SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "sentences": {"type": "array", "items": {"type": "integer"}}},
    "required": ["reasoning", "sentences"],
    "additionalProperties": False,
}
Thing = TypeVar("Thing")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_fake_server(SAMPLE) as running:
        yield running


def openai_client(server: RunningServer, **options: Any) -> Any:
    return openai.OpenAI(base_url=server.base_url, api_key="any", **{"max_retries": 0, **options})


def anthropic_client(server: RunningServer, **options: Any) -> Any:
    return anthropic.Anthropic(base_url=server.root_url, api_key="any", **{"max_retries": 0, **options})


@pytest.fixture
def gpt(server: RunningServer) -> Iterator[Any]:
    with openai_client(server) as client:
        yield client


@pytest.fixture
def claude(server: RunningServer) -> Iterator[Any]:
    with anthropic_client(server) as client:
        yield client


def numbers_in(text: str) -> list[int]:
    found: list[int] = json.loads(re.findall(r"ANSWER: (\[.*\])", text)[-1])
    return found


def until(ready: Callable[[Thing], bool], ask: Callable[[], Thing]) -> Thing:
    """Ask until it is ready."""
    end = time.monotonic() + 60
    while not ready(thing := ask()) and time.monotonic() < end:
        time.sleep(0.01)
    assert ready(thing)
    return thing


def chat(client: Any, *texts: str, **options: Any) -> Any:
    return client.chat.completions.create(model="fake", messages=messages(*(texts or (QUESTION,))), **options)


def message(client: Any, *texts: str, **options: Any) -> Any:
    given = {"max_tokens": 4096, **options}
    return client.messages.create(model="fake", messages=messages(*(texts or (QUESTION,))), **given)


def test_openai_chats(gpt: Any) -> None:
    reply = chat(gpt, temperature=0, seed=3, max_completion_tokens=500)
    assert reply.choices[0].finish_reason == "stop"
    assert numbers_in(reply.choices[0].message.content)
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert reply.id.startswith("chatcmpl-")
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
    assert json.loads(chat(gpt, response_format=wanted).choices[0].message.content)["sentences"]


def test_faults_are_the_errors_of_the_official_clients(gpt: Any) -> None:
    with pytest.raises(openai.BadRequestError, match=r"at `\$\.n`"):
        chat(gpt, n=3)
    names = {
        "rate_limit": "RateLimitError",
        "server_error": "InternalServerError",
        "unavailable": "InternalServerError",
        "unauthorized": "AuthenticationError",
        "cut": "APIConnectionError",
        "truncated_body": "APIConnectionError",
        "hang": "APITimeoutError",
    }
    for fault, name in names.items():
        options = {"timeout": 0.2 if fault == "hang" else 10.0}
        with running_fake_server(SAMPLE, fault_rate=1.0, fault_kinds=(fault,)) as failing:
            with openai_client(failing, **options) as client, pytest.raises(getattr(openai, name)):
                chat(client)
            with anthropic_client(failing, **options) as client, pytest.raises(getattr(anthropic, name)):
                message(client)


def test_openais_own_retries_reach_a_reply_that_is_paid_once() -> None:
    kinds = ("rate_limit", "server_error", "cut")
    with (
        running_fake_server(SAMPLE, fault_rate=0.5, fault_kinds=kinds, retry_after_seconds=0.01) as failing,
        openai_client(failing, max_retries=20) as client,
    ):
        for question in list(QUESTIONS.values())[:4]:
            assert numbers_in(chat(client, question).choices[0].message.content)
        assert failing.totals()["paid"] == 4
        assert failing.totals()["paid_more_than_once"] == 0


def upload(client: Any, lines: list[dict[str, Any]]) -> str:
    content = "\n".join(map(json.dumps, lines)).encode()
    file_id: str = client.files.create(file=("batch.jsonl", io.BytesIO(content)), purpose="batch").id
    return file_id


def lines_of(questions: Mapping[str, str]) -> list[dict[str, Any]]:
    url = "/v1/chat/completions"
    return [
        {"custom_id": name, "method": "POST", "url": url, "body": {"model": "fake", "messages": messages(question)}}
        for name, question in questions.items()
    ]


def begin(client: Any, lines: list[dict[str, Any]]) -> Any:
    endpoint = "/v1/chat/completions"
    return client.batches.create(
        input_file_id=upload(client, lines), endpoint=endpoint, completion_window="24h", metadata={"of": "test"}
    )


def ended(client: Any, batch: Any) -> Any:
    states = {"completed", "expired", "cancelled", "failed"}
    return until(lambda found: found.status in states, lambda: client.batches.retrieve(batch.id))


def rows_of(client: Any, file_id: str | None) -> dict[str, Any]:
    text = client.files.content(file_id).text if file_id else ""
    return {row["custom_id"]: row for row in map(json.loads, text.splitlines())}


def test_openai_batches_are_answered_row_by_row_in_any_order() -> None:
    with running_fake_server(SAMPLE) as fresh, openai_client(fresh) as client:
        batch = begin(client, lines_of(QUESTIONS))
        assert batch.status in {"validating", "in_progress"}
        done = ended(client, batch)
        assert (done.status, done.metadata, done.error_file_id) == ("completed", {"of": "test"}, None)
        assert (done.request_counts.completed, done.request_counts.failed) == (len(QUESTIONS), 0)
        rows = rows_of(client, done.output_file_id)
        assert rows.keys() == QUESTIONS.keys()
        assert list(rows) != list(QUESTIONS)
        for name, question in QUESTIONS.items():
            batched = rows[name]["response"]["body"]["choices"][0]["message"]["content"]
            assert batched == chat(client, question).choices[0].message.content
        totals = fresh.totals()
        assert totals["paid_in_batches"] == len(QUESTIONS)
        assert totals["paid_more_than_once"] == len(QUESTIONS)  # by the chats just above, too
        assert batch.id in [found.id for found in client.batches.list(limit=1)]


def test_openai_batches_that_expire_keep_what_was_finished() -> None:
    with running_fake_server(SAMPLE, expire_rate=0.5, seed=3) as fresh, openai_client(fresh) as client:
        done = ended(client, begin(client, lines_of(QUESTIONS)))
        finished, expired = rows_of(client, done.output_file_id), rows_of(client, done.error_file_id)
        assert done.status == "expired"
        assert finished
        assert expired
        assert finished.keys() | expired.keys() == QUESTIONS.keys()
        assert {row["error"]["code"] for row in expired.values()} == {"batch_expired"}
        assert {row["response"] for row in expired.values()} == {None}
        assert fresh.totals()["expired"] == len(expired)
        again = ended(client, begin(client, lines_of({name: QUESTIONS[name] for name in expired})))
        assert rows_of(client, again.output_file_id)
        assert fresh.totals()["paid_more_than_once"] == 0


def test_openai_batches_hold_rows_that_fail_beside_those_that_do_not() -> None:
    lines = lines_of(QUESTIONS)
    lines[0]["body"]["n"] = 5
    lines[1]["body"]["stream"] = True
    with running_fake_server(SAMPLE) as fresh, openai_client(fresh) as client:
        done = ended(client, begin(client, lines))
        failed = rows_of(client, done.error_file_id)
        assert done.status == "completed"
        assert failed.keys() == {lines[0]["custom_id"], lines[1]["custom_id"]}
        assert {row["response"]["status_code"] for row in failed.values()} == {400}
        assert done.request_counts.failed == 2


def test_anthropic_chats(claude: Any) -> None:
    reply = message(claude, system="Be brief.")
    assert reply.stop_reason == "end_turn"
    assert numbers_in(reply.content[0].text)
    assert reply.usage.input_tokens > 100
    assert reply.usage.output_tokens > 10
    assert message(claude, max_tokens=5).stop_reason == "max_tokens"
    with pytest.raises(anthropic.BadRequestError, match=r"<= 1\.0"):
        message(claude, extra_body={"temperature": 2})
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.batches.retrieve("msgbatch_none")
    tool = {"name": "answer", "input_schema": SCHEMA}
    by_tool = message(claude, tools=[tool], tool_choice={"type": "tool", "name": "answer"})
    assert (by_tool.stop_reason, by_tool.content[0].name) == ("tool_use", "answer")
    assert by_tool.content[0].input["sentences"] == numbers_in(reply.content[0].text)


def requests_of(questions: Mapping[str, str]) -> list[dict[str, Any]]:
    fixed = {"model": "fake", "max_tokens": 4096}
    return [{"custom_id": name, "params": {**fixed, "messages": messages(text)}} for name, text in questions.items()]


def test_anthropic_batches_are_answered_row_by_row() -> None:
    rows = requests_of(QUESTIONS)
    for row in rows[:5]:
        row["params"]["max_tokens"] = 0
    with running_fake_server(SAMPLE, expire_rate=0.3, seed=5) as fresh, anthropic_client(fresh) as client:
        batch = client.messages.batches.create(requests=rows)
        assert batch.processing_status == "in_progress"
        assert batch.request_counts.processing == len(rows)
        done = until(
            lambda found: found.processing_status == "ended", lambda: client.messages.batches.retrieve(batch.id)
        )
        results = {row.custom_id: row.result for row in client.messages.batches.results(batch.id)}
        assert results.keys() == QUESTIONS.keys()
        kinds = [result.type for result in results.values()]
        counts = done.request_counts
        assert counts.processing == counts.canceled == 0
        assert (counts.succeeded, counts.errored, counts.expired) == tuple(
            map(kinds.count, ("succeeded", "errored", "expired"))
        )
        assert counts.succeeded
        assert counts.expired
        errors = [result.error.error.type for result in results.values() if result.type == "errored"]
        assert set(errors) == {"invalid_request_error"}
        for name, result in results.items():
            if result.type == "succeeded":
                assert result.message.content[0].text == message(client, QUESTIONS[name]).content[0].text
        assert [found.id for found in client.messages.batches.list()] == [batch.id]
