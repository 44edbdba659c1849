"""Bodies and replies of OpenAI and Anthropic; refusals."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from evidencebench.errors import SystemSpecError
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Finish, Usage
from evidencebench.models.llm.providers import Provider, Wire, provider_of
from evidencebench.tables import printable
from evidencebench.web.fetch import decode_served, optional_part
from evidencebench.web.retry import TransientError

# Checks of a reply's other values, such as token counts: an absurd one is dropped, and the paid reply is kept.


_NAME_CHARACTERS = 120

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
"""A count of tokens. A negative or absurd one would spoil the sum of the costs."""


def is_text(kind: Any, kinds: tuple[str, ...]) -> bool:
    """Whether a part of a reply is text: its kind is one of ``kinds``, or it names none."""
    return not isinstance(kind, str) or kind in kinds


def joined(texts: list[Any]) -> str:
    """Return the texts of a reply's parts as one, without values that are no text; raise if there is nothing else."""
    found = "".join(text for text in texts if isinstance(text, str))
    if not found and not all(isinstance(text, str | None) for text in texts):
        raise TransientError("expected a reply with a text, got parts without one")
    return found


def model_name_of(name: Any) -> str:
    """Return a model's name as a server gives it, cut where it is long; empty where it gives none."""
    return printable(name[:_NAME_CHARACTERS]) if isinstance(name, str) else ""


# OpenAI's chat completions, as OpenAI and compatible servers speak them.


_TEXTS = ("text", "output_text")  # parts of hidden reasoning are of other types
_CALLS = ("tool_calls", "function_call")  # why a reply ended that calls a tool
_MOST_USD = 1_000_000  # that a reply can cost
PATH = "/chat/completions"
"""The path behind the base URL."""

_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refused",
    "safety": "refused",
    "refusal": "refused",
}


