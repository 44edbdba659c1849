"""The table of papers and questions as a person sees it: cells, a cell's paper, what the person and others say."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from evidencebench.errors import DataError, PeopleError
from evidencebench.execution.finding import PaperVerdict
from evidencebench.execution.findings import best_chance, is_reported
from evidencebench.review.assignments import read_assigned
from evidencebench.review.decisions import (
    CHOICES_OF,
    DECISIONS,
    IDENTIFIERS,
    VALUE,
    Decided,
    DecidedPapers,
    DecisionName,
    Side,
    decided_cells,
    found_again,
    references,
    require_fitting,
    words_of_decision,
)
from evidencebench.review.desk import Desk, DeskPaper, PaperText
from evidencebench.review.found import EvidenceAnswer, cell_key
from evidencebench.review.questions import ReviewQuestion
from evidencebench.review.values import values_in
from evidencebench.runs.answers import DecisionAnswer, EvidenceReference
from evidencebench.runs.people import AnswerFolder, checked_name
from evidencebench.systems.directions import ReportedDirection
from evidencebench.tables import printable

_Index = Annotated[int, msgspec.Meta(ge=0, le=10**9)]

_CELL_ID = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)
_VERDICTS = {PaperVerdict.FOUND: "evidence", PaperVerdict.UNSURE: "unsure", PaperVerdict.NONE: "none found"}
_POSSIBLE, _LIKELY = 0.25, 0.5  # the chance of the best sentence
_MOST_BEST = 160  # characters of the best sentence in a cell
_N_TOLD = 3  # sentences whose directions name a cell


class DeskAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a page sends of a cell; `DecisionAnswer` says what the fields are."""

    task: str  # the positions of paper and question, such as ``17.3``
    of: str = ""  # which ones the page means, since positions move when a paper is added
    decision: DecisionName = ""
    accepted: tuple[_Index, ...] = ()
    rejected: tuple[_Index, ...] = ()
    lost: tuple[str, ...] = ()  # quotations that were accepted, and are not in the paper as it is read now
    written: Annotated[str, msgspec.Meta(max_length=5_000)] = ""  # values, as typed
    note: str = ""
    seconds: _Index = 0
    revision: _Index = 1
    tab: str = ""
    request: _Index = 0

    @property
    def id(self) -> str:
        return self.task


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskCell:
    """A paper and a question with all that is known of both."""

    id: str
    place: tuple[int, int]  # of paper and question
    key: str  # in files of answers; empty where the paper is not read
    paper: DeskPaper
    question: ReviewQuestion
    found: EvidenceAnswer | None
    before: EvidenceAnswer | None  # by another system
    failure: str  # why the system found nothing; empty where it did not fail
    decided: Decided | None

    @property
    def error(self) -> str:
        return (self.paper.read.error if self.paper.read else "") or self.failure

    @property
    def title(self) -> str:
        return (self.paper.read.title if self.paper.read else "") or self.paper.title or self.paper.file


