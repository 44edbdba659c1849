"""Find the evidence for one hypothesis in one paper of the user's own."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TypeVar

from evidencebench.errors import EvidenceBenchError, PendingError
from evidencebench.execution.answers import named_system
from evidencebench.execution.mentions import holds_nearly_all_words, words_nowhere
from evidencebench.papers.paper import Paper, Place, SourceSpan, UnitKind
from evidencebench.query import AspectScope, Goal, Kind, Query
from evidencebench.system import NamedSystem, PaperChance, Ranking, RankingTask, System
from evidencebench.systems.directions import DirectionReader, ReportedDirection, Stance, reported_directions, stance_of
from evidencebench.systems.question import ParsedQuestion, QuestionKind, question_of
from evidencebench.systems.relevance import topic_words, unmentioned_words
from evidencebench.wording import check_type, counted, one_line

_Answered = TypeVar("_Answered")

# Titles of sections that state findings, such as "Methods and results", and of those that state none of this paper.
_FINDINGS = re.compile(r"(?i)\b(?:results?|findings|discussion|conclusions?)\b")
_NO_FINDINGS = re.compile(r"(?i)\b(?:introduction|background|objectives?|aims?|methods?|methodology|statistic\w*)\b")

DEFAULT_FINDER = "finder"
SEMANTIC_FINDER = "finder:meaning=minilm"
LEAST_BEST = 0.1  # the best sentence's chance from which on a paper's evidence counts as found


class PaperVerdict(StrEnum):
    """Whether a paper holds evidence for or against a hypothesis."""

    FOUND = "found"
    UNSURE = "unsure"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSentence:
    """A sentence, or a row of a table, a caption or a note, that is evidence or near to it, and where it stands.

    ``sentence`` is its number in the paper from 0; those of units follow those of the sentences.
    """

    sentence: int
    text: str
    kind: Kind | UnitKind
    place: Place
    span: SourceSpan | None = None  # None: a unit has none
    label: str = ""  # of a unit, such as "Table 2"
    row: int | None = None  # of a table, from 1
    chance: float | None = None  # that it is evidence, in 0..1; None: the system is not calibrated, or found none
    direction: ReportedDirection | None = None  # None: not a question of an effect, or none was found
    stance: Stance | None = None  # None: the sentence does not say, or the hypothesis claims no direction

    @property
    def is_unit(self) -> bool:
        """Whether it stands beside the running text."""
        return isinstance(self.kind, UnitKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a system found for a hypothesis in a paper; it is not asked where no word of it is mentioned.

    ``verdict`` is "found", "unsure" or "none"; of the last two, ``evidence`` holds the nearest sentences.
    """

    paper: Paper
    hypothesis: str
    evidence: tuple[FoundSentence, ...]  # best first; in paper order where it is not ordered
    ordered: bool
    verdict: PaperVerdict | None = None  # None: the system does not judge
    chance: float | None = None  # that the paper answers, in 0..1; None where the system does not say
    right_first: float | None = None  # how often the first line answers such questions, in 0..1, where it is known
    unmentioned: tuple[str, ...]  # words of the hypothesis that no sentence and no unit has
    notes: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        verdict = () if self.verdict is None else (str(self.verdict),)
        return one_line(
            self, repr(self.hypothesis), repr(self.paper.name), *verdict, counted(len(self.evidence), "line")
        )


