"""The audit of a run's misses: a sample, the causes that people say, and the score corrected by them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from evidencebench.construction.people.answers import CAUSES, Cause, verdict_folder
from evidencebench.construction.people.marks import agreement_of
from evidencebench.construction.people.tasks import FileDigest, Miss, MissesFile, MissesHeader
from evidencebench.data.cover import Coverage, ceiling, coverage_of
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import RunMismatchError, UndefinedScoreError, UnreadableError
from evidencebench.scoring.measures import missed_by_draws
from evidencebench.scoring.resampling import (
    DEFAULT_RESAMPLING,
    Estimate,
    Floats,
    Proportion,
    Resampling,
    by_cluster,
    draw_counts,
    proportion,
)
from evidencebench.scoring.score_runs import score_runs
from evidencebench.scoring.selection import DEFAULT_RULES, Rules, Selection
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.wording import counted

_ROUNDING = 1e-9  # losses that differ by no more count as equal


class AuditedRun(NamedTuple):
    """What an audit corrects, one value an instance."""

    recalls: Floats
    losses: Floats  # what coverable misses take from them
    clusters: Sequence[str]  # its review or paper


class AuditedMiss(NamedTuple):
    place: int  # the position of its instance
    stands_for: float
    excused: float  # how far it is not the system's fault, 0 to 1


class CorrectedScore(msgspec.Struct, frozen=True, kw_only=True):
    plain: Estimate  # as it was
    excused: Estimate  # the share of what was lost that is not the system's fault
    covered: Estimate  # the score if aspects whose miss is not its fault count as covered


def corrected_score(
    run: AuditedRun, audited: Sequence[AuditedMiss], *, all_audited: bool, resampling: Resampling = DEFAULT_RESAMPLING
) -> CorrectedScore:
    """Return the corrected score of a run; ``all_audited`` says whether people have judged every miss."""
    if not audited:
        raise UndefinedScoreError("the share of misses that are not the system's fault is undefined: none is audited")
    n, nothing = len(run.recalls), np.zeros(len(run.recalls))
    columns = np.stack([run.recalls, run.losses, nothing + 1, nothing, nothing])
    for miss in audited:
        columns[3:, miss.place] += miss.stands_for * np.array([1.0, miss.excused])
    sums, _ = by_cluster(columns.T, run.clusters)
    means = _figures(columns.sum(1, keepdims=True).T)
    ends: list[list[float | None]] = [[None] * len(means)] * 2
    if len(sums) > 1:
        ends = _interval_ends(sums, 0.0 if all_audited else float(columns[3].sum()) / len(audited), resampling)
    plain, excused, covered = (
        Estimate(mean=float(mean), low=low, high=high, n=n, n_clusters=len(sums))
        for mean, low, high in zip(means[:, 0], *ends, strict=True)
    )
    return CorrectedScore(plain=plain, excused=excused, covered=covered)


def _interval_ends(sums: Floats, one_more: float, resampling: Resampling) -> list[list[float | None]]:
    """Return the lower and the upper ends; ``one_more`` is what one more miss would stand for, whose fault or not."""
    generator = resampling.generator()
    lows, highs = list[Floats](), list[Floats]()
    # That miss has a random weight, so that the ends are like those of an exact interval of the share.
    for drawn in draw_counts(len(sums), generator, resampling.n_draws):
        extra = one_more * generator.standard_exponential(len(drawn))
        for ends, is_excused in ((lows, 0), (highs, 1)):
            ends.append(_figures(drawn @ sums + np.outer(extra, [0, 0, 0, 1, is_excused])))
    tail = (1 - resampling.level) / 2
    both = ((lows, tail), (highs, 1 - tail))
    return [np.quantile(np.concatenate(figures, axis=1), at, axis=1).tolist() for figures, at in both]


def _figures(totals: Floats) -> Floats:
    """Return the score, the share and the corrected score of each draw; ``totals`` are draws x columns."""
    recalls, losses, n, audited, excused = totals.T
    shares = np.divide(excused, audited, out=np.zeros_like(audited), where=audited > 0)
    return np.stack([recalls / n, shares, recalls / n + shares * (losses / n)])


class FoundMiss(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    position: int  # of the instance among those that count
    aspect_id: str
    loss: float  # what it takes from the instance's recall


def scores_to_audit(
    run: Path, dataset: Dataset, task: Task, rules: Rules = DEFAULT_RULES
) -> tuple[str, str, TaskScores]:
    """Return a run's signature, the checksum of its file, and its scores with selections; raises as `score_runs`."""
    scored = score_runs(
        [run], dataset, [task], rules=rules, with_controls=False, with_selections=True, changed_apart=False
    )
    ((label, run_scores),) = scored.runs.items()
    if run_scores.header is not None and run_scores.header.answers_two_papers:
        raise RunMismatchError(
            f"{run}: answers queries of two papers (--control two_papers); audit the run without that control"
        )
    return run_scores.signature, run_scores.sha256, scored.scores[label][task.name]


