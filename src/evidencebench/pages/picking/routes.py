"""The routes of people who pick sentences: sign in, see a paper, save picks, submit them, see the answer."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

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
from evidencebench.pages.responses import DATA_CHANGED, RefusedError, json_response
from evidencebench.pages.sign_ins import NameBody, SignIns, read_body, read_id
from evidencebench.query import AspectScope
from evidencebench.runs.people.drafts import PickDraft, Picks, checked_picks
from evidencebench.runs.people.people_folder import PeopleFolder
from evidencebench.runs.people.person import Person, Submission

_log = logging.getLogger(__name__)


class _PicksBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The picks of a person in one paper, as the page sends them."""

    person: str
    id: str
    sentences: tuple[int, ...]
    reached: Annotated[int, msgspec.Meta(ge=0)]
    seconds: Annotated[int, msgspec.Meta(ge=0)]
    revision: Annotated[int, msgspec.Meta(ge=0)]
    tab: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


def _draft_fields(draft: PickDraft) -> Mapping[str, object]:
    return {
        "sentences": draft.sentences,
        "reached": draft.reached,
        "seconds": draft.seconds,
        "revision": draft.revision,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a person sees before submitting: the paper, and how many sentences may be picked. Systems get the same."""

    paper: PaperRecord
    budget: int


class QueuedPaper(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the queue of papers; the queue is the same for every person."""

    position: int
    id: str
    hypothesis: str
    n_sentences: int


class MeanRecall(msgspec.Struct, frozen=True, kw_only=True):
    """The mean aspect recall of the person or of a system, on the papers that the person has submitted.

    ``text`` is the mean with its interval in percent. Both ends are None where there is one paper only.
    """

    label: str
    text: str
    is_you: bool = False
    mean: float
    low: float | None
    high: float | None


class OwnScores(msgspec.Struct, frozen=True, kw_only=True):
    """How well a person has done on what the person has submitted: a summary, means (the best first), recalls by id."""

    summary: str
    means: tuple[MeanRecall, ...]
    recalls: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PickingPages:
    """The routes under ``/api/people/``, and the rule who may see an answer.

    ``queue`` maps the ids of all offered instances to their rows, in file order. ``offer`` returns the part of an
    instance that is shown before it is submitted. ``reveal`` takes (person, id, submission), and returns the record
    that is shown afterwards. ``scores`` returns how well a person has done, None before a submission. All
    are passed in, since they read the data set and its labels.
    """

    people: PeopleFolder
    title: str
    scope: AspectScope
    queue: Mapping[str, QueuedPaper]
    offer: Callable[[str], Offer]
    reveal: Callable[[Person, str, Submission], object]
    scores: Callable[[Person], OwnScores | None]
    sign_ins: SignIns = field(default_factory=SignIns)

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes. Every one answers in JSON; `answer_error` answers the errors that they raise.

        `SecuredApp` has checked each request: its Host and origin are right, and its body is JSON of at most 64 KiB.
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

    async def answer_error(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - starlette's signature
        """Return the response to an `EvidenceBenchError`; it names no path of this machine.

        Where the fault is the server's (status 500 or more), the whole message goes to the terminal.
        """
        details: Mapping[str, object] = {}  # the state on the server, where another tab of the person was faster
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
            case _:  # an error in the data; its own message may name an aspect, which is a label
                status, words = 500, "this paper cannot be offered: 'evidencebench data validate' says why"
        if status >= 500:  # noqa: PLR2004 - the server's fault
            _log.warning("%s", error)
        return json_response({"error": words, **details}, status)

    def close(self) -> None:
        """Close the files of all people."""
        self.people.close()

    def may_see(self, request: Request, instance_id: str) -> bool:
        """Say whether the person who is signed in has submitted an instance."""
        person = self._person_of(request)
        return person is not None and instance_id in self.queue and person.submission(instance_id) is not None

    def overview(self, request: Request) -> object:
        """Return the name of the person who is signed in, the task, and the number of papers."""
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
        """Return `overview` as a response."""
        return json_response(self.overview(request))

    async def sign_in(self, request: Request) -> Response:
        """Sign a person in by name; a cookie keeps the token in the browser."""
        body = await read_body(request, NameBody)
        person = await run_in_threadpool(self.people.person, body.name)
        return self.sign_ins.begin(request, person.name, is_new=person.is_new)

    async def sign_out(self, request: Request) -> Response:
        """Sign the person of this browser out; their picks are kept."""
        return self.sign_ins.end(request)

    async def show_queue(self, request: Request) -> Response:
        """Return the papers of the queue, each with its status and how many sentences the person has picked.

        ``last`` is the id of the one that the person has worked on last without submitting it. Submitted papers have
        their recall, and ``scores`` stands beside them where there are some.
        """
        person = self._required_person(request, request.query_params.get("person"))
        scores = await run_in_threadpool(self.scores, person)
        recalls = {} if scores is None else scores.recalls
        rows = [
            {
                **msgspec.structs.asdict(row),
                "status": person.status(instance_id),
                "n_picked": len(_picked_sentences(person, instance_id)),
                **({"recall": recalls[instance_id]} if instance_id in recalls else {}),
            }
            for instance_id, row in self.queue.items()
        ]
        last = person.last_draft if person.last_draft in self.queue else None
        told = {} if scores is None else {"scores": {"summary": scores.summary, "means": scores.means}}
        return json_response({"person": person.name, "task": self.people.task, "rows": rows, "last": last, **told})

    async def show_paper(self, request: Request) -> Response:
        """Return a paper that is not submitted, with the picks so far; the person's time begins to count."""
        if request.method == "HEAD":  # it would start the person's time, and show no paper
            raise RefusedError(405, "this page cannot be asked in that way")
        person = self._required_person(request, request.query_params.get("person"))
        offer = await run_in_threadpool(self._offer_of, read_id(request))
        draft = await run_in_threadpool(person.begin, offer.paper.id)
        return json_response(
            {
                "person": person.name,
                "paper": offer.paper,
                "budget": offer.budget,
                "scope": self.scope,
                **_draft_fields(draft),
            }
        )

    async def save_draft(self, request: Request) -> Response:
        """Save picks that are not final; where another tab has changed them, `answer_error` returns that tab's."""
        person, instance_id, picks = await self._read_picks(request)
        return json_response(_draft_fields(await run_in_threadpool(person.save, instance_id, picks)))

    async def submit(self, request: Request) -> Response:
        """Make picks final, and return the instance with its labels."""
        person, instance_id, picks = await self._read_picks(request)
        await run_in_threadpool(person.submit, instance_id, picks)
        return await self._reveal_response(person, instance_id)

    async def review(self, request: Request) -> Response:
        """Return an instance that the person has submitted, with its labels."""
        person = self._required_person(request, request.query_params.get("person"))
        return await self._reveal_response(person, read_id(request))

    async def _reveal_response(self, person: Person, instance_id: str) -> Response:
        submission = person.submission(instance_id) if instance_id in self.queue else None
        if submission is None:
            raise RefusedError(403, "the answer is shown once you have submitted yours")
        return json_response(await run_in_threadpool(self.reveal, person, instance_id, submission))

    async def _read_picks(self, request: Request) -> tuple[Person, str, Picks]:
        """Return (person, instance id, picks) of a request; refuse picks that break the budget or name no sentence."""
        body = await read_body(request, _PicksBody)
        person = self._required_person(request, body.person)
        offer = await run_in_threadpool(self._offer_of, body.id)
        sentences = checked_picks(body.sentences, n_sentences=len(offer.paper.sentences), budget=offer.budget)
        picks = Picks(
            sentences=sentences,
            reached=min(body.reached, len(offer.paper.sentences) - 1),
            seconds=body.seconds,
            revision=body.revision,
            tab=body.tab,
        )
        return person, body.id, picks

    def _offer_of(self, instance_id: str) -> Offer:
        if instance_id not in self.queue:
            raise RefusedError(404, "no such paper in the queue")
        return self.offer(instance_id)

    def _required_person(self, request: Request, name: str | None) -> Person:
        """Return the person who is signed in; refuse where the page shows another ``name``: tabs share one session."""
        return self.people.person(self.sign_ins.required_name(request, name))

    def _person_of(self, request: Request) -> Person | None:
        name = self.sign_ins.name(request)
        return None if name is None else self.people.person(name)


def _picked_sentences(person: Person, instance_id: str) -> Sequence[int]:
    found = person.submission(instance_id) or person.draft(instance_id)
    return () if found is None else found.sentences
