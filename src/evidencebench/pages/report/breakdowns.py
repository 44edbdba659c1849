"""By properties; what picks add."""

import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from evidencebench.data.cover import Coverage, coverage_of
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.pages.figures.charts import panel_chart
from evidencebench.pages.figures.data import BarGroup
from evidencebench.pages.html import Node, node
from evidencebench.pages.report.blocks import FOREIGN, by_task, folding_part, legend, note, section, table_node
from evidencebench.pages.report.data import Findings
from evidencebench.query import AspectScope, Kind
from evidencebench.scoring.breakdowns import (
    N_AT_AN_END,
    SHARES,
    PickCounts,
    coverages_of,
    covered_at_ends,
    picks_of,
    share_group,
)
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.resampling import Estimate, bootstrap_columns
from evidencebench.scoring.significance import percent
from evidencebench.tables import Table

# Aspect recall by properties of the papers, such as their length.


_ASPECT_BINS = (5, 9, 13)
_LENGTH_BINS = (100, 150, 200, 300)
_NOTHING = "no aspect can be covered"
_AT_ENDS = (*(f"{share} of the aspects" for share in SHARES), _NOTHING)
_PLACES = ("all in the abstract", "some in the abstract", "none in the abstract", _NOTHING)
_WORDS_OF_BINS = re.compile(" (aspects|sentences|in the abstract|of the aspects)")

Bins = Mapping[str, Mapping[str, Estimate]]
"""Name of a bin of instances -> system -> mean aspect recall in the bin; bins without instances are left out."""


def breakdowns_of(findings: Findings) -> dict[str, dict[str, Bins]]:
    """Return by task the bins of each property of the instances, with the recall of every system of its leaderboard."""
    places: dict[AspectScope, list[tuple[int, ...]]] = {task.scope: [] for task in findings.tasks}
    for instance in findings.dataset.instances(findings.n_instances):
        for scope, of_scope in places.items():
            if instance.labels.that_count(scope):
                of_scope.append(_places(instance, scope))
    found: dict[str, dict[str, Bins]] = {}
    for scope, of_scope in places.items():
        tasks = [task for task in findings.tasks if task.scope == scope]
        found |= _breakdowns(findings, tasks, np.array(of_scope))
    return {task.name: found[task.name] for task in findings.tasks}


def _breakdowns(
    findings: Findings, tasks: Sequence[Task], places: np.ndarray[tuple[int, int], np.dtype[np.int_]]
) -> dict[str, dict[str, Bins]]:
    """Return the breakdowns of tasks over the same aspects; ``places`` are the `_places` of each instance."""
    columns = {task.name: findings.columns(task) for task in tasks}
    keys = [(task, system) for task, scores in columns.items() for system in scores]
    recalls = np.column_stack([columns[task][system].recalls for task, system in keys])
    first = columns[keys[0][0]][keys[0][1]]
    found: dict[str, dict[str, Bins]] = {task.name: {} for task in tasks}
    for place_of, (title, names) in zip(places.T, _PROPERTIES.items(), strict=True):
        bins: dict[str, dict[str, dict[str, Estimate]]] = {task.name: {} for task in tasks}
        for place, name in enumerate(names):
            inside = np.flatnonzero(place_of == place)
            if inside.size:
                means = bootstrap_columns(recalls[inside], [first.clusters[one] for one in inside], findings.resampling)
                for (task, system), mean in zip(keys, means, strict=True):
                    bins[task].setdefault(name, {})[system] = mean
        for task_name, of_task in bins.items():
            found[task_name][title] = of_task
    return found


def _names(starts: Sequence[int], unit: str) -> tuple[str, ...]:
    spans = (f"{first}–{after - 1} {unit}" for first, after in pairwise((1, *starts)))
    return (*spans, f"{starts[-1]} {unit} or more")


_PROPERTIES = {
    "the number of aspects that count": _names(_ASPECT_BINS, "aspects"),
    "the length of the paper": _names(_LENGTH_BINS, "sentences"),
    "what the abstract covers": _PLACES,
    "what the ends of the paper cover": _AT_ENDS,
}
"""Each property of an instance, with the names of its bins; `_places` has an instance's bin in each."""


def _places(instance: Instance, scope: AspectScope) -> tuple[int, int, int, int]:
    """Return the positions of an instance's bins: by aspects, by length, by the abstract, by the ends of the paper."""
    by_aspects = bisect(_ASPECT_BINS, len(instance.labels.that_count(scope)))
    by_length = bisect(_LENGTH_BINS, len(instance.query.sentences))
    coverage = coverage_of(instance.labels, scope)
    if not coverage.coverable:
        return by_aspects, by_length, len(_PLACES) - 1, len(_AT_ENDS) - 1
    covered = coverage.mask_of(instance.query.indices_of(Kind.ABSTRACT))
    by_abstract = 0 if covered == coverage.coverable else 1 if covered else 2
    n_at_ends, n_coverable, _ = covered_at_ends(instance, scope)
    return by_aspects, by_length, by_abstract, share_group(n_at_ends, n_coverable)


def breakdowns_section(findings: Findings) -> Node:
    """Return the section with a small chart for each property, and folded tables of all systems, for each task."""
    found = breakdowns_of(findings)
    return section(
        "breakdowns",
        "Recall by kind of paper",
        note(
            "Intervals resample papers within the group. Groups differ in how hard they are: compare systems within a "
            "group, not groups. All, some or none in the abstract: its sentences cover all, some or none of the "
            f"aspects that any sentence covers. The ends are the first and the last {N_AT_AN_END} sentences; "
            "'score --places' tells whether the length of papers explains what they seem to do."
        ),
        *by_task(findings.tasks, lambda task: _block(findings, task, found[task.name])),
    )


