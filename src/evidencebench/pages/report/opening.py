"""The head of the report: the data, the runs, and the main finding in words."""

from collections.abc import Mapping, Sequence

from evidencebench.data.tasks import Task
from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import code, isolated_name, list_node, note, paragraph, points_text
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.task_title import task_title
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.cautions import cautions_of
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.score_texts import p_text, percent
from evidencebench.scoring.significance import ALPHA, MAX_ENUMERATED_CLUSTERS
from evidencebench.version import __version__
from evidencebench.wording import counted

# Differences of recalls are shown in steps of 0.1 points.
_SHOWN_STEP = 0.001


def opening(title: str, findings: Findings) -> Node:
    """Return the head of the report: its title, the data, the runs, and the main finding in words."""
    return node(
        "section",
        {"id": "summary", "aria-labelledby": "summary-title", "tabindex": "-1"},
        node("h1", {"id": "summary-title", "class": "foreign", "dir": "auto"}, title),
        *(
            note(node("strong", None, "Caution: "), isolated_name(one.label), f": {one.text}.")
            for one in cautions_of(findings.scored)
        ),
        paragraph(*_main_finding(findings), look="finding"),
        _facts(findings),
    )


def _facts(findings: Findings) -> Node:
    dataset, n = findings.dataset, findings.n_instances
    part = "" if n == len(dataset) else f"the first {n:,} of "
    papers = counted(findings.n_papers, "paper or review", "papers or reviews")
    changed = {label: run for label, (run, _) in findings.changed.items()}
    facts: dict[str, tuple[Child, ...]] = {
        "Data": (isolated_name(dataset.name), ", sha256 ", node("code", None, dataset.sha256)),
        "Instances": (f"{part}{counted(len(dataset), 'instance')} from {papers}",),
        "Runs": (_runs(findings.scored.runs, findings.unfinished),),
        **({"Runs asked changed queries": (_runs(changed, {}),)} if changed else {}),
        "Made by": (f"evidencebench {__version__}",),
    }
    terms = (part for name, fact in facts.items() for part in (node("dt", None, name), node("dd", None, *fact)))
    return node("dl", {"class": "facts"}, *terms)


def _runs(runs: Mapping[str, RunFile], unfinished: Mapping[str, str]) -> Node:
    no_header = " (the file does not say what made it)"
    return list_node(
        *(
            node(
                "span",
                None,
                isolated_name(label),
                ": ",
                code(run.signature),
                "" if run.header else no_header,
                f" (unfinished: {unfinished[label]} answered)" if label in unfinished else "",
            )
            for label, run in runs.items()
        )
    )


def _main_finding(findings: Findings) -> list[Child]:
    task = findings.tasks[0]
    controls = findings.label_free_controls(task)
    ranked = [row for row in findings.standings[task.name] if row.rank is not None]
    runs = [row for row in ranked if not row.is_control and findings.name_of(row) not in controls]
    if not runs:
        return [f"On {task.name}, no run here competes: every one is a control or knows the labels."]
    said: list[Child] = [f"{task_title(task)} (", isolated_name(task.name), "): ", *_leaders(runs)]
    said += [" ", _ranks_text(runs[0], len(ranked))]
    if controls:
        said += _comparison_with_control(findings, runs[0], controls[0])
    else:
        said.append(" No control that reads no labels stands beside it on this task.")
    reason = why_not_significant(findings, task)
    return [*said, f" {reason}"] if reason else said


def _leaders(runs: Sequence[Standing]) -> list[Child]:
    """Return the words that name the best run, or the runs level with it, and its mean recall."""
    leader, n_runs = runs[0], len(runs)
    mean = f"{100 * leader.recall.mean:.1f} % (one paper: no interval)"
    covers = f" covers {f'{percent(leader.recall)} %' if leader.recall.interval else mean} of the aspects on average."
    if n_runs == 1:
        return [isolated_name(leader.system), covers]
    level = [row for row in runs if is_level(row.recall.mean - leader.recall.mean)]
    if len(level) == 1:
        return [f"the best of {n_runs} runs, ", isolated_name(leader.system), ",", covers]
    names: list[Child] = []
    for row in level:
        names += [", " if names else "", isolated_name(row.system)]
    whose = "all runs are level: " if len(level) == n_runs else f"the best of {n_runs} runs are level: "
    return [whose, *names, ". ", isolated_name(leader.system), covers]


def _comparison_with_control(findings: Findings, leader: Standing, control: str) -> list[Child]:
    """Return the words that compare the best run with the best control, by the test that ranks the two."""
    task = findings.tasks[0]
    board = findings.boards[task.name]
    row = next(row for row in board.standings if findings.name_of(row) == control)
    pair = board.pair(leader, row)
    difference = pair.test.difference if pair.first is leader else pair.test.difference.negated
    how = "above" if difference.mean > 0 else "below"
    if not pair.is_significant:
        how = "level with" if is_level(difference.mean) else f"not significantly {how}"
    else:
        how = f"significantly {how}"
    tests = "this one test" if board.n_tests == 1 else f"the {board.n_tests} tests"
    test = f"{p_text(pair.adjusted, 'p')} (sign flips, Holm over {tests} of this task's leaderboard)."
    return [
        " It is ",
        node("strong", None, how),
        " the best control that reads no labels, ",
        isolated_name(control),
        f": {points_text(difference)} points, {test}",
    ]


def is_level(difference: float) -> bool:
    """Say whether a difference of recalls is shown as 0.0 points.

    >>> is_level(-0.0004), is_level(0.001)
    (True, False)
    """
    return abs(difference) < _SHOWN_STEP / 2


def why_not_significant(findings: Findings, task: Task) -> str:
    """Return the reason why no difference on a task can be significant; empty where one can."""
    board = findings.boards[task.name]
    if not board.pairs or board.can_tell_apart:
        return ""
    n_papers, n_pairs = board.standings[0].recall.n_clusters, len(board.pairs)
    if n_papers > MAX_ENUMERATED_CLUSTERS or n_pairs * 2.0 ** (1 - n_papers) < ALPHA:
        return "The systems differ on too few papers for any difference to be significant here."
    of = f"{counted(n_papers, 'paper')} and {counted(n_pairs, 'pair')}"
    return f"With {of} no difference can be significant here, however large."


def _ranks_text(row: Standing, n_ranked: int) -> str:
    """Return a sentence with the range of a system's ranks, and how many systems are better and worse."""
    assert row.rank is not None
    best, worst = row.rank
    claimed = f"rank {best}" if best == worst else f"ranks {best} to {worst}"
    others = f"{_systems(best - 1)} significantly better, and {_systems(n_ranked - worst)} significantly worse"
    return f"It can claim {claimed} of {n_ranked}, controls included: {others}."


def _systems(n: int) -> str:
    return "no system is" if n == 0 else "1 system is" if n == 1 else f"{n} systems are"
