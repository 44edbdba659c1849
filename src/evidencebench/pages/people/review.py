"""The desk of a review as a kind of task: its table, a cell with its paper, pictures of pages, exports."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated

import msgspec
from starlette.responses import Response

from evidencebench.errors import DataError, EvidenceBenchError
from evidencebench.execution import findings as telling
from evidencebench.execution.finding import Finding
from evidencebench.pages.app.server import RefusedError
from evidencebench.pages.paper import text_record
from evidencebench.pages.people.tasks import TaskApp, TaskKind, TaskRow
from evidencebench.papers.pdf.pictures import page_picture
from evidencebench.review.decisions import DECISIONS, decision_folder
from evidencebench.review.desk import Desk, PaperText, content_as_read
from evidencebench.review.exports import EXPORTS, export
from evidencebench.review.found import finding_of
from evidencebench.review.questions import KIND_WORDS, AnswerKind, ReviewQuestion
from evidencebench.review.table import DeskAnswer, ReviewTable, question_record
from evidencebench.review.values import offered_by_sentence, offered_by_unit

_MOST_PICTURES = 48


def review_tasks(desk: Desk, *, is_blind: bool, adjudicator: str = "") -> TaskApp:
    decisions = decision_folder(desk.folder)
    table = ReviewTable(desk, decisions, is_blind=is_blind, adjudicator=adjudicator)
    own = TaskKind(
        shape=DeskAnswer,
        is_new=lambda person: not decisions.answers_of(person),
        queue=table.queue,
        changes=table.queue,
        show=partial(_show, table),
        answer=table.answer,
        save=table.save,
        close=desk.close,
    )
    agreed = TaskKind(
        shape=DeskAnswer,
        is_new=lambda _: False,
        queue=lambda person: {
            "rows": [TaskRow(id=row["id"], text=row["question"], facts=row["paper"]) for row in table.disputes(person)]
        },
        show=partial(_show, table, is_agreed=True),
        answer=partial(table.answer, is_agreed=True),
        save=partial(table.save, is_agreed=True),
    )
    return TaskApp(
        kinds={"review": own, "agreed": agreed},
        about={
            "kind": "review",
            "title": f"Review of {desk.folder.parent.resolve().name}",
            "is_blind": is_blind,
            "adjudicator": table.adjudicator,
            "decisions": [{"name": name, "words": words} for name, words in DECISIONS.items()],
            "kinds": [{"name": name, "words": words} for name, words in KIND_WORDS.items()],
            "formats": [] if is_blind else list(EXPORTS),
        },
        folder=desk.folder,
        module="review",
        acts={"kind": (_ChangedKind, lambda _, wanted: _change_kind(table, wanted))},
        more={
            "disputes": lambda person, _: table.disputes(person),
            "page": _pictures(desk),
            "export": lambda person, asked: _exported(table, person, asked.get("format", "")),
        },
    )


def _show(table: ReviewTable, person: str, task_id: str, *, is_agreed: bool = False) -> Mapping[str, object]:
    text, place = table.text(task_id), table.place(task_id)
    question = table.desk.questions[place[1]]
    cell = table.desk.found(*place)
    found = None if cell.found is None else _told(finding_of(text.paper, cell.found))
    task = {
        "id": task_id,
        "of": table.key(place),
        "paper": {**_pages_record(text), "name": table.desk.papers[place[0]].file},
        "question": question_record(question),
        "offered": _offered(text, question),
        "found": {"error": cell.error} if cell.error else found,
        "others": table.others(person, task_id, is_agreed=is_agreed),
        "ids": table.ids,
    }
    return {"task": task, "answer": table.answer(person, task_id, is_agreed=is_agreed)}


def _offered(text: PaperText, question: ReviewQuestion) -> Mapping[str, Sequence[str]]:
    """Return the number of a sentence or unit -> the values that can be taken from it."""
    if question.kind != "number":
        return {}
    lines = [offered_by_sentence(sentence, question) for sentence in text.sentences]
    lines += [offered_by_unit(unit, question) for unit in text.units]
    return {str(index): offered for index, offered in enumerate(lines) if offered}


def _pages_record(text: PaperText) -> Mapping[str, object]:
    """Return the text of a paper with its units, and of a PDF its pages and where on them a sentence stands."""
    places = [[[box.page, *text.pages[box.page - 1].shown(box)] for box in boxes] for boxes in text.boxes]
    return {
        **text_record(text.paper),
        "cited": _cited(text.about, text.year),
        "units": [{"text": unit.text, "name": unit.name} for unit in text.units],
        "pages": [page.size for page in text.pages],
        "boxes": {str(index): boxes for index, boxes in enumerate(places) if boxes},
    }


def _told(finding: Finding) -> Mapping[str, object]:
    levels = telling.strengths(finding)
    evidence = [
        {
            "sentence": one.sentence,
            "rank": rank,
            "message": telling.about(one),
            "direction": one.direction,
            "strength": levels.get(one.sentence, 0),
        }
        for rank, one in enumerate(finding.evidence, 1)
    ]
    best = telling.best_chance(finding.evidence)
    chance = "" if best is None else telling.chance_text(best)
    lines = [telling.summary(finding), *finding.paper.warnings]
    are_nearest = finding.verdict in telling.NEAR
    return {"summary": " ".join(lines), "chance_words": chance, "are_nearest": are_nearest, "evidence": evidence}


def _cited(about: Mapping[str, Sequence[str]], year: int | None) -> str:
    """Return authors, journal and year in a few words, as far as they are known."""
    authors = [author.partition(",")[0] for author in about.get("authors", ())]
    named = f"{authors[0]} et al." if len(authors) > 2 else " and ".join(authors)  # noqa: PLR2004 - as it says
    return ", ".join(filter(None, (named, *about.get("journal", ())[:1], str(year or ""))))


def _pictures(desk: Desk) -> Callable[[str, Mapping[str, str]], Response]:
    @lru_cache(maxsize=_MOST_PICTURES)
    def drawn(position: int, number: int, scale: float) -> bytes:
        paper = desk.papers[position]
        return page_picture(content_as_read(paper), number, scale, paper.file)

    def picture(_: str, asked: Mapping[str, str]) -> Response:
        try:
            position, number, scale = int(asked.get("paper", "")), int(asked.get("n", "")), float(asked.get("scale", 2))
        except ValueError as error:
            raise RefusedError(400, f"expected the numbers paper, n and scale: {error}") from error
        if not (0 <= position < len(desk.papers) and (read := desk.papers[position].read) and read.is_pdf):
            raise RefusedError(404, "there is no such PDF")
        try:
            return Response(drawn(position, number, scale), media_type="image/png")
        except DataError as error:
            raise RefusedError(422, str(error)) from error

    return picture


class _ChangedKind(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    question: Annotated[int, msgspec.Meta(ge=0)]
    kind: AnswerKind


def _change_kind(table: ReviewTable, wanted: _ChangedKind) -> Mapping[str, object]:
    """Say what an answer to a question is; return the question as it is shown then."""
    if wanted.question >= len(table.desk.questions):
        raise RefusedError(404, "there is no such question; load the page again")
    try:
        table.desk.set_kind(wanted.question, wanted.kind)
    except DataError as error:
        raise RefusedError(422, str(error)) from error
    return question_record(table.desk.questions[wanted.question])


def _exported(table: ReviewTable, person: str, name: str) -> Response:
    if table.is_blind:
        raise RefusedError(403, "while people work blind, only 'evidencebench review FOLDER --export FILE' exports")
    if name not in EXPORTS:
        raise RefusedError(404, f"there is no such format; expected one of {', '.join(EXPORTS)}")
    try:
        made = export(table, name)
    except EvidenceBenchError as error:
        raise RefusedError(422, str(error)) from error
    table.note_all_seen(person)
    head = {"content-disposition": f'attachment; filename="review{made.suffix}"'}
    return Response(made.content, headers=head, media_type="application/octet-stream")
