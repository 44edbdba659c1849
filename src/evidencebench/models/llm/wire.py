"""Bodies and replies of OpenAI and Anthropic; a paid reply is not lost because a field that it can spare is odd."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from evidencebench.errors import SystemSpecError
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Finish, Usage
from evidencebench.models.llm.providers import Provider, Wire, provider_of
from evidencebench.tables import printable
from evidencebench.web.fetch import decode_served
from evidencebench.web.retry import TransientError

_TEXTS = ("text", "output_text")  # parts of hidden reasoning are of other types
_MOST_USD = 1_000_000  # that a reply can cost
_MOST_TOKENS = 1_000_000_000  # of a reply; an absurd number would spoil the sum of the costs
_TOOL = "reply"
_TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")  # the longest reply, in the words of servers
_SCHEMA = "schema"  # stands for whatever asks for a reply of a schema
# What servers say beside the name of a field that they do not take, or of one that they want; of schemas, those names.
_REFUSED = re.compile(
    r"(?:un|not |n't )support|unrecogni|unknown|unexpected|extra_forbidden|not (?:permit|allow)", re.IGNORECASE
)
_WANTED = re.compile(r"required|missing", re.IGNORECASE)
_OF_SCHEMA = re.compile(r"response.format|json.schema|output_(?:config|format)|text\.format|tool_choice", re.IGNORECASE)
_LEAST_THINKING_TOKENS = 1024
_REASONS: Mapping[Finish, tuple[str, ...]] = {  # in the words of providers and of servers that speak as they do
    "stop": ("stop", "eos", "end_turn", "stop_sequence"),
    "length": ("length", "max_tokens", "model_length", "model_context_window_exceeded"),
    "refused": ("content_filter", "safety", "refusal"),
    "tool": ("tool_calls", "function_call", "tool_use"),
}


def request_body(request: ChatRequest, untaken: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the body without the fields that the server does not take, as it said: the prompt asks for the form."""
    provider = provider_of(request.model)
    if _SCHEMA in untaken:
        request = msgspec.structs.replace(request, schema=None)
    tokens_field = provider.max_tokens_field
    if tokens_field in untaken:
        tokens_field = next(name for name in _TOKEN_FIELDS if name != tokens_field)
    body: dict[str, Any] = {
        "model": request.model_name,
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        tokens_field: request.max_tokens,
    }
    body |= _anthropic_fields(request) if provider.wire == "anthropic" else _openai_fields(request, provider)
    for name in ("temperature", "top_p"):
        if (value := getattr(request, name)) is not None:
            body[name] = value
    if provider.seed_field in untaken:
        body.pop(provider.seed_field, None)
    return body | (request.extra_body or {})


def path_and_body(request: ChatRequest, untaken: frozenset[str] = frozenset()) -> tuple[str, bytes]:
    path = "/messages" if provider_of(request.model).wire == "anthropic" else "/chat/completions"
    return path, msgspec.json.encode(request_body(request, untaken))


def untaken_field(request: ChatRequest, untaken: frozenset[str], said: str) -> str | None:
    """Return the field that a server refuses a request for, if the request can do without it or under another name."""
    said = said.lower()
    body, names = request_body(request, untaken), set(re.findall("[a-z_]+", said))
    seed_field, is_refused = provider_of(request.model).seed_field, _REFUSED.search(said)
    for name, other in (_TOKEN_FIELDS, _TOKEN_FIELDS[::-1]):
        is_other_wanted = other in names and _WANTED.search(said)
        if name in body and other not in untaken and ((name in names and is_refused) or is_other_wanted):
            return name
    if seed_field in names and seed_field in body and is_refused:
        return seed_field
    return _SCHEMA if request.schema is not None and _SCHEMA not in untaken and _OF_SCHEMA.search(said) else None


def read_reply(wire: Wire, content: bytes) -> ChatReply:
    try:
        return reply_in(wire, decode_served(content, dict[str, Any]))
    except msgspec.DecodeError as error:
        raise TransientError(f"expected a reply as JSON: {error}") from error


def reply_in(wire: Wire, body: Any) -> ChatReply:
    """Return the reply in a body of status 200, or in a line of a batch's results; thinking is left out."""
    return (_anthropic_reply if wire == "anthropic" else _openai_reply)(_dict(body))


