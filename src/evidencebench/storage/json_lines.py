r"""JSON Lines: how lines are read, which lines are whole, and the checksum at the end of a line.

>>> [(line.number, bytes(line.content)) for line in lines_of(b'{"a": 1}\n\n{"b"')]
[(1, b'{"a": 1}'), (3, b'{"b"')]
"""

import codecs
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from mmap import mmap
from typing import NamedTuple

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.storage.reading import BROKEN_JSON

_MOST_LINE_BYTES = 256 << 20

# The last member of a JSON object: the CRC-32 of all that stands before it.
_CHECKSUM = b',"crc":"%08x"}'
_N_CHECKSUM_BYTES = len(_CHECKSUM % 0)


class TextLine(NamedTuple):
    """A line of a text: its number from 1, the byte where it begins, and its bytes without the line end."""

    number: int
    start: int
    content: memoryview
    is_ended: bool


def lines_of(text: bytes) -> Iterator[TextLine]:
    """Yield the lines of a text that are not blank."""
    return lines_in([text])


def lines_in(parts: Iterable[bytes]) -> Iterator[TextLine]:
    """Yield the lines of a text in parts that are not blank; raises `UnreadableError` where a line is over 256 MiB."""
    rest, base, number = b"", 0, 0
    for part in parts:
        text = rest + part if rest else part
        view = memoryview(text)
        start = 0 if base or rest else start_of(text)
        while (end := text.find(b"\n", start)) >= 0:
            number += 1
            if not _is_blank(view[start:end]):
                yield TextLine(number, base + start, view[start:end], is_ended=True)
            start = end + 1
        rest, base = text[start:], base + start
        if len(rest) > max(len(part), _MOST_LINE_BYTES):
            raise UnreadableError(f"line {number + 1}: expected a line, got more than {_MOST_LINE_BYTES:,} bytes of it")
    if not _is_blank(memoryview(rest)):
        yield TextLine(number + 1, base, memoryview(rest), is_ended=False)


def _is_blank(line: memoryview) -> bool:
    return not bytes(line[:64]).strip() and not bytes(line).strip()


def start_of(text: bytes | mmap) -> int:
    """Return the byte at which a text begins: after the byte-order mark that some editors put before UTF-8."""
    return len(codecs.BOM_UTF8) if text[: len(codecs.BOM_UTF8)] == codecs.BOM_UTF8 else 0


def is_whole_object(line: bytes | memoryview) -> bool:
    """Say whether a line, without its line end, is a whole JSON object; a torn line is not."""
    try:
        msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except BROKEN_JSON:
        return False
    return True


def with_checksum(line: bytes) -> bytes:
    """Return a non-empty JSON object with one more member, ``crc``, which shows accidental damage (not forgery)."""
    return line[:-1] + _CHECKSUM % zlib.crc32(line[:-1])


def has_checksum(line: bytes | memoryview, crc: str) -> bool:
    """Say whether a line of `with_checksum` is unchanged; ``crc`` is the checksum that it holds."""
    return f"{zlib.crc32(line[:-_N_CHECKSUM_BYTES]):08x}" == crc


def repeated_keys(pairs: Iterable[tuple[str, object]]) -> list[str]:
    """Return the keys that stand more than once among an object's members; readers of JSON report none."""
    return [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
