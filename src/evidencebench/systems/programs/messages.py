"""The lines that a program and we exchange: its greeting, our requests, its answers."""

from typing import Any

import msgspec

from evidencebench.errors import ProgramError, ProgramOutputError
from evidencebench.models.llm.credentials import without_known_keys
from evidencebench.query import Query
from evidencebench.system import Brief, Ranking

PROTOCOL = 1
"""The version of these lines. It grows when a program that was written for an earlier one would answer wrongly."""


class Greeting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a program: the version of the lines that it speaks, and its traits, as in `Traits`."""

    protocol: int
    reads_brief: bool = False
    reads_hypothesis: bool = True
    selects: bool = False
    versions: dict[str, str] = {}


class ProgramAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to a request: the fields of a `Ranking`, or an error. An ``id`` must be the request's."""

    sentences: tuple[int, ...] | None = None
    scores: tuple[float, ...] | None = None
    ordered: bool = True
    notes: dict[str, int] = {}
    error: str | None = None
    id: int | None = None


def encode_request(number: int, query: Query, brief: Brief) -> bytes:
    """Return a request, its line end included: all that a system may read, and nothing else."""
    request = {
        "protocol": PROTOCOL,
        "id": number,
        "query": {
            "instance_id": query.instance_id,
            "paper_id": query.paper_id,
            "hypothesis": query.hypothesis,
            "sentences": query.sentences,
            "kinds": query.kinds,
            "wish": query.wish,
        },
        "brief": {"budget": brief.budget, "scope": brief.scope, "task": brief.task},
    }
    return msgspec.json.encode(request) + b"\n"


def decode_greeting(line: bytes) -> Greeting:
    """Return a program's greeting; raises `ProgramOutputError` where the line is none."""
    greeting: Greeting = _decoded(line, Greeting, f'{{"protocol":{PROTOCOL}}} as its first line')
    if greeting.protocol != PROTOCOL:
        raise ProgramOutputError(f"expected protocol {PROTOCOL}, got {greeting.protocol}")
    return greeting


def decode_answer_line(line: bytes, number: int) -> Ranking:
    """Return the answer in a line; raises `ProgramOutputError` where it holds none, `ProgramError` for an error."""
    answer: ProgramAnswer = _decoded(line, ProgramAnswer, 'an answer, such as {"sentences":[4,0]} or {"error":"..."}')
    if answer.id is not None and answer.id != number:
        raise ProgramOutputError(f"expected the answer to request {number}, got that to {answer.id}")
    if (answer.sentences is None) == (answer.error is None):
        raise ProgramOutputError(f"expected either sentences or an error, got {_shown(line)}")
    if answer.sentences is None:
        raise ProgramError(f"the program says: {without_known_keys(str(answer.error))}")
    return Ranking(sentences=answer.sentences, scores=answer.scores, ordered=answer.ordered, notes=answer.notes)


def _decoded(line: bytes, kind: type[Any], expected: str) -> Any:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProgramOutputError(f"expected {expected}, got {_shown(line)}: {error}") from error


def _shown(line: bytes) -> str:
    text = without_known_keys(line.decode(errors="replace"))
    return repr(text if len(text) <= 80 else f"{text[:80]}...")  # noqa: PLR2004 - in characters
