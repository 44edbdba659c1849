"""The desk of a review as a task: the table, a cell with its paper, and what people say of it."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec.structs import asdict
from starlette.responses import Response

from evidencebench.errors import DataError
from evidencebench.execution.finding import Finding, PaperVerdict
from evidencebench.files.disk import read_bytes
from evidencebench.pages import findings as telling
from evidencebench.pages.app.server import RefusedError
from evidencebench.pages.paper import kind_letters
from evidencebench.pages.people.tasks import TaskApp, TaskKind, TaskRow
from evidencebench.papers.pdf.pictures import page_picture
from evidencebench.review.decisions import (
    DECISIONS,
    Decided,
    Decision,
    DecisionFolder,
    DecisionName,
    decided_cells,
    task_key,
)
from evidencebench.review.desk import Desk, FoundCell, finding_of
from evidencebench.systems.directions import ReportedDirection

_Index = Annotated[int, msgspec.Meta(ge=0)]
_VERDICTS = {PaperVerdict.FOUND: "evidence", PaperVerdict.UNSURE: "unsure", PaperVerdict.NONE: "none found"}
_LIKELY, _POSSIBLE = 0.5, 0.25  # the best sentence's chance


class DeskAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page sends of a cell; `Decision` has what the fields are."""

    task: str
    of: str = ""
    decision: DecisionName = ""
    accepted: tuple[_Index, ...] = ()
    rejected: tuple[_Index, ...] = ()
    note: str = ""
    seconds: _Index = 0
    revision: _Index = 1
    tab: str = ""
    at: str = ""


