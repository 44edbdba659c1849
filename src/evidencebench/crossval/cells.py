"""The work of a cross-validation, cut into cells: one model each, which answers papers that it has not seen.

Each finished cell is a line of a journal, so that an interrupted cross-validation goes on where it stopped.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from evidencebench.answering import answer_instance, with_hypothesis
from evidencebench.dataset import Dataset, open_dataset
from evidencebench.derangement import derange_hypotheses
from evidencebench.engine.local import work_off
from evidencebench.errors import RunMismatchError
from evidencebench.evaluation import AnswerSource
from evidencebench.instance import Instance
from evidencebench.journal import open_journal
from evidencebench.runs import Answer, Failure
from evidencebench.system import NamedSystem, Ranking
from evidencebench.systems import make_system
from evidencebench.tasks import Task, task_named
from evidencebench.training.folding import paper_folds
from evidencebench.training.trainings import Trainable, trainable
from evidencebench.version import __version__

Progress = Callable[[int, int], None]

_BEGINS = b'{"evidencebench_crossval":'


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the answers of a cross-validation.

    Attributes
    ----------
    systems
        Specifications; those that name a training are trained in every fold.
    data
        sha256 of the data file.
    tasks
        Names.
    n_folds, n_seeds
        How many parts the papers are cut into, and how many times that is done, each time otherwise.
    with_blind
        Whether systems that can be trained without the hypothesis are trained so too.
    """

    systems: tuple[str, ...]
    data: str
    tasks: tuple[str, ...]
    n_folds: int
    n_seeds: int
    with_blind: bool
    version: str = __version__


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One model, or one system that needs none: which papers it answers, and how it is made.

    Attributes
    ----------
    systems
        Specifications of what answers with the model; several where they differ only in how they use it.
    seed
        Of folds, training and the swap of hypotheses.
    fold
        Which fold it answers; None: it is not trained, and answers all.
    blind
        Whether it is trained without the hypothesis.
    """

    systems: tuple[str, ...]
    seed: int
    fold: int | None = None
    blind: bool = False


class Picked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What counts of an answer: the first sentences of an ordered one, as many as the budget, or a whole set."""

    sentences: tuple[int, ...] = ()
    ordered: bool = True
    error: str | None = None

    @property
    def answer(self) -> Answer:
        """The answer, or the failure in its place."""
        return (
            Ranking(sentences=self.sentences, ordered=self.ordered) if self.error is None else Failure(error=self.error)
        )


