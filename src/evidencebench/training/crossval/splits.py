"""One split: a model is trained, asked with each paper's own hypothesis and another's, and what counts is kept."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset, reopen_dataset
from evidencebench.data.formats.table import DataFile
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import AnswerError, RunMismatchError
from evidencebench.execution.answering import answers_from
from evidencebench.execution.asking import Inquiry, Rehearsal, Waiting, gather, rehearse_all
from evidencebench.execution.making import make_system
from evidencebench.models.llm.client import ChatClient
from evidencebench.provenance import differences
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.scoring.selection import check_answer
from evidencebench.system import NamedSystem, Ranking
from evidencebench.systems.derangement import derange_hypotheses
from evidencebench.training.crossval.plan import Plan, Split, splits_of, versions_before_training
from evidencebench.training.folds import paper_folds, split_at_fold
from evidencebench.training.training_table import trainable


class CountedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What counts of an answer: the first sentences of an ordered one, as many as the budget, or a whole set."""

    sentences: tuple[int, ...] = ()
    ordered: bool = True
    error: str | None = None

    @property
    def answer(self) -> Answer:
        """The answer, or the failure in its place."""
        if self.error is not None:
            return Failure(error=self.error)
        return Ranking(sentences=self.sentences, ordered=self.ordered)


Picks = dict[str, dict[str, CountedAnswer]]
"""Instance id -> task name -> what was picked."""


class AnsweredSplit(msgspec.Struct, frozen=True, kw_only=True):
    """A split's answers, by system.

    ``answer_seconds`` is the time to answer all tasks, by system and instance. ``own`` and ``wrong`` are what counted
    when each paper was asked with its own hypothesis, none in a blind split, and with another's.
    """

    split: Split = msgspec.field(name="cell")  # as earlier versions called it
    fit_seconds: float
    answer_seconds: dict[str, dict[str, float]]
    own: dict[str, Picks]
    wrong: dict[str, Picks]

    def n_failed(self, system: str) -> int:
        """Return how many answers of a system failed."""
        picks = (*self.own[system].values(), *self.wrong[system].values())
        return sum(picked.error is not None for by_task in picks for picked in by_task.values())


def split_worker(data: DataFile, plan: Plan) -> Callable[[Split], AnsweredSplit]:
    """Return a function that trains and asks a split, for a process that opens the data itself."""
    dataset = reopen_dataset(data)
    if differing := differences(plan.versions, versions_before_training(plan.systems)):
        raise RunMismatchError(f"what decides the answers has changed since the work began: {differing}; start again")
    instances = list(dataset)
    papers = [instance.query.paper_id for instance in instances]
    tasks = tuple(map(task_named, plan.tasks))

    def work(split: Split) -> AnsweredSplit:
        wrong = _wrong_hypotheses(dataset, split)
        if split.fold is None:
            systems = {spec: make_system(spec, seed=split.seed) for spec in split.systems}
            return _answered(split, systems, instances, wrong, tasks)
        fold = paper_folds(papers, plan.n_folds, np.random.default_rng(split.seed))[split.fold]
        seen, asked = split_at_fold(instances, fold)
        trainings = {spec: found for spec in split.systems if (found := trainable(spec)) is not None}
        trained = trainings[split.systems[0]]
        trained = trained.blind if split.blind and trained.blind is not None else trained
        with tempfile.TemporaryDirectory() as scratch:
            model = Path(scratch) / "model"
            started = time.perf_counter()
            trained.quick.training.fit(seen, model, seed=split.seed)
            fit_seconds = time.perf_counter() - started
            systems = {
                spec: make_system(found.specification(model), seed=split.seed) for spec, found in trainings.items()
            }
            return _answered(split, systems, asked, wrong, tasks, fit_seconds=fit_seconds)

    return work


