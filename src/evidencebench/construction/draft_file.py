"""Files of drafts: JSON Lines with a header, a line a draft in the order in which they were done, and a last line.

A step that was stopped left no last line, so that the next step refuses its file, and the step itself goes on in it.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.errors import RunFormatError, RunMismatchError, UnreadableError
from evidencebench.provenance import differences
from evidencebench.storage.journal import open_journal
from evidencebench.storage.json_lines import lines_in
from evidencebench.storage.reading import BROKEN_JSON, file_sha256, open_file

_BEGINS = b'{"format":"evidencebench drafts"'
_BLOCK_BYTES = 1 << 20


class DraftHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the drafts of a file: the step, its settings, its prompts, and the file that it read."""

    format: Literal["evidencebench drafts"] = "evidencebench drafts"
    version: int = 1
    step: str
    settings: dict[str, Any] = {}
    prompts: dict[str, str] = {}  # name -> SHA-256 of its file
    source_sha256: str = ""  # `DraftFile.sha256` of the file that the step read; empty for the first step


class _LastLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    n_drafts: int
    read_sha256: str = ""  # of the content of the file that the step read


class _LineHead(msgspec.Struct, frozen=True):
    """What tells a draft from the last line, without decoding all of it."""

    id: str = ""
    dropped: str = ""
    n_drafts: int | None = None
    read_sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class DraftFile:
    """A file of drafts, of which only the places of the lines are held; make it with `open_drafts`.

    ``offsets`` has the first byte of each draft by its id, in file order; ``dropped``, reason -> how many were dropped
    by this step; ``is_finished``, whether the step came to its end.
    """

    path: Path
    header: DraftHeader
    offsets: Mapping[str, int]
    dropped: Mapping[str, int]
    going_on: tuple[str, ...]  # ids of the drafts that were not dropped
    is_finished: bool
    read_sha256: str = ""  # of the content that the step had read when it came to its end

    def __getitem__(self, draft_id: str) -> Draft:
        """Return a draft, read anew; raises `RunFormatError` where its line is no draft."""
        with open_file(self.path) as file:
            file.seek(self.offsets[draft_id])
            line = file.readline()
        try:
            return msgspec.json.decode(line, type=Draft)
        except BROKEN_JSON as error:
            raise RunFormatError(f"{self.path}: draft '{draft_id}': {error}") from error

    def drafts(self) -> Iterator[Draft]:
        """Yield the drafts that were not dropped, in the order of their ids."""
        return (self[one] for one in sorted(self.going_on))

    @property
    def sha256(self) -> str:
        """The checksum of the header, and so of all that decides the drafts: the same while drafts are added."""
        return hashlib.sha256(msgspec.json.encode(self.header)).hexdigest()

    @cached_property
    def content_sha256(self) -> str:
        """The checksum of the file, which tells drafts that were edited by hand."""
        return file_sha256(self.path)


def is_draft_file(path: Path) -> bool:
    """Say whether a file begins as files of drafts do; raises `UnreadableError` if it cannot be read."""
    try:
        with open_file(path) as file:
            return file.read(len(_BEGINS)) == _BEGINS
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error


def open_drafts(path: Path, *, must_be_finished: bool = True) -> DraftFile:
    """Return a file of drafts; memory is that of the ids.

    Raises `UnreadableError` if it cannot be read, `RunFormatError` if it is no such file, and `RunMismatchError` if
    the step that writes it did not come to its end, unless ``must_be_finished`` is false.
    """
    offsets: dict[str, int] = {}
    dropped: dict[str, int] = {}
    going_on: list[str] = []
    header: DraftHeader | None = None
    is_finished, read_sha256 = False, ""
    try:
        with open_file(path) as file:
            for line in lines_in(iter(lambda: file.read(_BLOCK_BYTES), b"")):
                if header is None:
                    header = _header_in(path, line.content)
                    continue
                if not line.is_ended:  # torn: the step that writes it goes on before this line
                    break
                head = _decoded(path, line.number, line.content)
                if head.n_drafts is not None:
                    is_finished, read_sha256 = head.n_drafts == len(offsets), head.read_sha256
                    continue
                if head.id in offsets:
                    raise RunFormatError(f"{path}: line {line.number}: draft '{head.id}' stands more than once")
                offsets[head.id] = line.start
                if head.dropped:
                    dropped[head.dropped] = dropped.get(head.dropped, 0) + 1
                else:
                    going_on.append(head.id)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    if header is None:
        raise RunFormatError(f"{path}: expected a file of drafts, got an empty one")
    if must_be_finished and not is_finished:
        raise RunMismatchError(
            f"{path}: the step '{header.step}' that writes it has not come to its end; run that step again, it goes on"
        )
    return DraftFile(
        path=path,
        header=header,
        offsets=offsets,
        dropped=dropped,
        going_on=tuple(going_on),
        is_finished=is_finished,
        read_sha256=read_sha256,
    )


