"""The app of tasks that people answer one by one: in journals, or by picking sentences. No module here knows labels."""

import dataclasses
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import quote, unquote

import msgspec
from msgspec.structs import asdict, replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from evidencebench.errors import (
    ChangedDataError,
    DataError,
    EvidenceBenchError,
    FinalError,
    PeopleError,
    RunError,
    TaskError,
    UnopenedError,
)
from evidencebench.pages.app.server import (
    DATA_CHANGED,
    Address,
    RefusedError,
    decode,
    json_response,
    page_app,
    saved_response,
)
from evidencebench.pages.paper import PaperRecord, kind_letters
from evidencebench.runs.answers import AnswerT, RankingAnswer
from evidencebench.runs.people import AnswerFolder, checked_name, checked_picks

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")


Status = Literal["open", "draft", "done"]


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list of tasks: what is asked and what of, and how far the person is, also in words."""

    id: str
    text: str
    facts: str
    status: Status = "open"
    words: str = "open"
    recall: float | None = None


def _is_final(*_: object) -> Any:
    raise RefusedError(404, "answers to these tasks are never final")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKind:
    """Tasks of one kind, as functions that take a person's name first. `TaskApp` answers the errors that they raise."""

    shape: type[msgspec.Struct]  # of an answer; its field ``id`` is the task's
    is_new: Callable[[str], bool]  # whether a person has answered nothing yet
    queue: Callable[[str], Mapping[str, object]]  # the ``rows`` (`TaskRow`), and what else the list shows
    show: Callable[[str, str], Mapping[str, object]]  # the ``task`` and the ``answer``, before that is final
    answer: Callable[[str, str], object]  # what the person has answered to a task so far; None: nothing
    save: Callable[[str, Any], object]  # keep an answer, and return it as it was kept
    submit: Callable[[str, Any], object] = _is_final  # make an answer final, and return its result
    result: Callable[[str, str], object] = _is_final  # what is shown of a task once its answer is final
    changes: Callable[[str, int], Mapping[str, object]] | None = None  # a queue's, since its stamp; None: it has none
    close: Callable[[], None] = lambda: None


def answered_tasks(
    *,
    shape: type[msgspec.Struct],
    rows: Callable[[str], Mapping[str, TaskRow]],
    shown: Callable[[str], object],
    read: Callable[[str], Mapping[str, Any]],
    keep: Callable[[str, Any], Any],
    how_far: Callable[[Any], tuple[Status, str]],
    fields: Callable[[Any], object] = asdict,
) -> TaskKind:
    """Return the kind of tasks whose answers can be changed at any time.

    ``rows`` has a person's tasks by their ids, as if nothing was answered; ``keep`` returns what was kept.
    """

    def ids_with(person: str, task_id: str) -> list[str]:
        if task_id not in (of_person := rows(person)):
            raise RefusedError(404, "there is no such task in this list")
        return list(of_person)

    def queue(person: str) -> Mapping[str, object]:
        far = {task_id: how_far(answer) for task_id, answer in read(person).items()}
        shown = ((row, *far.get(row.id, (row.status, row.words))) for row in rows(person).values())
        return {"rows": [replace(row, status=status, words=words) for row, status, words in shown]}

    def answer(person: str, task_id: str) -> object:
        kept = read(person).get(task_id)
        return None if kept is None else fields(kept)

    def show(person: str, task_id: str) -> Mapping[str, object]:
        ids = ids_with(person, task_id)
        return {"ids": ids, "task": shown(task_id), "answer": answer(person, task_id)}

    def save(person: str, given: Any) -> object:
        ids_with(person, given.id)
        return fields(keep(person, given))

    return TaskKind(
        shape=shape, is_new=lambda person: not read(person), queue=queue, show=show, answer=answer, save=save
    )


def from_page(answer: AnswerT) -> AnswerT:
    """Return an answer without what the server sets."""
    return replace(answer, at="", by="", opened="", crc=None)


def done_or_begun(is_done: bool) -> tuple[Status, str]:  # noqa: FBT001 - read as a sentence
    return ("done", "done") if is_done else ("draft", "started, not done")


def task_record(task: Any, *left_out: str) -> Mapping[str, object]:
    """Return a task as the page shows it, with a letter for each sentence's kind, and without some fields."""
    fields = {name: value for name, value in asdict(task).items() if name not in left_out}
    return {**fields, "kinds": kind_letters(task.kinds)}


# Papers in which people pick sentences, until they submit; what is shown then is handed in, since it reads labels.


class OfferedPaper(PaperRecord, frozen=True, kw_only=True):
    """What a person sees before submitting: the paper, and how many sentences may be picked. Systems get the same."""

    budget: int


OwnScores = tuple[Mapping[str, object], Mapping[str, float]]
"""How well a person has done on what the person has submitted, as the list shows it; and the recalls by paper."""


