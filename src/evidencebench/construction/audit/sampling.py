"""Draws misses of a run for an audit, each with a chance in proportion to what it takes from the score.

A miss of one of 2 aspects takes more from the score than a miss of one of 20. Drawn in that proportion, every drawn
miss stands for the same part of what the run lost, so that plain counts of causes are shares of the lost score.
Auditors of accounts draw entries the same way (monetary-unit sampling). The draw is systematic: misses stand in a row
by stratum and paper, and every so many points of loss one is taken, so that strata and papers are drawn in proportion.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from evidencebench.construction.audit.misses import Miss, MissesHeader, Stratum
from evidencebench.construction.people.tasks import FileDigest
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.errors import RunMismatchError, UndefinedScoreError
from evidencebench.scoring.resampling import Floats
from evidencebench.scoring.score_runs import score_runs
from evidencebench.scoring.selection import DEFAULT_RULES, Rules, Selection
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.sections import sections_of

BESIDE = 2
"""How many sentences a selected sentence may be from a source to stand beside it."""

STRATA = ("beside", "same section", "elsewhere", "nothing selected")
"""Where the selected sentence stands that is nearest to a source of the aspect."""

# Losses that differ by no more than rounding count as equal.
_ROUNDING = 1e-9


class FoundMiss(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A miss of a run, without its paper."""

    position: int  # of the instance among those that count
    aspect_id: str
    chance: float
    loss: float  # of the instance's recall
    stratum: str


def scores_to_audit(
    run: Path, dataset: Dataset, task: Task, rules: Rules = DEFAULT_RULES
) -> tuple[str, str, TaskScores]:
    """Return a run's signature, the checksum of its file, and its scores with selections; raises as `score_runs`."""
    scored = score_runs([run], dataset, [task], rules=rules, with_controls=False, with_selections=True)
    ((label, run_scores),) = scored.runs.items()
    if (
        run_scores.header is not None
        and run_scores.header.control is not None
        and run_scores.header.control.name == "two_papers"
    ):
        raise RunMismatchError(f"{run}: was asked two papers at once, and an audit shows one; audit the run without")
    return run_scores.signature, run_scores.sha256, scored.scores[label][task.name]


def misses_of(scores: TaskScores, dataset: Dataset) -> Iterator[FoundMiss]:
    """Yield the misses of aspects that some sentence covers, in the order of the data."""
    for position, (instance_id, selection) in enumerate(zip(scores.ids, scores.selections, strict=True)):
        instance = dataset[instance_id]
        aspects = instance.labels.that_count(scores.task.scope)
        for aspect in aspects:
            sources = frozenset(instance.labels.sources.get(aspect, ()))
            chance = selection.missed_chance(sources)
            if sources and chance > 0:
                yield FoundMiss(
                    position=position,
                    aspect_id=aspect,
                    chance=chance,
                    loss=chance / len(aspects),
                    stratum=_stratum_of(instance, selection, sources),
                )


def _stratum_of(instance: Instance, selection: Selection, sources: frozenset[int]) -> str:
    selected = (*selection.certain, *selection.tied)
    if not selected:
        return "nothing selected"
    if min(abs(index - source) for index in selected for source in sources) <= BESIDE:
        return "beside"
    holds = (
        any(section.start <= index < section.stop for index in selected)
        for section in sections_of(instance.query.kinds)
        if any(section.start <= source < section.stop for source in sources)
    )
    return "same section" if any(holds) else "elsewhere"


