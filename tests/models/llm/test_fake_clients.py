"""The official clients of OpenAI and Anthropic work against the server for trials: a real peer, no mirror of ours."""

import io
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import pytest

from evidencebench.data.sample import load_sample
from evidencebench.data.tasks import TASKS
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
    assert reply._request_id.startswith("req_")  # noqa: SLF001 - the client's own name for it
    raw = gpt.chat.completions.with_raw_response.create(model="fake", messages=messages(QUESTION))
    assert raw.headers["x-request-id"]


def test_openai_streams_the_same_reply_in_pieces(gpt: Any) -> None:
    chunks = list(chat(gpt, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    whole = chat(gpt)
    assert text == whole.choices[0].message.content
    assert len(chunks) > 3
    assert chunks[-1].usage == whole.usage
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"


def test_openai_gets_json_of_a_schema_and_a_refusal_in_its_own_field(gpt: Any) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
    assert json.loads(chat(gpt, response_format=wanted).choices[0].message.content)["sentences"]
    with running_fake_server(SAMPLE, personality="refuses") as refusing, openai_client(refusing) as client:
        refused = chat(client, response_format=wanted).choices[0].message
        assert refused.content is None
        assert refused.refusal
        pieces = [chunk.choices[0].delta for chunk in chat(client, response_format=wanted, stream=True)]
        assert "".join(piece.refusal or "" for piece in pieces) == refused.refusal
        assert chat(client).choices[0].message.content == refused.refusal


def test_openai_raises_its_own_errors(gpt: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="<= 1"):
        chat(gpt, n=3)
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        gpt.models.retrieve("none")
    kinds: Mapping[str, type[Exception]] = {
        "rate_limit": openai.RateLimitError,
        "server_error": openai.InternalServerError,
        "unauthorized": openai.AuthenticationError,
        "cut": openai.APIConnectionError,
        "truncated_body": openai.APIConnectionError,
        "hang": openai.APITimeoutError,
    }
    for fault, kind in kinds.items():
        with (
            running_fake_server(SAMPLE, fault_rate=1.0, fault_kinds=(fault,)) as failing,
            openai_client(failing, timeout=0.2 if fault == "hang" else 10.0) as client,
            pytest.raises(kind),
        ):
            chat(client)


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


def test_openai_lists_models(gpt: Any) -> None:
    assert "oracle" in [model.id for model in gpt.models.list()]
    assert gpt.models.retrieve("lead").id == "lead"


def test_openai_keeps_files(gpt: Any) -> None:
    content = b'{"odd": "\\r\\n--bytes"}\r\n\r\n--'
    made = gpt.files.create(file=("name.jsonl", io.BytesIO(content)), purpose="batch")
    assert (made.filename, made.bytes, made.purpose) == ("name.jsonl", len(content), "batch")
    assert gpt.files.retrieve(made.id) == made
    assert gpt.files.content(made.id).content == content
    assert made.id in [file.id for file in gpt.files.list()]
    assert gpt.files.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError):
        gpt.files.retrieve(made.id)


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


def test_openai_batches_can_be_cancelled_and_files_that_are_not_batches_fail() -> None:
    with running_fake_server(SAMPLE, batch_delay_seconds=60.0) as slow, openai_client(slow) as client:
        batch = begin(client, lines_of(QUESTIONS))
        assert client.batches.cancel(batch.id).status == "cancelling"
        twice = lines_of(QUESTIONS)[:1] * 2
        for lines in (twice, [{"custom_id": "no more"}], [{**twice[0], "url": "/v1/embeddings"}]):
            broken = begin(client, lines)
            assert broken.status == "failed"
            assert broken.errors.data[0].message
        other = client.files.create(file=("a", io.BytesIO(b"a")), purpose="user_data").id
        with pytest.raises(openai.BadRequestError, match="purpose"):
            client.batches.create(input_file_id=other, endpoint="/v1/chat/completions", completion_window="24h")


def test_anthropic_chats(claude: Any) -> None:
    reply = message(claude, system="Be brief.")
    assert reply.stop_reason == "end_turn"
    assert numbers_in(reply.content[0].text)
    assert reply.usage.input_tokens > 100
    assert reply.usage.output_tokens > 10
    assert message(claude, max_tokens=5).stop_reason == "max_tokens"
    blocks = [{"type": "text", "text": QUESTION}]
    parted = claude.messages.create(model="fake", max_tokens=4096, messages=[{"role": "user", "content": blocks}])
    assert parted.content == message(claude).content


def test_anthropic_streams_the_same_reply_in_pieces(claude: Any) -> None:
    with claude.messages.stream(model="fake", max_tokens=4096, messages=messages(QUESTION)) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    whole = message(claude)
    assert len(pieces) > 1
    assert "".join(pieces) == whole.content[0].text == final.content[0].text
    assert final.stop_reason == "end_turn"
    assert final.usage.output_tokens == whole.usage.output_tokens


def test_anthropic_gets_json_of_a_schema_or_a_tool_that_it_forces(claude: Any) -> None:
    format_ = {"type": "json_schema", "schema": SCHEMA}
    by_format = json.loads(message(claude, output_config={"format": format_, "effort": "low"}).content[0].text)
    tool = {"name": "answer", "input_schema": SCHEMA}
    choice = {"type": "tool", "name": "answer"}
    by_tool = message(claude, tools=[tool], tool_choice=choice)
    assert by_tool.stop_reason == "tool_use"
    assert by_tool.content[0].name == "answer"
    assert by_tool.content[0].input == by_format
    assert by_format["sentences"]
    with claude.messages.stream(
        model="fake", max_tokens=4096, messages=messages(QUESTION), tools=[tool], tool_choice=choice
    ) as stream:
        assert stream.get_final_message().content[0].input == by_format


def test_anthropic_gets_thinking_before_the_reply_and_pays_for_it(claude: Any) -> None:
    plain = message(claude)
    for options in (
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
    ):
        reply = message(claude, **options)
        assert [block.type for block in reply.content] == ["thinking", "text"]
        assert reply.content[1] == plain.content[0]
        assert reply.usage.output_tokens > plain.usage.output_tokens + 60
        with claude.messages.stream(model="fake", max_tokens=4096, messages=messages(QUESTION), **options) as stream:
            streamed = stream.get_final_message().content
        assert streamed[0] == reply.content[0]
        assert streamed[1].text == reply.content[1].text
    with pytest.raises(anthropic.BadRequestError, match="below max_tokens"):
        message(claude, thinking={"type": "enabled", "budget_tokens": 5000})


def test_anthropic_gets_refusals_and_empty_replies() -> None:
    with running_fake_server(SAMPLE) as server, anthropic_client(server) as client:
        refused = client.messages.create(model="refuses", max_tokens=99, messages=messages(QUESTION))
        assert refused.stop_reason == "refusal"
        empty = client.messages.create(model="silent", max_tokens=99, messages=messages(QUESTION))
        assert (empty.content, empty.stop_reason) == ([], "end_turn")


def test_anthropic_raises_its_own_errors(claude: Any) -> None:
    with pytest.raises(anthropic.BadRequestError, match=r"<= 1\.0"):
        message(claude, extra_body={"temperature": 2})
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.batches.retrieve("msgbatch_none")
    kinds: Mapping[str, type[Exception]] = {
        "rate_limit": anthropic.RateLimitError,
        "server_error": anthropic.InternalServerError,
        "unavailable": anthropic.InternalServerError,
        "unauthorized": anthropic.AuthenticationError,
        "cut": anthropic.APIConnectionError,
    }
    for fault, kind in kinds.items():
        with (
            running_fake_server(SAMPLE, fault_rate=1.0, fault_kinds=(fault,)) as failing,
            anthropic_client(failing) as client,
            pytest.raises(kind),
        ):
            message(client)


def test_anthropic_lists_models(claude: Any) -> None:
    assert "oracle" in [model.id for model in claude.models.list()]
    assert claude.models.retrieve("lead").display_name == "lead"


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


def test_anthropic_batches_can_be_cancelled_and_have_no_results_before_their_end() -> None:
    with running_fake_server(SAMPLE, batch_delay_seconds=1.0) as slow, anthropic_client(slow) as client:
        batches = client.messages.batches
        batch = batches.create(requests=requests_of(QUESTIONS))
        assert batch.results_url is None
        assert batches.cancel(batch.id).processing_status == "canceling"
        done = until(lambda found: found.processing_status == "ended", lambda: batches.retrieve(batch.id))
        assert done.request_counts.canceled > 0
        assert done.request_counts.canceled + done.request_counts.succeeded == len(QUESTIONS)
        with pytest.raises(anthropic.BadRequestError, match="more than once"):
            batches.create(requests=requests_of(QUESTIONS)[:1] * 2)
