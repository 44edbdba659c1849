"""People with each other against people with the model: agreement, the difference, equivalence, power.

Intervals are studentised bootstraps over whole papers, with the jackknife's standard error in every draw. Of those that
were tried it alone keeps its level for rare marks whose rate of errors differs between papers: see
``docs/construction-results.md``, section Agreement, and ``tools/make_agreement_table.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from evidencebench.construction.people.answers import Annotations
from evidencebench.construction.people.marks import LEAST_VALUES, PAIR_MEASURES, Marks, PairSort, PairStatistic, sums_of
from evidencebench.construction.people.tasks import TasksFile
from evidencebench.errors import UndefinedScoreError
from evidencebench.query import Kind
from evidencebench.scoring.resampling import Floats, Resampling, proportion
from evidencebench.tables import Cell, Table

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
    n_sentences: int
    n_marked_first: int
    n_marked_second: int
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
        one, other = marks.values[first], marks.values[second]
        judged = (one >= 0) & (other >= 0)
        pair = RaterPair(
            sort=sort,
            first=marks.raters[first],
            second=marks.raters[second],
            n_tasks=len(set(marks.task_of[judged].tolist())),
            n_sentences=int(judged.sum()),
            n_marked_first=int((one[judged] == 1).sum()),
            n_marked_second=int((other[judged] == 1).sum()),
            measures={
                name: agreement(statistic.place(name, number), (least, 1)) for name, least in LEAST_VALUES.items()
            },
        )
        pairs.append(pair)
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
    number: int
    kind: str
    sentence: str
    before: str  # the sentence before it, empty for the first
    after: str
    marked_by: tuple[str, ...]
    not_marked_by: tuple[str, ...]


def disagreements_in(marks: Marks) -> list[Disagreement]:
    """Return the disagreements: those of the model against all people first, then in the order of the tasks."""
    disagreements, raters = [], np.array(marks.raters)
    differ = np.flatnonzero((marks.values == 1).any(0) & (marks.values == 0).any(0))
    starts = np.searchsorted(marks.task_of, np.arange(len(marks.tasks)))
    for column in differ.tolist():
        task = marks.tasks[marks.task_of[column]]
        number = column - int(starts[marks.task_of[column]])
        disagreement = Disagreement(
            task=task.id,
            paper_id=task.paper_id,
            aspect=task.aspect,
            number=number,
            kind=task.kinds[number].name.lower(),
            sentence=task.sentences[number],
            before=task.sentences[number - 1] if number else "",
            after="".join(task.sentences[number + 1 : number + 2]),
            marked_by=tuple(raters[marks.values[:, column] == 1].tolist()),
            not_marked_by=tuple(raters[marks.values[:, column] == 0].tolist()),
        )
        disagreements.append(disagreement)
    if marks.model is not None:
        disagreements.sort(key=lambda row: (marks.model,) not in {row.marked_by, row.not_marked_by})
    return disagreements


def disagreement_table(disagreements: Sequence[Disagreement], raters: Sequence[str]) -> Table:
    rows: list[list[Cell]] = []
    for one in disagreements:
        judgments = ["yes" if name in one.marked_by else "no" if name in one.not_marked_by else "" for name in raters]
        begin: list[Cell] = [one.task, one.paper_id, one.aspect, one.number, one.kind, one.sentence]
        rows.append([*begin, *judgments, one.before, one.after])
    columns = ["task", "paper", "aspect", "number", "kind", "sentence", *raters, "before", "after"]
    return Table(columns=columns, rows=rows)


WANTED_POWER = 0.8
MOST_PAPERS = 20_000  # more are not looked for
FEWEST_PAPERS = 10  # fewer are not advised, whatever the power: no interval over so few can be trusted
_STEP = 1.02  # the number of papers is found to within 2 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """The chance to show equivalence of one measure within a margin, from the papers of a pilot."""

    measure: str
    margin: float
    n_papers: int  # of the pilot
    now: float | None = None  # with as many, if there is no true difference; None: these allow no estimate
    needed: int | None = None  # papers for `WANTED_POWER`, if there is no true difference; None: over `MOST_PAPERS`


def power_of(tables: Floats, statistic: PairStatistic, *, margin: float, seed: int = 0) -> Power:
    """Return the power of the equivalence test of a measure; ``tables`` are the pilot's, as of `chance_to_show`."""
    n_papers, (measure,) = len(tables), statistic.measures
    values, errors = jackknife(tables, np.ones((1, n_papers)), statistic)
    if not (np.isfinite(values[0, -1]) and errors[0, -1] > 0):
        return Power(measure=measure, margin=margin, n_papers=n_papers)

    chance = partial(chance_to_show, tables, statistic, margin=margin, seed=seed)
    low = high = FEWEST_PAPERS
    while high <= MOST_PAPERS and chance(n=high) < WANTED_POWER:
        low, high = high, 2 * high
    while high <= MOST_PAPERS and high > low + 1 and high > low * _STEP:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(n=middle) >= WANTED_POWER else (middle, high)
    needed = high if high <= MOST_PAPERS else None
    return Power(measure=measure, margin=margin, n_papers=n_papers, now=chance(n=n_papers), needed=needed)


