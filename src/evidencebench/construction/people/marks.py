"""Who marked which sentence, as arrays, and how well two raters agree, from counts."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from evidencebench.construction.people.answers import Annotations, TaskAnnotation
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.data.dataset import Dataset
from evidencebench.errors import PeopleError, RunMismatchError
from evidencebench.query import Kind
from evidencebench.scoring.resampling import Floats

ADJUDICATED_NAME = "decided"  # how the decisions of people are named among the raters
MISSING = -1

PairSort = Literal["human-human", "human-model", "decided-model"]


@dataclass(frozen=True, kw_only=True)
class Marks:
    tasks: Sequence[AnnotationTask]
    people: tuple[str, ...]  # people and teams that are compared with each other
    model: str | None
    raters: tuple[str, ...]  # people, then "decided" where there is such, then the model where there is one
    values: npt.NDArray[np.int8]  # raters x sentences of all tasks: 1 marked, 0 not, -1 not judged by this rater
    task_of: npt.NDArray[np.int64]  # the number of each sentence's task
    paper_of: npt.NDArray[np.int64]
    kinds: tuple[Kind, ...]

    @property
    def n_papers(self) -> int:
        return int(self.paper_of.max()) + 1

    @property
    def pairs(self) -> list[tuple[PairSort, int, int]]:
        pairs: list[tuple[PairSort, int, int]] = [
            ("human-human", first, second) for first, second in combinations(range(len(self.people)), 2)
        ]
        if self.model is not None:
            last = len(self.raters) - 1  # what follows the people is what was decided
            pairs += [("human-model" if n < len(self.people) else "decided-model", n, last) for n in range(last)]
        return pairs

    def of_kind(self, kind: Kind) -> "Marks":
        """Return the marks of the sentences of one kind; papers without any stay, and count nothing."""
        kept = np.array([own is kind for own in self.kinds], dtype=bool)
        return replace(self, values=np.where(kept, self.values, np.int8(MISSING)))

    def tables(self, first: int, second: int) -> Floats:
        """Return the 2 x 2 table of two raters in each paper (papers x 4), as `PAIR_MEASURES` take it."""
        one, other = self.values[first], self.values[second]
        judged = (one != MISSING) & (other != MISSING)
        cell = self.paper_of[judged] * 4 + 2 * one[judged] + other[judged]
        return np.bincount(cell, minlength=4 * self.n_papers).reshape(-1, 4).astype(np.float64)

    def alpha_counts(self, raters: Sequence[int]) -> Floats:
        values = self.values[list(raters)]
        n_judges = (values != MISSING).sum(0)
        n_marks = (values == 1).sum(0)
        paired = n_judges > 1
        m, u = n_judges[paired], n_marks[paired]
        columns = (u * (m - u) / (m - 1), m - u, u)
        return np.stack(
            [np.bincount(self.paper_of[paired], weights=c, minlength=self.n_papers) for c in columns], axis=-1
        )


def collect_marks(
    tasks: TasksFile,
    annotations: Annotations,
    *,
    dataset: Dataset | None = None,
    model_name: str = "model",
    teams: Mapping[str, Collection[str]] | None = None,
) -> Marks:
    """Return the marks of people, teams (what at least half of the members mark) and the data set's labels."""
    rows = {
        name: _row(tasks.records, answers)
        for name, answers in annotations.by_annotator.items()
        if any(annotation.is_done for annotation in answers.values())
    }
    people = _with_teams(rows, teams or {})
    raters = dict(people)
    lengths = [len(task.sentences) for task in tasks.records]
    decided = {task for task, annotation in annotations.adjudicated.items() if annotation.is_done}
    if decided:
        if ADJUDICATED_NAME in raters:
            raise PeopleError(
                f"an annotator is named '{ADJUDICATED_NAME}', as the decisions are; give that annotator another name"
            )
        row = _row(tasks.records, annotations.adjudicated)
        for task, stop in zip(tasks.records, np.cumsum(lengths), strict=True):
            # What people agree on, where nothing had to be decided.
            of_task = slice(stop - len(task.sentences), stop)
            judged = [of_person[of_task] for of_person in rows.values() if (of_person[of_task] != MISSING).all()]
            if task.id not in decided and len(judged) > 1 and all((marked == judged[0]).all() for marked in judged):
                row[of_task] = judged[0]
        raters[ADJUDICATED_NAME] = row
    if dataset is not None:
        if model_name in raters:
            raise PeopleError(f"the model is named '{model_name}', as an annotator is; choose another --model-name")
        labels = {
            task.id: TaskAnnotation(task=task.id, sentences=_labels(task, dataset), is_done=True)
            for task in tasks.records
        }
        raters[model_name] = _row(tasks.records, labels)
    papers: dict[str, int] = {}
    numbers = [papers.setdefault(task.paper_id, len(papers)) for task in tasks.records]
    return Marks(
        tasks=tasks.records,
        people=tuple(people),
        model=None if dataset is None else model_name,
        raters=tuple(raters),
        values=np.stack([*raters.values()]) if raters else np.empty((0, sum(lengths)), dtype=np.int8),
        task_of=np.repeat(np.arange(len(lengths)), lengths),
        paper_of=np.repeat(numbers, lengths),
        kinds=tuple(kind for task in tasks.records for kind in task.kinds),
    )


