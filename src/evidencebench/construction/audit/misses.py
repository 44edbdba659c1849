"""The sampled misses of a run: what an auditor is shown. A file of them is JSON Lines: a header, then a line a miss."""

from typing import Literal

import msgspec

from evidencebench.construction.people.tasks import FileDigest, require_places
from evidencebench.query import Kind
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
    """An aspect that counts and could be covered, and that a selection does not cover."""

    id: str  # in the file, such as ``miss_07``
    instance_id: str
    paper_id: str
    hypothesis: str
    aspect_id: str
    aspect: str  # its text; empty where the data has none
    sentences: tuple[str, ...]  # the paper in reading order
    kinds: tuple[Kind, ...]  # one a sentence
    sources: tuple[int, ...]  # the sentences that hold the aspect, by the labels
    selected: tuple[int, ...]  # the selected sentences, in the run's order
    chance: float  # with which the selection misses the aspect: 1, or less where it is cut by chance
    stratum: str  # the name of its `Stratum`
    loss: float  # what it takes from the mean score
    stands_for: float  # what it and those that it stands for take: `loss` where it was sure to be drawn


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
MissesFile = Records[MissesHeader, Miss]
read_misses, write_misses = _FORMAT.read, _FORMAT.write
