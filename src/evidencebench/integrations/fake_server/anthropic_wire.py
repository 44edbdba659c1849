"""The Anthropic protocol: read a Messages request, write messages, events and errors."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from evidencebench.integrations.fake_server.asked import Turn
from evidencebench.integrations.fake_server.calls import BadCallError, Call, Counted, reasoning_tokens_of

OVERLOADED = 529
"""The status that stands for 503 here."""

_PIECE_CHARACTERS = 60
_STOPS = {"stop": "end_turn", "length": "max_tokens", "refused": "refusal"}
_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    OVERLOADED: "overloaded_error",
}
_SERVER_ERROR = 500
_LEAST_BUDGET = 1024
_THOUGHT = {"type": "thinking", "thinking": "Which sentences bear on this? ANSWER: [1, 2, 3]?", "signature": "c2lnbmVk"}


# Type of a block -> what it begins with when it is streamed, and what its pieces are called.
_STREAMED: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"text": ""}, "text"),
    "tool_use": ({"input": {}}, "partial_json"),
    "thinking": ({"thinking": "", "signature": ""}, "thinking"),
}


class _Part(msgspec.Struct):
    type: str
    text: str = ""


class _Message(msgspec.Struct):
    role: Literal["user", "assistant"]
    content: str | list[_Part]


class _Format(msgspec.Struct):
    type: Literal["json_schema"]
    schema: dict[str, Any]


class _OutputConfig(msgspec.Struct):
    format: _Format | None = None
    effort: str | None = None


class _Thinking(msgspec.Struct):
    type: Literal["enabled", "adaptive", "disabled"]
    budget_tokens: int = 0


class _Tool(msgspec.Struct):
    name: str
    input_schema: dict[str, Any] = {}


class _ToolChoice(msgspec.Struct):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message]
    max_tokens: int
    system: str | list[_Part] = ""
    temperature: float | None = None
    top_p: float | None = None
    stream: bool = False
    output_config: _OutputConfig | None = None
    output_format: _Format | None = None
    thinking: _Thinking | None = None
    tools: list[_Tool] = []
    tool_choice: _ToolChoice | None = None


def read_call(body: Any) -> Call:
    """Return the call that a decoded body makes.

    Raises
    ------
    BadCallError
        If the real provider would refuse it, or it asks for what this server does not have.
    """
    try:
        fields = msgspec.convert(body, _Body)
    except msgspec.ValidationError as error:
        raise BadCallError(f"Invalid request: {error}") from error
    _check(fields)
    system = _text(fields.system)
    tool = _forced_tool(fields)
    return Call(
        model=fields.model,
        turns=(
            *((Turn(role="system", text=system),) if system else ()),
            *(Turn(role=message.role, text=_text(message.content)) for message in fields.messages),
        ),
        max_tokens=fields.max_tokens,
        reasoning_tokens=_reasoning_tokens(fields),
        properties=_properties(fields, tool),
        tool=tool.name if tool else None,
        streams=fields.stream,
        streams_usage=True,
    )


def whole(reply: Counted, call: Call, *, serial: str, created: int) -> dict[str, Any]:  # noqa: ARG001 - as all wires
    """Return a ``message``."""
    return {**_head(call, serial), "content": _content(reply, call, serial), **_stop(reply, call), **_usage(reply)}


def events(reply: Counted, call: Call, *, serial: str, created: int) -> Iterator[bytes]:  # noqa: ARG001 - as all wires
    """Yield the server-sent events of a message."""
    begun = {**_head(call, serial), "content": [], "stop_reason": None, "stop_sequence": None}
    yield _event("message_start", message={**begun, "usage": {"input_tokens": reply.prompt_tokens, "output_tokens": 1}})
    for index, block in enumerate(_content(reply, call, serial)):
        yield from _block_events(index, block, reply.spoken.text)
    usage = {"output_tokens": reply.completion_tokens}
    yield _event("message_delta", delta=_stop(reply, call), usage=usage)
    yield _event("message_stop")


def error(message: str, status: int, *, param: str | None, request_id: str) -> dict[str, Any]:  # noqa: ARG001 - as all
    """Return an error as this provider writes it."""
    default = "api_error" if status >= _SERVER_ERROR else "invalid_request_error"
    kind = _ERROR_TYPES.get(status, default)
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def _check(fields: _Body) -> None:
    if not fields.messages:
        raise BadCallError("messages: at least one message is required", param="messages")
    if fields.messages[0].role != "user":
        raise BadCallError("messages: first message must use the user role", param="messages")
    if fields.max_tokens < 1:
        raise BadCallError(f"max_tokens: expected at least 1, got {fields.max_tokens}", param="max_tokens")
    for name, number in (("temperature", fields.temperature), ("top_p", fields.top_p)):
        if number is not None and not 0 <= number <= 1:
            raise BadCallError(f"{name}: expected 0 to 1, got {number}", param=name)


def _reasoning_tokens(fields: _Body) -> int:
    """Return how long the thinking is: by its effort, or half of the budget that is given for it."""
    thinking = fields.thinking
    if thinking is None or thinking.type == "disabled":
        return 0
    if fields.tool_choice is not None and fields.tool_choice.type in {"any", "tool"}:
        raise BadCallError("Thinking may not be enabled when tool_choice forces tool use.", param="thinking")
    if thinking.type == "adaptive":
        return reasoning_tokens_of(fields.output_config.effort if fields.output_config else None)
    if not _LEAST_BUDGET <= thinking.budget_tokens < fields.max_tokens:
        message = f"thinking.budget_tokens: expected {_LEAST_BUDGET} to below max_tokens"
        raise BadCallError(message, param="thinking")
    return thinking.budget_tokens // 2


def _text(content: str | list[_Part]) -> str:
    if isinstance(content, str):
        return content
    for part in content:
        if part.type != "text":
            raise BadCallError(f"messages: expected blocks of type text, got '{part.type}'", param="messages")
    return "".join(part.text for part in content)


def _forced_tool(fields: _Body) -> _Tool | None:
    choice = fields.tool_choice
    if choice is None or choice.type in {"auto", "none"}:
        return None
    found = next((tool for tool in fields.tools if choice.type == "any" or tool.name == choice.name), None)
    if found is None:
        raise BadCallError(f"tool_choice: no tool '{choice.name}' among the tools", param="tool_choice")
    return found


def _properties(fields: _Body, tool: _Tool | None) -> frozenset[str] | None:
    """Return the names that the object asked for declares, None where free text will do."""
    wanted = (fields.output_config and fields.output_config.format) or fields.output_format
    schema = tool.input_schema if tool else wanted.schema if wanted else None
    if schema is None:
        return None
    if not tool and schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        raise BadCallError("output_config.format.schema: expected additionalProperties: false", param="output_config")
    properties = schema.get("properties")
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def _head(call: Call, serial: str) -> dict[str, Any]:
    return {"id": f"msg_{serial}", "type": "message", "role": "assistant", "model": call.model}


def _content(reply: Counted, call: Call, serial: str) -> list[dict[str, Any]]:
    spoken = reply.spoken
    thought = [_THOUGHT] if reply.reasoning_tokens else []
    if _calls_tool(reply, call):
        use = {"type": "tool_use", "id": f"toolu_{serial}", "name": call.tool}
        return [{**use, "input": msgspec.Raw(spoken.text.encode())}]
    return [*thought, {"type": "text", "text": spoken.text}] if spoken.text else thought


def _calls_tool(reply: Counted, call: Call) -> bool:
    return call.tool is not None and reply.spoken.is_object


def _stop(reply: Counted, call: Call) -> dict[str, Any]:
    reason = "tool_use" if _calls_tool(reply, call) else _STOPS[reply.spoken.finish]
    return {"stop_reason": reason, "stop_sequence": None}


def _usage(reply: Counted) -> dict[str, Any]:
    return {
        "usage": {
            "input_tokens": reply.prompt_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": reply.completion_tokens,
            "output_tokens_details": {"thinking_tokens": reply.reasoning_tokens},
            "service_tier": "standard",
        }
    }


def _block_events(index: int, block: dict[str, Any], text: str) -> Iterator[bytes]:
    empty, name = _STREAMED[block["type"]]
    yield _event("content_block_start", index=index, content_block={**block, **empty})
    for delta in _deltas(name, _THOUGHT["thinking"] if name == "thinking" else text):
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _deltas(name: str, text: str) -> Iterator[dict[str, Any]]:
    kind = "input_json_delta" if name == "partial_json" else f"{name}_delta"
    for start in range(0, len(text), _PIECE_CHARACTERS):
        yield {"type": kind, name: text[start : start + _PIECE_CHARACTERS]}
    if name == "thinking":
        yield {"type": "signature_delta", "signature": _THOUGHT["signature"]}


def _event(kind: str, **fields: Any) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode({"type": kind, **fields}) + b"\n\n"
