"""Where each instance stands in a file: one pass over its bytes, nothing decoded but the ids."""

import json
import re
import tempfile
from collections.abc import Mapping
from mmap import ACCESS_READ, mmap

import msgspec

from evidencebench.data.instance import Origin
from evidencebench.errors import UnreadableError
from evidencebench.storage.json_lines import TextLine, lines_in, repeated_keys, start_of
from evidencebench.storage.snapshot import Snapshot, blocks

# Above this size a broken file is not parsed again just to word its error.
_MAX_DIAGNOSED_BYTES = 64 << 20

# Bytes of a large file that are read at a time: few enough for a processor's cache, and so many that a value cut at the
# end, which is read again, is a small part of them. A longer value may take as many parts.
_PART_BYTES = 2 << 20
_MOST_PARTS = 32

# The text before a member's value, and after the last one.
_MEMBER = re.compile(rb'\s*+[{,]\s*+("(?:[^"\\]++|\\.)*+")\s*+:\s*+', re.DOTALL)
_END = re.compile(rb"\s*\}\s*")

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_value = msgspec.json.Decoder(msgspec.Raw)
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")

# A copy of a whole file: bytes, or a memory map of a temporary file that no other process can cut.
_Whole = bytes | mmap


class Span(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes start..stop-1 of a file; ``names_itself`` as in `Origin`."""

    start: int
    stop: int
    names_itself: bool = False


Place = Span | Origin
"""Where an instance stands in a file, or its JSON object itself."""


def index_json(snapshot: Snapshot) -> tuple[Mapping[str, Place], tuple[str, ...]]:
    """Return id -> place of the instances in one JSON object, and the repeated ids, whose last place counts."""
    part_bytes = _PART_BYTES if snapshot.content is None else snapshot.size
    if (stepped := _step_through(snapshot, part_bytes)) is not None:
        return stepped
    whole = _copy_of(snapshot)
    text = memoryview(whole)[start_of(whole) :]
    places = {instance_id: Origin(raw=raw) for instance_id, raw in _decode_members(text).items()}
    return places, _repeated_keys(text)


def _copy_of(snapshot: Snapshot) -> _Whole:
    """Return a copy of a whole file: its bytes, or a memory map of a temporary file where it is large."""
    if snapshot.content is not None:
        return snapshot.content
    with tempfile.TemporaryFile() as copy:
        copy.writelines(blocks(snapshot))
        copy.flush()
        return mmap(copy.fileno(), 0, access=ACCESS_READ)


class _Window:
    """A part of a file in memory: its bytes ``view``, of which the first is byte ``base`` of the file."""

    def __init__(self, snapshot: Snapshot, part_bytes: int) -> None:
        self._snapshot, self._part_bytes = snapshot, part_bytes
        self.base, self.view = 0, snapshot.read(0, min(part_bytes, snapshot.size))

    @property
    def is_last(self) -> bool:
        """Whether the part ends where the file ends."""
        return self.base + len(self.view) == self._snapshot.size

    def move(self, position: int) -> bool:
        """Begin at a position of the view and read on; False at the file's end, or if the part would be too large."""
        n_kept = len(self.view) - position
        if self.is_last or n_kept > _MOST_PARTS * self._part_bytes:
            return False
        self.base += position
        stop = min(self.base + max(self._part_bytes, 2 * n_kept), self._snapshot.size)
        self.view = self._snapshot.read(self.base, stop)
        return True


def _step_through(snapshot: Snapshot, part_bytes: int) -> tuple[dict[str, Span], tuple[str, ...]] | None:
    """Return the index of one JSON object, with a part of it in memory; None where anything is unexpected.

    A value ends where the decoder reports trailing characters. Where anything is unexpected, this message too, the
    decoder of the whole file says what is wrong.
    """
    window, places = _Window(snapshot, part_bytes), dict[str, Span]()
    repeated: set[str] = set()
    position = start_of(window.view)
    while not (window.is_last and places and _END.fullmatch(window.view, position)):
        member = _member_at(window.view, position)
        if member is None:  # it may be cut at the end of the window
            if not window.move(position):
                return None
            position = 0
            continue
        name, start, stop = member
        if (window.view[position:start].lstrip()[:1] == b"{") != (not places):
            return None
        if name in places:
            repeated.add(name)
        places[name] = Span(start=window.base + start, stop=window.base + stop)
        position = stop
    return places, tuple(filter(repeated.__contains__, places))


def _member_at(view: bytes, position: int) -> tuple[str, int, int] | None:
    """Return the name of the member at a position, and where its value starts and stops; None if it is not whole."""
    member = _MEMBER.match(view, position)
    if member is None:
        return None
    try:
        name: str = msgspec.json.decode(member[1], type=str)
        _value.decode(memoryview(view)[member.end() :])
    except msgspec.DecodeError as error:
        trailing = _TRAILING.search(str(error))
        if trailing is None:
            return None
        stop = member.end() + int(trailing[1]) - 1  # which counts from 1
        while view[stop - 1] in b" \t\n\r":
            stop -= 1
        return name, member.end(), stop
    except (UnicodeDecodeError, RecursionError):
        return None
    return None  # nothing follows, so the value may go on in the next part


def index_lines(snapshot: Snapshot) -> tuple[Mapping[str, Place], tuple[str, ...]]:
    """Return the same as `index_json`, for JSON Lines: a line is an instance with its ``id``, or ``{id: instance}``."""
    places: dict[str, Place] = {}
    repeated: list[str] = []
    for line in lines_in(blocks(snapshot)):
        try:
            instance_id, place, is_repeated = _line_member(line)
        except UnreadableError as error:
            raise UnreadableError(f"line {line.number}: {error}") from error
        if is_repeated or instance_id in places:
            repeated.append(instance_id)
        places[instance_id] = place
    return places, tuple(dict.fromkeys(repeated))


def _line_member(line: TextLine) -> tuple[str, Place, bool]:
    """Return the id of the instance in a line and where it stands, and whether the id stands there more than once."""
    members = _decode_members(line.content)
    if "id" in members:
        try:
            name = msgspec.json.decode(members["id"], type=str)
        except UnicodeDecodeError as error:
            raise UnreadableError(not_utf8(error)) from error
        except msgspec.DecodeError as error:
            raise UnreadableError(f"id: {error}") from error
        return name, Span(start=line.start, stop=line.start + len(line.content), names_itself=True), False
    if len(members) != 1:
        raise UnreadableError("expected an instance with an 'id', or one {id: instance}")
    ((name, raw),) = members.items()
    member, length = _MEMBER.match(line.content), len(memoryview(raw))
    if member is None or not _END.fullmatch(line.content, member.end() + length):  # the id is repeated on this line
        return name, Origin(raw=bytes(raw)), True
    start = line.start + member.end()
    return name, Span(start=start, stop=start + length), False


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
    """Return the message for bytes that are not UTF-8."""
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


def _repeated_keys(content: memoryview) -> tuple[str, ...]:
    try:
        *_, outermost = repeated_keys_by_object(bytes(content))
    except UnicodeDecodeError as error:
        raise UnreadableError(not_utf8(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not readable as JSON: {error}") from error
    return tuple(outermost)


def repeated_keys_by_object(content: bytes) -> list[list[str]]:
    """Return the keys that stand more than once in each object of a JSON text, inner objects first."""
    repeated: list[list[str]] = []
    json.loads(content, object_pairs_hook=lambda pairs: repeated.append(repeated_keys(pairs)), parse_int=str)
    return repeated
