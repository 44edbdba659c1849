"""What was compared on what, and who leads."""

from collections.abc import Mapping

from evidencebench.leaderboard import Standing
from evidencebench.markup import Child, Node, node
from evidencebench.report.blocks import code, foreign, paragraph, shown_list
from evidencebench.report.findings import Findings
from evidencebench.report.pairs import Pairs
from evidencebench.reporting import percent
from evidencebench.runs import RunFile
from evidencebench.tasks import Task
from evidencebench.version import __version__

_ALPHA = 0.05


def opening(title: str, findings: Findings, against_controls: Pairs) -> Node:
    """Return the head of the report: its title, the data, the runs, and the main finding in words."""
    return node(
        "section",
        {"id": "summary", "aria-labelledby": "summary-title", "tabindex": "-1"},
        node("h1", {"id": "summary-title", "class": "foreign", "dir": "auto"}, title),
        paragraph(*_finding(findings, against_controls), look="finding"),
        _facts(findings),
    )


def _facts(findings: Findings) -> Node:
    dataset, n = findings.dataset, findings.n_instances
    part = "" if n == len(dataset) else f"the first {n:,} of "
    swapped = {label: run for label, (run, _) in findings.swapped.items()}
    pairs: list[tuple[str, tuple[Child, ...]]] = [
        ("Data", (foreign(dataset.name), ", sha256 ", node("code", None, dataset.sha256))),
        ("Instances", (f"{part}{len(dataset):,} instances; {findings.n_papers:,} papers or reviews behind them",)),
        ("Runs", (_runs(findings.graded.runs),)),
        *([("Runs asked other papers' hypotheses", (_runs(swapped),))] if swapped else []),
        ("Made by", (f"evidencebench {__version__}",)),
    ]
    terms = (part for name, children in pairs for part in (node("dt", None, name), node("dd", None, *children)))
    return node("dl", {"class": "facts"}, *terms)


def _runs(runs: Mapping[str, RunFile]) -> Node:
    return shown_list(*(node("span", None, foreign(label), ": ", code(run.signature)) for label, run in runs.items()))


def _finding(findings: Findings, against_controls: Pairs) -> list[Child]:
    task = findings.tasks[0]
    ranked = [row for row in findings.board[task.name] if row.rank is not None]
    controls = findings.label_free_controls(task)
    leader = next((row for row in ranked if not row.is_control and findings.name_of(row) not in controls), None)
    if leader is None:
        return [f"On {task.name}, no run here competes: every one is a control or knows the labels."]
    said: list[Child] = [
        "On ",
        foreign(task.name),
        f" ({described(task)}), ",
        foreign(leader.system),
        f" covers most: {percent(leader.aspect_recall)} % of the aspects on average. {_ranks(leader, len(ranked))}",
    ]
    if not controls:
        return [*said, " No control that reads no labels stands beside it on this task."]
    pair = next(
        (
            one
            for one in against_controls.members
            if (one.first, one.second, one.comparison.task) == (findings.name_of(leader), controls[0], task)
        ),
        None,
    )
    if pair is None:
        return said
    difference, better = pair.comparison.test.difference, pair.comparison.test.difference.mean > 0
    verdict = "significantly " if pair.p_value < _ALPHA else "not significantly "
    return [
        *said,
        " It is ",
        node("strong", None, f"{verdict}{'above' if better else 'below'}"),
        " the best control that reads no labels, ",
        foreign(controls[0]),
        f": {points(difference.mean, difference.low, difference.high)} points, p = {pair.p_value:.4f}",
        f" (sign flips, Holm over {len(against_controls.members)} tests).",
    ]


def points(mean: float, low: float, high: float) -> str:
    """Return a difference in points of recall with its interval, signed.

    Examples
    --------
    >>> points(0.051, -0.002, 0.104)
    '+5.1 [-0.2, +10.4]'
    """
    return f"{100 * mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _ranks(row: Standing, n_ranked: int) -> str:
    assert row.rank is not None
    best, worst = row.rank
    if best == worst:
        return f"It stands alone on rank {best} of {n_ranked}."
    return f"It can claim ranks {best} to {worst} of {n_ranked}: those in between are not significantly apart."


def described(task: Task) -> str:
    """Return what a task asks in words.

    Examples
    --------
    >>> from evidencebench.tasks import TASKS
    >>> described(TASKS["result_er_at_optimal"])
    'Results aspects; as many sentences as can cover all that can be covered'
    """
    scope = "all aspects" if task.scope == "all" else "Results aspects"
    if task.budget is None:
        return f"{scope}; any number of sentences"
    if task.budget == "optimal":
        return f"{scope}; as many sentences as can cover all that can be covered"
    return f"{scope}; {task.budget} {'sentence' if task.budget == 1 else 'sentences'}"
