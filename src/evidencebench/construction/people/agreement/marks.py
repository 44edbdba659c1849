"""Who marked which sentence, as arrays: of the people, of teams, of what was decided, and of the model."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from evidencebench.construction.people.annotations import Annotations, TaskAnnotation
from evidencebench.construction.people.tasks import AnnotationTask, TasksFile
from evidencebench.data.dataset import Dataset
from evidencebench.errors import PeopleError, RunMismatchError
from evidencebench.query import Kind
from evidencebench.scoring.resampling import Floats

ADJUDICATED_NAME = "decided"
"""How the decisions of people are named among the raters."""

MISSING = -1

PairSort = Literal["human-human", "human-model", "decided-model"]


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What each rater says of each sentence of each task."""

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
        """How many papers there are."""
        return int(self.paper_of.max()) + 1

    @property
    def pairs(self) -> list[tuple[PairSort, int, int]]:
        """The pairs that are compared: their sort, and the numbers of both raters."""
        pairs: list[tuple[PairSort, int, int]] = [
            ("human-human", first, second) for first, second in combinations(range(len(self.people)), 2)
        ]
        if self.model is not None:
            last = len(self.raters) - 1
            pairs += [("human-model", number, last) for number in range(len(self.people))]
            pairs += [("decided-model", n, last) for n, name in enumerate(self.raters) if name == ADJUDICATED_NAME]
        return pairs

    def of_kind(self, kind: Kind) -> "Marks":
        """Return the marks of the sentences of one kind; papers without any stay, and count nothing."""
        kept = np.array([own is kind for own in self.kinds], dtype=bool)
        return replace(self, values=np.where(kept, self.values, np.int8(MISSING)))

    def tables(self, first: int, second: int) -> Floats:
        """Return the 2 x 2 table of two raters in each paper (papers x 4), as `pair_measures` has them."""
        one, other = self.values[first], self.values[second]
        judged = (one != MISSING) & (other != MISSING)
        place = self.paper_of[judged] * 4 + 2 * one[judged] + other[judged]
        return np.bincount(place, minlength=4 * self.n_papers).reshape(-1, 4).astype(np.float64)

    def alpha_counts(self, raters: Sequence[int]) -> Floats:
        """Return what `alpha_of_counts` adds up, in each paper (papers x 3)."""
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
    """Return the marks of people, teams and the data set's labels; an annotation that is not done counts nothing.

    A team stands for its members: it marks what at least half of them mark.
    """
    done = {
        name: {one.task: one for one in answers.values() if one.is_done}
        for name, answers in annotations.by_annotator.items()
    }
    rows = {name: _row(tasks.records, answers) for name, answers in done.items() if answers}
    people = _with_teams(rows, teams or {})
    raters = dict(people)
    decided = {task: one for task, one in annotations.adjudicated.items() if one.is_done}
    if decided:
        raters[ADJUDICATED_NAME] = _decided_row(tasks.records, rows, decided)
    if dataset is not None:
        if model_name in raters:
            raise PeopleError(f"the model is named '{model_name}', as an annotator is; choose another --model-name")
        raters[model_name] = _model_row(tasks.records, dataset)
    lengths = [len(task.sentences) for task in tasks.records]
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
    parts = []
    for task in tasks:
        part = np.full(len(task.sentences), MISSING, dtype=np.int8)
        annotation = answers.get(task.id)
        if annotation is not None and annotation.sentences is not None:
            part[:] = 0
            part[list(annotation.sentences)] = 1
        parts.append(part)
    return np.concatenate(parts)


def _with_teams(
    rows: Mapping[str, npt.NDArray[np.int8]], teams: Mapping[str, Collection[str]]
) -> dict[str, npt.NDArray[np.int8]]:
    left = dict(rows)
    made = {}
    for team, members in teams.items():
        for name in members:
            if name not in rows:
                known = ", ".join(rows) or "none"
                raise PeopleError(f"team '{team}': no annotator '{name}' has a task that is done; there are: {known}")
            if left.pop(name, None) is None:
                raise PeopleError(f"team '{team}': annotator '{name}' is in two teams")
        votes = np.stack([rows[name] for name in members])
        n_judges = (votes != MISSING).sum(0)
        marked = 2 * (votes == 1).sum(0) >= n_judges
        made[team] = np.where(n_judges == 0, MISSING, marked).astype(np.int8)
    for team in made.keys() & left.keys():
        raise PeopleError(f"team '{team}' is named as an annotator is; choose another name")
    return {**made, **left}


def _decided_row(
    tasks: Sequence[AnnotationTask], rows: Mapping[str, npt.NDArray[np.int8]], decided: Mapping[str, TaskAnnotation]
) -> npt.NDArray[np.int8]:
    """Return the decisions, and what people agree on where nothing had to be decided."""
    found = _row(tasks, decided)
    start = 0
    for task in tasks:
        place = slice(start, start + len(task.sentences))
        start = place.stop
        judged = [row[place] for row in rows.values() if (row[place] != MISSING).all()]
        if task.id not in decided and len(judged) > 1 and all((one == judged[0]).all() for one in judged):
            found[place] = judged[0]
    return found


def _model_row(tasks: Sequence[AnnotationTask], dataset: Dataset) -> npt.NDArray[np.int8]:
    parts = []
    for task in tasks:
        if task.instance_id not in dataset:
            raise RunMismatchError(
                f"{dataset.path}: no instance '{task.instance_id}', which task '{task.id}' is of; give the data set "
                "that the tasks were drawn from, or one with the same instances"
            )
        instance = dataset[task.instance_id]
        same = instance.query.sentences == task.sentences
        if not same or instance.labels.texts.get(task.aspect_id) != task.aspect:
            what = "other sentences" if not same else f"another text of aspect '{task.aspect_id}'"
            raise RunMismatchError(
                f"{dataset.path}: {task.instance_id}: has {what} than task '{task.id}'; give the data set that the "
                "tasks were drawn from, or one with the same instances"
            )
        part = np.zeros(len(task.sentences), dtype=np.int8)
        part[list(instance.labels.sources.get(task.aspect_id, ()))] = 1
        parts.append(part)
    return np.concatenate(parts)
