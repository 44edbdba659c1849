"""Errors for files that are not plain text of one sentence a line: what they are by their content, and what to do."""

import re
from collections.abc import Iterator
from itertools import islice, pairwise

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.storage.reading import BROKEN_JSON
from evidencebench.tables import shortened
from evidencebench.wording import counted

# The first bytes of a file, what it is, and how to get its text.
_BEGINNINGS = (
    (b"%PDF", "a PDF", "take its text out first, as with 'pdftotext paper.pdf paper.txt'"),
    (b"PK\x03\x04", "a ZIP archive, as .docx, .odt and .epub are", "save its text as plain text first"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file, as .doc is", "save its text as plain text first"),
    (b"{\\rtf", "RTF", "save its text as plain text first"),
    (b"\x1f\x8b", "packed by gzip", "unpack it first with gunzip"),
    (b"BZh", "packed by bzip2", "unpack it first with bunzip2"),
    (b"\xfd7zXZ\x00", "packed by xz", "unpack it first with unxz"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it first with unzstd"),
    (b"\xff\xfe\x00\x00", "UTF-32", "save it as UTF-8"),
    (b"\xff\xfe", "UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16", "save it as UTF-8"),
)

_HEAD_BYTES = 4096
_MOST_LINES = 2000  # that are examined

# From this share of zero bytes in the head on, a file is taken for text of two bytes a letter.
_WIDE = 0.2

# A tag, except those that may stand within a sentence.
_TAG = r"(?!</?(?:i|b|u|em|strong|sub|sup|italic|bold)\b)</?[a-z][\w:.-]*(?:\s[^<>]*)?/?>"
_DOCUMENT = re.compile(rf"<\?xml|<!doctype|<!--|{_TAG}", re.IGNORECASE)
_TAGGED = re.compile(rf"{_TAG}|.*{_TAG}$", re.IGNORECASE)
_TAGGED_SHARE = 0.25

_LATEX = re.compile(r"^\s*\\(?:documentclass|begin\{document\})", re.MULTILINE)
_OBJECT = re.compile(r'\s*(?:\[\s*)?\{\s*"[^"\n]*"\s*:')

# The gap between two sentences: after a small letter, a digit or a bracket, before a capital; no abbreviation.
_CLOSING = "\"'\u2019\u201d)\\]"
_OPENING = "\"'\u2018\u201c(\\["
_BETWEEN = re.compile(
    rf"(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<!\bspp)(?<!\bFig)(?<=[a-z0-9%{_CLOSING}])"
    rf"[.!?][{_CLOSING}]*\s+(?=[{_OPENING}]?[A-Z])"
)
# A line that ends as a sentence does, perhaps with the number of a source; the others are titles and cells of tables.
_ENDED = re.compile(rf"[.!?][{_CLOSING}]*\d*$")
_STOPPED = re.compile(rf"[.!?:;][{_CLOSING}]*\d*$")
# The most sentences a line, on average over such lines: up to 1.1 in real papers of one sentence a line.
_MOST_A_LINE = 1.5
# Share of lines that go on in the next one, which begins with a small letter: up to 0.08 in real papers of one sentence
# a line, over 0.7 in the same ones wrapped at 80 columns.
_MOST_WRAPPED = 0.3
# Fewer such lines or gaps prove nothing: they may be abbreviations or titles in a short file.
_LEAST_SIGNS = 7


def text_of(content: bytes, *, name: str) -> str:
    """Return the text of a UTF-8 file of one sentence a line; ``name`` is the file's name in messages.

    Raises `UnreadableError` if it is something else: a PDF, an archive, markup, JSON, another encoding, or paragraphs.
    """
    for beginning, what, advice in _BEGINNINGS:
        if content.lstrip()[: len(beginning)] == beginning:
            raise _refusal(name, what, advice)
    n_zeros = content[:_HEAD_BYTES].count(0)
    if n_zeros > _WIDE * len(content[:_HEAD_BYTES]):
        raise _refusal(name, "UTF-16, or no text", "save it as UTF-8")
    if n_zeros:
        raise _refusal(name, "binary, with bytes of zero", "save its text as plain text first")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{name}: line {line}: expected UTF-8 text, got the byte 0x{content[error.start]:02x}; save it as UTF-8, "
            "as with 'iconv -f LATIN1 -t UTF-8'"
        ) from error
    _require_sentences(text, name)
    return text


def _require_sentences(text: str, name: str) -> None:
    lines = list(islice(_lines(text), _MOST_LINES))
    if not lines:
        return
    n_tagged = sum(_TAGGED.match(line) is not None for line in lines)
    if _DOCUMENT.match(lines[0]) or n_tagged > _TAGGED_SHARE * len(lines):
        raise _refusal(name, "markup, as XML and HTML are", "take its text out first, one sentence a line")
    if _OBJECT.match(text) or _is_json(text) or sum(map(_is_json, lines)) > len(lines) / 2:
        raise _refusal(name, "JSON", "write its sentences as plain text first, one a line")
    if _LATEX.search(text[: 16 * _HEAD_BYTES]):
        raise _refusal(name, "LaTeX", "take its text out first, as with detex, one sentence a line")
    texts = [line for line in lines if not line.startswith("#")]
    wrapped = [line for line, after in pairwise(texts) if not _STOPPED.search(line) and after[0].islower()]
    if len(wrapped) >= _LEAST_SIGNS and len(wrapped) > _MOST_WRAPPED * len(texts):
        raise UnreadableError(
            f"{name}: expected one sentence a line, but {len(wrapped)} of {len(texts)} lines go on in the next one, as "
            f"'{shortened(wrapped[0], 60)}'; join the lines of each sentence"
        )
    bodies = [line for line in texts if _ENDED.search(line)]
    n_ends = [len(_BETWEEN.findall(line)) for line in bodies]
    if sum(n_ends) >= _LEAST_SIGNS and 1 + sum(n_ends) / len(bodies) > _MOST_A_LINE:
        first = next(line for line, n in zip(bodies, n_ends, strict=True) if n)
        n_several = sum(n > 0 for n in n_ends)
        raise UnreadableError(
            f"{name}: expected one sentence a line, but several stand in {n_several} of {counted(len(bodies), 'line')}"
            f", as '{shortened(first, 60)}'; break the lines behind each sentence"
        )


def _lines(text: str) -> Iterator[str]:
    return filter(None, map(str.strip, text.splitlines()))


def _is_json(text: str) -> bool:
    """Say whether text is a JSON object or list; a citation such as ``[9]`` is one too, but few lines are citations."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        return bool(msgspec.json.decode(text, type=dict | list))
    except BROKEN_JSON:
        return False


def _refusal(name: str, what: str, advice: str) -> UnreadableError:
    return UnreadableError(f"{name}: expected plain text, one sentence a line; it is {what}; {advice}")
