"""ChatModel, ChatRequest, ChatReply, Usage, Sender."""

import hashlib
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from evidencebench.errors import SystemSpecError
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.web.http import sendable

Finish = Literal["stop", "length", "refused", "tool", "other"]
"""Why a reply ended: by itself, at ``max_tokens``, refused by the provider, in the call of a tool, or otherwise."""

_KEY_VERSION = 1  # to be raised when the same fields would no longer mean the same request
_FIELDS_OF_OPTIONS = {"model", "messages", "input", "stream", "n", "seed", "random_seed", "temperature", "top_p"}
_FIELDS_OF_OPTIONS |= {"max_tokens", "max_completion_tokens", "max_output_tokens", "reasoning_effort"}
_DECIDE_NOTHING = ("key_env", "stream")
ROOM_TO_THINK = 25_000  # tokens that OpenAI's guide to reasoning advises to keep at first for thinking and reply


class Message(msgspec.Struct, frozen=True):
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatModel:
    """Which language model is asked, and how it samples: options that every strategy has.

    Attributes
    ----------
    model
        ``provider/name``, such as ``openai/gpt-4o-mini`` or ``anthropic/claude-sonnet-4-5``.
    base_url
        The address before ``/chat/completions``, such as ``http://127.0.0.1:8000/v1``; None: the provider's own.
    key_env
        The environment variable that holds the key; None: the provider's own; empty: none is sent.
    temperature, top_p
        Of sampling; None: nothing is sent, so that the model's own value holds.
    seed
        Of sampling, sent where the provider takes one. Another seed is another request, so it draws another reply.
    max_tokens
        The longest reply, hidden reasoning included.
    reasoning_effort
        Such as ``low`` or ``high``, for models that reason before they reply; None: nothing is sent.
    structured
        Whether the reply must be JSON of a given schema; None: where the provider promises that. Where the server
        refuses a schema, the prompt alone asks for JSON.
    context_tokens
        The longest prompt and reply together. Longer papers are cut, and counted.
    max_tokens_if_cut
        The longest reply where one that was cut while the model thought is asked for again; None: 25,000; 0: never.
    extra_body
        More fields of a request's body, as the text of a JSON object. They stand in a run's header: no keys.
    stream
        Whether a reply is asked for word by word, so that the time to its first is known, and no proxy ends a long one
        for silence. It is the same reply, so a stored one serves.
    """

    model: str
    base_url: str | None = None
    key_env: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int = 0
    max_tokens: int = 4096
    reasoning_effort: str | None = None
    structured: bool | None = None
    context_tokens: int = 128_000
    max_tokens_if_cut: int | None = None
    extra_body: str | None = None
    stream: bool | None = None

    def request(self, messages: tuple[Message, ...], schema: Mapping[str, Any] | None = None) -> "ChatRequest":
        shared = {name: getattr(self, name) for name in ChatRequest.__struct_fields__ if name in self.__slots__}
        shared["extra_body"] = self.extra_fields()
        sent = tuple(Message(message.role, sendable(message.text)) for message in messages)
        return ChatRequest(messages=sent, schema=schema, **shared)

    def extra_fields(self) -> dict[str, Any] | None:
        """Return the fields of `extra_body`; raise `SystemSpecError` where it is no object or sets another option."""
        try:
            fields = None if self.extra_body is None else msgspec.json.decode(self.extra_body, type=dict[str, Any])
        except BROKEN_JSON as error:
            how = 'expected a JSON object in square brackets, such as [{"service_tier": "flex"}]'
            raise SystemSpecError(f"extra_body: {how}, got '{(self.extra_body or '')[:60]}': {error}") from error
        if own := sorted(_FIELDS_OF_OPTIONS & (fields or {}).keys()):
            raise SystemSpecError(f"extra_body: '{own[0]}' is set by the options of the model; leave it out there")
        return fields


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True, dict=True):  # dict: for the cached property
    """One request: everything that decides the reply, and nothing else. The other fields are those of `ChatModel`."""

    model: str
    messages: tuple[Message, ...]  # the conversation so far, oldest first
    base_url: str | None = None
    key_env: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int = 0
    max_tokens: int = 4096
    reasoning_effort: str | None = None
    schema: Mapping[str, Any] | None = None  # JSON schema that the reply must fit; None: free text
    extra_body: Mapping[str, Any] | None = None  # more fields of the body
    stream: bool | None = None  # decides nothing of the reply

    @cached_property
    def key(self) -> str:
        """The name in the cache: a SHA-256. A provider's own address, spelled out, is another than None."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name not in _DECIDE_NOTHING}
        if self.extra_body is None:  # so that replies of before there was this field are found
            del fields["extra_body"]
        for name in ("temperature", "top_p"):  # 0 and 0.0 are the same
            fields[name] = None if fields[name] is None else float(fields[name])
        if self.base_url is not None:
            before, question_mark, query = self.base_url.partition("?")
            fields["base_url"] = f"{before.rstrip('/')}{question_mark}{query}" or None
        canonical = msgspec.json.encode({"version": _KEY_VERSION, **fields}, order="deterministic")
        return hashlib.sha256(canonical).hexdigest()

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]

    @property
    def model_name(self) -> str:
        return self.model.partition("/")[2]


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens that a reply was charged for, as the provider counted them; None where it did not say."""

    prompt_tokens: int | None = None  # all of the prompt, cached parts included
    completion_tokens: int | None = None  # all of the reply, hidden reasoning included
    cached_tokens: int = 0  # of the prompt: read from the provider's cache
    written_tokens: int = 0  # of the prompt: written to it, at a higher price (Anthropic's)
    reasoning_tokens: int = 0  # of the reply: hidden reasoning
    stated_usd: float | None = None  # what the reply says that it cost, which counts where `Provider.states_cost`


