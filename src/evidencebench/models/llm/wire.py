"""Bodies and replies of OpenAI and Anthropic. Optional fields of a reply may be malformed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from evidencebench.errors import SystemSpecError
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Finish, Usage
from evidencebench.models.llm.logprobs import expected_scores
from evidencebench.models.llm.providers import Provider, Wire, provider_of
from evidencebench.tables import printable
from evidencebench.web.fetch import decode_served
from evidencebench.web.retry import TransientError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TEXTS = ("text", "output_text")  # parts of hidden reasoning are of other types
_MOST_USD = 1_000_000  # that a reply can cost
_MOST_TOKENS = 1_000_000_000  # of a reply; an absurd number would spoil the sum of the costs
_PATHS: Mapping[Wire, str] = {"openai": "/chat/completions", "anthropic": "/messages", "responses": "/responses"}
_TOOL = "reply"
_STREAM_OPTIONS = "stream_options"
_TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")  # the longest reply, in the words of servers
Form = frozenset[str]  # how a body differs from the usual one: names of fields that the server does not take, and
_TEMPERATURE = "temperature"
_SCHEMA, KEEP = "schema", "keep"  # to ask for no schema, and to ask the provider to keep the beginning of the prompt
# What servers say beside the name of a field that they do not take, or of one that they want; of schemas, those names.
_REFUSED = re.compile("(un|not |n't )support|unrecogni|unknown|unexpected|extra_forbidden|not (permitt|allow)ed")
_OF_SCHEMA = re.compile("response.(format|schema)|json.schema|grammar|output_(config|format)|text.format|tool_choice")
_LEAST_THINKING_TOKENS = 1024
_REASONS: Mapping[Finish, tuple[str, ...]] = {  # in the words of providers and of servers that speak as they do
    "stop": ("stop", "eos", "end_turn", "stop_sequence", "completed"),
    "length": ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"),
    "tool": ("tool_calls", "function_call", "tool_use"),
}

_STATUSES: Mapping[str, int] = {  # words of an error's type or code -> the status that it has elsewhere
    "rate_limit": 429,
    "resource_exhausted": 429,
    "insufficient": 402,
    "billing": 402,
    "authentication": 401,
    "invalid_api_key": 401,
    "permission": 403,
    "not_found": 404,
    "invalid_request": 400,
    "overloaded": 529,
}
# Words for a reply that a filter withheld, as in "content_filter: PROHIBITED_CONTENT".
_WITHHELD = re.compile("content.?filter|safety|refus|prohibited|recitation|blocklist|spii|sensitive|moderat|guardrail")
_UNFINISHED = ("in_progress", "queued")


def request_body(request: ChatRequest, form: Form = frozenset()) -> dict[str, Any]:
    provider = provider_of(request.model)
    if _SCHEMA in form:
        request = msgspec.structs.replace(request, schema=None)
    messages, more = ("input", {"type": "message"}) if provider.wire == "responses" else ("messages", {})
    body: dict[str, Any] = {
        "model": request.model_name,
        messages: [{**more, "role": message.role, "content": message.text} for message in request.messages],
        next(name for name in (provider.max_tokens_field, *_TOKEN_FIELDS) if name not in form): request.max_tokens,
    }
    body |= _anthropic_fields(request) if provider.wire == "anthropic" else _openai_fields(request, provider)
    for name in ("temperature", "top_p"):
        if (value := getattr(request, name)) is not None and name not in form:
            body[name] = value
    if KEEP in form and provider.wire == "anthropic":
        beginning, rest = shared_beginning(request)
        kept = {"type": "text", "text": beginning, "cache_control": {"type": "ephemeral"}}
        body["messages"][0]["content"] = [kept, {"type": "text", "text": rest}]
    return {**{name: value for name, value in body.items() if name not in form}, **(request.extra_body or {})}


def shared_beginning(request: ChatRequest) -> tuple[str, str]:
    """Return a prompt up to the end of its paper, which is the same for all tasks, and the rest, which asks for one."""
    before, mark, rest = request.messages[0].text.partition("\n</paper>\n")
    return before + mark, rest


def path_and_body(request: ChatRequest, form: Form = frozenset()) -> tuple[str, bytes]:
    wire, body = provider_of(request.model).wire, request_body(request, form)
    if request.stream:
        body["stream"] = True
        if wire == "openai" and _STREAM_OPTIONS not in form:
            body[_STREAM_OPTIONS] = {"include_usage": True}
    return _PATHS[wire], msgspec.json.encode(body)


def untaken_field(request: ChatRequest, form: Form, said: str) -> str | None:
    """Return the field that a server refuses a request for, if the request can do without it or under another name."""
    body, said = request_body(request, form), said.lower()
    names, is_refused = re.findall("[a-z_]+", said), _REFUSED.search(said)
    is_wanted = "required" in said or "missing" in said
    if request.stream and _STREAM_OPTIONS in names and _STREAM_OPTIONS not in form:
        return _STREAM_OPTIONS
    for name, other in (_TOKEN_FIELDS, _TOKEN_FIELDS[::-1]):
        is_named = (name in names and is_refused) or (other in names and is_wanted)
        if name in body and other not in form and is_named:
            return name
    if "temperature" in names and request.temperature == 0 and _TEMPERATURE not in form:
        return _TEMPERATURE  # models that reason take none
    for name in (provider_of(request.model).seed_field, "store"):
        if is_refused and name in names and name in body and name not in (request.extra_body or {}):
            return name
    return _SCHEMA if request.schema is not None and _SCHEMA not in form and _OF_SCHEMA.search(said) else None


def is_stream(content: bytes) -> bool:
    """Say whether a body is one of events, which a server may send unasked; JSON begins otherwise."""
    return content.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith((b"data:", b"event:", b"id:", b"retry:", b":"))


def read_reply(wire: Wire, content: bytes) -> ChatReply:
    try:
        return reply_in(wire, (_body_of_stream(wire, content) if is_stream(content) else decode_served(content, dict)))
    except msgspec.DecodeError as error:
        raise TransientError(f"expected a reply as JSON: {error}") from error


def error_status(content: bytes) -> int | None:
    """Return the status of an error that stands where a reply is expected, in a body of status 200; None: it is none.

    A stream's counts where nothing was said before it.
    """
    if b'"error"' not in content:  # nearly all replies, which are then decoded once
        return None
    try:
        body: Any = next(_events(content), {}) if is_stream(content) else decode_served(content, dict)
    except msgspec.DecodeError:
        return None
    body = _dict(body)
    error = body.get("error")
    if not error or body.get("choices") or body.get("content"):
        return None
    for holder in (_dict(error), body):
        for name in ("code", "status", "status_code"):
            word = str(holder.get(name))
            if word.isdecimal() and int(word[:9]) in range(400, 600):
                return int(word)
    said = " ".join(str(_dict(error).get(name)) for name in ("type", "code", "status")).lower()
    return next((status for words, status in _STATUSES.items() if words in said), None)


def reply_in(wire: Wire, body: Any) -> ChatReply:
    """Return the reply in a body of status 200, or in a line of a batch's results; thinking is left out."""
    body = _as_completion(_dict(body)) if wire == "responses" else _dict(body)
    return (_anthropic_reply if wire == "anthropic" else _openai_reply)(body)


