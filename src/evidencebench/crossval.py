"""Cross-validate systems: train on some papers, answer the others, and say what of the score is the hypothesis's.

The work is cut into cells, one model each: a system, a seed, a fold, with or without the hypothesis. Each finished cell
is a line of a journal, so that an interrupted cross-validation goes on where it stopped.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from evidencebench.answering import answer_instance, require_answerable, with_hypothesis
from evidencebench.comparison import overlap_of
from evidencebench.dataset import Dataset, open_dataset
from evidencebench.derangement import derange_hypotheses
from evidencebench.engine.local import work_off
from evidencebench.errors import RunMismatchError
from evidencebench.evaluation import TaskScores, evaluate
from evidencebench.instance import Instance
from evidencebench.journal import open_journal
from evidencebench.runs import Answer, Failure
from evidencebench.significance import (
    DEFAULT_RESAMPLING,
    Estimate,
    Floats,
    PairedTest,
    Resampling,
    bootstrap,
    paired_test,
)
from evidencebench.system import NamedSystem, Ranking
from evidencebench.systems import make_system
from evidencebench.tasks import Task, task_named
from evidencebench.training.folding import paper_folds
from evidencebench.training.trainings import Trainable, trainable
from evidencebench.version import __version__

DEFAULT_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")
"""The four tasks that the benchmark's publication reports."""

Progress = Callable[[int, int], None]

_BEGINS = b'{"evidencebench_crossval":'
_Selections = dict[str, dict[str, tuple[int, ...] | str]]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the answers of a cross-validation.

    Attributes
    ----------
    systems
        Specifications; those that name a training are trained in every fold.
    data
        sha256 of the data file.
    tasks
        Names.
    n_folds, n_seeds
        How often the papers are cut, and how many times that is done, each time otherwise.
    with_blind
        Whether systems that can be trained without the hypothesis are trained so too.
    """

    systems: tuple[str, ...]
    data: str
    tasks: tuple[str, ...]
    n_folds: int
    n_seeds: int
    with_blind: bool
    version: str = __version__


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One model, or one system that needs none: which papers it answers, and how it is made.

    Attributes
    ----------
    system
        Its specification.
    seed
        Of folds, training and the swap of hypotheses.
    fold
        Which fold it answers; None: it is not trained, and answers all.
    blind
        Whether it is trained without the hypothesis.
    """

    system: str
    seed: int
    fold: int | None = None
    blind: bool = False


class _Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A cell's answers: instance id -> task name -> the sentences that count, or the error in their place."""

    cell: Cell
    fit_seconds: float
    answer_seconds: dict[str, float]
    own: _Selections
    wrong: _Selections


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    evidencebench_crossval: int = 1
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """One system on one task; every instance counts with its mean over the seeds.

    Attributes
    ----------
    recall
        Aspect recall, each paper asked with its own hypothesis.
    seed_spread
        Standard deviation of the mean over seeds; 0 with one seed.
    wrong
        Aspect recall when each paper is asked with another's hypothesis.
    drop
        recall - wrong, paired: how much of the score is due to the hypothesis.
    overlap
        Jaccard overlap of the selections under both hypotheses; None where nothing is selected.
    blind
        Aspect recall when trained without the hypothesis; None where that cannot be.
    gain
        recall - blind, paired.
    """

    recall: Estimate
    seed_spread: float
    wrong: Estimate
    drop: PairedTest
    overlap: Estimate | None
    blind: Estimate | None
    gain: PairedTest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFigures:
    """What cross-validation found out about one system.

    Attributes
    ----------
    system
        Its specification.
    tasks
        Task name -> figures.
    lead
        Task name -> the paired difference to it of the first system; empty for the first system itself.
    fit_seconds
        Median time to train one model; None where nothing is trained.
    answer_seconds
        Median time to answer all tasks on one paper, the reading of models included in the first of each fold.
    n_failed
        Answers that failed; they score 0.
    n_tried
        Configurations that were compared within each training set, on none of its scored papers.
    """

    system: str
    tasks: Mapping[str, TaskFigures]
    lead: Mapping[str, PairedTest]
    fit_seconds: float | None
    answer_seconds: float
    n_failed: int
    n_tried: int


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
        finished = _finished_cells(
            plan, dataset, journal or Path(scratch) / "cells.jsonl", jobs, overwrite=overwrite, report=on_progress
        )
    return _figures(plan, dataset, asked, finished, resampling)


