"""Find the evidence for one hypothesis in one paper of the user's own."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TypeVar

from evidencebench.errors import EvidenceBenchError, PendingError
from evidencebench.papers.paper import Paper, Place, SourceSpan, Unit
from evidencebench.query import Kind, Query, Wish
from evidencebench.system import Brief, NamedSystem, Ranking
from evidencebench.systems.bm25 import BM25
from evidencebench.systems.directions import DirectionReader, ReportedDirection, Stance, reported_directions, stance_of
from evidencebench.systems.question import QuestionKind, question_of
from evidencebench.systems.relevance import topic_words, unmentioned_words

_Answered = TypeVar("_Answered")

# Titles of sections that state findings, such as "Methods and results", and of those that state none of this paper.
_FINDINGS = re.compile(r"(?i)\b(?:results?|findings|discussion|conclusions?)\b")
_NO_FINDINGS = re.compile(r"(?i)\b(?:introduction|background|objectives?|aims?|methods?|methodology|statistic\w*)\b")

DEFAULT_FINDER = "finder"


class PaperVerdict(StrEnum):
    """Whether a paper holds evidence for or against a hypothesis."""

    FOUND = "found"
    UNSURE = "unsure"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSentence:
    sentence: int
    text: str
    kind: Kind
    place: Place
    span: SourceSpan
    chance: float | None = None  # that it is evidence, in 0..1; None where the system is not calibrated
    direction: ReportedDirection | None = None  # None: not a question of an effect
    stance: Stance | None = None  # None: the sentence does not say, or the hypothesis claims no direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a system found for a hypothesis in a paper; it is not asked where no word of it is mentioned."""

    paper: Paper
    hypothesis: str
    evidence: tuple[FoundSentence, ...]  # best first; in paper order where it is not ordered
    ordered: bool
    verdict: PaperVerdict | None = None  # None: the system does not judge
    units: tuple[Unit, ...] = ()  # in tables, captions, footnotes, end matter: best first
    unmentioned: tuple[str, ...]  # words of the hypothesis that no sentence has
    by_words: bool = False  # whether words alone chose, since the finder was trained on questions of effects
    notes: Mapping[str, int] = field(default_factory=dict)


def find_evidence(
    system: NamedSystem,
    paper: Paper,
    hypothesis: str,
    *,
    brief: Brief,
    wish: Wish | None = None,
    settle: Callable[[], bool] | None = None,
    read_directions: DirectionReader = reported_directions,
) -> Finding:
    """Return what a system finds in a paper; ``settle`` waits for a batch and says whether to ask again."""
    query = paper.query_for(hypothesis, wish=wish)
    unmentioned = unmentioned_words(hypothesis, paper.sentences)
    topic = topic_words(hypothesis)
    is_mentioned = not topic or len(unmentioned) < len(topic)
    question = question_of(hypothesis)
    by_words = system.name == DEFAULT_FINDER and question.kind is not QuestionKind.EFFECT
    if by_words:
        system = NamedSystem(name="bm25", options={}, system=BM25())
    answer = _answer(system, query, brief, settle) if is_mentioned else Ranking(sentences=())
    indices = answer.sentences if answer.ordered else sorted(answer.sentences)
    selected = [index for index in indices if query.kinds[index] is not Kind.HEADING]  # a heading is no evidence
    selected = selected[: brief.budget] if answer.ordered else selected
    chances = _named_failures(system, lambda: system.chances(query)) if selected else None
    directions: Mapping[int, ReportedDirection] = {}
    if question.kind is QuestionKind.EFFECT:
        readable = [index for index in selected if _may_hold_findings(paper.places[index])]
        read = _settled(partial(read_directions, hypothesis, paper.sentences, readable), settle)
        directions = dict.fromkeys(selected, ReportedDirection.NOT_SAID) | dict(read)
    return Finding(
        paper=paper,
        hypothesis=hypothesis,
        evidence=tuple(
            FoundSentence(
                sentence=index,
                text=paper.sentences[index],
                kind=paper.kinds[index],
                place=paper.places[index],
                span=paper.spans[index],
                chance=None if chances is None else chances[index],
                direction=directions.get(index),
                stance=stance_of(directions.get(index), question),
            )
            for index in selected
        ),
        ordered=answer.ordered,
        unmentioned=unmentioned,
        by_words=by_words,
        notes=answer.notes,
    )


def _may_hold_findings(place: Place) -> bool:
    """Whether a section can state what this paper found, by the outermost title that tells."""
    title = next((title for title in place.section if _FINDINGS.search(title) or _NO_FINDINGS.search(title)), "results")
    return _FINDINGS.search(title) is not None


def _answer(system: NamedSystem, query: Query, brief: Brief, settle: Callable[[], bool] | None) -> Ranking:
    if system.knows_labels:
        raise EvidenceBenchError(f"find: {system.name} needs the answers, which a paper does not bring along")
    answer = _named_failures(system, lambda: _settled(lambda: system.rank(query, brief), settle))
    if not answer.ordered and not system.selects:
        raise EvidenceBenchError(f"find: {system.name} gives its sentences no order, so that there are no best ones")
    return answer


def _named_failures(system: NamedSystem, ask: Callable[[], _Answered]) -> _Answered:
    """Return what a system is asked for; its own code can fail in any way, and is then named."""
    try:
        return ask()
    except EvidenceBenchError:
        raise
    except Exception as error:
        raise EvidenceBenchError(f"find: {system.name} failed: {type(error).__name__}: {error}") from error


def _settled(ask: Callable[[], _Answered], settle: Callable[[], bool] | None) -> _Answered:
    """Return what is asked for; ask again after each batch that it has to wait for."""
    while True:
        try:
            return ask()
        except PendingError:
            if settle is None or not settle():
                raise
