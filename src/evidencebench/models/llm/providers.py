"""Providers, addresses, keys."""

import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

from evidencebench.errors import SystemSpecError
from evidencebench.files.disk import packaged_table, read_whole
from evidencebench.models.llm.chat import ChatModel, ChatReply, ChatRequest
from evidencebench.web.http import check_address, check_key, is_this_machine, without_key
from evidencebench.wording import or_one_of

if TYPE_CHECKING:
    from evidencebench.models.llm.batch_queue import BatchGroup

Wire = Literal["openai", "anthropic", "responses"]

_API_VERSION = "api-version"


@dataclass(frozen=True, slots=True)
class Provider:
    name: str  # what stands before the slash of a model
    base_url: str | None = None  # what stands before /chat/completions and the like; None: it must be given
    key_env: str = ""  # the variable that holds the key; empty: none is sent unless the model's key_env is given
    wire: Wire = "openai"  # the protocol of its requests and replies
    key_header: str = "Authorization"  # holds the key; in Authorization, Bearer stands before it
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    seed_field: str = "seed"  # a request's field for the seed; empty: the provider takes none, and none is sent
    max_tokens_field: str = "max_tokens"  # a request's field for the longest reply
    queries: frozenset[str] = frozenset()  # the names that the query of its address may have
    has_batches: bool = False  # whether its batches can be used here
    promises_schema: bool = False  # whether replies are JSON of a schema where that is asked, so that it is by default
    prices_of: str = ""  # the provider whose prices hold; empty: its own
    states_cost: bool = False  # whether a reply's `usage.cost` is what was charged for it, in US dollars
    charges_for_withheld: bool = False  # whether it may charge for a prompt that its filter holds back

    def headers(self, key: str) -> dict[str, str]:
        carried = f"Bearer {key}" if self.key_header == "Authorization" else key
        return {**self.extra_headers} | ({self.key_header: carried} if key else {})


_TABLE = packaged_table(__file__)
PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {name: msgspec.convert({"name": name, **row}, Provider) for name, row in _TABLE.items()}
)


def provider_of(model: str) -> Provider:
    name, _, rest = model.partition("/")
    if not rest:
        raise SystemSpecError(f"model: expected provider/name, such as openai/NAME, got '{model[:80]}'")
    if name not in PROVIDERS:
        own = "for your own server local/NAME,base_url=http://host:port/v1"
        instead = or_one_of(name, PROVIDERS, "evidencebench llm providers", own)
        raise SystemSpecError(f"model: no provider '{name[:80]}'{instead}")
    return PROVIDERS[name]


def asks_json(chat: ChatModel) -> bool:
    """Whether replies must be JSON of a schema: as `structured` says; None: where the provider promises it."""
    row = PROVIDERS.get(chat.model.partition("/")[0])
    return bool(row and row.promises_schema) if chat.structured is None else chat.structured


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    provider: Provider
    base_url: str
    key_env: str  # empty: no key is sent

    def address(self, path: str) -> str:
        before, question_mark, query = self.base_url.partition("?")
        return f"{before.rstrip('/')}{path}{question_mark}{query}"


def server_of(asked: "ChatModel | ChatRequest | BatchGroup") -> Server:
    provider, where = provider_of(asked.model), f"model '{asked.model}'"
    base_url = provider.base_url if asked.base_url is None else asked.base_url
    if base_url is None:
        raise SystemSpecError(f"{where}: base_url: expected an address, got none; give base_url=http://host:port/v1")
    check_address(where, base_url, queries=provider.queries)
    parts = urlsplit(base_url)
    if parts.path.rstrip("/").endswith(("/chat/completions", "/messages", "/responses")):
        raise SystemSpecError(
            f"{where}: base_url: expected what stands before /chat/completions, /messages or /responses; leave that out"
        )
    if provider.queries and "/deployments/" in parts.path and not parts.query:
        raise SystemSpecError(
            f"{where}: base_url: expected the version of the interface behind a deployment; add ?{_API_VERSION}=DATE"
        )
    key_env = provider.key_env if asked.key_env is None else asked.key_env
    if key_env and not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", key_env):
        raise SystemSpecError(
            f"{where}: key_env: expected the name of an environment variable, such as {provider.key_env or 'MY_KEY'}, "
            "got something else, which is not shown since it may be a key; set a variable to the key and give its name"
        )
    own_hosts = (parts.hostname, None) if provider.base_url is None else (urlsplit(provider.base_url).hostname,)
    if key_env and asked.key_env is None and not is_this_machine(base_url) and parts.hostname not in own_hosts:
        raise SystemSpecError(
            f"{where}: key_env: expected the variable that holds the key of {parts.hostname}, since {key_env} is for "
            f"{provider.name}; give key_env={key_env} to send it there, or key_env= if the server needs none"
        )
    return Server(provider=provider, base_url=base_url, key_env=key_env)


