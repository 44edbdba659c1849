"""The OpenAI protocol: read a chat completion request, write completions, chunks and errors."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from evidencebench.integrations.fake_server.asked import Turn
from evidencebench.integrations.fake_server.calls import BadCallError, Call, Counted, reasoning_tokens_of

FINGERPRINT = "fp_evidencebench"
_PIECE_CHARACTERS = 60
_FINISHES = {"stop": "stop", "length": "length", "refused": "stop"}
_ERROR_TYPES = {401: "authentication_error", 404: "invalid_request_error", 429: "rate_limit_error"}
_ERROR_CODES = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}
_SERVER_ERROR = 500


class _Part(msgspec.Struct):
    type: str
    text: str = ""


class _Message(msgspec.Struct):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part] | None = None


class _Schema(msgspec.Struct):
    name: str
    schema: dict[str, Any] = {}
    strict: bool | None = None


class _Format(msgspec.Struct):
    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: _Schema | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message]
    n: int | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    response_format: _Format | None = None


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
    return Call(
        model=fields.model,
        turns=tuple(_turn(message) for message in fields.messages),
        max_tokens=fields.max_completion_tokens or fields.max_tokens,
        reasoning_tokens=reasoning_tokens_of(fields.reasoning_effort),
        properties=_properties(fields.response_format),
        streams=bool(fields.stream),
        streams_usage=bool(fields.stream_options and fields.stream_options.include_usage),
    )


def whole(reply: Counted, call: Call, *, serial: str, created: int) -> dict[str, Any]:
    """Return a ``chat.completion``."""
    choice = {"index": 0, "message": _message(reply, call), "logprobs": None, "finish_reason": _finish(reply)}
    return {
        "id": f"chatcmpl-{serial}",
        "object": "chat.completion",
        "created": created,
        "model": call.model,
        "choices": [choice],
        "usage": _usage(reply),
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    }


def events(reply: Counted, call: Call, *, serial: str, created: int) -> Iterator[bytes]:
    """Yield the server-sent events of a completion, the mark ``[DONE]`` included."""
    head = {
        "id": f"chatcmpl-{serial}",
        "object": "chat.completion.chunk",
        "created": created,
        "model": call.model,
        "system_fingerprint": FINGERPRINT,
    }
    unknown = {"usage": None} if call.streams_usage else {}
    message = _message(reply, call)
    name = "content" if message["content"] is not None else "refusal"
    yield _event({**head, **_choice({"role": "assistant", name: ""}), **unknown})
    text = message[name]
    for start in range(0, len(text), _PIECE_CHARACTERS):
        yield _event({**head, **_choice({name: text[start : start + _PIECE_CHARACTERS]}), **unknown})
    yield _event({**head, **_choice({}, _finish(reply)), **unknown})
    if call.streams_usage:
        yield _event({**head, "choices": [], "usage": _usage(reply)})
    yield b"data: [DONE]\n\n"


def error(message: str, status: int, *, param: str | None, request_id: str) -> dict[str, Any]:  # noqa: ARG001 - as all
    """Return an error as this provider writes it."""
    kind = "server_error" if status >= _SERVER_ERROR else _ERROR_TYPES.get(status, "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": _ERROR_CODES.get(status)}}


def _check(fields: _Body) -> None:
    if fields.n not in {None, 1}:
        raise BadCallError(f"n: expected 1, got {fields.n}: this server gives one choice", param="n")
    if not fields.messages:
        raise BadCallError("messages: expected at least one, got none", param="messages")
    limits = {"max_tokens": fields.max_tokens, "max_completion_tokens": fields.max_completion_tokens}
    given = {name: value for name, value in limits.items() if value is not None}
    if len(given) > 1:
        raise BadCallError("max_tokens and max_completion_tokens: expected at most one of them", param="max_tokens")
    for name, value in given.items():
        if value < 1:
            raise BadCallError(f"{name}: expected at least 1, got {value}", param=name)
    for name, number, highest in (("temperature", fields.temperature, 2), ("top_p", fields.top_p, 1)):
        if number is not None and not 0 <= number <= highest:
            raise BadCallError(f"{name}: expected 0 to {highest}, got {number}", param=name)


def _turn(message: _Message) -> Turn:
    if isinstance(message.content, list):
        for part in message.content:
            if part.type != "text":
                raise BadCallError(f"messages: expected parts of type text, got '{part.type}'", param="messages")
    parts = message.content if isinstance(message.content, list) else []
    text = message.content if isinstance(message.content, str) else "".join(part.text for part in parts)
    return Turn(role="system" if message.role == "developer" else message.role, text=text)


def _properties(wanted: _Format | None) -> frozenset[str] | None:
    """Return the names that the object asked for declares, None where free text will do."""
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return frozenset()
    if wanted.json_schema is None:
        raise BadCallError("response_format.json_schema: expected a name and a schema", param="response_format")
    if wanted.json_schema.strict:
        _check_strict(wanted.json_schema.schema, "response_format.json_schema.schema")
    return _names(wanted.json_schema.schema.get("properties"))


def _check_strict(schema: Any, where: str) -> None:
    """Raise unless each object in a strict schema closes itself and requires all that it declares."""
    if isinstance(schema, list):
        for position, member in enumerate(schema):
            _check_strict(member, f"{where}[{position}]")
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            raise BadCallError(
                f"{where}: expected additionalProperties: false, as strict asks", param="response_format"
            )
        if _names(schema.get("required")) != _names(schema.get("properties")):
            raise BadCallError(f"{where}: expected all properties in required, as strict asks", param="response_format")
    for name, member in schema.items():
        _check_strict(member, f"{where}.{name}")


def _names(value: Any) -> frozenset[str]:
    return (
        frozenset(filter(lambda name: isinstance(name, str), value)) if isinstance(value, (list, dict)) else frozenset()
    )


def _message(reply: Counted, call: Call) -> dict[str, Any]:
    text = reply.spoken.text
    declined = reply.spoken.finish == "refused" and call.properties is not None
    return {"role": "assistant", "content": None if declined else text, "refusal": text if declined else None}


def _finish(reply: Counted) -> str:
    return _FINISHES[reply.spoken.finish]


def _usage(reply: Counted) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens, "audio_tokens": 0},
    }


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"
