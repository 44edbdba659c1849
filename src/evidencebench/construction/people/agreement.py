"""People with each other against people with the model: agreement, the difference, equivalence, shares of yes.

Intervals are studentised bootstraps over whole papers, with the jackknife's standard error in every draw. Of those that
were tried it alone keeps its level for rare marks whose rate of errors differs between papers: see
``docs/construction-results.md``, section Agreement, and ``tools/make_agreement_table.py``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evidencebench.construction.people.answers import MODEL, TOGETHER, Annotations
from evidencebench.construction.people.labels import Labelled
from evidencebench.construction.people.marks import (
    LEAST_VALUES,
    MISSING,
    PAIR_MEASURES,
    Marks,
    PairSort,
    collect_marks,
    matched,
    sums_of,
)
from evidencebench.construction.people.sampling import LABELLED, UNLABELLED
from evidencebench.construction.people.tasks import TasksFile, TaskSort
from evidencebench.errors import RunMismatchError, UndefinedScoreError
from evidencebench.scoring.resampling import Floats, Proportion, Resampling, proportion
from evidencebench.wording import counted

Statistic = Callable[[Floats], Floats]
"""Totals over papers (... x columns) -> values (... x values)."""

LEAST_DEFINED = 0.99  # an interval is given where at least this share of the draws has a value and a standard error

_BLOCK_NUMBERS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentisedDraws:
    """Values, their standard errors, and how far the draws lay from them, in standard errors."""

    values: Floats
    errors: Floats
    deviations: Floats  # values x draws, ascending; NaN in all of a value that has none

    def interval(self, which: int, level: float) -> tuple[float, float] | None:
        drawn = self.deviations[which]
        if np.isnan(drawn[0]):
            return None
        high, low = np.quantile(drawn, [(1 + level) / 2, (1 - level) / 2])
        ends = self.values[which] - np.array([high, low]) * self.errors[which]
        return (float(ends[0]), float(ends[1])) if np.isfinite(ends).all() else None

    def p_value(self, which: int, bound: float, *, is_above: bool) -> float | None:
        """Return the one-sided p-value that is small where a value is clearly above, or below, a bound."""
        drawn, sign = self.deviations[which], 1 if is_above else -1
        if np.isnan(drawn[0]):
            return None
        seen = sign * (self.values[which] - bound) / self.errors[which]
        return float((1 + (sign * drawn >= seen).sum()) / (1 + len(drawn)))


def studentised(sums: Floats, statistic: Statistic, resampling: Resampling) -> StudentisedDraws:
    """Return the values of a statistic of the papers' sums (papers x columns), and what their intervals are made of.

    As in Davison and Hinkley, "Bootstrap Methods and their Application" (1997), section 5.2.
    """
    n_papers = len(sums)
    values, errors = (figures[0] for figures in jackknife(sums, np.ones((1, n_papers)), statistic))
    generator = resampling.generator()
    drawn_papers = generator.multinomial(n_papers, np.full(n_papers, 1 / n_papers), size=resampling.n_draws)
    drawn, drawn_errors = jackknife(sums, drawn_papers, statistic)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = (drawn - values) / drawn_errors
    has_interval = (np.isfinite(deviations).mean(0) >= LEAST_DEFINED) & (errors > 0)
    deviations[~np.isfinite(deviations)] = np.nan
    deviations[:, ~has_interval] = np.nan
    # A draw without a standard error counts as far away on both sides in turn, which widens the interval.
    lost = np.isnan(deviations)
    sides = np.where(np.arange(len(deviations)) % 2, np.inf, -np.inf)[:, None]
    filled = np.where(lost & has_interval, np.broadcast_to(sides, deviations.shape), deviations)
    return StudentisedDraws(values=values, errors=errors, deviations=np.sort(filled.T, axis=1))


def jackknife(sums: Floats, weights: Floats | npt.NDArray[np.int64], statistic: Statistic) -> tuple[Floats, Floats]:
    """Return the values and the standard errors (draws x values) of draws that hold each paper so often.

    One copy of one paper is left out at a time (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter
    11); ``weights`` is draws x papers.
    """
    rows = max(1, _BLOCK_NUMBERS // max(1, sums.size))
    values, errors = [], []
    for start in range(0, len(weights), rows):
        block = weights[start : start + rows].astype(np.float64)
        totals, n_drawn = block @ sums, block.sum(1)[:, None]
        without = statistic(totals[:, None, :] - sums[None, :, :])
        is_in = block[:, :, None] > 0  # what leaving out a paper gives that is not in the draw has no meaning
        means = (block[:, :, None] * np.where(is_in, without, 0.0)).sum(1) / n_drawn
        squares = (block[:, :, None] * np.where(is_in, (without - means[:, None, :]) ** 2, 0.0)).sum(1)
        values.append(statistic(totals))
        errors.append(np.sqrt((n_drawn - 1) / n_drawn * squares))
    return np.concatenate(values), np.concatenate(errors)


EQUIVALENCE_ALPHA = 0.05  # equivalence is claimed where both one-sided p-values are below it
NOT_TESTED = "accuracy"  # for equivalence: marks are rare, so that raters who share none of them still agree on most


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    value: float | None  # None where it is undefined
    low: float | None = None  # of the interval; None where there is none
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterPair:
    sort: PairSort
    first: str
    second: str
    n_tasks: int
    measures: dict[str, Agreement]


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """Two one-sided tests (Schuirmann 1987) of whether the true difference is within the margin; None: no interval."""

    margin: float
    p_value: float | None  # the larger of the two
    p_not_worse: float | None  # of the one test of whether the difference is above -margin
    low: float | None  # the interval at 1 - 2 alpha that goes with the tests
    high: float | None

    @property
    def is_shown(self) -> bool:
        return self.p_value is not None and self.p_value < EQUIVALENCE_ALPHA

    @property
    def is_not_worse(self) -> bool:
        return self.p_not_worse is not None and self.p_not_worse < EQUIVALENCE_ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    measure: str
    human_human: Agreement
    human_model: Agreement
    difference: Agreement  # the second less the first
    p_value: float | None  # two-sided, of no difference
    equivalence: Equivalence | None  # None for the measure that is not tested


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterComparison:
    """All pairs; Krippendorff's alpha of all people, and with the model; and the contrasts, none without a model."""

    pairs: tuple[RaterPair, ...]
    alpha_people: Agreement
    alpha_all: Agreement
    contrasts: tuple[Contrast, ...]