def _openai_fields(request: ChatRequest, provider: Provider) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if request.reasoning_effort is not None:
        body["reasoning_effort"] = request.reasoning_effort
    if provider.seed_field:
        body[provider.seed_field] = request.seed
    if request.schema is not None:
        schema = {"name": "reply", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _openai_reply(body: dict[str, Any]) -> ChatReply:
    choices = body.get("choices")
    choice = _dict(choices[0]) if isinstance(choices, list) and choices else {}
    reason, message = choice.get("finish_reason"), choice.get("message")
    if (error := body.get("error") or choice.get("error")) or reason == "error":
        cause = (error.get("message") or error.get("code")) if isinstance(error, dict) else error
        raise TransientError(f"expected a reply, got an error: {cause or 'not told'}")
    if not isinstance(message, dict):
        raise TransientError("expected a reply with a choice and its message, got none")
    parts = message.get("content")
    if not isinstance(parts, str | list | None):
        raise TransientError(f"expected a reply whose content is text, got {type(parts).__name__}")
    blocks = [
        part if isinstance(part, dict) else {"text": part} for part in (parts if isinstance(parts, list) else [parts])
    ]
    text, refusal = _joined(blocks), message.get("refusal")
    if not isinstance(refusal, str) or not refusal:
        refusal = "".join(words for block in blocks if isinstance(words := block.get("refusal"), str))
    calls = message.get("tool_calls") or message.get("function_call")
    finish = "tool" if calls and _finish(reason) != "length" else _finish(reason)
    return ChatReply(
        text=_with_calls(text, calls if isinstance(calls, list) else [calls]) or refusal,
        finish="refused" if refusal and not text else finish,
        usage=_openai_usage(_dict(body.get("usage"))),
        served_by=_model_name(body.get("model")),
    )


def _openai_usage(usage: dict[str, Any]) -> Usage:
    prompt, completion, total = (_count(usage, f"{part}_tokens") for part in ("prompt", "completion", "total"))
    cached = _count(_dict(usage.get("prompt_tokens_details")), "cached_tokens")
    cached = cached or _count(usage, "prompt_cache_hit_tokens") or 0  # the latter is DeepSeek's
    reasoning = _count(_dict(usage.get("completion_tokens_details")), "reasoning_tokens") or 0
    if prompt is not None and completion is not None and total is not None:
        unnamed = max(0, total - prompt - completion)  # Gemini's thinking, which is charged
        completion, reasoning = completion + unnamed, max(reasoning, unnamed)
    cost: Any = usage.get("cost")  # OpenRouter's; `is_byok`: the model's provider charges an account of the user's too
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    is_sound = is_number and 0 <= cost <= _MOST_USD and usage.get("is_byok") is not True
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=min(cached, prompt or 0),
        reasoning_tokens=reasoning,
        stated_usd=cost if is_sound else None,
    )


def _anthropic_fields(request: ChatRequest) -> dict[str, Any]:
    effort, body, output = request.reasoning_effort, dict[str, Any](), dict[str, Any]()
    if effort is not None and effort.isdecimal():
        n_tokens = int(effort[:10])
        if not _LEAST_THINKING_TOKENS <= n_tokens < request.max_tokens:
            raise SystemSpecError(
                f"model '{request.model}': reasoning_effort: expected a word such as low, or thinking tokens from "
                f"{_LEAST_THINKING_TOKENS} to below max_tokens={request.max_tokens}, got {n_tokens}"
            )
        body["thinking"] = {"type": "enabled", "budget_tokens": n_tokens}
    elif effort is not None:  # a word, for Claude 4.6 and later
        body["thinking"], output["effort"] = {"type": "adaptive"}, effort
    if request.schema is not None and effort is None:
        tool = {"name": _TOOL, "description": "Give the reply in this form.", "input_schema": request.schema}
        body = {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}
    elif request.schema is not None:
        output["format"] = {"type": "json_schema", "schema": request.schema}
    return body | ({"output_config": output} if output else {})


def _anthropic_reply(body: dict[str, Any]) -> ChatReply:
    if not isinstance(parts := body.get("content"), list):
        raise TransientError("expected a reply with content, got none")
    blocks = [_dict(part) for part in parts]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    is_reply = bool(calls) and calls[0].get("name") in (_TOOL, None)
    finish, usage = _finish(body.get("stop_reason")), _dict(body.get("usage"))
    read, prompt = _count(usage, "cache_read_input_tokens") or 0, _count(usage, "input_tokens")
    written = _count(usage, "cache_creation_input_tokens") or 0
    return ChatReply(
        text=_with_calls("" if is_reply else _joined(blocks), calls[:1] if is_reply else calls),
        finish="stop" if finish == "tool" and is_reply else finish,
        usage=Usage(
            prompt_tokens=None if prompt is None else prompt + read + written,
            completion_tokens=_count(usage, "output_tokens"),
            cached_tokens=read,
        ),
        served_by=_model_name(body.get("model")),
    )


def _finish(reason: Any) -> Finish:
    word = reason.lower() if isinstance(reason, str) else ""
    return next((finish for finish, words in _REASONS.items() if word in words), "other")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(usage: dict[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def _joined(blocks: list[dict[str, Any]]) -> str:
    """Return the texts of a reply's parts as one; raise if they hold only values that are no text."""
    texts = [block.get("text") for block in blocks if not isinstance(kind := block.get("type"), str) or kind in _TEXTS]
    joined = "".join(text for text in texts if isinstance(text, str))
    if not joined and not all(isinstance(text, str | None) for text in texts):
        raise TransientError("expected a reply with a text, got parts without one")
    return joined


def _with_calls(text: str, calls: list[Any]) -> str:
    """Return a reply's text with what its calls of tools hold: some models give their answer in one, unasked."""
    called = [_dict(call) for call in calls]
    inputs = [_dict(call.get("function")).get("arguments", call.get("arguments", call.get("input"))) for call in called]
    held = [given if isinstance(given, str) else msgspec.json.encode(given).decode() for given in inputs if given]
    return "\n\n".join(filter(None, (text, *held)))


def _model_name(name: Any) -> str:
    return printable(name[:120]) if isinstance(name, str) else ""