def find_evidence(
    paper: Paper,
    hypothesis: str,
    *,
    budget: int = 10,
    system: str | System = DEFAULT_FINDER,
    goal: Goal = "answer",
    scope: AspectScope = "all",
    settle: Callable[[], bool] | None = None,
    read_directions: DirectionReader = reported_directions,
) -> Finding:
    r"""Find the sentences of a paper that are evidence for or against a hypothesis, or answer a question.

    Parameters
    ----------
    paper
        As `read_paper` gives it.
    hypothesis
        A claim, a question or keywords: "Tea lowers blood pressure compared with water."
    budget
        The most sentences, at least 1; a system that names a set may name more.
    system
        What finds them: a specification as in ``evidencebench find --system``, or any object that ranks.
    goal
        ``"answer"``: sentences that answer the hypothesis; ``"study"``: all that a reviewer would note of the study.
    scope
        ``"all"``, or ``"results"``: outcomes and analyses only.
    settle
        Waits for a batch of a language model, and says whether to ask again.
    read_directions
        What says which direction sentences report; the package's own model where none is given.

    Returns
    -------
    Finding
        Its sentences, rows of tables, captions and notes, best first: each with a chance in 0..1 of being evidence
        where the system is calibrated, what it reports of the outcome under the intervention, and whether that supports
        the hypothesis.

    Raises
    ------
    EvidenceBenchError
        If the hypothesis is empty, the system is not known or fails, or it gives its sentences no order.

    Examples
    --------
    >>> from evidencebench import find_evidence, read_paper
    >>> text = b"# Results\nNurses slept.\nBlood pressure was lower with tea than with water (p = 0.01).\n"
    >>> finding = find_evidence(read_paper(text), "Tea lowers blood pressure compared with water.", budget=1)
    >>> best = finding.evidence[0]
    >>> best.text, str(best.direction), str(best.stance), best.place.paragraph
    ('Blood pressure was lower with tea than with water (p = 0.01).', 'decrease', 'supports', 1)
    """
    from evidencebench.execution.making import make_system  # noqa: PLC0415 - imports what asks models

    check_type(paper, Paper, "a paper, as read_paper(PATH) returns it")
    asked = make_system(system) if isinstance(system, str) else named_system(system)
    task = RankingTask(budget=budget, scope=scope)
    query = paper.query_for(hypothesis, goal=goal, with_units=True)
    not_in_text = unmentioned_words(hypothesis, paper.sentences)
    topic, unmentioned = topic_words(hypothesis), words_nowhere(paper, not_in_text)
    question = question_of(hypothesis)
    # A paper that answers "What was the size of the sample?" may have none of these words.
    is_mentioned = not topic or len(unmentioned) < len(topic) or question.kind is not QuestionKind.EFFECT
    answer = _answer(asked, query, task, settle) if is_mentioned else Ranking(sentences=())
    indices = answer.sentences if answer.ordered else sorted(answer.sentences)
    selected = [index for index in indices if query.kinds[index] is not Kind.HEADING]  # a heading is no evidence
    selected = selected[: task.budget] if answer.ordered else selected
    answers = _named_failures(asked, lambda: asked.answers(query)) if is_mentioned else None
    verdict = _verdict(answers, is_mentioned=is_mentioned)
    if verdict is PaperVerdict.NONE and holds_nearly_all_words(paper, hypothesis):  # one line does
        verdict = PaperVerdict.UNSURE
    may_be_evidence = verdict is not PaperVerdict.NONE  # else the nearest sentences are named, and nothing said of them
    chances = _named_failures(asked, lambda: asked.chances(query)) if selected and may_be_evidence else None
    if verdict is PaperVerdict.FOUND and chances and max(chances[index] for index in selected) < LEAST_BEST:
        verdict = PaperVerdict.UNSURE
    directions: Mapping[int, ReportedDirection] = {}
    if question.kind is QuestionKind.EFFECT and verdict in {None, PaperVerdict.FOUND}:  # else of something else
        sentences = [index for index in selected if index < len(paper.sentences)]
        readable = [index for index in sentences if _may_hold_findings(paper.places[index])]
        read = _settled(partial(read_directions, hypothesis, paper.sentences, readable), settle)
        directions = dict.fromkeys(sentences, ReportedDirection.NOT_SAID) | dict(read)
    return Finding(
        paper=paper,
        hypothesis=hypothesis,
        evidence=tuple(
            found_sentence(paper, index, question, None if chances is None else chances[index], directions.get(index))
            for index in selected
        ),
        ordered=answer.ordered,
        verdict=verdict,
        chance=None if answers is None else answers.chance,
        right_first=None if answers is None else answers.right_first,
        unmentioned=unmentioned,
        notes=answer.notes,
    )


def found_sentence(
    paper: Paper, number: int, question: ParsedQuestion, chance: float | None, direction: ReportedDirection | None
) -> FoundSentence:
    """Return a sentence of a paper, or the unit whose number follows the sentences', as it was found."""
    line = paper.line(number)
    return FoundSentence(
        sentence=number,
        text=line.text,
        kind=line.kind,
        place=line.place,
        span=line.span,
        label=line.label,
        row=line.row,
        chance=chance,
        direction=direction,
        stance=stance_of(direction, question),
    )


def _verdict(answers: PaperChance | None, *, is_mentioned: bool) -> PaperVerdict | None:
    if not is_mentioned:
        return PaperVerdict.NONE
    if answers is None:
        return None
    if answers.chance < answers.none_below:
        return PaperVerdict.NONE
    return PaperVerdict.FOUND if answers.chance >= answers.found_from else PaperVerdict.UNSURE


def _may_hold_findings(place: Place) -> bool:
    """Whether a section can state what this paper found, by the outermost title that tells."""
    title = next((title for title in place.section if _FINDINGS.search(title) or _NO_FINDINGS.search(title)), "results")
    return _FINDINGS.search(title) is not None


def _answer(system: NamedSystem, query: Query, task: RankingTask, settle: Callable[[], bool] | None) -> Ranking:
    if system.knows_labels:
        raise EvidenceBenchError(f"find: {system.name} needs the answers, which a paper does not bring along")
    answer = _named_failures(system, lambda: _settled(lambda: system.rank(query, task), settle))
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
