"""Read a paper of any format. To add one, write a reader in a file beside this one and name it in `READERS`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evidencebench.errors import UnreadableError
from evidencebench.papers.paper import Paper
from evidencebench.papers.pdf.reader import is_pdf, read_pdf
from evidencebench.papers.plain import read_plain
from evidencebench.storage.reading import read_whole

MOST_SENTENCES = 50_000
"""The most sentences of one paper: the time that many systems take grows with their square."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperReader:
    """A reader of one format; it recognises files by their content, whatever their name.

    ``read`` takes the content and the name for messages, and raises `UnreadableError`, which says what to do.
    """

    recognises: Callable[[bytes], bool]
    read: Callable[[bytes, str], Paper]


# The first reader that recognises a file reads it. Plain text comes last: it takes every file or refuses it.
READERS = (
    PaperReader(recognises=is_pdf, read=read_pdf),
    PaperReader(recognises=lambda _: True, read=read_plain),
)


def read(path: Path) -> Paper:
    """Return the paper that a file holds.

    Raises
    ------
    UnreadableError
        If the file cannot be read, no reader takes it, or it has more than `MOST_SENTENCES`.
    """
    try:
        content = read_whole(path)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    return read_content(content, name=str(path))


def read_content(content: bytes, *, name: str) -> Paper:
    """Return the paper in a file's content; ``name`` is the file's name in messages. Raises as `read` does."""
    paper = next(reader for reader in READERS if reader.recognises(content)).read(content, name)
    if len(paper.sentences) > MOST_SENTENCES:
        raise UnreadableError(
            f"{name}: expected at most {MOST_SENTENCES:,} sentences, got {len(paper.sentences):,}; a paper has "
            "hundreds: ask about its papers or parts one by one"
        )
    return paper
