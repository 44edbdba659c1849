"""People with each other against people with the model: each pair's agreement, the difference, and equivalence."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from evidencebench.construction.people.agreement.marks import Marks, PairSort
from evidencebench.construction.people.agreement.pair_measures import PAIR_MEASURES, bounds_of
from evidencebench.construction.people.agreement.pair_statistic import PairStatistic, sums_of
from evidencebench.construction.people.agreement.studentised import StudentisedDraws, studentised
from evidencebench.scoring.resampling import Resampling

EQUIVALENCE_ALPHA = 0.05
"""Equivalence is claimed where both one-sided p-values are below it."""

NOT_TESTED = "accuracy"
"""No equivalence is tested for it: marks are rare, so that raters who share none of them still agree on most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A measure's value, None where it is undefined, and its interval, None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterPair:
    """How two raters agree: over how many tasks and sentences, what each marked, and the measures by name."""

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
    """Two one-sided tests of whether the true difference is within -margin..margin; None where there is no interval."""

    margin: float
    p_value: float | None  # the larger of the two
    p_not_worse: float | None  # of the one test of whether the difference is above -margin
    low: float | None  # the interval at 1 - 2 alpha that goes with the tests
    high: float | None

    @property
    def is_shown(self) -> bool:
        """Whether the test shows that the difference is within the margin."""
        return self.p_value is not None and self.p_value < EQUIVALENCE_ALPHA

    @property
    def is_not_worse(self) -> bool:
        """Whether a test shows that the difference is above -margin."""
        return self.p_not_worse is not None and self.p_not_worse < EQUIVALENCE_ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The mean agreement of people with each other, of people with the model, and the second less the first."""

    measure: str
    human_human: Agreement
    human_model: Agreement
    difference: Agreement
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
    pairs = [_rater_pair(marks, statistic, drawn, number, resampling.level) for number in range(len(statistic.pairs))]
    n_values = len(PAIR_MEASURES) * statistic.n_of_measure
    alphas = [
        agreement_at(drawn, n_values + number, resampling.level, bounds_of("alpha"))
        for number in range(statistic.n_alphas)
    ]
    has_contrast = len(marks.people) > 1 and marks.model is not None
    return RaterComparison(
        pairs=tuple(pairs),
        alpha_people=alphas[0],
        alpha_all=alphas[1],
        contrasts=_contrasts(statistic, drawn, resampling.level, margin) if has_contrast else (),
    )


def agreement_at(drawn: StudentisedDraws, which: int, level: float, bounds: tuple[float, float]) -> Agreement:
    """Return a value with its interval, cut at the bounds of what is possible; none where it is undefined."""
    value = float(drawn.values[which])
    if np.isnan(value):
        return Agreement(value=None)
    ends = drawn.interval(which, level)
    if ends is None:
        return Agreement(value=value)
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in ends)
    return Agreement(value=value, low=low, high=high)


def _rater_pair(
    marks: Marks, statistic: PairStatistic, drawn: StudentisedDraws, number: int, level: float
) -> RaterPair:
    sort, first, second = statistic.pairs[number]
    judged = (marks.values[first] >= 0) & (marks.values[second] >= 0)
    return RaterPair(
        sort=sort,
        first=marks.raters[first],
        second=marks.raters[second],
        n_tasks=len(set(marks.task_of[judged].tolist())),
        n_sentences=int(judged.sum()),
        n_marked_first=int((marks.values[first][judged] == 1).sum()),
        n_marked_second=int((marks.values[second][judged] == 1).sum()),
        measures={
            name: agreement_at(drawn, statistic.place(name, number), level, bounds_of(name)) for name in PAIR_MEASURES
        },
    )


def _contrasts(statistic: PairStatistic, drawn: StudentisedDraws, level: float, margin: float) -> tuple[Contrast, ...]:
    contrasts = []
    for measure in PAIR_MEASURES:
        place = statistic.place(measure, -1)
        above, below = drawn.p_above(place, 0), drawn.p_below(place, 0)
        means: dict[str, Any] = {
            name: agreement_at(drawn, statistic.place(measure, which), level, bounds)
            for name, which, bounds in (
                ("human_human", -3, bounds_of(measure)),
                ("human_model", -2, bounds_of(measure)),
                ("difference", -1, (-2.0, 2.0)),
            )
        }
        contrasts.append(
            Contrast(
                measure=measure,
                **means,
                p_value=None if above is None or below is None else min(1.0, 2 * min(above, below)),
                equivalence=None if measure == NOT_TESTED else equivalence_at(drawn, place, margin),
            )
        )
    return tuple(contrasts)


def equivalence_at(drawn: StudentisedDraws, which: int, margin: float) -> Equivalence:
    """Return the equivalence test of a value that is a difference: two one-sided tests (Schuirmann 1987)."""
    above, below = drawn.p_above(which, -margin), drawn.p_below(which, margin)
    low, high = drawn.interval(which, 1 - 2 * EQUIVALENCE_ALPHA) or (None, None)
    p_value = None if above is None or below is None else max(above, below)
    return Equivalence(margin=margin, p_value=p_value, p_not_worse=above, low=low, high=high)
