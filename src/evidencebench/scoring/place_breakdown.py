"""Recall by where the evidence lies ("lost in the middle"), with the length of the paper as the control.

The authors of EvidenceBench [1]_ sort papers by the share of the aspects that the first and the last ten sentences
cover, and find more recall where it is high. But ten sentences are more of a short paper than of a long one, and short
papers may be easier for other reasons. So beside the groups stand the slope of recall over that share, and the same
slope with the length held: from one regression on both, and within papers of alike length.

References
----------
.. [1] Wang, Cao et al., "EvidenceBench: A Benchmark for Extracting Evidence from Biomedical Papers", COLM 2025.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import coverage_of
from evidencebench.query import AspectScope
from evidencebench.scoring.resampling import (
    DEFAULT_RESAMPLING,
    Estimate,
    Floats,
    Resampling,
    bootstrap,
    by_cluster,
    shared_counts,
)
from evidencebench.scoring.task_scores import TaskScores

N_AT_AN_END = 10
"""How many sentences at either end of a paper count as its ends."""

SHARES = ("over 80 %", "60 to 80 %", "40 to 60 %", "20 to 40 %", "under 20 %")
"""The groups of the authors: the share of the aspects that the ends cover."""

# The smallest determinant of the correlations of predictors with which a slope is defined: 0 where one follows from
# another.
_LEAST_DETERMINANT = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceGroup:
    """The instances whose ends cover about the same share of the aspects."""

    share: str  # one of `SHARES`
    recall: Estimate
    n_sentences: float  # mean length of the papers


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthGroup:
    """A third of the instances, by the length of their papers."""

    shortest: int  # in sentences
    longest: int
    slope: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceBreakdown:
    """Recall by the share of the coverable aspects that the ends of the paper cover.

    A slope is the change of recall from a share of 0 to one of 1. It is None where the papers do not differ enough.

    Attributes
    ----------
    groups
        From high shares to low ones; those without instances are left out.
    slope
        Over all instances, whatever the length.
    slope_at_length
        With the length of the paper, on a scale of doublings, held as it is.
    per_doubling
        The change of recall with each doubling of the length, the share held as it is.
    lengths
        The slope within thirds of the instances, from short papers to long ones.
    """

    groups: tuple[PlaceGroup, ...]
    slope: Estimate | None
    slope_at_length: Estimate | None
    per_doubling: Estimate | None
    lengths: tuple[LengthGroup, ...]


def place_breakdown(
    scores: TaskScores, dataset: Dataset, resampling: Resampling = DEFAULT_RESAMPLING
) -> PlaceBreakdown:
    """Return a system's recall by where the evidence lies, with intervals that resample papers.

    Parameters
    ----------
    scores
        The scores of a system on a task, as `evaluate` returns them.
    dataset
        The data that was scored. Instances without a coverable aspect are left out.
    resampling
        How the intervals are drawn.

    Examples
    --------
    >>> from evidencebench import BM25, evaluate, load_sample
    >>> scores = evaluate({"bm25": BM25()}, load_sample(), "er_at_10")["bm25"]["er_at_10"]
    >>> [(group.share, group.recall.n) for group in place_breakdown(scores, load_sample()).groups]
    [('over 80 %', 5), ('60 to 80 %', 4), ('40 to 60 %', 1)]
    """
    found = [covered_at_ends(dataset[instance_id], scores.task.scope) for instance_id in scores.ids]
    kept = [place for place, (_, n_coverable, _) in enumerate(found) if n_coverable]
    clusters = [scores.clusters[place] for place in kept]
    recalls, places = scores.recalls[kept], np.array([share_group(*found[place][:2]) for place in kept], dtype=np.int64)
    shares = np.array([found[place][0] / found[place][1] for place in kept])
    lengths = np.array([found[place][2] for place in kept])
    groups = []
    for place, share in enumerate(SHARES):
        if inside := np.flatnonzero(places == place).tolist():
            recall = bootstrap(recalls[inside], [clusters[one] for one in inside], resampling)
            groups.append(PlaceGroup(share=share, recall=recall, n_sentences=float(lengths[inside].mean())))
    both = np.column_stack([shares, np.log2(lengths)])
    at_length = slopes(both, recalls, clusters, resampling) or (None, None)
    return PlaceBreakdown(
        groups=tuple(groups),
        slope=_slope(shares, recalls, clusters, resampling),
        slope_at_length=at_length[0],
        per_doubling=at_length[1],
        lengths=tuple(
            LengthGroup(
                shortest=int(lengths[inside].min()),
                longest=int(lengths[inside].max()),
                slope=_slope(shares[inside], recalls[inside], [clusters[one] for one in inside], resampling),
            )
            for inside in _thirds(lengths)
        ),
    )


def covered_at_ends(instance: Instance, scope: AspectScope) -> tuple[int, int, int]:
    """Return how many aspects the ends of a paper cover, how many any sentence does, and how many sentences it has."""
    coverage, n_sentences = coverage_of(instance.labels, scope), len(instance.query.sentences)
    ends = {*range(min(N_AT_AN_END, n_sentences)), *range(max(0, n_sentences - N_AT_AN_END), n_sentences)}
    return coverage.mask_of(ends).bit_count(), coverage.coverable.bit_count(), n_sentences


def share_group(n_at_ends: int, n_coverable: int) -> int:
    """Return the position in `SHARES`; in whole numbers, since a share such as 4/5 is on an edge."""
    if 5 * n_at_ends > 4 * n_coverable:
        return 0
    return 4 - min(3, 5 * n_at_ends // n_coverable)


def _thirds(lengths: Floats) -> list[list[int]]:
    """Return the positions of the instances in each third by length; papers of the same length are in one."""
    if not len(lengths):
        return []
    thirds = np.searchsorted(np.quantile(lengths, [1 / 3, 2 / 3], method="higher"), lengths)
    return [inside for third in range(3) if (inside := np.flatnonzero(thirds == third).tolist())]


def _slope(shares: Floats, recalls: Floats, clusters: Sequence[str], resampling: Resampling) -> Estimate | None:
    found = slopes(shares[:, None], recalls, clusters, resampling)
    return None if found is None else found[0]


def slopes(
    predictors: Floats, outcomes: Floats, clusters: Sequence[str], resampling: Resampling
) -> tuple[Estimate, ...] | None:
    """Return the slope of each predictor (instances x predictors) in a least-squares fit of them all, with intervals.

    Whole clusters are resampled; draws in which a slope is not defined are left out. None where it is not defined in
    the data, since a predictor does not vary or follows from the others, or where over half of the draws are left out.
    """
    n_predictors = predictors.shape[1]
    if len(outcomes) <= n_predictors + 1:
        return None
    spread = predictors.std(axis=0)
    if not spread.all():
        return None
    scaled = (predictors - predictors.mean(axis=0)) / spread
    design = np.column_stack([np.ones(len(outcomes)), scaled])
    products = design[:, :, None] * np.column_stack([design, outcomes])[:, None, :]
    sums, _ = by_cluster(products.reshape(len(outcomes), -1), clusters)
    observed = _solved(sums.sum(axis=0)[None], n_predictors)[0]
    if np.isnan(observed).any():
        return None
    n_clusters = len(sums)
    counts = shared_counts(n_clusters, resampling)
    drawn = np.concatenate([_solved(weights @ sums, n_predictors) for weights in counts])
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    if 2 * len(drawn) < resampling.n_draws:
        return None
    tail = (1 - resampling.level) / 2
    lows, highs = np.quantile(drawn, [tail, 1 - tail], axis=0) / spread
    return tuple(
        Estimate(mean=float(mean), low=float(low), high=float(high), n=len(outcomes), n_clusters=n_clusters)
        for mean, low, high in zip(observed / spread, lows, highs, strict=True)
    )


def _solved(sums: Floats, n_predictors: int) -> Floats:
    """Return the slopes for each row of summed products (design x design, design x outcome); NaN where not defined."""
    size = n_predictors + 1
    systems = sums.reshape(len(sums), size, size + 1)
    matrices, right = systems[:, :, :size], systems[:, :, size]
    scale = np.sqrt(np.einsum("nii->ni", matrices))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = np.nan_to_num(matrices / (scale[:, :, None] * scale[:, None, :]))
    defined = np.abs(np.linalg.det(correlations)) > _LEAST_DETERMINANT
    found = np.full((len(sums), n_predictors), np.nan)
    if defined.any():
        found[defined] = np.linalg.solve(matrices[defined], right[defined][:, :, None])[:, 1:, 0]
    return found
