"""What the selected sentences add, for each task: a stacked bar for each system, and its counts in words."""

from collections.abc import Mapping

from evidencebench.data.optimum.cover import Coverage
from evidencebench.data.tasks import Task
from evidencebench.pages.markup import Node, node
from evidencebench.pages.report.blocks import FOREIGN, by_task, note, section
from evidencebench.pages.report.findings import Findings
from evidencebench.scoring.picks import PickCounts, coverages_of, picks_of

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
