"""The table of papers and questions as a person sees it: cells, a cell's paper, what the person and others say."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec.structs import asdict

from evidencebench.errors import DataError, PeopleError
from evidencebench.execution.finding import PaperVerdict
from evidencebench.execution.findings import best_chance, is_reported
from evidencebench.review.decisions import Decided, Decision, DecisionFolder, DecisionName, decided_cells, task_key
from evidencebench.review.desk import Desk, DeskPaper, FoundCell, PaperText
from evidencebench.systems.directions import ReportedDirection
from evidencebench.tables import printable

_Index = Annotated[int, msgspec.Meta(ge=0)]

_CELL_ID = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)
_VERDICTS = {PaperVerdict.FOUND: "evidence", PaperVerdict.UNSURE: "unsure", PaperVerdict.NONE: "none found"}
_POSSIBLE, _LIKELY = 0.25, 0.5  # the chance of the best sentence
_N_TOLD = 3  # sentences whose directions name a cell


class DeskAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a page sends of a cell; `Decision` says what the fields are."""

    task: str  # the positions of paper and question, such as ``17.3``
    of: str = ""  # which ones the page means, since positions move when a paper is added
    decision: DecisionName = ""
    accepted: tuple[_Index, ...] = ()
    rejected: tuple[_Index, ...] = ()
    note: str = ""
    seconds: _Index = 0
    revision: _Index = 1
    tab: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskCell:
    """A paper and a question with all that is known of both."""

    id: str
    place: tuple[int, int]  # of paper and question
    key: str  # in journals; empty where the paper is not read
    paper: DeskPaper
    question: str
    found: FoundCell | None
    before: FoundCell | None  # by another system
    decided: Decided | None

    @property
    def error(self) -> str:
        return (self.paper.read.error if self.paper.read else "") or (self.found.error if self.found else "")

    @property
    def title(self) -> str:
        return (self.paper.read.title if self.paper.read else "") or self.paper.title or self.paper.file


