"""Files of JSON Lines with a header and an entry a line, each with an id: tasks for people, misses of a run."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.storage.json_lines import lines_of
from evidencebench.storage.reading import BROKEN_JSON
from evidencebench.storage.text_file import read_bytes
from evidencebench.storage.whole_file import write_whole
from evidencebench.wording import counted

_MOST_BYTES = 1 << 30


class FileDigest(msgspec.Struct, frozen=True, kw_only=True):
    """A file by its name and checksum."""

    name: str
    sha256: str


class EntriesHeader(Protocol):
    """The first line."""

    @property
    def version(self) -> int:
        """Of the format."""


class FileEntry(Protocol):
    """A line behind it."""

    @property
    def id(self) -> str:
        """Its name in the file."""


Header = TypeVar("Header", bound=EntriesHeader)
Entry = TypeVar("Entry", bound=FileEntry)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesFormat(Generic[Header, Entry]):
    """What a file must hold.

    ``one`` and ``many`` name its entries in messages, ``made_by`` is the command that writes it. The checks raise
    `RunFormatError`; they are given the file and the header, or the line's place and the entry.
    """

    header: type[Header]
    entry: type[Entry]
    version: int
    one: str
    many: str
    made_by: str
    check_entry: Callable[[str, Entry], None]
    check_header: Callable[[Path, Header], None] = lambda *_: None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEntries(Generic[Header, Entry]):
    """What a file holds, in its order, and its checksum."""

    header: Header
    entries: tuple[Entry, ...]
    sha256: str


def write_entries(path: Path, header: EntriesHeader, entries: Iterable[FileEntry]) -> None:
    """Write a file; it appears whole or not at all. Raises `DataError` if it cannot be written."""
    write_whole(path, (msgspec.json.encode(line) + b"\n" for line in (header, *entries)))


def read_entries(path: Path, expected: EntriesFormat[Header, Entry]) -> ReadEntries[Header, Entry]:
    """Return what a file holds.

    Raises `UnreadableError` if it cannot be read, and `RunFormatError`, with the line, if it is of another format.
    """
    content = read_bytes(path, at_most=_MOST_BYTES)
    header: Header | None = None
    entries: dict[str, Entry] = {}
    for number, _, line, _ in lines_of(content):
        where = f"{path}: line {number}"
        try:
            if header is None:
                header = msgspec.json.decode(line, type=expected.header)
                _require_version(path, header, expected)
                continue
            entry = msgspec.json.decode(line, type=expected.entry)
        except BROKEN_JSON as error:
            head = f"the header of a file of {expected.many}, which '{expected.made_by}' makes"
            raise RunFormatError(f"{where}: expected {f'a {expected.one}' if header else head}: {error}") from error
        if entry.id in entries:
            raise RunFormatError(f"{where}: {expected.one} '{entry.id}' stands more than once")
        expected.check_entry(where, entry)
        entries[entry.id] = entry
    if header is None or not entries:
        got = f"no {expected.one}" if header else "nothing"
        raise RunFormatError(f"{path}: expected a header and a {expected.one} a line, got {got}")
    return ReadEntries(header=header, entries=tuple(entries.values()), sha256=hashlib.sha256(content).hexdigest())


def require_places(where: str, sentences: Sequence[str], kinds: Sequence[object], indices: Iterable[int] = ()) -> None:
    """Raise `RunFormatError` unless each sentence of an entry has a kind, and each index is of a sentence."""
    n_sentences = len(sentences)
    if len(kinds) != n_sentences:
        expected = f"a kind for each of {counted(n_sentences, 'sentence')}"
        raise RunFormatError(f"{where}: expected {expected}, got {len(kinds)}")
    for index in indices:
        if not 0 <= index < n_sentences:
            raise RunFormatError(f"{where}: names sentence {index}, but the paper has 0..{n_sentences - 1}")


def _require_version(path: Path, header: Header, expected: EntriesFormat[Header, Entry]) -> None:
    if header.version != expected.version:
        raise RunFormatError(
            f"{path}: {expected.many} of version {header.version}, but this version reads {expected.version}; "
            "upgrade with 'pip install -U evidencebench'"
        )
    expected.check_header(path, header)