_LEAST_SECRET_CHARACTERS = 8


class Key:
    """A secret that no `repr`, `str` or format shows; `value` is the text that is sent."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value: str = value

    def __repr__(self) -> str:
        return "Key(***)" if self.value else "Key()"


def key_for(server: Server, *, environ: Mapping[str, str] | None = None) -> Key:
    value = _look_up(server.key_env, environ)[0]
    check_key(f"model of {server.provider.name}", server.base_url, key_env=server.key_env, key=value)
    return Key(value)


def place_of_key(key_env: str) -> str | None:
    """Return where the key in a variable is found: ``environment`` or ``.env``; None: nowhere. Looks as `key_for`."""
    value, source = _look_up(key_env, None)
    return source if value else None


def _look_up(key_env: str, environ: Mapping[str, str] | None) -> tuple[str, str]:
    if not key_env:
        return "", "environment"
    if value := (os.environ if environ is None else environ).get(key_env, ""):
        return value, "environment"
    path = Path(".env")
    try:
        return read_dotenv(read_whole(path, at_most=1 << 20).decode(), str(path)).get(key_env, ""), ".env"
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):  # ``.env`` may be a folder
        return "", ".env"
    except OSError as error:
        raise SystemSpecError(f"{path}: cannot be read: {error.strerror}; set {key_env} in the environment") from error
    except UnicodeDecodeError as error:
        raise SystemSpecError(f"{path}: expected UTF-8; set {key_env} in the environment") from error


def reply_without_key(reply: ChatReply, key: Key) -> ChatReply:
    # A shorter key is a placeholder, such as ``EMPTY``, which may stand in any reply.
    if len(key.value) < _LEAST_SECRET_CHARACTERS:
        return reply
    text, served_by = without_key(reply.text, key.value), without_key(reply.served_by, key.value)
    expected = reply.expected_scores if text == reply.text else ()  # by their places in the text
    return msgspec.structs.replace(reply, text=text, served_by=served_by, expected_scores=expected)


def without_known_keys(text: str) -> str:
    for name in {provider.key_env for provider in PROVIDERS.values()}:
        if len(key := os.environ.get(name, "")) >= _LEAST_SECRET_CHARACTERS:
            text = without_key(text, key)
    return text


def read_dotenv(text: str, where: str = ".env") -> dict[str, str]:
    """Return the values in a ``.env`` file by name, as python-dotenv reads it. Nothing is expanded; the last counts."""
    from dotenv.parser import parse_stream  # noqa: PLC0415 - takes long, and few have such a file

    values: dict[str, str] = {}
    for binding in parse_stream(io.StringIO(text.removeprefix("\ufeff"))):
        if binding.key is not None and binding.key.isidentifier() and binding.value is not None:
            values[binding.key] = "" if binding.value.startswith("#") else binding.value  # a comment behind NAME=
        elif binding.error or binding.key is not None:
            skipped = binding.original.string
            number = binding.original.line + skipped[: len(skipped) - len(skipped.lstrip())].count("\n")
            raise SystemSpecError(
                f"{where}: line {number}: expected NAME=VALUE, with both quotes or none around the value; correct it, "
                "or set the variable in the environment"
            )
    return values
