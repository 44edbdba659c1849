"""The app of tasks that people answer one by one: in journals, or by picking sentences. No module here knows labels."""

import logging
from collections.abc import Callable, Mapping, Sequence
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
    StaleError,
    TaskError,
    UnopenedError,
)
from evidencebench.pages.app.server import DATA_CHANGED, Address, RefusedError, decode, json_response, page_app
from evidencebench.pages.paper import PaperRecord
from evidencebench.runs.people import PeopleFolder, Person, PickDraft, Picks, checked_name, checked_picks
from evidencebench.system import Ranking

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list of tasks: what is asked and what of, and how far the person is, also in words."""

    id: str
    text: str
    facts: str
    status: Literal["open", "draft", "done"] = "open"
    words: str = "open"
    recall: float | None = None


def _is_final(*_: object) -> Any:
    raise RefusedError(404, "answers to these tasks are never final")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKind:
    """Tasks of one kind, as functions that take a person's name first. `TaskApp` answers the errors that they raise."""

    shape: type[msgspec.Struct]  # of an answer; its field ``task`` is the task's id
    is_new: Callable[[str], bool]  # whether a person has answered nothing yet
    queue: Callable[[str], Mapping[str, object]]  # the ``rows`` (`TaskRow`), and what else the list shows
    show: Callable[[str, str], Mapping[str, object]]  # the ``task`` and the ``answer``, before that is final
    answer: Callable[[str, str], object]  # what the person has answered to a task so far; None: nothing
    save: Callable[[str, Any], object]  # keep an answer, and return it as it was kept
    submit: Callable[[str, Any], object] = _is_final  # make an answer final, and return its result
    result: Callable[[str, str], object] = _is_final  # what is shown of a task once its answer is final
    changes: Callable[[str, int], Mapping[str, object]] | None = None  # a queue's, since its stamp; None: it has none
    close: Callable[[], None] = lambda: None


# Tasks whose answers lie in journals, and can be changed at any time.


def journal_tasks(
    *,
    shape: type[msgspec.Struct],
    rows: Callable[[str], Sequence[TaskRow]],
    shown: Callable[[str], Mapping[str, object]],
    read: Callable[[str], Mapping[str, Any]],
    append: Callable[[str, Any], msgspec.Struct],
    is_done: Callable[[Any], bool],
) -> TaskKind:
    """Return the kind: ``rows`` has a person's tasks as if nothing was answered, ``append`` returns what was kept."""

    def with_status(row: TaskRow, answer: object) -> TaskRow:
        status, words = ("done", "done") if is_done(answer) else ("draft", "begun, not done")
        return replace(row, status=status, words=words)

    def queue(person: str) -> Mapping[str, object]:
        answers = read(person)
        return {"rows": [with_status(row, answers[row.id]) if row.id in answers else row for row in rows(person)]}

    def ids_with(person: str, task_id: str) -> list[str]:
        ids = [row.id for row in rows(person)]
        if task_id not in ids:
            raise RefusedError(404, "there is no such task in this list")
        return ids

    def answer(person: str, task_id: str) -> object:
        kept = read(person).get(task_id)
        return None if kept is None else asdict(kept)  # with all fields; its file leaves out those with defaults

    def show(person: str, task_id: str) -> Mapping[str, object]:
        ids = ids_with(person, task_id)
        return {"ids": ids, "task": shown(task_id), "answer": answer(person, task_id)}

    def save(person: str, changed: Any) -> object:
        ids_with(person, changed.task)
        return asdict(append(person, changed))

    return TaskKind(
        shape=shape, is_new=lambda person: not read(person), queue=queue, show=show, answer=answer, save=save
    )


# Papers in which people pick sentences, until they submit; what is shown then is handed in, since it reads labels.


