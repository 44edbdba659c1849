"""The app of tasks that people answer one by one, of any kind. It imports no module that knows labels."""

import logging
import secrets
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
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
    UnopenedError,
)
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.pages.app.server import DATA_CHANGED, Address, RefusedError, json_response, page_app
from evidencebench.runs.people import checked_name

MOST_UNUSED = 1_000
MOST_USED = 20_000

_log = logging.getLogger(__name__)

_Shape = TypeVar("_Shape")


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list of tasks: what is asked and what of, and how far the person is, also in words."""

    id: str
    text: str
    facts: str
    status: Literal["open", "draft", "done"] = "open"
    words: str = "open"
    recall: float | None = None


class TaskKind(ABC):
    """Tasks of one kind, and where their answers lie. `TaskApp` answers the errors that the methods raise."""

    shape: type[msgspec.Struct]
    """The struct of an answer; its field ``task`` is the task's id."""

    @abstractmethod
    def is_new(self, person: str) -> bool:
        """Whether a person has answered nothing yet."""

    @abstractmethod
    def queue(self, person: str) -> Mapping[str, object]:
        """Return the ``rows`` (`TaskRow`) that a person is shown, in order, and what else the list shows."""

    @abstractmethod
    def show(self, person: str, task_id: str) -> Mapping[str, object]:
        """Return the ``task`` and the ``answer`` so far: what a person sees before the answer is final."""

    @abstractmethod
    def answer(self, person: str, task_id: str) -> object:
        """Return what the person has answered so far; None: nothing."""

    @abstractmethod
    def save(self, person: str, answer: Any) -> object:
        """Keep an answer, and return it as it was kept."""

    def submit(self, person: str, answer: Any) -> None:  # noqa: ARG002 - most kinds have no end
        """Make an answer final."""
        raise RefusedError(404, "answers to these tasks are never final")

    def result(self, person: str, task_id: str) -> object:  # noqa: ARG002 - as above
        """Return what is shown of a task once its answer is final."""
        raise RefusedError(404, "answers to these tasks are never final")

    def close(self) -> None:  # noqa: B027 - most kinds keep no file open
        """Close all files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalTasks(TaskKind):
    """Tasks whose answers lie in journals, and can be changed at any time; ``append`` returns what was kept.

    A `TaskRow` of ``rows`` (by person) is as if nothing was said of its task; ``shown`` (by id) is all that is shown.
    """

    shape: type[msgspec.Struct]
    rows: Callable[[str], Sequence[TaskRow]]
    shown: Callable[[str], Mapping[str, object]]
    read: Callable[[str], Mapping[str, Any]]
    append: Callable[[str, Any], msgspec.Struct]
    is_done: Callable[[Any], bool]

    def is_new(self, person: str) -> bool:
        """Whether a person has answered nothing yet."""
        return not self.read(person)

    def queue(self, person: str) -> Mapping[str, object]:
        """Return the tasks, each with whether it is open, begun or done."""
        answers = self.read(person)
        return {"rows": [self._with_status(row, answers.get(row.id)) for row in self.rows(person)]}

    def show(self, person: str, task_id: str) -> Mapping[str, object]:
        """Return a task, with what the person has said of it and its place in the list."""
        ids = [row.id for row in self.rows(person)]
        if task_id not in ids:
            raise RefusedError(404, "there is no such task in this list")
        return {"ids": ids, "task": self.shown(task_id), "answer": self.answer(person, task_id)}

    def answer(self, person: str, task_id: str) -> object:
        """Return an answer with all its fields, while its file leaves out those with defaults."""
        answer = self.read(person).get(task_id)
        return None if answer is None else msgspec.structs.asdict(answer)

    def save(self, person: str, answer: Any) -> object:
        """Append an answer to the person's journal."""
        if answer.task not in {row.id for row in self.rows(person)}:
            raise RefusedError(404, "there is no such task in this list")
        return msgspec.structs.asdict(self.append(person, answer))

    def _with_status(self, row: TaskRow, answer: object | None) -> TaskRow:
        if answer is None:
            return row
        status, words = ("done", "done") if self.is_done(answer) else ("draft", "begun, not done")
        return msgspec.structs.replace(row, status=status, words=words)