class ReviewTable:
    """What people who review are shown, and where what they say is kept."""

    def __init__(self, desk: Desk, decisions: DecisionFolder, *, is_blind: bool = False) -> None:
        self.desk, self.decisions, self.is_blind = desk, decisions, is_blind
        columns = range(len(desk.questions))
        self.ids = [f"{row}.{column}" for row in range(len(desk.papers)) for column in columns]

    def place(self, task_id: str) -> tuple[int, int]:
        """Return the positions of paper and question; raises `PeopleError` where there is no such cell."""
        if (places := _CELL_ID.fullmatch(task_id)) is None:
            raise PeopleError(f"no cell '{printable(task_id[:40])}'; the ids look like '17.3'")
        found = int(places[1]), int(places[2])
        if found[0] >= len(self.desk.papers) or found[1] >= len(self.desk.questions):
            raise PeopleError(f"no cell '{task_id}': the papers or questions have changed; load the page again")
        return found

    def key(self, place: tuple[int, int]) -> str:
        """Return what stands for a cell in journals; empty where its paper is not read."""
        read = self.desk.papers[place[0]].read
        return task_key(read.text, self.desk.questions[place[1]]) if read and read.text else ""

    def cells(self) -> Iterator[DeskCell]:
        """Yield all cells, with what everybody says of them."""
        decided = decided_cells(self.decisions.read_all(), self.decisions.agreed())
        for task_id in self.ids:
            place = self.place(task_id)
            found, before = self.desk.found(*place)
            paper, question = self.desk.papers[place[0]], self.desk.questions[place[1]]
            yield DeskCell(
                id=task_id,
                place=place,
                key=(key := self.key(place)),
                paper=paper,
                question=question,
                found=found,
                before=before,
                decided=decided.get(key),
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
            }
            for paper in desk.papers
        ]
        table = {"papers": papers, "questions": desk.questions, "cells": cells}
        return {"stamp": stamp, "progress": progress, **table}

    def _shown_cell(self, cell: DeskCell, own: Decision | None) -> Mapping[str, object]:
        found, decided = cell.found, None if self.is_blind else cell.decided
        return {
            "status": "failed" if cell.error else "waiting" if found is None else "found",
            "verdict": verdict_word(found) if found else "",
            "level": level_of(found) if found else 0,
            "best": found.best if found and found.verdict is not PaperVerdict.NONE else "",
            "decision": own.decision if own else "",
            "accepted": len(own.accepted) if own else 0,
            "note": bool(own and own.note),
            "changed": changed_words(found, cell.before),
            "disputed": bool(decided and decided.is_disputed),
            "agreed": decided.agreed.decision if decided and decided.agreed else "",
        }

    def text(self, task_id: str) -> PaperText:
        """Return the text of a cell's paper; raises `PeopleError` where it cannot be read."""
        try:
            return self.desk.text(self.place(task_id)[0])
        except DataError as error:
            raise PeopleError(str(error)) from error

    def answer(self, person: str, task_id: str, *, is_agreed: bool = False) -> Mapping[str, object] | None:
        """Return what a person says of a cell, or what was agreed on."""
        self._require_seen(is_agreed=is_agreed)
        answers = self.decisions.agreed() if is_agreed else self.decisions.answers_of(person)
        kept = answers.get(self.key(self.place(task_id)))
        return None if kept is None else shown_answer(task_id, kept)

    def _require_seen(self, *, is_agreed: bool) -> None:
        if is_agreed and self.is_blind:
            raise PeopleError("while people work blind, nothing is agreed on; serve the desk without --blind")

    def others(self, person: str, task_id: str, *, is_agreed: bool = False) -> list[Mapping[str, object]]:
        """Return what others say of a cell, or with ``is_agreed`` all who decided; nothing while blind."""
        key = self.key(self.place(task_id))
        said = {} if self.is_blind else self.decisions.read_all()
        named = {name: answers[key] for name, answers in said.items() if key in answers}
        return [side_of(name, one) for name, one in named.items() if is_agreed or name != person]

    def save(self, person: str, given: DeskAnswer, *, is_agreed: bool = False) -> Mapping[str, object]:
        """Keep what a person says of a cell, on the disk; raises `PeopleError`, also where another tab was faster."""
        self._require_seen(is_agreed=is_agreed)
        place = self.place(given.task)
        key, paper, question = self.key(place), self.desk.papers[place[0]], self.desk.questions[place[1]]
        if not key or paper.read is None:
            raise PeopleError(f"{paper.file}: is not read, so that nothing can be said of it")
        if given.of and given.of != key:
            raise PeopleError("the papers or questions have changed; load the page again")
        n_parts = paper.read.n_sentences + paper.read.n_units
        if outside := [index for index in (*given.accepted, *given.rejected) if index >= n_parts]:
            raise PeopleError(f"sentence {outside[0]}: the paper has 0..{n_parts - 1}")
        said: dict[str, Any] = asdict(given)
        for name in ("task", "of", "at"):
            del said[name]
        decision = Decision(task=key, paper=paper.file, question=question, is_blind=self.is_blind, **said)
        kept = (self.decisions.agree if is_agreed else self.decisions.append)(person, decision)
        self.desk.touch(paper.read.text, question)
        return shown_answer(given.task, kept)

    def disputes(self) -> list[Mapping[str, Any]]:
        """Return the cells of which people decide differently, also where something was agreed since."""
        rows: list[Mapping[str, Any]] = []
        for cell in () if self.is_blind else self.cells():
            if cell.decided is not None and cell.decided.differs:
                agreed = cell.decided.agreed and shown_answer(cell.id, cell.decided.agreed)
                sides = [side_of(*side) for side in cell.decided.sides]
                named = {"id": cell.id, "paper": cell.title, "question": cell.question}
                rows.append({**named, "sides": sides, "agreed": agreed})
        return rows


def shown_answer(task_id: str, kept: Decision) -> Mapping[str, object]:
    left_out = {"paper", "question", "is_blind"}
    return {name: value for name, value in asdict(kept).items() if name not in left_out} | {"task": task_id}


def side_of(person: str, decision: Decision) -> Mapping[str, object]:
    return {"person": person, **{name: getattr(decision, name) for name in ("decision", "accepted", "note")}}


def verdict_word(found: FoundCell) -> str:
    """Return what was found in a word or two: what the best sentences report, where there is evidence."""
    if found.error:
        return ""
    words = _VERDICTS[found.verdict] if found.verdict else f"{len(found.evidence)} found"
    said = {one.direction for one in found.evidence[:_N_TOLD]} - {None, ReportedDirection.NOT_SAID}
    if found.verdict is not PaperVerdict.FOUND or not said or not is_reported(found.evidence):
        return words
    return str(said.pop()) if len(said) == 1 else "mixed"


def level_of(found: FoundCell) -> int:
    """Return how sure it is that there is evidence, 0 to 4."""
    if found.verdict is not PaperVerdict.FOUND or not is_reported(found.evidence):
        return int(found.verdict is not PaperVerdict.NONE and bool(found.evidence))
    best = best_chance(found.evidence) or 0
    return 2 + (best >= _POSSIBLE) + (best >= _LIKELY)


def changed_words(found: FoundCell | None, before: FoundCell | None) -> str:
    """Return how what was found differs from what another system had found before; empty where it does not."""
    if found is None or before is None or found.error:
        return ""
    old, new = verdict_word(before), verdict_word(found)
    words = [f"was: {old}"] if old != new else []
    if found.best != before.best:
        words.append("another best sentence")
    return "; ".join(words)
