"""A construction as people look at it: what became of its drafts, each with its votes, reasons and cost; as a page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args
from zlib import crc32

import msgspec
from msgspec.structs import replace

from evidencebench.construction.checks import wrong_with_aspect, wrong_with_hypothesis
from evidencebench.construction.draft import STEP_FILES, Draft, DraftFile, Judging, files_in
from evidencebench.construction.edits import Edit, read_edits, sums_after
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import sentence_votes
from evidencebench.construction.losses import losses_of
from evidencebench.construction.noise import LabelNoise, estimate_noise
from evidencebench.construction.people.marks import marked_aspects
from evidencebench.errors import CacheError, DataError, EvidenceBenchError
from evidencebench.models.llm.costs import shown_usd
from evidencebench.models.llm.replies import ReplyCache
from evidencebench.pages.html import beginning_of, compressed, construction_parts, encode_json, one_file
from evidencebench.pages.paper import PaperRecord, paper_of
from evidencebench.wording import counted, did_you_mean, without_folders

State = Literal["doubtful", "kept", "waiting", "dropped"]
"""A draft goes on, with a sentence on which votes are split or without; waits for its next step; or goes no further."""

MOST_PAPERS = 200
"""Of so many drafts, the doubtful ones first, a page holds the paper's text; a text takes about 10 kB."""


class VotedSentence(msgspec.Struct, frozen=True, kw_only=True):
    """What windows said of a sentence and an aspect, as places in the draft's ``voters``."""

    sentence: int
    is_source: bool
    yes: tuple[int, ...]
    no: tuple[int, ...]


Votes = tuple[VotedSentence, ...]
"""On the sentences that hold an aspect by some vote or by the step's rule."""

Warned = tuple[str, str]
"""A field that people wrote, and what is wrong with it."""


class DraftRow(msgspec.Struct, frozen=True, kw_only=True):
    """A draft in the list."""

    id: str
    number: int  # from 1, in the order of the ids; 0: not in the list
    state: State
    step: str  # the last one that it came to
    reason: str  # why that dropped it
    text: str  # its hypothesis, or what is there in its place
    n_aspects: int
    n_sources: int
    n_doubtful: int
    n_edits: int


class DraftRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A draft as a whole, with its paper where that can be read."""

    row: DraftRow
    draft: Draft  # without ``judging`` and ``sources_of``
    passage: tuple[str, str, str]  # what the review says of the paper, between what stands before and behind it
    judged: tuple[str, ...]  # the aspects that votes are on: those before an edit that no run has taken up
    votes: tuple[Votes, ...]
    voters: tuple[str, ...]  # the windows that were asked, by model and sentences
    n_unread: int  # of their answers, one for each aspect
    paper: PaperRecord | None
    note: str
    cost: str
    edits: tuple[Edit, ...]
    warnings: tuple[Warned, ...]  # what checks say of what people wrote
    revision: str  # another one once the draft, or an edit of it, is changed


@dataclass(frozen=True, kw_only=True)
class ShownConstruction:
    """The drafts of a work folder; ``papers`` and ``replies`` are None where they are not at hand."""

    work: Path
    files: Mapping[str, DraftFile]  # step -> its file
    edits: Mapping[tuple[str, str], Edit]  # by draft and step; those that no run has taken up are shown too
    papers: PaperFolder | None
    replies: ReplyCache | None
    noise: LabelNoise | None = None  # where it is known already

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Id -> number of each draft that a model was asked about, or before that, of each passage that was kept."""
        behind = {draft_id for step, file in self.files.items() if step != "harvest" for draft_id in file.offsets}
        first = next(iter(self.files.values()))
        return {draft_id: number for number, draft_id in enumerate(sorted(behind or first.going_on), 1)}

    def find(self, wanted: str) -> str:
        """Return the id of a draft, of which its number or a part is enough; raises `DataError`, with ids like it."""
        known = {*self.numbers, *(draft_id for file in self.files.values() for draft_id in file.offsets)}
        numbered = [draft_id for draft_id, number in self.numbers.items() if str(number) == wanted]
        listed, others = (sorted(one for one in ids if wanted in one) for ids in (self.numbers, known))
        fitting = [wanted] if wanted in known else numbered or listed or others
        if len(fitting) == 1:
            return fitting[0]
        got = did_you_mean(wanted, known) if not fitting else f" is in {len(fitting):,}, such as '{fitting[0]}'"
        last = len(self.numbers)
        raise DataError(f"{self.work}: expected a draft's id, a part of it, or 1 to {last:,}; got '{wanted}'{got}")

    def edits_of(self, draft_id: str) -> list[Edit]:
        return [self.edits[draft_id, step] for step in STEP_FILES if (draft_id, step) in self.edits]

    @property
    def n_stale(self) -> int:
        """How many drafts the next run makes again, since people edited them or what they were made of."""
        stale = set[str]()
        for (_, before), (step, file) in pairwise(self.files.items()):
            stale.update(file.stale(sums_after(self.edits, step, before.sums)))
        return len(stale)

    def draft(self, draft_id: str) -> tuple[str, Draft]:
        """Return the last step that a draft came to, and the draft as that left it."""
        step = ""
        for name, file in self.files.items():
            if draft_id in file.offsets:
                step = name
            if step and (step != name or file.marks[draft_id].dropped):  # what stands behind is stale
                break
        return step, self.files[step][draft_id]

    def overview(self) -> dict[str, Any]:
        """Return the answer and the list: what became of the drafts, how far labels can be trusted, the cost."""
        drafts = [self.draft(draft_id) for draft_id in self.numbers]
        rows = [self._shown(step, draft)[0] for step, draft in drafts]
        noise = self.noise or estimate_noise((draft for _, draft in drafts), marked_aspects(self.work))
        n, states = Counter(row.state for row in rows), get_args(State)
        said = f"{counted(len(rows), 'draft')}: {n['kept'] + n['doubtful']:,} kept"
        if n["doubtful"]:
            said += f", votes are split on sentences of {n['doubtful']:,} of them"
        if n["dropped"]:
            said += f"; {n['dropped']:,} dropped"
        if n["waiting"]:
            said += f"; {n['waiting']:,} wait for their next step"
        n_lost = sum(len(draft.dropped_aspects) for _, draft in drafts)
        if n_lost:
            said += f"; left out: {counted(n_lost, 'aspect')} that failed verification"
        return {
            "title": f"Construction in {self.work.resolve().name}",
            "answer": f"{said}.",
            "noise": noise.text,
            "warning": noise.warning,
            "cost": self._cost({key for _, draft in drafts for key in _requests_of(draft)}),
            "steps": [losses_of(file) for file in self.files.values()],
            "rows": sorted(rows, key=lambda row: (states.index(row.state), -row.n_doubtful, row.number)),
        }

    def _shown(self, step: str, made: Draft) -> tuple[DraftRow, Draft, list[Votes], list[Warned]]:
        """Return a draft's row, the draft with its edits, votes on the aspects that it had before, and warnings."""
        edits = self.edits_of(made.id)
        draft, warnings = _edited(made, edits)
        votes = _votes_of(made if draft.judging is None else draft)
        n_doubtful = sum(bool(vote.yes and vote.no) for of_aspect in votes for vote in of_aspect)
        is_left = step != list(self.files)[-1] or bool(made.dropped)  # to be made on; an edit takes a drop back
        state: State = "waiting" if is_left else "doubtful" if n_doubtful else "kept"
        row = DraftRow(
            id=draft.id,
            number=self.numbers.get(draft.id, 0),
            state="dropped" if draft.dropped else state,
            step=step,
            reason=draft.dropped,
            text=beginning_of(draft.hypothesis or draft.summary or draft.id),
            n_aspects=len(draft.aspects),
            n_sources=len({vote.sentence for of_aspect in votes for vote in of_aspect if vote.is_source}),
            n_doubtful=n_doubtful,
            n_edits=len(edits),
        )
        return row, draft, votes, warnings

    def record(self, draft_id: str, *, with_paper: bool = True) -> DraftRecord:
        step, made = self.draft(draft_id)
        row, draft, votes, warnings = self._shown(step, made)
        passage = next(file for file in self.files.values() if draft_id in file.offsets)[draft_id].summary
        before, found, behind = draft.context.partition(passage or "\n")
        said = [judged.votes for judged in (made.judging.rounds if made.judging else ())]
        paper, note = self._paper_of(made) if with_paper else (None, "The paper's text is left out of this page.")
        edits = self.edits_of(draft_id)
        lines = [edits, [file.marks[draft_id].own for file in self.files.values() if draft_id in file.marks]]
        return DraftRecord(
            row=row,
            draft=replace(draft, judging=None, sources_of={}),
            passage=(before, passage, behind) if found else ("", passage, draft.context),
            judged=made.aspects,
            votes=tuple(votes),
            voters=tuple(_voters_of(made.judging).values()),
            n_unread=sum(vote.sentences is None for votes in said for of_aspect in votes for vote in of_aspect),
            paper=paper,
            note=note,
            cost=self._cost(_requests_of(made)),
            edits=tuple(edits),
            warnings=tuple(warnings),
            revision=f"{crc32(msgspec.json.encode(lines)):08x}",
        )

    def _paper_of(self, draft: Draft) -> tuple[PaperRecord | None, str]:
        if self.papers is None:
            return None, "The folder of papers is not known: name it with --papers."
        try:
            paper, sha256 = self.papers.paper_of(draft)
            record = paper_of(0, paper.query_for(draft.hypothesis or draft.id))
        except EvidenceBenchError as error:
            return None, f"The paper cannot be shown: {without_folders(str(error))}."
        is_other = draft.judging is not None and draft.judging.paper_sha256 != sha256
        if is_other:
            return record, "The paper's file has changed since it was judged, so marks may be in the wrong places."
        return record, ""

    def _cost(self, keys: set[str]) -> str:
        """Return in words what requests cost, by the stored replies; of repeated requests only the last is known."""
        if not keys:
            return "no reply was used"
        costs: list[float | None] = []
        query = "SELECT cost_usd FROM reply WHERE key = ?"
        with suppress(CacheError, ValueError):  # the drafts can be read without it; a key may be none
            if self.replies is not None:
                with self.replies.reading() as replies:
                    found = [replies.execute(query, (bytes.fromhex(key),)).fetchone() for key in keys]
                costs = [row[0] for row in found if row is not None]
        known = [cost for cost in costs if cost is not None]
        told = f"{shown_usd(sum(known)) if known else 'unknown'}, of {counted(len(keys), 'request')}"
        if len(costs) < len(keys):
            told += f"; {len(keys) - len(costs):,} replies are not stored here"
        if len(known) < len(costs):
            told += f"; of {len(costs) - len(known):,} the price is unknown"
        return told