class Sessions:
    """Who is signed in: random tokens, kept by browsers as cookies, and the names of their people.

    Anybody can sign in, as often as they like, so old tokens are dropped. Of the tokens that were never used, the
    newest ``most_unused`` are kept; of the used ones, the ``most_used`` that were used last.
    """

    def __init__(self, *, most_unused: int = MOST_UNUSED, most_used: int = MOST_USED) -> None:
        self._most_unused, self._most_used = most_unused, most_used
        self._unused: OrderedDict[str, str] = OrderedDict()
        self._used: OrderedDict[str, str] = OrderedDict()

    def begin(self, name: str) -> str:
        """Sign a person in; return a new token, which cannot be guessed."""
        token = secrets.token_urlsafe(32)
        self._unused[token] = name
        if len(self._unused) > self._most_unused:
            self._unused.popitem(last=False)
        return token

    def name_of(self, token: str) -> str | None:
        """Return the person's name of a token, and count the token as used; None where the token is unknown."""
        name = self._unused.pop(token, None) or self._used.pop(token, None)
        if name is None:
            return None
        self._used[token] = name
        if len(self._used) > self._most_used:
            self._used.popitem(last=False)  # the person who was away longest has to sign in again
        return name

    def end(self, token: str) -> None:
        """Sign the person of a token out; their answers are kept."""
        self._unused.pop(token, None)
        self._used.pop(token, None)


class _NameBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(max_length=1000)]