def gathered_splits(
    splits: Sequence[Split], dataset: Dataset, tasks: Sequence[Task], *, client: ChatClient | None, waiting: Waiting
) -> Iterator[AnsweredSplit]:
    """Yield the answers of splits whose systems wait for a server; those that go in batches are asked together.

    They are asked in this process, many instances at once, under one cost limit.
    """
    instances = list(dataset) if splits else []
    for together in [[split] for split in splits] if waiting.settle is None else [splits]:
        inquiries = [one for split in together for one in _inquiries(split, dataset, client)]
        gathered = gather(inquiries, dataset, tasks, waiting=waiting)
        picks = [{one.id: _picked(found.answer, one, tasks) for one in instances} for found in gathered]
        for place, split in enumerate(together):
            (system,) = split.systems
            yield AnsweredSplit(
                split=split,
                fit_seconds=0.0,
                answer_seconds={system: gathered[2 * place].seconds},
                own={system: picks[2 * place]},
                wrong={system: picks[2 * place + 1]},
            )


def rehearse_splits(
    plan: Plan,
    dataset: Dataset,
    tasks: Sequence[Task],
    *,
    client: ChatClient,
    on_progress: Callable[[int, int], None] | None = None,
) -> Rehearsal:
    """Ask what the systems of a plan that wait for a server would be asked, and keep no answer.

    It is meant for a client that sends nothing but estimates.
    """
    inquiries = [one for split in splits_of(plan) if split.waits for one in _inquiries(split, dataset, client)]
    return rehearse_all(inquiries, dataset, tasks, on_progress=on_progress)


def _inquiries(split: Split, dataset: Dataset, client: ChatClient | None) -> Iterator[Inquiry]:
    """Yield a split's system with each paper's own hypothesis, then with another's."""
    for spec in split.systems:
        system = make_system(spec, seed=split.seed, client=client)
        yield Inquiry(system=system)
        yield Inquiry(system=system, hypotheses=_wrong_hypotheses(dataset, split))


def _wrong_hypotheses(dataset: Dataset, split: Split) -> Mapping[str, str]:
    return derange_hypotheses(dataset.queries(), np.random.default_rng(split.seed))


def _answered(
    split: Split,
    systems: Mapping[str, NamedSystem],
    asked: Sequence[Instance],
    wrong: Mapping[str, str],
    tasks: Sequence[Task],
    *,
    fit_seconds: float = 0.0,
) -> AnsweredSplit:
    """Ask systems; blind ones are shown no hypothesis, whatever their options are."""
    seconds: dict[str, dict[str, float]] = {}
    own: dict[str, Picks] = {}
    swapped: dict[str, Picks] = {}
    for spec, system in systems.items():
        own[spec], seconds[spec] = _ask(system, asked, tasks, dict.fromkeys(wrong, "") if split.blind else None)
        swapped[spec] = {} if split.blind else _ask(system, asked, tasks, wrong)[0]
    return AnsweredSplit(split=split, fit_seconds=fit_seconds, answer_seconds=seconds, own=own, wrong=swapped)


def _ask(
    system: NamedSystem, asked: Sequence[Instance], tasks: Sequence[Task], hypotheses: Mapping[str, str] | None
) -> tuple[Picks, dict[str, float]]:
    """Return what counts of the answers, and the seconds that each instance took."""
    answer = answers_from(system, hypotheses)
    picks: Picks = {}
    seconds: dict[str, float] = {}
    for instance in asked:
        started = time.perf_counter()
        picks[instance.id] = _picked(answer, instance, tasks)
        seconds[instance.id] = time.perf_counter() - started
    return picks, seconds


def _picked(
    answer: Callable[[Instance, Task], Answer], instance: Instance, tasks: Sequence[Task]
) -> dict[str, CountedAnswer]:
    applicable = [task for task in tasks if task.applies_to(instance.labels)]
    return {task.name: _counted(answer(instance, task), instance, task) for task in applicable}


def _counted(answer: Answer, instance: Instance, task: Task) -> CountedAnswer:
    """Return what counts of an answer; one that names a sentence which does not exist has failed."""
    try:
        checked = check_answer(answer, len(instance.query.sentences))
    except AnswerError as error:
        return CountedAnswer(error=str(error))
    if checked.error is not None:
        return CountedAnswer(error=checked.error)
    if not checked.ranking.ordered:
        return CountedAnswer(checked.ranking.sentences, ordered=False)
    return CountedAnswer(checked.selection(task.budget_for(instance)).certain)