def open_construction(work: Path, *, papers: Path | None, replies: ReplyCache | None) -> ShownConstruction:
    """Return the drafts of a work folder; raises `DataError` where it holds none, `RunError` for a damaged file."""
    if not (files := files_in(work)):
        raise DataError(f"{work}: expected the files of a construction, got none; 'construct run' makes them")
    folder = None if papers is None or not papers.is_dir() else PaperFolder(papers)
    return ShownConstruction(work=work, files=files, edits=read_edits(work), papers=folder, replies=replies)


def construction_page(shown: ShownConstruction, *, most_papers: int = MOST_PAPERS) -> str:
    """Return all drafts as one HTML page without requests; each is unpacked when it is opened."""
    overview = shown.overview()
    body = [
        '<header class="page-head"></header>\n<main id="viewer"></main>\n',
        "<noscript>This page needs JavaScript, which is off.</noscript>\n",
        f'<script type="application/json" id="overview">{encode_json(overview).decode()}</script>\n',
    ]
    for place, row in enumerate(overview["rows"]):
        packed = compressed(encode_json(shown.record(row.id, with_paper=place < most_papers)))
        body.append(f'<script type="text/plain" id="draft-{row.number}">{packed}</script>\n')
    return one_file(overview["title"], body, construction_parts())


def laid_over(draft: Draft, edit: Edit) -> Draft:
    """Return a draft as it is after an edit; of other aspects nothing is judged. Raises `DataError` for a misfit."""
    has_others = edit.step == "aspects" and edit.aspects not in (None, draft.aspects)
    return edit.lay_over(replace(draft, judging=None, results=None) if has_others else draft)


def _edited(draft: Draft, edits: Sequence[Edit]) -> tuple[Draft, list[Warned]]:
    """Return a draft with what people changed, and what is wrong with that."""
    warnings = []
    for edit in edits:
        try:
            draft = laid_over(draft, edit)
        except DataError as error:
            warnings.append(("edits", str(error)))
    if any(edit.hypothesis is not None for edit in edits):
        warnings.append(("hypothesis", wrong_with_hypothesis(draft.hypothesis, draft.summary, draft.context)))
    if any(edit.step == "aspects" for edit in edits):
        found = ((n, wrong_with_aspect(aspect, draft.summary)) for n, aspect in enumerate(draft.aspects, 1))
        warnings += [("aspects", f"aspect {n}: {why}") for n, why in found if why]
    return draft, [(field, why) for field, why in warnings if why]


def _voters_of(judging: Judging | None) -> Mapping[tuple[int, int], str]:
    """Return the windows that were asked, by their round and first sentence, in words."""
    voters: dict[tuple[int, int], str] = {}
    models: Counter[str] = Counter()
    for number, judged in enumerate(judging.rounds if judging else ()):
        models[judged.model] += 1
        again = f", time {models[judged.model]}" if models[judged.model] > 1 else ""
        for start in {vote.start: None for of_aspect in judged.votes for vote in of_aspect}:
            last = min(start + judging.window, judging.n_sentences) - 1 if judging else start
            voters[number, start] = f"{judged.model}{again}, sentences {start} to {last}"
    return voters


def _votes_of(draft: Draft) -> list[Votes]:
    if (judging := draft.judging) is None:
        return [() for _ in draft.aspects]
    places = {key: place for place, key in enumerate(_voters_of(judging))}
    of_aspects = []
    for aspect in range(len(draft.aspects)):
        sources = frozenset[int](*judging.sources[aspect : aspect + 1])
        votes = (
            VotedSentence(
                sentence=index,
                is_source=index in sources,
                yes=tuple(places[window] for window in said.yes),
                no=tuple(places[window] for window in said.no),
            )
            for index, said in enumerate(sentence_votes(judging, aspect))
            if said.yes or index in sources
        )
        of_aspects.append(tuple(votes))
    return of_aspects


def _requests_of(draft: Draft) -> set[str]:
    """Return the keys of the requests whose replies made a draft."""
    rounds = draft.judging.rounds if draft.judging else ()
    votes = (vote.request for judged in rounds for of_aspect in judged.votes for vote in of_aspect)
    return {key for key in (*(source.request for source in draft.sources_of.values()), *votes) if key}
