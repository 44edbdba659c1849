"""Open runs and grade them, the way everything that shows scores shares."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.oracle import Oracle
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import RunError, RunMismatchError, TaskError
from evidencebench.execution.ask import answers_from
from evidencebench.execution.belonging import check_answers, check_belongs, tasks_of
from evidencebench.runs.answer_files import open_run
from evidencebench.runs.people.folder import SYSTEM_NAME as PERSON
from evidencebench.runs.run_file import RunFile, option_text
from evidencebench.scoring.evaluation import (
    DEFAULT_RULES,
    AnswerSource,
    Rules,
    TaskScores,
    answers_of,
    evaluate,
)
from evidencebench.scoring.presentation import signature
from evidencebench.scoring.significance import Resampling
from evidencebench.storage.reading import PathText, paths_from
from evidencebench.system import KnowingSystem, NamedSystem, System
from evidencebench.systems.controls import AbstractBackwards, Lead, RandomControl
from evidencebench.wording import counted, one_line

# Made here rather than by `make_system`, which imports every system there is.
_CONTROLS: Mapping[str, System | KnowingSystem] = {
    "random": RandomControl(),
    "lead": Lead(),
    "abstract_backwards": AbstractBackwards(),
    "oracle": Oracle(),
}
CONTROLS = tuple(_CONTROLS)
"""The controls that are computed beside every score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """Runs and controls with their scores.

    Attributes
    ----------
    dataset, rules
        On what, and how answers that do not fit were read.
    tasks
        What was graded.
    runs
        Label -> run.
    scores
        Label -> task name -> scores, of runs.
    controls
        Control's name -> task name -> scores.
    """

    dataset: Dataset
    rules: Rules
    tasks: tuple[Task, ...]
    runs: Mapping[str, RunFile]
    scores: Mapping[str, Mapping[str, TaskScores]]
    controls: Mapping[str, Mapping[str, TaskScores]]

    def __repr__(self) -> str:
        runs = f"{counted(len(self.runs), 'run')}: {', '.join(map(repr, self.runs))}"
        return one_line(self, repr(self.dataset.name), ", ".join(task.name for task in self.tasks), runs)

    def trained_on_it(self, label: str) -> bool | None:
        """Say whether a model of a run was trained on this very data; None where the run cannot say."""
        return self.runs[label].trained_on(self.dataset.sha256)


