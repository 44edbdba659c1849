"""People with each other against people with the model: agreement, the difference, equivalence, shares of yes.

Intervals are studentised bootstraps over whole papers, with the jackknife's standard error in every draw. Of those that
were tried it alone keeps its level for rare marks whose rate of errors differs between papers: see
``docs/construction-results.md``, section Agreement, and ``tools/make_agreement_table.py``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from evidencebench.construction.people.answers import Annotations
from evidencebench.construction.people.labels import Labelled
from evidencebench.construction.people.marks import (
    LEAST_VALUES,
    MISSING,
    Marks,
    PairSort,
    PairStatistic,
    collect_marks,
    matched,
)
from evidencebench.construction.people.sampling import LABELLED, UNLABELLED
from evidencebench.construction.people.tasks import TasksFile, TaskSort
from evidencebench.errors import RunMismatchError, UndefinedScoreError
from evidencebench.runs.people import MODEL, TOGETHER
from evidencebench.scoring.resampling import Floats, Resampling, proportion, shared_counts
from evidencebench.wording import counted

LEAST_DEFINED = 0.99  # an interval is given where at least this share of the draws has a value and a standard error
_MOST_NUMBERS = 2_000_000  # of draws x papers x columns at a time, for memory


Statistic = Callable[[Floats], Floats]
"""Turns sums over papers (... x columns) into values, such as a `PairStatistic`."""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    value: float | None  # None where it is undefined
    low: float | None  # of the interval; None where there is none
    high: float | None

    def __str__(self) -> str:
        """Return it in percent, with the interval."""
        if self.value is None:
            return "undefined"
        has_ends = self.low is not None and self.high is not None
        ends = f"[{100 * self.low:.1f}, {100 * self.high:.1f}]" if has_ends else "(no interval)"  # type: ignore[operator]
        return f"{100 * self.value:.1f} {ends}"


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

    def agreement(self, which: int, level: float, least: float, most: float = 1.0) -> Agreement:
        value, interval = float(self.values[which]), self.interval(which, level)
        low, high = (None, None) if interval is None else np.clip(interval, least, most).tolist()
        return Agreement(value=None if np.isnan(value) else value, low=low, high=high)

    def p_value(self, which: int, bound: float, *, is_above: bool) -> float | None:
        """Return the one-sided p-value that is small where a value is clearly above, or below, a bound."""
        drawn, sign = self.deviations[which], 1 if is_above else -1
        if np.isnan(drawn[0]):
            return None
        seen = sign * (self.values[which] - bound) / self.errors[which]
        return float((1 + (sign * drawn >= seen).sum()) / (1 + len(drawn)))


def studentised(sums: Floats, statistic: Statistic, resampling: Resampling) -> StudentisedDraws:
    """Return a statistic's values, and what their intervals are made of (Davison and Hinkley 1997, section 5.2)."""
    (values,), (errors,) = jackknife(sums, np.ones((1, len(sums))), statistic)
    draws, rows = shared_counts(len(sums), resampling), _MOST_NUMBERS // sums.size + 1
    blocks = (counts[start : start + rows] for counts in draws for start in range(0, len(counts), rows))
    parts = zip(*(jackknife(sums, block, statistic) for block in blocks), strict=True)
    drawn, drawn_errors = (np.concatenate(part) for part in parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = (drawn - values) / drawn_errors
    is_finite = np.isfinite(deviations)
    has_interval = (is_finite.mean(0) >= LEAST_DEFINED) & (errors > 0)
    # A draw without a standard error counts as far away on both sides in turn, which widens the interval.
    sides = np.where(np.arange(len(deviations)) % 2, np.inf, -np.inf)[:, None]
    filled = np.where(has_interval, np.where(is_finite, deviations, sides), np.nan)
    return StudentisedDraws(values=values, errors=errors, deviations=np.sort(filled.T, axis=1))


def jackknife(sums: Floats, weights: Floats, statistic: Statistic) -> tuple[Floats, Floats]:
    """Return values and standard errors (draws x values) of draws that hold each paper so often (draws x papers)."""
    totals, n_drawn, n_of_each = weights @ sums, weights.sum(1)[:, None], weights[:, :, None]
    # One copy of one paper is left out at a time (Efron and Tibshirani 1993, chapter 11).
    without = statistic(totals[:, None, :] - sums)
    is_in = n_of_each > 0  # what leaving out a paper gives that is not in the draw has no meaning
    means = (n_of_each * np.where(is_in, without, 0.0)).sum(1) / n_drawn
    squares = (n_of_each * np.where(is_in, (without - means[:, None, :]) ** 2, 0.0)).sum(1)
    return statistic(totals), np.sqrt((n_drawn - 1) / n_drawn * squares)


EQUIVALENCE_ALPHA = 0.05  # equivalence is claimed where both one-sided p-values are below it
NOT_TESTED = "accuracy"  # for equivalence: marks are rare, so that raters who share none of them still agree on most


class RaterPair(msgspec.Struct, frozen=True, kw_only=True):
    sort: PairSort
    first: str
    second: str
    n_tasks: int
    measures: dict[str, Agreement]


class Equivalence(msgspec.Struct, frozen=True, kw_only=True):
    """Two one-sided tests (Schuirmann 1987) of whether the true difference is within the margin; None: no interval."""

    p_value: float | None  # the larger of the two
    p_not_worse: float | None  # of the one test of whether the difference is above -margin
    low: float | None  # of the interval at 1 - 2 alpha, which goes with the tests
    high: float | None


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    measure: str
    human_human: Agreement
    human_model: Agreement
    difference: Agreement  # the second less the first
    p_value: float | None  # two-sided, of no difference
    equivalence: Equivalence | None  # None for the measure that is not tested


class RaterComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All pairs; Krippendorff's alpha of all people, and with the model; and the contrasts, none without a model."""

    pairs: tuple[RaterPair, ...]
    alpha_people: Agreement
    alpha_all: Agreement
    contrasts: tuple[Contrast, ...]


def compare_raters(marks: Marks, resampling: Resampling, margin: float) -> RaterComparison:
    """Return how all raters agree; ``margin`` is a share, such as 0.05 for five points of kappa."""
    statistic, people = PairStatistic(pairs=marks.pairs), range(len(marks.people))
    everybody = [number for number, rater in enumerate(marks.raters) if rater != TOGETHER]
    tables = [marks.tables(first, second) for _, first, second in statistic.pairs]
    sums = np.concatenate([*tables, marks.coincidences(people), marks.coincidences(everybody)], axis=1)
    drawn = studentised(sums, statistic, resampling)

    def agreement(place: int, least: float, most: float = 1.0) -> Agreement:
        return drawn.agreement(place, resampling.level, least, most)

    pairs = []
    for number, (sort, first, second) in enumerate(statistic.pairs):
        n_tasks = marks.n_tasks((marks.values[[first, second]] != MISSING).all(0))
        measures = {name: agreement(statistic.place(name, number), least) for name, least in LEAST_VALUES.items()}
        one, other = marks.raters[first], marks.raters[second]
        pairs.append(RaterPair(sort=sort, first=one, second=other, n_tasks=n_tasks, measures=measures))
    contrasts = []
    for measure, least in LEAST_VALUES.items() if len(people) > 1 and MODEL in marks.raters else ():
        human_human, human_model, place = (statistic.place(measure, which) for which in (-3, -2, -1))
        above, below = (drawn.p_value(place, 0, is_above=side) for side in (True, False))
        contrast = Contrast(
            measure=measure,
            human_human=agreement(human_human, least),
            human_model=agreement(human_model, least),
            difference=agreement(place, -2, 2),
            p_value=None if above is None or below is None else min(1.0, 2 * min(above, below)),
            equivalence=None if measure == NOT_TESTED else equivalence_at(drawn, place, margin),
        )
        contrasts.append(contrast)
    alphas = [agreement(place, LEAST_VALUES["alpha"]) for place in (-2, -1)]
    return RaterComparison(pairs=tuple(pairs), alpha_people=alphas[0], alpha_all=alphas[1], contrasts=tuple(contrasts))


def equivalence_at(drawn: StudentisedDraws, which: int, margin: float) -> Equivalence:
    above, below = drawn.p_value(which, -margin, is_above=True), drawn.p_value(which, margin, is_above=False)
    low, high = drawn.interval(which, 1 - 2 * EQUIVALENCE_ALPHA) or (None, None)
    p_value = None if above is None or below is None else max(above, below)
    return Equivalence(p_value=p_value, p_not_worse=above, low=low, high=high)


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
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
    for column in np.flatnonzero((values == 1).any(0) & (values == 0).any(0)).tolist():
        task = marks.tasks[marks.task_of[column]]
        number, kind, text = task.number, criterion, task.text or task.aspect or task.hypothesis
        before, after = task.before, task.after
        if not criterion:
            number = column - int(np.searchsorted(marks.task_of, marks.task_of[column]))
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
    return sorted(disagreements, key=lambda row: (MODEL,) not in {row.marked_by, row.not_marked_by})


class RaterCount(msgspec.Struct, frozen=True, kw_only=True):
    group: str  # what the labels say of what is counted, or "all"
    rater: str
    n_tasks: int
    n_judged: int
    n_yes: int
    low: float | None  # exact; None where sentences are marked: those of a paper are not independent
    high: float | None


class CriterionReport(msgspec.Struct, frozen=True, kw_only=True):
    criterion: str  # empty where sentences are marked
    counts: tuple[RaterCount, ...]
    agreement: RaterComparison | None  # None where only one rater judged anything


class ValidationReport(msgspec.Struct, frozen=True, kw_only=True):
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
            counts=tuple(_counts(marks, criterion, resampling.level)),
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


def _counts(marks: Marks, criterion: str, level: float) -> Iterator[RaterCount]:
    """Yield how often each rater says yes; of a criterion, where the labels do and where they do not."""
    groups = {"all": np.ones(len(marks.task_of), dtype=bool)}
    if criterion and MODEL in marks.raters:
        groups = {LABELLED: marks.values[-1] == 1, UNLABELLED: marks.values[-1] == 0}
    for group, are_in in groups.items():
        for rater, values in zip(marks.raters, marks.values, strict=True):
            judged = are_in & (values != MISSING)
            k, n = int((values[judged] == 1).sum()), int(judged.sum())
            if n and not (criterion and rater == MODEL):
                exact, n_tasks = proportion(k, n, level), marks.n_tasks(judged)
                low, high = (exact.low, exact.high) if criterion else (None, None)
                yield RaterCount(group=group, rater=rater, n_tasks=n_tasks, n_judged=n, n_yes=k, low=low, high=high)
