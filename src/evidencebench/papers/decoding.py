"""The text of a file: its encoding told by its mark, or by what the file declares, else UTF-8."""

import codecs

from evidencebench.errors import UnreadableError

MOST_CHARACTERS = 20_000_000
"""The most characters of one file: a paper has about a hundred thousand, a book a million."""

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def has_mark(content: bytes) -> bool:
    """Say whether a file begins with the mark of an encoding."""
    return content.startswith(tuple(mark for mark, _ in _MARKS))


def decoded(content: bytes, *, name: str, declared: str = "utf-8") -> str:
    r"""Return the text of a file, without its mark; ``declared`` is the encoding of a file that has none.

    >>> decoded("5 µg".encode("utf-16"), name="tea.txt"), decoded(b"5 \xb5g", name="tea.html", declared="latin-1")
    ('5 µg', '5 µg')

    Raises
    ------
    UnreadableError
        If the file is in another encoding, which is never guessed, or has more than `MOST_CHARACTERS`.
    """
    mark, encoding = next(((mark, known) for mark, known in _MARKS if content.startswith(mark)), (b"", declared))
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{name}: line {line}: expected {encoding.upper()} text, got the byte 0x{error.object[error.start]:02x}; "
            "save it as UTF-8, as with 'iconv -f LATIN1 -t UTF-8'"
        ) from error
    if len(text) > MOST_CHARACTERS:
        raise UnreadableError(
            f"{name}: expected at most {MOST_CHARACTERS:,} characters, got {len(text):,}; a paper has about a hundred "
            "thousand: ask about its papers or parts one by one"
        )
    return text


def beginning(content: bytes) -> str:
    """Return the text of a file's first bytes, as UTF-8 where it has no mark; what is broken is replaced."""
    mark, encoding = next(((mark, known) for mark, known in _MARKS if content.startswith(mark)), (b"", "utf-8"))
    return content[len(mark) :].decode(encoding, errors="replace")
