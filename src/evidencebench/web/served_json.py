"""JSON as servers send it: a reply that was paid for is read even if fields that are not needed are damaged."""

import json
import re
from typing import TypeVar

import msgspec

from evidencebench.storage.reading import BROKEN_JSON

T = TypeVar("T")

_MOST_DEPTH = 100
_MOST_BYTES = 4 << 20  # mending more takes seconds, and no reply is as long
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]|[^"\[\]{}]++|"', re.DOTALL)
_UNSOUND = re.compile(r"[\x00-\x1f]|\\u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|\\.", re.DOTALL)
_PAIR = re.compile(r"\\u[dD][89abAB].{2}\\u.{4}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F].{2}")
_ESCAPED = frozenset('"\\/bfnrt')
_NUMBERS = re.compile(r"[-+]?(?:NaN|Infinity|nan|inf|undefined|[0-9][0-9.eE+-]*)")
_SOUND_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")


def decode_served(content: bytes | msgspec.Raw, form: type[T]) -> T:
    r"""Return JSON decoded as ``form``, even if fields that are not in the form are damaged.

    Bytes that are no UTF-8 and halves of surrogate pairs are read as U+FFFD. NaN, infinity, numbers that no float
    holds, and values below 100 levels are read as null.

    >>> decode_served(b'{"text": "a\\ud800", "logprob": NaN}', dict)
    {'text': 'a�', 'logprob': None}
    """
    try:
        return msgspec.json.decode(content, type=form)
    except BROKEN_JSON:
        return msgspec.json.decode(_mend(bytes(content)), type=form)


def optional_part(content: bytes | msgspec.Raw, form: type[T]) -> T | None:
    """Return an optional part of a reply in its form; None if it is null or has another form."""
    try:
        return decode_served(content, form)
    except msgspec.DecodeError:
        return None


def _mend(content: bytes) -> bytes:
    """Return damaged JSON as valid JSON, as far as it can be read."""
    if len(content) > _MOST_BYTES:
        raise msgspec.DecodeError(f"JSON is malformed, and too long to be mended: {len(content)} bytes")
    text = content.decode("utf-8-sig", errors="replace")
    mended: list[str] = []
    depth = 0
    for found in _TOKENS.finditer(text):
        piece = found[0]
        if piece == '"':
            raise msgspec.DecodeError("JSON is malformed: it ends within a string")
        if piece in "[{":
            depth += 1
            if depth == _MOST_DEPTH:
                mended.append("null")
        if depth < _MOST_DEPTH:
            mended.append(_mend_piece(piece))
        if piece in "]}":
            depth -= 1
    return "".join(mended).encode()


def _mend_piece(piece: str) -> str:
    if piece[0] == '"':
        return _UNSOUND.sub(_mend_escape, piece)
    return piece if piece in "[]{}" else _NUMBERS.sub(_mend_number, piece)


def _mend_escape(found: re.Match[str]) -> str:
    part = found[0]
    if part[0] != "\\":
        return json.dumps(part)[1:-1]
    if part[1] == "u" and len(part) > len("\\u"):
        return part if _PAIR.fullmatch(part) else _SURROGATE.sub(r"\\ufffd", part)
    return part if part[1] in _ESCAPED else "\\" + part


def _mend_number(found: re.Match[str]) -> str:
    return found[0] if _SOUND_NUMBER.fullmatch(found[0]) else "null"
