"""The plan of a cross-validation and its splits; a split is one model, and the papers that it answers."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import SystemSpecError, TaskError
from evidencebench.execution.answering import require_answerable
from evidencebench.execution.changes import Changes
from evidencebench.execution.making import factory_of, make_options, make_system, module_of
from evidencebench.execution.query_controls import QueryControl, changes_of
from evidencebench.extras import library_versions
from evidencebench.provenance import merged_versions, versions_of_code
from evidencebench.runs.header import SeededControl
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.system import NamedSystem
from evidencebench.systems.changed_queries import Stranger, draw_strangers
from evidencebench.training.folds import paper_folds
from evidencebench.training.training_table import Trainable, trainable
from evidencebench.traits import traits_of
from evidencebench.version import __version__

DEFAULT_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")
"""The four tasks that the benchmark's publication reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossValidation:
    """The systems and tasks to measure, and the settings."""

    systems: str | Sequence[str]  # the first is compared with the others; trainings are trained in each fold
    tasks: TaskOrName | Iterable[TaskOrName] = ()  # empty: `DEFAULT_TASKS`
    n_folds: int = 5  # how many parts the papers are cut into, at least 2
    n_seeds: int = 5  # how often they are cut: first with the resampling's seed, then seed + 1, and so on
    with_blind: bool = True  # whether to train without the hypothesis too
    control: SeededControl = "wrong_hypothesis"  # how queries are changed on purpose, to ask the same models with
    resampling: Resampling = DEFAULT_RESAMPLING  # for the intervals; its seed is also the first seed

    asked: tuple[Task, ...] = field(init=False)  # `tasks`, or the default ones, as tasks

    def __post_init__(self) -> None:
        systems = (self.systems,) if isinstance(self.systems, str) else tuple(dict.fromkeys(self.systems))
        object.__setattr__(self, "systems", systems)
        object.__setattr__(self, "asked", tasks_from(self.tasks) or tasks_from(DEFAULT_TASKS))


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides the answers of a cross-validation, as its journal holds it."""

    systems: tuple[str, ...]
    data: str  # the sha256 of the data file
    tasks: tuple[str, ...]
    n_folds: int
    seeds: tuple[int, ...]  # one for each time that the papers are cut
    with_blind: bool
    control: SeededControl = "wrong_hypothesis"
    versions: dict[str, str] = {}  # those that are known before training
    evidencebench: str = __version__


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """One model, or one system without training, and the papers that it answers."""

    systems: tuple[str, ...]  # several if they differ only in how they use the model
    seed: int  # decides the folds, the training and how queries are changed
    fold: int | None = None  # None: nothing is trained, and the system answers all papers
    blind: bool = False  # whether it is trained and asked without the hypothesis

    @property
    def words(self) -> str:
        """What it is, for messages."""
        fold = "" if self.fold is None else f", fold {self.fold}"
        return f"{' and '.join(self.systems)}, seed {self.seed}{fold}{', blind' if self.blind else ''}"

    @property
    def waits(self) -> bool:
        """Whether its system waits for a server, such as a language model's."""
        return self.fold is None and any(make_system(system).waits for system in self.systems)


def make_plan(what: CrossValidation, dataset: Dataset) -> Plan:
    """Return the plan of a cross-validation of a data set.

    It raises `SystemSpecError` if a system or an option does not fit, or a trained system would ask a language model;
    `RunMismatchError` if a system builds on stored answers; `TaskError` if a system cannot answer a task;
    `UndefinedScoreError` if there are fewer papers than folds, or the queries cannot be changed as is asked.
    """
    systems = tuple(what.systems)
    if not systems:
        raise SystemSpecError("expected at least one system to validate, got none")
    for system in systems:
        _check(system, dataset, what.asked, what.n_folds)
    first = what.resampling.seed
    plan = Plan(
        systems=systems,
        data=dataset.sha256,
        tasks=tuple(task.name for task in what.asked),
        n_folds=what.n_folds,
        seeds=tuple(range(first, first + what.n_seeds)),
        with_blind=what.with_blind,
        control=what.control,
        versions=versions_before_training(systems),
    )
    for seed in plan.seeds if what.control == "two_papers" else plan.seeds[:1]:
        changes_of_seed(plan, dataset, seed)
    return plan


def changes_of_seed(plan: Plan, dataset: Dataset, seed: int) -> Changes | None:
    """Return how the queries are changed under a seed.

    A second paper is drawn among the papers of the same fold: a model knows what it was trained on, and would take it
    for evidence. Raises `UndefinedScoreError` where the papers do not suffice.
    """
    if plan.control != "two_papers":
        return changes_of(QueryControl(name=plan.control), dataset, seed)
    queries = list(dataset.queries())
    folds = paper_folds([query.paper_id for query in queries], plan.n_folds, np.random.default_rng(seed))
    generator = np.random.default_rng(seed)
    strangers: dict[str, Stranger] = {}
    for fold in folds:
        strangers |= draw_strangers([queries[index] for index in sorted(fold)], generator)
    return Changes(strangers=strangers)


def splits_of(plan: Plan) -> Iterator[Split]:
    """Yield the splits of a plan, seed by seed; systems with the same training share their splits."""
    together: dict[object, list[str]] = {}
    trainings: dict[str, Trainable | None] = {system: trainable(system) for system in plan.systems}
    for system, training in trainings.items():
        together.setdefault(system if training is None else (training.name, training.training), []).append(system)
    for seed in plan.seeds:
        for systems in map(tuple, together.values()):
            training = trainings[systems[0]]
            if training is None:
                yield Split(systems=systems, seed=seed)
                continue
            for fold in range(plan.n_folds):
                yield Split(systems=systems, seed=seed, fold=fold)
                if plan.with_blind and training.blind is not None:
                    yield Split(systems=systems, seed=seed, fold=fold, blind=True)


def versions_before_training(systems: Sequence[str]) -> dict[str, str]:
    """Return the versions that decide the answers of systems and are known before training.

    For a trained system these are the versions of libraries, and the digests of own code that trains or answers.
    """
    return merged_versions(*map(_versions_of, systems))


def _versions_of(system: str) -> dict[str, str]:
    training = trainable(system)
    if training is None:
        return make_system(system).versions()
    libraries = library_versions("numpy", "lightgbm", "torch", "onnxruntime", "sentence-transformers")
    code_of_training = versions_of_code(training.name, sys.modules[type(training.training).__module__])
    return {**libraries, **code_of_training, **versions_of_code(training.system, module_of(training.system))}


def _check(system: str, dataset: Dataset, tasks: Sequence[Task], n_folds: int) -> None:
    """Raise if the system, the tasks or the folds do not fit the data, before anything is computed."""
    training = trainable(system)
    if training is None:
        named = make_system(system)
        require_answerable(named, dataset, tasks, own_queries=False)
        if dataset.sha256 in named.trained_on():
            raise SystemSpecError(
                f"'{system}' was trained on this data, so that its answers say nothing of other papers; "
                "leave the model out, and it is trained anew in every fold"
            )
        return
    nested = make_options(training.name, factory_of(training.system), training.options).values()
    if any(isinstance(value, NamedSystem) and value.waits for value in nested):
        raise SystemSpecError(
            f"'{system}': expected no system that asks a language model beside a model that is trained in every fold, "
            "since no cost limit would hold for it; leave it out"
        )
    paper_folds([query.paper_id for query in dataset.queries()], n_folds, np.random.default_rng(0))
    if not traits_of(factory_of(training.system)).selects:
        for task in tasks:
            if task.budget is None:
                raise TaskError(f"'{system}' ranks all sentences, and task '{task.name}' has no budget to end it")
