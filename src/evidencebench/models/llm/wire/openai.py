"""OpenAI's chat completions, as OpenAI and compatible servers speak them."""

from typing import Any

import msgspec

from evidencebench.models.llm.chat import ChatReply, ChatRequest, Finish, Usage
from evidencebench.models.llm.providers import Provider
from evidencebench.models.llm.wire.counts import Count, is_text, joined, model_name_of
from evidencebench.web.served_json import decode_served, optional_part
from evidencebench.web.transient import TransientError

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
