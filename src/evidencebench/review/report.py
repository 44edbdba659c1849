"""How far a review is, how well people agree, and where they differ."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np

from evidencebench.construction.people.agreement import Agreement, compare_raters, studentised
from evidencebench.construction.people.answers import Annotations
from evidencebench.construction.people.marks import LEAST_VALUES, collect_marks
from evidencebench.construction.people.tasks import AnnotationTask
from evidencebench.review.decisions import DECISIONS
from evidencebench.review.found import paper_of
from evidencebench.review.table import DeskCell, ReviewTable
from evidencebench.runs.answers import DecisionAnswer, MarksAnswer
from evidencebench.scoring.resampling import Floats, Resampling

MEASURES = {"accuracy": "same", "kappa": "kappa", "alpha": "alpha"}
"""Of the agreement on decisions, and what tables call them."""
_MARGIN = 0.05  # no labels are compared with, so that nothing is tested against it
_NAMES = tuple(DECISIONS)


class Reviewer(msgspec.Struct, frozen=True, kw_only=True):
    person: str
    n_decided: int
    n_accepted: int  # sentences
    minutes: float
    n_blind: int  # decided while nobody saw what others say
    decisions: dict[str, int]


class PairOfReviewers(msgspec.Struct, frozen=True, kw_only=True):
    """How two people agree on the cells that both decided: in what they decided, and in which sentences they accept."""

    first: str
    second: str
    n_cells: int
    n_differing: int
    decisions: dict[str, Agreement]
    sentences: dict[str, Agreement]


class Dispute(msgspec.Struct, frozen=True, kw_only=True):
    paper: str
    question: str
    sides: dict[str, str]  # person -> decision
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
            question=cell.question,
            sides={side.person: side.decision.choice for side in cell.decided.sides},
            agreed=cell.decided.agreed.choice if cell.decided.agreed else "",
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
        reviewers=tuple(_reviewer(person, answers, len(blind[person])) for person, answers in people.items()),
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
        decisions={name: n for name in _NAMES if (n := sum(answer.choice == name for answer in decided))},
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
    said = [(one[key].choice, other[key].choice) for key in both]
    decisions, sentences = dict[str, Agreement](), dict[str, Agreement]()
    if both:
        papers = [paper_of(key) for key in both]
        decisions = nominal_agreement(papers, said, resampling)
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
        n_differing=sum(first != second for first, second in said),
        decisions=decisions,
        sentences=sentences,
    )


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
    pairs = np.array([[_NAMES.index(name) for name in names] for names in said])
    n_names = len(_NAMES)
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
