"""How far a review is, how well people agree, and where they differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isclose

import msgspec
import numpy as np

from evidencebench.construction.people.agreement import Agreement, compare_raters, studentised
from evidencebench.construction.people.answers import Annotations
from evidencebench.construction.people.marks import LEAST_VALUES, collect_marks
from evidencebench.construction.people.tasks import AnnotationTask
from evidencebench.review.decisions import said_in, words_of_decision
from evidencebench.review.found import paper_of
from evidencebench.review.questions import AnswerKind
from evidencebench.review.table import DeskCell, ReviewTable
from evidencebench.review.values import as_number
from evidencebench.runs.answers import DecisionAnswer, MarksAnswer
from evidencebench.scoring.resampling import Floats, Resampling

MEASURES = {"accuracy": "same", "kappa": "kappa", "alpha": "alpha"}
"""Of the agreement on decisions, and what tables call them."""
_MARGIN = 0.05  # no labels are compared with, so that nothing is tested against it


class Reviewer(msgspec.Struct, frozen=True, kw_only=True):
    person: str
    n_decided: int
    n_accepted: int  # sentences
    minutes: float
    n_blind: int  # decided while nobody saw what others say
    decisions: dict[str, int]


class KindAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How two people agree on the questions whose answers are of one kind."""

    kind: AnswerKind
    n_cells: int
    n_differing: int
    measures: dict[str, Agreement]  # accuracy; where answers are few names, kappa and alpha too
    n_numbers: int = 0  # cells for which both gave numbers, of the same arms
    n_exact: int = 0
    n_close: int = 0  # all numbers within 5 %


class PairOfReviewers(msgspec.Struct, frozen=True, kw_only=True):
    """How two people agree on the cells that both decided: in what they decided, and in which sentences they accept."""

    first: str
    second: str
    n_cells: int
    n_differing: int
    kinds: tuple[KindAgreement, ...]
    sentences: dict[str, Agreement]


class Dispute(msgspec.Struct, frozen=True, kw_only=True):
    paper: str
    question: str
    sides: dict[str, str]  # person -> what the person decided, in words
    agreed: str  # empty: nothing yet
    agreed_by: str
    is_of_sentences: bool = False  # all decided the same, of other sentences


class ReviewReport(msgspec.Struct, frozen=True, kw_only=True):
    n_papers: int
    n_questions: int
    n_found: int  # cells
    n_decided: int
    unread: dict[str, str]  # file -> why
    reviewers: tuple[Reviewer, ...]
    pairs: tuple[PairOfReviewers, ...]
    disputes: tuple[Dispute, ...]
    n_elsewhere: int  # answers of cells that are not here: papers or questions taken away, texts that changed


def report_review(table: ReviewTable, resampling: Resampling) -> ReviewReport:
    """Return the report; where people worked blind, their agreement is that of their last blind answers."""
    people, cells = table.decisions.read_all(), list(table.cells())
    by_key = {cell.key: cell for cell in cells if cell.key}
    blind = {
        person: {key: answer for key, answer in answers.items() if answer.choice}
        for person, answers in table.decisions.blind().items()
    }
    counted = {
        person: {key: answer for key, answer in {**answers, **blind[person]}.items() if key in by_key and answer.choice}
        for person, answers in people.items()
    }
    disputes = [
        Dispute(
            paper=cell.title,
            question=cell.question.text,
            sides={side.person: words_of_decision(side.decision) for side in cell.decided.sides},
            agreed=words_of_decision(cell.decided.agreed) if cell.decided.agreed else "",
            agreed_by=cell.decided.agreed.by if cell.decided.agreed else "",
            is_of_sentences=cell.decided.differs_in_sentences,
        )
        for cell in cells
        if cell.decided is not None and cell.decided.differs
    ]
    papers = table.desk.papers
    return ReviewReport(
        n_papers=len(papers),
        n_questions=len(table.desk.questions),
        n_found=sum(cell.found is not None and not cell.error for cell in cells),
        n_decided=sum(cell.decided is not None and cell.decided.is_decided for cell in cells),
        unread={paper.file: paper.read.error for paper in papers if paper.read and paper.read.error},
        reviewers=tuple(
            _reviewer(person, answers, len(blind[person])) for person, answers in people.items() if answers
        ),
        pairs=tuple(_pair(table, by_key, counted, pair, resampling) for pair in combinations(sorted(counted), 2)),
        disputes=tuple(disputes),
        n_elsewhere=sum(key not in by_key for answers in people.values() for key in answers),
    )


def _reviewer(person: str, answers: Mapping[str, DecisionAnswer], n_blind: int) -> Reviewer:
    decided = [answer for answer in answers.values() if answer.choice]
    return Reviewer(
        person=person,
        n_decided=len(decided),
        n_accepted=sum(len(answer.evidence) for answer in decided),
        minutes=round(sum(answer.seconds for answer in answers.values()) / 60, 1),
        n_blind=n_blind,
        decisions=dict(Counter(answer.choice for answer in decided)),
    )


