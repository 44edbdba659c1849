"""Cross-validate systems by paper."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import SystemSpecError, TaskError
from evidencebench.execution.ask import require_answerable
from evidencebench.execution.system_table import factory_of, make_options, make_system
from evidencebench.execution.waiting import Waiting
from evidencebench.models.llm.client import ChatClient
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.storage.reading import PathText
from evidencebench.system import NamedSystem, traits_of
from evidencebench.systems.derangement import derange_hypotheses
from evidencebench.training.crossval.cells import Plan, Progress, finished_cells, versions_before_training
from evidencebench.training.crossval.figures import SystemFigures, figures_of
from evidencebench.training.crossval.waiting_cells import gathered_cells
from evidencebench.training.folding import paper_folds
from evidencebench.training.selector import TUNED_TASKS
from evidencebench.training.trainings import trainable

DEFAULT_TASKS = TUNED_TASKS
"""The four tasks that the benchmark's publication reports."""


def cross_validate(
    systems: str | Sequence[str],
    dataset: Dataset | PathText,
    *,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    n_folds: int = 5,
    n_seeds: int = 5,
    with_blind: bool = True,
    jobs: int = 1,
    journal: PathText | None = None,
    overwrite: bool = False,
    resampling: Resampling = DEFAULT_RESAMPLING,
    client: ChatClient | None = None,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    on_progress: Progress | None = None,
) -> list[SystemFigures]:
    """Return the figures of each system, every instance answered by models that saw nothing of its paper.

    Parameters
    ----------
    systems
        What is measured, and what it is compared with. One that names a training is trained in every fold.
    dataset
        What is cut into folds, by paper.
    tasks
        What is measured; empty: `DEFAULT_TASKS`.
    n_folds
        Parts that the papers are cut into, at least 2.
    n_seeds
        How often that is done, each time otherwise: with the resampling's seed, the next, and so on.
    with_blind
        Whether to train without the hypothesis too.
    jobs
        Processes.
    journal
        Keeps finished cells, so that the same call goes on after an interruption; None: nothing is kept.
    overwrite
        Start over where the journal exists.
    resampling
        Of the intervals; its seed is the first cut's too.
    client
        How language models are asked; None: as `make_system` does.
    waiting
        How systems that wait for a server are asked; what they answered is stored, and a cell in the journal.
    on_progress
        Called with (cells done, cells in all).

    Raises
    ------
    RunMismatchError
        If the journal holds another cross-validation, or a system builds on stored answers, which are for each paper's
        own hypothesis.
    StopError
        If no more requests may be sent; what was finished is kept.
    SystemSpecError
        If a system or an option does not fit, or a system that is trained anew in every fold would ask a language
        model.
    TaskError
        If a system cannot answer a task.
    UndefinedScoreError
        If there are fewer papers than folds, or hypotheses cannot be swapped between papers.
    """
    data = dataset_from(dataset)
    plan, asked = planned(
        systems, data, tasks=tasks, n_folds=n_folds, n_seeds=n_seeds, with_blind=with_blind, resampling=resampling
    )
    with tempfile.TemporaryDirectory() as scratch:
        finished = finished_cells(
            plan,
            data,
            Path(journal or Path(scratch) / "cells.jsonl"),
            jobs=jobs,
            overwrite=overwrite,
            ask=lambda cells: gathered_cells(cells, data, asked, client=client, waiting=waiting),
            report=on_progress,
        )
    return figures_of(plan, data, asked, finished, resampling)


def planned(
    systems: str | Sequence[str],
    dataset: Dataset | PathText,
    *,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    n_folds: int = 5,
    n_seeds: int = 5,
    with_blind: bool = True,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> tuple[Plan, tuple[Task, ...]]:
    """Return what `cross_validate` would work off, and the tasks; parameters and errors are its own."""
    asked = tasks_from(tasks) or tasks_from(DEFAULT_TASKS)
    dataset = dataset_from(dataset)
    distinct = (systems,) if isinstance(systems, str) else tuple(dict.fromkeys(systems))
    if not distinct:
        raise SystemSpecError("expected at least one system to validate, got none")
    for system in distinct:
        _check(system, dataset, asked, n_folds)
    plan = Plan(
        systems=distinct,
        data=dataset.sha256,
        tasks=tuple(task.name for task in asked),
        n_folds=n_folds,
        seeds=tuple(range(resampling.seed, resampling.seed + n_seeds)),
        with_blind=with_blind,
        versions=versions_before_training(distinct),
    )
    return plan, asked


def _check(system: str, dataset: Dataset, tasks: Sequence[Task], n_folds: int) -> None:
    """Raise whatever is wrong with the system, the tasks or the folds, before anything is computed."""
    derange_hypotheses(dataset.queries(), np.random.default_rng(0))
    found = trainable(system)
    if found is None:
        named = make_system(system)
        require_answerable(named, dataset, tasks, own_hypotheses=False)
        if dataset.sha256 in named.trained_on():
            raise SystemSpecError(
                f"'{system}' was trained on this data, so that its answers say nothing of other papers; "
                "leave the model out, and it is trained anew in every fold"
            )
        return
    nested = make_options(found.name, factory_of(found.system), found.options).values()
    if any(isinstance(value, NamedSystem) and value.waits for value in nested):
        raise SystemSpecError(
            f"'{system}': expected no system that asks a language model beside a model that is trained in every fold, "
            "since no cost limit would hold for it; leave it out"
        )
    paper_folds([query.paper_id for query in dataset.queries()], n_folds, np.random.default_rng(0))
    if not traits_of(factory_of(found.system)).selects:
        for task in tasks:
            if task.budget is None:
                raise TaskError(f"'{system}' ranks all sentences, and task '{task.name}' has no budget to end it")