class PickAnswer(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    task: str
    sentences: tuple[int, ...]
    reached: Annotated[int, msgspec.Meta(ge=0)]
    seconds: Annotated[int, msgspec.Meta(ge=0)]
    revision: Annotated[int, msgspec.Meta(ge=0)]
    tab: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class OfferedPaper(PaperRecord, frozen=True, kw_only=True):
    """What a person sees before submitting: the paper, and how many sentences may be picked. Systems get the same."""

    budget: int


OwnScores = tuple[Mapping[str, object], Mapping[str, float]]
"""How well a person has done on what the person has submitted, as the list shows it; and the recalls by paper."""


def picking(
    people: PeopleFolder,
    rows: Mapping[str, TaskRow],
    *,
    offer: Callable[[str], OfferedPaper],
    reveal: Callable[[Person, str, Ranking], object],
    scores: Callable[[Person], OwnScores],
) -> TaskKind:
    """Return the kind of the papers of ``rows``, by their ids; a row is that of a person who has opened none.

    ``offer`` returns what of an instance is shown before it is submitted, ``reveal`` what is shown afterwards, and
    ``scores`` how well a person has done. All read the data set and its labels.
    """

    def offered(task_id: str) -> OfferedPaper:
        if task_id not in rows:
            raise RefusedError(404, "there is no such task in this list")
        return _hide_labels(lambda: offer(task_id))

    def queue(name: str) -> Mapping[str, object]:
        person = people.person(name)
        shown, recalls = _hide_labels(lambda: scores(person))
        return {
            "rows": [_with_status(person, row, recalls.get(row.id)) for row in rows.values()],
            "last": last if (last := next(reversed(person.drafts), None)) in rows else None,  # worked on last
            **shown,
        }

    def show(name: str, task_id: str) -> Mapping[str, object]:
        paper = offered(task_id)
        return {"task": paper, "answer": _draft_fields(people.person(name).begin(task_id))}

    def answer(name: str, task_id: str) -> object:
        draft = people.person(name).drafts.get(task_id)
        return None if draft is None else _draft_fields(draft)

    def save(name: str, given: PickAnswer) -> object:
        picks = _checked(offered(given.task), given)
        return _draft_fields(people.person(name).save(given.task, picks))

    def submit(name: str, given: PickAnswer) -> object:
        picks = _checked(offered(given.task), given)
        people.person(name).submit(given.task, picks)
        return result(name, given.task)

    def result(name: str, task_id: str) -> object:
        person = people.person(name)
        submission = person.submitted.get(task_id) if task_id in rows else None
        if submission is None:
            raise RefusedError(403, "the answer is shown once you have submitted yours")
        return _hide_labels(lambda: reveal(person, task_id, submission))

    return TaskKind(
        shape=PickAnswer,
        is_new=lambda name: not (people.person(name).submitted or people.person(name).drafts),
        queue=queue,
        show=show,
        answer=answer,
        save=save,
        submit=submit,
        result=result,
        close=people.close,
    )


def _checked(paper: OfferedPaper, given: PickAnswer) -> Picks:
    n_sentences = len(paper.sentences)
    sentences = checked_picks(given.sentences, n_sentences=n_sentences, budget=paper.budget)
    reached = min(given.reached, n_sentences - 1)
    return Picks(sentences=sentences, reached=reached, seconds=given.seconds, revision=given.revision, tab=given.tab)


def _hide_labels(read: Callable[[], _Result]) -> _Result:
    """Return what is read of the data; refuse without the words of an error, which may name an aspect."""
    try:
        return read()
    except ChangedDataError:
        raise
    except (DataError, TaskError) as error:
        _log.warning("%s", error)
        raise RefusedError(500, "this paper cannot be offered: 'evidencebench data validate' says why") from error


def _with_status(person: Person, row: TaskRow, recall: float | None) -> TaskRow:
    if row.id in person.submitted:
        return replace(row, status="done", words="submitted", recall=recall)
    draft = person.drafts.get(row.id)
    if draft is None or not draft.sentences:
        return row
    return replace(row, status="draft", words=f"{len(draft.sentences)} picked, not submitted")


def _draft_fields(draft: PickDraft) -> Mapping[str, object]:
    return {name: getattr(draft, name) for name in ("sentences", "reached", "seconds", "revision")}


class _NameBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(max_length=1000)]


