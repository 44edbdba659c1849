"""Keys: read from the environment or from ``.env``, sent to their server, and shown nowhere."""

import io
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from evidencebench.errors import MissingExtraError, SystemSpecError
from evidencebench.models.http import check_key, without_key
from evidencebench.models.llm.chat import ChatReply
from evidencebench.models.llm.providers import PROVIDERS, Server
from evidencebench.storage.reading import read_whole

_MOST_BYTES = 1 << 20
_LEAST_SECRET_CHARACTERS = 8


class Key:
    """A secret that no `repr`, `str` or format shows; `value` is the text that is sent."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Key(***)" if self.value else "Key()"


def key_for(server: Server, *, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Key:
    """Return the key that a server is sent, empty where it needs none.

    It is looked up in the environment (None: this process's), then in ``.env`` in a folder (None: the working folder).
    """
    value = _look_up(server.key_env, environ, folder)[0]
    check_key(f"model of {server.provider.name}", server.base_url, key_env=server.key_env, key=value)
    return Key(value)


def place_of_key(key_env: str, *, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> str | None:
    """Return where the key in a variable is found: ``environment`` or ``.env``; None: nowhere. Looks as `key_for`."""
    value, place = _look_up(key_env, environ, folder)
    return place if value else None


def _look_up(key_env: str, environ: Mapping[str, str] | None, folder: Path | None) -> tuple[str, str]:
    """Return the value of a variable, empty where there is none, and the last place that was looked in."""
    if not key_env:
        return "", "environment"
    if value := (os.environ if environ is None else environ).get(key_env, ""):
        return value, "environment"
    return _value_in_file((folder or Path()) / ".env", key_env), ".env"


def reply_without_key(reply: ChatReply, key: Key) -> ChatReply:
    """Return a reply without the key, fit to be stored: a server may repeat the key in it.

    A key of fewer than 8 characters is a placeholder, such as ``EMPTY``, which may stand in any reply. It stays there.
    """
    if len(key.value) < _LEAST_SECRET_CHARACTERS:
        return reply
    text, served_by = without_key(reply.text, key.value), without_key(reply.served_by, key.value)
    if text == reply.text and served_by == reply.served_by:
        return reply
    return msgspec.structs.replace(reply, text=text, served_by=served_by)


def without_known_keys(text: str) -> str:
    """Return a text without the keys of providers that the environment holds, such as what a program complains."""
    for name in {provider.key_env for provider in PROVIDERS.values()}:
        if len(key := os.environ.get(name, "")) >= _LEAST_SECRET_CHARACTERS:
            text = without_key(text, key)
    return text


def read_dotenv(text: str, where: str = ".env") -> dict[str, str]:
    r"""Return the values in a ``.env`` file by name, as python-dotenv reads it. Nothing is expanded; the last counts.

    Examples
    --------
    >>> read_dotenv("# keys\nexport A='x y' # mine\nB=z#1 # another\n")
    {'A': 'x y', 'B': 'z#1'}
    """
    try:
        from dotenv.parser import parse_stream  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            f"{where}: needs python-dotenv, which is not installed: pip install 'evidencebench[llm]', or set the "
            "variable in the environment"
        ) from error
    found: dict[str, str] = {}
    for binding in parse_stream(io.StringIO(text.removeprefix("\ufeff"))):
        if binding.key is not None and binding.key.isidentifier() and binding.value is not None:
            found[binding.key] = "" if binding.value.startswith("#") else binding.value  # a comment behind NAME=
        elif binding.error or binding.key is not None:
            skipped = binding.original.string
            number = binding.original.line + skipped[: len(skipped) - len(skipped.lstrip())].count("\n")
            raise SystemSpecError(
                f"{where}: line {number}: expected NAME=VALUE, with both quotes or none around the value; correct it, "
                "or set the variable in the environment"
            )
    return found


def _value_in_file(path: Path, name: str) -> str:
    try:
        return read_dotenv(read_whole(path, at_most=_MOST_BYTES).decode(), str(path)).get(name, "")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):  # ``.env`` may be a folder
        return ""
    except OSError as error:
        raise SystemSpecError(f"{path}: cannot be read: {error.strerror}; set {name} in the environment") from error
    except UnicodeDecodeError as error:
        raise SystemSpecError(f"{path}: expected UTF-8; set {name} in the environment") from error
