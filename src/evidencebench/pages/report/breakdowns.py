"""Aspect recall instance by instance, and by properties of the instances, such as the length of the paper."""

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import coverage_of
from evidencebench.data.tasks import Task
from evidencebench.pages.figures import BarGroup, grouped_chart
from evidencebench.pages.markup import Node, node
from evidencebench.pages.report.blocks import figure, note, section
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.task_title import task_title
from evidencebench.query import Kind
from evidencebench.scoring.place_breakdown import N_AT_AN_END, SHARES, covered_at_ends, share_group
from evidencebench.scoring.resampling import Estimate, bootstrap_columns
from evidencebench.scoring.score_texts import percent
from evidencebench.tables import Cell, Table

_ASPECT_BINS = (5, 9, 13)
_LENGTH_BINS = (100, 150, 200, 300)
_AT_ENDS = (*(f"{share} of the aspects" for share in SHARES), "no aspect can be covered")
_PLACES = ("all in the abstract", "some in the abstract", "none in the abstract", "no aspect can be covered")


def scatter_section(*, has_papers: bool) -> Node:
    """Return the section in which the page's script draws a scatter plot of two systems; it needs the papers."""
    if not has_papers:
        return section("scatter", "Instance by instance", note("Left out with the papers (see below)."))
    return section(
        "scatter",
        "Instance by instance",
        note(
            "Each mark is an instance: the recall of A to the right, of B upwards; on the diagonal both are equal. "
            "Where several coincide, the mark is larger and says how many. The table behind it leads to each paper."
        ),
        node("div", {"id": "scatter-plot"}),
        node("noscript", None, note("The plot is drawn by the page's script, which this browser does not run.")),
    )


Bins = Mapping[str, Mapping[str, Estimate]]
"""Name of a bin of instances -> system -> mean aspect recall in the bin; bins without instances are left out."""


def breakdowns_of(findings: Findings, task: Task) -> dict[str, Bins]:
    """Return the bins of each property of the instances, with the recall of every system of the task's leaderboard."""
    columns = findings.columns(task)
    first = next(iter(columns.values()))
    recalls = np.column_stack([scores.recalls for scores in columns.values()])
    # One instance after the other, since all of them may need more memory than there is.
    places = [_places(findings.dataset[instance_id], task) for instance_id in first.ids]
    by_aspects, by_length, by_abstract, by_ends = (list(one) for one in zip(*places, strict=True))

    def bins(names: Sequence[str], places: Sequence[int]) -> Bins:
        found = {}
        for place, name in enumerate(names):
            inside = np.array(places) == place
            if inside.any():
                clusters = [first.clusters[one] for one in np.flatnonzero(inside)]
                means = bootstrap_columns(recalls[inside], clusters, findings.resampling)
                found[name] = dict(zip(columns, means, strict=True))
        return found

    return {
        "the number of aspects that count": bins(_names(_ASPECT_BINS, "aspects"), by_aspects),
        "the length of the paper": bins(_names(_LENGTH_BINS, "sentences"), by_length),
        "what the abstract covers": bins(_PLACES, by_abstract),
        f"what the first and last {N_AT_AN_END} sentences cover": bins(_AT_ENDS, by_ends),
    }


def _names(starts: Sequence[int], unit: str) -> tuple[str, ...]:
    """Return the bins' names: ``1-4 aspects``, ``5-8 aspects``, ``9 aspects or more``."""
    spans = (f"{first}-{after - 1} {unit}" for first, after in pairwise((1, *starts)))
    return (*spans, f"{starts[-1]} {unit} or more")


def _places(instance: Instance, task: Task) -> tuple[int, int, int, int]:
    """Return the positions of an instance's bins: by aspects, by length, by the abstract, by the ends of the paper."""
    by_aspects = bisect(_ASPECT_BINS, len(instance.labels.that_count(task.scope)))
    by_length = bisect(_LENGTH_BINS, len(instance.query.sentences))
    return by_aspects, by_length, _place(instance, task), _at_ends(instance, task)


def _place(instance: Instance, task: Task) -> int:
    """Return the position in `_PLACES` that an instance belongs to."""
    coverage = coverage_of(instance.labels, task.scope)
    covered = coverage.mask_of(instance.query.indices_of(Kind.ABSTRACT))
    if not coverage.coverable:
        return 3
    return 0 if covered == coverage.coverable else 1 if covered else 2


def _at_ends(instance: Instance, task: Task) -> int:
    """Return the position in `_AT_ENDS` that an instance belongs to."""
    n_at_ends, n_coverable, _ = covered_at_ends(instance, task.scope)
    return share_group(n_at_ends, n_coverable) if n_coverable else len(SHARES)


def breakdowns_section(findings: Findings) -> Node:
    """Return the section with a grouped chart and its table for each property, on the first task."""
    task = findings.tasks[0]
    return section(
        "breakdowns",
        "Recall by kind of instance",
        note(
            f"{task_title(task)} ({task.name}). Intervals resample papers within the group; a group of one paper "
            "has none. Groups differ in how hard they are, so compare systems within a group, not groups. All, some or "
            "none in the abstract: its sentences cover all, some or none of the aspects that any sentence covers. "
            "'score --places' tells whether the length of the papers explains what their ends seem to do."
        ),
        *(_figure(findings, task, *one) for one in breakdowns_of(findings, task).items()),
    )


def _figure(findings: Findings, task: Task, property_name: str, bins: Bins) -> Node:
    title = f"By {property_name}"
    groups: list[BarGroup] = []
    rows: list[list[Cell]] = []
    for name, recalls in bins.items():
        first = next(iter(recalls.values()))
        bars = [
            findings.bar(row, mean) for row, mean in zip(findings.standings[task.name], recalls.values(), strict=True)
        ]
        groups.append(BarGroup(name=f"{name} (n = {first.n})", bars=bars))
        rows.append([name, first.n, first.n_clusters, *(percent(mean, alone="") for mean in recalls.values())])
    columns = ["group", "n", "papers", *findings.columns(task)]
    table = Table(title=f"{title}: aspect recall in %", columns=columns, rows=rows)
    return figure(grouped_chart(groups, title=title), table)
