"""The splits of a cross-validation: planned, answered, resumed."""

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset, reopen_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.sources import DataFile
from evidencebench.data.tasks import Task, TaskOrName, task_named, tasks_from
from evidencebench.errors import AnswerError, RunMismatchError, SystemSpecError, TaskError
from evidencebench.execution.answers import ask_once_an_instance, require_answerable
from evidencebench.execution.asking import Inquiry, Rehearsal, Waiting, gather, rehearse_all
from evidencebench.execution.changes import Changes, changed_instance, changes_of
from evidencebench.execution.making import find_code, make_options, make_system
from evidencebench.models.llm.client import ChatClient
from evidencebench.provenance import differences, digest_of, library_versions, merged_versions, versions_of_code
from evidencebench.runs.header import QueryControl, SeededControl
from evidencebench.runs.run import Answer, Failure
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.scoring.selection import check_answer
from evidencebench.system import NamedSystem, Ranking, traits_of
from evidencebench.systems.changed_queries import Distractor, draw_distractors
from evidencebench.training.folds import Splitter, folds_by, paper_folds, split_at_fold
from evidencebench.training.trainings import Trainable, trainable
from evidencebench.version import __version__
from evidencebench.wording import name_of

DEFAULT_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")
"""The four tasks that the benchmark's publication reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossValidation:
    systems: str | Sequence[str]  # the first is compared with the others; trainings are trained in each fold
    tasks: TaskOrName | Iterable[TaskOrName] = ()  # empty: `DEFAULT_TASKS`
    n_folds: int = 5  # how many parts the papers are cut into, at least 2
    n_seeds: int = 5  # how often they are cut: first with the resampling's seed, then seed + 1, and so on
    with_blind: bool = True  # whether to train without the hypothesis too
    control: SeededControl = "wrong_hypothesis"  # how queries are changed on purpose, to ask the same models with
    resampling: Resampling = DEFAULT_RESAMPLING  # for the intervals; its seed is also the first seed
    splitter: Splitter | None = None  # cuts the folds: (the paper of each instance, n_folds, numpy generator) -> places

    asked: tuple[Task, ...] = field(init=False)  # `tasks`, or the default ones, as tasks

    def __post_init__(self) -> None:
        systems = (self.systems,) if isinstance(self.systems, str) else tuple(dict.fromkeys(self.systems))
        object.__setattr__(self, "systems", systems)
        object.__setattr__(self, "asked", tasks_from(self.tasks) or tasks_from(DEFAULT_TASKS))


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides the answers of a cross-validation, as its journal holds it."""

    systems: tuple[str, ...]
    data: str  # the sha256 of the data file, and of a subset's ids
    tasks: tuple[str, ...]
    n_folds: int
    seeds: tuple[int, ...]  # one for each time that the papers are cut
    with_blind: bool
    control: SeededControl = "wrong_hypothesis"
    versions: dict[str, str] = {}  # those that are known before training
    evidencebench: str = __version__
    splitter: str | None = None  # the name of a user's own
    folds: tuple[tuple[tuple[int, ...], ...], ...] = ()  # that it cut under each seed

    def folds_of(self, papers: Sequence[str], seed: int) -> Sequence[tuple[int, ...]]:
        if self.splitter is not None:
            return self.folds[self.seeds.index(seed)]
        return paper_folds(papers, self.n_folds, np.random.default_rng(seed))


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """One model, or one system without training, and the papers that it answers."""

    systems: tuple[str, ...]  # several if they differ only in how they use the model
    seed: int  # decides the folds, the training and how queries are changed
    fold: int | None = None  # None: nothing is trained, and the system answers all papers
    blind: bool = False  # whether it is trained and asked without the hypothesis

    @property
    def waits(self) -> bool:
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
    seeds = range(what.resampling.seed, what.resampling.seed + what.n_seeds)
    folds: tuple[tuple[tuple[int, ...], ...], ...] = ()
    if what.splitter is not None:
        papers = [query.paper_id for query in dataset.queries()]
        folds = tuple(folds_by(what.splitter, papers, what.n_folds, np.random.default_rng(seed)) for seed in seeds)
    plan = Plan(
        systems=systems,
        data=dataset.sha256 + (f" {digest_of(dataset.chosen_ids)}" if dataset.chosen_ids else ""),
        tasks=tuple(task.name for task in what.asked),
        n_folds=what.n_folds,
        seeds=tuple(seeds),
        with_blind=what.with_blind,
        control=what.control,
        versions=versions_before_training(systems),
        splitter=None if what.splitter is None else name_of(what.splitter),
        folds=folds,
    )
    for seed in plan.seeds if what.control == "two_papers" else plan.seeds[:1]:
        changes_of_seed(plan, dataset, seed)
    return plan