def misses_of(scores: TaskScores, dataset: Dataset) -> Iterator[FoundMiss]:
    """Yield the misses of aspects that some sentence covers, in the order of the data."""
    for position, (instance_id, selection) in enumerate(zip(scores.ids, scores.selections, strict=True)):
        instance = dataset[instance_id]
        aspects = instance.labels.that_count(scores.task.scope)
        for aspect in aspects:
            sources = frozenset(instance.labels.sources.get(aspect, ()))
            if not sources or not sources.isdisjoint(selection.certain):
                continue
            holders = Counter([len(sources.intersection(selection.tied))])
            chance = missed_by_draws(holders, len(selection.tied), selection.n_drawn)
            if chance > 0:
                yield FoundMiss(position=position, aspect_id=aspect, loss=chance / len(aspects))


def draw_in_proportion(losses: Floats, n: int, generator: np.random.Generator) -> tuple[list[int], Floats]:
    """Return the places of ``n`` losses drawn in proportion to them, ascending, and what each of them stands for."""
    sure = np.full(len(losses), n >= len(losses))
    while n > sure.sum():
        step = losses[~sure].sum() / (n - sure.sum())
        # What is larger than the distance between draws is sure to be drawn, and stands for itself.
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


def limit_of(instance: Instance, aspect: str, task: Task, selection: Selection) -> str:
    """Return, in words, why no selection of as many sentences could do without missing the aspect; empty: one could."""
    budget, coverage = task.ranking_task(instance).budget, coverage_of(instance.labels, task.scope)
    if budget is None or selection.tied:
        return ""
    own = coverage.mask_of(selection.certain).bit_count()
    bit = 1 << instance.labels.that_count(task.scope).index(aspect)
    try:
        most = ceiling(coverage, budget)
        with_aspect = 0
        for covered in coverage.masks.values():
            if covered & bit:  # with this source selected, so many more can be covered by the others
                left = {index: rest for index, mask in coverage.masks.items() if (rest := mask & ~covered)}
                others = Coverage(n_aspects=coverage.n_aspects, masks=left)
                with_aspect = max(with_aspect, covered.bit_count() + ceiling(others, budget - 1))
    except UndefinedScoreError:
        return ""
    if own < most <= with_aspect:
        return ""
    of_all = f"{counted(budget, 'sentence')} can cover at most {most} of {counted(coverage.n_aspects, 'aspect')}"
    as_good = "as many as the selected ones do" if own == most else f"and {with_aspect} with this aspect among them"
    return f"{of_all}, {as_good}."


def sample_misses(
    run: Path, dataset: Dataset, task: Task, *, n: int, seed: int, rules: Rules = DEFAULT_RULES
) -> tuple[MissesHeader, tuple[Miss, ...]]:
    """Return ``n`` misses of a run, all if it has fewer, in random order, with the header of their file."""
    signature, sha256, scores = scores_to_audit(run, dataset, task, rules)
    all_misses = list(misses_of(scores, dataset))
    if not all_misses:
        raise UndefinedScoreError(f"{run}: covers every aspect that can be covered on '{task.name}': nothing to audit")
    generator = np.random.default_rng(seed)
    # Instances, and the misses of one, in random order.
    shuffled = [all_misses[index] for index in generator.permutation(len(all_misses))]
    turns = generator.permutation(1 + max(miss.position for miss in all_misses))
    row = sorted(shuffled, key=lambda miss: turns[miss.position])
    n_instances = len(scores.ids)
    indices, stands_for = draw_in_proportion(np.array([miss.loss for miss in row]) / n_instances, n, generator)
    sample = [row[index] for index in indices]
    width = max(2, len(str(len(sample))))
    misses = []
    for number, index in enumerate(generator.permutation(len(sample)).tolist(), 1):
        miss = sample[index]
        instance, selection = dataset[scores.ids[miss.position]], scores.selections[miss.position]
        query, labels = instance.query, instance.labels
        shown = Miss(
            id=f"miss_{number:0{width}}",
            instance_id=instance.id,
            paper_id=query.paper_id,
            hypothesis=query.hypothesis,
            aspect_id=miss.aspect_id,
            aspect=labels.texts.get(miss.aspect_id, ""),
            sentences=query.sentences,
            kinds=query.kinds,
            sources=tuple(sorted(set(labels.sources[miss.aspect_id]))),
            selected=(*selection.certain, *selection.tied),
            is_result=miss.aspect_id in labels.results,
            limit=limit_of(instance, miss.aspect_id, task, selection),
            loss=miss.loss / n_instances,
            stands_for=float(stands_for[index]),
        )
        misses.append(shown)
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
        n_drawn=len(sample),
    )
    return header, tuple(misses)


class CauseShare(msgspec.Struct, frozen=True, kw_only=True):
    cause: Cause
    share: Proportion  # of the audited misses
    points: float  # that these stand for: a part of the mean score