def _pair(
    table: ReviewTable,
    cells: Mapping[str, DeskCell],
    people: Mapping[str, Mapping[str, DecisionAnswer]],
    pair: tuple[str, str],
    resampling: Resampling,
) -> PairOfReviewers:
    one, other = (people[person] for person in pair)
    both = [key for key in cells if key in one and key in other]
    by_kind: dict[AnswerKind, dict[str, tuple[DecisionAnswer, DecisionAnswer]]] = {}
    for key in both:
        by_kind.setdefault(cells[key].question.kind, {})[key] = one[key], other[key]
    kinds = tuple(_kind_agreement(kind, answers, resampling) for kind, answers in by_kind.items())
    sentences: dict[str, Agreement] = {}
    if both:
        tasks = [_as_task(table, key, cells[key]) for key in both]
        marks = {
            person: {
                task.id: MarksAnswer(
                    id=task.id,
                    sentences=_marked(table, cells[task.id], people[person][task.id], len(task.sentences)),
                    is_done=True,
                )
                for task in tasks
            }
            for person in pair
        }
        compared = compare_raters(collect_marks(tasks, Annotations(by_annotator=marks)), resampling, _MARGIN)
        sentences = compared.pairs[0].measures
    return PairOfReviewers(
        first=pair[0],
        second=pair[1],
        n_cells=len(both),
        n_differing=sum(kind.n_differing for kind in kinds),
        kinds=kinds,
        sentences=sentences,
    )


_CLOSE = 0.05  # of two numbers, as a share of the larger one


def _kind_agreement(
    kind: AnswerKind, answers: Mapping[str, tuple[DecisionAnswer, DecisionAnswer]], resampling: Resampling
) -> KindAgreement:
    papers = [paper_of(key) for key in answers]
    said = [(said_in(one), said_in(other)) for one, other in answers.values()]
    n_differing = sum(one != other for one, other in said)
    if kind in {"number", "text"}:  # there is no end of what may be said, so that chance says nothing
        same = nominal_agreement(
            papers, [("same", "same" if one == other else "other") for one, other in said], resampling
        )
        measures = {"accuracy": same["accuracy"]}
    else:
        measures = nominal_agreement(papers, said, resampling)
    numbers = [pair for pair in map(_numbers, answers.values()) if pair] if kind == "number" else []
    return KindAgreement(
        kind=kind,
        n_cells=len(answers),
        n_differing=n_differing,
        measures=measures,
        n_numbers=len(numbers),
        n_exact=sum(all(one == other for one, other in pairs) for pairs in numbers),
        n_close=sum(all(isclose(one, other, rel_tol=_CLOSE) for one, other in pairs) for pairs in numbers),
    )


def _numbers(pair: tuple[DecisionAnswer, DecisionAnswer]) -> list[tuple[float, float]]:
    """Return the numbers of two people, arm by arm; none where they named different arms, or one gave no number."""
    one, other = ({value.arm.casefold(): as_number(value.value) for value in answer.values} for answer in pair)
    return [(number, other[arm]) for arm, number in one.items()] if one.keys() == other.keys() else []


def _marked(table: ReviewTable, cell: DeskCell, answer: DecisionAnswer, n_sentences: int) -> tuple[int, ...]:
    now = table.as_read_now(cell.place[0], answer)
    return tuple(index for index in now.accepted if index < n_sentences)


def _as_task(table: ReviewTable, key: str, cell: DeskCell) -> AnnotationTask:
    text = table.text(cell.id)
    return AnnotationTask(id=key, instance_id=key, paper_id=paper_of(key), sentences=text.sentences, kinds=text.kinds)


# Two people who choose one of several names.


def nominal_agreement(
    papers: Sequence[str], said: Sequence[tuple[str, str]], resampling: Resampling
) -> dict[str, Agreement]:
    """Return how two people agree on decisions, with intervals over the papers."""
    numbers: dict[str, int] = {}
    of_paper = np.array([numbers.setdefault(paper, len(numbers)) for paper in papers])
    place = {name: at for at, name in enumerate(sorted({name for names in said for name in names}))}
    pairs = np.array([[place[name] for name in names] for names in said])
    n_names = len(place)
    tables = np.zeros((len(numbers), n_names * n_names))
    np.add.at(tables, (of_paper, pairs[:, 0] * n_names + pairs[:, 1]), 1)
    drawn = studentised(tables, nominal_statistic, resampling)
    least = [LEAST_VALUES[name] for name in MEASURES]
    return {name: drawn.agreement(at, resampling.level, least[at]) for at, name in enumerate(MEASURES)}


def nominal_statistic(totals: Floats) -> Floats:
    """Return accuracy, Cohen's kappa and Krippendorff's alpha of square tables (... x names squared)."""
    n_names = int(np.sqrt(totals.shape[-1]))
    tables = totals.reshape(*totals.shape[:-1], n_names, n_names)
    first, second, n = tables.sum(-1), tables.sum(-2), totals.sum(-1)
    same, both = np.trace(tables, axis1=-2, axis2=-1), first + second
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy, expected = same / n, (first * second).sum(-1) / n**2
        kappa = (accuracy - expected) / (1 - expected)
        by_chance = 1 - (both * (both - 1)).sum(-1) / (2 * n * (2 * n - 1))  # of two values, that they differ
        alpha = 1 - (1 - accuracy) / by_chance
    figures = np.stack([accuracy, kappa, alpha], axis=-1)
    return np.where(np.isfinite(figures), figures, np.nan)