def changes_of_seed(plan: Plan, dataset: Dataset, seed: int) -> Changes | None:
    if plan.control != "two_papers":
        return changes_of(QueryControl(name=plan.control), dataset, seed)
    # Drawn among the papers of a fold: a model knows what it was trained on, and would take it for evidence.
    queries = list(dataset.queries())
    folds = plan.folds_of([query.paper_id for query in queries], seed)
    generator = np.random.default_rng(seed)
    distractors: dict[str, Distractor] = {}
    for fold in folds:
        distractors |= draw_distractors([queries[index] for index in sorted(fold)], generator)
    return Changes(distractors=distractors)


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
                if plan.with_blind and training.without("hypothesis"):
                    yield Split(systems=systems, seed=seed, fold=fold, blind=True)


def versions_before_training(systems: Sequence[str]) -> dict[str, str]:
    versions: list[Mapping[str, str]] = []
    for system in systems:
        if (training := trainable(system)) is None:
            versions.append(make_system(system).versions())
            continue
        versions += [
            library_versions("numpy", "lightgbm", "torch", "onnxruntime", "sentence-transformers"),
            versions_of_code(training.name, sys.modules[type(training.training).__module__]),
            versions_of_code(training.system, find_code(training.system).module),
        ]
    return merged_versions(*versions)


def _check(system: str, dataset: Dataset, tasks: Sequence[Task], n_folds: int) -> None:
    if (training := trainable(system)) is None:
        named = make_system(system)
        require_answerable(named, dataset, tasks, own_queries=False)
        if dataset.sha256 in named.trained_on():
            raise SystemSpecError(
                f"'{system}' was trained on this data, so that its answers say nothing of other papers; "
                "leave the model out, and it is trained anew in every fold"
            )
        return
    nested = make_options(training.name, find_code(training.system).factory, training.options).values()
    if any(isinstance(value, NamedSystem) and value.waits for value in nested):
        raise SystemSpecError(
            f"'{system}': expected no system that asks a language model beside a model that is trained in every fold, "
            "since no cost limit would hold for it; leave it out"
        )
    paper_folds([query.paper_id for query in dataset.queries()], n_folds, np.random.default_rng(0))
    if not traits_of(find_code(training.system).factory).selects:
        for task in tasks:
            if task.budget is None:
                raise TaskError(f"'{system}' ranks all sentences, and task '{task.name}' has no budget to end it")


class CountedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an answer that counts: of an ordered answer, the first sentences within the budget; else the set."""

    sentences: tuple[int, ...] = ()
    ordered: bool = True
    error: str | None = None

    @property
    def answer(self) -> Answer:
        if self.error is not None:
            return Failure(error=self.error)
        return Ranking(sentences=self.sentences, ordered=self.ordered)


Picks = dict[str, dict[str, CountedAnswer]]
"""Instance id -> task name -> the part of the answer that counts."""


class AnsweredSplit(msgspec.Struct, frozen=True, kw_only=True):
    split: Split = msgspec.field(name="cell")  # the name in the journals of earlier versions
    fit_seconds: float = 0.0
    answer_seconds: dict[str, dict[str, float]]  # to answer all tasks, by system and instance
    own: dict[str, Picks]  # to each paper's own query, or without a hypothesis in a blind split
    wrong: dict[str, Picks]  # to the changed queries of `Plan.control`
    # The sha256 of the data of models that were trained elsewhere, such as an embedder; None in earlier journals.
    trained_on: dict[str, tuple[str, ...]] | None = None

    def n_failed(self, system: str) -> int:
        picks = (*self.own[system].values(), *self.wrong[system].values())
        return sum(picked.error is not None for by_task in picks for picked in by_task.values())


def split_worker(data: DataFile, plan: Plan) -> Callable[[Split], AnsweredSplit]:
    """Return a function that trains and asks a split; for a worker process, which opens the data itself."""
    dataset = reopen_dataset(data)
    if differing := differences(plan.versions, versions_before_training(plan.systems)):
        raise RunMismatchError(f"what decides the answers has changed since the work began: {differing}; start again")
    instances = list(dataset)
    papers = [instance.query.paper_id for instance in instances]
    tasks = tuple(map(task_named, plan.tasks))

    def answered(
        split: Split, systems: Mapping[str, NamedSystem], asked: Sequence[Instance], fit_seconds: float = 0.0
    ) -> AnsweredSplit:
        """Ask systems about instances; in a blind split, the hypothesis is empty, whatever the systems' options are."""
        changes = changes_of_seed(plan, dataset, split.seed)
        blind = Changes(hypotheses=dict.fromkeys((instance.id for instance in asked), "")) if split.blind else None
        own: dict[str, Picks] = {}
        wrong: dict[str, Picks] = {}
        seconds: dict[str, dict[str, float]] = {}
        for spec, system in systems.items():
            own[spec], seconds[spec] = _ask(system, asked, blind, dataset, tasks)
            wrong[spec] = {} if split.blind else _ask(system, asked, changes, dataset, tasks)[0]
        return AnsweredSplit(
            split=split,
            fit_seconds=fit_seconds,
            answer_seconds=seconds,
            own=own,
            wrong=wrong,
            trained_on={spec: tuple(sorted(system.trained_on())) for spec, system in systems.items()},
        )

    def work(split: Split) -> AnsweredSplit:
        if split.fold is None:
            return answered(split, {spec: make_system(spec, seed=split.seed) for spec in split.systems}, instances)
        trainings = {spec: training for spec in split.systems if (training := trainable(spec)) is not None}
        fold = plan.folds_of(papers, split.seed)[split.fold]
        seen, asked = split_at_fold(instances, fold)
        trained = trainings[split.systems[0]]
        trained = (trained.without("hypothesis") if split.blind else None) or trained
        trained = trained.without("figures") or trained
        with tempfile.TemporaryDirectory() as scratch:
            model = Path(scratch) / "model"
            started = time.perf_counter()
            trained.training.fit(seen, model, seed=split.seed)
            fit_seconds = time.perf_counter() - started
            specs = {spec: training.specification(model) for spec, training in trainings.items()}
            systems = {spec: make_system(of_model, seed=split.seed) for spec, of_model in specs.items()}
            return answered(split, systems, asked, fit_seconds)

    return work


