"""Messages from servers that are damaged in any way: no exception escapes, and no paid reply is lost for a field."""

import io
import json
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    APIS,
    ChatModel,
    ChatReply,
    Message,
    ReplyCache,
    ResultRow,
    TransientError,
    Usage,
    Wire,
    is_withheld,
    path_and_body,
    read_rows,
    refusal_text,
)
from doors import read_reply as reply_of
from kit.examples import examples
from kit.llm_servers import completion
from kit.mutations import STRANGE, mutations
from kit.replies import numbered

WIRES: tuple[Wire, ...] = ("openai", "anthropic")
TEXT = "ANSWER: [3, 17] é"
KEY = "0123456789abcdef" * 4


def message(wire: Wire, text: str = TEXT) -> dict[str, Any]:
    """Return a whole reply as a provider writes it, with fields that nobody reads."""
    if wire == "openai":
        body = completion(text, id="chatcmpl-1", system_fingerprint=None, service_tier="default")
        body["choices"][0] |= {"index": 0, "logprobs": {"content": [{"token": "AN", "logprob": -0.5, "bytes": [65]}]}}
        return body
    return {
        "id": "msg_1",
        "type": "message",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text, "citations": None}],
        "model": "claude-x",
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 2, "service_tier": "standard"},
    }


def line(wire: Wire, body: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a batch's results."""
    if wire == "openai":
        return {"id": "r", "custom_id": KEY, "response": {"status_code": 200, "body": body}, "error": None}
    return {"custom_id": KEY, "result": {"type": "succeeded", "message": body}}


def row_in(wire: Wire, content: bytes) -> ResultRow:
    (row,) = read_rows(APIS[wire], io.BytesIO(content))
    return row


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_what_stands_in_a_field_that_nobody_reads_loses_no_reply(wire: Wire, strange: bytes) -> None:
    whole = json.dumps(message(wire) | {"unread": "HERE"}).encode()
    content = whole.replace(b'"HERE"', strange)
    assert reply_of(wire, content) == reply_of(wire, whole)
    assert reply_of(wire, content).text == TEXT
    row = row_in(
        wire, json.dumps(line(wire, {"x": "LINE"})).encode().replace(b'{"x": "LINE"}', content.strip()) + b"\n"
    )
    assert row.reply == reply_of(wire, whole)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("strange", "text"),
    [
        (rb"a\ud800b", "a�b"),
        (rb"\ud83d\ude00\ud83d", "\N{GRINNING FACE}�"),
        (b"a\xffb", "a�b"),
        (b"a\x00\x1bb", "a\x00\x1bb"),
    ],
)
def test_a_reply_whose_text_is_not_unicode_is_kept_with_what_can_be_read_of_it(
    wire: Wire, strange: bytes, text: str, tmp_path: Any
) -> None:
    content = json.dumps(message(wire, "HERE")).encode().replace(b"HERE", strange)
    reply = reply_of(wire, content)
    assert reply.text == text
    assert reply.usage.prompt_tokens == 10
    cache = ReplyCache(tmp_path)
    cache.put(numbered(0), reply, 0.5)
    assert cache.find(numbered(0).key) == (reply, 0.5)
    cache.close()


@pytest.mark.parametrize(
    ("wire", "changes"),
    [
        ("openai", {"choices": [{"message": {"content": 7}}]}),
        ("openai", {"choices": [{"message": {"content": [{"type": "text", "text": 7}]}}]}),
        ("openai", {"choices": {"message": {"content": "x"}}}),
        ("anthropic", {"content": [{"type": "text", "text": {}}]}),
        ("anthropic", {"content": "x"}),
    ],
)
def test_a_text_that_cannot_be_read_is_no_blank_reply(wire: Wire, changes: dict[str, Any]) -> None:
    with pytest.raises(TransientError):
        reply_of(wire, json.dumps(message(wire) | changes).encode())


@pytest.mark.parametrize("wire", WIRES)
@examples(150)
@given(seed=st.integers(0, 2**32))
def test_a_message_changed_anywhere_is_a_reply_or_passes_and_a_line_is_a_row(wire: Wire, seed: int) -> None:
    rng = random.Random(seed)
    whole = json.dumps(message(wire), ensure_ascii=rng.random() < 0.5).encode()
    for content in mutations(rng, whole):
        with suppress(TransientError):
            assert_storable(reply_of(wire, content))
        refusal_text(content)
    whole = json.dumps(line(wire, message(wire))).encode() + b"\n"
    for content in mutations(rng, whole):
        for row in read_rows(APIS[wire], io.BytesIO(content)):
            assert row.is_damaged or row.reply is not None or row.failure or row.key
            if row.reply is not None:
                assert_storable(row.reply)


@pytest.mark.parametrize("wire", WIRES)
def test_a_prompt_and_a_refusal_that_are_not_unicode_are_used_with_what_can_be_read_of_them(wire: Wire) -> None:
    request = ChatModel(model=f"{wire}/m").request((Message("user", "a\ud800b \ud83d\ude00"),))
    assert request.messages == (Message("user", "a�b \N{GRINNING FACE}"),)
    assert "a�b".encode() in path_and_body(request)[1]
    said = b'{"error": {"message": "No: \\ud800", "code": [], "metadata": {"flagged_input": NaN}}}'
    assert refusal_text(said).startswith("No: �")
    assert is_withheld(403, said)


def assert_storable(reply: ChatReply) -> None:
    assert isinstance(reply.usage, Usage)
    (reply.text + reply.served_by).encode()


def changed_leaf(rng: random.Random, body: Any, *, spared: Callable[[Any], bool]) -> Any:
    """Return JSON with some of its leaves and members replaced by anything but what is spared."""
    if spared(body) or rng.random() < 0.7:
        if isinstance(body, dict):
            return {name: changed_leaf(rng, value, spared=spared) for name, value in body.items()}
        if isinstance(body, list):
            return [changed_leaf(rng, value, spared=spared) for value in body]
        return body
    return rng.choice([None, True, -1, 10**400, 0.5, "\ud800", "", [], {}, [None], {"type": []}, float("nan")])


@pytest.mark.parametrize("wire", WIRES)
@examples(150)
@given(seed=st.integers(0, 2**32))
def test_no_reply_is_lost_whose_text_stands_where_it_belongs(wire: Wire, seed: int) -> None:
    rng = random.Random(seed)

    def holds_text(part: Any) -> bool:
        """Whether the text is in it, or it says what the text is."""
        return TEXT in json.dumps(part, ensure_ascii=False) or part == "text"

    body = changed_leaf(rng, message(wire), spared=holds_text)
    assert TEXT in reply_of(wire, json.dumps(body).encode()).text
    row = row_in(
        wire,
        json.dumps(changed_leaf(rng, line(wire, body), spared=lambda part: part == KEY or holds_text(part))).encode()
        + b"\n",
    )
    assert row.key == KEY
    assert row.reply is not None
    assert TEXT in row.reply.text
