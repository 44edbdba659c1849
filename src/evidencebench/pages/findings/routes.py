"""The app's page for a paper of the reader's own: take a file, find evidence in it, export what was found."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from evidencebench.errors import DataError, EvidenceBenchError
from evidencebench.execution.finding import Finding, find_evidence
from evidencebench.pages.app.serving import Address
from evidencebench.pages.app.static import page_app
from evidencebench.pages.findings.exports import findings_ris, findings_table
from evidencebench.pages.findings.page import findings_page
from evidencebench.pages.findings.records import finding_record, paper_record
from evidencebench.pages.findings.words import CHANCE_MEANING, DIRECTION_MEANING, HEADINGS
from evidencebench.pages.markup import encode_json
from evidencebench.pages.responses import RefusedError, json_response
from evidencebench.pages.viewer.page_parts import FIND_SCRIPTS, FIND_STYLES
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_content
from evidencebench.query import Wish
from evidencebench.storage.reading import BROKEN_JSON
from evidencebench.system import Brief, NamedSystem
from evidencebench.systems.directions.classifier import reported_directions
from evidencebench.tables import as_csv, as_markdown

PAPER_PATH = "/api/find/paper"
MOST_SENTENCES = 100
"""The most sentences of an answer: the page shows as many of them as the reader wants."""

_MOST_PAPERS = 8
_LONGEST_NAME = 200

_Body = TypeVar("_Body")


class _Question(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    paper: str
    hypothesis: Annotated[str, msgspec.Meta(min_length=1, max_length=5_000)]
    wish: Wish = "answer"


class _Export(_Question, kw_only=True, forbid_unknown_fields=True):
    budget: Annotated[int, msgspec.Meta(ge=1, le=MOST_SENTENCES)]
    format: Literal["csv", "markdown", "json", "ris", "html"]
    split: bool = False


# Format of an export -> the suffix of its file, and the function that writes it.
_EXPORTS: Mapping[str, tuple[str, Callable[[Finding], str]]] = {
    "csv": (".csv", lambda finding: as_csv(findings_table([finding])) + "\n"),
    "markdown": (".md", lambda finding: as_markdown(findings_table([finding])) + "\n"),
    "json": (".json", lambda finding: encode_json(finding_record(finding)).decode()),
    "ris": (".ris", lambda finding: findings_ris([finding])),
    "html": (".html", lambda finding: findings_page([finding])),
}


def make_finding_app(system: NamedSystem, *, address: Address) -> ASGIApp:
    """Return an app of this one page, with its security checks; ``address`` is where it is served."""
    return page_app(
        "Evidence in a paper of your own",
        FindingPages(system=system).routes(),
        source="find",
        address=address,
        scripts=FIND_SCRIPTS,
        styles=FIND_STYLES,
        file_paths=frozenset({PAPER_PATH}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingPages:
    """The routes below ``/api/find/``; the last few papers that were sent are kept, by the checksum of their files."""

    system: NamedSystem
    papers: OrderedDict[str, Paper] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def routes(self) -> tuple[BaseRoute, ...]:
        """Return the routes: a paper is sent, asked about, and what was found is exported."""
        return (
            Route(PAPER_PATH, self.take_paper, methods=["POST"]),
            Route("/api/find/answer", self.answer, methods=["POST"]),
            Route("/api/find/export", self.export, methods=["POST"]),
        )

    async def take_paper(self, request: Request) -> Response:
        """Read the file that is the body of the request, and return the paper."""
        name = request.query_params.get("name", "")[:_LONGEST_NAME] or "the pasted text"
        content = await request.body()
        return await run_in_threadpool(lambda: json_response(self.keep_paper(content, name)))

    def keep_paper(self, content: bytes, name: str) -> dict[str, object]:
        """Read a paper and keep it; return its record, with the key by which it is asked about."""
        key = hashlib.sha256(content).hexdigest()
        try:
            paper = read_content(content, name=name)
        except DataError as error:
            raise RefusedError(422, str(error)) from error
        with self.lock:
            self.papers[key] = paper
            self.papers.move_to_end(key)
            while len(self.papers) > _MOST_PAPERS:
                self.papers.popitem(last=False)
        return {"key": key, **paper_record(paper)}

    async def answer(self, request: Request) -> Response:
        """Return the evidence for a hypothesis in a paper that was sent, best first, and the page's words for it."""
        question = _decoded(_Question, await request.body())
        words = {"headings": HEADINGS, "chances": CHANCE_MEANING, "directions": DIRECTION_MEANING}

        def answer() -> Response:
            return json_response({**finding_record(self._find(question, split=True)), **words})

        return await run_in_threadpool(answer)

    async def export(self, request: Request) -> Response:
        """Return the first sentences of an answer as a file: its name and its text."""
        wanted = _decoded(_Export, await request.body())

        def write() -> Response:
            finding = self._find(wanted, split=wanted.split)
            suffix, text_of = _EXPORTS[wanted.format]
            cut = replace(finding, evidence=finding.evidence[: wanted.budget])
            try:
                return json_response({"name": f"evidence{suffix}", "text": text_of(cut)})
            except EvidenceBenchError as error:
                raise RefusedError(422, str(error)) from error

        return await run_in_threadpool(write)

    def _find(self, question: _Question, *, split: bool) -> Finding:
        with self.lock:
            paper = self.papers.get(question.paper)
        if paper is None:
            raise RefusedError(410, "the app has forgotten this paper; send it again")
        try:
            brief = Brief(budget=MOST_SENTENCES)
            read = reported_directions if split else None
            return find_evidence(
                self.system, paper, question.hypothesis, brief=brief, wish=question.wish, read_directions=read
            )
        except EvidenceBenchError as error:
            raise RefusedError(422, str(error)) from error


def _decoded(shape: type[_Body], body: bytes) -> _Body:
    try:
        return msgspec.json.decode(body, type=shape)
    except BROKEN_JSON as error:
        raise RefusedError(400, f"the request is not as expected: {error}") from error
