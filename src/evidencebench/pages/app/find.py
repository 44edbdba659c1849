"""The app's page for a paper of the reader's own: take a file, find evidence in it, export what was found."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from evidencebench.errors import EvidenceBenchError
from evidencebench.execution import findings as telling
from evidencebench.execution.finding import Finding, find_evidence
from evidencebench.pages.app.server import Address, RefusedError, decode, json_response, page_app
from evidencebench.pages.findings_page import findings_page
from evidencebench.pages.html import FIND_STYLES, encode_json
from evidencebench.pages.paper import text_record
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_content
from evidencebench.query import Goal
from evidencebench.system import NamedSystem
from evidencebench.tables import as_csv, as_markdown

PAPER_PATH = "/api/find/paper"
MOST_SENTENCES = 100
"""The most sentences of an answer: the page shows as many of them as the reader wants."""

_MOST_PAPERS = 8
_LONGEST_NAME = 200


class _Question(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    paper: str
    hypothesis: Annotated[str, msgspec.Meta(min_length=1, max_length=5_000)]
    goal: Goal = "answer"


class _Export(_Question, kw_only=True, forbid_unknown_fields=True):
    budget: Annotated[int, msgspec.Meta(ge=1, le=MOST_SENTENCES)]
    format: Literal["csv", "markdown", "json", "ris", "html"]
    split: bool = False


# Format of an export -> the suffix of its file, and the function that writes it, given whether to group by direction.
_EXPORTS: Mapping[str, tuple[str, Callable[[Finding, bool], str]]] = {
    "csv": (".csv", lambda finding, _: as_csv(telling.findings_table([finding])) + "\n"),
    "markdown": (".md", lambda finding, _: as_markdown(telling.findings_table([finding])) + "\n"),
    "json": (".json", lambda finding, _: encode_json(telling.finding_record(finding)).decode()),
    "ris": (".ris", lambda finding, _: telling.findings_ris([finding])),
    "html": (".html", lambda finding, split: findings_page([finding], split=split)),
}


def make_finding_app(system: NamedSystem, *, address: Address) -> ASGIApp:
    papers: OrderedDict[str, Paper] = OrderedDict()  # the last few that were sent, by the checksum of their files
    lock = threading.Lock()

    def take_paper(request: Request) -> Response:
        content, name = request.state.body, request.query_params.get("name", "")[:_LONGEST_NAME] or "the pasted text"
        key = hashlib.sha256(content).hexdigest()
        paper = read_content(content, name=name)
        with lock:
            papers[key] = paper
            papers.move_to_end(key)
            while len(papers) > _MOST_PAPERS:
                papers.popitem(last=False)
        return json_response({"key": key, "format": paper.format, **text_record(paper)})

    def find(question: _Question) -> Finding:
        with lock:
            paper = papers.get(question.paper)
        if paper is None:
            raise RefusedError(410, "the app has forgotten this paper; send it again")
        return find_evidence(paper, question.hypothesis, budget=MOST_SENTENCES, system=system, goal=question.goal)

    def answer(request: Request) -> Response:
        finding = find(decode(request.state.body, _Question))
        meanings = {"chances": telling.CHANCE_MEANING, "directions": telling.DIRECTION_MEANING}
        how = {"strengths": telling.strengths(finding), "most_nearest": telling.MOST_NEAREST}
        words = {**meanings, "headings": telling.HEADINGS}
        return json_response({**telling.finding_record(finding), **words, **how})

    def export(request: Request) -> Response:
        wanted = decode(request.state.body, _Export)
        finding = find(wanted)
        suffix, text_of = _EXPORTS[wanted.format]
        text = text_of(replace(finding, evidence=finding.evidence[: wanted.budget]), wanted.split)
        return json_response({"name": f"evidence{suffix}", "text": text})

    routes = (
        Route(PAPER_PATH, take_paper, methods=["POST"]),
        Route("/api/find/answer", answer, methods=["POST"]),
        Route("/api/find/export", export, methods=["POST"]),
    )
    return page_app(
        "Find evidence in your own papers",
        routes,
        source="find",
        address=address,
        module="find_page",
        styles=FIND_STYLES,
        errors={EvidenceBenchError: lambda _, error: json_response({"error": str(error)}, 422)},
        file_paths=frozenset({PAPER_PATH}),
    )
