"""The scores of one system on one task: `TaskScores`, with how many answers failed, are empty and so on."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, final

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.errors import UndefinedScoreError
from evidencebench.scoring.measures import ASPECT_RECALL, MeasureOrName, measure_key
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Estimate, Floats, Resampling, bootstrap_defined
from evidencebench.scoring.selection import Selection
from evidencebench.tables import Cell, excerpt_html
from evidencebench.wording import one_line

SCORES = "the scores of a system on a task, evaluate(...)[SYSTEM][TASK]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    failed: int = 0
    empty: int = 0
    missing: int = 0
    duplicates: int = 0  # repeated sentences, removed
    out_of_range: int = 0  # sentences that do not exist, dropped on request
    over_length: int = 0  # unordered answers with more sentences than the budget
    ties: int = 0  # rankings with equal scores on both sides of the cut
    not_applicable: int = 0  # instances left out because none of their aspects counts

    @property
    def unanswered(self) -> int:
        """How many answers score 0 because they failed, are empty or are missing."""
        return self.failed + self.empty + self.missing


@final
@dataclass(frozen=True, slots=True)
class EpochSpread:
    """The mean aspect recall of each epoch; its standard deviation; and that of one instance's score, on average."""

    means: tuple[float, ...]
    deviation: float
    instance_deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScores:
    """The scores of one system on one task, one an instance.

    Attributes
    ----------
    task
        The task.
    ids, clusters
        The id and the cluster of each instance that counts; the cluster is its review, or else its paper.
    scores
        Measure key -> one score an instance; NaN where the measure is undefined, which leaves the instance out.
    selections
        The selection of each answer; empty after ``evaluate(..., with_selections=False)``.
    counts
        How many answers failed, are empty, missing, and so on.
    notes
        The notes of the answers, summed over instances, such as how many replies of a language model were refusals.
    over_length
        For each unordered answer over the budget: how many sentences it names, and how many its paper has.
    n_sentences
        How many sentences could be selected from on each instance: those of its paper, and of a second one if asked.
    answer_keys
        A number for each answer; two systems have the same one where the same sentences count.
    errors
        Instance id -> why its answer failed, with the place in your own code if it was asked here.
    cut_short
        For each ranking that cannot be whole: how many sentences it ranks, and how many its paper has. It ranks fewer
        than count, or the first n of a longer paper and no other, as where scores are of a shorter list.
    epoch_recalls
        Of a run of several epochs: the aspect recall of each instance in each epoch, of which ``scores`` has the mean.
        Counts and notes are of all epochs; what is of single answers, such as ``selections``, is of the first.
    """

    task: Task
    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    scores: Mapping[str, Floats]
    selections: tuple[Selection, ...]
    counts: Counts
    notes: Mapping[str, int] = field(default_factory=dict)
    over_length: tuple[tuple[int, int], ...] = ()
    n_sentences: tuple[int, ...] = ()
    answer_keys: tuple[int, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    cut_short: tuple[tuple[int, int], ...] = ()
    epoch_recalls: tuple[Floats, ...] = ()

    def __repr__(self) -> str:
        mean = f"aspect recall {self.mean_recall:.3f}" if self.ids else "no instance"
        counted = {"failed": self.counts.failed, "missing": self.counts.missing}
        lacking = (f"{n} {name}" for name, n in counted.items() if n)
        return one_line(self, f"{self.task.name}: {mean}", f"n={len(self.ids)}", *lacking)

    def _repr_html_(self) -> str:
        rows: list[list[Cell]] = []
        for key, scores in self.scores.items():
            defined = scores[~np.isnan(scores)]
            rows.append([key, 100 * float(defined.mean()) if len(defined) else None, len(defined)])
        return excerpt_html(repr(self), ["measure", "mean, %", "instances"], rows, len(rows))

    @property
    def recalls(self) -> Floats:
        """The aspect recall of each instance, by which systems are ranked, compared and charted."""
        return self.scores[ASPECT_RECALL.key]

    @property
    def mean_recall(self) -> float:
        """Mean aspect recall."""
        return float(self.recalls.mean())

    @property
    def n_answers(self) -> int:
        """How many answers are scored: one an instance and epoch."""
        return len(self.ids) * max(1, len(self.epoch_recalls))

    @property
    def epochs(self) -> EpochSpread | None:
        """How aspect recall differs between epochs; None for a run of one."""
        if not self.epoch_recalls or not self.ids:
            return None
        recalls = np.array(self.epoch_recalls)
        means = recalls.mean(axis=1)
        return EpochSpread(tuple(means.tolist()), float(means.std(ddof=1)), float(recalls.std(axis=0, ddof=1).mean()))

    def estimate(self, measure: MeasureOrName = ASPECT_RECALL, resampling: Resampling = DEFAULT_RESAMPLING) -> Estimate:
        """Return the mean of a measure with its interval, over the instances where it is defined.

        Raises
        ------
        UndefinedScoreError
            If it is defined nowhere.
        ValueError
            If there is no such measure.
        """
        key = measure_key(measure, self.scores)
        estimates = self.estimates((key,), resampling)
        if not estimates:
            raise UndefinedScoreError(f"task '{self.task.name}': {key} is undefined: no instance counts")
        return estimates[key]

    def estimates(
        self, measures: Iterable[MeasureOrName] = (), resampling: Resampling = DEFAULT_RESAMPLING
    ) -> dict[str, Estimate]:
        """Return the mean of each measure, or of all, with its interval, by key; one defined nowhere has no entry."""
        return estimates_by_task([self], measures, resampling)[0]


def summed(parts: Iterable[TaskScores]) -> dict[str, Any]:
    """Return the counts and the notes of all parts, as `TaskScores` takes them."""
    counts, notes = Counter[str](), Counter[str]()
    for part in parts:
        counts.update(asdict(part.counts))
        notes.update(part.notes)
    return {"counts": Counts(**counts), "notes": dict(sorted(notes.items()))}


def estimates_by_task(
    scores: Sequence[TaskScores],
    measures: Iterable[MeasureOrName] = (),
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> list[dict[str, Estimate]]:
    """Return `TaskScores.estimates` of each; tasks over the same instances share the draws, which takes less time."""
    asked = tuple(measures)
    estimates: list[dict[str, Estimate]] = [{} for _ in scores]
    places: dict[tuple[str, ...], list[int]] = {}
    for place, task_scores in enumerate(scores):
        places.setdefault(task_scores.clusters, []).append(place)
    for clusters, members in places.items():
        columns = [
            (place, measure_key(measure, scores[place].scores))
            for place in members
            for measure in asked or scores[place].scores
        ]
        values = np.column_stack([scores[place].scores[key] for place, key in columns])
        for (place, key), estimate in zip(columns, bootstrap_defined(values, clusters, resampling), strict=True):
            if estimate is not None:
                estimates[place][key] = estimate
    return estimates