class _Pages:
    """What the routes answer."""

    def __init__(self, desk: Desk, decisions: DecisionFolder, *, is_blind: bool) -> None:
        self.desk, self.decisions, self.is_blind = desk, decisions, is_blind
        self.picture = lru_cache(maxsize=48)(self._picture)

    def place(self, task_id: str) -> tuple[int, int]:
        """Return the positions of paper and question that a task's id names."""
        paper, _, question = task_id.partition(".")
        if not (paper.isdecimal() and question.isdecimal()):
            raise RefusedError(404, "there is no such cell")
        found = int(paper), int(question)
        if found[0] >= len(self.desk.papers) or found[1] >= len(self.desk.questions):
            raise RefusedError(404, "there is no such cell")
        return found

    def key(self, place: tuple[int, int]) -> str:
        read = self.desk.papers[place[0]].read
        return task_key(read.text, self.desk.questions[place[1]]) if read and read.text else ""

    def all_decided(self) -> dict[str, Decided]:
        return decided_cells(self.decisions.read_all(), self.decisions.agreed())

    def queue(self, person: str, since: int = 0) -> Mapping[str, object]:
        desk, own = self.desk, self.decisions.answers_of(person)
        stamp, decided = desk.stamp, {} if self.is_blind else self.all_decided()
        papers = []
        for paper in desk.papers:
            read = paper.read
            n_sentences, error = (read.n_sentences or None, read.error or None) if read else (None, None)
            shown = {"name": paper.file, "title": (read and read.title) or paper.title, "n_sentences": n_sentences}
            papers.append({**shown, "error": error, "is_pdf": bool(read and read.is_pdf)})
        cells, n_done, n_failed = [], 0, 0
        for row, changed in enumerate(desk.changed):
            for column, at in enumerate(changed):
                found, before = desk.found(row, column)
                failed = bool(papers[row]["error"] or (found and found.error))
                n_done, n_failed = n_done + (failed or found is not None), n_failed + failed
                if at > since or since == 0:
                    key = self.key((row, column))
                    cells.append((row, column, self._cell(found, before, failed, own.get(key), decided.get(key))))
        progress = {"done": n_done, "of": len(papers) * len(desk.questions), "failed": n_failed}
        table = {"papers": papers, "questions": desk.questions, "cells": cells}
        return {"stamp": stamp, "progress": {**progress, "is_running": desk.is_running}, **table}

    def _cell(
        self,
        found: FoundCell | None,
        before: FoundCell | None,
        failed: bool,
        own: Decision | None,
        decided: Decided | None,
    ) -> Mapping[str, object]:
        of_person = {"decision": "", "accepted": 0, "note": False}
        if own is not None:
            of_person = {"decision": own.decision, "accepted": len(own.accepted), "note": bool(own.note)}
        return {
            "status": "failed" if failed else "waiting" if found is None else "found",
            "verdict": _verdict(found) if found else "",
            "level": _level(found) if found else 0,
            "best": found.best if found else "",
            **of_person,
            "changed": _changed(found, before),
            "disputed": bool(decided and decided.is_disputed),
            "agreed": decided.agreed.decision if decided and decided.agreed else "",
        }

    def show(self, person: str, task_id: str, *, is_agreed: bool = False) -> Mapping[str, object]:
        place = self.place(task_id)
        try:
            text = self.desk.text(place[0])
        except DataError as error:
            raise RefusedError(422, str(error)) from error
        question, paper = self.desk.questions[place[1]], text.paper
        boxes = {
            str(index): [[box.page, *box[1:]] for box in of_sentence] for index, of_sentence in enumerate(text.boxes)
        }
        shown = {
            "name": self.desk.papers[place[0]].file,
            "title": text.title,
            "sentences": text.sentences,
            "kinds": kind_letters(text.kinds),
            "paragraphs": [one.paragraph for one in text.places],
            "levels": [len(one.section) for one in text.places],
            "pages": [[right - left, top - bottom] for left, bottom, right, top in text.pages],
            "boxes": boxes,
        }
        found, _ = self.desk.found(*place)
        key = self.key(place)
        others = [] if self.is_blind else self._others(person, key, is_agreed=is_agreed)
        said = None if found is None else _told(finding_of(paper, found), found.error)
        task = {"id": task_id, "of": key, "paper": shown, "question": question, "found": said, "others": others}
        rows, columns = range(len(self.desk.papers)), range(len(self.desk.questions))
        ids = [f"{row}.{column}" for row in rows for column in columns]
        return {"task": {**task, "ids": ids}, "answer": self.answer(person, task_id, is_agreed=is_agreed)}

    def _others(self, person: str, key: str, *, is_agreed: bool) -> list[Mapping[str, object]]:
        people = self.decisions.read_all()
        return [
            _side(name, answers[key])
            for name, answers in people.items()
            if key in answers and (is_agreed or name != person)
        ]

    def answer(self, person: str, task_id: str, *, is_agreed: bool = False) -> object:
        key = self.key(self.place(task_id))
        kept = (self.decisions.agreed() if is_agreed else self.decisions.answers_of(person)).get(key)
        return None if kept is None else self._shown(task_id, kept)

    @staticmethod
    def _shown(task_id: str, kept: Decision) -> Mapping[str, object]:
        left_out = {"paper", "question", "is_blind"}
        return {name: value for name, value in asdict(kept).items() if name not in left_out} | {"task": task_id}

    def save(self, person: str, given: DeskAnswer, *, is_agreed: bool = False) -> object:
        place = self.place(given.task)
        key = self.key(place)
        paper = self.desk.papers[place[0]]
        if not key or paper.read is None:
            raise RefusedError(422, "this paper is not read, so that nothing can be said of it")
        if given.of and given.of != key:
            raise RefusedError(410, "the papers or questions have changed; load the page again")
        if outside := [index for index in (*given.accepted, *given.rejected) if index >= paper.read.n_sentences]:
            raise RefusedError(400, f"sentence {outside[0]}: the paper has 0..{paper.read.n_sentences - 1}")
        question = self.desk.questions[place[1]]
        decision = Decision(
            task=key,
            paper=paper.file,
            question=question,
            is_blind=self.is_blind,
            **{name: getattr(given, name) for name in given.__struct_fields__ if name not in {"task", "of", "at"}},
        )
        append: Any = self.decisions.agree if is_agreed else self.decisions.append
        kept = append(person, decision)
        self.desk.touch(paper.read.text, question)
        return self._shown(given.task, kept)

    def disputes(self, _person: str = "", _asked: Mapping[str, str] | None = None) -> Sequence[Mapping[str, object]]:
        """Return the cells on which people differ, also those where something was agreed since."""
        rows = []
        decided = {} if self.is_blind else self.all_decided()
        for row, paper in enumerate(self.desk.papers):
            for column, question in enumerate(self.desk.questions):
                of_cell = decided.get(self.key((row, column)))
                if of_cell is None or len({side.decision.decision for side in of_cell.sides}) < 2:  # noqa: PLR2004
                    continue
                agreed = of_cell.agreed and self._shown(f"{row}.{column}", of_cell.agreed)
                sides = [_side(*side) for side in of_cell.sides]
                title = (paper.read and paper.read.title) or paper.file
                cell = {"id": f"{row}.{column}", "paper": title, "question": question}
                rows.append({**cell, "sides": sides, "agreed": agreed})
        return rows

    def _picture(self, position: int, number: int, scale: float) -> bytes:
        paper = self.desk.papers[position]
        return page_picture(read_bytes(paper.path), number, scale, paper.file)

    def page(self, _person: str, asked: Mapping[str, str]) -> Response:
        try:
            position, number, scale = int(asked.get("paper", "")), int(asked.get("n", "")), float(asked.get("scale", 2))
        except ValueError as error:
            raise RefusedError(400, f"expected paper, n and scale: {error}") from error
        if not 0 <= position < len(self.desk.papers):
            raise RefusedError(404, "there is no such paper")
        try:
            return Response(self.picture(position, number, scale), media_type="image/png")
        except DataError as error:
            raise RefusedError(422, str(error)) from error