def _header_in(path: Path, line: memoryview) -> DraftHeader:
    try:
        return msgspec.json.decode(line, type=DraftHeader)
    except BROKEN_JSON as error:
        raise RunFormatError(
            f"{path}: line 1: expected the header of a file of drafts, which 'evidencebench construct' writes: {error}"
        ) from error


def _decoded(path: Path, number: int, line: memoryview) -> _LineHead:
    try:
        head = msgspec.json.decode(line, type=_LineHead)
    except BROKEN_JSON as error:
        raise RunFormatError(f"{path}: line {number}: {error}") from error
    if head.n_drafts is None and not head.id:
        raise RunFormatError(f"{path}: line {number}: expected a draft, got an object without an id")
    return head


@dataclass(frozen=True, kw_only=True)
class DraftWriter:
    """An open file of drafts: those that are in it already, and how to add one."""

    done: Mapping[str, bool]  # id -> whether it goes on, of the drafts that were there when the file was opened
    dropped: Mapping[str, int]  # reason -> how many of them were dropped
    append: Callable[[Draft], None]
    finish: Callable[[], None]  # writes the last line


@contextmanager
def writing_drafts(
    path: Path, header: DraftHeader, *, source: DraftFile | None = None, overwrite: bool = False
) -> Iterator[DraftWriter]:
    """Open a file of drafts to go on in, made if missing; what is in it stays unless ``overwrite``.

    ``source`` is the file that the step reads. Raises `RunMismatchError` where the file was made with other settings,
    prompts or from another file, or that was edited after all of it had been read, and `RunError` where it cannot be
    written or another process writes it.
    """
    read_sha256 = "" if source is None else source.content_sha256
    with open_journal(path, _BEGINS, truncate=overwrite) as journal:
        done: dict[str, bool] = {}
        dropped: Mapping[str, int] = {}
        is_finished = False
        if not journal.is_empty:
            before = open_drafts(path, must_be_finished=False)
            _require_same(path, before.header, header)
            if before.is_finished and source is not None and before.read_sha256 not in ("", read_sha256):
                raise RunMismatchError(
                    f"{path}: was made from {source.path} before that file was changed; give --overwrite to make it "
                    "again: replies that are stored cost nothing"
                )
            going_on = set(before.going_on)
            done = {one: one in going_on for one in before.offsets}
            is_finished, dropped = before.is_finished, before.dropped
        journal.begin(msgspec.json.encode(header))
        n_drafts = len(done)

        def append(draft: Draft) -> None:
            nonlocal n_drafts
            journal.append(msgspec.json.encode(draft))
            n_drafts += 1

        def finish() -> None:
            if not (is_finished and n_drafts == len(done)):
                journal.append(msgspec.json.encode(_LastLine(n_drafts=n_drafts, read_sha256=read_sha256)))

        yield DraftWriter(done=done, dropped=dropped, append=append, finish=finish)


def _require_same(path: Path, before: DraftHeader, now: DraftHeader) -> None:
    told = differences(_flat(before), _flat(now))
    if told:
        raise RunMismatchError(
            f"{path}: was made otherwise: {told}; give --overwrite to make it again (replies that are stored cost "
            "nothing), or choose another folder"
        )


def _flat(header: DraftHeader) -> dict[str, object]:
    return {
        "step": header.step,
        "source": header.source_sha256[:12],
        **header.settings,
        **{f"prompt {name}": digest[:12] for name, digest in header.prompts.items()},
    }
