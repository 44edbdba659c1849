"""The pages of people who pick sentences: who is signed in, what they may see, and what they send.

Nothing that is imported here knows a label. What a person is shown after submitting comes from a function that is
handed in, and is asked for submitted instances only.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evidencebench.errors import EvidenceBenchError
from evidencebench.pages.app.refusal import RefusedError, refusal
from evidencebench.pages.app.sessions import Sessions
from evidencebench.pages.viewer.records import PaperRecord, encoded
from evidencebench.query import AspectScope
from evidencebench.runs.people.drafts import Draft
from evidencebench.runs.people.folder import PeopleFolder
from evidencebench.runs.people.person import Person, Picks, Submission
from evidencebench.runs.people.picks import checked_picks


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a person sees before submitting, as a system does: the paper, and how many sentences may be picked."""

    paper: PaperRecord
    budget: int


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A paper as it stands in the queue; the same for everybody."""

    position: int
    id: str
    hypothesis: str
    n_sentences: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What people are asked.

    Attributes
    ----------
    title, task, scope
        Of the page; the task's name and which evidence it wants.
    queue
        Instance id -> how it is listed, in file order; nothing else is offered.
    offer
        Gives what is seen of an instance before it is submitted.
    reveal
        Gives what is seen once a person has submitted it, for `encoded`: (who, signature, id, submission).
    """

    title: str
    task: str
    scope: AspectScope
    queue: Mapping[str, Listed]
    offer: Callable[[str], Offer]
    reveal: Callable[[str, str, str, Submission], object]


Body = TypeVar("Body")


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

    def as_picks(self) -> Picks:
        return Picks(sentences=self.sentences, seconds=self.seconds, revision=self.revision, tab=self.tab)


_Endpoint = Callable[[Any, Request], Awaitable[Response]]


def _answering(endpoint: _Endpoint) -> _Endpoint:
    """Turn what an endpoint raises on purpose into a status and words."""

    @wraps(endpoint)
    async def wrapped(self: Any, request: Request) -> Response:
        try:
            return await endpoint(self, request)
        except (RefusedError, EvidenceBenchError) as error:
            status, told = refusal(error, self.people)
            return _json(told, status)

    return wrapped


def _kept(draft: Draft) -> Mapping[str, object]:
    return {"sentences": draft.sentences, "seconds": draft.seconds, "revision": draft.revision}


