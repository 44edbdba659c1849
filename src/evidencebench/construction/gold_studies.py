"""Gold studies: what is right of each passage of a review, for the trial server to answer from."""

from pathlib import Path

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.storage.reading import BROKEN_JSON
from evidencebench.storage.text_file import read_text


class GoldAspect(msgspec.Struct, frozen=True, kw_only=True):
    """A study aspect: its text, the sentences of the paper that hold it, and whether it is a result."""

    aspect: str
    sentences: tuple[int, ...] = ()
    is_result: bool = False


class GoldStudy(msgspec.Struct, frozen=True, kw_only=True):
    """What is right of one passage of a review; ``summary`` is the part of the passage that is about the paper."""

    passage: str
    summary: str
    reports_results: bool = True
    purpose: str = ""
    hypothesis: str = ""
    aspects: tuple[GoldAspect, ...] = ()


def read_gold(path: Path) -> list[GoldStudy]:
    """Return the studies of a file of JSON Lines; raises `UnreadableError`, with the line, where one is none."""
    studies = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            try:
                studies.append(msgspec.json.decode(line, type=GoldStudy))
            except BROKEN_JSON as error:
                raise UnreadableError(f"{path}: line {number}: expected a gold study: {error}") from error
    return studies