class ReviewTable:
    """What people who review are shown, and where what they say is kept."""

    def __init__(
        self, desk: Desk, decisions: AnswerFolder[DecisionAnswer], *, is_blind: bool = False, adjudicator: str = ""
    ) -> None:
        self.desk = desk
        self.decisions = decisions
        self.is_blind = is_blind
        self.adjudicator: str = checked_name(adjudicator) if adjudicator else ""
        self.assigned: Mapping[str, tuple[str, ...]] = read_assigned(desk.folder)
        columns = range(len(desk.questions))
        self.ids: list[str] = [f"{row}.{column}" for row in range(len(desk.papers)) for column in columns]
        people = decisions.read_all().values()
        self._known = DecidedPapers(answer for answers in (*people, decisions.agreed()) for answer in answers.values())
        self._papers: dict[str, str] = {}  # a paper's key -> its text

    def place(self, task_id: str) -> tuple[int, int]:
        """Return the positions of paper and question; raises `PeopleError` where there is no such cell."""
        if (places := _CELL_ID.fullmatch(task_id)) is None:
            raise PeopleError(f"no cell '{printable(task_id[:40])}'; the ids look like '17.3'")
        found = int(places[1]), int(places[2])
        if found[0] >= len(self.desk.papers) or found[1] >= len(self.desk.questions):
            raise PeopleError(f"no cell '{task_id}': the papers or questions have changed; load the page again")
        return found

    def key(self, place: tuple[int, int]) -> str:
        """Return what stands for a cell in files of answers; empty where its paper is not read."""
        read = self.desk.papers[place[0]].read
        if read is None or not read.text:
            return ""
        paper = self._known.key(read.text, read.ids, self.desk.has_text)
        if self._papers.setdefault(paper, read.text) != read.text:  # another file is that paper
            paper = read.text
        return cell_key(paper, self.desk.questions[place[1]].text)

    def as_read_now(self, position: int, answer: DecisionAnswer) -> DecisionAnswer:
        """Return a decision with its evidence where it stands in the paper's present text."""
        read = self.desk.papers[position].read
        of_units = any(reference.unit for reference in (*answer.evidence, *answer.no_evidence))
        if read is None or not read.text or (read.text == answer.text and not of_units):
            return answer
        text = self.desk.text(position)
        evidence, no_evidence = found_again(answer.evidence, text), found_again(answer.no_evidence, text)
        return replace(answer, evidence=evidence, no_evidence=no_evidence)

    def _decided_now(self, position: int, decided: Decided) -> Decided:
        def now(sides: Sequence[Side]) -> list[Side]:
            return [Side(side.person, self.as_read_now(position, side.decision)) for side in sides]

        agreed = decided.agreed and self.as_read_now(position, decided.agreed)
        return Decided(sides=now(decided.sides), undecided=now(decided.undecided), agreed=agreed)

    def cells(self) -> Iterator[DeskCell]:
        """Yield all cells, with what everybody says of them."""
        decided = decided_cells(self.decisions.read_all(), self.decisions.agreed())
        for task_id in self.ids:
            place = self.place(task_id)
            found, before, failure = self.desk.found(*place)
            paper, question = self.desk.papers[place[0]], self.desk.questions[place[1]]
            yield DeskCell(
                id=task_id,
                place=place,
                key=(key := self.key(place)),
                paper=paper,
                question=question,
                found=found,
                before=before,
                failure=failure,
                decided=self._decided_now(place[0], decided[key]) if key in decided else None,
            )

    def queue(self, person: str, since: int = 0) -> Mapping[str, object]:
        """Return the whole table, or the cells that changed since a stamp; while blind, nothing that others say."""
        desk, own, stamp = self.desk, self.decisions.answers_of(person), self.desk.stamp
        cells, n_done, n_failed = [], 0, 0
        for cell in self.cells():
            is_done, is_failed = bool(cell.error or cell.found), bool(cell.error)
            n_done, n_failed = n_done + is_done, n_failed + is_failed
            if desk.changed[cell.place[0]][cell.place[1]] > since:
                cells.append((*cell.place, self._shown_cell(cell, own.get(cell.key))))
        progress = {"done": n_done, "of": len(self.ids), "failed": n_failed, "is_running": desk.is_running}
        papers = [
            {
                "name": paper.file,
                "title": (paper.read and paper.read.title) or paper.title,
                "n_sentences": (paper.read and paper.read.n_sentences) or None,
                "error": (paper.read and paper.read.error) or None,
                "is_pdf": bool(paper.read and paper.read.is_pdf),
                "assigned": self.assigned.get(paper.file, ()),
            }
            for paper in desk.papers
        ]
        table = {"papers": papers, "questions": [question_record(one) for one in desk.questions], "cells": cells}
        return {"stamp": stamp, "progress": progress, **table}

    def _shown_cell(self, cell: DeskCell, own: DecisionAnswer | None) -> Mapping[str, object]:
        found, decided = cell.found, None if self.is_blind else cell.decided
        return {
            "status": "failed" if cell.error else "waiting" if found is None else "found",
            "verdict": verdict_word(found) if found else "",
            "is_none": bool(found and found.verdict is PaperVerdict.NONE),
            "level": level_of(found) if found else 0,
            "best": found.best[:_MOST_BEST] if found and found.verdict is not PaperVerdict.NONE else "",
            "decision": own.choice if own else "",
            "said": words_of_decision(own) if own and own.choice else "",
            "accepted": len(own.evidence) if own else 0,
            "note": bool(own and own.note),
            "revision": own.revision if own else 0,
            "changed": changed_words(found, cell.before),
            "disputed": bool(decided and decided.is_disputed),
            "agreed": decided.agreed.choice if decided and decided.agreed else "",
            "agreed_words": words_of_decision(decided.agreed) if decided and decided.agreed else "",
        }

    def text(self, task_id: str) -> PaperText:
        """Return the text of a cell's paper; raises `PeopleError` where it cannot be read."""
        try:
            return self.desk.text(self.place(task_id)[0])
        except DataError as error:
            raise PeopleError(str(error)) from error

    def answer(self, person: str, task_id: str, *, is_agreed: bool = False) -> Mapping[str, object] | None:
        """Return what a person says of a cell, or what was agreed on."""
        self._require_seen(person, is_agreed=is_agreed)
        place = self.place(task_id)
        key = self.key(place)
        kept = self.decisions.agreed_on(key) if is_agreed else self.decisions.answer_of(person, key)
        return None if kept is None else shown_answer(task_id, self.as_read_now(place[0], kept))

    def _require_seen(self, person: str, *, is_agreed: bool) -> None:
        if not is_agreed or self.may_resolve(person):
            return
        if self.adjudicator:
            raise PeopleError(f"disputes are resolved by {self.adjudicator}, the adjudicator of this review")
        raise PeopleError("while people work blind, nothing is agreed on; serve the desk without --blind")

    def may_resolve(self, person: str) -> bool:
        """Say whether a person resolves disputes, and is shown them: the adjudicator, else all who are not blind."""
        return checked_name(person) == self.adjudicator if self.adjudicator else not self.is_blind

    def others(self, person: str, task_id: str, *, is_agreed: bool = False) -> list[Mapping[str, object]]:
        """Return what others say of a cell, or with ``is_agreed`` all who decided; nothing while blind."""
        place = self.place(task_id)
        key = self.key(place)
        is_shown = self.may_resolve(person) if is_agreed else not self.is_blind
        everybody = self.decisions.answers_to(key) if is_shown else {}
        others = {name: answer for name, answer in everybody.items() if name != person}
        if not (is_agreed or (person in everybody and everybody[person].choice)):  # who has decided is shown the others
            return []
        self.decisions.note_seen(person, {key: others})
        shown = everybody if is_agreed else others
        return [side_of(name, self.as_read_now(place[0], answer)) for name, answer in shown.items()]

    def note_all_seen(self, person: str) -> None:
        """Note that a person is shown what everybody says of all cells, as in a file of what was decided."""
        shown: dict[str, set[str]] = {}
        for name, answers in self.decisions.read_all().items():
            for key in answers if name != person else ():
                shown.setdefault(key, set()).add(name)
        self.decisions.note_seen(person, shown)

    def save(self, person: str, given: DeskAnswer, *, is_agreed: bool = False) -> Mapping[str, object]:
        """Keep what a person says of a cell, on the disk; raises `PeopleError`, also where another tab was faster."""
        self._require_seen(person, is_agreed=is_agreed)
        place = self.place(given.id)
        key, paper, question = self.key(place), self.desk.papers[place[0]], self.desk.questions[place[1]]
        if not key or paper.read is None:
            raise PeopleError(f"{paper.file}: is not read, so that nothing can be said of it")
        if given.of and given.of != key:
            raise PeopleError("the papers or questions have changed; load the page again")
        n_parts = paper.read.n_sentences + paper.read.n_units
        if outside := [index for index in (*given.accepted, *given.rejected) if index >= n_parts]:
            raise PeopleError(f"sentence {outside[0]}: the paper has 0..{n_parts - 1}")
        text = self.text(given.id)
        require_fitting(given.decision, given.written, question)
        lost: list[EvidenceReference] = []
        if given.lost:
            last = self.decisions.agreed_on(key) if is_agreed else self.decisions.answer_of(person, key)
            before = self.as_read_now(place[0], last).evidence if last is not None else ()
            lost = [reference for reference in before if reference.index is None and reference.quotation in given.lost]
        values = values_in(given.written, question)
        decision = DecisionAnswer(
            id=key,
            choice=VALUE if values else given.decision,
            values=values,
            written=given.written,
            evidence=(*references(text, given.accepted), *lost),
            no_evidence=references(text, given.rejected),
            note=given.note,
            seconds=given.seconds,
            revision=given.revision,
            tab=given.tab,
            request=given.request,
            paper=paper.file,
            paper_ids={name: paper.read.ids[name] for name in IDENTIFIERS if name in paper.read.ids},
            text=paper.read.text,
            question=question.text,
        )
        kept = (self.decisions.agree if is_agreed else self.decisions.save)(person, decision)
        self.desk.touch(paper.read.text, question.text)
        return shown_answer(given.id, kept)

    def disputes(self, person: str) -> list[Mapping[str, Any]]:
        """Return the cells of which people decide differently, also where something was agreed since."""
        rows: list[Mapping[str, Any]] = []
        shown: dict[str, set[str]] = {}
        for cell in self.cells() if self.may_resolve(person) else ():
            if cell.decided is not None and cell.decided.differs:
                agreed = cell.decided.agreed and shown_answer(cell.id, cell.decided.agreed)
                sides = [
                    {**side_of(*side), "quotations": [one.quotation for one in side.decision.evidence]}
                    for side in cell.decided.sides
                ]
                named = {"id": cell.id, "paper": cell.title, "question": cell.question.text}
                rows.append({**named, "sides": sides, "agreed": agreed})
                shown[cell.key] = {side.person for side in cell.decided.sides} - {person}
        self.decisions.note_seen(person, shown)
        return rows


