"""A request for a reply and the reply itself, whichever provider's API they come in."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from evidencebench.integrations.fake_server.prompt_content import Turn

CHARACTERS_PER_TOKEN = 4
"""How long a token is here: a round number that anyone can check by hand."""

_TOKENS_PER_TURN = 3  # beside its text
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
    """A request for one reply."""

    model: str
    turns: tuple[Turn, ...]  # oldest first
    max_tokens: int | None = None  # of the reply, hidden reasoning included; None: any length
    reasoning_tokens: int = 0
    properties: frozenset[str] | None = None  # declared by the JSON object that is wanted; None: free text is wanted
    tool: str | None = None  # that must be called with that object; None: the object is the text
    streams: bool = False
    streams_usage: bool = False

    @property
    def prompt_tokens(self) -> int:
        """How long the conversation is, in tokens."""
        return sum(tokens_in(turn.text) + _TOKENS_PER_TURN for turn in self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model replies to a call."""

    call: Call
    text: str  # without hidden reasoning
    finish: Literal["stop", "length", "refused"] = "stop"
    is_object: bool = False  # whether the text is a JSON object of the structure that was asked for
    knows_paper: bool = True  # whether the data hold the paper, so that the answer could be right
    reasoning_tokens: int = 0
    serial: str = ""  # becomes a part of its id
    created: int = 0  # in seconds since 1970

    @property
    def completion_tokens(self) -> int:
        """The tokens that are charged for: those of the text and of the hidden reasoning."""
        return self.reasoning_tokens + tokens_in(self.text)


class ChatApi(Protocol):
    """One provider's chat API: the modules `openai_api` and `anthropic_api`."""

    def read_call(self, body: Any) -> Call:
        """Return the call that a decoded body makes, or raise `BadCallError`."""
        ...

    def whole(self, reply: Reply) -> dict[str, Any]:
        """Return the body of a reply that is sent in one go."""
        ...

    def events(self, reply: Reply) -> Iterator[bytes]:
        """Yield the server-sent events of a reply that is sent piece by piece."""
        ...

    def error_body(self, error: BadCallError, request_id: str) -> dict[str, Any]:
        """Return the body of an error."""
        ...


class TextPart(msgspec.Struct):
    """A part of a message; parts of other types are refused."""

    type: Literal["text"]
    text: str = ""


def text_of(content: str | list[TextPart] | None) -> str:
    """Return the text of a message."""
    return content if isinstance(content, str) else "".join(part.text for part in content or ())


def convert(body: Any, kind: type[Fields]) -> Fields:
    """Return a decoded body in a form, or raise `BadCallError` naming the field that does not fit."""
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
    """Return how many tokens of hidden reasoning an effort costs; one that is not known here costs none."""
    return _REASONING_TOKENS.get(effort or "", 0)


def tokens_in(text: str) -> int:
    """Return how many tokens a text has: a quarter of its characters, rounded up.

    >>> tokens_in("twelve chars"), tokens_in("")
    (3, 0)
    """
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
