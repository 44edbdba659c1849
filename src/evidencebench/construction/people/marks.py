"""Who marked which sentence, as arrays, and how well two raters agree, from counts."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from evidencebench.construction.noise import MarkedAspect
from evidencebench.construction.people.answers import MODEL, TOGETHER, AnnotationFolder, Annotations, TaskAnnotation
from evidencebench.construction.people.labels import AspectLabels, Labelled, read_labels, validation_folder
from evidencebench.construction.people.tasks import AnnotationTask, read_tasks
from evidencebench.errors import PeopleError
from evidencebench.scoring.resampling import Floats

MISSING = -1

PairSort = Literal["human-human", "human-model", "together-model"]
Marked = npt.NDArray[np.int8]
"""One value a thing that is judged, a sentence of a task or the task itself: 1 yes, 0 no, -1 not judged."""


@dataclass(frozen=True, kw_only=True)
class Marks:
    tasks: Sequence[AnnotationTask]
    people: tuple[str, ...]  # people and teams that are compared with each other
    model: str | None
    raters: tuple[str, ...]  # people, then people together where they are several, then the model where there is one
    values: Marked  # raters x things that are judged
    task_of: npt.NDArray[np.int64]  # the number of each thing's task
    paper_of: npt.NDArray[np.int64]

    @property
    def n_papers(self) -> int:
        return int(self.paper_of.max()) + 1

    @property
    def pairs(self) -> list[tuple[PairSort, int, int]]:
        pairs: list[tuple[PairSort, int, int]] = [
            ("human-human", first, second) for first, second in combinations(range(len(self.people)), 2)
        ]
        if self.model is not None:
            last = len(self.raters) - 1  # what follows the people is what they say together
            pairs += [("human-model" if n < len(self.people) else "together-model", n, last) for n in range(last)]
        return pairs

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

    @property
    def together(self) -> Marked:
        row: Marked = self.values[len(self.people) - (TOGETHER not in self.raters)]
        return row


def collect_marks(
    tasks: Sequence[AnnotationTask],
    annotations: Annotations,
    *,
    criterion: str = "",
    labels: Labelled | None = None,
    teams: Mapping[str, Collection[str]] | None = None,
) -> Marks:
    """Return the marks of people, of teams (what at least half of the members mark), and those of the labels.

    ``criterion`` is what was rated; empty: sentences were marked. Labels must have an entry for every task.
    """

    def row(answers: Mapping[str, TaskAnnotation]) -> Marked:
        return np.concatenate([_values(task, answers.get(task.id), criterion) for task in tasks], dtype=np.int8)

    rows = {
        name: row(answers)
        for name, answers in annotations.by_annotator.items()
        if any(annotation.is_done for annotation in answers.values())
    }
    people = _with_teams(rows, teams or {})
    raters = dict(people)
    lengths = [1 if criterion else len(task.sentences) for task in tasks]
    decided = row(annotations.adjudicated)
    if len(people) > 1 or (decided != MISSING).any():  # a decision counts, else the majority; a tie is a no
        votes = np.stack([decided, *people.values()])[1:]
        n_judges = (votes != MISSING).sum(0)
        majority = np.where(n_judges == 0, MISSING, 2 * (votes == 1).sum(0) > n_judges)
        raters[TOGETHER] = np.where(decided == MISSING, majority, decided).astype(np.int8)
    if labels is not None:
        of_tasks = [labels[task.paper_id, task.aspect] for task in tasks]
        model = [_labelled(task, known, criterion) for task, known in zip(tasks, of_tasks, strict=True)]
        raters[MODEL] = np.concatenate(model, dtype=np.int8)
    if reserved := {TOGETHER, MODEL} & people.keys():
        raise PeopleError(f"'{min(reserved)}' is what the report calls another rater; rename that annotator")
    papers: dict[str, int] = {}
    numbers = [papers.setdefault(task.paper_id, len(papers)) for task in tasks]
    return Marks(
        tasks=tasks,
        people=tuple(people),
        model=None if labels is None else MODEL,
        raters=tuple(raters),
        values=np.stack([*raters.values()]) if raters else np.empty((0, sum(lengths)), dtype=np.int8),
        task_of=np.repeat(np.arange(len(lengths)), lengths),
        paper_of=np.repeat(numbers, lengths),
    )


def _values(task: AnnotationTask, annotation: TaskAnnotation | None, criterion: str) -> Marked:
    is_done = annotation is not None and annotation.is_done
    if criterion:
        said = (annotation.ratings or {}).get(criterion) if annotation is not None and is_done else None
        return np.array([MISSING if said is None else said], dtype=np.int8)
    if annotation is None or not is_done or annotation.sentences is None:
        return np.full(len(task.sentences), MISSING, dtype=np.int8)
    return np.isin(np.arange(len(task.sentences)), annotation.sentences).astype(np.int8)


def _labelled(task: AnnotationTask, labels: AspectLabels, criterion: str) -> Marked:
    if not criterion:
        return np.isin(np.arange(len(task.sentences)), list(labels.sources)).astype(np.int8)
    return np.array([labels.is_result if task.number is None else task.number in labels.sources], dtype=np.int8)


def matched(tasks: Sequence[AnnotationTask], labels: Labelled) -> list[AnnotationTask]:
    """Return the tasks on aspects that the labels still have, in a paper of as many sentences."""
    found = []
    for task in tasks:
        known = labels.get((task.paper_id, task.aspect))
        if known is not None and len(task.sentences) in {0, known.n_sentences}:
            found.append(task)
    return found


def marked_aspects(source: str | Path, folder: Path | None = None) -> tuple[MarkedAspect, ...]:
    """Return what people marked of the aspects of a work folder, or of a data set, beside the labels of today.

    ``folder`` is where `construct validate` keeps tasks and answers; a work folder has its own. Empty where nobody has
    marked anything, and without tasks whose aspect is not labelled any more.
    """
    folder = folder or validation_folder(source)
    if folder is None or not (folder / "sentences.jsonl").is_file():
        return ()
    tasks = read_tasks(folder / "sentences.jsonl")
    labels = read_labels(source)
    if not (known := matched(tasks.records, labels)):
        return ()
    marks = collect_marks(known, AnnotationFolder(folder / "sentences", tasks).read())
    n_aspects, found = Counter(paper for paper, _ in labels), list[MarkedAspect]()
    for number, task in enumerate(known if marks.raters else ()):
        own = marks.together[marks.task_of == number]
        if len(own) and (own != MISSING).all():
            of_aspect = labels[task.paper_id, task.aspect]
            marked = frozenset(np.flatnonzero(own).tolist())
            weight = float(n_aspects[task.paper_id])
            found.append(MarkedAspect(task.paper_id, weight, of_aspect.sources, marked, len(own)))
    return tuple(found)


def _with_teams(rows: Mapping[str, Marked], teams: Mapping[str, Collection[str]]) -> dict[str, Marked]:
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
