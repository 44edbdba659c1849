"""Drafts, which are instances in the making, and their files: a draft a line, which each step adds to or drops."""

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

from evidencebench.errors import RunError, RunFormatError, RunMismatchError
from evidencebench.files.atomic import put_in_place
from evidencebench.files.disk import BROKEN_JSON, open_file
from evidencebench.files.records import Journal, RecordFormat, open_journal, require_same
from evidencebench.provenance import differences
from evidencebench.wording import counted


class CitedPassage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a review speaks of one paper."""

    review_file: str  # its name, without a folder
    start: int  # characters start..stop-1 of the decoded file
    stop: int
    marks: tuple[str, ...]  # the citation marks as printed, such as "[7]" or "Smith et al. 2004"
    reference: str  # the paper's id in the review's reference list, such as "B7"
    section: tuple[str, ...] = ()  # titles of the sections that it stands in, outermost first


class ReplySource(msgspec.Struct, frozen=True, kw_only=True):
    prompt: str  # SHA-256 of the prompt's file
    model: str  # provider/name
    request: str  # the request's key, under which the cache of replies has it


class WindowVote(msgspec.Struct, frozen=True, array_like=True):
    """What a model said of one window for one aspect, as ``[5, [7, 9], "KEY"]``."""

    start: int  # the window's first sentence
    sentences: tuple[int, ...] | None  # that hold the aspect; None: no reply could be read
    request: str = ""  # the request's key, under which the cache of replies has what it was read from


class JudgingRound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    model: str
    prompt: str  # SHA-256 of the prompt's file
    votes: tuple[tuple[WindowVote, ...], ...]  # aspect by aspect, of the windows that were asked
    asks_all: bool = False  # whether one request asked for all aspects


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """Which sentences of the paper hold which aspects, as models voted.

    Windows of the first round begin at sentences 0, ``window - overlap``, ``2 * (window - overlap)``, and so on to the
    end of the paper; those of later rounds anywhere.
    """

    paper_sha256: str  # of the paper's file: its sentences must be the same when the data set is assembled
    n_sentences: int
    window: int
    overlap: int
    rounds: tuple[JudgingRound, ...]
    sources: tuple[tuple[int, ...], ...]  # aspect by aspect: the sentences, from 0, that hold it by the step's rule


class Draft(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An instance in the making; what a later step adds is empty or None before it."""

    id: str  # in the work folder, such as ``review1.xml:B7:2``; `assemble` numbers the instances anew
    review_id: str  # such as ``pmc_1280405``, ``pubmed_9000312``, ``doi_10.1186/...``, or a name that the user gave
    paper_id: str  # the same, of the paper that the review reports
    paper_file: str = ""  # relative to the folder of papers; empty where it is not at hand
    paper_ids: Mapping[str, str] = {}  # such as ``{"pmid": "9000312", "doi": "10.1186/..."}``
    summary: str = ""  # what the review says of the paper: the passage at first, then what a model delimits of it
    context: str = ""  # the paragraphs around the summary
    passage: CitedPassage | None = None  # where the review says so; None where the summary came from a table
    purpose: str = ""  # why the reviewer extracted it, as a model says: the first step to the hypothesis
    hypothesis: str = ""
    aspects: tuple[str, ...] = ()
    judging: Judging | None = None  # which sentences hold them
    results: tuple[int, ...] | None = None  # the indices of the aspects labelled Results
    sources_of: Mapping[str, ReplySource] = {}  # step, or step and part, such as ``aspects verify`` -> its reply
    dropped: str = ""  # why it becomes no instance, as a phrase that is counted; empty: it goes on
    detail: str = ""  # more of that reason, for one draft, such as the words that leaked


def dropped(draft: Draft, reason: str, detail: str = "") -> Draft:
    return msgspec.structs.replace(draft, dropped=reason, detail=detail)


_END = len(' 00000000"}')  # of a line: its own checksum


class DraftHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the drafts of a file."""

    format: Literal["evidencebench drafts"] = "evidencebench drafts"
    version: int = 1
    step: str
    settings: dict[str, Any] = {}
    prompts: dict[str, str] = {}  # name -> SHA-256 of its file
    source_sha256: str = ""  # `DraftFile.sha256` of the file that the step read; empty for the first step


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
    """What a line says of its draft."""

    dropped: str
    made_of: str  # the checksum of the line that it was made of
    own: str  # its own checksum
    is_edited: bool  # since the step wrote it


@dataclass(frozen=True, kw_only=True)
class DraftFile:
    """A file of drafts, of which only the places of the lines are held; make it with `open_drafts`."""

    path: Path
    header: DraftHeader
    offsets: Mapping[str, int]  # id -> the first byte of the draft, in file order
    marks: Mapping[str, LineMarks]
    is_finished: bool  # whether the step came to its end

    def __getitem__(self, draft_id: str) -> Draft:
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
        return sum(marks.is_edited for marks in self.marks.values())

    def n_behind(self, source: "DraftFile") -> int:
        """Return how many drafts of the file that the step read are new or changed since, and not edited here too."""
        not_made = set(source.going_on) - self.marks.keys() if self.is_finished else ()
        return len(not_made) + sum(
            not marks.is_edited and draft_id in source.marks and marks.made_of != source.marks[draft_id].own
            for draft_id, marks in self.marks.items()
        )


def open_drafts(path: Path, *, must_be_finished: bool = True) -> DraftFile:
    """Return a file of drafts; memory is that of the ids. ``must_be_finished``: raise if the step is not at its end."""
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
            f"{path}: the step '{header.step}' that writes it is not finished; run that step again to resume it"
        )
    return DraftFile(path=path, header=header, offsets=offsets, marks=marks, is_finished=is_finished)


def _end_of(line: bytes | memoryview) -> bytes:
    return f' {crc32(line):08x}"}}'.encode()


class DraftWriter:
    """An open file of drafts; ``before`` is what was in it when it was opened, if that goes on."""

    def __init__(self, journal: Journal, before: DraftFile, source: DraftFile | None) -> None:
        self._journal, self.before, self.done = journal, before, before.marks.keys()
        self._sums = {} if source is None else source.marks
        self._n_added = 0

    def append(self, draft: Draft) -> None:
        made_of = self._sums[draft.id].own if draft.id in self._sums else ""
        line = b'%b,"sums":"%b' % (msgspec.json.encode(draft)[:-1], made_of.encode())
        self._journal.append(line + _end_of(line))
        self._n_added += 1

    def finish(self) -> None:
        if self._n_added or not self.before.is_finished:
            self._journal.append(msgspec.json.encode({"n_drafts": len(self.done) + self._n_added}))


@contextmanager
def writing_drafts(
    path: Path, header: DraftHeader, *, source: DraftFile | None = None, overwrite: bool = False
) -> Iterator[DraftWriter]:
    """Open a file of drafts that can be resumed, made if missing; ``source`` is the file that the step reads.

    What is in it stays, unless it was made of other drafts or with other settings or prompts: then it is made again
    with ``overwrite``, where nothing of it was edited by hand (see `set_aside`), else `RunMismatchError` is raised.
    """
    before = nothing = DraftFile(path=path, header=header, offsets={}, marks={}, is_finished=False)
    with open_journal(path, DRAFTS.begins) as journal:
        if not journal.is_empty:
            before = open_drafts(path, must_be_finished=False)
        if differing := _differing(before, header, source):
            advice = "give --overwrite to make it and what is stale behind it again: stored replies cost nothing"
            if before.n_edited:
                advice = (
                    f"{counted(before.n_edited, 'draft')} of it edited by hand would be lost; to make it again, name "
                    f"it as in 'construct run CONFIG.toml --from {header.step}', which keeps a copy"
                )
            if before.n_edited or not overwrite:
                require_same(path, differing, advice)
            journal.start_over()
            before = nothing
        journal.begin(msgspec.json.encode(header))
        yield DraftWriter(journal, before, source)


def _differing(before: DraftFile, now: DraftHeader, source: DraftFile | None) -> str:
    def deciding(header: DraftHeader) -> dict[str, object]:
        prompts = {f"prompt {name}": digest[:12] for name, digest in header.prompts.items()}
        return {"step": header.step, "source": header.source_sha256[:12], **header.settings, **prompts}

    differing = differences(deciding(before.header), deciding(now))
    return differing or (f"{source.path} was changed since" if source is not None and before.n_behind(source) else "")


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


def judging_of(draft: Draft) -> Judging:
    """Return which sentences hold the aspects of a draft; raises `RunFormatError` where they do not fit the draft.

    Files of drafts may be written by other tools, and by hand.
    """
    judging = draft.judging
    if judging is None:
        raise RunFormatError(
            f"draft '{draft.id}': expected judged sentences, got none; run 'evidencebench construct judge' first"
        )
    n_aspects, last = len(draft.aspects), judging.n_sentences - 1
    misfits = [f"sources of {counted(n_aspects, 'aspect')}, got of {len(judging.sources)}"]
    if len(judging.sources) == n_aspects:
        misfits = [
            f"sentences 0..{last} as sources of aspect {aspect}, got sentence {sentence}"
            for aspect, sentences in enumerate(judging.sources)
            for sentence in sentences
            if not 0 <= sentence <= last
        ]
        results = (result for result in draft.results or () if not 0 <= result < n_aspects)
        misfits += [f"Results aspects in 0..{n_aspects - 1}, got aspect {result}" for result in results]
    if misfits:
        raise RunFormatError(f"draft '{draft.id}': expected {misfits[0]}; run the step that made it again")
    return judging


STEP_FILES: Mapping[str, str] = {
    "harvest": "passages.jsonl",
    "summaries": "summaries.jsonl",
    "hypotheses": "hypotheses.jsonl",
    "aspects": "aspects.jsonl",
    "judge": "judgments.jsonl",
    "recheck": "rechecked.jsonl",
    "label-results": "results.jsonl",
    "filter": "filtered.jsonl",
}
"""Step -> the name of the file that it writes in a work folder; the step behind it reads that file."""

DATASET_FOLDER = "dataset"  # what `assemble` writes
MANIFEST = "manifest.json"  # the file that every folder of a data set has


def input_of(step: str, folder: Path) -> Path:
    names = list(STEP_FILES)
    return folder / STEP_FILES[names[names.index(step) - 1]]


def output_of(step: str, folder: Path) -> Path:
    return folder / STEP_FILES[step]
