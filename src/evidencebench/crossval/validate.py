"""Cross-validate systems by paper."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from evidencebench.answering import require_answerable
from evidencebench.crossval.cells import Plan, Progress, finished_cells
from evidencebench.crossval.figures import SystemFigures, figures_of
from evidencebench.dataset import Dataset
from evidencebench.significance import DEFAULT_RESAMPLING, Resampling
from evidencebench.systems import make_system
from evidencebench.tasks import Task, task_named
from evidencebench.training.trainings import trainable

DEFAULT_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")
"""The four tasks that the benchmark's publication reports."""


def cross_validate(
    systems: Sequence[str],
    dataset: Dataset,
    *,
    tasks: Sequence[Task] = (),
    n_folds: int = 5,
    n_seeds: int = 5,
    with_blind: bool = True,
    jobs: int = 1,
    journal: Path | None = None,
    overwrite: bool = False,
    resampling: Resampling = DEFAULT_RESAMPLING,
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
        How often that is done, each time otherwise.
    with_blind
        Whether to train without the hypothesis too.
    jobs
        Processes.
    journal
        Keeps finished cells, so that the same call goes on after an interruption; None: nothing is kept.
    overwrite
        Start over where the journal exists.
    resampling
        Of the intervals.
    on_progress
        Called with (cells done, cells in all).

    Raises
    ------
    RunMismatchError
        If the journal holds another cross-validation.
    SystemSpecError
        If a system or an option does not fit.
    """
    asked = tuple(tasks) or tuple(map(task_named, DEFAULT_TASKS))
    plan = Plan(
        systems=tuple(dict.fromkeys(systems)),
        data=dataset.sha256,
        tasks=tuple(task.name for task in asked),
        n_folds=n_folds,
        n_seeds=n_seeds,
        with_blind=with_blind,
    )
    for system in plan.systems:
        if trainable(system) is None:
            require_answerable(make_system(system), asked)
    with tempfile.TemporaryDirectory() as scratch:
        finished = finished_cells(
            plan,
            dataset,
            journal or Path(scratch) / "cells.jsonl",
            jobs=jobs,
            overwrite=overwrite,
            report=on_progress,
        )
    return figures_of(plan, dataset, asked, finished, resampling)
