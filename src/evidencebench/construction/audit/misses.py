"""The sampled misses of a run: what an auditor is shown. A file of them is JSON Lines: a header, then a line a miss."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from evidencebench.construction.people.tasks import FileDigest, require_places
from evidencebench.query import Kind
from evidencebench.storage.reading import PathText
from evidencebench.storage.records import RecordFormat, Records


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """A group of misses: how many there are, what they take from the score together, and how many were drawn."""

    name: str
    n_misses: int
    loss: float
    n_drawn: int


class MissesHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: what the misses were drawn from, and how.

    ``loss`` is what all coverable misses take from the mean aspect recall ``score``; what is left to 1 are aspects that
    no sentence covers. ``rules`` are those of `Rules` that are not the default.
    """

    format: Literal["evidencebench misses"] = "evidencebench misses"
    version: int = 1
    system: str  # the run's signature
    run: FileDigest
    data: FileDigest
    task: str
    rules: dict[str, str] = {}
    seed: int
    n_instances: int
    n_misses: int
    score: float
    loss: float
    strata: tuple[Stratum, ...]


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """An aspect that counts and could be covered, and that a selection does not cover.

    Attributes
    ----------
    id
        Its name in the file, such as ``miss_07``.
    aspect
        The aspect's text; empty where the data has none.
    sentences, kinds
        The paper in reading order, a kind a sentence.
    sources
        The sentences that hold the aspect, by the labels.
    selected
        The selected sentences, in the run's order.
    chance
        With which the selection misses the aspect: 1, or less where it is cut by chance.
    stratum
        The name of its `Stratum`.
    loss
        What it takes from the mean score.
    stands_for
        What it and the misses that it stands for take from the mean score: `loss` where it was sure to be drawn.
    """

    id: str
    instance_id: str
    paper_id: str
    hypothesis: str
    aspect_id: str
    aspect: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]
    sources: tuple[int, ...]
    selected: tuple[int, ...]
    chance: float
    stratum: str
    loss: float
    stands_for: float


MissesFile = Records[MissesHeader, Miss]
"""The misses of a file, in its order, and the file's checksum."""


def write_misses(path: Path, header: MissesHeader, misses: Iterable[Miss]) -> None:
    """Write a file of misses; it appears whole or not at all. Raises `DataError` if it cannot be written."""
    _FORMAT.write(path, header, misses)


def read_misses(path: PathText) -> MissesFile:
    """Return the misses of a file.

    Raises `UnreadableError` if it cannot be read, and `RunFormatError`, with the line, if it is no file of misses.
    """
    return _FORMAT.read(Path(path))


_FORMAT = RecordFormat(
    header=MissesHeader,
    record=Miss,
    begins=b'{"format":"evidencebench misses"',
    what="a file of misses",
    a_record="a miss",
    made_by="evidencebench audit sample",
    check=lambda miss, _: require_places(miss.sentences, miss.kinds, (*miss.sources, *miss.selected)),
    grows=False,
)
