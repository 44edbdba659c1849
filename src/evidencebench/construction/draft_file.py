"""Files of drafts: JSON Lines with a header, a line a draft in the order in which they were done, and a last line.

A step that was stopped left no last line, so that the next step refuses its file, and the step itself goes on in it.
Each line ends with two checksums: of the line that its draft was made of, and of all before it in the line. So it is
known, draft by draft, what was edited by hand, and what was made before that.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zlib import crc32

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.errors import RunError, RunFormatError, RunMismatchError, UnreadableError
from evidencebench.provenance import differences
from evidencebench.storage.journal import open_journal
from evidencebench.storage.json_lines import lines_in
from evidencebench.storage.reading import BROKEN_JSON, open_file
from evidencebench.storage.whole_file import put_in_place
from evidencebench.wording import counted

_BEGINS = b'{"format":"evidencebench drafts"'
_BLOCK_BYTES = 1 << 20
_END = len(' 00000000"}')  # of a line: its own checksum


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


class _LineHead(msgspec.Struct, frozen=True):
    """What tells a draft from the last line, without decoding all of it."""

    id: str = ""
    dropped: str = ""
    n_drafts: int | None = None


class LineMarks(NamedTuple):
    """What a line says of where its draft comes from: checksums of the line that it was made of, and of itself."""

    made_of: str
    own: str
    is_edited: bool  # since the step wrote it


@dataclass(frozen=True, kw_only=True)
class DraftFile:
    """A file of drafts, of which only the places of the lines are held; make it with `open_drafts`.

    ``offsets`` has the first byte of each draft by its id, in file order, and ``marks`` its checksums; ``dropped``,
    reason -> how many were dropped by this step; ``is_finished``, whether the step came to its end.
    """

    path: Path
    header: DraftHeader
    offsets: Mapping[str, int]
    marks: Mapping[str, LineMarks]
    dropped: Mapping[str, int]
    going_on: tuple[str, ...]  # ids of the drafts that were not dropped
    is_finished: bool

    def __getitem__(self, draft_id: str) -> Draft:
        """Return a draft, read anew; raises `RunFormatError` where its line is no draft."""
        with open_file(self.path) as file:
            file.seek(self.offsets[draft_id])
            line = file.readline()
        try:
            return msgspec.json.decode(line, type=Draft)
        except BROKEN_JSON as error:
            raise RunFormatError(
                f"{self.path}: draft '{draft_id}': {error}; make it again, as with 'construct run CONFIG.toml --from "
                f"{self.header.step}': replies that are stored cost nothing"
            ) from error

    def drafts(self) -> Iterator[Draft]:
        """Yield the drafts that were not dropped, in the order of their ids."""
        return (self[one] for one in sorted(self.going_on))

    @property
    def sha256(self) -> str:
        """The checksum of the header, and so of all that decides the drafts: the same while drafts are added."""
        return hashlib.sha256(msgspec.json.encode(self.header)).hexdigest()

    @property
    def n_edited(self) -> int:
        """How many drafts were edited by hand."""
        return sum(one.is_edited for one in self.marks.values())

    def n_behind(self, source: "DraftFile") -> int:
        """Return how many drafts of the file that the step read were changed after that, those to be added included.

        A draft that was edited here, too, is as it is wanted.
        """
        left = set(source.going_on) - self.offsets.keys() if self.is_finished else ()
        return len(left) + sum(
            not one.is_edited and name in source.marks and one.made_of != source.marks[name].own
            for name, one in self.marks.items()
        )


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
    marks: dict[str, LineMarks] = {}
    dropped: dict[str, int] = {}
    going_on: list[str] = []
    header: DraftHeader | None = None
    is_finished = False
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
                    is_finished = head.n_drafts == len(offsets)
                    continue
                if head.id in offsets:
                    raise RunFormatError(f"{path}: line {line.number}: draft '{head.id}' stands more than once")
                offsets[head.id], marks[head.id] = line.start, _marks_of(line.content)
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
        marks=marks,
        dropped=dropped,
        going_on=tuple(going_on),
        is_finished=is_finished,
    )


def _marks_of(line: memoryview) -> LineMarks:
    end, is_edited = bytes(line[-2 * _END :]), bytes(line[-_END:]) != _end_of(line[:-_END])
    return LineMarks(end[-_END - 8 : -_END].decode(errors="replace"), f"{crc32(line):08x}", is_edited)


def _end_of(line: bytes | memoryview) -> bytes:
    return f' {crc32(line):08x}"}}'.encode()


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

    ``source`` is the file that the step reads. Where the file was made with other settings, prompts or from another
    file, or of drafts that were changed since, it is made again with ``overwrite``, unless drafts of it were edited by
    hand: see `set_aside`. Else raises `RunMismatchError`, and `RunError` where it cannot be written or another process
    writes it.
    """
    with open_journal(path, _BEGINS) as journal:
        done: dict[str, bool] = {}
        dropped: Mapping[str, int] = {}
        is_finished = False
        before = None if journal.is_empty else open_drafts(path, must_be_finished=False)
        if before is not None and (wrong := _wrong_with(before, header, source)):
            if before.n_edited:
                raise RunMismatchError(
                    f"{path}: {wrong}; {counted(before.n_edited, 'draft')} of it edited by hand would be lost; to make "
                    f"it again, name it as in 'construct run CONFIG.toml --from {header.step}', which keeps a copy"
                )
            if not overwrite:
                raise RunMismatchError(
                    f"{path}: {wrong}; give --overwrite to make it and what is stale behind it again: replies that are "
                    "stored cost nothing"
                )
            journal.start_over()
        elif before is not None:
            going_on = set(before.going_on)
            done = {one: one in going_on for one in before.offsets}
            is_finished, dropped = before.is_finished, before.dropped
        journal.begin(msgspec.json.encode(header))
        n_drafts = len(done)

        def append(draft: Draft) -> None:
            nonlocal n_drafts
            made_of = "" if source is None or draft.id not in source.marks else source.marks[draft.id].own
            line = b'%b,"sums":"%b' % (msgspec.json.encode(draft)[:-1], made_of.encode())
            journal.append(line + _end_of(line))
            n_drafts += 1

        def finish() -> None:
            if not (is_finished and n_drafts == len(done)):
                journal.append(msgspec.json.encode(_LastLine(n_drafts=n_drafts)))

        yield DraftWriter(done=done, dropped=dropped, append=append, finish=finish)


def _wrong_with(before: DraftFile, now: DraftHeader, source: DraftFile | None) -> str:
    told = differences(_flat(before.header), _flat(now))
    if told or source is None:
        return f"was made otherwise: {told}" if told else ""
    return f"was made from {source.path} before that file was changed" if before.n_behind(source) else ""


def set_aside(path: Path) -> Path | None:
    """Take away a file of drafts, so that its step makes it anew; return where it is kept if it was edited by hand."""
    if not path.is_file():
        return None
    with open_journal(path, _BEGINS) as journal:
        try:
            is_edited = not journal.is_empty and open_drafts(path, must_be_finished=False).n_edited > 0
        except RunError:  # no step writes what cannot be read
            is_edited = True
        if not is_edited:
            path.unlink()
            return None
        names = (path.with_name(f"{path.name}.edited{n or ''}") for n in count())
        put_in_place(path, kept := next(one for one in names if not one.exists()))
        return kept


def _flat(header: DraftHeader) -> dict[str, object]:
    return {
        "step": header.step,
        "source": header.source_sha256[:12],
        **header.settings,
        **{f"prompt {name}": digest[:12] for name, digest in header.prompts.items()},
    }
