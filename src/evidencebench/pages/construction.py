"""A construction as people look at it: what became of its drafts, each with its votes, reasons and cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import msgspec

from evidencebench.construction.draft import STEP_FILES, Draft, DraftFile, Judging, open_drafts, output_of
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import windows_agree
from evidencebench.construction.losses import StepLosses, losses_of
from evidencebench.errors import CacheError, DataError, RunError
from evidencebench.models.llm.costs import shown_usd
from evidencebench.models.llm.replies import ReplyCache
from evidencebench.pages.html import beginning_of
from evidencebench.pages.paper import PaperRecord, kind_letters
from evidencebench.wording import counted, did_you_mean, without_folders

State = Literal["doubtful", "kept", "waiting", "dropped"]
"""A draft goes on, with a sentence on which votes are split or without; waits for its next step; or goes no further."""

_KEY_DIGITS = 64


class SentenceVotes(msgspec.Struct, frozen=True, kw_only=True):
    """What windows said of a sentence and an aspect, as places in the draft's ``voters``."""

    sentence: int
    is_source: bool
    yes: tuple[int, ...]
    no: tuple[int, ...]


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


class DraftRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A draft as a whole, with its paper where that can be read."""

    row: DraftRow
    draft: Draft  # without ``judging`` and ``sources_of``
    dropped_aspects: tuple[tuple[str, str], ...]  # each with the reason
    passage: tuple[str, str, str]  # what the review says of the paper, between what stands before and behind it
    votes: tuple[tuple[SentenceVotes, ...], ...]  # by aspect, on sentences that hold it by some vote or by the rule
    voters: tuple[str, ...]  # the windows that were asked, by model and sentences
    n_unread: int  # of their answers, one for each aspect
    paper: PaperRecord | None
    note: str
    cost: str


class ConstructionOverview(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    answer: str
    noise: tuple[str, ...]
    warnings: tuple[str, ...]
    cost: str
    steps: tuple[StepLosses, ...]
    rows: tuple[DraftRow, ...]


@dataclass(frozen=True, kw_only=True)
class ShownConstruction:
    """The drafts of a work folder; ``papers`` and ``replies`` are None where they are not at hand."""

    work: Path
    files: Mapping[str, DraftFile]  # step -> its file
    papers: PaperFolder | None
    replies: ReplyCache | None

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

    def draft(self, draft_id: str) -> tuple[str, Draft]:
        """Return the last step that a draft came to, and the draft as that left it."""
        step = ""
        for name, file in self.files.items():
            if draft_id in file.offsets:
                step = name
            if step and (step != name or file.marks[draft_id].dropped):  # what stands behind is stale
                break
        return step, self._read(step, draft_id)

    def _read(self, step: str, draft_id: str) -> Draft:
        try:
            return self.files[step][draft_id]
        except RunError as error:
            return Draft(
                id=draft_id, review_id="", paper_id="", dropped="cannot be read", detail=without_folders(str(error))
            )

    def overview(self) -> ConstructionOverview:
        drafts = [self.draft(draft_id) for draft_id in self.numbers]
        rows = [self._row(step, draft, _votes_of(draft)) for step, draft in drafts]
        noise = windows_agree(draft for _, draft in drafts)
        n = Counter(row.state for row in rows)
        said = f"{counted(len(rows), 'draft')}: {n['kept'] + n['doubtful']:,} go on"
        said += f", votes are split on sentences of {n['doubtful']:,} of them" * bool(n["doubtful"])
        said += f"; {n['dropped']:,} dropped" * bool(n["dropped"])
        said += f"; {n['waiting']:,} wait for their next step" * bool(n["waiting"])
        states = get_args(State)
        return ConstructionOverview(
            title=f"Construction in {self.work.resolve().name}",
            answer=f"{said}.",
            noise=tuple(f"{model}: {windows.text}." for model, windows in noise.items()),
            warnings=tuple(f"{model}: {windows.warning}." for model, windows in noise.items() if windows.warning),
            cost=self._cost({key for _, draft in drafts for key in _requests_of(draft)}),
            steps=tuple(map(losses_of, self.files.values())),
            rows=tuple(sorted(rows, key=lambda row: (states.index(row.state), -row.n_doubtful, row.number))),
        )

    def _row(self, step: str, draft: Draft, votes: Sequence[Sequence[SentenceVotes]]) -> DraftRow:
        n_doubtful = sum(bool(vote.yes and vote.no) for of_aspect in votes for vote in of_aspect)
        state: State = "doubtful" if n_doubtful else "kept"
        return DraftRow(
            id=draft.id,
            number=self.numbers.get(draft.id, 0),
            state="dropped" if draft.dropped else "waiting" if step != list(self.files)[-1] else state,
            step=step,
            reason=draft.dropped,
            text=beginning_of(draft.hypothesis or draft.summary or draft.id),
            n_aspects=len(draft.aspects),
            n_sources=len({vote.sentence for of_aspect in votes for vote in of_aspect if vote.is_source}),
            n_doubtful=n_doubtful,
        )

    def record(self, draft_id: str, *, with_paper: bool = True) -> DraftRecord:
        step, draft = self.draft(draft_id)
        votes = _votes_of(draft)
        first = next(step for step, file in self.files.items() if draft_id in file.offsets)
        passage = self._read(first, draft_id).summary or draft.summary
        before, found, behind = draft.context.partition(passage or "\n")
        said = [judged.votes for judged in (draft.judging.rounds if draft.judging else ())]
        paper, note = self._paper_of(draft) if with_paper else (None, "The paper's text is left out of this page.")
        return DraftRecord(
            row=self._row(step, draft, votes),
            draft=msgspec.structs.replace(draft, judging=None, sources_of={}),
            dropped_aspects=tuple(getattr(draft, "dropped_aspects", ())),
            passage=(before, passage, behind) if found else ("", passage, draft.context),
            votes=tuple(map(tuple, votes)),
            voters=tuple(_voters_of(draft.judging).values()),
            n_unread=sum(vote.sentences is None for votes in said for of_aspect in votes for vote in of_aspect),
            paper=paper,
            note=note,
            cost=self._cost(_requests_of(draft)),
        )

    def _paper_of(self, draft: Draft) -> tuple[PaperRecord | None, str]:
        if self.papers is None:
            return None, "The folder of papers is not known: give it with --papers."
        try:
            paper, sha256 = self.papers.paper_of(draft)
        except DataError as error:
            return None, f"The paper cannot be shown: {without_folders(str(error))}."
        is_other = draft.judging is not None and draft.judging.paper_sha256 != sha256
        record = PaperRecord(
            position=0,
            id=draft.id,
            paper_id=draft.paper_id,
            hypothesis=draft.hypothesis,
            sentences=paper.sentences,
            kinds=kind_letters(paper.kinds),
        )
        return record, "The paper's file changed since it was judged: marks may stand in wrong places." * is_other

    def _cost(self, keys: set[str]) -> str:
        """Return in words what requests cost, by the stored replies; of repeated requests only the last is known."""
        costs: list[float | None] = []
        if not keys:
            return "nothing was asked"
        if self.replies is not None:
            keys = {key for key in keys if len(key) == _KEY_DIGITS and set(key) <= set("0123456789abcdef")}
            query = "SELECT cost_usd FROM reply WHERE key = ?"
            try:
                with self.replies.reading() as replies:
                    found = [replies.execute(query, (bytes.fromhex(key),)).fetchone() for key in keys]
                costs = [row[0] for row in found if row is not None]
            except CacheError:  # the drafts can be read without it
                pass
        known = [cost for cost in costs if cost is not None]
        told = f"{shown_usd(sum(known)) if known else 'unknown'}, of {counted(len(keys), 'request')}"
        told += f"; {len(keys) - len(costs):,} replies are not stored here" * (len(costs) < len(keys))
        return told + f"; of {len(costs) - len(known):,} the price is not known" * (len(known) < len(costs))


def open_construction(work: Path, *, papers: Path | None, replies: ReplyCache | None) -> ShownConstruction:
    """Return the drafts of a work folder; raises `DataError` where it holds none, `RunError` for a damaged file."""
    paths = {step: output_of(step, work) for step in STEP_FILES}
    files = {step: open_drafts(path, must_be_finished=False) for step, path in paths.items() if path.is_file()}
    if not files:
        raise DataError(f"{work}: expected the files of a construction, got none; 'construct run' makes them")
    folder = None if papers is None or not papers.is_dir() else PaperFolder(papers)
    return ShownConstruction(work=work, papers=folder, replies=replies, files=files)


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


def _votes_of(draft: Draft) -> list[list[SentenceVotes]]:
    judging = draft.judging
    places = {key: place for place, key in enumerate(_voters_of(judging))}
    of_aspects: list[list[SentenceVotes]] = []
    for aspect in range(len(draft.aspects)):
        read: list[tuple[int, range, frozenset[int]]] = []
        sources: frozenset[int] = frozenset()
        if judging is not None:
            sources = frozenset(*judging.sources[aspect : aspect + 1])
            for number, judged in enumerate(judging.rounds):
                for vote in next(iter(judged.votes[aspect : aspect + 1]), ()):
                    if vote.sentences is not None:
                        window = range(vote.start, vote.start + judging.window)
                        read.append((places[number, vote.start], window, frozenset(vote.sentences)))
        votes = [
            SentenceVotes(
                sentence=index,
                is_source=index in sources,
                yes=tuple(place for place, _, said in read if index in said),
                no=tuple(place for place, window, said in read if index in window and index not in said),
            )
            for index in sorted(sources.union(*(said for _, _, said in read)))
        ]
        of_aspects.append(votes)
    return of_aspects


def _requests_of(draft: Draft) -> set[str]:
    """Return the keys of the requests whose replies made a draft."""
    rounds = draft.judging.rounds if draft.judging else ()
    votes = (vote.request for judged in rounds for of_aspect in judged.votes for vote in of_aspect)
    return {key for key in (*(source.request for source in draft.sources_of.values()), *votes) if key}
