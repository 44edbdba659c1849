"""A request for a reply and the reply itself, whichever provider's protocol they come in."""

from dataclasses import dataclass
from typing import Literal

from evidencebench.integrations.fake_server.asked import Turn

CHARACTERS_PER_TOKEN = 4
"""How long a token is here: a round number that anyone can check by hand."""

TOKENS_PER_TURN = 3
"""What a turn costs beside its text."""

_REASONING_TOKENS = {"minimal": 16, "low": 64, "medium": 256, "high": 1024, "xhigh": 2048, "max": 4096}


class BadCallError(Exception):
    """A request that the real provider would refuse: ``param`` names the field, ``status`` is HTTP's."""

    def __init__(self, message: str, *, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.param = param
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request for one reply.

    Attributes
    ----------
    model
        The name that was asked for.
    turns
        The conversation, oldest first.
    max_tokens
        The longest reply, hidden reasoning included; None: any length.
    reasoning_tokens
        How long the hidden reasoning is.
    properties
        Names that the JSON object asked for declares; empty where it declares none; None where free text is wanted.
    tool
        Name of the tool that must be called with that object; None where the object is the text.
    streams
        Whether the reply is sent piece by piece.
    streams_usage
        Whether the pieces end with the token counts.
    """

    model: str
    turns: tuple[Turn, ...]
    max_tokens: int | None = None
    reasoning_tokens: int = 0
    properties: frozenset[str] | None = None
    tool: str | None = None
    streams: bool = False
    streams_usage: bool = False

    @property
    def prompt_tokens(self) -> int:
        """How long the conversation is, in tokens."""
        return sum(tokens_in(turn.text) + TOKENS_PER_TURN for turn in self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What the model says.

    Attributes
    ----------
    text
        The reply, without hidden reasoning.
    finish
        Why it ends.
    is_object
        Whether the text is a JSON object of the structure that was asked for.
    knows_paper
        Whether the data holds the paper, so that the answer could be right.
    """

    text: str
    finish: Literal["stop", "length", "refused"] = "stop"
    is_object: bool = False
    knows_paper: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A reply with what it costs.

    Attributes
    ----------
    spoken
        The reply, cut to the longest that was allowed.
    prompt_tokens, completion_tokens, reasoning_tokens
        Reasoning is part of the completion.
    """

    spoken: Spoken
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int


def reasoning_tokens_of(effort: str | None) -> int:
    """Return how many tokens of hidden reasoning an effort costs; one that is not known here costs none."""
    return _REASONING_TOKENS.get(effort or "", 0)


def tokens_in(text: str) -> int:
    """Return how many tokens a text has: a quarter of its characters, rounded up.

    Examples
    --------
    >>> tokens_in("twelve chars"), tokens_in("")
    (3, 0)
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def counted(spoken: Spoken, call: Call) -> Counted:
    """Return a reply as the call allows it: cut where it would be longer than ``max_tokens``, and counted.

    Examples
    --------
    >>> reply = counted(Spoken(text="twelve chars"), Call(model="m", turns=(), max_tokens=2))
    >>> reply.spoken.text, reply.spoken.finish, reply.completion_tokens
    ('twelve c', 'length', 2)
    """
    reasoning = call.reasoning_tokens
    text, finish, is_object = spoken.text, spoken.finish, spoken.is_object
    if call.max_tokens is not None and reasoning + tokens_in(text) > call.max_tokens:
        reasoning = min(reasoning, call.max_tokens)
        text = text[: (call.max_tokens - reasoning) * CHARACTERS_PER_TOKEN]
        finish, is_object = "length", False
    return Counted(
        spoken=Spoken(text=text, finish=finish, is_object=is_object, knows_paper=spoken.knows_paper),
        prompt_tokens=call.prompt_tokens,
        completion_tokens=reasoning + tokens_in(text),
        reasoning_tokens=reasoning,
    )