def _row(tasks: Sequence[AnnotationTask], answers: Mapping[str, TaskAnnotation]) -> npt.NDArray[np.int8]:
    marks: list[int] = []
    for task in tasks:
        annotation = answers.get(task.id)
        if annotation is not None and annotation.is_done and annotation.sentences is not None:
            marked = set(annotation.sentences)
            marks += [number in marked for number in range(len(task.sentences))]
        else:
            marks += [MISSING] * len(task.sentences)
    return np.array(marks, dtype=np.int8)


def _with_teams(
    rows: Mapping[str, npt.NDArray[np.int8]], teams: Mapping[str, Collection[str]]
) -> dict[str, npt.NDArray[np.int8]]:
    alone, made = dict(rows), {}
    for team, members in teams.items():
        for name in members:
            if name not in rows:
                known = ", ".join(rows) or "none"
                raise PeopleError(f"team '{team}': no annotator '{name}' has a task that is done; there are: {known}")
            if alone.pop(name, None) is None:
                raise PeopleError(f"team '{team}': annotator '{name}' is in two teams")
        votes = np.stack([rows[name] for name in members])
        n_judges = (votes != MISSING).sum(0)
        marked = 2 * (votes == 1).sum(0) >= n_judges
        made[team] = np.where(n_judges == 0, MISSING, marked).astype(np.int8)
    for team in made.keys() & alone.keys():
        raise PeopleError(f"team '{team}' is named as an annotator is; choose another name")
    return {**made, **alone}


def _labels(task: AnnotationTask, dataset: Dataset) -> tuple[int, ...]:
    """Return the sentences that the data set labels; raises `RunMismatchError` where it is not that of the task."""
    difference = f"no instance '{task.instance_id}', which task '{task.id}' is of"
    if task.instance_id in dataset:
        instance = dataset[task.instance_id]
        difference = f"{task.instance_id}: has other sentences than task '{task.id}'"
        if instance.query.sentences == task.sentences:
            if instance.labels.texts.get(task.aspect_id) == task.aspect:
                return instance.labels.sources.get(task.aspect_id, ())
            difference = f"{task.instance_id}: has another text of aspect '{task.aspect_id}' than task '{task.id}'"
    remedy = "give the data set that the tasks were drawn from, or one with the same instances"
    raise RunMismatchError(f"{dataset.path}: {difference}; {remedy}")


# Each measure of how well two raters agree takes an array of 2 x 2 tables and returns one value a table.


def exact_accuracy(tables: Floats) -> Floats:
    return _ratio(tables[..., 0] + tables[..., 3], tables.sum(-1))


def f1(tables: Floats) -> Floats:
    """Return the F1 of one rater's marks against the other's, which is symmetric; undefined where neither has any."""
    _, second, first, both = np.moveaxis(tables, -1, 0)
    return _ratio(2 * both, 2 * both + first + second)


def cohen_kappa(tables: Floats) -> Floats:
    """Return Cohen's kappa (Cohen 1960); undefined where both raters say the same of everything."""
    neither, second, first, both = np.moveaxis(tables, -1, 0)
    # (observed - expected) / (1 - expected), times n squared.
    return _ratio(
        2 * (neither * both - first * second), (neither + first) * (first + both) + (neither + second) * (second + both)
    )


