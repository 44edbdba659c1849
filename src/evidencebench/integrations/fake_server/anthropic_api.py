"""Anthropic's API: Messages requests are read; messages, their events and errors are written."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec

from evidencebench.integrations.fake_server.calls import (
    BadCallError,
    Call,
    ChatApi,
    Reply,
    TextPart,
    convert,
    reasoning_tokens_of,
    text_of,
)
from evidencebench.integrations.fake_server.openai_api import chunks
from evidencebench.integrations.fake_server.prompt_content import Turn

VERSION_HEADER = "anthropic-version"

_OVERLOADED = 529
_STOPS = {"stop": "end_turn", "length": "max_tokens", "refused": "refusal"}
_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    _OVERLOADED: "overloaded_error",
}
_SERVER_ERROR = 500
_LEAST_BUDGET = 1024
_THOUGHT = {"type": "thinking", "thinking": "Which sentences bear on this? ANSWER: [1, 2, 3]?", "signature": "c2lnbmVk"}
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

# Type of a block -> its fields at the start of a stream, and the field of its pieces.
_STREAMED: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"text": ""}, "text"),
    "tool_use": ({"input": {}}, "partial_json"),
    "thinking": ({"thinking": "", "signature": ""}, "thinking"),
}


class _MessagesTurn(msgspec.Struct):
    role: Literal["user", "assistant"]
    content: str | list[TextPart]


class _OutputFormat(msgspec.Struct):
    type: Literal["json_schema"]
    schema: dict[str, Any]


class _OutputConfig(msgspec.Struct):
    format: _OutputFormat | None = None
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


class _MessagesBody(msgspec.Struct):
    model: str
    messages: Annotated[list[_MessagesTurn], msgspec.Meta(min_length=1)]
    max_tokens: Annotated[int, msgspec.Meta(ge=1)]
    system: str | list[TextPart] = ""
    temperature: _Share | None = None
    top_p: _Share | None = None
    stream: bool = False
    output_config: _OutputConfig | None = None
    output_format: _OutputFormat | None = None
    thinking: _Thinking | None = None
    tools: list[_Tool] = []
    tool_choice: _ToolChoice | None = None


def _read_call(body: Any) -> Call:
    fields = convert(body, _MessagesBody)
    if fields.messages[0].role != "user":
        raise BadCallError("messages: first message must use the user role", param="messages")
    system, tool = text_of(fields.system), _forced_tool(fields)
    return Call(
        model=fields.model,
        turns=(
            *((Turn(role="system", text=system),) if system else ()),
            *(Turn(role=message.role, text=text_of(message.content)) for message in fields.messages),
        ),
        max_tokens=fields.max_tokens,
        reasoning_tokens=_reasoning_tokens(fields),
        properties=_properties(fields, tool),
        tool=tool.name if tool else None,
        streams=fields.stream,
    )


def _whole(reply: Reply) -> dict[str, Any]:
    usage = {
        "input_tokens": reply.call.prompt_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": reply.completion_tokens,
        "output_tokens_details": {"thinking_tokens": reply.reasoning_tokens},
        "service_tier": "standard",
    }
    return {**_head(reply), "content": _content(reply), **_stop(reply), "usage": usage}


async def _events(reply: Reply) -> AsyncIterator[bytes]:
    usage = {"input_tokens": reply.call.prompt_tokens, "output_tokens": 1}
    begun = {**_head(reply), "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield _event("message_start", message=begun)
    for index, block in enumerate(_content(reply)):
        empty, name = _STREAMED[block["type"]]
        yield _event("content_block_start", index=index, content_block={**block, **empty})
        for delta in _deltas(name, _THOUGHT["thinking"] if name == "thinking" else reply.text):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event("message_delta", delta=_stop(reply), usage={"output_tokens": reply.completion_tokens})
    yield _event("message_stop")


def _error_body(error: BadCallError, request_id: str) -> dict[str, Any]:
    default = "api_error" if error.status >= _SERVER_ERROR else "invalid_request_error"
    told = {"type": _ERROR_TYPES.get(error.status, default), "message": str(error)}
    return {"type": "error", "error": told, "request_id": request_id}


def _reasoning_tokens(fields: _MessagesBody) -> int:
    """Return the tokens of thinking: by the effort, or half of the budget that the request gives."""
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


def _forced_tool(fields: _MessagesBody) -> _Tool | None:
    choice = fields.tool_choice
    if choice is None or choice.type in {"auto", "none"}:
        return None
    found = next((tool for tool in fields.tools if choice.type == "any" or tool.name == choice.name), None)
    if found is None:
        raise BadCallError(f"tool_choice: no tool '{choice.name}' among the tools", param="tool_choice")
    return found


def _properties(fields: _MessagesBody, tool: _Tool | None) -> frozenset[str] | None:
    """Return the names that the wanted JSON object declares; None where free text is wanted."""
    wanted = (fields.output_config and fields.output_config.format) or fields.output_format
    schema = tool.input_schema if tool else wanted.schema if wanted else None
    if schema is None:
        return None
    if not tool and schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        raise BadCallError("output_config.format.schema: expected additionalProperties: false", param="output_config")
    properties = schema.get("properties")
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def _head(reply: Reply) -> dict[str, Any]:
    return {"id": f"msg_{reply.serial}", "type": "message", "role": "assistant", "model": reply.call.model}


def _content(reply: Reply) -> list[dict[str, Any]]:
    if _calls_tool(reply):
        use = {"type": "tool_use", "id": f"toolu_{reply.serial}", "name": reply.call.tool}
        return [{**use, "input": msgspec.Raw(reply.text.encode())}]
    text = [{"type": "text", "text": reply.text}] if reply.text else []
    return [_THOUGHT, *text] if reply.reasoning_tokens else text


def _calls_tool(reply: Reply) -> bool:
    return reply.call.tool is not None and reply.is_object


def _stop(reply: Reply) -> dict[str, Any]:
    return {"stop_reason": "tool_use" if _calls_tool(reply) else _STOPS[reply.finish], "stop_sequence": None}


def _deltas(name: str, text: str) -> Iterator[dict[str, Any]]:
    kind = "input_json_delta" if name == "partial_json" else f"{name}_delta"
    for chunk in chunks(text):
        yield {"type": kind, name: chunk}
    if name == "thinking":
        yield {"type": "signature_delta", "signature": _THOUGHT["signature"]}


def _event(kind: str, **fields: Any) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode({"type": kind, **fields}) + b"\n\n"


def stamp(seconds: float | None) -> str | None:
    """Return seconds since 1970 as this provider writes them."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


ANTHROPIC = ChatApi(
    path="/v1/messages",
    read_call=_read_call,
    whole=_whole,
    events=_events,
    error_body=_error_body,
    overloaded=_OVERLOADED,
)