def chance_to_show(tables: Floats, statistic: PairStatistic, *, n: int, margin: float, seed: int) -> float:
    """Return the chance that a study of ``n`` papers shows equivalence of a measure, if there is no true difference.

    ``tables`` are the pilot's, papers x 4 columns a pair. Draws of n of its papers, moved so that their mean difference
    is 0, are what a study would see. Student's t stands in place of the studentised bootstrap.
    """
    weights = np.random.default_rng(seed).multinomial(n, np.full(len(tables), 1 / len(tables)), size=1_000)
    values, errors = jackknife(tables, weights, statistic)
    moved = values[:, -1] - statistic(tables.sum(0))[-1]
    reach = student_quantile(1 - EQUIVALENCE_ALPHA, n - 1) * errors[:, -1]
    return float((np.abs(moved) + reach < margin).mean())  # false where it is NaN


def student_quantile(share: float, degrees: int) -> float:
    """Return the quantile of Student's t, to within 0.001 from 9 degrees on (Abramowitz and Stegun 1964, 26.7.5)."""
    z = NormalDist().inv_cdf(share)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(sum(term / degrees**power for power, term in enumerate(terms)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterCount:
    rater: str
    n_tasks: int
    n_sentences: int
    n_marked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkReport:
    n_tasks: int
    n_papers: int
    margin: float
    raters: tuple[RaterCount, ...]
    everything: RaterComparison
    by_kind: dict[str, RaterComparison]  # abstract, heading, body: those that the papers have
    power: tuple[Power, ...]  # none without a model, or with one annotator
    disagreements: tuple[Disagreement, ...]


def report_marks(marks: Marks, *, resampling: Resampling, margin: float) -> MarkReport:
    if not marks.pairs:
        raise UndefinedScoreError(
            f"expected two raters to compare, got {len(marks.raters)} with a task that is done; give --data to compare "
            "with the model, or wait for a second annotator"
        )
    everything = compare_raters(marks, resampling, margin)
    sums, statistic = sums_of(marks)
    tables = sums[:, : 4 * len(statistic.pairs)]
    return MarkReport(
        n_tasks=len(marks.tasks),
        n_papers=marks.n_papers,
        margin=margin,
        raters=tuple(
            RaterCount(
                rater=rater,
                n_tasks=len(set(marks.task_of[values >= 0].tolist())),
                n_sentences=int((values >= 0).sum()),
                n_marked=int((values == 1).sum()),
            )
            for rater, values in zip(marks.raters, marks.values, strict=True)
        ),
        everything=everything,
        by_kind={
            kind.name.lower(): compare_raters(marks.of_kind(kind), resampling, margin)
            for kind in Kind
            if kind in marks.kinds
        },
        power=tuple(
            power_of(tables, replace(statistic, measures=(name,)), margin=margin, seed=resampling.seed)
            for name in (("f1", "kappa") if everything.contrasts else ())
        ),
        disagreements=tuple(disagreements_in(marks)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedShare:
    criterion: str
    rater: str
    n_yes: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsReport:
    """Each criterion by each rater, and by the majority of those who rated the task; a tie is a no."""

    n_tasks: int
    shares: tuple[RatedShare, ...]
    n_shared: int  # tasks that two or more people rated
    n_unanimous: dict[str, int]  # criterion -> on how many of these all say the same


def report_ratings(tasks: TasksFile, annotations: Annotations, level: float = 0.95) -> RatingsReport:
    votes: dict[str, dict[str, dict[str, bool]]] = {}  # criterion -> rater -> task -> yes
    for rater, answers in sorted(annotations.by_annotator.items()):
        for annotation in answers.values():
            for criterion, is_met in (annotation.ratings or {}).items() if annotation.is_done else ():
                votes.setdefault(criterion, {}).setdefault(rater, {})[annotation.task] = is_met
    if not votes:
        raise UndefinedScoreError("expected ratings, but no annotator is done with a task")
    shares: list[RatedShare] = []
    n_unanimous: dict[str, int] = {}
    n_shared = 0
    for criterion in (criterion.name for criterion in tasks.header.criteria):
        by_rater = votes[criterion]
        by_task = [[given[task.id] for given in by_rater.values() if task.id in given] for task in tasks.records]
        answers_of = {rater: list(given.values()) for rater, given in by_rater.items()}
        if len(answers_of) > 1:
            answers_of["majority"] = [2 * sum(given) > len(given) for given in by_task if given]
        for rater, given in answers_of.items():
            share = proportion(sum(given), len(given), level)
            row = RatedShare(criterion=criterion, rater=rater, n_yes=share.k, n=share.n, low=share.low, high=share.high)
            shares.append(row)
        shared = [given for given in by_task if len(given) > 1]
        n_shared, n_unanimous[criterion] = len(shared), sum(len(set(given)) == 1 for given in shared)
    return RatingsReport(n_tasks=len(tasks.records), shares=tuple(shares), n_shared=n_shared, n_unanimous=n_unanimous)