def picking(
    people: AnswerFolder[RankingAnswer],
    rows: Mapping[str, TaskRow],
    task: str,
    *,
    offer: Callable[[str], OfferedPaper],
    reveal: Callable[[str, RankingAnswer], object],
    scores: Callable[[Mapping[str, RankingAnswer]], OwnScores],
) -> TaskKind:
    """Return the kind of the papers of ``rows``, by their ids; a row is that of a person who has opened none.

    ``offer`` returns what of an instance is shown before it is submitted, ``reveal`` what a person is shown afterwards,
    and ``scores`` how well a person has done. All read the data set and its labels.
    """

    def offered(task_id: str) -> OfferedPaper:
        if task_id not in rows:
            raise RefusedError(404, "there is no such task in this list")
        return _hide_labels(lambda: offer(task_id))

    def checked(given: RankingAnswer) -> RankingAnswer:
        paper = offered(given.id)
        sentences = checked_picks(given.sentences, n_sentences=len(paper.sentences), budget=paper.budget)
        reached = min(given.reached, len(paper.sentences) - 1)
        return RankingAnswer(
            id=given.id,
            task=task,
            sentences=sentences,
            ordered=False,
            reached=reached,
            seconds=given.seconds,
            revision=given.revision,
            tab=given.tab,
            request=given.request,
        )

    changeable = answered_tasks(
        shape=RankingAnswer,
        rows=lambda _: rows,
        shown=offered,
        read=people.answers_of,
        keep=lambda name, given: people.save(name, checked(given)),
        how_far=_picked,
        fields=_shown_picks,
    )

    def queue(name: str) -> Mapping[str, object]:
        answers = people.answers_of(name)
        submitted = {task_id: answer for task_id, answer in answers.items() if answer.is_done}
        shown, recalls = _hide_labels(lambda: scores(submitted))
        last = next((task_id for task_id in reversed([*answers]) if not answers[task_id].is_done), None)
        listed: Any = changeable.queue(name)["rows"]
        recalled = [replace(row, recall=recalls.get(row.id)) for row in listed]
        return {"rows": recalled, "last": last if last in rows else None, **shown}

    def show(name: str, task_id: str) -> Mapping[str, object]:
        paper = offered(task_id)
        opened = people.open(name, RankingAnswer(id=task_id, task=task, ordered=False))
        return {"task": paper, "answer": _shown_picks(opened)}

    def submit(name: str, given: RankingAnswer) -> object:
        people.submit(name, checked(given))
        return result(name, given.id)

    def result(name: str, task_id: str) -> object:
        submission = people.answer_of(name, task_id) if task_id in rows else None
        if submission is None or not submission.is_done:
            raise RefusedError(403, "the answer is shown once you have submitted yours")
        return _hide_labels(lambda: reveal(name, submission))

    return dataclasses.replace(changeable, queue=queue, show=show, submit=submit, result=result)


def _hide_labels(read: Callable[[], _Result]) -> _Result:
    """Return what is read of the data; refuse without the words of an error, which may name an aspect."""
    try:
        return read()
    except ChangedDataError:
        raise
    except (DataError, TaskError) as error:
        _log.warning("%s", error)
        raise RefusedError(500, "this paper cannot be offered: 'evidencebench data validate' says why") from error


def _picked(answer: RankingAnswer) -> tuple[Status, str]:
    if answer.is_done:
        return "done", "submitted"
    return ("draft", f"{len(answer.sentences)} selected, not submitted") if answer.sentences else ("open", "open")


def _shown_picks(answer: RankingAnswer) -> Mapping[str, object]:
    return {name: getattr(answer, name) for name in ("sentences", "reached", "seconds", "revision")}


class _NameBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(max_length=1000)]


class _AnswerBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    person: str
    list: str
    answer: msgspec.Raw


class _ActBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    person: str
    act: msgspec.Raw