def krippendorff_alpha(tables: Floats) -> Floats:
    """Return Krippendorff's alpha of two raters, nominal (Krippendorff 2011); undefined where only one value occurs."""
    neither, second, first, both = np.moveaxis(tables, -1, 0)
    differing = first + second
    return alpha_of_counts(np.stack([differing, 2 * neither + differing, 2 * both + differing], -1))


def alpha_of_counts(counts: Floats) -> Floats:
    """Return Krippendorff's alpha of any number of raters.

    The last axis: off the diagonal of the coincidence matrix, values "not marked", values "marked". A sentence that m
    raters judged, u of them with a mark, adds u (m - u) / (m - 1), m - u and u.
    """
    differing, unmarked, marked = np.moveaxis(counts, -1, 0)
    return 1 - _ratio((unmarked + marked - 1) * differing, unmarked * marked)


def spearman(tables: Floats) -> Floats:
    """Return Spearman's rank correlation, of yes and no the phi coefficient; undefined where a rater is constant."""
    neither, second, first, both = np.moveaxis(tables, -1, 0)
    margins = (neither + second) * (first + both) * (neither + first) * (second + both)
    return _ratio(neither * both - first * second, np.sqrt(np.maximum(margins, 0)))


PAIR_MEASURES: Mapping[str, Callable[[Floats], Floats]] = {
    "accuracy": exact_accuracy,
    "f1": f1,
    "kappa": cohen_kappa,
    "alpha": krippendorff_alpha,
    "spearman": spearman,
}
LABELS = {"accuracy": "accuracy", "f1": "F1", "kappa": "kappa", "alpha": "alpha", "spearman": "Spearman"}  # in tables
LEAST_VALUES = {"accuracy": 0.0, "f1": 0.0, "kappa": -1.0, "alpha": -1.0, "spearman": -1.0}


def _ratio(above: Floats, below: Floats) -> Floats:
    ratios: Floats = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=ratios, where=below > 0)
    return ratios


@dataclass(frozen=True, kw_only=True)
class PairStatistic:
    """Turns totals (... x columns: the pairs' tables, then counts for alpha) into values.

    The values are measure by measure: each pair, then the mean human-human, the mean human-model and the difference;
    behind these each alpha of many raters.
    """

    pairs: Sequence[tuple[PairSort, int, int]]
    measures: Sequence[str] = tuple(PAIR_MEASURES)

    @property
    def n_of_measure(self) -> int:
        return len(self.pairs) + 3

    def place(self, measure: str, which: int) -> int:
        """Return where a measure's value stands; -3, -2 and -1 are the means and the difference."""
        return self.measures.index(measure) * self.n_of_measure + which % self.n_of_measure

    def __call__(self, totals: Floats) -> Floats:
        n_cells = 4 * len(self.pairs)
        tables = totals[..., :n_cells].reshape(*totals.shape[:-1], len(self.pairs), 4)
        people = [number for number, (sort, _, _) in enumerate(self.pairs) if sort == "human-human"]
        model = [number for number, (sort, _, _) in enumerate(self.pairs) if sort == "human-model"]
        figures: list[Floats] = []
        for measure in self.measures:
            values = PAIR_MEASURES[measure](tables)
            means = [  # NaN where there is no pair, or a value is undefined
                values[..., which].mean(-1, keepdims=True) if which else np.full((*values.shape[:-1], 1), np.nan)
                for which in (people, model)
            ]
            figures += [values, *means, means[1] - means[0]]
        alphas = alpha_of_counts(totals[..., n_cells:].reshape(*totals.shape[:-1], -1, 3))
        return np.concatenate([*figures, alphas], axis=-1)


def sums_of(marks: Marks) -> tuple[Floats, PairStatistic]:
    """Return each paper's counts (papers x columns), and the statistic of their totals."""
    pairs = marks.pairs
    people = range(len(marks.people))
    everybody = [*people, *([len(marks.raters) - 1] if marks.model is not None else [])]
    tables = [marks.tables(first, second) for _, first, second in pairs]
    sums = np.concatenate([*tables, marks.alpha_counts(people), marks.alpha_counts(everybody)], axis=1)
    return sums, PairStatistic(pairs=pairs)