class _AnswerBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    person: str
    list: str
    answer: msgspec.Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskApp:
    """The routes below ``/api/people/``, the same for every kind of task. `SecuredApp` has checked each request."""

    kinds: Mapping[str, TaskKind]  # by the names of their lists
    about: Mapping[str, object]  # what the page must know of them
    folder: Path  # where the answers lie; only its name stands in messages
    module: str = "app"  # the page's script
    # More that people may ask for: path -> what answers a person, given the parameters of the address.
    more: Mapping[str, Callable[[str, Mapping[str, str]], object]] = field(default_factory=dict)

    def close(self) -> None:
        for kind in self.kinds.values():
            kind.close()

    def _answer_error(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - starlette's signature
        """Answer an `EvidenceBenchError` without a path of this machine; a fault of the server goes to the terminal."""
        details: Mapping[str, object] = {}
        match error:
            case FinalError():
                status, words, details = 409, str(error), {"is_final": True}
            case UnopenedError():
                status, words = 409, str(error)
            case PeopleError():
                status, words = 400, str(error)
            case ChangedDataError():
                status, words = 503, DATA_CHANGED
            case RunError() | DataError():
                status, words = 503, str(error).replace(str(self.folder), self.folder.name)
            case _:
                status, words = 503, "the app failed"
        if status >= 500:  # noqa: PLR2004 - the server's fault
            _log.warning("%s", error)
        return json_response({"error": words, **details}, status)

    def _show_session(self, request: Request) -> Response:
        return json_response({"person": _signed_in(request), **self.about})

    def _sign_in(self, request: Request) -> Response:
        name = checked_name(decode(request.state.body, _NameBody).name)
        first = next(iter(self.kinds.values()))
        response = json_response({"person": name, "is_new": first.is_new(name)})
        # Anybody can sign in by any name, so a secret in its place would guard nothing.
        response.set_cookie(_cookie(request), quote(name, safe=""), path="/api", httponly=True, samesite="strict")
        return response

    def _sign_out(self, request: Request) -> Response:
        response = json_response({})
        response.delete_cookie(_cookie(request), path="/api", httponly=True, samesite="strict")
        return response

    def _show_queue(self, request: Request) -> Response:
        name, kind = self._kind_for(request)
        since = request.query_params.get("since", "")
        queue = kind.queue(name) if kind.changes is None or not since.isdecimal() else kind.changes(name, int(since))
        return json_response({"person": name, **queue})

    def _show_task(self, request: Request) -> Response:
        if request.method == "HEAD":  # it would start the person's time, and show no task
            raise RefusedError(405, "this page cannot be asked in that way")
        name, kind = self._kind_for(request)
        return json_response({"person": name, **kind.show(name, request.query_params.get("id", ""))})

    def _save_answer(self, request: Request) -> Response:
        return self._keep(request, lambda kind, name, answer: {"answer": kind.save(name, answer)})

    def _submit(self, request: Request) -> Response:
        return self._keep(request, lambda kind, name, answer: kind.submit(name, answer))

    def _keep(self, request: Request, work: Callable[[TaskKind, str, Any], object]) -> Response:
        """Return what the work returns; where another tab was faster, that tab's answer with the status 409."""
        body = decode(request.state.body, _AnswerBody)
        name, kind = self._required_name(request, body.person), self._kind(body.list)
        answer: Any = decode(body.answer, kind.shape)
        try:
            return json_response(work(kind, name, answer))
        except StaleError as error:
            return json_response({"error": str(error), "answer": kind.answer(name, answer.task)}, 409)

    def _show_result(self, request: Request) -> Response:
        name, kind = self._kind_for(request)
        return json_response(kind.result(name, request.query_params.get("id", "")))

    def _required_name(self, request: Request, shown: str | None) -> str:
        """Return the name of the person who is signed in; refuse where the page shows another: tabs share a session."""
        name = _signed_in(request)
        if name is None:
            raise RefusedError(401, "sign in first")
        if shown != name:
            raise RefusedError(401, f"{name} has signed in in another tab of this browser; sign in again")
        return name

    def _show_more(self, request: Request) -> Response:
        name = self._required_name(request, request.query_params.get("person"))
        found = self.more[request.url.path.rpartition("/")[2]](name, request.query_params)
        return found if isinstance(found, Response) else json_response(found)

    def _kind_for(self, request: Request) -> tuple[str, TaskKind]:
        name = self._required_name(request, request.query_params.get("person"))
        return name, self._kind(request.query_params.get("list", ""))

    def _kind(self, name: str) -> TaskKind:
        if name not in self.kinds:
            raise RefusedError(404, "there is no such list of tasks")
        return self.kinds[name]

    def make_app(self, address: Address) -> ASGIApp:
        table = (
            ("GET", "session", self._show_session),
            ("POST", "session", self._sign_in),
            ("DELETE", "session", self._sign_out),
            ("GET", "queue", self._show_queue),
            ("GET", "task", self._show_task),
            ("PUT", "answer", self._save_answer),
            ("POST", "submit", self._submit),
            ("GET", "result", self._show_result),
            *(("GET", name, self._show_more) for name in self.more),
        )
        routes = [Route(f"/api/people/{name}", endpoint, methods=[method]) for method, name, endpoint in table]
        errors = {EvidenceBenchError: self._answer_error}
        title, source = str(self.about["title"]), "tasks"
        return page_app(title, routes, source=source, address=address, errors=errors, module=self.module)


def _cookie(request: Request) -> str:
    """Return the cookie's name. It holds the port, since all ports of a host share their cookies."""
    return f"evidencebench_name_{request.url.port or 80}"


def _signed_in(request: Request) -> str | None:
    name = unquote(request.cookies.get(_cookie(request), ""))
    return checked_name(name) if name else None