NOTHING_USED = Usage(prompt_tokens=0, completion_tokens=0)
"""The usage of a prompt that was refused before a model ran."""


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    text: str  # without hidden reasoning; empty where there is none
    finish: Finish = "stop"
    usage: Usage = Usage()
    served_by: str = ""  # the model's name in the reply, often with a date; empty where it is not said
    priced_as_of: str = ""  # the day of the price that its cost was computed with; empty: with none
    maybe_charged: int = 0  # attempts before it without a usable reply, whose cost, if any, is not known
    expected_scores: tuple[tuple[int, float], ...] = ()  # place in the text, mean of what might stand there
    seconds: float | None = None  # from sending to its last byte; None: stored by an earlier version, or in a batch
    first_token_seconds: float | None = None  # from sending to its first byte; None: it was not streamed


def fault_of_end(finish: Finish, text: str) -> str:
    """Return why a reply with this text that ended so is not whole, and what to do; empty if it ended by itself."""
    if finish == "length":
        where = "" if text.strip() else " while the model thought, before any answer"
        return f"the reply was cut off{where}; raise max_tokens"
    if finish == "tool" and text.strip():  # of the call, which may hold the answer
        return ""
    faults = {
        "stop": "",
        "tool": "the model called a tool, where none was offered; ask another, or start its server without tool calls",
    }
    return faults.get(finish, f"the reply ended otherwise than by itself ({finish})")


class Received(NamedTuple):
    """A reply, with its cost when it was sent. It is in the cache already, if there is one."""

    reply: ChatReply
    cost_usd: float | None  # None where the model's price is not known; never 0 for want of a price


class Sender(Protocol):
    def send(self, request: ChatRequest) -> ChatReply:
        """Raise `EndpointError` for good, `StopError` if no more may be sent, `PendingError` while a batch is open."""


_LETTERS, _DIGITS, _SPACES = string.ascii_letters.encode(), string.digits.encode(), b" \t\n\r\x0b\x0c"
_BEYOND_ASCII = bytes(range(128, 256))
_MESSAGE_TOKENS = 8  # tokens that a chat template puts around a message


@lru_cache(maxsize=256)  # a prompt is counted for its cost, its room and what the server read of it
def estimated_tokens(text: str) -> int:
    """Source: our own weights, fitted to MiniLM's WordPiece on the 96 train papers; there 12 % too high on average."""
    content = text.encode(errors="replace")
    n_letters, n_digits, n_spaces, n_beyond = (
        len(content) - len(content.translate(None, kind)) for kind in (_LETTERS, _DIGITS, _SPACES, _BEYOND_ASCII)
    )
    n_wide = n_beyond - (len(content) - len(text))  # characters, not bytes
    n_other = len(content) - n_letters - n_digits - n_spaces - n_beyond
    return round(0.235 * n_letters + 0.6 * n_digits + 1.55 * n_other + 2.4 * n_wide)


def prompt_tokens_of(request: ChatRequest) -> int:
    return sum(_MESSAGE_TOKENS + estimated_tokens(message.text) for message in request.messages)