class AuditorPair(msgspec.Struct, frozen=True, kw_only=True):
    first: str
    second: str
    n_both: int  # misses that both judged
    n_same_cause: int
    kappa_fault: float | None  # None where it is undefined


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    header: MissesHeader
    auditors: dict[str, int]  # name -> how many misses the auditor judged
    causes: tuple[CauseShare, ...]
    excused: Proportion  # of the misses with a verdict, not the system's fault
    n_limited: int  # of them, no selection of that size could do without, as computed: see `limit_of`
    tied: tuple[str, ...]  # misses on which auditors are even about whose fault it is: they count as the system's
    pairs: tuple[AuditorPair, ...]
    corrected: CorrectedScore


def audit_report(
    misses: MissesFile, folder: Path, run: Path, dataset: Dataset, resampling: Resampling = DEFAULT_RESAMPLING
) -> AuditReport:
    """Return the report; the majority of its auditors decides on a miss, and a tie is the system's fault."""
    audited_run, places = _audited_run(misses, run, dataset)
    verdicts: dict[str, dict[str, Cause]] = {}  # auditor -> miss -> cause
    for name, of_auditor in verdict_folder(folder, misses).read_all().items():
        if said := {miss: CAUSES[verdict.choice] for miss, verdict in of_auditor.items() if verdict.choice}:
            verdicts[name] = said
    if not verdicts:
        raise UnreadableError(
            f"{folder}: expected a folder with verdicts, which 'evidencebench audit review' writes, got none"
        )
    causes: dict[Miss, Cause] = {}
    tied: list[str] = []
    for miss in misses.records:
        if votes := [of_auditor[miss.id] for of_auditor in verdicts.values() if miss.id in of_auditor]:
            n_faults = sum(cause.is_fault for cause in votes)
            if 2 * n_faults == len(votes):
                tied.append(miss.id)
            # The most frequent cause of the majority, the first of `CAUSES` where equal.
            allowed = [cause for cause in CAUSES.values() if cause.is_fault is (2 * n_faults >= len(votes))]
            causes[miss] = max(allowed, key=votes.count)

    decided, level = list(causes.values()), resampling.level
    audited = [
        AuditedMiss(places[miss.instance_id], miss.stands_for, float(not cause.is_fault))
        for miss, cause in causes.items()
    ]
    return AuditReport(
        header=misses.header,
        auditors={name: len(of_auditor) for name, of_auditor in verdicts.items()},
        causes=tuple(
            CauseShare(
                cause=cause,
                share=proportion(decided.count(cause), len(decided), level),
                points=sum(miss.stands_for for miss, its_cause in causes.items() if its_cause is cause),
            )
            for cause in CAUSES.values()
        ),
        excused=proportion(sum(not cause.is_fault for cause in decided), len(decided), level),
        n_limited=sum(bool(miss.limit) for miss in causes),
        tied=tuple(tied),
        pairs=tuple(_pair(first, second, verdicts) for first, second in combinations(verdicts, 2)),
        corrected=corrected_score(
            audited_run, audited, all_audited=len(audited) == misses.header.n_misses, resampling=resampling
        ),
    )


def _audited_run(misses: MissesFile, run: Path, dataset: Dataset) -> tuple[AuditedRun, dict[str, int]]:
    header = misses.header
    rules: dict[str, Any] = header.rules
    _, sha256, scores = scores_to_audit(run, dataset, task_named(header.task), Rules(**rules))
    for what, path, drawn_from, given in (
        ("run", run, header.run, sha256),
        ("data", dataset.path, header.data, dataset.sha256),
    ):
        if drawn_from.sha256 != given:
            raise RunMismatchError(
                f"{misses.path}: was drawn from the {what} {drawn_from.name} with the checksum "
                f"{drawn_from.sha256[:12]}, but {path} has {given[:12]}; give the file that it was drawn from"
            )
    losses: Floats = np.zeros(len(scores.ids))
    for miss in misses_of(scores, dataset):
        losses[miss.position] += miss.loss
    audited_run = AuditedRun(scores.recalls, losses, scores.clusters)
    return audited_run, {instance_id: place for place, instance_id in enumerate(scores.ids)}


def _pair(first: str, second: str, verdicts: Mapping[str, Mapping[str, Cause]]) -> AuditorPair:
    causes = [(cause, verdicts[second][miss]) for miss, cause in verdicts[first].items() if miss in verdicts[second]]
    table = np.bincount([2 * cause.is_fault + other.is_fault for cause, other in causes], minlength=4)
    kappa = float(agreement_of("kappa", table.astype(np.float64)))
    return AuditorPair(
        first=first,
        second=second,
        n_both=len(causes),
        n_same_cause=sum(cause is other for cause, other in causes),
        kappa_fault=None if np.isnan(kappa) else kappa,
    )
