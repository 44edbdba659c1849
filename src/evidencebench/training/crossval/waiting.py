"""Splits of systems that wait for a server: asked in this process, many instances at once, under one cost limit."""

from collections.abc import Iterator, Sequence

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.execution.asking import Gathered, Inquiry, Rehearsal, Waiting, gather, rehearse_all
from evidencebench.execution.making import make_system
from evidencebench.models.llm.client import ChatClient
from evidencebench.systems.derangement import derange_hypotheses
from evidencebench.training.crossval.plan import Plan, Split, splits_of
from evidencebench.training.crossval.splits import AnsweredSplit, Picks, counted
from evidencebench.training.selector import Progress


def gathered_splits(
    splits: Sequence[Split], dataset: Dataset, tasks: Sequence[Task], *, client: ChatClient | None, waiting: Waiting
) -> Iterator[AnsweredSplit]:
    """Yield the answers of splits whose systems wait for a server; those that go in batches are asked together."""
    instances = list(dataset) if splits else []
    for together in [[split] for split in splits] if waiting.settle is None else [splits]:
        inquiries = [one for split in together for one in _inquiries(split, dataset, client)]
        gathered = iter(gather(inquiries, dataset, tasks, waiting=waiting))
        for split in together:
            own, wrong = next(gathered), next(gathered)
            (system,) = split.systems
            yield AnsweredSplit(
                split=split,
                fit_seconds=0.0,
                answer_seconds={system: own.seconds},
                own={system: _picks(own, instances, tasks)},
                wrong={system: _picks(wrong, instances, tasks)},
            )


def rehearse_splits(
    plan: Plan, dataset: Dataset, tasks: Sequence[Task], *, client: ChatClient, on_progress: Progress | None = None
) -> Rehearsal:
    """Ask what the systems of a plan that wait for a server would be asked, and keep no answer.

    It is meant for a client that sends nothing but estimates.
    """
    inquiries = [one for split in splits_of(plan) if split.waits for one in _inquiries(split, dataset, client)]
    return rehearse_all(inquiries, dataset, tasks, on_progress=on_progress)


def _inquiries(split: Split, dataset: Dataset, client: ChatClient | None) -> Iterator[Inquiry]:
    """Yield a split's system with each paper's own hypothesis, then with another's."""
    wrong = derange_hypotheses(dataset.queries(), np.random.default_rng(split.seed))
    for system in split.systems:
        named = make_system(system, seed=split.seed, client=client)
        yield Inquiry(system=named)
        yield Inquiry(system=named, hypotheses=wrong)


def _picks(gathered: Gathered, instances: Sequence[Instance], tasks: Sequence[Task]) -> Picks:
    return {
        instance.id: {
            task.name: counted(gathered.answer(instance, task), instance, task)
            for task in tasks
            if task.applies_to(instance.labels)
        }
        for instance in instances
    }
