"""Requests, calls and replies, in one form for the APIs of all providers."""

import hashlib
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from evidencebench.integrations.fake_server.prompt_content import Turn

CHARACTERS_PER_TOKEN = 4
"""The length of a token on this server: a round number, easy to check by hand."""

_TOKENS_PER_TURN = 3  # added to those of its text
_REASONING_TOKENS = {"minimal": 16, "low": 64, "medium": 256, "high": 1024, "xhigh": 2048, "max": 4096}

Fields = TypeVar("Fields")


class BadCallError(Exception):
    """A request that the real provider would refuse: `param` names the field, `status` is HTTP's."""

    def __init__(self, message: str, *, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.param = param
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request for one reply.

    ``max_tokens`` bounds the reply with its hidden reasoning; None: any length. ``properties`` are the names that the
    wanted JSON object declares; None: free text is wanted. The ``tool``, if named, must be called with that object.
    """

    model: str
    turns: tuple[Turn, ...]  # oldest first
    max_tokens: int | None = None
    reasoning_tokens: int = 0
    properties: frozenset[str] | None = None
    tool: str | None = None
    streams: bool = False
    streams_usage: bool = False

    @property
    def prompt_tokens(self) -> int:
        """The length of the conversation, in tokens."""
        return sum(tokens_in(turn.text) + _TOKENS_PER_TURN for turn in self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The model's reply to a call.

    ``is_object`` says whether the text is the JSON object that was wanted; ``knows_paper``, whether the data holds the
    paper, so that the answer can be right. The ``serial`` is a part of the reply's id.
    """

    call: Call
    text: str  # hidden reasoning is not in it
    finish: Literal["stop", "length", "refused"] = "stop"
    is_object: bool = False
    knows_paper: bool = True
    reasoning_tokens: int = 0
    serial: str = ""
    created: int = 0  # in seconds since 1970

    @property
    def completion_tokens(self) -> int:
        """The tokens that are charged for: those of the text and of the hidden reasoning."""
        return self.reasoning_tokens + tokens_in(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatApi:
    """How one provider reads a request for a reply, and writes the reply or an error.

    ``whole`` returns the body of a reply that is sent at once, ``events`` the server-sent events of a streamed one.
    ``error_body`` takes an error and the request's id. ``overloaded`` is the HTTP status of an overloaded server.
    """

    path: str
    read_call: Callable[[Any], Call]  # raises `BadCallError`
    whole: Callable[[Reply], dict[str, Any]]
    events: Callable[[Reply], AsyncIterator[bytes]]
    error_body: Callable[[BadCallError, str], dict[str, Any]]
    overloaded: int = 503


@dataclass(slots=True, kw_only=True)
class ServedRequest:
    """A request, and the reply for which it was paid.

    The ``key`` names the content in the log, the ``serial`` names the reply.
    """

    request: Request
    api: ChatApi  # the API that it speaks
    content: bytes
    body: Any  # the decoded content, None where it is no JSON
    key: str
    serial: str
    id: str = ""  # in its path
    reply: Reply | None = None


Endpoint = Callable[[ServedRequest], Response | dict[str, Any]]
"""Returns a response, or the JSON object to respond with; raises `BadCallError`."""

EndpointTable = dict[str, dict[str, Endpoint]]
"""Path -> method -> endpoint; ``{id}`` in a path stands for an id."""


class TextPart(msgspec.Struct):
    """A part of a message; parts of other types are refused."""

    type: Literal["text"]
    text: str = ""


def text_of(content: str | list[TextPart] | None) -> str:
    """Return the text of a message."""
    return content if isinstance(content, str) else "".join(part.text for part in content or ())


def convert(body: Any, kind: type[Fields]) -> Fields:
    """Return a decoded body converted to a type; raise `BadCallError`, which names the field that does not fit."""
    if not isinstance(body, dict):
        raise BadCallError("expected a JSON object as the body")
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        field = re.search(r"`\$\.(\w+)", str(error))
        raise BadCallError(f"Invalid request: {error}", param=field[1] if field else None) from error


def key_of(body: Any) -> str:
    """Return the SHA-256 of a body's canonical JSON: the same for the same request, however it is spelled.

    >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()


def reasoning_tokens_of(effort: str | None) -> int:
    """Return how many tokens of hidden reasoning an effort costs; an unknown effort costs none."""
    return _REASONING_TOKENS.get(effort or "", 0)


def tokens_in(text: str) -> int:
    """Return how many tokens a text has: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def within_limit(reply: Reply) -> Reply:
    """Return a reply with its hidden reasoning, cut where both are longer than ``max_tokens``.

    >>> reply = within_limit(Reply(call=Call(model="m", turns=(), max_tokens=2), text="twelve chars"))
    >>> reply.text, reply.finish, reply.completion_tokens
    ('twelve c', 'length', 2)
    """
    reasoning, most = reply.call.reasoning_tokens, reply.call.max_tokens
    if most is None or reasoning + tokens_in(reply.text) <= most:
        return replace(reply, reasoning_tokens=reasoning)
    reasoning = min(reasoning, most)
    text = reply.text[: (most - reasoning) * CHARACTERS_PER_TOKEN]
    return replace(reply, text=text, finish="length", is_object=False, reasoning_tokens=reasoning)
