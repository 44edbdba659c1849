"""The text of a paper's file: its encoding told by its mark, or by what the file declares, else UTF-8."""

from evidencebench.errors import UnreadableError
from evidencebench.storage import text_file

MOST_CHARACTERS = 20_000_000
"""The most characters of one file: a paper has about a hundred thousand, a book a million."""


def has_mark(content: bytes) -> bool:
    """Say whether a file begins with the mark of an encoding."""
    return bool(text_file.mark_of(content)[0])


def decoded(content: bytes, *, name: str, declared: str = "utf-8") -> str:
    """Return the text of a file, without its mark; one in another encoding, never guessed, or too long is refused."""
    text = text_file.decoded(content, name=name, declared=declared)
    if len(text) > MOST_CHARACTERS:
        raise UnreadableError(
            f"{name}: expected at most {MOST_CHARACTERS:,} characters, got {len(text):,}; a paper has about a hundred "
            "thousand: ask about its papers or parts one by one"
        )
    return text


def beginning(content: bytes) -> str:
    """Return the text of a file's first bytes, as UTF-8 where it has no mark; what is broken is replaced."""
    mark, encoding = text_file.mark_of(content)
    return content[len(mark) :].decode(encoding or "utf-8", errors="replace")