def question_record(question: ReviewQuestion) -> Mapping[str, object]:
    """Return a question as the page shows it, with what can be decided of it beside values."""
    return {
        "text": question.text,
        "kind": question.kind,
        "unit": question.unit,
        "choices": question.choices,
        "decisions": [{"name": name, "words": DECISIONS[name]} for name in CHOICES_OF[question.kind]],
    }


def shown_answer(cell_id: str, kept: DecisionAnswer) -> Mapping[str, object]:
    """Return what the page shows, and what it sends back: sentences by their numbers."""
    return {
        "task": cell_id,
        "decision": "" if kept.values else kept.choice,
        "written": kept.written,
        "words": words_of_decision(kept),
        "accepted": kept.accepted,
        "rejected": kept.rejected,
        "lost": [reference.quotation for reference in kept.evidence if reference.index is None],
        "note": kept.note,
        "seconds": kept.seconds,
        "revision": kept.revision,
        "tab": kept.tab,
        "at": kept.at,
        "decided_by": kept.by,
    }


def side_of(person: str, answer: DecisionAnswer) -> Mapping[str, object]:
    words = words_of_decision(answer)
    return {
        "person": person,
        "words": words,
        "written": answer.written,
        "decision": "" if answer.values else answer.choice,
        "accepted": answer.accepted,
        "note": answer.note,
    }


