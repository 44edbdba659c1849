"""How requests are written and replies are read."""

import json
from typing import Any

import pytest

from doors import (
    PROVIDERS,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    SystemSpecError,
    TransientError,
    Usage,
    asks_json,
    path_and_body,
    server_of,
)
from doors import read_reply as reply_of
from doors import request_body as body_of
from kit.llm_servers import completion

MESSAGES = (Message("user", "Hello"),)
SCHEMA = {"type": "object", "properties": {"sentences": {"type": "array", "items": {"type": "integer"}}}}


def request(model: str, **options: Any) -> ChatRequest:
    chat = ChatModel(model=model, **{"structured": False} | options)
    return chat.request(MESSAGES, SCHEMA if asks_json(chat) else None)


def openai(**changes: Any) -> ChatReply:
    return reply_of("openai", json.dumps(completion(**changes)).encode())


def choice(message: dict[str, Any], finish: Any = "stop") -> list[dict[str, Any]]:
    return [{"message": message, "finish_reason": finish}]


def anthropic(content: Any, stop: str = "end_turn", **more: Any) -> ChatReply:
    return reply_of("anthropic", json.dumps({"content": content, "stop_reason": stop} | more).encode())


def test_a_request_to_openai_holds_what_was_asked_and_nothing_else() -> None:
    path, body = path_and_body(request("openai/gpt-4o", seed=3, max_tokens=9))
    assert path == "/chat/completions"
    assert json.loads(body) == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Hello"}],
        "max_completion_tokens": 9,
        "seed": 3,
    }


def test_options_and_a_schema_are_sent_as_each_provider_takes_them() -> None:
    options: dict[str, Any] = {"temperature": 0.0, "top_p": 0.9, "reasoning_effort": "low"}
    body = body_of(request("vllm/org/model", **options, structured=True))
    assert body | options | {"model": "org/model", "max_tokens": 4096} == body
    strict = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}
    assert body["response_format"] == strict
    body = body_of(request("anthropic/m", structured=True))
    assert body["tool_choice"] == {"type": "tool", "name": body["tools"][0]["name"]}
    assert body["tools"][0]["input_schema"] == SCHEMA


def test_more_fields_go_along_and_make_another_request_however_they_are_spelled() -> None:
    plain, more, same = (
        request("openrouter/m", extra_body=text)
        for text in (None, '{"provider": {"order": ["a"]}, "n_probs": 1}', '{"n_probs":1,"provider":{"order":["a"]}}')
    )
    assert body_of(more) == body_of(plain) | {"provider": {"order": ["a"]}, "n_probs": 1}
    assert more.key == same.key != plain.key


def test_the_key_of_a_request_without_later_options_stays() -> None:
    """Replies that were stored before there were these options are found."""
    assert request("openai/m", structured=False).key.startswith("e357879ac2b657288d4b")


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_a_seed_is_sent_by_the_name_that_the_provider_gives_it_or_not_at_all(name: str) -> None:
    body, row = body_of(request(f"{name}/m", seed=7)), PROVIDERS[name]
    seeds = {key: value for key, value in body.items() if "seed" in key}
    assert seeds == ({row.seed_field: 7} if row.seed_field else {})
    assert body[row.max_tokens_field] == 4096


def test_a_request_to_anthropic_holds_what_was_asked_and_nothing_else() -> None:
    path, body = path_and_body(request("anthropic/claude", temperature=0.5, seed=4))
    assert path == "/messages"
    assert json.loads(body) == {
        "model": "claude",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0.5,
    }


def test_a_request_by_the_responses_protocol_holds_what_was_asked_and_nothing_else() -> None:
    path, body = path_and_body(request("openai-responses/gpt", seed=3, structured=True, reasoning_effort="low"))
    assert path == "/responses"
    assert json.loads(body) == {
        "model": "gpt",
        "input": [{"type": "message", "role": "user", "content": "Hello"}],  # llama.cpp wants the type
        "max_output_tokens": 4096,
        "store": False,
        "stream": False,  # some servers stream otherwise
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "reply", "strict": True, "schema": SCHEMA}},
    }


MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}
CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