def _json(found: object, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(encoded(found), status_code=status, media_type="application/json", headers=headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class PickingPages:
    """People in the app: the gate before the answers, and the routes by which people pick.

    Attributes
    ----------
    people
        Their files.
    assignment
        What they are asked.
    sessions
        Who is signed in.
    """

    people: PeopleFolder
    assignment: Assignment
    sessions: Sessions = field(default_factory=Sessions)

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Under ``/api/people/``; every one answers in JSON."""
        return (
            Route("/api/people/session", self.show_session, methods=["GET"]),
            Route("/api/people/session", self.sign_in, methods=["POST"]),
            Route("/api/people/session", self.sign_out, methods=["DELETE"]),
            Route("/api/people/queue", self.show_queue, methods=["GET"]),
            Route("/api/people/paper", self.show_paper, methods=["GET"]),
            Route("/api/people/draft", self.save_draft, methods=["PUT"]),
            Route("/api/people/submit", self.submit, methods=["POST"]),
            Route("/api/people/review", self.review, methods=["GET"]),
        )

    def close(self) -> None:
        """Let go of people's files."""
        self.people.close()

    def may_see(self, request: Request, instance_id: str) -> bool:
        """Say whether whoever asks has submitted an instance."""
        person = self._person_of(request)
        return (
            person is not None and instance_id in self.assignment.queue and person.submission(instance_id) is not None
        )

    def may_see_all(self, request: Request) -> bool:  # noqa: ARG002 - the gate's signature
        """Say no: not even who has submitted the whole queue may see the rest of the data."""
        return False

    def overview(self, request: Request) -> object:
        """Return who is signed in, and what is asked of people."""
        person = self._person_of(request)
        return {
            "people": True,
            "person": None if person is None else person.name,
            "title": self.assignment.title,
            "task": self.assignment.task,
            "scope": self.assignment.scope,
            "n_instances": len(self.assignment.queue),
        }

    @_answering
    async def show_session(self, request: Request) -> Response:
        """Say who is signed in here."""
        return _json(self.overview(request))

    @_answering
    async def sign_in(self, request: Request) -> Response:
        """Sign a person in by name, in this browser."""
        body = await _body(request, _NameBody)
        person = await run_in_threadpool(self.people.person, body.name)
        self._forget(request)
        token = self.sessions.begin(person.name)
        response = _json({"person": person.name, "is_new": person.is_new})
        response.set_cookie(_cookie_name(request), token, path="/api", httponly=True, samesite="strict")
        return response

    @_answering
    async def sign_out(self, request: Request) -> Response:
        """Forget who was signed in in this browser; what was picked stays."""
        self._forget(request)
        response = _json({})
        response.delete_cookie(_cookie_name(request), path="/api", httponly=True, samesite="strict")
        return response

    @_answering
    async def show_queue(self, request: Request) -> Response:
        """List what the person is asked, and how far they are."""
        person = self._required_person(request, request.query_params.get("person"))
        rows = [
            {
                **msgspec.structs.asdict(listed),
                "status": person.status(instance_id),
                "n_picked": len(_picked(person, instance_id)),
            }
            for instance_id, listed in self.assignment.queue.items()
        ]
        return _json({"person": person.name, "task": self.assignment.task, "rows": rows})

    @_answering
    async def show_paper(self, request: Request) -> Response:
        """Give a paper that is not submitted, with what was picked in it so far; the time begins to count."""
        if request.method == "HEAD":  # whoever sees no paper has not opened it
            raise RefusedError(405, "this page cannot be asked in that way")
        person = self._required_person(request, request.query_params.get("person"))
        offer = await run_in_threadpool(self._offer, _asked_id(request))
        draft = await run_in_threadpool(person.begin, offer.paper.id)
        return _json(
            {
                "person": person.name,
                "paper": offer.paper,
                "budget": offer.budget,
                "scope": self.assignment.scope,
                **_kept(draft),
            }
        )

    @_answering
    async def save_draft(self, request: Request) -> Response:
        """Keep picks that are not final; those that another tab has changed meanwhile are given back instead."""
        person, offer, body = await self._picks(request)
        return _json(_kept(await run_in_threadpool(person.save, offer.paper.id, body.as_picks())))

    @_answering
    async def submit(self, request: Request) -> Response:
        """Make picks final, and reveal the answer."""
        person, offer, body = await self._picks(request)
        await run_in_threadpool(person.submit, offer.paper.id, body.as_picks())
        return await self._revealed(person, offer.paper.id)

    @_answering
    async def review(self, request: Request) -> Response:
        """Reveal the answer to an instance that the person has submitted."""
        person = self._required_person(request, request.query_params.get("person"))
        instance_id = _asked_id(request)
        if not self.may_see(request, instance_id):
            raise RefusedError(403, "the answer is shown once you have submitted yours")
        return await self._revealed(person, instance_id)

    async def _revealed(self, person: Person, instance_id: str) -> Response:
        submission = person.submission(instance_id)
        if submission is None:
            raise RefusedError(403, "the answer is shown once you have submitted yours")
        reveal = self.assignment.reveal
        return _json(await run_in_threadpool(reveal, person.name, person.signature, instance_id, submission))

    async def _picks(self, request: Request) -> tuple[Person, Offer, _PicksBody]:
        """Return whose picks came for what, checked."""
        body = await _body(request, _PicksBody)
        person = self._required_person(request, body.person)
        offer = await run_in_threadpool(self._offer, body.id)
        checked_picks(body.sentences, n_sentences=len(offer.paper.sentences), budget=offer.budget)
        return person, offer, body

    def _offer(self, instance_id: str) -> Offer:
        if instance_id not in self.assignment.queue:
            raise RefusedError(404, "no such paper in the queue")
        return self.assignment.offer(instance_id)

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


async def _body(request: Request, shape: type[Body]) -> Body:
    try:
        return msgspec.json.decode(await request.body(), type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(400, f"not what the page sends: {error}; load the page again") from error


def _picked(person: Person, instance_id: str) -> Sequence[int]:
    found = person.submission(instance_id) or person.draft(instance_id)
    return () if found is None else found.sentences