def verdict_word(found: EvidenceAnswer) -> str:
    """Return what was found in a word or two: what the best sentences report, where there is evidence."""
    words = _VERDICTS[found.verdict] if found.verdict else f"{len(found.evidence)} found"
    said = {one.direction for one in found.evidence[:_N_TOLD]} - {None, ReportedDirection.NOT_SAID}
    if found.verdict is not PaperVerdict.FOUND or not said or not is_reported(found.evidence):
        return words
    return str(said.pop()) if len(said) == 1 else "mixed"


def level_of(found: EvidenceAnswer) -> int:
    """Return how sure it is that there is evidence, 0 to 4."""
    if found.verdict is not PaperVerdict.FOUND or not is_reported(found.evidence):
        return int(found.verdict is not PaperVerdict.NONE and bool(found.evidence))
    best = best_chance(found.evidence) or 0
    return 2 + (best >= _POSSIBLE) + (best >= _LIKELY)


def changed_words(found: EvidenceAnswer | None, before: EvidenceAnswer | None) -> str:
    """Return how what was found differs from what another system had found before; empty where it does not."""
    if found is None or before is None:
        return ""
    old, new = verdict_word(before), verdict_word(found)
    words = [f"was: {old}"] if old != new else []
    if found.best != before.best:
        words.append("another best sentence")
    return "; ".join(words)
