"""Read a paper of any format. To add one, write a reader in a file beside this one and name it in `READERS`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evidencebench.errors import UnreadableError
from evidencebench.papers.paper import Paper
from evidencebench.papers.plain import read_plain
from evidencebench.storage.reading import read_whole

MOST_SENTENCES = 50_000
"""Sentences that one paper may have: the time that many systems take grows with their square."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperReader:
    """How files of one format are recognised by their content, whatever they are called, and read.

    ``read`` takes the content and what messages call it, and raises `UnreadableError`, which says what to do.
    """

    recognises: Callable[[bytes], bool]
    read: Callable[[bytes, str], Paper]


# The first that recognises a file reads it. Plain text has no mark of its own: it comes last, and refuses all else.
READERS = (PaperReader(recognises=lambda _: True, read=read_plain),)


def read(path: Path) -> Paper:
    """Return the paper that a file holds.

    Raises
    ------
    UnreadableError
        If it cannot be read, no reader takes it, or it has more than `MOST_SENTENCES`.
    """
    try:
        content = read_whole(path)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    return read_content(content, name=str(path))


def read_content(content: bytes, *, name: str) -> Paper:
    """Return the paper that bytes hold, as `read` does; messages call them ``name``."""
    paper = next(reader for reader in READERS if reader.recognises(content)).read(content, name)
    if len(paper.sentences) > MOST_SENTENCES:
        raise UnreadableError(
            f"{name}: expected at most {MOST_SENTENCES:,} sentences, got {len(paper.sentences):,}; a paper has "
            "hundreds: ask about its papers or parts one by one"
        )
    return paper
