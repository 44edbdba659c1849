"""OpenAI's API: chat completion requests are read; completions, their chunks and errors are written."""

from collections.abc import AsyncIterator, Iterator
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
from evidencebench.integrations.fake_server.prompt_content import Turn

_CHUNK_CHARACTERS = 60
_FINISHES = {"stop": "stop", "length": "length", "refused": "stop"}
_ERROR_TYPES = {401: "authentication_error", 429: "rate_limit_error"}
_ERROR_CODES = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}
_SERVER_ERROR = 500
_Tokens = Annotated[int, msgspec.Meta(ge=1)]


class _ChatTurn(msgspec.Struct):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart] | None = None


class _NamedSchema(msgspec.Struct):
    name: str
    schema: dict[str, Any] = {}
    strict: bool | None = None


class _ResponseFormat(msgspec.Struct):
    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: _NamedSchema | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _CompletionBody(msgspec.Struct):
    model: str
    messages: Annotated[list[_ChatTurn], msgspec.Meta(min_length=1)]
    n: Annotated[int, msgspec.Meta(ge=1, le=1)] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: _Tokens | None = None
    max_completion_tokens: _Tokens | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    response_format: _ResponseFormat | None = None


def _read_call(body: Any) -> Call:
    fields = convert(body, _CompletionBody)
    if fields.max_tokens is not None and fields.max_completion_tokens is not None:
        raise BadCallError("max_tokens and max_completion_tokens: expected at most one of them", param="max_tokens")
    return Call(
        model=fields.model,
        turns=tuple(
            Turn(role="system" if message.role == "developer" else message.role, text=text_of(message.content))
            for message in fields.messages
        ),
        max_tokens=fields.max_completion_tokens or fields.max_tokens,
        reasoning_tokens=reasoning_tokens_of(fields.reasoning_effort),
        properties=_properties(fields.response_format),
        streams=bool(fields.stream),
        streams_usage=bool(fields.stream_options and fields.stream_options.include_usage),
    )


def _whole(reply: Reply) -> dict[str, Any]:
    choice = {"index": 0, "message": _message(reply), "logprobs": None, "finish_reason": _FINISHES[reply.finish]}
    head = _head(reply, "chat.completion")
    return {**head, "choices": [choice], "usage": _usage(reply), "service_tier": "default"}


async def _events(reply: Reply) -> AsyncIterator[bytes]:
    head = _head(reply, "chat.completion.chunk")
    message = _message(reply)
    name = "content" if message["content"] is not None else "refusal"
    deltas = ({name: chunk} for chunk in chunks(message[name]))
    for delta, finish in (
        ({"role": "assistant", name: ""}, None),
        *((delta, None) for delta in deltas),
        ({}, _FINISHES[reply.finish]),
    ):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        yield _event({**head, "choices": [choice], **({"usage": None} if reply.call.streams_usage else {})})
    if reply.call.streams_usage:
        yield _event({**head, "choices": [], "usage": _usage(reply)})
    yield b"data: [DONE]\n\n"


def _error_body(error: BadCallError, _: str) -> dict[str, Any]:
    kind = "server_error" if error.status >= _SERVER_ERROR else _ERROR_TYPES.get(error.status, "invalid_request_error")
    code = _ERROR_CODES.get(error.status)
    return {"error": {"message": str(error), "type": kind, "param": error.param, "code": code}}


def chunks(text: str) -> Iterator[str]:
    """Return the pieces in which a text is streamed."""
    return (text[start : start + _CHUNK_CHARACTERS] for start in range(0, len(text), _CHUNK_CHARACTERS))


def _properties(wanted: _ResponseFormat | None) -> frozenset[str] | None:
    """Return the names that the wanted JSON object declares; None where free text is wanted."""
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return frozenset()
    if wanted.json_schema is None:
        raise BadCallError("response_format.json_schema: expected a name and a schema", param="response_format")
    if wanted.json_schema.strict:
        _check_strict(wanted.json_schema.schema, "response_format.json_schema.schema")
    return _strings_in(wanted.json_schema.schema.get("properties"))


def _check_strict(schema: Any, where: str) -> None:
    """Raise unless each object in a strict schema forbids other properties and requires all that it declares."""
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
        if _strings_in(schema.get("required")) != _strings_in(schema.get("properties")):
            raise BadCallError(f"{where}: expected all properties in required, as strict asks", param="response_format")
    for name, member in schema.items():
        _check_strict(member, f"{where}.{name}")


def _strings_in(value: Any) -> frozenset[str]:
    names = value if isinstance(value, (list, dict)) else ()
    return frozenset(name for name in names if isinstance(name, str))


def _head(reply: Reply, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{reply.serial}",
        "object": kind,
        "created": reply.created,
        "model": reply.call.model,
        "system_fingerprint": "fp_evidencebench",
    }


def _message(reply: Reply) -> dict[str, Any]:
    declined = reply.finish == "refused" and reply.call.properties is not None
    content, refusal = (None, reply.text) if declined else (reply.text, None)
    return {"role": "assistant", "content": content, "refusal": refusal}


def _usage(reply: Reply) -> dict[str, Any]:
    prompt_tokens = reply.call.prompt_tokens
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": prompt_tokens + reply.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens, "audio_tokens": 0},
    }


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


OPENAI = ChatApi(
    path="/v1/chat/completions", read_call=_read_call, whole=_whole, events=_events, error_body=_error_body
)
