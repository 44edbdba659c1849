"""Where each instance stands in a file: one pass over its bytes, nothing decoded but the ids."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from evidencebench.content import Content, give_back, lines_of, start_of
from evidencebench.errors import UnreadableError
from evidencebench.instance import Origin
from evidencebench.keys import repeated_keys

# Above this size a broken file is not parsed again just to word its error.
_MAX_DIAGNOSED_BYTES = 64 << 20

# Above this size the pages of a mapped file are given back on the way, so that it is never in memory as a whole.
_MAX_WHOLE_BYTES = 64 << 20
_PART_BYTES = 16 << 20

# What stands before a member's value, and behind the last one.
_MEMBER = re.compile(rb'\s*+[{,]\s*+("(?:[^"\\]++|\\.)*+")\s*+:\s*+', re.DOTALL)
_END = re.compile(rb"\s*\{?\s*\}\s*")
_LAST_END = re.compile(rb"\s*\}\s*")

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_value = msgspec.json.Decoder(msgspec.Raw)
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Instance id -> where it stands, a view into the file's content; and the ids that stand more than once."""

    origins: Mapping[str, Origin]
    content: Content
    duplicates: tuple[str, ...] = ()


def index_json(content: Content) -> Index:
    """Index one JSON object: id -> instance.

    Raises
    ------
    UnreadableError
        If the content is not UTF-8 JSON with an object at the top.
    """
    if len(content) > _MAX_WHOLE_BYTES and (stepped := _step_through(content, _PART_BYTES)) is not None:
        return Index(origins=stepped, content=content)
    text = memoryview(content)[start_of(content) :]
    raws = _decode_members(text)
    origins = {instance_id: Origin(raw=raw) for instance_id, raw in raws.items()}
    duplicates = () if _fills(text, raws) else _repeated_keys(text)
    return Index(origins=origins, content=content, duplicates=duplicates)


def _step_through(content: Content, part_bytes: int) -> dict[str, Origin] | None:
    """Index one JSON object a value at a time, giving memory back after each part; None where anything is amiss.

    A value's end is where the decoder says that what follows is too much. Whatever is unexpected, that message too, is
    left to the decoder of the whole, which says what is wrong.
    """
    view, origins, position, given_back = memoryview(content), dict[str, Origin](), start_of(content), 0
    while found := _MEMBER.match(content, position):
        try:
            name = msgspec.json.decode(found[1], type=str)
            _value.decode(view[found.end() :])
        except msgspec.DecodeError as error:
            trailing = _TRAILING.search(str(error))
            if trailing is None:
                return None
            position = found.end() + int(trailing[1]) - 1  # which counts from 1
            while content[position - 1] in b" \t\n\r":
                position -= 1
        except (UnicodeDecodeError, RecursionError):
            return None
        else:
            return None
        if name in origins or (content[found.start() : found.end()].lstrip()[:1] == b"{") != (not origins):
            return None
        origins[name] = Origin(raw=msgspec.Raw(view[found.end() : position]))
        if position - given_back > part_bytes:
            give_back(content)
            given_back = position
    return origins if origins and _LAST_END.fullmatch(content, position) else None


def index_lines(content: Content) -> Index:
    """Index JSON Lines: an instance with its ``id``, or ``{id: instance}``, a line; blank lines are skipped.

    Raises
    ------
    UnreadableError
        If a line is not such an object; the message names the line.
    """
    origins: dict[str, Origin] = {}
    repeated: list[str] = []
    for number, line, _ in lines_of(content):
        try:
            instance_id, origin, is_repeated = _line_member(line)
        except UnreadableError as error:
            raise UnreadableError(f"line {number}: {error}") from error
        if is_repeated or instance_id in origins:
            repeated.append(instance_id)
        origins[instance_id] = origin
    return Index(origins=origins, content=content, duplicates=tuple(dict.fromkeys(repeated)))


def _line_member(line: memoryview) -> tuple[str, Origin, bool]:
    """Return the id and the instance of a line, and whether the id stands in it more than once."""
    members = _decode_members(line)
    if "id" in members:
        try:
            name = msgspec.json.decode(members["id"], type=str)
        except UnicodeDecodeError as error:
            raise UnreadableError(not_utf8(error)) from error
        except msgspec.DecodeError as error:
            raise UnreadableError(f"id: {error}") from error
        return name, Origin(raw=msgspec.Raw(line), names_itself=True), False
    if len(members) == 1:
        ((name, raw),) = members.items()
        return name, Origin(raw=raw), not _fills(line, members)
    raise UnreadableError("expected an instance with an 'id', or one {id: instance}")


def _decode_members(content: memoryview) -> dict[str, msgspec.Raw]:
    try:
        return _members.decode(content)
    except RecursionError as error:
        raise UnreadableError("not readable as JSON: nested too deeply") from error
    except UnicodeDecodeError as error:
        raise UnreadableError(not_utf8(error)) from error
    except msgspec.ValidationError as error:
        raise UnreadableError(f"expected a JSON object (id -> instance) at the top: {error}") from error
    except msgspec.DecodeError as error:
        raise UnreadableError(_diagnosis(content, str(error))) from error


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return the reason in words."""
    return f"not UTF-8: byte {error.object[error.start]:#04x} cannot be decoded"


def _diagnosis(content: memoryview, message: str) -> str:
    """Return why the content is not JSON, with line and column where that is affordable."""
    head = bytes(content[:4])
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "not UTF-8: it begins with the byte-order mark of UTF-16; save it as UTF-8"
    if len(content) > _MAX_DIAGNOSED_BYTES:
        return f"not valid JSON: {message}"
    try:
        json.loads(bytes(content).decode(), parse_int=str)
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}"
    except json.JSONDecodeError as error:
        return f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        return "not readable as JSON: nested too deeply"
    return f"not valid JSON: {message}"


def _fills(content: memoryview, raws: Mapping[str, msgspec.Raw]) -> bool:
    """Say whether the members, in order, account for every byte: a repeated key would leave its first value over."""
    position = 0
    for key, raw in raws.items():
        found = _MEMBER.match(content, position)
        if found is None or not _spells(found[1], key):
            return False
        position = found.end() + len(memoryview(raw))
    return _END.fullmatch(content, position) is not None


def _spells(text: bytes, key: str) -> bool:
    try:
        return bool(msgspec.json.decode(text) == key)
    except (msgspec.DecodeError, UnicodeDecodeError):  # what a repeated key leaves over need not be a key
        return False


def _repeated_keys(content: memoryview) -> tuple[str, ...]:
    repeated: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        # The hook runs for inner objects first, so that what stays is the outermost object's.
        repeated[:] = repeated_keys(pairs)

    try:
        json.loads(bytes(content), object_pairs_hook=note, parse_int=str)
    except UnicodeDecodeError as error:
        raise UnreadableError(not_utf8(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not readable as JSON: {error}") from error
    return tuple(repeated)
