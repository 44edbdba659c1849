"""The report of an audit: causes with exact intervals, what auditors agree on, and the corrected score."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from evidencebench.construction.audit.causes import CAUSES, Cause
from evidencebench.construction.audit.corrected_scores import (
    AuditedMiss,
    AuditedRun,
    CorrectedScore,
    corrected_score,
)
from evidencebench.construction.audit.misses import Miss, MissesFile, MissesHeader
from evidencebench.construction.audit.sampling import misses_of, scores_to_audit
from evidencebench.construction.audit.verdicts import Verdict, verdict_folder
from evidencebench.construction.people.agreement.pair_measures import cohen_kappa
from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import task_named
from evidencebench.errors import RunMismatchError, UnreadableError
from evidencebench.scoring.proportions import Proportion, proportion
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Floats, Resampling
from evidencebench.scoring.selection import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseShare:
    """How many of the audited misses have a cause, and what they stand for: a part of the mean score."""

    cause: Cause
    share: Proportion
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditorPair:
    """How two auditors agree on the misses that both judged; kappa is None where it is undefined."""

    first: str
    second: str
    n_both: int
    n_same_cause: int
    n_same_fault: int
    kappa_fault: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What an audit found."""

    header: MissesHeader
    auditors: dict[str, int]  # name -> how many misses the auditor judged
    n_audited: int  # misses with a verdict
    causes: tuple[CauseShare, ...]
    excused: Proportion  # of them not the system's fault
    strata: dict[str, Proportion]  # the same by stratum
    tied: tuple[str, ...]  # misses on which auditors are even about whose fault it is: they count as the system's
    pairs: tuple[AuditorPair, ...]
    corrected: CorrectedScore


def audit_report(
    misses: MissesFile,
    folder: Path,
    run: Path,
    dataset: Dataset,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> AuditReport:
    """Return the report of an audit.

    Whether a miss is the system's fault is decided by the majority of its auditors; a tie counts as its fault. Misses
    without a verdict are taken to be like the others.
    """
    audited_run, places = _audited_run(misses, run, dataset)
    verdicts = _verdicts(folder, misses)
    said = {
        miss: [CAUSES[of_auditor[miss.id].cause] for of_auditor in verdicts.values() if miss.id in of_auditor]
        for miss in misses.records
    }
    causes = {miss: _decided(of_miss) for miss, of_miss in said.items() if of_miss}

    def share_of(some: Iterable[Miss], are_counted: Callable[[Miss], bool]) -> Proportion:
        counted = list(map(are_counted, some))
        return proportion(sum(counted), len(counted), resampling.level)

    def is_excused(miss: Miss) -> bool:
        return not causes[miss].is_fault

    in_strata = {
        stratum.name: [miss for miss in causes if miss.stratum == stratum.name] for stratum in misses.header.strata
    }
    audited = [
        AuditedMiss(place=places[miss.instance_id], stands_for=miss.stands_for, excused=float(is_excused(miss)))
        for miss in causes
    ]
    return AuditReport(
        header=misses.header,
        auditors={name: len(one) for name, one in verdicts.items()},
        n_audited=len(causes),
        causes=tuple(
            CauseShare(
                cause=cause,
                share=share_of(causes, lambda miss: causes[miss] is cause),  # noqa: B023 - called at once
                points=sum(miss.stands_for for miss, one in causes.items() if one is cause),
            )
            for cause in CAUSES.values()
        ),
        excused=share_of(causes, is_excused),
        strata={name: share_of(some, is_excused) for name, some in in_strata.items() if some},
        tied=tuple(miss.id for miss in causes if 2 * sum(cause.is_fault for cause in said[miss]) == len(said[miss])),
        pairs=tuple(_pair(one, other, verdicts[one], verdicts[other]) for one, other in combinations(verdicts, 2)),
        corrected=corrected_score(
            audited_run, audited, all_audited=len(audited) == misses.header.n_misses, resampling=resampling
        ),
    )


def _decided(said: Sequence[Cause]) -> Cause:
    """Return the cause that counts: the most frequent one of the majority, the first of `CAUSES` where equal."""
    is_fault = 2 * sum(cause.is_fault for cause in said) >= len(said)
    return max((cause for cause in CAUSES.values() if cause.is_fault is is_fault), key=said.count)


def _verdicts(folder: Path, misses: MissesFile) -> dict[str, dict[str, Verdict]]:
    """Return auditor -> id of a miss -> verdict, those that were taken back left out."""
    by_auditor = {
        name: {miss: verdict for miss, verdict in verdicts.items() if verdict.cause}
        for name, verdicts in verdict_folder(folder, misses).read_all().items()
    }
    by_auditor = {name: verdicts for name, verdicts in by_auditor.items() if verdicts}
    if not by_auditor:
        raise UnreadableError(
            f"{folder}: expected a folder with verdicts, which 'evidencebench audit review' writes, got none"
        )
    return by_auditor


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
    counts = [len(dataset[instance_id].labels.that_count(scores.task.scope)) for instance_id in scores.ids]
    audited_run = AuditedRun(
        recalls=scores.recalls, losses=losses, n_aspects=np.array(counts, dtype=np.float64), clusters=scores.clusters
    )
    return audited_run, {instance_id: place for place, instance_id in enumerate(scores.ids)}


def _pair(first: str, second: str, of_first: Mapping[str, Verdict], of_second: Mapping[str, Verdict]) -> AuditorPair:
    said = [(CAUSES[of_first[miss].cause], CAUSES[of_second[miss].cause]) for miss in of_first if miss in of_second]
    faults = [(cause.is_fault, other.is_fault) for cause, other in said]
    table = [faults.count((one, other)) for one, other in product((False, True), repeat=2)]
    kappa = float(cohen_kappa(np.array(table, dtype=np.float64)))
    return AuditorPair(
        first=first,
        second=second,
        n_both=len(said),
        n_same_cause=sum(cause is other for cause, other in said),
        n_same_fault=sum(one is other for one, other in faults),
        kappa_fault=None if np.isnan(kappa) else kappa,
    )
