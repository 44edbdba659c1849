"""How requests are written and replies are read, one protocol a file: pure functions of bytes."""

from typing import Any

import msgspec

from evidencebench.models.endpoints import PassingError
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.models.llm.providers import Wire, provider_of
from evidencebench.models.llm.wire import anthropic, openai

_PATHS = {"openai": openai.PATH, "anthropic": anthropic.PATH}
_BODIES = {"openai": openai.body_of, "anthropic": anthropic.body_of}
_REPLIES = {"openai": openai.reply_of, "anthropic": anthropic.reply_of}


def body_of(request: ChatRequest) -> dict[str, Any]:
    """Return what is sent for a request, as a JSON object: also a line's body in a batch."""
    provider = provider_of(request.model)
    return _BODIES[provider.wire](request, provider)


def posted(request: ChatRequest) -> tuple[str, bytes]:
    """Return where a request is sent, behind the base URL, and what is sent.

    Raises
    ------
    SystemSpecError
        If the provider is not known, or cannot be asked so.
    """
    provider = provider_of(request.model)
    return _PATHS[provider.wire], msgspec.json.encode(_BODIES[provider.wire](request, provider))


def reply_of(wire: Wire, content: bytes | msgspec.Raw) -> ChatReply:
    """Return the reply in a body of status 200, or in a line of a batch's results.

    Raises
    ------
    PassingError
        If it is not JSON, has not the form of a reply, or says that the server failed.
    """
    try:
        return _REPLIES[wire](content)
    except msgspec.DecodeError as error:
        raise PassingError(f"expected a reply as JSON: {error}") from error
