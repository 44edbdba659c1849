"""Derive the four stored evaluations of an instance from its labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from evidencebench.data.formats.json_instance import EVALUATION_KEYS
from evidencebench.data.instance import Evaluation, Instance
from evidencebench.data.optimum.cover import Cover, Coverage, coverage_of, maximum_coverage, minimum_cover
from evidencebench.data.tasks import TASKS, Task
from evidencebench.errors import MissingExtraError
from evidencebench.query import AspectScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Optima:
    """The evaluations of one instance by task name, and the tasks whose optimum is not proven."""

    id: str  # of the instance
    evaluations: Mapping[str, Evaluation]
    unproven: tuple[str, ...] = ()


def derive_optima(instance: Instance) -> Optima:
    """Return the evaluations that the published files store, derived exactly.

    Selections with a fixed budget are filled up with the first unused sentences of the paper, as the published
    ones are filled up with arbitrary ones; a paper shorter than the budget is selected whole. A task whose aspects
    are absent has no evaluation.
    """
    evaluations: dict[str, Evaluation] = {}
    unproven: list[str] = []
    smallest: dict[AspectScope, Cover] = {}
    for name in EVALUATION_KEYS:
        task = TASKS[name]
        if not task.applies_to(instance.labels):
            continue
        coverage = coverage_of(instance.labels, task.scope)
        try:
            if task.scope not in smallest:
                smallest[task.scope] = minimum_cover(coverage)
            cover = _best(coverage, task, smallest[task.scope])
        except MissingExtraError as error:
            raise MissingExtraError(f"{instance.id}: {error}") from error
        evaluations[name] = _evaluation(instance, task, coverage, cover)
        if not cover.proven:
            unproven.append(name)
    return Optima(id=instance.id, evaluations=evaluations, unproven=tuple(unproven))


def with_optima(instance: Instance, optima: Optima) -> Instance:
    """Return the instance with these evaluations in place of its own."""
    return replace(instance, labels=replace(instance.labels, evaluations=optima.evaluations))


def _best(coverage: Coverage, task: Task, smallest: Cover) -> Cover:
    """Return the optimum of a task, which is the smallest cover itself where the budget holds it."""
    if not isinstance(task.budget, int) or (smallest.proven and len(smallest.sentences) <= task.budget):
        return smallest
    return maximum_coverage(coverage, task.budget)


def _evaluation(instance: Instance, task: Task, coverage: Coverage, cover: Cover) -> Evaluation:
    sentences, optimal = cover.sentences, len(cover.sentences)
    if isinstance(task.budget, int):
        sentences = _filled(sentences, task.budget, len(instance.query.sentences))
    mask = coverage.mask_of(sentences)
    aspects = instance.labels.that_count(task.scope)
    covered = tuple(aspect for position, aspect in enumerate(aspects) if mask >> position & 1)
    return Evaluation(sentences=sentences, covered=covered, optimal=optimal if task.budget == "optimal" else None)


def _filled(sentences: tuple[int, ...], size: int, n_sentences: int) -> tuple[int, ...]:
    unused = [index for index in range(n_sentences) if index not in sentences]
    return tuple(sorted([*sentences, *unused[: size - len(sentences)]]))