@pytest.mark.parametrize(
    ("output", "more", "text", "finish"),
    [
        ([{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}, MESSAGE], {}, "A", "stop"),
        ([MESSAGE, MESSAGE], {}, "AA", "stop"),
        ([{"type": "reasoning", "summary": []}], CUT, "", "length"),
        ([MESSAGE], {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "A", "refused"),
        ([{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}], {}, "No.", "refused"),
        ([{"type": "function_call", "name": "reply", "arguments": '{"ids": [1]}'}], {}, '{"ids": [1]}', "tool"),
    ],
)
def test_items_of_the_responses_protocol_are_read(output: Any, more: dict[str, Any], text: str, finish: str) -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 80},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 40},
        "total_tokens": 150,
    }
    body = {"model": "m-2026", "status": "completed", "error": None, "output": output, "usage": usage} | more
    found = reply_of("responses", json.dumps(body).encode())
    assert (found.text, found.finish, found.served_by) == (text, finish, "m-2026")
    assert found.usage == Usage(prompt_tokens=100, completion_tokens=50, cached_tokens=80, reasoning_tokens=40)


@pytest.mark.parametrize("odd", [{"output": []}, {"output": "A"}, {}, {"error": {"message": "x"}, "output": [MESSAGE]}])
def test_a_body_of_the_responses_protocol_without_a_reply_passes(odd: dict[str, Any]) -> None:
    with pytest.raises(TransientError):
        reply_of("responses", json.dumps({"status": "completed"} | odd).encode())


def test_anthropics_reasoning_is_a_word_or_a_number_of_tokens_and_no_tool_is_forced_then() -> None:
    def body(effort: str) -> dict[str, Any]:
        return body_of(request("anthropic/m", structured=True, reasoning_effort=effort))

    form = {"type": "json_schema", "schema": SCHEMA}
    assert body("high")["output_config"] == {"effort": "high", "format": form}
    assert body("high")["thinking"] == {"type": "adaptive"}
    assert body("2000")["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert body("2000")["output_config"] == {"format": form}
    assert "tools" not in body("high")
    for wrong in ("12", "4096", "9" * 99):
        with pytest.raises(SystemSpecError, match=r"1024.*max_tokens=4096"):
            body(wrong)


@pytest.mark.parametrize(
    ("message", "finish", "text", "expected"),
    [
        ({"content": "Yes."}, "stop", "Yes.", "stop"),
        ({"content": "Yes."}, None, "Yes.", "other"),
        ({"content": "Yes."}, "tool_calls", "Yes.", "tool"),
        ({"content": None, "tool_calls": [{"id": "1", "type": "function"}]}, "stop", "", "tool"),
        ({"content": "", "function_call": {"name": "search"}}, None, "", "tool"),
        (
            {"content": None, "tool_calls": [{"function": {"arguments": '{"ids": [1]}'}}]},
            "tool_calls",
            '{"ids": [1]}',
            "tool",
        ),
        ({"content": "So:", "function_call": {"arguments": {"ids": [1]}}}, "stop", 'So:\n\n{"ids":[1]}', "tool"),
        ({"tool_calls": [{"function": {"arguments": '{"ids": [1'}}]}, "length", '{"ids": [1', "length"),
        ({"content": None, "tool_calls": "x"}, "stop", "", "tool"),
        ({"content": None, "tool_calls": [7, []]}, "stop", "", "tool"),
        ({"content": None, "tool_calls": {"function": 7}}, "stop", "", "tool"),
        ({"content": None}, "length", "", "length"),
        ({"content": None}, "stop", "", "stop"),
        ({"content": ""}, "content_filter", "", "refused"),
        ({"content": None, "refusal": "I cannot."}, "stop", "I cannot.", "refused"),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "stop", "No.", "refused"),
        ({"content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}, "stop", "AB", "stop"),
        ({"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}, {"text": "A"}]}, "stop", "A", "stop"),
        ({"content": "A", "reasoning_content": "hm", "tool_calls": []}, "stop", "A", "stop"),
    ],
)
def test_a_message_is_read_in_every_form_that_servers_give_it(
    message: dict[str, Any], finish: str | None, text: str, expected: str
) -> None:
    found = openai(choices=choice(message, finish))
    assert (found.text, found.finish) == (text, expected)


@pytest.mark.parametrize(
    ("content", "stop", "text", "expected"),
    [
        ([{"type": "text", "text": "Yes."}], "end_turn", "Yes.", "stop"),
        (
            [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A"}],
            "end_turn",
            "A",
            "stop",
        ),
        ([{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "A"}], "max_tokens", "A", "length"),
        ([{"type": "text", "text": "A"}, {"type": "text", "text": "B"}], "stop_sequence", "AB", "stop"),
        ([{"type": "tool_use", "id": "1", "name": "reply", "input": {"sentences": [1]}}], "tool_use", None, "stop"),
        ([{"type": "tool_use", "id": "1", "name": "search", "input": {"sentences": [1]}}], "tool_use", None, "tool"),
        ([{"type": "tool_use", "id": "1", "name": "search", "input": {}}], "tool_use", "", "tool"),
        ([], "refusal", "", "refused"),
        ([], "pause_turn", "", "other"),
    ],
)
def test_blocks_are_read_without_the_thinking(content: Any, stop: str, text: str | None, expected: str) -> None:
    found = anthropic(content, stop)
    assert found.finish == expected
    assert json.loads(found.text) == {"sentences": [1]} if text is None else found.text == text


def test_tokens_are_read_and_cached_ones_are_part_of_the_prompt() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 80},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }
    expected = Usage(prompt_tokens=100, completion_tokens=50, cached_tokens=80, reasoning_tokens=40)
    assert openai(usage=usage).usage == expected
    told = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20}
    assert anthropic([], usage=told).usage == Usage(
        prompt_tokens=100, completion_tokens=5, cached_tokens=70, written_tokens=20
    )
    hit = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}
    assert openai(usage=hit).usage.cached_tokens == 4


@pytest.mark.parametrize(
    ("told", "stated_usd"),
    [
        ({"cost": 0.00014}, 0.00014),
        ({"cost": 0}, 0.0),
        ({"cost": 0.01, "is_byok": False}, 0.01),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, None),
        *(({"cost": wrong}, None) for wrong in (-1, 1e300, "0.01", None, True, {"total_cost": 1})),
        ({}, None),
    ],
)
def test_a_stated_cost_is_read_and_an_absurd_one_costs_no_tokens(
    told: dict[str, Any], stated_usd: float | None
) -> None:
    usage = openai(usage={"prompt_tokens": 100, "completion_tokens": 5} | told).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (100, 5)
    assert usage.stated_usd == stated_usd


