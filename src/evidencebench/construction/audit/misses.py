"""The sampled misses of a run: what an auditor is shown. A file of them is JSON Lines: a header, then a line a miss."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from evidencebench.errors import RunFormatError, UnreadableError
from evidencebench.query import Kind
from evidencebench.storage.json_lines import lines_of
from evidencebench.storage.reading import BROKEN_JSON, PathText, read_whole
from evidencebench.storage.whole_file import write_whole

_VERSION = 1
_MOST_BYTES = 1 << 30


class FileDigest(msgspec.Struct, frozen=True, kw_only=True):
    """A file by its name and checksum."""

    name: str
    sha256: str


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
    version: int = _VERSION
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


@dataclass(frozen=True, kw_only=True)
class MissesFile:
    """The misses of a file, in its order, and the file's checksum."""

    path: Path
    header: MissesHeader
    misses: tuple[Miss, ...]
    sha256: str

    @cached_property
    def by_id(self) -> Mapping[str, Miss]:
        """Id -> miss."""
        return {miss.id: miss for miss in self.misses}


def write_misses(path: Path, header: MissesHeader, misses: Iterable[Miss]) -> None:
    """Write a file of misses; it appears whole or not at all. Raises `DataError` if it cannot be written."""
    write_whole(path, (msgspec.json.encode(line) + b"\n" for line in (header, *misses)))


def read_misses(path: PathText) -> MissesFile:
    """Return the misses of a file.

    Raises `UnreadableError` if it cannot be read, and `RunFormatError`, with the line, if it is no file of misses.
    """
    path = Path(path)
    try:
        content = read_whole(path, at_most=_MOST_BYTES)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    header: MissesHeader | None = None
    misses: dict[str, Miss] = {}
    for number, _, line, _ in lines_of(content):
        where = f"{path}: line {number}"
        try:
            if header is None:
                header = msgspec.json.decode(line, type=MissesHeader)
                _require_version(path, header)
                continue
            miss = msgspec.json.decode(line, type=Miss)
        except BROKEN_JSON as error:
            what = "a miss" if header else "the header of a file of misses, which 'evidencebench audit sample' makes"
            raise RunFormatError(f"{where}: expected {what}: {error}") from error
        if miss.id in misses:
            raise RunFormatError(f"{where}: miss '{miss.id}' stands more than once")
        _require_places(where, miss)
        misses[miss.id] = miss
    if header is None or not misses:
        raise RunFormatError(f"{path}: expected a header and a miss a line, got {'no miss' if header else 'nothing'}")
    return MissesFile(
        path=path, header=header, misses=tuple(misses.values()), sha256=hashlib.sha256(content).hexdigest()
    )


def _require_version(path: Path, header: MissesHeader) -> None:
    if header.version != _VERSION:
        raise RunFormatError(
            f"{path}: misses of version {header.version}, but this version reads {_VERSION}; "
            "upgrade with 'pip install -U evidencebench'"
        )


def _require_places(where: str, miss: Miss) -> None:
    n_sentences = len(miss.sentences)
    if len(miss.kinds) != n_sentences:
        raise RunFormatError(f"{where}: expected {n_sentences} kinds, one a sentence, got {len(miss.kinds)}")
    for index in (*miss.sources, *miss.selected):
        if not 0 <= index < n_sentences:
            raise RunFormatError(f"{where}: names sentence {index}, but the paper has 0..{n_sentences - 1}")