class _AnswerBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    person: str
    list: str
    answer: msgspec.Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskApp:
    """The routes below ``/api/people/``, the same for every kind of task. `SecuredApp` has checked each request.

    ``kinds`` are the lists of tasks by name, ``about`` is what the page must know of them; ``folder`` is where the
    answers lie, and only its name stands in messages.
    """

    kinds: Mapping[str, TaskKind]
    about: Mapping[str, object]
    folder: Path
    sessions: Sessions = field(default_factory=Sessions)

    def routes(self) -> Sequence[Route]:
        """Return the routes. Every one answers in JSON; `answer_error` answers the errors that they raise."""
        table = (
            ("GET", "session", self.show_session),
            ("POST", "session", self.sign_in),
            ("DELETE", "session", self.sign_out),
            ("GET", "queue", self.show_queue),
            ("GET", "task", self.show_task),
            ("PUT", "answer", self.save_answer),
            ("POST", "submit", self.submit),
            ("GET", "result", self.show_result),
        )
        return [Route(f"/api/people/{name}", endpoint, methods=[method]) for method, name, endpoint in table]

    def close(self) -> None:
        """Close the files of all people."""
        for kind in self.kinds.values():
            kind.close()

    async def answer_error(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - starlette's signature
        """Return the response to an `EvidenceBenchError`; it names no path of this machine.

        Where the fault is the server's (status 500 or more), the whole message goes to the terminal.
        """
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

    async def show_session(self, request: Request) -> Response:
        """Return the name of the person who is signed in, and what the page must know of all tasks."""
        return json_response({"person": self._name(request), **self.about})

    async def sign_in(self, request: Request) -> Response:
        """Sign a person in by name, replacing the browser's session; a cookie keeps the token there."""
        name = checked_name((await _read_body(request, _NameBody)).name)
        first = next(iter(self.kinds.values()))
        is_new = await run_in_threadpool(first.is_new, name)
        self.sessions.end(_token(request))
        response = json_response({"person": name, "is_new": is_new})
        token = self.sessions.begin(name)
        response.set_cookie(_cookie_name(request), token, path="/api", httponly=True, samesite="strict")
        return response

    async def sign_out(self, request: Request) -> Response:
        """Sign the person of this browser out; their answers are kept."""
        self.sessions.end(_token(request))
        response = json_response({})
        response.delete_cookie(_cookie_name(request), path="/api", httponly=True, samesite="strict")
        return response

    async def show_queue(self, request: Request) -> Response:
        """Return the tasks of a list."""
        name, kind = self._asked(request)
        return await run_in_threadpool(lambda: json_response({"person": name, **kind.queue(name)}))

    async def show_task(self, request: Request) -> Response:
        """Return a task, with what the person has said of it."""
        if request.method == "HEAD":  # it would start the person's time, and show no task
            raise RefusedError(405, "this page cannot be asked in that way")
        (name, kind), task_id = self._asked(request), _read_id(request)
        return await run_in_threadpool(lambda: json_response({"person": name, **kind.show(name, task_id)}))

    async def save_answer(self, request: Request) -> Response:
        """Keep an answer that can be changed."""
        name, kind, answer = await self._read_answer(request)
        return await run_in_threadpool(
            lambda: _unless_stale(kind, name, answer, lambda: {"answer": kind.save(name, answer)})
        )

    async def submit(self, request: Request) -> Response:
        """Make an answer final, and return what is shown of its task then."""
        name, kind, answer = await self._read_answer(request)

        def submitted() -> object:
            kind.submit(name, answer)
            return kind.result(name, answer.task)

        return await run_in_threadpool(lambda: _unless_stale(kind, name, answer, submitted))

    async def show_result(self, request: Request) -> Response:
        """Return what is shown of a task whose answer is final."""
        (name, kind), task_id = self._asked(request), _read_id(request)
        return await run_in_threadpool(lambda: json_response(kind.result(name, task_id)))

    def _name(self, request: Request) -> str | None:
        return self.sessions.name_of(_token(request))

    def _required_name(self, request: Request, shown: str | None) -> str:
        """Return the name of the person who is signed in; refuse where the page shows another: tabs share a session."""
        name = self._name(request)
        if name is None:
            raise RefusedError(401, "sign in first")
        if shown != name:
            raise RefusedError(401, f"{name} has signed in in another tab of this browser; sign in again")
        return name

    def _asked(self, request: Request) -> tuple[str, TaskKind]:
        name = self._required_name(request, request.query_params.get("person"))
        return name, self._kind(request.query_params.get("list", ""))

    async def _read_answer(self, request: Request) -> tuple[str, TaskKind, Any]:
        body = await _read_body(request, _AnswerBody)
        name, kind = self._required_name(request, body.person), self._kind(body.list)
        return name, kind, _decode(body.answer, kind.shape)

    def _kind(self, name: str) -> TaskKind:
        if name not in self.kinds:
            raise RefusedError(404, "there is no such list of tasks")
        return self.kinds[name]


def make_task_app(tasks: TaskApp, *, address: Address) -> ASGIApp:
    """Return the app with its page and its security checks; ``address`` is where it is served."""
    errors = {EvidenceBenchError: tasks.answer_error}
    return page_app(str(tasks.about["title"]), tasks.routes(), source="tasks", address=address, errors=errors)


def _unless_stale(kind: TaskKind, person: str, answer: Any, work: Callable[[], object]) -> Response:
    """Return what the work returns; where another tab was faster, that tab's answer with the status 409."""
    try:
        return json_response(work())
    except StaleError as error:
        return json_response({"error": str(error), "answer": kind.answer(person, answer.task)}, 409)


def _cookie_name(request: Request) -> str:
    """Return the cookie's name. It holds the port, since all ports of a host share their cookies."""
    return f"evidencebench_person_{request.url.port or 80}"


def _token(request: Request) -> str:
    return request.cookies.get(_cookie_name(request), "")


async def _read_body(request: Request, shape: type[_Shape]) -> _Shape:
    return _decode(await request.body(), shape)


def _decode(content: bytes | msgspec.Raw, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(content, type=shape)
    except BROKEN_JSON as error:
        raise RefusedError(400, f"not what the page sends: {error}; load the page again") from error


def _read_id(request: Request) -> str:
    task_id = request.query_params.get("id")
    if task_id is None:
        raise RefusedError(400, "the request names no task")
    return task_id
