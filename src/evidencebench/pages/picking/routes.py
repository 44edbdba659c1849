"""The pages of people who pick sentences: who is signed in, what they may see, and what they send."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evidencebench.errors import (
    ChangedDataError,
    FinalError,
    PeopleError,
    RunError,
    StaleError,
    UnopenedError,
)
from evidencebench.pages.paper import PaperRecord
from evidencebench.pages.picking.sessions import Sessions
from evidencebench.pages.responses import DATA_CHANGED, RefusedError, json_response
from evidencebench.query import AspectScope
from evidencebench.runs.people.drafts import PickDraft, Picks, checked_picks
from evidencebench.runs.people.people_folder import PeopleFolder
from evidencebench.runs.people.person import Person, Submission
from evidencebench.storage.reading import BROKEN_JSON

_log = logging.getLogger(__name__)

_Shape = TypeVar("_Shape")


class _NameBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(max_length=1000)]


class _PicksBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Picks, and whose."""

    person: str
    id: str
    sentences: tuple[int, ...]
    seconds: Annotated[int, msgspec.Meta(ge=0)]
    revision: Annotated[int, msgspec.Meta(ge=0)]
    tab: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


def _kept(draft: PickDraft) -> Mapping[str, object]:
    return {"sentences": draft.sentences, "seconds": draft.seconds, "revision": draft.revision}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a person sees before submitting, as a system does: the paper, and how many sentences may be picked."""

    paper: PaperRecord
    budget: int


class QueuedPaper(msgspec.Struct, frozen=True, kw_only=True):
    """A paper as it stands in the queue; the same for everybody."""

    position: int
    id: str
    hypothesis: str
    n_sentences: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PickingPages:
    """The routes under ``/api/people/``, and who may see an answer.

    ``queue`` maps instance ids to papers, in file order; nothing else is offered. ``offer`` returns what is seen of an
    instance before it is submitted, ``reveal`` what is seen afterwards: (person, id, submission) -> what `encoded`
    takes. Both are handed in, since they read the data set.
    """

    people: PeopleFolder
    title: str
    scope: AspectScope
    queue: Mapping[str, QueuedPaper]
    offer: Callable[[str], Offer]
    reveal: Callable[[Person, str, Submission], object]
    sessions: Sessions = field(default_factory=Sessions)

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes; every one answers in JSON, and raises what `refused` answers.

        What reaches them has passed the app's security: the right Host, and a same-origin JSON body of at most 64 KiB.
        """
        table = (
            ("GET", "session", self.show_session),
            ("POST", "session", self.sign_in),
            ("DELETE", "session", self.sign_out),
            ("GET", "queue", self.show_queue),
            ("GET", "paper", self.show_paper),
            ("PUT", "draft", self.save_draft),
            ("POST", "submit", self.submit),
            ("GET", "review", self.review),
        )
        return [Route(f"/api/people/{name}", endpoint, methods=[method]) for method, name, endpoint in table]

    async def refused(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - starlette's signature
        """Return the answer to a request that failed on purpose, without any path of this machine.

        The whole message of a server's fault goes to the terminal.
        """
        details: Mapping[str, object] = {}  # what the page goes on from, where another tab of the same person was first
        match error:
            case FinalError():
                status, words, details = 409, str(error), {"is_final": True}
            case StaleError():
                status, words, details = 409, str(error), {"sentences": error.sentences, "revision": error.revision}
            case UnopenedError():
                status, words = 409, str(error)
            case PeopleError():
                status, words = 400, str(error)
            case RunError():
                status, words = 503, self.people.without_folder(str(error))
            case ChangedDataError():
                status, words = 503, DATA_CHANGED
            case _:  # of the data, and such a message may name an aspect
                status, words = 500, "this paper cannot be offered: 'evidencebench data validate' says why"
        if status >= 500:  # noqa: PLR2004 - what is not the browser's fault
            _log.warning("%s", error)
        return json_response({"error": words, **details}, status)

    def close(self) -> None:
        """Let go of people's files."""
        self.people.close()

    def may_see(self, request: Request, instance_id: str) -> bool:
        """Say whether whoever asks has submitted an instance."""
        person = self._person_of(request)
        return person is not None and instance_id in self.queue and person.submission(instance_id) is not None

    def overview(self, request: Request) -> object:
        """Return who is signed in, and what is asked of people."""
        person = self._person_of(request)
        return {
            "people": True,
            "person": None if person is None else person.name,
            "title": self.title,
            "task": self.people.task,
            "scope": self.scope,
            "n_instances": len(self.queue),
        }

    async def show_session(self, request: Request) -> Response:
        """Say who is signed in here."""
        return json_response(self.overview(request))

    async def sign_in(self, request: Request) -> Response:
        """Sign a person in by name, in this browser."""
        body = await _body(request, _NameBody)
        person = await run_in_threadpool(self.people.person, body.name)
        self._forget(request)
        token = self.sessions.begin(person.name)
        response = json_response({"person": person.name, "is_new": person.is_new})
        response.set_cookie(_cookie_name(request), token, path="/api", httponly=True, samesite="strict")
        return response

    async def sign_out(self, request: Request) -> Response:
        """Forget who was signed in in this browser; what was picked stays."""
        self._forget(request)
        response = json_response({})
        response.delete_cookie(_cookie_name(request), path="/api", httponly=True, samesite="strict")
        return response

    async def show_queue(self, request: Request) -> Response:
        """List what the person is asked, and how far they are."""
        person = self._required_person(request, request.query_params.get("person"))
        rows = [
            {
                **msgspec.structs.asdict(listed),
                "status": person.status(instance_id),
                "n_picked": len(_picked(person, instance_id)),
            }
            for instance_id, listed in self.queue.items()
        ]
        return json_response({"person": person.name, "task": self.people.task, "rows": rows})

    async def show_paper(self, request: Request) -> Response:
        """Give a paper that is not submitted, with what was picked in it so far; the time begins to count."""
        if request.method == "HEAD":  # whoever sees no paper has not opened it
            raise RefusedError(405, "this page cannot be asked in that way")
        person = self._required_person(request, request.query_params.get("person"))
        offer = await run_in_threadpool(self._offer, _asked_id(request))
        draft = await run_in_threadpool(person.begin, offer.paper.id)
        return json_response(
            {
                "person": person.name,
                "paper": offer.paper,
                "budget": offer.budget,
                "scope": self.scope,
                **_kept(draft),
            }
        )

    async def save_draft(self, request: Request) -> Response:
        """Keep picks that are not final; those that another tab has changed meanwhile are given back instead."""
        person, instance_id, picks = await self._picks(request)
        return json_response(_kept(await run_in_threadpool(person.save, instance_id, picks)))

    async def submit(self, request: Request) -> Response:
        """Make picks final, and reveal the answer."""
        person, instance_id, picks = await self._picks(request)
        await run_in_threadpool(person.submit, instance_id, picks)
        return await self._revealed(person, instance_id)

    async def review(self, request: Request) -> Response:
        """Reveal the answer to an instance that the person has submitted."""
        person = self._required_person(request, request.query_params.get("person"))
        return await self._revealed(person, _asked_id(request))

    async def _revealed(self, person: Person, instance_id: str) -> Response:
        submission = person.submission(instance_id) if instance_id in self.queue else None
        if submission is None:
            raise RefusedError(403, "the answer is shown once you have submitted yours")
        return json_response(await run_in_threadpool(self.reveal, person, instance_id, submission))

    async def _picks(self, request: Request) -> tuple[Person, str, Picks]:
        """Return whose picks came, for which instance, checked."""
        body = await _body(request, _PicksBody)
        person = self._required_person(request, body.person)
        offer = await run_in_threadpool(self._offer, body.id)
        sentences = checked_picks(body.sentences, n_sentences=len(offer.paper.sentences), budget=offer.budget)
        return person, body.id, Picks(sentences=sentences, seconds=body.seconds, revision=body.revision, tab=body.tab)

    def _offer(self, instance_id: str) -> Offer:
        if instance_id not in self.queue:
            raise RefusedError(404, "no such paper in the queue")
        return self.offer(instance_id)

    def _required_person(self, request: Request, name: str | None) -> Person:
        """Return who is signed in; the page says who it takes that to be, since tabs share whoever came last."""
        person = self._person_of(request)
        if person is None:
            raise RefusedError(401, "sign in first")
        if name != person.name:
            raise RefusedError(401, f"{person.name} has signed in in another tab of this browser; sign in again")
        return person

    def _person_of(self, request: Request) -> Person | None:
        name = self.sessions.name_of(request.cookies.get(_cookie_name(request), ""))
        return None if name is None else self.people.person(name)

    def _forget(self, request: Request) -> None:
        self.sessions.end(request.cookies.get(_cookie_name(request), ""))


def _cookie_name(request: Request) -> str:
    """Return a name that another server on this machine does not use: browsers share cookies between ports."""
    return f"evidencebench_person_{request.url.port or 80}"


def _asked_id(request: Request) -> str:
    found = request.query_params.get("id")
    if found is None:
        raise RefusedError(400, "the request names no instance")
    return found


async def _body(request: Request, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(await request.body(), type=shape)
    except BROKEN_JSON as error:
        raise RefusedError(400, f"not what the page sends: {error}; load the page again") from error


def _picked(person: Person, instance_id: str) -> Sequence[int]:
    found = person.submission(instance_id) or person.draft(instance_id)
    return () if found is None else found.sentences
