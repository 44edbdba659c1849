"""Anthropic's Messages.

A structured reply is the input of a tool that the model must use (Claude 3 and later). A model that reasons cannot be
made to use a tool, so that it is given the format of the reply instead (Claude 4.5 and later).
"""

from typing import Any

import msgspec

from evidencebench.errors import SystemSpecError
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Finish, Usage
from evidencebench.models.llm.providers import Provider
from evidencebench.models.llm.wire.counts import Count, is_text, joined, model_name_of
from evidencebench.web.served_json import decode_served, optional_part
from evidencebench.web.transient import TransientError

PATH = "/messages"
"""The path behind the base URL."""

_TOOL = "reply"
_TEXTS = ("text",)
_LEAST_THINKING_TOKENS = 1024
_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


def body_of(request: ChatRequest, provider: Provider) -> dict[str, Any]:
    """Return the body of a request as a JSON object.

    A reasoning effort that is a number is the budget of thinking tokens. A word is sent as it is, with adaptive
    thinking (Claude 4.6 and later).
    """
    body: dict[str, Any] = {
        "model": request.model_name,
        provider.max_tokens_field: request.max_tokens,
        "messages": [{"role": m.role, "content": m.text} for m in request.messages if m.role != "system"],
    }
    if system := "\n\n".join(message.text for message in request.messages if message.role == "system"):
        body["system"] = system
    for name in ("temperature", "top_p"):
        if (value := getattr(request, name)) is not None:
            body[name] = value
    return body | _thinking(request) | _structure(request)


def _thinking(request: ChatRequest) -> dict[str, Any]:
    effort = request.reasoning_effort
    if effort is None:
        return {}
    if not effort.isdecimal():
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    n_tokens = int(effort[:10])
    if not _LEAST_THINKING_TOKENS <= n_tokens < request.max_tokens:
        raise SystemSpecError(
            f"model '{request.model}': reasoning_effort: expected a word such as low, or thinking tokens from "
            f"{_LEAST_THINKING_TOKENS} to below max_tokens={request.max_tokens}, got {n_tokens}"
        )
    return {"thinking": {"type": "enabled", "budget_tokens": n_tokens}}


def _structure(request: ChatRequest) -> dict[str, Any]:
    if request.schema is None:
        return {}
    if request.reasoning_effort is not None:
        effort = _thinking(request).get("output_config", {})
        return {"output_config": effort | {"format": {"type": "json_schema", "schema": request.schema}}}
    tool = {"name": _TOOL, "description": "Give the reply in this form.", "input_schema": request.schema}
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}


# Only fields that a reply cannot do without have a type: a paid reply is not lost because another field is odd.
class _AnthropicBlock(msgspec.Struct, frozen=True):
    type: Any = None
    text: Any = None
    name: Any = None
    input: msgspec.Raw = msgspec.Raw(b"{}")


class _AnthropicUsage(msgspec.Struct, frozen=True):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class _AnthropicReply(msgspec.Struct, frozen=True):
    content: list[msgspec.Raw] | None = None
    stop_reason: Any = None
    model: Any = None
    usage: msgspec.Raw = msgspec.Raw(b"null")


def reply_of(content: bytes | msgspec.Raw) -> ChatReply:
    """Return the reply in a body of status 200; thinking is left out."""
    found = decode_served(content, _AnthropicReply)
    if found.content is None:
        raise TransientError("expected a reply with content, got none")
    blocks = [optional_part(raw, _AnthropicBlock) or _AnthropicBlock(text=raw) for raw in found.content]
    calls = (block.input for block in blocks if block.type == "tool_use" and block.name in (_TOOL, None))
    used = next((bytes(call).decode(errors="replace") for call in calls), None)
    finish = _FINISHES.get(found.stop_reason, "other") if isinstance(found.stop_reason, str) else "other"
    return ChatReply(
        text=joined([block.text for block in blocks if is_text(block.type, _TEXTS)]) if used is None else used,
        finish="stop" if finish == "tool" and used is not None else finish,
        usage=_usage(found.usage),
        served_by=model_name_of(found.model),
    )


def _usage(raw: msgspec.Raw) -> Usage:
    found = optional_part(raw, _AnthropicUsage)
    if found is None:
        return Usage()
    read, written = found.cache_read_input_tokens or 0, found.cache_creation_input_tokens or 0
    return Usage(
        prompt_tokens=None if found.input_tokens is None else found.input_tokens + read + written,
        completion_tokens=found.output_tokens,
        cached_tokens=read,
    )
