"""The whole report where sentences were marked."""

from dataclasses import dataclass

from evidencebench.construction.people.agreement.comparison import RaterComparison, compare_raters
from evidencebench.construction.people.agreement.disagreements import Disagreement, disagreements_in
from evidencebench.construction.people.agreement.marks import Marks
from evidencebench.construction.people.agreement.pair_statistic import sums_of
from evidencebench.construction.people.agreement.power import Power, power_of
from evidencebench.errors import UndefinedScoreError
from evidencebench.query import Kind
from evidencebench.scoring.resampling import Resampling

POWER_MEASURES = ("f1", "kappa")
"""The measures of which the power is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterCount:
    """How many tasks a rater is done with, and how many of their sentences the rater marked."""

    rater: str
    n_tasks: int
    n_sentences: int
    n_marked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkReport:
    """How people agree with each other and with the model: over all sentences, and over those of each kind."""

    n_tasks: int
    n_papers: int
    margin: float
    raters: tuple[RaterCount, ...]
    everything: RaterComparison
    by_kind: dict[str, RaterComparison]  # abstract, heading, body: those that the papers have
    power: tuple[Power, ...]  # none without a model, or with one annotator
    disagreements: tuple[Disagreement, ...]


def report_marks(marks: Marks, *, resampling: Resampling, margin: float) -> MarkReport:
    """Return the report; raises `UndefinedScoreError` where there is nobody to compare."""
    if not marks.pairs:
        raise UndefinedScoreError(
            f"expected two raters to compare, got {len(marks.raters)} with a task that is done; give --data to compare "
            "with the model, or wait for a second annotator"
        )
    everything = compare_raters(marks, resampling, margin)
    sums, statistic = sums_of(marks)
    power = tuple(
        power_of(sums, statistic.pairs, name, margin=margin, seed=resampling.seed)
        for name in (POWER_MEASURES if everything.contrasts else ())
    )
    return MarkReport(
        n_tasks=len(marks.tasks),
        n_papers=marks.n_papers,
        margin=margin,
        raters=tuple(_count(marks, number) for number in range(len(marks.raters))),
        everything=everything,
        by_kind={
            kind.name.lower(): compare_raters(marks.of_kind(kind), resampling, margin)
            for kind in Kind
            if kind in marks.kinds
        },
        power=power,
        disagreements=tuple(disagreements_in(marks)),
    )


def _count(marks: Marks, number: int) -> RaterCount:
    values = marks.values[number]
    return RaterCount(
        rater=marks.raters[number],
        n_tasks=len(set(marks.task_of[values >= 0].tolist())),
        n_sentences=int((values >= 0).sum()),
        n_marked=int((values == 1).sum()),
    )