Picks = dict[str, dict[str, Picked]]
"""Instance id -> task name -> what was picked."""


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A cell's answers, by system.

    Attributes
    ----------
    cell
        What was asked.
    fit_seconds
        Time to train the model; 0 where there is none.
    answer_seconds
        System -> instance id -> time to answer all tasks.
    own, wrong
        System -> its picks, each paper asked with its own hypothesis and with another's.
    """

    cell: Cell
    fit_seconds: float
    answer_seconds: dict[str, dict[str, float]]
    own: dict[str, Picks]
    wrong: dict[str, Picks]


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    evidencebench_crossval: int = 1
    plan: Plan


def cells_of(plan: Plan) -> Iterator[Cell]:
    """Yield the cells of a plan, seed by seed; systems that are trained alike share theirs."""
    together: dict[object, list[str]] = {}
    trainings: dict[str, Trainable | None] = {system: trainable(system) for system in plan.systems}
    for system, found in trainings.items():
        together.setdefault(system if found is None else (found.name, found.training), []).append(system)
    for seed in range(plan.n_seeds):
        for systems in map(tuple, together.values()):
            found = trainings[systems[0]]
            if found is None:
                yield Cell(systems=systems, seed=seed)
                continue
            for fold in range(plan.n_folds):
                yield Cell(systems=systems, seed=seed, fold=fold)
                if plan.with_blind and found.can_be_blind:
                    yield Cell(systems=systems, seed=seed, fold=fold, blind=True)


def finished_cells(
    plan: Plan, dataset: Dataset, path: Path, *, jobs: int, overwrite: bool, report: Progress | None
) -> list[Finished]:
    """Return every cell of a plan, those that the journal lacks worked off and appended to it first.

    Raises
    ------
    RunMismatchError
        If the journal holds another cross-validation.
    """
    header = msgspec.json.encode(_Header(plan=plan))
    with open_journal(path, _BEGINS, truncate=overwrite) as journal:
        if journal.is_empty:
            journal.append(header)
        lines = path.read_bytes().splitlines()
        if lines[0] != header:
            raise RunMismatchError(
                f"{path}: holds another cross-validation; choose another file, or start over with --overwrite"
            )
        finished = {one.cell: one for one in (msgspec.json.decode(line, type=Finished) for line in lines[1:])}
        cells = list(cells_of(plan))

        def keep(one: Finished) -> None:
            journal.append(msgspec.json.encode(one))
            finished[one.cell] = one
            if report is not None:
                report(len(finished), len(cells))

        todo = [cell for cell in cells if cell not in finished]
        work_off(_cell_worker, (dataset.path, plan), todo, keep, jobs=min(jobs, max(1, len(todo))))
    return [finished[cell] for cell in cells]


def source_of(parts: Sequence[Picks]) -> AnswerSource:
    """Return the answers in picks as a source for `evaluate`."""
    picks = {instance_id: by_task for part in parts for instance_id, by_task in part.items()}

    def answer(instance: Instance, task: Task) -> Answer | None:
        found = picks.get(instance.id, {}).get(task.name)
        return None if found is None else found.answer

    return answer


def _cell_worker(data_path: Path, plan: Plan) -> Callable[[Cell], Finished]:
    dataset = open_dataset(data_path)
    instances = list(dataset)
    tasks = tuple(map(task_named, plan.tasks))

    def work(cell: Cell) -> Finished:
        wrong = derange_hypotheses(dataset.queries(), np.random.default_rng(cell.seed))
        if cell.fold is None:
            systems = {spec: make_system(spec, seed=cell.seed) for spec in cell.systems}
            return _answered(cell, systems, instances, wrong, tasks)
        papers = [instance.query.paper_id for instance in instances]
        held_out = paper_folds(papers, plan.n_folds, np.random.default_rng(cell.seed))[cell.fold]
        seen = [instance for place, instance in enumerate(instances) if place not in set(held_out)]
        asked = [instances[place] for place in held_out]
        with tempfile.TemporaryDirectory() as scratch:
            model = Path(scratch) / "model"
            fit_seconds = _train(cell, seen, model)
            systems = {
                spec: make_system(_trainable(spec).specification(model), seed=cell.seed) for spec in cell.systems
            }
            return msgspec.structs.replace(_answered(cell, systems, asked, wrong, tasks), fit_seconds=fit_seconds)

    return work


def _trainable(spec: str) -> Trainable:
    found = trainable(spec)
    if found is None:
        raise TypeError(f"expected a training, got '{spec}'")
    return found


def _train(cell: Cell, seen: Sequence[Instance], folder: Path) -> float:
    """Train a cell's model into a folder, and return how many seconds that took."""
    training = _trainable(cell.systems[0]).training
    if cell.blind:
        training = replace(training, hypothesis=False)  # type: ignore[type-var]
    started = time.perf_counter()
    training.fit(seen, folder, seed=cell.seed)
    return time.perf_counter() - started


def _answered(
    cell: Cell,
    systems: Mapping[str, NamedSystem],
    asked: Sequence[Instance],
    wrong: Mapping[str, str],
    tasks: Sequence[Task],
) -> Finished:
    seconds: dict[str, dict[str, float]] = {}
    own: dict[str, Picks] = {}
    swapped: dict[str, Picks] = {}
    for spec, system in systems.items():
        seconds[spec], own[spec], swapped[spec] = {}, {}, {}
        for instance in asked:
            started = time.perf_counter()
            own[spec][instance.id] = _picked(system, instance, tasks)
            seconds[spec][instance.id] = time.perf_counter() - started
        if not cell.blind:
            for instance in asked:
                other = with_hypothesis(instance, wrong[instance.id])
                swapped[spec][instance.id] = _picked(system, other, tasks)
    return Finished(cell=cell, fit_seconds=0.0, answer_seconds=seconds, own=own, wrong=swapped)


def _picked(system: NamedSystem, instance: Instance, tasks: Sequence[Task]) -> dict[str, Picked]:
    """Return what counts of the answer to each task."""
    found: dict[str, Picked] = {}
    answer: Answer | None = None
    for task in tasks:
        if not task.applies_to(instance.labels):
            continue
        if answer is None or system.reads_brief:
            answer = answer_instance(system, instance, task)
        if isinstance(answer, Failure):
            found[task.name] = Picked(error=answer.error)
        elif answer.ordered:
            found[task.name] = Picked(answer.sentences[: task.budget_for(instance)])
        else:
            found[task.name] = Picked(answer.sentences, ordered=False)
    return found
