"""One split: a model is trained, asked with each paper's own hypothesis and another's, and what counts is kept."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from evidencebench.data.dataset import reopen_dataset
from evidencebench.data.formats.table import DataFile
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import AnswerError, RunMismatchError
from evidencebench.execution.answering import answers_from
from evidencebench.execution.making import make_system
from evidencebench.provenance import differences
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.scoring.evaluate import AnswerSource
from evidencebench.scoring.selection import check_answer
from evidencebench.system import NamedSystem, Ranking
from evidencebench.systems.derangement import derange_hypotheses
from evidencebench.training.crossval.plan import Plan, Split, versions_before_training
from evidencebench.training.folds import paper_folds, split_at_fold
from evidencebench.training.training_table import Trainable, trainable


class CountedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
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


def source_of(parts: Sequence[Picks]) -> AnswerSource:
    """Return the answers in picks as a source for `evaluate`."""
    picks = {instance_id: by_task for part in parts for instance_id, by_task in part.items()}

    def answer(instance: Instance, task: Task) -> Answer | None:
        found = picks.get(instance.id, {}).get(task.name)
        return None if found is None else found.answer

    return answer


def split_worker(data: DataFile, plan: Plan) -> Callable[[Split], AnsweredSplit]:
    """Return a function that trains and asks a split, for a process that opens the data itself."""
    dataset = reopen_dataset(data)
    if differing := differences(plan.versions, versions_before_training(plan.systems)):
        raise RunMismatchError(f"what decides the answers has changed since the work began: {differing}; start again")
    instances = list(dataset)
    tasks = tuple(map(task_named, plan.tasks))

    def work(split: Split) -> AnsweredSplit:
        wrong = derange_hypotheses(dataset.queries(), np.random.default_rng(split.seed))
        if split.fold is None:
            systems = {spec: make_system(spec, seed=split.seed) for spec in split.systems}
            return _answered(split, systems, instances, wrong, tasks)
        papers = [instance.query.paper_id for instance in instances]
        fold = paper_folds(papers, plan.n_folds, np.random.default_rng(split.seed))[split.fold]
        seen, asked = split_at_fold(instances, fold)
        with tempfile.TemporaryDirectory() as scratch:
            model = Path(scratch) / "model"
            fit_seconds = _train(split, seen, model)
            systems = {
                spec: make_system(_trainable(spec).specification(model), seed=split.seed) for spec in split.systems
            }
            return msgspec.structs.replace(_answered(split, systems, asked, wrong, tasks), fit_seconds=fit_seconds)

    return work


def _trainable(spec: str) -> Trainable:
    found = trainable(spec)
    if found is None:
        raise TypeError(f"expected a training, got '{spec}'")
    return found


def _train(split: Split, seen: Sequence[Instance], folder: Path) -> float:
    """Train a split's model into a folder, and return how many seconds that took."""
    found = _trainable(split.systems[0])
    trained = found.blind if split.blind and found.blind is not None else found
    started = time.perf_counter()
    trained.quick.training.fit(seen, folder, seed=split.seed)
    return time.perf_counter() - started


def _answered(
    split: Split,
    systems: Mapping[str, NamedSystem],
    asked: Sequence[Instance],
    wrong: Mapping[str, str],
    tasks: Sequence[Task],
) -> AnsweredSplit:
    """Ask systems; blind ones are shown no hypothesis, whatever their options are."""
    seconds: dict[str, dict[str, float]] = {}
    own: dict[str, Picks] = {}
    swapped: dict[str, Picks] = {}
    for spec, system in systems.items():
        own[spec], seconds[spec] = _ask(system, asked, tasks, dict.fromkeys(wrong, "") if split.blind else None)
        swapped[spec] = {} if split.blind else _ask(system, asked, tasks, wrong)[0]
    return AnsweredSplit(split=split, fit_seconds=0.0, answer_seconds=seconds, own=own, wrong=swapped)


def _ask(
    system: NamedSystem, asked: Sequence[Instance], tasks: Sequence[Task], hypotheses: Mapping[str, str] | None
) -> tuple[Picks, dict[str, float]]:
    """Return what counts of the answers, and the seconds that each instance took."""
    source = answers_from(system, hypotheses)
    picks: Picks = {}
    seconds: dict[str, float] = {}
    for instance in asked:
        started = time.perf_counter()
        applicable = [task for task in tasks if task.applies_to(instance.labels)]
        picks[instance.id] = {task.name: counted(source(instance, task), instance, task) for task in applicable}
        seconds[instance.id] = time.perf_counter() - started
    return picks, seconds


def counted(answer: Answer, instance: Instance, task: Task) -> CountedAnswer:
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