def test_thinking_that_is_in_the_total_only_is_part_of_the_reply() -> None:
    told = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 145}
    assert openai(usage=told).usage == Usage(prompt_tokens=100, completion_tokens=45, reasoning_tokens=40)
    assert openai(usage=told | {"total_tokens": 7}).usage == Usage(prompt_tokens=100, completion_tokens=5)


@pytest.mark.parametrize(
    "changes",
    [
        {"error": {"message": "upstream failed", "code": 502}},
        {"error": "upstream failed"},
        {"choices": [{"error": {"message": "upstream failed"}, "finish_reason": "error"}]},
        {"choices": [{"error": {"message": "upstream failed"}, "message": {"content": "ANSWER: [1"}}]},
        {"choices": [{"message": {"content": "upstream failed"}, "finish_reason": "error"}]},
    ],
)
def test_an_error_in_the_place_of_a_reply_or_beside_one_passes(changes: dict[str, Any]) -> None:
    with pytest.raises(TransientError, match=r"error: (upstream failed|not told)"):
        openai(**changes)


@pytest.mark.parametrize(
    "usage",
    [None, {}, [], "many", {"prompt_tokens": -1}, {"prompt_tokens": 10**30}, {"prompt_tokens": 1.5}, {"x": [[[]]]}],
)
def test_tokens_that_are_no_tokens_are_unknown_and_lose_no_reply(usage: Any) -> None:
    assert openai(usage=usage, error=usage and {}) == ChatReply(text="ANSWER: [1]", served_by="m-2026")
    assert anthropic([{"type": "text", "text": "A"}], usage=usage) == ChatReply(text="A")


@pytest.mark.parametrize(
    ("told", "kept"), [("m\x1b[2J\nx", "m\N{REPLACEMENT CHARACTER}[2J x"), ("m" * 9999, "m" * 120), (7, ""), (None, "")]
)
def test_the_name_of_who_served_is_short_and_harmless(told: Any, kept: str) -> None:
    assert openai(model=told).served_by == kept
    assert anthropic([], model=told).served_by == kept


