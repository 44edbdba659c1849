"""Score run files: open them, label them, and evaluate them beside the controls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.engine.in_process import InProcess
from evidencebench.engine.processes import engine_of
from evidencebench.engine.protocol import Engine
from evidencebench.errors import RunError, RunMismatchError, TaskError
from evidencebench.execution.fitting import check_answers, check_belongs, tasks_of
from evidencebench.runs.formats import open_run
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.evaluate import evaluate
from evidencebench.scoring.run_labels import runs_by_label
from evidencebench.scoring.score_blocks import rules_of, score_blocks, sources_of
from evidencebench.scoring.selection import DEFAULT_RULES, Rules
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.storage.reading import PathText, paths_from
from evidencebench.wording import counted, one_line

MIN_INSTANCES_A_JOB = 500
"""Fewer are not worth another process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRuns:
    """Runs and controls with their scores.

    On a task without a budget, only controls that select have scores: a ranking would win by naming every sentence.
    """

    dataset: Dataset
    rules: Rules  # how answers of runs were read
    tasks: tuple[Task, ...]
    runs: Mapping[str, RunFile]  # by label
    scores: Mapping[str, Mapping[str, TaskScores]]  # label -> task name -> scores
    controls: Mapping[str, Mapping[str, TaskScores]]  # name -> task name -> scores

    def __repr__(self) -> str:
        runs = f"{counted(len(self.runs), 'run')}: {', '.join(map(repr, self.runs))}"
        return one_line(self, repr(self.dataset.name), ", ".join(task.name for task in self.tasks), runs)

    @property
    def n_instances(self) -> int:
        """How many instances were scored, those that a task does not apply to included."""
        scores = next(iter(next(iter(self.scores.values())).values()))
        return len(scores.ids) + scores.counts.not_applicable

    def trained_on_it(self, label: str) -> bool | None:
        """Say whether a model of a run was trained on this very data; None where the run cannot say."""
        return self.runs[label].trained_on(self.dataset.sha256)


def score_runs(
    paths: PathText | Iterable[PathText],
    dataset: Dataset | PathText,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    *,
    rules: Rules = DEFAULT_RULES,
    with_controls: bool = True,
    with_selections: bool = False,
    limit: int | None = None,
    jobs: int = 1,
    engine: Engine | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> ScoredRuns:
    """Score run files on the tasks asked for, or on all that every one of them can answer.

    Parameters are as in `evaluate`; answers of controls are read by the default rules. With ``limit``, runs over
    different numbers of instances can be scored together. The work runs in ``jobs`` processes, or on an ``engine``.

    Raises `RunMismatchError` if a run does not belong to the data or the runs cover different parts of it, and
    `TaskError` if a run cannot answer a task that is asked for, or the runs have no task in common.
    """
    paths = paths_from(paths)
    if not paths:
        raise RunError("expected at least one run file, got none")
    dataset, tasks = dataset_from(dataset), tasks_from(tasks)
    runs = open_runs(paths, dataset, tasks)
    asked = tuple(tasks) or common_tasks(list(runs.values()), dataset)
    controls = CONTROLS if with_controls else {}
    n_instances = _common_limit(runs, min(limit or len(dataset), len(dataset)))
    engine = engine_of(engine, jobs, at_most=1 + n_instances // MIN_INSTANCES_A_JOB)
    if isinstance(engine, InProcess):
        found = evaluate(
            sources_of(runs, with_controls=with_controls),
            dataset,
            asked,
            rules=rules_of(runs, rules),
            limit=n_instances,
            with_selections=with_selections,
            on_progress=on_progress,
        )
    else:
        found = score_blocks(
            engine,
            dataset,
            paths,
            asked,
            rules=rules,
            with_controls=with_controls,
            with_selections=with_selections,
            n_instances=n_instances,
            on_progress=on_progress,
        )
    applicable = tuple(task for task in asked if next(iter(found.values()))[task.name].ids)
    for task in asked:
        if task not in applicable and (task in tasks or not applicable):
            raise TaskError(_why_nothing_counts(dataset, task, n_instances))
    return ScoredRuns(
        dataset=dataset,
        rules=rules,
        tasks=applicable,
        runs=runs,
        scores={label: found[f"run {label}"] for label in runs},
        controls={
            name: {
                task: scores
                for task, scores in found[f"control {name}"].items()
                if control.named.selects or scores.task.budget is not None
            }
            for name, control in controls.items()
        },
    )


def has_labels(dataset: Dataset, n_instances: int | None = None) -> bool:
    """Say whether any of the first instances (None: of all) has an aspect."""
    return any(instance.labels.aspects for instance in dataset.instances(n_instances))


def _why_nothing_counts(dataset: Dataset, task: Task, n_instances: int) -> str:
    applies = f"{dataset.path}: task '{task.name}' applies to none of the {counted(n_instances, 'instance')}"
    if has_labels(dataset, n_instances):
        return (
            f"{applies}: expected aspects labelled Results, got none; choose a task over all aspects, such as er_at_10"
        )
    return (
        f"{applies}: expected labels to score against, got papers without any; "
        "'evidencebench view' and 'evidencebench report' show what the runs chose"
    )


def open_runs(paths: Sequence[Path], dataset: Dataset, tasks: Sequence[Task]) -> dict[str, RunFile]:
    """Return runs by their labels (see `runs_by_label`); raise as `score_runs` does."""
    runs = runs_by_label([open_run(path) for path in paths])
    for run in runs.values():
        check_belongs(run, dataset)
        for task in tasks:
            check_answers(run, task, dataset)
    return runs


def common_tasks(runs: Sequence[RunFile], dataset: Dataset) -> tuple[Task, ...]:
    """Return the tasks that every run can answer, in the first one's order; raise where there is none."""
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