def _body_of_stream(wire: Wire, content: bytes) -> dict[str, Any]:
    """Return the body that a server would have sent at once; raise where its events end before the reply does."""
    events = list(_events(content))
    failed = next((event for event in events if event.get("error") or event.get("type") == "error"), None)
    whole = {"openai": _streamed_completion, "anthropic": _streamed_message, "responses": _streamed_response}
    body = whole[wire](events)
    is_done = re.search(rb"^data: *\[DONE\]", content, re.MULTILINE) is not None
    if body is None and is_done and failed is None and wire == "openai":  # some servers tell no reason
        body = _streamed_completion([*events, {"choices": [{"finish_reason": "other"}]}])
    if body is None:
        got = "its end" if failed is None else f"an error: {msgspec.json.encode(failed.get('error')).decode()}"
        raise TransientError(f"expected a reply in whole from the stream, got {got}")
    return body


def _events(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream; the data of one may stand on several lines, and several on lines of their own."""
    text = content.removeprefix(_BYTE_ORDER_MARK).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for block in text.split(b"\n\n"):
        lines = [line.removeprefix(b"data:").strip() for line in block.splitlines() if line.startswith(b"data:")]
        lines = [line for line in lines if line not in (b"", b"[DONE]")]
        try:
            together = [decode_served(b"\n".join(lines), dict[str, Any])] if lines else []
        except msgspec.DecodeError:
            together = [decode_served(line, dict[str, Any]) for line in lines]
        yield from together


def _streamed_completion(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    body, message, calls = dict[str, Any](), {"content": "", "refusal": ""}, dict[str, str]()
    tokens, reason = list[Any](), None
    for event in events:
        body |= {name: value for name, value in event.items() if value}  # the last has the usage
        for choice in map(_dict, _list(event.get("choices"))):
            reason, delta = choice.get("finish_reason") or reason, _dict(choice.get("delta"))
            message = {name: _grown(text, delta.get(name)) for name, text in message.items()}
            for call in map(_dict, _list(delta.get("tool_calls"))):
                place, function = str(call.get("index")), _dict(call.get("function"))
                calls[place] = _grown(calls.get(place, ""), function.get("arguments"))
            tokens += _list(_dict(choice.get("logprobs")).get("content"))
    whole = {**message, "tool_calls": [{"arguments": given} for given in calls.values()]}
    choice = {"message": whole, "finish_reason": reason, "logprobs": {"content": tokens}}
    return None if reason is None else {**body, "choices": [choice]}


def _streamed_message(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    body, blocks = dict[str, Any](), dict[str, dict[str, Any]]()
    for event in events:
        delta, block = _dict(event.get("delta")), blocks.setdefault(str(event.get("index")), {"text": "", "input": ""})
        block |= {name: value for name, value in _dict(event.get("content_block")).items() if name not in block}
        block |= {"text": _grown(block["text"], delta.get("text"))}
        block |= {"input": _grown(block["input"], delta.get("partial_json"))}
        if event.get("type") == "message_start":
            body = _dict(event.get("message"))
        elif event.get("type") == "message_delta":
            body = {**body, **delta, "usage": _dict(body.get("usage")) | _dict(event.get("usage"))}
    content = [block for block in blocks.values() if "type" in block]
    return {**body, "content": content} if body.get("stop_reason") else None


def _streamed_response(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    last = ("response.completed", "response.incomplete")
    return next((_dict(event.get("response")) for event in events if event.get("type") in last), None)


def _grown(text: str, more: Any) -> str:
    """Return a text with more of it, which may come in parts."""
    parts = more if isinstance(more, list) else [more]
    texts = [_dict(part).get("text") if _is_text(part) else part for part in parts]
    return text + "".join(one for one in texts if isinstance(one, str))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type", "text") in _TEXTS


def _openai_fields(request: ChatRequest, provider: Provider) -> dict[str, Any]:
    effort, schema = request.reasoning_effort, {"name": "reply", "strict": True, "schema": request.schema}
    body: dict[str, Any] = {provider.seed_field: request.seed} if provider.seed_field else {}
    if provider.wire == "responses":
        more = {"reasoning": {"effort": effort}, "text": {"format": {"type": "json_schema", **schema}}}
        body |= {"store": False, "stream": False}  # transformers serve streams unless it is told not to
    else:
        more = {"reasoning_effort": effort, "response_format": {"type": "json_schema", "json_schema": schema}}
    is_given = (effort is not None, request.schema is not None)
    return body | {name: more[name] for name, given in zip(more, is_given, strict=True) if given}


def _as_completion(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body of the Responses API as one of chat completions."""
    output, usage = body.get("output"), _dict(body.get("usage"))
    items = [_dict(item) for item in output] if isinstance(output, list) else []
    texts = [item.get("content") for item in items if item.get("type") == "message"]
    parts = [part for text in texts if isinstance(text, list) for part in text]
    calls = [item for item in items if item.get("type") == "function_call"]
    message = {"content": parts, "tool_calls": calls} if items else None
    reason = _dict(body.get("incomplete_details")).get("reason") or body.get("status")
    if reason in _UNFINISHED:
        raise TransientError(f"expected a reply in whole, got one that is {reason}")
    counts = {name.replace("input", "prompt").replace("output", "completion"): n for name, n in usage.items()}
    return {**body, "choices": [{"message": message, "finish_reason": reason}], "usage": counts}


def _openai_reply(body: dict[str, Any]) -> ChatReply:
    choices = body.get("choices")
    choice = _dict(choices[0]) if isinstance(choices, list) and choices else {}
    reason, message = choice.get("finish_reason"), choice.get("message")
    if (error := body.get("error") or choice.get("error")) or reason == "error":
        cause = (error.get("message") or error.get("code")) if isinstance(error, dict) else error
        raise TransientError(f"expected a reply, got an error: {cause or 'not told'}")
    if not isinstance(message, dict) and _finish(reason) == "refused":
        message = {}
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
    answer = _with_calls(text, calls if isinstance(calls, list) else [calls])
    return ChatReply(
        text=answer or refusal,
        expected_scores=expected_scores(choice.get("logprobs"), answer),
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
    own = [call for call in calls if call.get("name") in (_TOOL, None)]
    finish, usage = _finish(body.get("stop_reason")), _dict(body.get("usage"))
    read, prompt = _count(usage, "cache_read_input_tokens") or 0, _count(usage, "input_tokens")
    written = _count(usage, "cache_creation_input_tokens") or 0
    return ChatReply(
        text=_with_calls("", own[:1]) if own else _with_calls(_joined(blocks), calls),
        finish="stop" if finish == "tool" and own else finish,
        usage=Usage(
            prompt_tokens=None if prompt is None else prompt + read + written,
            completion_tokens=_count(usage, "output_tokens"),
            cached_tokens=read,
            written_tokens=written,
        ),
        served_by=_model_name(body.get("model")),
    )


def _finish(reason: Any) -> Finish:
    word = reason.lower() if isinstance(reason, str) else ""
    if _WITHHELD.search(word):
        return "refused"
    return next((finish for finish, words in _REASONS.items() if word in words), "other")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


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
