"""How requests are written and replies are read, one protocol a file: pure functions of bytes.

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

# Protocol -> where requests are sent, what is sent, and how the reply is read.
_WIRES: Mapping[Wire, tuple[str, _BodyOf, _ReplyOf]] = MappingProxyType(
    {
        "openai": (openai.PATH, openai.body_of, openai.reply_of),
        "anthropic": (anthropic.PATH, anthropic.body_of, anthropic.reply_of),
    }
)


def body_of(request: ChatRequest) -> dict[str, Any]:
    """Return what is sent for a request, as a JSON object: also a line's body in a batch."""
    provider = provider_of(request.model)
    return _WIRES[provider.wire][1](request, provider)


def posted(request: ChatRequest) -> tuple[str, bytes]:
    """Return where a request is sent, behind the base URL, and what is sent."""
    provider = provider_of(request.model)
    path, body_of_wire, _ = _WIRES[provider.wire]
    return path, msgspec.json.encode(body_of_wire(request, provider))


def reply_of(wire: Wire, content: bytes | msgspec.Raw) -> ChatReply:
    """Return the reply in a body of status 200, or in a line of a batch's results."""
    try:
        return _WIRES[wire][2](content)
    except msgspec.DecodeError as error:
        raise TransientError(f"expected a reply as JSON: {error}") from error
