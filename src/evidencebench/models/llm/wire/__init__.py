"""How requests are written and replies are read, one protocol in each file: pure functions of bytes.

Read `counts` (checks of what a reply counts), then `openai` and `anthropic`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.providers import Provider, Wire, provider_of
from evidencebench.models.llm.wire import anthropic, openai
from evidencebench.web.transient import TransientError

_BodyOf = Callable[[ChatRequest, Provider], dict[str, Any]]
_ReplyOf = Callable[[bytes | msgspec.Raw], ChatReply]

# Protocol -> the path of requests, the function that writes a body, and the one that reads a reply.
_WIRES: Mapping[Wire, tuple[str, _BodyOf, _ReplyOf]] = MappingProxyType(
    {
        "openai": (openai.PATH, openai.body_of, openai.reply_of),
        "anthropic": (anthropic.PATH, anthropic.body_of, anthropic.reply_of),
    }
)


def body_of(request: ChatRequest) -> dict[str, Any]:
    """Return the body of a request as a JSON object; a line of a batch holds the same."""
    provider = provider_of(request.model)
    return _WIRES[provider.wire][1](request, provider)


def path_and_body(request: ChatRequest) -> tuple[str, bytes]:
    """Return the path of a request, behind the base URL, and its body."""
    provider = provider_of(request.model)
    path, body_of_wire, _ = _WIRES[provider.wire]
    return path, msgspec.json.encode(body_of_wire(request, provider))


def reply_of(wire: Wire, content: bytes | msgspec.Raw) -> ChatReply:
    """Return the reply in a body of status 200, or in a line of a batch's results."""
    try:
        return _WIRES[wire][2](content)
    except msgspec.DecodeError as error:
        raise TransientError(f"expected a reply as JSON: {error}") from error