def gather_splits(
    splits: Sequence[Split],
    plan: Plan,
    dataset: Dataset,
    tasks: Sequence[Task],
    *,
    client: ChatClient | None,
    waiting: Waiting,
) -> Iterator[AnsweredSplit]:
    """Yield the answers of splits whose systems wait for a server, asked in this process; batches hold all splits."""
    instances = list(dataset) if splits else []
    for together in [[split] for split in splits] if waiting.settle is None else [splits]:
        inquiries = [inquiry for split in together for inquiry in _inquiries(split, plan, dataset, client)]
        gathered = gather(inquiries, dataset, tasks, waiting=waiting)
        picks = [
            {instance.id: _pick(answers.answer, instance, inquiry.changes, tasks) for instance in instances}
            for inquiry, answers in zip(inquiries, gathered, strict=True)
        ]
        for i, split in enumerate(together):
            (system,) = split.systems
            yield AnsweredSplit(
                split=split,
                answer_seconds={system: gathered[2 * i].seconds},
                own={system: picks[2 * i]},
                wrong={system: picks[2 * i + 1]},
                trained_on={system: tuple(sorted(inquiries[2 * i].system.trained_on()))},
            )


def rehearse_splits(
    plan: Plan,
    dataset: Dataset,
    tasks: Sequence[Task],
    *,
    client: ChatClient,
    on_progress: Callable[[int, int], None] | None = None,
) -> Rehearsal:
    splits = [split for split in splits_of(plan) if split.waits]
    inquiries = [inquiry for split in splits for inquiry in _inquiries(split, plan, dataset, client)]
    return rehearse_all(inquiries, dataset, tasks, on_progress=on_progress)


def _inquiries(split: Split, plan: Plan, dataset: Dataset, client: ChatClient | None) -> Iterator[Inquiry]:
    """Yield a split's system with each paper's own query, then with the changed ones."""
    for spec in split.systems:
        system = make_system(spec, seed=split.seed, client=client)
        yield Inquiry(system=system)
        yield Inquiry(system=system, changes=changes_of_seed(plan, dataset, split.seed))


def _ask(
    system: NamedSystem, asked: Sequence[Instance], changes: Changes | None, dataset: Dataset, tasks: Sequence[Task]
) -> tuple[Picks, dict[str, float]]:
    answer = ask_once_an_instance(system, partial(changed_instance, changes=changes, dataset=dataset))
    picks: Picks = {}
    seconds: dict[str, float] = {}
    for instance in asked:
        started = time.perf_counter()
        picks[instance.id] = _pick(answer, instance, changes, tasks)
        seconds[instance.id] = time.perf_counter() - started
    return picks, seconds


def _pick(
    answer: Callable[[Instance, Task], Answer], instance: Instance, changes: Changes | None, tasks: Sequence[Task]
) -> dict[str, CountedAnswer]:
    n_sentences = len(instance.query.sentences)
    if changes is not None and changes.distractors is not None:
        n_sentences += changes.distractors[instance.id].n_sentences
    applicable = [task for task in tasks if task.applies_to(instance.labels)]
    return {task.name: _count_answer(answer(instance, task), instance, n_sentences, task) for task in applicable}


def _count_answer(answer: Answer, instance: Instance, n_sentences: int, task: Task) -> CountedAnswer:
    """Return the part of an answer that counts; an answer with a sentence that does not exist counts as failed."""
    try:
        checked = check_answer(answer, n_sentences)
    except AnswerError as error:
        return CountedAnswer(error=str(error))
    if checked.error is not None:
        return CountedAnswer(error=checked.error)
    if not checked.ranking.ordered:
        return CountedAnswer(checked.ranking.sentences, ordered=False)
    return CountedAnswer(checked.selection(task.budget_for(instance)).certain)
