"""The official clients of OpenAI and Anthropic work against the server for trials: a real peer, no mirror of ours."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from evidencebench import load_sample
from kit.command_line import until
from kit.fake_models import RunningServer, running_fake_server
from kit.marked_prompts import messages, prompt

SAMPLE = load_sample()
QUESTIONS = {query.instance_id: prompt(query) for query in SAMPLE.queries()}
Thing = TypeVar("Thing")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def asked_until(ready: Callable[[Thing], bool], ask: Callable[[], Thing]) -> Thing:
    """Ask until it is ready."""
    asked: list[Thing] = []

    def is_ready() -> bool:
        asked.append(ask())
        return ready(asked[-1])

    until(is_ready)
    return asked[-1]


def chat(client: Any, text: str, **options: Any) -> Any:
    return client.chat.completions.create(model="fake", messages=messages(text), **options)


@contextmanager
def clients(**options: Any) -> Iterator[tuple[RunningServer, Any, Any]]:
    """Give a server, and the clients of OpenAI and Anthropic that ask it."""
    # Slow to import, so here.
    anthropic = pytest.importorskip("anthropic", reason="needs the extra 'test'")
    openai = pytest.importorskip("openai", reason="needs the extra 'test'")
    with (
        running_fake_server(SAMPLE, **options) as server,
        openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=0) as gpt,
        anthropic.Anthropic(base_url=server.root_url, api_key="any", max_retries=0) as claude,
    ):
        yield server, gpt, claude


def test_openai_chats() -> None:
    with clients() as (_, gpt, _):
        reply = chat(gpt, next(iter(QUESTIONS.values())), temperature=0, seed=3, max_completion_tokens=500)
        assert reply.choices[0].finish_reason == "stop"
        assert "ANSWER: [" in reply.choices[0].message.content
        assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
        *parts, last = chat(
            gpt, next(iter(QUESTIONS.values())), temperature=0, seed=3, max_completion_tokens=500, stream=True
        )
        words = [part.choices[0].delta.content or "" for part in parts]
        assert "".join(words) == reply.choices[0].message.content
        assert (len(words) > 5, last.usage) == (True, reply.usage)
        import openai  # noqa: PLC0415 - slow to import

        with pytest.raises(openai.BadRequestError, match=r"at `\$\.n`"):
            chat(gpt, "Hello", n=3)


def test_openai_batches_are_answered_row_by_row_in_any_order_beside_rows_that_fail() -> None:
    url = "/v1/chat/completions"
    bodies: dict[str, dict[str, Any]] = {
        name: {"model": "fake", "messages": messages(text)} for name, text in QUESTIONS.items()
    }
    wrong = list(bodies)[:2]
    bodies[wrong[0]]["n"], bodies[wrong[1]]["max_tokens"] = 5, 0
    lines = [{"custom_id": name, "method": "POST", "url": url, "body": body} for name, body in bodies.items()]

    def rows_of(file_id: str) -> dict[str, Any]:
        return {row["custom_id"]: row for row in map(json.loads, client.files.content(file_id).text.splitlines())}

    with clients() as (server, client, _):
        content = "\n".join(map(json.dumps, lines)).encode()
        file_id = client.files.create(file=("batch.jsonl", io.BytesIO(content)), purpose="batch").id
        batch = client.batches.create(
            input_file_id=file_id, endpoint=url, completion_window="24h", metadata={"of": "test"}
        )
        assert batch.status in {"validating", "in_progress"}
        done = asked_until(lambda found: found.status == "completed", lambda: client.batches.retrieve(batch.id))
        assert done.metadata == {"of": "test"}
        assert (done.request_counts.completed, done.request_counts.failed) == (len(QUESTIONS) - 2, 2)
        rows, failed = rows_of(done.output_file_id), rows_of(done.error_file_id)
        assert {row["response"]["status_code"] for row in failed.values()} == {400}
        assert failed.keys() == set(wrong)
        assert rows.keys() == set(QUESTIONS) - set(wrong)
        assert list(rows) != list(QUESTIONS)[2:]
        for name, row in rows.items():
            batched = row["response"]["body"]["choices"][0]["message"]["content"]
            assert batched == chat(client, QUESTIONS[name]).choices[0].message.content
        totals = server.totals()
        assert totals["paid_in_batches"] == totals["paid_more_than_once"] == len(rows)  # by the chats, too
        assert batch.id in [found.id for found in client.batches.list(limit=1)]


def test_anthropic_batches_are_answered_row_by_row_fail_and_expire() -> None:
    fixed = {"model": "fake", "max_tokens": 4096}
    rows: list[dict[str, Any]] = [
        {"custom_id": name, "params": fixed | {"messages": messages(text)}} for name, text in QUESTIONS.items()
    ]
    for row in rows[:5]:
        row["params"]["max_tokens"] = 0
    with clients(expire_rate=0.3, seed=5) as (_, _, client):
        batch = client.messages.batches.create(requests=rows)
        assert (batch.processing_status, batch.request_counts.processing) == ("in_progress", len(rows))
        done = asked_until(
            lambda found: found.processing_status == "ended", lambda: client.messages.batches.retrieve(batch.id)
        )
        results = {row.custom_id: row.result for row in client.messages.batches.results(batch.id)}
        assert results.keys() == QUESTIONS.keys()
        kinds = [result.type for result in results.values()]
        counts = done.request_counts
        expected = tuple(map(kinds.count, ("succeeded", "errored", "expired")))
        assert (counts.succeeded, counts.errored, counts.expired) == expected
        assert all(expected)
        errors = [result.error.error.type for result in results.values() if result.type == "errored"]
        assert set(errors) == {"invalid_request_error"}
        for name, result in results.items():
            if result.type == "succeeded":
                reply = client.messages.create(**fixed, messages=messages(QUESTIONS[name]))
                assert result.message.content[0].text == reply.content[0].text
        assert [found.id for found in client.messages.batches.list()] == [batch.id]
