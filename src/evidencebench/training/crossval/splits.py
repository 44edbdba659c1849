"""Train the model of a split, ask it each paper's own query and a changed one, and keep what counts."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset, reopen_dataset
from evidencebench.data.formats.table import DataFile
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import AnswerError, RunMismatchError
from evidencebench.execution.answering import ask_once_an_instance
from evidencebench.execution.asking import Inquiry, Rehearsal, Waiting, gather, rehearse_all
from evidencebench.execution.changes import Changes, changed_instance
from evidencebench.execution.making import make_system
from evidencebench.models.llm.client import ChatClient
from evidencebench.provenance import differences
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.scoring.selection import check_answer
from evidencebench.system import NamedSystem, Ranking
from evidencebench.training.crossval.plan import Plan, Split, changes_of_seed, splits_of, versions_before_training
from evidencebench.training.folds import paper_folds, split_at_fold
from evidencebench.training.training_table import trainable


class CountedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an answer that counts: of an ordered answer, the first sentences within the budget; else the set."""

    sentences: tuple[int, ...] = ()
    ordered: bool = True
    error: str | None = None

    @property
    def answer(self) -> Answer:
        """The part as an answer, or the failure."""
        if self.error is not None:
            return Failure(error=self.error)
        return Ranking(sentences=self.sentences, ordered=self.ordered)


Picks = dict[str, dict[str, CountedAnswer]]
"""Instance id -> task name -> the part of the answer that counts."""


class AnsweredSplit(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of a split, by system."""

    split: Split = msgspec.field(name="cell")  # the name in the journals of earlier versions
    fit_seconds: float
    answer_seconds: dict[str, dict[str, float]]  # to answer all tasks, by system and instance
    own: dict[str, Picks]  # to each paper's own query, or without a hypothesis in a blind split
    wrong: dict[str, Picks]  # to the changed queries of `Plan.control`
    # The sha256 of the data of models that were trained elsewhere, such as an embedder; None in earlier journals.
    trained_on: dict[str, tuple[str, ...]] | None = None

    def n_failed(self, system: str) -> int:
        """Return how many answers of a system failed."""
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

    def work(split: Split) -> AnsweredSplit:
        changes = changes_of_seed(plan, dataset, split.seed)
        if split.fold is None:
            systems = {spec: make_system(spec, seed=split.seed) for spec in split.systems}
            return _ask_systems(split, systems, instances, tasks, changes=changes, dataset=dataset)
        fold = paper_folds(papers, plan.n_folds, np.random.default_rng(split.seed))[split.fold]
        seen, asked = split_at_fold(instances, fold)
        trainings = {spec: training for spec in split.systems if (training := trainable(spec)) is not None}
        trained = trainings[split.systems[0]]
        trained = trained.blind if split.blind and trained.blind is not None else trained
        with tempfile.TemporaryDirectory() as scratch:
            model = Path(scratch) / "model"
            started = time.perf_counter()
            trained.quick.training.fit(seen, model, seed=split.seed)
            fit_seconds = time.perf_counter() - started
            systems = {
                spec: make_system(training.specification(model), seed=split.seed)
                for spec, training in trainings.items()
            }
            return _ask_systems(split, systems, asked, tasks, changes=changes, dataset=dataset, fit_seconds=fit_seconds)

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
    """Yield the answers of splits whose systems wait for a server; with batches, all splits are asked together.

    They are asked in this process, many instances at a time, under one cost limit.
    """
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
                fit_seconds=0.0,
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
    """Ask the systems of a plan that wait for a server, by a client that sends nothing; keep no answer."""
    splits = [split for split in splits_of(plan) if split.waits]
    inquiries = [inquiry for split in splits for inquiry in _inquiries(split, plan, dataset, client)]
    return rehearse_all(inquiries, dataset, tasks, on_progress=on_progress)


def _inquiries(split: Split, plan: Plan, dataset: Dataset, client: ChatClient | None) -> Iterator[Inquiry]:
    """Yield a split's system with each paper's own query, then with the changed ones."""
    for spec in split.systems:
        system = make_system(spec, seed=split.seed, client=client)
        yield Inquiry(system=system)
        yield Inquiry(system=system, changes=changes_of_seed(plan, dataset, split.seed))


def _ask_systems(
    split: Split,
    systems: Mapping[str, NamedSystem],
    asked: Sequence[Instance],
    tasks: Sequence[Task],
    *,
    changes: Changes | None,
    dataset: Dataset,
    fit_seconds: float = 0.0,
) -> AnsweredSplit:
    """Ask systems about instances; in a blind split, the hypothesis is empty, whatever the systems' options are."""
    seconds: dict[str, dict[str, float]] = {}
    own: dict[str, Picks] = {}
    changed: dict[str, Picks] = {}
    blind = Changes(hypotheses=dict.fromkeys((instance.id for instance in asked), "")) if split.blind else None
    for spec, system in systems.items():
        own[spec], seconds[spec] = _ask(system, asked, blind, dataset, tasks)
        changed[spec] = {} if split.blind else _ask(system, asked, changes, dataset, tasks)[0]
    return AnsweredSplit(
        split=split,
        fit_seconds=fit_seconds,
        answer_seconds=seconds,
        own=own,
        wrong=changed,
        trained_on={spec: tuple(sorted(system.trained_on())) for spec, system in systems.items()},
    )


def _ask(
    system: NamedSystem, asked: Sequence[Instance], changes: Changes | None, dataset: Dataset, tasks: Sequence[Task]
) -> tuple[Picks, dict[str, float]]:
    """Return the parts of the answers that count, and the seconds that each instance took."""
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
    if changes is not None and changes.strangers is not None:
        n_sentences += changes.strangers[instance.id].n_sentences
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
