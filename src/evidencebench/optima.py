"""Derive the four stored evaluations of an instance from its labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from evidencebench.cover import Cover, coverage_of, maximum_coverage, minimum_cover
from evidencebench.instance import Evaluation, Instance
from evidencebench.record import EVALUATION_KEYS
from evidencebench.tasks import TASKS, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Optima:
    """The evaluations of one instance by task name, and the tasks whose optimum is not proven."""

    evaluations: Mapping[str, Evaluation]
    unproven: tuple[str, ...] = ()


def derive_optima(instance: Instance) -> Optima:
    """Return the evaluations that the published files store, derived exactly.

    Selections with a fixed budget are filled up with the first unused sentences of the paper, as the published
    ones are filled up with arbitrary ones; a paper shorter than the budget is selected whole. A task whose aspects
    are absent has no evaluation.

    Raises
    ------
    MissingExtraError
        If an optimum is beyond the built-in search and scipy is not installed.
    """
    evaluations: dict[str, Evaluation] = {}
    unproven: list[str] = []
    for name in EVALUATION_KEYS:
        task = TASKS[name]
        if not task.applies_to(instance.labels):
            continue
        evaluation, cover = _derive(instance, task)
        evaluations[name] = evaluation
        if not cover.proven:
            unproven.append(name)
    return Optima(evaluations=evaluations, unproven=tuple(unproven))


def with_optima(instance: Instance, optima: Optima) -> Instance:
    """Return the instance with these evaluations in place of its own."""
    return replace(instance, labels=replace(instance.labels, evaluations=optima.evaluations))


def _derive(instance: Instance, task: Task) -> tuple[Evaluation, Cover]:
    coverage = coverage_of(instance.labels, task.scope)
    if isinstance(task.budget, int):
        cover = maximum_coverage(coverage, task.budget)
        sentences = _filled(cover.sentences, task.budget, len(instance.query.sentences))
    else:
        cover = minimum_cover(coverage)
        sentences = cover.sentences
    mask = coverage.mask_of(sentences)
    aspects = instance.labels.that_count(task.scope)
    covered = tuple(aspect for position, aspect in enumerate(aspects) if mask >> position & 1)
    optimal = len(cover.sentences) if task.budget == "optimal" else None
    return Evaluation(sentences=sentences, covered=covered, optimal=optimal), cover


def _filled(sentences: tuple[int, ...], size: int, n_sentences: int) -> tuple[int, ...]:
    unused = [index for index in range(n_sentences) if index not in sentences]
    return tuple(sorted([*sentences, *unused[: size - len(sentences)]]))
