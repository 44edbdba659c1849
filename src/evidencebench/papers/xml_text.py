"""The text of an XML file, decoded as the file says, and the name of its outermost element."""

import codecs
import re

from evidencebench.errors import UnreadableError
from evidencebench.papers.decoding import beginning, decoded

_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']""")
_HEAD_BYTES = 1 << 17

# Encodings of natural text, as Python names them. Others, such as punycode, are slow to decode, or no text.
_CODECS = re.compile(
    r"utf-(?:8|16|32)(?:-[bl]e)?|ascii|iso8859-\d+|cp125\d|mac-roman|koi8-[ru]|gb2312|gbk|gb18030|big5|shift_jis|euc_(?:jp|kr)|iso2022_jp"
)

# What stands before the first element. A comment or an instruction without an end takes the rest.
_PROLOGUE = re.compile(
    r"\s+|<\?.*?(?:\?>|\Z)|<!--.*?(?:-->|\Z)|<!DOCTYPE(?:[^\[>]|\[[^\]]*\])*>", re.DOTALL | re.IGNORECASE
)
_FIRST_TAG = re.compile(r"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")


def xml_text(content: bytes, *, name: str) -> str:
    """Return an XML file's characters, without a byte order mark; raises `UnreadableError`, as `decoded` does."""
    declared = _DECLARED.match(content[:1024])
    codec = known_codec(declared[1].decode(), name) if declared else "utf-8"
    if codec.startswith(("utf-16", "utf-32")):  # impossible: the declaration was read as bytes. Such files are UTF-8
        codec = "utf-8"
    return decoded(content, name=name, declared=codec)


def root_tag(content: bytes) -> str | None:
    """Return the name of the outermost element, in lower case and without a namespace; None if it is no markup."""
    head = beginning(content[:_HEAD_BYTES])
    position = 0
    while match := _PROLOGUE.match(head, position):
        position = match.end()
    tag = _FIRST_TAG.match(head, position)
    return tag[1].lower() if tag else None


def known_codec(given: str, name: str) -> str:
    """Return Python's name of an encoding that a file declares; raises `UnreadableError` if it is none of text."""
    try:
        codec = codecs.lookup(given).name
    except LookupError:
        codec = ""
    if not _CODECS.fullmatch(codec):
        raise UnreadableError(f"{name}: expected a known encoding, got encoding={given!r}; save the file as UTF-8")
    return codec