def cells_of(plan: Plan) -> Iterator[Cell]:
    """Yield the cells of a plan, seed by seed."""
    for seed in range(plan.n_seeds):
        for system in plan.systems:
            found = trainable(system)
            if found is None:
                yield Cell(system=system, seed=seed)
                continue
            for fold in range(plan.n_folds):
                yield Cell(system=system, seed=seed, fold=fold)
                if plan.with_blind and found.can_be_blind:
                    yield Cell(system=system, seed=seed, fold=fold, blind=True)


def _finished_cells(
    plan: Plan, dataset: Dataset, path: Path, jobs: int, *, overwrite: bool, report: Progress | None
) -> list[_Finished]:
    header = msgspec.json.encode(_Header(plan=plan))
    with open_journal(path, _BEGINS, truncate=overwrite) as journal:
        if journal.is_empty:
            journal.append(header)
        lines = path.read_bytes().splitlines()
        if lines[0] != header:
            raise RunMismatchError(
                f"{path}: holds another cross-validation; choose another file, or start over with --overwrite"
            )
        finished = {one.cell: one for one in (msgspec.json.decode(line, type=_Finished) for line in lines[1:])}
        cells = list(cells_of(plan))

        def keep(one: _Finished) -> None:
            journal.append(msgspec.json.encode(one))
            finished[one.cell] = one
            if report is not None:
                report(len(finished), len(cells))

        todo = [cell for cell in cells if cell not in finished]
        work_off(_cell_worker, (dataset.path, plan), todo, keep, jobs=min(jobs, max(1, len(todo))))
    return [finished[cell] for cell in cells]


def _cell_worker(data_path: Path, plan: Plan) -> Callable[[Cell], _Finished]:
    dataset = open_dataset(data_path)
    instances = list(dataset)
    tasks = tuple(map(task_named, plan.tasks))

    def work(cell: Cell) -> _Finished:
        wrong = derange_hypotheses(dataset.queries(), np.random.default_rng(cell.seed))
        swapped = [with_hypothesis(instance, wrong[instance.id]) for instance in instances]
        if cell.fold is None:
            system = make_system(cell.system, seed=cell.seed)
            return _answered(cell, system, own=instances, wrong=swapped, tasks=tasks, fit_seconds=0.0)
        found = trainable(cell.system)
        if found is None:
            raise TypeError(f"expected a training, got '{cell.system}'")
        papers = [instance.query.paper_id for instance in instances]
        held_out = paper_folds(papers, plan.n_folds, np.random.default_rng(cell.seed))[cell.fold]
        seen = [instance for place, instance in enumerate(instances) if place not in set(held_out)]
        with tempfile.TemporaryDirectory() as scratch:
            system, fit_seconds = _trained(found, seen, Path(scratch) / "model", cell)
            return _answered(
                cell,
                system,
                own=[instances[place] for place in held_out],
                wrong=[swapped[place] for place in held_out],
                tasks=tasks,
                fit_seconds=fit_seconds,
            )

    return work


def _trained(found: Trainable, seen: Sequence[Instance], folder: Path, cell: Cell) -> tuple[NamedSystem, float]:
    training = replace(found.training, hypothesis=False) if cell.blind else found.training  # type: ignore[type-var]
    started = time.perf_counter()
    training.fit(seen, folder, seed=cell.seed)
    seconds = time.perf_counter() - started
    return make_system(found.specification(folder), seed=cell.seed), seconds


def _answered(
    cell: Cell,
    system: NamedSystem,
    *,
    own: Sequence[Instance],
    wrong: Sequence[Instance],
    tasks: Sequence[Task],
    fit_seconds: float,
) -> _Finished:
    seconds: dict[str, float] = {}
    answers: _Selections = {}
    for instance in own:
        started = time.perf_counter()
        answers[instance.id] = _selections(system, instance, tasks)
        seconds[instance.id] = time.perf_counter() - started
    return _Finished(
        cell=cell,
        fit_seconds=fit_seconds,
        answer_seconds=seconds,
        own=answers,
        wrong={} if cell.blind else {instance.id: _selections(system, instance, tasks) for instance in wrong},
    )


def _selections(system: NamedSystem, instance: Instance, tasks: Sequence[Task]) -> dict[str, tuple[int, ...] | str]:
    """Return what counts of the answer to each task, or the error in its place."""
    found: dict[str, tuple[int, ...] | str] = {}
    answer: Answer | None = None
    for task in tasks:
        if not task.applies_to(instance.labels):
            continue
        if answer is None or system.reads_brief:
            answer = answer_instance(system, instance, task)
        if isinstance(answer, Failure):
            found[task.name] = answer.error
        else:
            found[task.name] = answer.sentences[: task.budget_for(instance)]
    return found


