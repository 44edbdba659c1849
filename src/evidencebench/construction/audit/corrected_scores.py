"""The score of a run if the misses that are not its fault did not count against it, with an interval.

Papers are a sample, and the audited misses are a sample of what the run missed in them. One bootstrap joins both: whole
papers (or reviews) are resampled, and each brings along its score, what it lost, and those of its misses that were
audited. Of few audited misses it would be too sure, and certain where none is excused. So, while not all misses are
audited, each draw has one more of random weight: for the upper end one that is not the system's fault, for the lower
end one that is. Where each paper holds one miss, this gives the exact interval of a share [1]_.

References
----------
.. [1] Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
   Biometrika 26 (1934): its ends are quantiles of the Beta distributions with one more success, or failure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evidencebench.errors import UndefinedScoreError
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Estimate, Floats, Resampling, by_cluster, draw_counts

Reading = Literal["covered", "taken out"]
"""What becomes of aspects whose miss is not the system's fault: they count as covered, or do not count at all."""

READINGS: tuple[Reading, ...] = ("covered", "taken out")

# Losses that differ by no more than rounding count as equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRun:
    """What an audit corrects, one value an instance: recall, what coverable misses take from it, aspects that count."""

    recalls: Floats
    losses: Floats
    n_aspects: Floats
    clusters: Sequence[str]  # each instance's paper or review


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedMiss:
    """A miss with the verdict of people."""

    place: int  # the position of its instance
    stands_for: float
    excused: float  # how far it is not the system's fault, 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedScore:
    """What people's verdicts make of a score."""

    plain: Estimate  # as it was
    excused: Estimate  # the share of what was lost that is not the system's fault
    readings: dict[Reading, Estimate]  # the corrected score


def corrected_score(
    run: AuditedRun,
    audited: Sequence[AuditedMiss],
    *,
    all_audited: bool,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> CorrectedScore:
    """Return the corrected score of a run; ``all_audited`` says whether people have judged every miss."""
    if not audited:
        raise UndefinedScoreError("the share of misses that are not the system's fault is undefined: none is audited")
    known = np.zeros((len(run.recalls), 2))
    for miss in audited:
        known[miss.place] += miss.stands_for * np.array([1.0, miss.excused])
    one_more = 0.0 if all_audited else float(known[:, 0].sum()) / len(audited)
    n_clusters = len(set(run.clusters))
    share = float(known[:, 1].sum() / known[:, 0].sum())
    means = {
        name: float(values[0]) for name, values in _figures(run, np.ones((1, len(run.recalls))), np.array([share]))
    }
    ends = _interval_ends(run, known, one_more, resampling) if n_clusters > 1 else {}

    def estimate(name: str) -> Estimate:
        low, high = ends.get(name, (None, None))
        return Estimate(mean=means[name], low=low, high=high, n=len(run.recalls), n_clusters=n_clusters)

    return CorrectedScore(
        plain=estimate("plain"),
        excused=estimate("excused"),
        readings={reading: estimate(reading) for reading in READINGS},
    )


def _interval_ends(
    run: AuditedRun, known: Floats, one_more: float, resampling: Resampling
) -> dict[str, tuple[float, float]]:
    """Return the ends of each figure's interval; ``known``: what audited and excused misses of an instance weigh."""
    sums, _ = by_cluster(known, run.clusters)
    place_of = {cluster: place for place, cluster in enumerate(dict.fromkeys(run.clusters))}
    of_instance = [place_of[cluster] for cluster in run.clusters]
    generator = resampling.generator()
    lows: dict[str, list[Floats]] = {}
    highs: dict[str, list[Floats]] = {}
    for drawn in draw_counts(len(sums), generator, resampling.n_draws):
        extra = one_more * generator.standard_exponential(len(drawn))
        total, excused = drawn @ sums[:, 0] + extra, drawn @ sums[:, 1]
        weights = drawn[:, of_instance]
        for ends, n_excused in ((lows, excused), (highs, excused + extra)):
            share = np.divide(n_excused, total, out=np.zeros_like(total), where=total > 0)
            for name, values in _figures(run, weights, share):
                ends.setdefault(name, []).append(values)
    tail = (1 - resampling.level) / 2
    return {
        name: (
            float(np.quantile(np.concatenate(lows[name]), tail)),
            float(np.quantile(np.concatenate(highs[name]), 1 - tail)),
        )
        for name in lows
    }


def _figures(run: AuditedRun, weights: Floats, shares: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield each figure by name, one value a draw: ``weights`` are draws x instances, ``shares`` are one a draw."""
    n_drawn, recalls = weights.sum(axis=1), weights @ run.recalls / weights.sum(axis=1)
    yield "plain", recalls
    yield "excused", shares
    yield "covered", recalls + shares * (weights @ run.losses) / n_drawn
    yield "taken out", _recall_without_excused(run, weights, shares)


def _recall_without_excused(run: AuditedRun, weights: Floats, shares: Floats) -> Floats:
    """Return the mean recall without the excused aspects, one value a draw.

    How many of an instance's misses are excused is not known, only the share of all. So it is taken as binomial: the
    mean of recall / (1 - excused part) to the second order, over the instances of which an aspect is left.
    """
    share = shares[:, None]
    is_covered = run.recalls > 0
    left = np.where(is_covered, 1 - share * run.losses, 1.0)
    spread = run.losses * share * (1 - share) / run.n_aspects
    expected = run.recalls / left * (1 + spread / left**2)
    is_any_left = np.where(run.losses > 1 - _ROUNDING, 1 - share ** (run.losses * run.n_aspects), 1.0)
    total = (weights * is_any_left).sum(axis=1)
    mean: Floats = np.divide((weights * expected).sum(axis=1), total, out=np.zeros_like(total), where=total > 0)
    return mean