def compare_raters(marks: Marks, resampling: Resampling, margin: float) -> RaterComparison:
    """Return how all raters agree; ``margin`` is a share, such as 0.05 for five points of kappa."""
    sums, statistic = sums_of(marks)
    drawn = studentised(sums, statistic, resampling)

    def agreement(place: int, bounds: tuple[float, float]) -> Agreement:
        value = float(drawn.values[place])
        ends = drawn.interval(place, resampling.level)
        if np.isnan(value) or ends is None:
            return Agreement(value=None if np.isnan(value) else value)
        low, high = (min(max(end, bounds[0]), bounds[1]) for end in ends)
        return Agreement(value=value, low=low, high=high)

    pairs = []
    for number, (sort, first, second) in enumerate(statistic.pairs):
        judged = (marks.values[[first, second]] != MISSING).all(0)
        n_tasks = len(set(marks.task_of[judged].tolist()))
        measures = {name: agreement(statistic.place(name, number), (least, 1)) for name, least in LEAST_VALUES.items()}
        one, other = marks.raters[first], marks.raters[second]
        pairs.append(RaterPair(sort=sort, first=one, second=other, n_tasks=n_tasks, measures=measures))
    contrasts = []
    for measure, least in LEAST_VALUES.items() if len(marks.people) > 1 and marks.model is not None else ():
        place = statistic.place(measure, -1)
        above, below = (drawn.p_value(place, 0, is_above=side) for side in (True, False))
        contrast = Contrast(
            measure=measure,
            human_human=agreement(statistic.place(measure, -3), (least, 1)),
            human_model=agreement(statistic.place(measure, -2), (least, 1)),
            difference=agreement(place, (-2, 2)),
            p_value=None if above is None or below is None else min(1.0, 2 * min(above, below)),
            equivalence=None if measure == NOT_TESTED else equivalence_at(drawn, place, margin),
        )
        contrasts.append(contrast)
    n_values = len(PAIR_MEASURES) * statistic.n_of_measure
    people, everybody = (agreement(n_values + number, (LEAST_VALUES["alpha"], 1)) for number in (0, 1))
    return RaterComparison(pairs=tuple(pairs), alpha_people=people, alpha_all=everybody, contrasts=tuple(contrasts))


