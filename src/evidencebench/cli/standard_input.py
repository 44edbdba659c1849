"""Standard input, read whole: the file that ``-`` names."""

import sys
from pathlib import Path

from evidencebench.errors import UnreadableError
from evidencebench.storage.reading import MOST_BYTES, read_stream
from evidencebench.storage.text_file import decoded, read_text

STANDARD_INPUT = "-"
"""What names standard input in place of a file."""


def read_standard_input(*, at_most: int = MOST_BYTES) -> bytes:
    """Return all bytes of standard input; raises `UnreadableError`."""
    try:
        return read_stream(sys.stdin.buffer, at_most=at_most)
    except OSError as error:
        raise UnreadableError(f"standard input: cannot be read: {error.strerror}") from error


def read_lines(path: Path, *, at_most: int = MOST_BYTES) -> tuple[list[str], str]:
    """Return the lines of a text file, or of standard input for ``-``, and its name; raises `UnreadableError`."""
    if str(path) == STANDARD_INPUT:
        name = "standard input"
        return decoded(read_standard_input(at_most=at_most), name=name).splitlines(), name
    return read_text(path, at_most=at_most).splitlines(), str(path)
