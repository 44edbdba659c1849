"""Files of drafts: JSON Lines with a header, a line a draft in the order in which they were done, and a last line.

A step that was stopped left no last line, so that the next step refuses its file, and the step itself goes on in it.
Each line ends with two checksums: of the line that its draft was made of, and of all before it in the line. So it is
known, draft by draft, what was edited by hand, and what was made before that.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zlib import crc32

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.errors import RunError, RunFormatError, RunMismatchError
from evidencebench.provenance import differences
from evidencebench.storage.reading import BROKEN_JSON, open_file
from evidencebench.storage.records import Journal, RecordFormat, open_journal, require_same
from evidencebench.storage.whole_file import put_in_place
from evidencebench.wording import counted

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


def _check_line(head: _LineHead, _: memoryview) -> None:
    if head.n_drafts is None and not head.id:
        raise RunFormatError("expected a draft, got an object without an id")


DRAFTS = RecordFormat(
    header=DraftHeader,
    record=_LineHead,
    begins=b'{"format":"evidencebench drafts"',
    what="a file of drafts",
    a_record="a draft",
    made_by="evidencebench construct",
    check=_check_line,
)


class LineMarks(NamedTuple):
    """What a line says: why its draft was dropped, and the checksums of the line that it was made of, and of itself."""

    dropped: str
    made_of: str
    own: str
    is_edited: bool  # since the step wrote it


@dataclass(frozen=True, kw_only=True)
class DraftFile:
    """A file of drafts, of which only the places of the lines are held; make it with `open_drafts`.

    ``offsets`` has the first byte of each draft by its id, in file order; ``is_finished`` says whether the step came to
    its end.
    """

    path: Path
    header: DraftHeader
    offsets: Mapping[str, int]
    marks: Mapping[str, LineMarks]
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
        return (self[draft_id] for draft_id in sorted(self.going_on))

    @cached_property
    def going_on(self) -> tuple[str, ...]:
        """The ids of the drafts that were not dropped."""
        return tuple(draft_id for draft_id, marks in self.marks.items() if not marks.dropped)

    @cached_property
    def dropped(self) -> Mapping[str, int]:
        """Reason -> how many drafts were dropped by this step."""
        return Counter(marks.dropped for marks in self.marks.values() if marks.dropped)

    @property
    def sha256(self) -> str:
        """The checksum of the header, and so of all that decides the drafts: the same while drafts are added."""
        return hashlib.sha256(msgspec.json.encode(self.header)).hexdigest()

    @property
    def n_edited(self) -> int:
        """How many drafts were edited by hand."""
        return sum(marks.is_edited for marks in self.marks.values())

    def n_behind(self, source: "DraftFile") -> int:
        """Return how many drafts of the file that the step read were changed after that, those to be added included.

        A draft that was edited here, too, is as it is wanted.
        """
        not_made = set(source.going_on) - self.marks.keys() if self.is_finished else ()
        return len(not_made) + sum(
            not marks.is_edited and draft_id in source.marks and marks.made_of != source.marks[draft_id].own
            for draft_id, marks in self.marks.items()
        )


def open_drafts(path: Path, *, must_be_finished: bool = True) -> DraftFile:
    """Return a file of drafts; memory is that of the ids.

    Raises `UnreadableError` if it cannot be read, `RunFormatError` if it is no such file, and `RunMismatchError` if
    the step that writes it did not come to its end, unless ``must_be_finished`` is false.
    """
    offsets: dict[str, int] = {}
    marks: dict[str, LineMarks] = {}
    is_finished = False
    header, lines = DRAFTS.scan(path)
    for number, start, content, head in lines:
        if head.n_drafts is not None:
            is_finished = head.n_drafts == len(offsets)
            continue
        if head.id in offsets:
            raise RunFormatError(f"{path}: line {number}: '{head.id}' stands more than once")
        end, is_edited = bytes(content[-2 * _END :]), bytes(content[-_END:]) != _end_of(content[:-_END])
        made_of = end[-_END - 8 : -_END].decode(errors="replace")
        offsets[head.id] = start
        marks[head.id] = LineMarks(head.dropped, made_of, f"{crc32(content):08x}", is_edited)
    if must_be_finished and not is_finished:
        raise RunMismatchError(
            f"{path}: the step '{header.step}' that writes it has not come to its end; run that step again, it goes on"
        )
    return DraftFile(path=path, header=header, offsets=offsets, marks=marks, is_finished=is_finished)


def _end_of(line: bytes | memoryview) -> bytes:
    return f' {crc32(line):08x}"}}'.encode()


class DraftWriter:
    """An open file of drafts. ``before`` is what was in it when it was opened, if that goes on."""

    def __init__(self, journal: Journal, before: DraftFile | None, source: DraftFile | None) -> None:
        self._journal, self._before = journal, before
        self._sums = {} if source is None else source.marks
        self.done: Mapping[str, bool] = {}  # id -> whether it goes on, of the drafts that were there
        self.dropped: Mapping[str, int] = {}  # reason -> how many of them were dropped
        if before is not None:
            self.done = {draft_id: not marks.dropped for draft_id, marks in before.marks.items()}
            self.dropped = before.dropped
        self._n_drafts = len(self.done)

    def append(self, draft: Draft) -> None:
        """Append a draft."""
        made_of = self._sums[draft.id].own if draft.id in self._sums else ""
        line = b'%b,"sums":"%b' % (msgspec.json.encode(draft)[:-1], made_of.encode())
        self._journal.append(line + _end_of(line))
        self._n_drafts += 1

    def finish(self) -> None:
        """Append the last line, unless it stands there."""
        if self._before is None or not self._before.is_finished or self._n_drafts > len(self.done):
            self._journal.append(msgspec.json.encode(_LastLine(n_drafts=self._n_drafts)))


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
    with open_journal(path, DRAFTS.begins) as journal:
        before = None if journal.is_empty else open_drafts(path, must_be_finished=False)
        if before is not None and (differing := _differing(before, header, source)):
            advice = (
                "give --overwrite to make it and what is stale behind it again: replies that are stored cost nothing"
            )
            if before.n_edited:
                advice = (
                    f"{counted(before.n_edited, 'draft')} of it edited by hand would be lost; to make it again, name "
                    f"it as in 'construct run CONFIG.toml --from {header.step}', which keeps a copy"
                )
            if before.n_edited or not overwrite:
                require_same(path, differing, advice)
            journal.start_over()
            before = None
        journal.begin(msgspec.json.encode(header))
        yield DraftWriter(journal, before, source)


def _differing(before: DraftFile, now: DraftHeader, source: DraftFile | None) -> str:
    differing = differences(_deciding(before.header), _deciding(now))
    if not differing and source is not None and before.n_behind(source):
        return f"{source.path} was changed since"
    return differing


def _deciding(header: DraftHeader) -> dict[str, object]:
    return {
        "step": header.step,
        "source": header.source_sha256[:12],
        **header.settings,
        **{f"prompt {name}": digest[:12] for name, digest in header.prompts.items()},
    }


def set_aside(path: Path) -> Path | None:
    """Take away a file of drafts, so that its step makes it anew; return where it is kept if it was edited by hand."""
    if not path.is_file():
        return None
    with open_journal(path, DRAFTS.begins) as journal:
        try:
            is_edited = not journal.is_empty and open_drafts(path, must_be_finished=False).n_edited > 0
        except RunError:  # no step writes what cannot be read
            is_edited = True
        if not is_edited:
            path.unlink()
            return None
        names = (path.with_name(f"{path.name}.edited{n or ''}") for n in count())
        put_in_place(path, kept := next(name for name in names if not name.exists()))
        return kept
