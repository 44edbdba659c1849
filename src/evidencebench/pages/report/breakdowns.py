"""Aspect recall by what an instance is like: how many aspects, how long a paper, and where its evidence stands."""

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evidencebench.data.optimum.cover import Coverage, coverage_of
from evidencebench.data.tasks import Task
from evidencebench.pages.figures import BarGroup, grouped_chart
from evidencebench.pages.markup import Node
from evidencebench.pages.report.blocks import figure, note, section
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.report.opening import described
from evidencebench.query import Kind
from evidencebench.scoring.resampling import Estimate, Resampling, bootstrap_columns
from evidencebench.scoring.score_texts import percent
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.tables import Cell, Table

_ASPECT_BINS = (5, 9, 13)
_LENGTH_BINS = (100, 150, 200, 300)
_PLACES = ("all in the abstract", "some in the abstract", "none in the abstract", "no aspect can be covered")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Instances that are alike."""

    name: str  # in what
    n: int
    n_clusters: int  # papers, or reviews
    recalls: Mapping[str, Estimate]  # system -> its mean aspect recall on them


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Recall by one trait of the instances; bins that hold none are left out."""

    trait: str
    bins: tuple[Bin, ...]


def breakdowns_of(findings: Findings, task: Task) -> tuple[Breakdown, ...]:
    """Return recall on a task by each trait, for every system of its leaderboard."""
    columns = findings.columns(task)
    counted = next(iter(columns.values()))
    instances = [findings.dataset[instance_id] for instance_id in counted.ids]
    by_aspects = [_bin_of(len(one.labels.that_count(task.scope)), _ASPECT_BINS, "aspects") for one in instances]
    by_length = [_bin_of(len(one.query.sentences), _LENGTH_BINS, "sentences") for one in instances]
    by_place = [_place(coverage_of(one.labels, task.scope), one.query.indices_of(Kind.ABSTRACT)) for one in instances]
    traits = (
        ("the number of aspects that count", _names(_ASPECT_BINS, "aspects"), by_aspects),
        ("the length of the paper", _names(_LENGTH_BINS, "sentences"), by_length),
        ("what the abstract covers", _PLACES, by_place),
    )
    return tuple(
        Breakdown(trait=trait, bins=tuple(_bins(names, found, columns, findings.resampling)))
        for trait, names, found in traits
    )


def _place(coverage: Coverage, abstract: Sequence[int]) -> str:
    coverable, covered = coverage.coverable, coverage.mask_of(abstract)
    if not coverable:
        return _PLACES[3]
    return _PLACES[0 if covered == coverable else 1 if covered else 2]


def _names(starts: Sequence[int], unit: str) -> tuple[str, ...]:
    """Return the bins' names: ``1-4 aspects``, ``5-8 aspects``, ``9 aspects or more``."""
    spans = (f"{first}-{after - 1} {unit}" for first, after in pairwise((1, *starts)))
    return (*spans, f"{starts[-1]} {unit} or more")


def _bin_of(count: int, starts: Sequence[int], unit: str) -> str:
    return _names(starts, unit)[bisect(starts, count)]


def _bins(
    names: Sequence[str], found: Sequence[str], columns: Mapping[str, TaskScores], resampling: Resampling
) -> Iterator[Bin]:
    recalls = np.column_stack([scores.recalls for scores in columns.values()])
    all_clusters = next(iter(columns.values())).clusters
    for name in names:
        inside = np.array([one == name for one in found])
        if not inside.any():
            continue
        clusters = [cluster for cluster, counts in zip(all_clusters, inside, strict=True) if counts]
        means = bootstrap_columns(recalls[inside], clusters, resampling)
        yield Bin(
            name=name,
            n=len(clusters),
            n_clusters=len(set(clusters)),
            recalls=dict(zip(columns, means, strict=True)),
        )


def breakdowns_section(findings: Findings, task: Task, found: Sequence[Breakdown]) -> Node:
    """Return a grouped chart and its table for each trait."""
    return section(
        "breakdowns",
        "Recall by kind of instance",
        note(
            f"On {task.name} ({described(task)}). Intervals resample papers within the group; a group of one paper has "
            "none. Groups differ in how hard they are, so compare systems within a group, not groups. All, some or "
            "none in the abstract: its sentences cover all, some or none of the aspects that any sentence covers."
        ),
        *(_figure(findings, task, one) for one in found),
    )


def _figure(findings: Findings, task: Task, breakdown: Breakdown) -> Node:
    controls = {findings.name_of(row): row.system for row in findings.board[task.name] if row.is_control}
    groups = [
        BarGroup(
            name=f"{one.name} (n = {one.n})",
            bars=[
                findings.bar(controls.get(name, name), mean, is_control=name in controls)
                for name, mean in one.recalls.items()
            ],
        )
        for one in breakdown.bins
    ]
    title = f"By {breakdown.trait}"
    return figure(grouped_chart(groups, title=title), _table(title, breakdown))


def _table(title: str, breakdown: Breakdown) -> Table:
    systems = list(breakdown.bins[0].recalls) if breakdown.bins else []
    rows: list[list[Cell]] = [
        [one.name, one.n, one.n_clusters, *(percent(one.recalls[system], alone="") for system in systems)]
        for one in breakdown.bins
    ]
    return Table(title=f"{title}: aspect recall in %", columns=["group", "n", "papers", *systems], rows=rows)
