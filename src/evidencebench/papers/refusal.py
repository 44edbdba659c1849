"""Errors for files that no reader takes: what they are by their content, and what to do."""

import re
from itertools import islice

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.papers.decoding import decoded, has_mark
from evidencebench.storage.reading import BROKEN_JSON

# The first bytes of a file, what it is, and how to get its text.
_BEGINNINGS = (
    (b"PK\x03\x04", "a ZIP archive, as .docx, .odt and .epub are", "save its text as plain text first"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file, as .doc is", "save its text as plain text first"),
    (b"{\\rtf", "RTF", "save its text as plain text first"),
    (b"\x1f\x8b", "packed by gzip", "unpack it first with gunzip"),
    (b"BZh", "packed by bzip2", "unpack it first with bunzip2"),
    (b"\xfd7zXZ\x00", "packed by xz", "unpack it first with unxz"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it first with unzstd"),
    *(
        (beginning, "a picture", "recognise its text first, as with tesseract")
        for beginning in (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\x00", b"MM\x00*")
    ),
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

# The first command; formulas taken from a page can hold a whole document, so that one further below proves nothing.
_LATEX = re.compile(r"(?:\s|%[^\n]*+)*+\\(?:documentclass|documentstyle|begin\{document\}|usepackage|input\{)")
# Records of papers: RIS, the format of PubMed, BibTeX.
_RECORD = re.compile(r"\s*(?:TY {1,2}- \S|PMID- ?\d|@[A-Za-z]+\s*\{[^\s,]*,)")
_OBJECT = re.compile(r'\s*(?:\[\s*)?\{\s*"[^"\n]*"\s*:')


def text_of(content: bytes, *, name: str) -> str:
    """Return the text of a file of plain text; raises `UnreadableError` for an archive, markup, JSON, LaTeX, ..."""
    for beginning, what, advice in _BEGINNINGS:
        if content.lstrip()[: len(beginning)] == beginning:
            raise _refusal(name, what, advice)
    if not has_mark(content):
        n_zeros = content[:_HEAD_BYTES].count(0)
        if n_zeros > _WIDE * len(content[:_HEAD_BYTES]):
            raise _refusal(name, "UTF-16 without a mark, or no text", "save it as UTF-8")
        if n_zeros:
            raise _refusal(name, "binary, with bytes of zero", "save its text as plain text first")
    text = decoded(content, name=name)
    _require_plain(text, name)
    return text


def metadata_only(name: str, file_format: str, got: str) -> UnreadableError:
    """Return the error for a record of a paper without the paper; ``got`` is what it has."""
    return UnreadableError(
        f"{name}: {file_format}: expected a paper with its body, got metadata only: {got}; get the full text, as with "
        "'evidencebench papers fetch', or give the PDF"
    )


def _require_plain(text: str, name: str) -> None:
    lines = list(islice(filter(None, map(str.strip, text.splitlines())), _MOST_LINES))
    if not lines:
        return
    n_tagged = sum(_TAGGED.match(line) is not None for line in lines)
    if _DOCUMENT.match(lines[0]) or n_tagged > _TAGGED_SHARE * len(lines):
        raise _refusal(name, "markup, as XML and HTML are", "take its text out first")
    if _OBJECT.match(text) or _is_json(text) or sum(map(_is_json, lines)) > len(lines) / 2:
        raise _refusal(name, "JSON", "write its text as plain text first")
    if _RECORD.match(text):
        raise metadata_only(name, "RIS, BibTeX or the format of PubMed", "records of papers")
    if _LATEX.match(text):
        raise _refusal(name, "LaTeX", "take its text out first, as with detex")


def _is_json(text: str) -> bool:
    """Say whether text is a JSON object or list; a citation such as ``[9]`` is one too, but few lines are citations."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        return bool(msgspec.json.decode(text, type=dict | list))
    except BROKEN_JSON:
        return False


def _refusal(name: str, what: str, advice: str) -> UnreadableError:
    return UnreadableError(f"{name}: expected a paper as text; it is {what}; {advice}")