def body_of(request: ChatRequest, provider: Provider) -> dict[str, Any]:
    """Return the body of a request as a JSON object."""
    body: dict[str, Any] = {
        "model": request.model_name,
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        provider.max_tokens_field: request.max_tokens,
    }
    for name in ("temperature", "top_p", "reasoning_effort"):
        if (value := getattr(request, name)) is not None:
            body[name] = value
    if provider.seed_field:
        body[provider.seed_field] = request.seed
    if request.schema is not None:
        schema = {"name": "reply", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


# Only fields that a reply cannot do without have a type: a paid reply is not lost because another field is odd.
class _OpenaiMessage(msgspec.Struct, frozen=True):
    content: Any = None
    refusal: Any = None
    tool_calls: Any = None
    function_call: Any = None


class _OpenaiChoice(msgspec.Struct, frozen=True):
    message: _OpenaiMessage | None = None
    finish_reason: Any = None
    error: Any = None


class _OpenaiPromptDetails(msgspec.Struct, frozen=True):
    cached_tokens: Count | None = None


class _OpenaiReplyDetails(msgspec.Struct, frozen=True):
    reasoning_tokens: Count | None = None


class _OpenaiUsage(msgspec.Struct, frozen=True):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    prompt_tokens_details: _OpenaiPromptDetails | None = None
    completion_tokens_details: _OpenaiReplyDetails | None = None
    prompt_cache_hit_tokens: Count | None = None  # DeepSeek's
    cost: Any = None  # OpenRouter's
    is_byok: Any = None  # whether the model's provider charges an account of the user's too


class _OpenaiReply(msgspec.Struct, frozen=True):
    choices: list[msgspec.Raw] | None = None
    model: Any = None
    usage: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


def reply_of(content: bytes | msgspec.Raw) -> ChatReply:
    """Return the reply in a body of status 200."""
    found = decode_served(content, _OpenaiReply)
    choice = decode_served(found.choices[0], _OpenaiChoice) if found.choices else _OpenaiChoice()
    reason = choice.finish_reason.lower() if isinstance(choice.finish_reason, str) else ""
    if (error := found.error or choice.error) or reason == "error":
        said = (error.get("message") or error.get("code")) if isinstance(error, dict) else error
        raise TransientError(f"expected a reply, got an error: {said or 'not told'}")
    if choice.message is None:
        raise TransientError("expected a reply with a choice and its message, got none")
    text, refusal = _texts(choice.message)
    finish = _FINISHES.get(reason, "other")
    if choice.message.tool_calls or choice.message.function_call or reason in _CALLS:
        finish = "tool"
    return ChatReply(
        text=text or refusal,
        finish="refused" if refusal and not text else finish,
        usage=_usage(found.usage),
        served_by=model_name_of(found.model),
    )


def _texts(message: _OpenaiMessage) -> tuple[str, str]:
    """Return the text of a message, and the text of its refusal; either may be empty."""
    content = message.content
    if isinstance(content, str | None):
        text, refusal = content or "", ""
    elif isinstance(content, list):
        parts = [part if isinstance(part, dict) else {"text": part} for part in content]
        text = joined([part.get("text") for part in parts if is_text(part.get("type"), _TEXTS)])
        refusal = "".join(said for part in parts if isinstance(said := part.get("refusal"), str))
    else:
        raise TransientError(f"expected a reply whose content is text, got {type(content).__name__}")
    return text, message.refusal if message.refusal and isinstance(message.refusal, str) else refusal


def _usage(raw: msgspec.Raw) -> Usage:
    found = optional_part(raw, _OpenaiUsage)
    if found is None:
        return Usage()
    prompt_details, reply_details = found.prompt_tokens_details, found.completion_tokens_details
    cached = (prompt_details.cached_tokens if prompt_details else None) or found.prompt_cache_hit_tokens or 0
    reasoning = (reply_details.reasoning_tokens if reply_details else None) or 0
    completion, is_sound = found.completion_tokens, type(found.cost) in (int, float) and 0 <= found.cost <= _MOST_USD
    if found.prompt_tokens is not None and completion is not None and found.total_tokens is not None:
        unnamed = max(0, found.total_tokens - found.prompt_tokens - completion)  # Gemini's thinking, which is charged
        completion, reasoning = completion + unnamed, max(reasoning, unnamed)
    return Usage(
        prompt_tokens=found.prompt_tokens,
        completion_tokens=completion,
        cached_tokens=min(cached, found.prompt_tokens or 0),
        reasoning_tokens=reasoning,
        stated_usd=found.cost if is_sound and found.is_byok is not True else None,
    )


# Anthropic's Messages.


ANTHROPIC_PATH = "/messages"
"""The path behind the base URL."""

_TOOL = "reply"
_ANTHROPIC_TEXTS = ("text",)
_LEAST_THINKING_TOKENS = 1024
_ANTHROPIC_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


def anthropic_body(request: ChatRequest, provider: Provider) -> dict[str, Any]:
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


def read_anthropic_reply(content: bytes | msgspec.Raw) -> ChatReply:
    """Return the reply in a body of status 200; thinking is left out."""
    found = decode_served(content, _AnthropicReply)
    if found.content is None:
        raise TransientError("expected a reply with content, got none")
    blocks = [optional_part(raw, _AnthropicBlock) or _AnthropicBlock(text=raw) for raw in found.content]
    calls = (block.input for block in blocks if block.type == "tool_use" and block.name in (_TOOL, None))
    used = next((bytes(call).decode(errors="replace") for call in calls), None)
    finish = _ANTHROPIC_FINISHES.get(found.stop_reason, "other") if isinstance(found.stop_reason, str) else "other"
    return ChatReply(
        text=joined([block.text for block in blocks if is_text(block.type, _ANTHROPIC_TEXTS)])
        if used is None
        else used,
        finish="stop" if finish == "tool" and used is not None else finish,
        usage=_anthropic_usage(found.usage),
        served_by=model_name_of(found.model),
    )


def _anthropic_usage(raw: msgspec.Raw) -> Usage:
    found = optional_part(raw, _AnthropicUsage)
    if found is None:
        return Usage()
    read, written = found.cache_read_input_tokens or 0, found.cache_creation_input_tokens or 0
    return Usage(
        prompt_tokens=None if found.input_tokens is None else found.input_tokens + read + written,
        completion_tokens=found.output_tokens,
        cached_tokens=read,
    )


# How requests are written and replies are read, one protocol in each file: pure functions of bytes.


_BodyOf = Callable[[ChatRequest, Provider], dict[str, Any]]
_ReplyOf = Callable[[bytes | msgspec.Raw], ChatReply]

# Protocol -> the path of requests, the function that writes a body, and the one that reads a reply.
_WIRES: Mapping[Wire, tuple[str, _BodyOf, _ReplyOf]] = MappingProxyType(
    {
        "openai": (PATH, body_of, reply_of),
        "anthropic": (ANTHROPIC_PATH, anthropic_body, read_anthropic_reply),
    }
)


def request_body(request: ChatRequest) -> dict[str, Any]:
    """Return the body of a request as a JSON object; a line of a batch holds the same."""
    provider = provider_of(request.model)
    return _WIRES[provider.wire][1](request, provider)


def path_and_body(request: ChatRequest) -> tuple[str, bytes]:
    """Return the path of a request, behind the base URL, and its body."""
    provider = provider_of(request.model)
    path, body_of_wire, _ = _WIRES[provider.wire]
    return path, msgspec.json.encode(body_of_wire(request, provider))


def read_reply(wire: Wire, content: bytes | msgspec.Raw) -> ChatReply:
    """Return the reply in a body of status 200, or in a line of a batch's results."""
    try:
        return _WIRES[wire][2](content)
    except msgspec.DecodeError as error:
        raise TransientError(f"expected a reply as JSON: {error}") from error