def _stamp(text: str) -> int:
    if re.fullmatch(r"\d{1,15}", text, re.ASCII) is None:
        raise RefusedError(400, "since: expected a stamp that the table was shown with; load the page again")
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskApp:
    """The routes below ``/api/people/``, the same for every kind of task. `SecuredApp` has checked each request."""

    kinds: Mapping[str, TaskKind]  # by the names of their lists
    about: Mapping[str, object]  # what the page must know of them
    folder: Path  # where the answers lie; only its name stands in messages
    module: str = "app"  # the page's script
    # More that people may ask for: path -> what answers a person, given the parameters of the address.
    more: Mapping[str, Callable[[str, Mapping[str, str]], object]] = field(default_factory=dict)
    # What people may do besides answering: path -> the shape of what is sent, and what does it for a person.
    acts: Mapping[str, tuple[type[msgspec.Struct], Callable[[str, Any], object]]] = field(default_factory=dict)

    def close(self) -> None:
        for kind in self.kinds.values():
            kind.close()

    def _answer_error(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - starlette's signature
        """Answer an `EvidenceBenchError` without a path of this machine; a fault of the server goes to the terminal."""
        status, words = 503, "the app failed"
        match error:
            case FinalError() | UnopenedError():
                status, words = 409, str(error)
            case PeopleError():
                status, words = 400, str(error)
            case ChangedDataError():
                words = DATA_CHANGED
            case RunError() | DataError():
                words = str(error).replace(str(self.folder), self.folder.name)
        if status >= 500:  # noqa: PLR2004 - the server's fault
            _log.warning("%s", error)
        return json_response({"error": words, **({"is_final": True} if isinstance(error, FinalError) else {})}, status)

    def _session(self, request: Request) -> Response:
        """Say who is signed in and what the tasks are; sign a person in, or out."""
        cookie: dict[str, Any] = {"key": _cookie(request), "path": "/api", "httponly": True, "samesite": "strict"}
        if request.method == "POST":
            name = checked_name(decode(request.state.body, _NameBody).name)
            first = next(iter(self.kinds.values()))
            response = json_response({"person": name, "is_new": first.is_new(name)})
            # Anybody can sign in by any name, so a secret in its place would guard nothing.
            response.set_cookie(value=quote(name, safe=""), **cookie)
        elif request.method == "DELETE":
            response = json_response({})
            response.delete_cookie(**cookie)
        else:
            response = json_response({"person": _signed_in(request), **self.about})
        return response

    def _show(self, request: Request) -> Response:
        """Show a person a list, a task, the result of one, or more."""
        if request.method == "HEAD":  # it would start the person's time, and show no task
            raise RefusedError(405, "this page cannot be asked in that way")
        page, asked = request.url.path.rpartition("/")[2], request.query_params
        name = self._required_name(request, asked.get("person"))
        if page in self.more:
            found = self.more[page](name, asked)
            return found if isinstance(found, Response) else json_response(found)
        kind, task_id, since = self._kind(asked.get("list", "")), asked.get("id", ""), asked.get("since", "")
        if page == "result":
            return json_response(kind.result(name, task_id))
        if page == "task":
            shown = kind.show(name, task_id)
        elif kind.changes and since:
            shown = kind.changes(name, _stamp(since))
        else:
            shown = kind.queue(name)
        return json_response({"person": name, **shown})

    def _act(self, request: Request) -> Response:
        """Do what a person asks for besides answering."""
        shape, act = self.acts[request.url.path.rpartition("/")[2]]
        body = decode(request.state.body, _ActBody)
        name = self._required_name(request, body.person)
        return json_response(act(name, decode(body.act, shape)))

    def _keep(self, request: Request) -> Response:
        """Keep an answer, or submit it; where another tab was faster, return that tab's answer with the status 409."""
        body = decode(request.state.body, _AnswerBody)
        name, kind = self._required_name(request, body.person), self._kind(body.list)
        answer: Any = decode(body.answer, kind.shape)
        is_final = request.method == "POST"
        return saved_response(
            lambda: kind.submit(name, answer) if is_final else {"answer": kind.save(name, answer)},
            lambda: {"answer": kind.answer(name, answer.id)},
        )

    def _required_name(self, request: Request, shown: str | None) -> str:
        """Return the name of the person who is signed in; refuse where the page shows another: tabs share a session."""
        name = _signed_in(request)
        if name is None or shown != name:
            other = f"{name} has signed in in another tab of this browser; sign in again"
            raise RefusedError(401, "sign in first" if name is None else other)
        return name

    def _kind(self, name: str) -> TaskKind:
        if name not in self.kinds:
            raise RefusedError(404, "there is no such list of tasks")
        return self.kinds[name]

    def make_app(self, address: Address) -> ASGIApp:
        table = (
            ("session", self._session, ("GET", "POST", "DELETE")),
            *((name, self._show, ("GET",)) for name in ("queue", "task", "result", *self.more)),
            ("answer", self._keep, ("PUT",)),
            ("submit", self._keep, ("POST",)),
            *((name, self._act, ("POST",)) for name in self.acts),
        )
        routes = [Route(f"/api/people/{name}", endpoint, methods=methods) for name, endpoint, methods in table]
        errors = {EvidenceBenchError: self._answer_error}
        title, source = str(self.about["title"]), "tasks"
        return page_app(title, routes, source=source, address=address, errors=errors, module=self.module)


def _cookie(request: Request) -> str:
    """Return the cookie's name. It holds the port, since all ports of a host share their cookies."""
    return f"evidencebench_name_{request.url.port or 80}"


def _signed_in(request: Request) -> str | None:
    name = unquote(request.cookies.get(_cookie(request), ""))
    return checked_name(name) if name else None