def _block(findings: Findings, task: Task, found: Mapping[str, Bins]) -> list[Node]:
    rows = findings.foremost(task)
    panels = (_panel(findings, rows, *bins) for bins in found.items())
    tables = (table_node(_table(*bins)) for bins in found.items())
    return [
        legend([findings.bar(row) for row in rows]),
        node("div", {"class": "panels"}, *panels),
        folding_part("All systems, with intervals, as tables", *tables),
    ]


def _panel(findings: Findings, rows: Sequence[Standing], property_name: str, bins: Bins) -> Node:
    drawn = {name: recalls for name, recalls in bins.items() if name != _NOTHING}
    groups = [
        BarGroup(name=_short(name), bars=[findings.bar(row, recalls[findings.name_of(row)]) for row in rows])
        for name, recalls in drawn.items()
    ]
    counts = [f"n = {next(iter(recalls.values())).n:,}" for recalls in drawn.values()]
    return panel_chart(groups, title=f"By {property_name}", counts=counts)


def _short(name: str) -> str:
    """Return the name of a bin where there is little room.

    >>> _short("1–99 sentences"), _short("300 sentences or more"), _short("60 to 80 % of the aspects")
    ('1–99', '300+', '60–80 %')
    """
    name = _WORDS_OF_BINS.sub("", name)
    for words, sign in {" or more": "+", " to ": "–", "over ": "> ", "under ": "< "}.items():
        name = name.replace(words, sign)
    return name


def _table(property_name: str, bins: Bins) -> Table:
    means = {name: next(iter(recalls.values())) for name, recalls in bins.items()}
    heads = [f"{name} ({mean.extent})" for name, mean in means.items()]
    systems = next(iter(bins.values()))
    return Table(
        title=f"By {property_name}: aspect recall in %",
        columns=["system", *heads],
        rows=[[system, *(percent(recalls[system], alone="") for recalls in bins.values())] for system in systems],
    )


# What the selected sentences add, for each task: a stacked bar for each system, and its counts in words.


# Field of `PickCounts` -> its words for one sentence and for several.
_SORTS = {
    "new": ("new", "new"),
    "redundant": ("redundant", "redundant"),
    "heading": ("heading", "headings"),
    "no_evidence": ("no evidence", "no evidence"),
}
_MEANINGS = {
    "new": "new: states an aspect that counts and that no earlier pick states",
    "redundant": "redundant: adds nothing, since earlier picks state its aspects",
    "heading": "heading",
    "no_evidence": "no evidence: states no aspect that counts",
}

Covered = Mapping[str, tuple[Coverage, frozenset[int]]]


def picks_section(findings: Findings) -> Node:
    """Return the section with a bar for each system of each task."""
    scopes = list(dict.fromkeys(task.scope for task in findings.tasks))
    covered = coverages_of(findings.dataset.instances(findings.n_instances), scopes)
    look = {"class": "pick-bar", "aria-hidden": "true"}
    legend = (
        node("li", None, node("svg", look, node("rect", {"class": f"pick-{sort}", "width": "100%"})), text)
        for sort, text in _MEANINGS.items()
    )
    return section(
        "picks",
        "What the picks add",
        note(
            "Every sentence that a system selected, on all papers, read in the order of its answer. Where chance draws "
            "among sentences, each counts as often as it is drawn, beside the certain ones."
        ),
        node("ul", {"class": "legend"}, *legend),
        *by_task(findings.tasks, lambda task: [_bars(findings, task, covered[task.scope])]),
    )


def _bars(findings: Findings, task: Task, covered: Covered) -> Node:
    picks = {
        name: picks_of((selection, *covered[id_]) for id_, selection in zip(scores.ids, scores.selections, strict=True))
        for name, scores in findings.columns(task).items()
    }
    most = max((counts.total for counts in picks.values()), default=0.0)
    rows = (
        node(
            "li",
            None,
            node("bdi", FOREIGN, name),
            _bar(counts, most),
            node("span", {"class": "value"}, _words(counts)),
        )
        for name, counts in picks.items()
    )
    return node("ul", {"class": "picks"}, *rows)


def _bar(picks: PickCounts, most: float) -> Node:
    parts, start = [], 0.0
    for sort in _SORTS:
        width = 100 * getattr(picks, sort) / most if most else 0.0
        if width:
            parts.append(node("rect", {"class": f"pick-{sort}", "x": f"{start:.2f}%", "width": f"{width:.2f}%"}))
        start += width
    return node("svg", {"class": "pick-bar", "aria-hidden": "true"}, *parts)


def _words(picks: PickCounts) -> str:
    """Return the counts in words.

    >>> _words(PickCounts(new=31, redundant=4, heading=20, no_evidence=87))
    '142 picks: 31 new, 4 redundant, 20 headings, 87 no evidence'
    >>> _words(PickCounts(new=1.5, heading=1))
    '2.5 picks: 1.5 new, 1 heading'
    """
    counts = {words: getattr(picks, sort) for sort, words in _SORTS.items()}
    told = ", ".join(f"{_number(n)} {one if n == 1 else many}" for (one, many), n in counts.items() if n)
    return f"{_number(picks.total)} {'pick' if picks.total == 1 else 'picks'}{f': {told}' if told else ''}"


def _number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")
