"""The routes for tasks that people answer one by one, of any sort: what is asked, and what a person says of it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evidencebench.errors import DataError, PeopleError, RunError, StaleError
from evidencebench.pages.responses import RefusedError, json_response
from evidencebench.pages.sign_ins import NameBody, SignIns, read_body, read_id
from evidencebench.runs.people.person_names import checked_name
from evidencebench.storage.reading import BROKEN_JSON

_log = logging.getLogger(__name__)


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list of tasks: what is asked, and what of."""

    id: str
    text: str
    facts: str


class _AnswerBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    person: str
    list: str
    answer: msgspec.Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskList:
    """Tasks that people answer, and where their answers lie.

    Attributes
    ----------
    rows
        Person -> the tasks that are shown to the person, in order.
    task
        Id of such a task -> all that is shown of it.
    shape
        The struct of an answer; it has ``task`` and ``revision``.
    read, append
        Person -> answers by id of task; (person, answer) -> the answer as it was kept. ``append`` raises what
        `AnswerJournals.append` does.
    is_done
        Whether an answer is final for now; it can be changed.
    """

    rows: Callable[[str], Sequence[TaskRow]]
    task: Callable[[str], object]
    shape: type[msgspec.Struct]
    read: Callable[[str], Mapping[str, Any]]
    append: Callable[[str, Any], msgspec.Struct]
    is_done: Callable[[Any], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPages:
    """The routes below ``/api/people/``.

    ``lists`` has the lists of tasks by name, and ``about`` what the page must know of them; ``folder`` is where the
    answers lie, and is cut out of messages.
    """

    lists: Mapping[str, TaskList]
    about: Mapping[str, object]
    folder: Path
    sign_ins: SignIns = field(default_factory=SignIns)

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes. Every one answers in JSON; `answer_error` answers the errors that they raise."""
        table = (
            ("GET", "session", self.show_session),
            ("POST", "session", self.sign_in),
            ("DELETE", "session", self.sign_out),
            ("GET", "queue", self.show_queue),
            ("GET", "task", self.show_task),
            ("PUT", "answer", self.save_answer),
        )
        return [Route(f"/api/people/{name}", endpoint, methods=[method]) for method, name, endpoint in table]

    async def answer_error(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - starlette's signature
        """Return the response to an `EvidenceBenchError`; it names no path of this machine."""
        if isinstance(error, PeopleError):
            return json_response({"error": str(error)}, 400)
        _log.warning("%s", error)
        is_told = isinstance(error, RunError | DataError)
        words = str(error).replace(str(self.folder), self.folder.name) if is_told else "the app failed"
        return json_response({"error": words}, 503)

    async def show_session(self, request: Request) -> Response:
        """Return the name of the person who is signed in, and what the page must know of all tasks."""
        return json_response({"person": self.sign_ins.name(request), **self.about})

    async def sign_in(self, request: Request) -> Response:
        """Sign a person in by name."""
        name = checked_name((await read_body(request, NameBody)).name)
        first = next(iter(self.lists.values()))
        return self.sign_ins.begin(request, name, is_new=not await run_in_threadpool(first.read, name))

    async def sign_out(self, request: Request) -> Response:
        """Sign the person of this browser out; their answers are kept."""
        return self.sign_ins.end(request)

    async def show_queue(self, request: Request) -> Response:
        """Return the tasks of a list, each with whether it is ``open``, begun (``draft``) or ``done``."""
        name, tasks = self._asked(request)

        def queue() -> Response:
            answers = tasks.read(name)
            rows = [
                {**msgspec.structs.asdict(row), "status": _status(tasks, answers.get(row.id))}
                for row in tasks.rows(name)
            ]
            return json_response({"person": name, "rows": rows})

        return await run_in_threadpool(queue)

    async def show_task(self, request: Request) -> Response:
        """Return a task, with what the person has said of it and its place in the list."""
        (name, tasks), asked = self._asked(request), read_id(request)

        def task() -> Response:
            ids = [row.id for row in tasks.rows(name)]
            if asked not in ids:
                raise RefusedError(404, "there is no such task in this list")
            found = {"ids": ids, "task": tasks.task(asked), "answer": fields_of(tasks.read(name).get(asked))}
            return json_response({"person": name, **found})

        return await run_in_threadpool(task)

    async def save_answer(self, request: Request) -> Response:
        """Keep an answer; where another tab was faster, return that one's answer with the status 409."""
        body = await read_body(request, _AnswerBody)
        name, tasks = self.sign_ins.required_name(request, body.person), self._list(body.list)
        try:
            answer: Any = msgspec.json.decode(body.answer, type=tasks.shape)
        except BROKEN_JSON as error:
            raise RefusedError(400, f"not what the page sends: {error}; load the page again") from error

        def save() -> Response:
            if answer.task not in {row.id for row in tasks.rows(name)}:
                raise RefusedError(404, "there is no such task in this list")
            try:
                return json_response({"answer": fields_of(tasks.append(name, answer))})
            except StaleError as error:
                return json_response({"error": str(error), "answer": fields_of(tasks.read(name).get(answer.task))}, 409)

        return await run_in_threadpool(save)

    def _asked(self, request: Request) -> tuple[str, TaskList]:
        """Return the person who asks, and the list that the request names."""
        name = self.sign_ins.required_name(request, request.query_params.get("person"))
        return name, self._list(request.query_params.get("list", ""))

    def _list(self, name: str) -> TaskList:
        if name not in self.lists:
            raise RefusedError(404, "there is no such list of tasks")
        return self.lists[name]


def fields_of(answer: msgspec.Struct | None) -> dict[str, object] | None:
    """Return an answer as the page gets it: with all its fields, while its file leaves out those with defaults."""
    return None if answer is None else msgspec.structs.asdict(answer)


def _status(tasks: TaskList, answer: object | None) -> str:
    if answer is None:
        return "open"
    return "done" if tasks.is_done(answer) else "draft"
