"""The text of an XML file, decoded as the file says, and the name of its outermost element."""

import codecs
import re

from evidencebench.errors import UnreadableError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\x00?\x00", "utf-16-le"),
    (b"\x00<\x00?", "utf-16-be"),
)
_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']""")
_HEAD_CHARACTERS = 1 << 16

# Encodings of natural text, as Python names them. Others, such as punycode, are slow to decode, or no text.
_CODECS = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp125\d|mac-roman|koi8-[ru]|gb2312|gbk|gb18030|big5|shift_jis|euc_(?:jp|kr)|iso2022_jp"
)

# What stands before the first element. A comment or an instruction without an end takes the rest.
_PROLOGUE = re.compile(
    r"\s+|<\?.*?(?:\?>|\Z)|<!--.*?(?:-->|\Z)|<!DOCTYPE(?:[^\[>]|\[[^\]]*\])*>", re.DOTALL | re.IGNORECASE
)
_FIRST_TAG = re.compile(r"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")


def xml_text(content: bytes, *, name: str) -> str:
    """Return an XML file's characters, without a byte order mark; raises `UnreadableError`, with line and advice."""
    codec = _codec(content, name)
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{name}: line {line}: expected {codec.removesuffix('-sig').upper()}, got the byte "
            f"0x{content[error.start]:02x}; name the file's encoding in its first line, as in "
            '<?xml version="1.0" encoding="windows-1252"?>, or save it as UTF-8'
        ) from error


def root_tag(content: bytes) -> str | None:
    """Return the name of the outermost element, in lower case and without a namespace; None if it is no markup.

    >>> root_tag(b'<?xml version="1.0"?><!-- tea --><!DOCTYPE article SYSTEM "a.dtd"><oai:Article>')
    'article'
    """
    codec = next((codec for mark, codec in _MARKS if content.startswith(mark)), "utf-8")
    head = content[: 2 * _HEAD_CHARACTERS].decode(codec, errors="replace")
    position = 0
    while found := _PROLOGUE.match(head, position):
        position = found.end()
    tag = _FIRST_TAG.match(head, position)
    return tag[1].lower() if tag else None


def _codec(content: bytes, name: str) -> str:
    for mark, codec in _MARKS:
        if content.startswith(mark):
            return codec
    declared = _DECLARED.match(content[:1024])
    if not declared:
        return "utf-8"
    given = declared[1].decode()
    try:
        codec = codecs.lookup(given).name
    except LookupError:
        codec = ""
    if codec.startswith(("utf-16", "utf-32")):  # impossible: the declaration was read as bytes. Such files are UTF-8
        return "utf-8"
    if not _CODECS.fullmatch(codec):
        raise UnreadableError(f"{name}: expected a known encoding, got encoding={given!r}; save the file as UTF-8")
    return codec
