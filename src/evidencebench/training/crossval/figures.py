"""The results of a cross-validation: scores of each system with intervals and tests."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.runs.answer_line import Answer
from evidencebench.scoring.compare import overlaps
from evidencebench.scoring.control_results import stranger_shares
from evidencebench.scoring.evaluate import AnswerSource, evaluate_sources
from evidencebench.scoring.resampling import Estimate, Floats, Resampling, bootstrap, bootstrap_defined
from evidencebench.scoring.significance import PairedTest, paired_test
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.training.crossval.plan import Plan, changes_of_seed
from evidencebench.training.crossval.splits import AnsweredSplit, Picks
from evidencebench.training.training_table import trainable
from evidencebench.wording import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """The scores of one system on one task; each instance counts with its mean over the seeds."""

    recall: Estimate  # aspect recall, each paper asked with its own hypothesis
    seed_spread: float  # standard deviation, between seeds, of the mean recall; 0 with one seed
    wrong: Estimate  # recall when asked the changed queries, by default with another paper's hypothesis
    drop: PairedTest  # recall - wrong, paired: what the change costs
    overlap: Estimate | None  # Jaccard index of the selections for both queries; None if nothing is selected
    stranger: Estimate | None  # of two papers: the share of the selected sentences that are the other one's
    blind: Estimate | None  # recall when trained and asked without the hypothesis; None if the system cannot be
    gain: PairedTest | None  # recall - blind, paired
    per_instance: Mapping[str, float]  # instance id -> its mean aspect recall over the seeds

    def __repr__(self) -> str:
        return one_line(self, f"aspect recall {self.recall.mean:.3f}", f"n={self.recall.n}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFigures:
    """The results of one system."""

    system: str  # its specification
    tasks: Mapping[str, TaskFigures]
    lead: Mapping[str, PairedTest]  # task -> the first system's recall - this one's, paired; empty for the first system
    fit_seconds: float | None  # median time to train one model; None if nothing is trained
    answer_seconds: float  # median time to answer all tasks on one paper; a fold's first paper includes loading
    n_failed: int  # failed answers, to the own, the changed or no hypothesis; they score 0
    n_tried: int  # configurations that were compared within each training set; never on a scored paper

    def __repr__(self) -> str:
        recalls = ", ".join(f"{task} {figures.recall.mean:.3f}" for task, figures in self.tasks.items())
        return one_line(self, repr(self.system), recalls)


def figures_of(
    plan: Plan, dataset: Dataset, tasks: Sequence[Task], finished: Sequence[AnsweredSplit], resampling: Resampling
) -> list[SystemFigures]:
    """Return the figures of each system of a plan, from all of its splits."""
    changes = {seed: changes_of_seed(plan, dataset, seed) for seed in plan.seeds}
    strangers = {
        _key(system, seed, "wrong"): change.strangers
        for seed, change in changes.items()
        for system in plan.systems
        if change is not None and change.strangers is not None
    }
    scores = evaluate_sources(_sources(finished), dataset, tasks, strangers)

    def of(system: str, variant: str, task: Task) -> list[TaskScores]:
        keys = [_key(system, seed, variant) for seed in plan.seeds]
        return [scores[key][task.name] for key in keys if key in scores]

    first = plan.systems[0]
    applicable = [task for task in tasks if of(first, "own", task)[0].ids]
    of_systems = []
    for system in plan.systems:
        answered = [split for split in finished if system in split.split.systems]
        fits = [split.fit_seconds for split in answered if split.split.fold is not None]
        training = trainable(system)
        figures = {
            task.name: _task_figures(
                of(system, "own", task), of(system, "wrong", task), of(system, "blind", task), resampling
            )
            for task in applicable
        }
        lead = {
            task.name: _paired(of(first, "own", task), of(system, "own", task), resampling)
            for task in applicable
            if system != first
        }
        of_systems.append(
            SystemFigures(
                system=system,
                tasks=figures,
                lead=lead,
                fit_seconds=statistics.median(fits) if fits else None,
                answer_seconds=statistics.median(
                    s for split in answered for s in split.answer_seconds[system].values()
                ),
                n_failed=sum(split.n_failed(system) for split in answered),
                n_tried=0 if training is None else training.n_tried,
            )
        )
    return of_systems


def _sources(finished: Sequence[AnsweredSplit]) -> dict[str, AnswerSource]:
    picks: dict[str, Picks] = {}
    for answers in finished:
        variants = {"blind": answers.own} if answers.split.blind else {"own": answers.own, "wrong": answers.wrong}
        for variant, by_system in variants.items():
            for system, system_picks in by_system.items():
                picks.setdefault(_key(system, answers.split.seed, variant), {}).update(system_picks)
    return {key: _source_of(picks_of_key) for key, picks_of_key in picks.items()}


def _source_of(picks: Picks) -> AnswerSource:
    def answer(instance: Instance, task: Task) -> Answer | None:
        counted = picks.get(instance.id, {}).get(task.name)
        return None if counted is None else counted.answer

    return answer


def _key(system: str, seed: int, variant: str) -> str:
    return f"{variant} {seed} {system}"


def _task_figures(
    own: Sequence[TaskScores], wrong: Sequence[TaskScores], blind: Sequence[TaskScores], resampling: Resampling
) -> TaskFigures:
    means = [scores.mean_recall for scores in own]
    is_mixed = own[0].n_sentences != wrong[0].n_sentences
    return TaskFigures(
        recall=_estimate(own, resampling),
        seed_spread=statistics.stdev(means) if len(means) > 1 else 0.0,
        wrong=_estimate(wrong, resampling),
        drop=_paired(own, wrong, resampling),
        overlap=_share(overlaps, own, wrong, resampling),
        stranger=_share(stranger_shares, own, wrong, resampling) if is_mixed else None,
        blind=_estimate(blind, resampling) if blind else None,
        gain=_paired(own, blind, resampling) if blind else None,
        per_instance=dict(zip(own[0].ids, _mean_over_seeds(own).tolist(), strict=True)),
    )


def _mean_over_seeds(scores: Sequence[TaskScores]) -> Floats:
    means: Floats = np.mean([of_seed.recalls for of_seed in scores], axis=0)
    return means


def _estimate(scores: Sequence[TaskScores], resampling: Resampling) -> Estimate:
    return bootstrap(_mean_over_seeds(scores), scores[0].clusters, resampling)


def _paired(first: Sequence[TaskScores], second: Sequence[TaskScores], resampling: Resampling) -> PairedTest:
    return paired_test(_mean_over_seeds(first), _mean_over_seeds(second), first[0].clusters, resampling)


def _share(
    shares: Callable[[TaskScores, TaskScores], Floats],
    own: Sequence[TaskScores],
    changed: Sequence[TaskScores],
    resampling: Resampling,
) -> Estimate | None:
    means = np.mean([shares(*of_seed) for of_seed in zip(own, changed, strict=True)], axis=0)
    return bootstrap_defined(means[:, None], own[0].clusters, resampling)[0]
