"""Drafts, which are instances in the making, and their files: a draft a line, which each step adds to or drops."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import RunFormatError, RunMismatchError
from evidencebench.files.disk import BROKEN_JSON, PathText, open_file
from evidencebench.files.records import Journal, RecordFormat, has_checksum, open_journal, require_same, with_checksum
from evidencebench.provenance import differences
from evidencebench.wording import counted


class CitedPassage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a review speaks of one paper."""

    review_file: str  # its name, without a folder
    start: int  # characters start..stop-1 of all text between the file's tags
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
    """As models voted; windows of the first round begin every ``window - overlap`` sentences, later ones anywhere."""

    paper_sha256: str  # of the paper's file: its sentences must be the same when the data set is assembled
    n_sentences: int
    window: int
    overlap: int
    rounds: tuple[JudgingRound, ...]
    sources: tuple[tuple[int, ...], ...]  # aspect by aspect: the sentences, from 0, that hold it by the step's rule


class Draft(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a step's file: what a later step adds is empty or None before it; sentences are numbered from 0."""

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
    dropped_aspects: tuple[tuple[str, str], ...] = ()  # that failed although they were corrected, each with why
    judging: Judging | None = None  # which sentences hold them
    results: tuple[int, ...] | None = None  # the indices of the aspects labelled Results
    sources_of: Mapping[str, ReplySource] = {}  # step, or step and part, such as ``aspects verify`` -> its reply
    edited: Mapping[str, str] = {}  # step -> who edited what it made, as `Edit.by` has it
    dropped: str = ""  # why it becomes no instance, as a phrase that is counted; empty: it goes on
    detail: str = ""  # more of that reason, for one draft, such as the words that leaked


def dropped(draft: Draft, reason: str, detail: str = "") -> Draft:
    return msgspec.structs.replace(draft, dropped=reason, detail=detail)


class DraftHeader(msgspec.Struct, frozen=True, kw_only=True):
    format: Literal["evidencebench drafts"] = "evidencebench drafts"
    version: int = 1
    step: str
    settings: dict[str, Any] = {}
    prompts: dict[str, str] = {}  # name -> SHA-256 of its file
    reads: str = ""  # the name of the file that the step reads; empty for the first step
    unreadable_papers: dict[str, str] = {}  # those of the folder that the first step could not read, each with why


class LineMarks(msgspec.Struct, frozen=True):
    """What a line says of its draft, or of all of them, without decoding all of it."""

    id: str = ""
    dropped: str = ""
    own: str = ""  # the checksum of the draft itself: the same, whatever it was made of
    made_of: str = ""  # the checksum of what the draft was made of: its line before, and what a person edited
    is_stale: bool = False  # to be made again: the lines of the draft before this one do not count
    crc: str = ""  # of all of the line
    n_drafts: int | None = None  # of a step that came to its end


def _check_line(head: LineMarks, content: memoryview) -> None:
    if head.n_drafts is not None:
        return
    if not head.id:
        raise RunFormatError("expected a draft, got an object without an id")
    if not has_checksum(content, head.crc):
        raise RunFormatError(
            f"draft '{head.id}': expected it as its step wrote it, got a line that was changed since; delete the line, "
            "so that the next run makes it again, and write what you change into edits.jsonl, as 'construct show "
            "--open' does"
        )


DRAFTS = RecordFormat(
    header=DraftHeader,
    record=LineMarks,
    begins=b'{"format":"evidencebench drafts"',
    what="a file of drafts",
    a_record="a draft",
    made_by="evidencebench construct",
    check=_check_line,
)


@dataclass(frozen=True, kw_only=True)
class DraftFile:
    """A file of drafts, of which only the places of the lines are held; make it with `open_drafts`."""

    path: Path
    header: DraftHeader
    offsets: Mapping[str, int]  # id -> the first byte of the draft
    marks: Mapping[str, LineMarks]
    is_finished: bool  # whether the step came to its end

    def __getitem__(self, draft_id: str) -> Draft:
        with open_file(self.path) as file:
            file.seek(self.offsets[draft_id])
            line = file.readline()
        try:
            return msgspec.json.decode(line, type=prepared(Draft))
        except BROKEN_JSON as error:
            raise RunFormatError(
                f"{self.path}: draft '{draft_id}': {error}; delete its line, so that the next run makes it again"
            ) from error

    def __iter__(self) -> Iterator[Draft]:
        return (self[draft_id] for draft_id in sorted(self.marks))

    def drafts(self) -> Iterator[Draft]:
        return (self[draft_id] for draft_id in sorted(self.going_on))

    @cached_property
    def going_on(self) -> tuple[str, ...]:
        return tuple(draft_id for draft_id, marks in self.marks.items() if not marks.dropped)

    @cached_property
    def dropped(self) -> Counter[str]:
        """Reason -> how many drafts were dropped by this step."""
        return Counter(marks.dropped for marks in self.marks.values() if marks.dropped)

    @property
    def sums(self) -> dict[str, str]:
        return {draft_id: self.marks[draft_id].own for draft_id in self.going_on}

    def stale(self, made_of: Mapping[str, str]) -> list[str]:
        """Return the drafts that were made of another line or before an edit, given what each is to be made of now."""
        return [draft_id for draft_id, marks in self.marks.items() if made_of.get(draft_id) != marks.made_of]


def open_drafts(path: PathText, *, must_be_finished: bool = True) -> DraftFile:
    """Open the file of a step, such as ``work/aspects.jsonl``; a draft is read when it is asked for.

    ``file[id]`` is a draft, ``iter(file)`` yields all in the order of their ids, ``file.drafts()`` those that were not
    dropped. Raises `RunFormatError` if the file is damaged or a line was changed by hand, and `RunMismatchError` if the
    step is not at its end, as after a pilot, and ``must_be_finished``.
    """
    path = Path(path)
    offsets: dict[str, int] = {}
    marks: dict[str, LineMarks] = {}
    is_finished = False
    header, lines = DRAFTS.scan(path)
    for _, start, _, head in lines:
        is_finished = head.n_drafts == len(marks)
        if head.is_stale:
            offsets.pop(head.id, None)
            marks.pop(head.id, None)
        elif head.n_drafts is None:
            offsets[head.id], marks[head.id] = start, head
    if must_be_finished and not is_finished:
        raise RunMismatchError(
            f"{path}: the step '{header.step}' that writes it is not finished; run that step again to resume it"
        )
    return DraftFile(path=path, header=header, offsets=offsets, marks=marks, is_finished=is_finished)


class DraftWriter:
    """An open file of drafts; ``done`` are those whose lines in it count, with why they were dropped."""

    def __init__(self, journal: Journal, before: DraftFile, made_of: Mapping[str, str] | None) -> None:
        self._journal, self._made_of = journal, made_of or {}
        stale = [] if made_of is None else before.stale(made_of)
        for draft_id in stale:
            journal.append(with_checksum(msgspec.json.encode({"id": draft_id, "is_stale": True})))
        self.done: dict[str, str] = {
            name: marks.dropped for name, marks in before.marks.items() if name not in {*stale}
        }
        self._is_finished = before.is_finished and not stale

    def append(self, draft: Draft) -> None:
        line = msgspec.json.encode(draft)[:-1]
        end = b',"own":"%08x","made_of":"%b"}' % (crc32(line), self._made_of.get(draft.id, "").encode())
        self._journal.append(with_checksum(line + end))
        self.done[draft.id], self._is_finished = draft.dropped, False

    def finish(self) -> None:
        if not self._is_finished:
            self._journal.append(msgspec.json.encode({"n_drafts": len(self.done)}))


@contextmanager
def writing_drafts(
    path: Path, header: DraftHeader, *, made_of: Mapping[str, str] | None = None, overwrite: bool = False
) -> Iterator[DraftWriter]:
    """Open a file of drafts that can be resumed, made if missing; one of other settings needs ``overwrite``.

    ``made_of`` has the checksum of what each draft is made of; lines of anything else do not count any more.
    """
    with open_journal(path, DRAFTS.begins) as journal:
        journal.begin(msgspec.json.encode(header))
        before = open_drafts(path, must_be_finished=False)
        differing = differences(_deciding(before.header), _deciding(header))
        if before.marks and not overwrite:
            require_same(path, differing, "give --overwrite to make it again: stored replies cost nothing")
        if differing:
            journal.start_over()
            journal.begin(msgspec.json.encode(header))
            before = open_drafts(path, must_be_finished=False)
        yield DraftWriter(journal, before, made_of)


def _deciding(header: DraftHeader) -> dict[str, object]:
    prompts = {f"prompt {name}": digest[:12] for name, digest in header.prompts.items()}
    return {"step": header.step, **header.settings, **prompts}


def judging_of(draft: Draft) -> Judging:
    """Return which sentences hold the aspects of a draft; raises `RunFormatError` where they do not fit the draft."""
    judging = draft.judging
    if judging is None:
        raise RunFormatError(
            f"draft '{draft.id}': expected judged sentences, got none; run 'evidencebench construct run' first"
        )
    n_aspects, last = len(draft.aspects), judging.n_sentences - 1
    n_judged, results = len(judging.sources), draft.results or ()
    misfits = []
    if n_judged != n_aspects:
        misfits.append(f"sources of {counted(n_aspects, 'aspect')}, got of {n_judged}")
    misfits += [
        f"sentences 0..{last} as sources of aspect {aspect}, got sentence {sentence}"
        for aspect, sentences in enumerate(judging.sources)
        for sentence in sentences
        if not 0 <= sentence <= last
    ]
    misfits += [f"Results aspects in 0..{n_aspects - 1}, got aspect {n}" for n in results if not 0 <= n < n_aspects]
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

MODEL_STEPS = tuple(STEP_FILES)[1:-1]  # that ask a model, and whose outcome people may edit

DATASET_FOLDER = "dataset"  # what `assemble` writes
MANIFEST = "manifest.json"  # the file that every folder of a data set has


def input_of(step: str, folder: Path) -> Path:
    names = list(STEP_FILES)
    return folder / STEP_FILES[names[names.index(step) - 1]]


def output_of(step: str, folder: Path) -> Path:
    return folder / STEP_FILES[step]


def files_in(folder: Path) -> dict[str, DraftFile]:
    """Return the files that a folder has of the steps, by step in their order."""
    paths = {step: folder / name for step, name in STEP_FILES.items()}
    return {step: open_drafts(path, must_be_finished=False) for step, path in paths.items() if path.is_file()}