@pytest.mark.parametrize(
    ("model", "base_url", "address"),
    [
        ("openai/m", None, "https://api.openai.com/v1/chat/completions"),
        ("local/m", "http://localhost:1/v1/", "http://localhost:1/v1/chat/completions"),
        ("vllm/m", None, "http://127.0.0.1:8000/v1/chat/completions"),
        (
            "azure/m",
            "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
    ],
)
def test_addresses_are_put_together(model: str, base_url: str | None, address: str) -> None:
    assert server_of(ChatModel(model=model, base_url=base_url)).address("/chat/completions") == address


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("gpt-4o", {}, "expected provider/name, such as openai/NAME"),
        ("nobody/m", {"base_url": "http://localhost/v1"}, "your own server local/NAME"),
        ("local/m", {}, "base_url: .*got none"),
        ("azure/m", {"base_url": "https://x.org/openai/deployments/d"}, "api-version=DATE"),
        ("azure/m", {"base_url": "https://x.org/v1?api-key=1"}, "without .*query"),
        ("openai/m", {"base_url": "https://x.org/v1?api-version=1"}, "query"),
        ("local/m", {"base_url": "localhost:8000"}, "http or https"),
        ("local/m", {"base_url": "http://localhost/v1\nx"}, "http or https"),
        ("local/m", {"base_url": "http://localhost/v1/chat/completions"}, "before /chat/completions"),
        ("openai/m", {"base_url": "https://x.org/v1"}, "key_env=OPENAI_API_KEY"),
        *((f"{name}/m", {"base_url": ""}, "'base_url='.*shell variable") for name in PROVIDERS),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_to_do(model: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(SystemSpecError, match=message):
        server_of(ChatModel(model=model, **options))  # type: ignore[arg-type] # mypy takes the values for any option's


def test_keys_go_in_the_header_that_each_provider_reads() -> None:
    assert PROVIDERS["openai"].headers("k") == {"Authorization": "Bearer k"}
    assert PROVIDERS["azure"].headers("k") == {"api-key": "k"}
    assert PROVIDERS["anthropic"].headers("k") == {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    assert PROVIDERS["local"].headers("") == {}


def events(*given: Any, ends: str = "") -> bytes:
    return "".join(f"event: any\ndata: {json.dumps(one)}\n\n" for one in given).encode() + ends.encode()


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "c", "model": "served", "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


STREAMS: dict[str, tuple[Any, bytes]] = {
    "chat completions": (
        "openai",
        b": a comment\n\n"
        + events(
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": "ANSWER: "}),
            chunk({"content": "[1]", "reasoning_content": "thinks"}),
            chunk({}, "length"),
            {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
            ends="data: [DONE]\n\n",
        ),
    ),
    "messages": (
        "anthropic",
        events(
            {"type": "message_start", "message": {"model": "served", "content": [], "usage": {"input_tokens": 7}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "thinks"}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ANSWER: "}},
            {"type": "ping"},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "[1]"}},
            {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ),
    ),
    "responses": (
        "responses",
        events(
            {"type": "response.output_text.delta", "delta": "ANSWER: "},
            {
                "type": "response.incomplete",
                "response": {
                    "model": "served",
                    "status": "incomplete",
                    "incomplete_details": {"reason": "max_output_tokens"},
                    "output": [{"type": "message", "content": [{"type": "output_text", "text": "ANSWER: [1]"}]}],
                    "usage": {"input_tokens": 7, "output_tokens": 3},
                },
            },
        ),
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_reply_that_came_word_by_word_is_the_one_that_would_have_come_at_once(name: str) -> None:
    wire, content = STREAMS[name]
    usage = Usage(prompt_tokens=7, completion_tokens=3)
    assert reply_of(wire, content) == ChatReply(text="ANSWER: [1]", finish="length", usage=usage, served_by="served")


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_ends_early_or_in_an_error_is_no_reply(name: str) -> None:
    wire, content = STREAMS[name]
    parts = content.split(b"event: any\n")
    begun = b"".join(parts[:-3] if name == "chat completions" else parts[:2])
    with pytest.raises(TransientError, match=r"stream.*its end"):
        reply_of(wire, begun)
    with pytest.raises(TransientError, match=r"an error.*busy"):
        reply_of(wire, begun + events({"type": "error", "error": {"message": "busy"}}))


@pytest.mark.parametrize(
    "content",
    [
        events(chunk({"content": "ANSWER: "}), chunk({"content": "[1]"}), ends="data: [DONE]\n\n"),
        b"\xef\xbb\xbf" + events(chunk({"content": "ANSWER: [1]"}), chunk({}, "other")),
        events(chunk({"content": [{"type": "text", "text": "ANSWER: "}, {"text": "[1]"}]}), chunk({}, "other")),
        events(chunk({"content": "ANSWER: [1]"}), chunk({}, "other")).replace(b'"index"', b'\r\ndata: "index"'),
        events(chunk({"content": "ANSWER: [1]"}), chunk({}, "other")).replace(b"\n\n", b"\n"),
    ],
    ids=["no reason", "byte order mark", "parts", "data on two lines", "no empty lines"],
)
def test_streams_of_servers_that_are_less_exact_are_read(content: bytes) -> None:
    reply = reply_of("openai", content)
    assert (reply.text, reply.finish) == ("ANSWER: [1]", "other")


@pytest.mark.parametrize(
    "reason",
    ["content_filter: PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "content_filter", "IMAGE_SAFETY"],
)
@pytest.mark.parametrize(
    "message", [{}, {"message": None}, {"message": {"role": "assistant"}}, {"message": {"content": ""}}]
)
def test_what_a_filter_withholds_is_a_refusal_with_or_without_a_message(reason: str, message: dict[str, Any]) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 0}
    body = {"choices": [{"index": 0, "finish_reason": reason} | message], "usage": usage}
    withheld = ChatReply(text="", finish="refused", usage=Usage(prompt_tokens=7, completion_tokens=0))
    assert reply_of("openai", json.dumps(body).encode()) == withheld
    assert reply_of("openai", events(chunk({}, reason), {"choices": [], "usage": usage})).finish == "refused"


@pytest.mark.parametrize("status", ["in_progress", "queued"])
def test_a_response_that_is_not_finished_is_no_reply(status: str) -> None:
    body = {"status": status, "output": [{"type": "message", "content": [{"type": "output_text", "text": "ANSWER:"}]}]}
    with pytest.raises(TransientError, match=status):
        reply_of("responses", json.dumps(body).encode())


@pytest.mark.parametrize("wire", ["openai", "anthropic", "responses"])
@pytest.mark.parametrize(
    "event", [{"choices": 3}, {"delta": [], "index": []}, {"content_block": 1}, {"choices": [[], 1]}]
)
def test_events_of_any_form_are_no_reply(wire: Any, event: dict[str, Any]) -> None:
    with pytest.raises(TransientError):
        reply_of(wire, events(event))


def test_what_a_stream_calls_and_its_probabilities_are_put_together() -> None:
    def called(arguments: str) -> dict[str, Any]:
        return chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]})

    assert (
        reply_of("openai", events(called('{"answer":'), called("[4]}"), chunk({}, "tool_calls"))).text
        == '{"answer":[4]}'
    )
    tokens: list[dict[str, Any]] = [{"token": text, "logprob": -0.5, "top_logprobs": []} for text in ("0: ", "7")]
    parts = [chunk({"content": one["token"]}, logprobs={"content": [one]}) for one in tokens]
    assert reply_of("openai", events(*parts, chunk({}, "stop"))).expected_scores == ((3, 7.0),)
    block = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "name": "reply", "input": {}},
    }
    parts = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}
        for text in ('{"answer":', "[4]}")
    ]
    last = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}
    assert reply_of("anthropic", events(block, *parts, last)).text == '{"answer":[4]}'


def test_words_are_asked_for_one_by_one_without_another_key_and_never_in_a_batch() -> None:
    plain, streamed = (request("vllm/m", stream=stream) for stream in (None, True))
    assert streamed.key == plain.key
    assert json.loads(path_and_body(streamed)[1]) == body_of(plain) | {
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert body_of(streamed) == body_of(plain)
    for model in ("anthropic/m", "openai-responses/m"):
        body = json.loads(path_and_body(request(model, stream=True))[1])
        assert body["stream"] is True
        assert "stream_options" not in body