def _figures(
    plan: Plan, dataset: Dataset, tasks: Sequence[Task], finished: Sequence[_Finished], resampling: Resampling
) -> list[SystemFigures]:
    sources = {}
    for system in plan.systems:
        for seed in range(plan.n_seeds):
            cells = [one for one in finished if one.cell.system == system and one.cell.seed == seed]
            sources[system, seed, "own"] = [one.own for one in cells if not one.cell.blind]
            sources[system, seed, "wrong"] = [one.wrong for one in cells if not one.cell.blind]
            if blind := [one.own for one in cells if one.cell.blind]:
                sources[system, seed, "blind"] = blind
    scores = evaluate({_key(key): _source(parts) for key, parts in sources.items()}, dataset, tasks)

    def of(system: str, variant: str, task: Task) -> list[TaskScores]:
        keys = [_key((system, seed, variant)) for seed in range(plan.n_seeds)]
        return [scores[key][task.name] for key in keys if key in scores]

    first = plan.systems[0]
    applicable = [task for task in tasks if of(first, "own", task)[0].ids]
    found = []
    for system in plan.systems:
        cells = [one for one in finished if one.cell.system == system]
        fits = [one.fit_seconds for one in cells if one.cell.fold is not None]
        own_cells = [one for one in cells if not one.cell.blind]
        training = trainable(system)
        found.append(
            SystemFigures(
                system=system,
                tasks={
                    task.name: _task_figures(
                        of(system, "own", task), of(system, "wrong", task), of(system, "blind", task), resampling
                    )
                    for task in applicable
                },
                lead={}
                if system == first
                else {
                    task.name: _paired(of(first, "own", task), of(system, "own", task), resampling)
                    for task in applicable
                },
                fit_seconds=statistics.median(fits) if fits else None,
                answer_seconds=statistics.median(s for one in own_cells for s in one.answer_seconds.values()),
                n_failed=sum(isinstance(s, str) for one in own_cells for by in one.own.values() for s in by.values()),
                n_tried=0 if training is None else int(getattr(training.training, "n_tried", 1)),
            )
        )
    return found


def _key(key: tuple[str, int, str]) -> str:
    system, seed, variant = key
    return f"{variant} {seed} {system}"


def _source(parts: Sequence[_Selections]) -> Callable[[Instance, Task], Answer | None]:
    answers = {instance_id: by_task for part in parts for instance_id, by_task in part.items()}

    def answer(instance: Instance, task: Task) -> Answer | None:
        found = answers.get(instance.id, {}).get(task.name)
        if found is None:
            return None
        return Failure(error=found) if isinstance(found, str) else Ranking(sentences=found)

    return answer


def _task_figures(
    own: Sequence[TaskScores], wrong: Sequence[TaskScores], blind: Sequence[TaskScores], resampling: Resampling
) -> TaskFigures:
    means = [float(one.scores["aspect_recall"].mean()) for one in own]
    return TaskFigures(
        recall=_estimate(own, resampling),
        seed_spread=statistics.stdev(means) if len(means) > 1 else 0.0,
        wrong=_estimate(wrong, resampling),
        drop=_paired(own, wrong, resampling),
        overlap=_overlap(own, wrong, resampling),
        blind=_estimate(blind, resampling) if blind else None,
        gain=_paired(own, blind, resampling) if blind else None,
    )


def _mean_over_seeds(scores: Sequence[TaskScores]) -> Floats:
    means: Floats = np.mean([one.scores["aspect_recall"] for one in scores], axis=0)
    return means


def _estimate(scores: Sequence[TaskScores], resampling: Resampling) -> Estimate:
    values, clusters = _mean_over_seeds(scores), scores[0].clusters
    return bootstrap(values, clusters, resampling.generator(), n_draws=resampling.n_draws, level=resampling.level)


def _paired(first: Sequence[TaskScores], second: Sequence[TaskScores], resampling: Resampling) -> PairedTest:
    return paired_test(
        _mean_over_seeds(first),
        _mean_over_seeds(second),
        first[0].clusters,
        resampling.generator(),
        n_draws=resampling.n_draws,
        level=resampling.level,
    )


def _overlap(own: Sequence[TaskScores], wrong: Sequence[TaskScores], resampling: Resampling) -> Estimate | None:
    rows = [
        [
            overlap_of(a, b) if a.size or b.size else np.nan
            for a, b in zip(one.selections, other.selections, strict=True)
        ]
        for one, other in zip(own, wrong, strict=True)
    ]
    means = np.mean(rows, axis=0)
    defined = ~np.isnan(means)
    if not defined.any():
        return None
    clusters = [cluster for cluster, counts in zip(own[0].clusters, defined, strict=True) if counts]
    return bootstrap(
        means[defined], clusters, resampling.generator(), n_draws=resampling.n_draws, level=resampling.level
    )
