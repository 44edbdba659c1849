"""Who marked which sentence, as arrays, and how well two raters agree, from counts."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from evidencebench.construction.noise import MarkedAspect
from evidencebench.construction.people.answers import Annotation, Annotations, annotation_folder
from evidencebench.construction.people.labels import Labelled, read_labels, validation_folder
from evidencebench.construction.people.tasks import AnnotationTask, read_tasks
from evidencebench.errors import PeopleError
from evidencebench.runs.answers import MarksAnswer, RatingsAnswer
from evidencebench.runs.people import MODEL, TOGETHER
from evidencebench.scoring.resampling import Floats

MISSING = -1

PairSort = Literal["human-human", "human-model", "together-model"]
Marked = npt.NDArray[np.int8]
"""One value a thing that is judged, a sentence of a task or the task itself: 1 yes, 0 no, -1 not judged."""


@dataclass(frozen=True, kw_only=True)
class Marks:
    tasks: Sequence[AnnotationTask]
    people: tuple[str, ...]  # people and teams that are compared with each other
    raters: tuple[str, ...]  # people, then people together where they are several, then the model where there is one
    values: Marked  # raters x things that are judged
    task_of: npt.NDArray[np.int64]  # the number of each thing's task
    paper_of: npt.NDArray[np.int64]

    @property
    def n_papers(self) -> int:
        return int(self.paper_of.max()) + 1

    def n_tasks(self, judged: npt.NDArray[np.bool_]) -> int:
        return len(np.unique(self.task_of[judged]))

    @property
    def pairs(self) -> list[tuple[PairSort, int, int]]:
        pairs: list[tuple[PairSort, int, int]] = [
            ("human-human", first, second) for first, second in combinations(range(len(self.people)), 2)
        ]
        if MODEL in self.raters:
            last = len(self.raters) - 1  # what follows the people is what they say together
            pairs += [("human-model" if n < len(self.people) else "together-model", n, last) for n in range(last)]
        return pairs

    def tables(self, first: int, second: int) -> Floats:
        """Return the 2 x 2 table of two raters in each paper (papers x 4), as `agreement_of` takes it."""
        one, other = self.values[first], self.values[second]
        judged = (one != MISSING) & (other != MISSING)
        cell = self.paper_of[judged] * 4 + 2 * one[judged] + other[judged]
        return np.bincount(cell, minlength=4 * self.n_papers).reshape(-1, 4).astype(np.float64)

    def coincidences(self, raters: Sequence[int]) -> Floats:
        """Return such a table of how often values of one thing meet, by which alpha is that of all these raters."""
        values = self.values[list(raters)]
        n_judges, n_yes = (values != MISSING).sum(0), (values == 1).sum(0)
        paired = n_judges > 1
        m, u = n_judges[paired], n_yes[paired]
        cells = np.stack([(m - u) * (m - u - 1), u * (m - u), u * (m - u), u * (u - 1)]) / (2 * (m - 1))
        columns = [np.bincount(self.paper_of[paired], weights=cell, minlength=self.n_papers) for cell in cells]
        return np.stack(columns, axis=-1)


def collect_marks(
    tasks: Sequence[AnnotationTask],
    annotations: Annotations,
    *,
    criterion: str = "",  # that was rated; empty: sentences were marked
    labels: Labelled | None = None,  # with an entry for every task
    teams: Mapping[str, Collection[str]] | None = None,
) -> Marks:
    """Return the marks of people, of teams (what at least half of the members mark), and those of the labels."""

    def row(answers: Mapping[str, Annotation]) -> Marked:
        return np.concatenate([_values(task, answers.get(task.id), criterion) for task in tasks], dtype=np.int8)

    rows = {
        name: row(answers)
        for name, answers in annotations.by_annotator.items()
        if any(annotation.is_done for annotation in answers.values())
    }
    people = _with_teams(rows, teams or {})
    raters = dict(people)
    decided = row(annotations.adjudicated)
    if len(people) > 1 or (decided != MISSING).any():  # a decision counts, else the majority; a tie is a no
        majority = _most([*people.values()] or [decided], tie=False)
        raters[TOGETHER] = np.where(decided == MISSING, majority, decided)
    if labels is not None:
        raters[MODEL] = row({task.id: _as_labelled(task, labels, criterion) for task in tasks})
    if reserved := {TOGETHER, MODEL} & people.keys():
        raise PeopleError(f"'{min(reserved)}' is what the report calls another rater; rename that annotator")
    papers: dict[str, int] = {}
    numbers = [papers.setdefault(task.paper_id, len(papers)) for task in tasks]
    lengths = [1 if criterion else len(task.sentences) for task in tasks]
    return Marks(
        tasks=tasks,
        people=tuple(people),
        raters=tuple(raters),
        values=np.stack([*raters.values()]) if raters else np.empty((0, sum(lengths)), dtype=np.int8),
        task_of=np.repeat(np.arange(len(lengths)), lengths),
        paper_of=np.repeat(numbers, lengths),
    )


def _values(task: AnnotationTask, annotation: Annotation | None, criterion: str) -> Marked:
    done = annotation if annotation is not None and annotation.is_done else None
    if isinstance(done, RatingsAnswer) and criterion in done.ratings:
        return np.array([done.ratings[criterion]], dtype=np.int8)
    if isinstance(done, MarksAnswer):
        return np.isin(np.arange(len(task.sentences)), done.sentences).astype(np.int8)
    return np.full(1 if criterion else len(task.sentences), MISSING, dtype=np.int8)


def _as_labelled(task: AnnotationTask, labels: Labelled, criterion: str) -> Annotation:
    """Return what an annotator would say who says what the labels do."""
    known = labels[task.paper_id, task.aspect]
    if not criterion:
        return MarksAnswer(id=task.id, sentences=tuple(known.sources), is_done=True)
    is_so = known.is_result if task.number is None else task.number in known.sources
    return RatingsAnswer(id=task.id, ratings={criterion: is_so}, is_done=True)


def matched(tasks: Sequence[AnnotationTask], labels: Labelled) -> list[AnnotationTask]:
    """Return the tasks on aspects that the labels still have, in a paper of as many sentences."""
    return [
        task
        for task in tasks
        if (known := labels.get((task.paper_id, task.aspect))) and len(task.sentences) in {0, known.n_sentences}
    ]


def marked_aspects(source: str | Path, folder: Path | None = None) -> tuple[MarkedAspect, ...]:
    """Return what people marked of aspects that are still labelled; ``folder`` is that of `construct validate`."""
    folder = folder or validation_folder(source)
    if folder is None or not (folder / "sentences.jsonl").is_file():
        return ()
    tasks, labels = read_tasks(folder / "sentences.jsonl"), read_labels(source)
    if not (known := matched(tasks.records, labels)):
        return ()
    marks = collect_marks(known, Annotations.read(annotation_folder(folder / "sentences", tasks)))
    n_aspects, found = Counter(paper for paper, _ in labels), list[MarkedAspect]()
    for number, task in enumerate(known if marks.raters else ()):
        own = marks.values[-1][marks.task_of == number]  # the labels are not among them
        if len(own) and (own != MISSING).all():
            marked, weight = frozenset(np.flatnonzero(own).tolist()), n_aspects[task.paper_id]
            labelled = labels[task.paper_id, task.aspect].sources
            found.append(MarkedAspect(task.paper_id, weight, labelled, marked, len(own)))
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
        made[team] = _most([rows[name] for name in members], tie=True)
    for team in made.keys() & alone.keys():
        raise PeopleError(f"team '{team}' is named as an annotator is; choose another name")
    return {**made, **alone}


def _most(rows: Sequence[Marked], *, tie: bool) -> Marked:
    """Return what most raters say of each thing; ``tie`` is what counts where half of them say yes."""
    votes = np.stack(rows)
    n_judges, n_yes = (votes != MISSING).sum(0), (votes == 1).sum(0)
    return np.where(n_judges == 0, MISSING, 2 * n_yes > n_judges - tie).astype(np.int8)


LABELS = {"accuracy": "accuracy", "f1": "F1", "kappa": "kappa", "alpha": "alpha", "spearman": "Spearman"}
"""The measures of how well two raters agree, and what tables call them."""
LEAST_VALUES = {"accuracy": 0.0, "f1": 0.0, "kappa": -1.0, "alpha": -1.0, "spearman": -1.0}


def agreement_of(measure: str, tables: Floats) -> Floats:
    """Return a measure of each 2 x 2 table (... x 4); NaN where it is undefined."""
    neither, second, first, both = np.moveaxis(tables, -1, 0)
    differing, product = first + second, neither * both - first * second
    match measure:
        case "accuracy":
            return _ratio(neither + both, neither + differing + both)
        case "f1":  # of one rater's marks against the other's, which is symmetric
            return _ratio(2 * both, 2 * both + differing)
        case "kappa":  # Cohen 1960: (observed - expected) / (1 - expected), times n squared
            return _ratio(2 * product, (neither + first) * (first + both) + (neither + second) * (second + both))
        case "alpha":  # Krippendorff 2011, nominal
            no, yes = 2 * neither + differing, 2 * both + differing
            return 1 - _ratio((no + yes - 1) * differing, no * yes)
        case _:  # Spearman's rank correlation, which is the phi coefficient of yes and no
            margins = (neither + second) * (first + both) * (neither + first) * (second + both)
            return _ratio(product, np.sqrt(np.maximum(margins, 0)))


def _ratio(above: Floats, below: Floats) -> Floats:
    ratios: Floats = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=ratios, where=below > 0)
    return ratios


@dataclass(frozen=True, kw_only=True)
class PairStatistic:
    """Turns totals (... x columns: the pairs' tables, then those for alpha of many raters) into values.

    The values are measure by measure: each pair, then the mean human-human, the mean human-model and the difference;
    behind these each alpha of many raters.
    """

    pairs: Sequence[tuple[PairSort, int, int]]
    measures: Sequence[str] = tuple(LABELS)

    def place(self, measure: str, which: int) -> int:
        """Return where a measure's value stands; -3, -2 and -1 are the means and the difference."""
        n_of_measure = len(self.pairs) + 3
        return self.measures.index(measure) * n_of_measure + which % n_of_measure

    def __call__(self, totals: Floats) -> Floats:
        tables = totals.reshape(*totals.shape[:-1], -1, 4)
        of_pairs, of_many = tables[..., : len(self.pairs), :], tables[..., len(self.pairs) :, :]
        sorts = np.array([sort for sort, _, _ in self.pairs])
        figures: list[Floats] = []
        for measure in self.measures:
            values = agreement_of(measure, of_pairs)
            means = [  # NaN where there is no pair, or a value is undefined
                values[..., sorts == sort].sum(-1, keepdims=True) / ((sorts == sort).sum() or np.nan)
                for sort in ("human-human", "human-model")
            ]
            figures += [values, *means, means[1] - means[0]]
        return np.concatenate([*figures, agreement_of("alpha", of_many)], axis=-1)