def _side(person: str, decision: Decision) -> Mapping[str, object]:
    named = {name: getattr(decision, name) for name in ("decision", "accepted", "note")}
    return {"person": person, **named}


def _verdict(found: FoundCell) -> str:
    if found.error:
        return ""
    words = _VERDICTS[found.verdict] if found.verdict else f"{len(found.evidence)} found"
    said = {one.direction for one in found.evidence[:3]} - {None, ReportedDirection.NOT_SAID}
    if found.verdict is not PaperVerdict.FOUND or not said:
        return words
    return str(said.pop()) if len(said) == 1 else "mixed"


def _level(found: FoundCell) -> int:
    best = max((one.chance or 0 for one in found.evidence), default=0)
    if found.verdict is not PaperVerdict.FOUND:
        return 1 if found.verdict is not PaperVerdict.NONE and found.evidence else 0
    return 2 + (best >= _POSSIBLE) + (best >= _LIKELY)


def _changed(found: FoundCell | None, before: FoundCell | None) -> str:
    """Return what another system had found before, where that differs."""
    if found is None or before is None or found.error:
        return ""
    old, new = _verdict(before), _verdict(found)
    parts = [f"was: {old}"] if old != new else []
    if found.evidence[:1] != before.evidence[:1] and found.best != before.best:
        parts.append("another best sentence")
    return "; ".join(parts)


def _told(finding: Finding, error: str) -> Mapping[str, object]:
    levels = telling.strengths(finding)
    evidence = [
        {
            "sentence": one.sentence,
            "rank": rank,
            "told": telling.about(one),
            "direction": one.direction,
            "strength": levels.get(one.sentence, 0),
        }
        for rank, one in enumerate(finding.evidence, 1)
    ]
    best = max((one.chance for one in finding.evidence if one.chance is not None), default=None)
    chance = "" if best is None else telling.chance_text(best)
    return {"summary": telling.lead(finding), "chance_words": chance, "evidence": evidence, "error": error or None}


def review_tasks(desk: Desk, *, is_blind: bool) -> TaskApp:
    decisions = DecisionFolder(desk.folder)
    decisions.read_all()  # raises at once where a file there is damaged
    pages = _Pages(desk, decisions, is_blind=is_blind)
    own = TaskKind(
        shape=DeskAnswer,
        is_new=lambda person: not decisions.answers_of(person),
        queue=pages.queue,
        changes=pages.queue,
        show=pages.show,
        answer=pages.answer,
        save=pages.save,
        close=desk.close,
    )
    agreed = TaskKind(
        shape=DeskAnswer,
        is_new=lambda _: False,
        queue=lambda _: {
            "rows": [TaskRow(id=row["id"], text=row["question"], facts=row["paper"]) for row in pages.disputes()]
        },
        show=lambda person, task_id: pages.show(person, task_id, is_agreed=True),
        answer=lambda person, task_id: pages.answer(person, task_id, is_agreed=True),
        save=lambda person, given: pages.save(person, given, is_agreed=True),
    )
    return TaskApp(
        kinds={"review": own, "agreed": agreed},
        about={
            "kind": "review",
            "title": f"Review of {desk.folder.parent.name}",
            "is_blind": is_blind,
            "decisions": [{"name": name, "words": words} for name, words in DECISIONS.items()],
            "formats": [],
        },
        folder=desk.folder,
        module="review",
        more={
            "disputes": pages.disputes,
            "page": pages.page,
        },
    )