def draw_in_proportion(losses: Floats, n: int, generator: np.random.Generator) -> tuple[list[int], Floats]:
    """Return the places of ``n`` losses drawn systematically, ascending, and what each of them stands for.

    The chance of each is in proportion to it; those that are larger than the distance between draws are sure to be
    drawn, and stand for themselves. What all stand for adds up to all losses.

    >>> draw_in_proportion(np.array([5.0, 1.0, 1.0, 1.0]), 2, np.random.default_rng(0))
    ([0, 2], array([5., 3.]))
    """
    sure = np.zeros(len(losses), dtype=bool)
    if n >= len(losses):
        sure[:] = True
    while n > sure.sum():
        step = losses[~sure].sum() / (n - sure.sum())
        larger = ~sure & (losses >= step * (1 - _ROUNDING))
        if not larger.any():
            break
        sure |= larger
    n_drawn = n - int(sure.sum())
    stands_for = np.where(sure, losses, 0.0)
    if n_drawn > 0 and not sure.all():
        rest = np.flatnonzero(~sure)
        ends = np.cumsum(losses[rest])
        step = ends[-1] / n_drawn
        places = np.searchsorted(ends, (generator.random() + np.arange(n_drawn)) * step, side="right")
        stands_for[rest[np.minimum(places, len(rest) - 1)]] = step
    chosen = np.flatnonzero(stands_for)
    return chosen.tolist(), stands_for[chosen]


def sample_misses(
    run: Path, dataset: Dataset, task: Task, *, n: int, seed: int, rules: Rules = DEFAULT_RULES
) -> tuple[MissesHeader, tuple[Miss, ...]]:
    """Return ``n`` misses of a run, all if it has fewer, in random order, with the header of their file."""
    signature, sha256, scores = scores_to_audit(run, dataset, task, rules)
    all_misses = list(misses_of(scores, dataset))
    if not all_misses:
        raise UndefinedScoreError(f"{run}: covers every aspect that can be covered on '{task.name}': nothing to audit")
    generator = np.random.default_rng(seed)
    row = _in_a_row(all_misses, generator)
    n_instances = len(scores.ids)
    places, stands_for = draw_in_proportion(np.array([miss.loss for miss in row]) / n_instances, n, generator)
    drawn = list(zip((row[place] for place in places), stands_for.tolist(), strict=True))
    order = generator.permutation(len(drawn)).tolist()
    width = max(2, len(str(len(drawn))))
    misses = tuple(
        _shown(f"miss_{number:0{width}}", drawn[place], scores, dataset) for number, place in enumerate(order, 1)
    )
    header = MissesHeader(
        system=signature,
        run=FileDigest(name=run.name, sha256=sha256),
        data=FileDigest(name=dataset.name, sha256=dataset.sha256),
        task=task.name,
        rules=rules.unusual,
        seed=seed,
        n_instances=n_instances,
        n_misses=len(all_misses),
        score=scores.mean_recall,
        loss=sum(miss.loss for miss in all_misses) / n_instances,
        strata=tuple(
            Stratum(
                name=name,
                n_misses=sum(miss.stratum == name for miss in all_misses),
                loss=sum(miss.loss for miss in all_misses if miss.stratum == name) / n_instances,
                n_drawn=sum(miss.stratum == name for miss, _ in drawn),
            )
            for name in STRATA
        ),
    )
    return header, misses


def _in_a_row(misses: Sequence[FoundMiss], generator: np.random.Generator) -> list[FoundMiss]:
    """Return misses by stratum, then by instance; instances, and the misses of one, in random order."""
    shuffled = [misses[place] for place in generator.permutation(len(misses))]
    turns = generator.permutation(1 + max(miss.position for miss in misses))
    return sorted(shuffled, key=lambda miss: (STRATA.index(miss.stratum), turns[miss.position]))


def _shown(name: str, drawn: tuple[FoundMiss, float], scores: TaskScores, dataset: Dataset) -> Miss:
    miss, stands_for = drawn
    instance, selection = dataset[scores.ids[miss.position]], scores.selections[miss.position]
    query, labels = instance.query, instance.labels
    return Miss(
        id=name,
        instance_id=instance.id,
        paper_id=query.paper_id,
        hypothesis=query.hypothesis,
        aspect_id=miss.aspect_id,
        aspect=labels.texts.get(miss.aspect_id, ""),
        sentences=query.sentences,
        kinds=query.kinds,
        sources=tuple(sorted(set(labels.sources[miss.aspect_id]))),
        selected=(*selection.certain, *selection.tied),
        chance=miss.chance,
        stratum=miss.stratum,
        loss=miss.loss / len(scores.ids),
        stands_for=stands_for,
    )