def grade(
    paths: PathText | Iterable[PathText],
    dataset: Dataset | PathText,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    *,
    rules: Rules = DEFAULT_RULES,
    with_controls: bool = True,
    with_selections: bool = False,
    limit: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Graded:
    """Grade run files on the tasks asked for, or on all that every one of them can answer.

    Parameters
    ----------
    paths, dataset, tasks, rules
        The run files, what they are for, and how they are graded; tasks or their names, empty: all that every one of
        them can answer.
    with_controls
        Whether the controls are graded too.
    with_selections
        As in `evaluate`.
    limit
        Only the first so many instances, so that a run over fewer can stand beside one over more; None: all.
    on_progress
        As in `evaluate`.

    Raises
    ------
    RunError
        If no run is given.
    RunMismatchError
        If a run does not belong to the data, or the runs cover different parts of it.
    TaskError
        If a run cannot answer a task that is asked for, or there is no task that all can answer.
    """
    paths = paths_from(paths)
    if not paths:
        raise RunError("grade: expected at least one run file, got none")
    dataset, tasks = dataset_from(dataset), tasks_from(tasks)
    runs = open_runs(paths, dataset, tasks)
    asked = tuple(tasks) or common_tasks(list(runs.values()), dataset)
    limit = _common_limit(runs, min(limit or len(dataset), len(dataset)))
    sources: dict[str, AnswerSource] = {f"run {label}": answers_of(run) for label, run in runs.items()}
    if with_controls:
        sources |= {f"control {name}": answers_from(control_named(name)) for name in CONTROLS}
    graded = evaluate(
        sources,
        dataset,
        asked,
        rules={f"run {label}": rules for label in runs},  # a control is what it is, however runs are read
        limit=limit,
        with_selections=with_selections,
        on_progress=on_progress,
    )
    applicable = tuple(task for task in asked if next(iter(graded.values()))[task.name].ids)
    for task in asked:
        if task not in applicable and (task in tasks or not applicable):
            raise TaskError(f"{dataset.path}: task '{task.name}' applies to none of the instances")
    return Graded(
        dataset=dataset,
        rules=rules,
        tasks=applicable,
        runs=runs,
        scores={label: graded[f"run {label}"] for label in runs},
        controls={name: _answerable(name, graded[f"control {name}"]) for name in CONTROLS} if with_controls else {},
    )


def control_named(name: str) -> NamedSystem:
    """Return one of the `CONTROLS`."""
    return NamedSystem(name=name, options={}, system=_CONTROLS[name])


def open_runs(paths: Sequence[Path], dataset: Dataset, tasks: Sequence[Task]) -> dict[str, RunFile]:
    """Return runs by their labels (see `labelled`).

    Parameters
    ----------
    paths, dataset, tasks
        The run files, and what they are for.

    Raises
    ------
    RunMismatchError
        If a run does not belong to the data, or is given twice.
    TaskError
        If a run cannot answer one of the tasks.
    """
    runs = labelled([open_run(path) for path in paths])
    for run in runs.values():
        check_belongs(run, dataset)
        for task in tasks:
            check_answers(run, task, dataset)
    return runs


def _answerable(control: str, scores: Mapping[str, TaskScores]) -> dict[str, TaskScores]:
    """Return a control's scores without the tasks that no budget ends, which it would win by selecting everything."""
    selects = control_named(control).selects
    return {name: found for name, found in scores.items() if selects or found.task.budget is not None}


def signature_of(graded: Graded, label: str, task: Task, resampling: Resampling) -> str:
    """Return the signature of a run's score."""
    return signature(
        graded.dataset,
        graded.runs[label].signature,
        task=task,
        n=len(graded.scores[label][task.name].ids),
        rules=graded.rules,
        resampling=resampling,
        trained_on_it=graded.trained_on_it(label) or False,
    )


def signature_of_all(graded: Graded, label: str, resampling: Resampling) -> str:
    """Return one signature for a run's scores on all tasks, which differ in task and instances only."""
    each = [signature_of(graded, label, task, resampling).split("|") for task in graded.tasks]
    return "|".join(map(_joined, zip(*each, strict=True)))


def _joined(parts: Sequence[str]) -> str:
    first, *others = parts
    return first if len(set(parts)) == 1 else ",".join([first, *(part.partition(":")[2] for part in others)])


def labelled(runs: Sequence[RunFile]) -> dict[str, RunFile]:
    """Return runs by the shortest label that tells them apart: system, with options that differ, or the file.

    A person is always shown by name.
    """
    labels = [_system_label(run) for run in runs]
    # A nested system by its name only, as long as that tells the runs apart.
    with_options = [_label_with_options(runs, with_inner_options=inner) for inner in (False, True)]
    for finer in (*with_options, _path_labels(runs)):
        counts = Counter(labels)
        labels = [finer(run) if counts[label] > 1 else label for label, run in zip(labels, runs, strict=True)]
    if len(set(labels)) < len(labels):
        raise RunMismatchError(f"{next(label for label, n in Counter(labels).items() if n > 1)}: given twice")
    return dict(zip(labels, runs, strict=True))


def _system_label(run: RunFile) -> str:
    if run.header is None:
        return run.path.name
    system = run.header.system
    # A person alone among systems is still somebody.
    is_person = system.name == PERSON and "name" in system.options
    label = f"{PERSON}(name={option_text(system.options['name'])})" if is_person else system.name
    return label if run.header.hypothesis == "own" else f"{label}, wrong hypothesis"


def _path_labels(runs: Sequence[RunFile]) -> Callable[[RunFile], str]:
    """Return a function that names a run by its path: where all are absolute, from the folder that holds all."""
    if not runs or not all(run.path.is_absolute() for run in runs):
        return lambda run: str(run.path)
    folder = os.path.commonpath([run.path.parent for run in runs])
    return lambda run: str(run.path.relative_to(folder))


def _label_with_options(runs: Sequence[RunFile], *, with_inner_options: bool) -> Callable[[RunFile], str]:
    """Return a function that adds to a label the options in which runs of the same system differ."""
    by_path = _path_labels(runs)

    def label(run: RunFile) -> str:
        if run.header is None:
            return by_path(run)
        options = run.header.system.options
        others = [other.header.system for other in runs if other.header and _system_label(other) == _system_label(run)]
        differing = (key for key in options if any(other.options.get(key) != options[key] for other in others))
        texts = {key: option_text(options[key], with_inner_options=with_inner_options) for key in differing}
        return f"{_system_label(run)}({','.join(f'{key}={text}' for key, text in texts.items())})"

    return label


def common_tasks(runs: Sequence[RunFile], dataset: Dataset) -> tuple[Task, ...]:
    """Return the tasks that every run can answer, in the first one's order.

    Raises
    ------
    TaskError
        If there is none.
    """
    by_run = [tasks_of(run, dataset) for run in runs]
    common = tuple(task for task in by_run[0] if all(task in tasks for tasks in by_run))
    if not common:
        tasks = "; ".join(
            f"{run.path}: {', '.join(task.name for task in found)}" for run, found in zip(runs, by_run, strict=True)
        )
        raise TaskError(f"the runs answer no task in common ({tasks}); name one with --task")
    return common


def _common_limit(runs: Mapping[str, RunFile], n_instances: int) -> int:
    limits = {
        label: min(run.header.limit or n_instances, n_instances) if run.header else n_instances
        for label, run in runs.items()
    }
    if len(set(limits.values())) > 1:
        parts = ", ".join(f"{label}: {limit}" for label, limit in limits.items())
        least = min(limits.values())
        raise RunMismatchError(
            f"the runs cover different parts of the data ({parts}); grade what all have with --limit {least}"
        )
    return next(iter(limits.values()))