def equivalence_at(drawn: StudentisedDraws, which: int, margin: float) -> Equivalence:
    above, below = drawn.p_value(which, -margin, is_above=True), drawn.p_value(which, margin, is_above=False)
    low, high = drawn.interval(which, 1 - 2 * EQUIVALENCE_ALPHA) or (None, None)
    p_value = None if above is None or below is None else max(above, below)
    return Equivalence(margin=margin, p_value=p_value, p_not_worse=above, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    task: str
    paper_id: str
    aspect: str
    number: int | None  # of the sentence
    kind: str  # of the sentence, or the criterion
    sentence: str  # or what else is rated
    before: str  # what stands before it
    after: str
    marked_by: tuple[str, ...]
    not_marked_by: tuple[str, ...]


def disagreements_in(marks: Marks, criterion: str = "") -> list[Disagreement]:
    """Return the disagreements: those of the model against all people first, then in the order of the tasks."""
    are_single = np.array([rater != TOGETHER for rater in marks.raters])
    disagreements, raters, values = [], np.array(marks.raters)[are_single], marks.values[are_single]
    differ = np.flatnonzero((values == 1).any(0) & (values == 0).any(0))
    starts = np.searchsorted(marks.task_of, np.arange(len(marks.tasks)))
    for column in differ.tolist():
        task = marks.tasks[marks.task_of[column]]
        number, kind, text = task.number, criterion, task.text or task.aspect or task.hypothesis
        before, after = task.before, task.after
        if not criterion:
            number = column - int(starts[marks.task_of[column]])
            kind, text = task.kinds[number].name.lower(), task.sentences[number]
            before = task.sentences[number - 1] if number else ""
            after = "".join(task.sentences[number + 1 : number + 2])
        disagreement = Disagreement(
            task=task.id,
            paper_id=task.paper_id,
            aspect=task.aspect,
            number=number,
            kind=kind,
            sentence=text,
            before=before,
            after=after,
            marked_by=tuple(raters[values[:, column] == 1].tolist()),
            not_marked_by=tuple(raters[values[:, column] == 0].tolist()),
        )
        disagreements.append(disagreement)
    if marks.model is not None:
        disagreements.sort(key=lambda row: (marks.model,) not in {row.marked_by, row.not_marked_by})
    return disagreements


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterCount:
    rater: str
    n_tasks: int
    n_sentences: int
    n_marked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedShare:
    group: str  # what the labels say of these tasks, or "all"
    rater: str
    share: Proportion


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionReport:
    criterion: str  # empty where sentences are marked
    raters: tuple[RaterCount, ...]  # where sentences are marked
    shares: tuple[RatedShare, ...]  # where they are not: sentences of a paper are not independent
    agreement: RaterComparison | None  # None where only one rater judged anything


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationReport:
    sort: TaskSort
    n_tasks: int
    n_papers: int
    n_changed: int  # tasks that are left out, since the labels have no such aspect any more
    margin: float
    criteria: tuple[CriterionReport, ...]
    disagreements: tuple[Disagreement, ...]


def report_answers(
    tasks: TasksFile,
    annotations: Annotations,
    labels: Labelled | None,
    *,
    resampling: Resampling,
    margin: float,
    teams: Mapping[str, Collection[str]] | None = None,
) -> ValidationReport:
    """Return what people answered, with each other and beside the labels; None: what is rated has none."""
    known = list(tasks.records) if labels is None else matched(tasks.records, labels)
    if not known:
        raise RunMismatchError(
            f"{tasks.path}: the labels have none of its {counted(len(tasks.records), 'aspect')}; give the data that it "
            "was drawn from, or draw anew into another --folder"
        )
    criteria, disagreements = [], []
    for criterion in [criterion.name for criterion in tasks.header.criteria] or [""]:
        marks = collect_marks(known, annotations, criterion=criterion, labels=labels, teams=teams)
        if not ((criterion and marks.people) or marks.pairs):
            raise UndefinedScoreError(f"{tasks.path}: expected answers, but no annotator is done with a task")
        report = CriterionReport(
            criterion=criterion,
            raters=() if criterion else tuple(_counts(marks)),
            shares=tuple(_shares(marks, resampling.level)) if criterion else (),
            agreement=compare_raters(marks, resampling, margin) if marks.pairs else None,
        )
        criteria.append(report)
        disagreements += disagreements_in(marks, criterion)
    return ValidationReport(
        sort=tasks.header.sort,
        n_tasks=len(known),
        n_papers=len({task.paper_id for task in known}),
        n_changed=len(tasks.records) - len(known),
        margin=margin,
        criteria=tuple(criteria),
        disagreements=tuple(disagreements),
    )


def _counts(marks: Marks) -> Iterator[RaterCount]:
    for rater, values in zip(marks.raters, marks.values, strict=True):
        judged = values != MISSING
        n_tasks = len(set(marks.task_of[judged].tolist()))
        yield RaterCount(rater=rater, n_tasks=n_tasks, n_sentences=int(judged.sum()), n_marked=int((values == 1).sum()))


def _shares(marks: Marks, level: float) -> Iterator[RatedShare]:
    """Yield how often each rater says yes, where the labels do and where they do not."""
    rows = {rater: values for rater, values in zip(marks.raters, marks.values, strict=True) if rater != MODEL}
    groups = {"all": np.ones(len(marks.tasks), dtype=bool)}
    if marks.model is not None:
        groups = {LABELLED: marks.values[-1] == 1, UNLABELLED: marks.values[-1] == 0}
    for group, are_in in groups.items():
        for rater, values in rows.items():
            if n := int((values[are_in] != MISSING).sum()):
                yield RatedShare(group=group, rater=rater, share=proportion(int((values[are_in] == 1).sum()), n, level))
