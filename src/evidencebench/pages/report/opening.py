"""The head of the report: for each task the verdict in words, and its forest plot."""

from collections.abc import Sequence

from evidencebench.data.tasks import Task
from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import by_task, code, isolated_name, note, paragraph, points_text, terms_node
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.report.forest import forest
from evidencebench.pages.task_title import task_title
from evidencebench.scoring.cautions import cautions_of
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.score_texts import p_text, percent
from evidencebench.wording import counted

# Differences of recalls are shown in steps of 0.1 points.
_SHOWN_STEP = 0.001
_MOST_NAMED = 5


def opening(title: str, findings: Findings) -> Node:
    """Return the head of the report: its title, its cautions, and for each task the verdict and the forest plot."""
    task = findings.tasks[0]
    return node(
        "section",
        {"id": "summary", "aria-labelledby": "summary-title", "tabindex": "-1"},
        node("h1", {"id": "summary-title", "class": "foreign", "dir": "auto"}, title),
        *(
            note(node("strong", None, "Caution: "), isolated_name(caution.label), f": {caution.text}.")
            for caution in cautions_of(findings.scored)
        ),
        None if len(findings.tasks) > 1 else note(f"{task_title(task)} ", code(task.name)),
        *by_task(findings.tasks, lambda task: [*_verdict(findings, task), *forest(findings, task)]),
    )


def _verdict(findings: Findings, task: Task) -> list[Node]:
    controls = findings.label_free_controls(task)
    ranked = findings.boards[task.name].ranked
    runs = [row for row in ranked if not row.is_control and findings.name_of(row) not in controls]
    if not runs:
        return [
            paragraph(
                f"On {task.name}, no run here competes: every one is a control or knows the labels.", look="finding"
            )
        ]
    board, leader = findings.boards[task.name], runs[0]
    level = [row for row in board.level_with(leader) if row in runs]
    beaten = [row for row in runs[1:] if row not in level]
    facts: dict[str, list[Child]] = {}
    if beaten:
        facts["Beaten"] = [*_names(findings, beaten), f": significantly below {findings.name_of(leader)}."]
    if controls:
        facts["Controls"] = _against_controls(findings, task, leader, controls)
    else:
        facts["Controls"] = ["No control that reads no labels stands beside the runs on this task."]
    facts["Answers"] = _answers(findings, runs)
    if reason := why_not_significant(findings, task):
        facts["Certainty"] = [reason]
    return [node("div", {"class": "finding"}, paragraph(*_top(findings, runs, level)), terms_node(facts.items()))]


def _top(findings: Findings, runs: Sequence[Standing], level: Sequence[Standing]) -> list[Child]:
    leader = runs[0]
    if not level:
        whose = f" is the best of {len(runs)} runs" if len(runs) > 1 else ""
        covers = f"{':' if whose else ''} {'it ' if whose else ''}covers {_mean(leader)} of the aspects on average"
        than = ", significantly more than each other run." if whose else "."
        return [node("strong", None, isolated_name(findings.name_of(leader)), whose), f"{covers}{than}"]
    n_level = len(level) + 1  # the best one is level with itself
    everyone = "Both runs" if n_level == 2 else f"All {n_level} runs"  # noqa: PLR2004 - both
    whose = everyone if n_level == len(runs) else f"{n_level} of {len(runs)} runs"
    said: list[Child] = [node("strong", None, f"{whose} are level at the top"), ": "]
    for place, row in enumerate((leader, *level)[:_MOST_NAMED]):
        said += [", " if place else "", isolated_name(findings.name_of(row)), f" {_mean(row)}"]
    more = f", and {n_level - _MOST_NAMED} more" if n_level > _MOST_NAMED else ""
    return [
        *said,
        f"{more} of the aspects on average. No difference to ",
        isolated_name(findings.name_of(leader)),
        " among them is significant.",
    ]


def _mean(row: Standing) -> str:
    alone = "" if row.recall.interval else f" ({row.recall.alone}: no interval)"
    return f"{percent(row.recall, alone='')} %{alone}"


def _names(findings: Findings, rows: Sequence[Standing]) -> list[Child]:
    return [
        part for place, row in enumerate(rows) for part in (", " if place else "", isolated_name(findings.name_of(row)))
    ]


def _against_controls(findings: Findings, task: Task, leader: Standing, controls: Sequence[str]) -> list[Child]:
    board = findings.boards[task.name]
    row = next(row for row in board.ranked if findings.name_of(row) == controls[0])
    pair = board.pair(leader, row)
    difference = pair.test.difference if pair.first is leader else pair.test.difference.negated
    how = "above" if difference.mean > 0 else "below"
    p = "too few papers differ for a test" if pair.adjusted is None else p_text(pair.adjusted, "p")
    if not pair.is_significant:
        how = "level with" if is_level(difference.mean) else f"not significantly {how}"
    else:
        how = f"significantly {how}"
    return [
        isolated_name(findings.name_of(leader)),
        " is ",
        node("strong", None, how),
        " the best that reads no labels, ",
        isolated_name(controls[0]),
        f": {points_text(difference)} points, {p}.",
    ]


def _answers(findings: Findings, runs: Sequence[Standing]) -> list[Child]:
    n_all = sum(row.n for row in runs)
    said: list[Child] = []
    for name, told in (("failed", "failed"), ("empty", "are empty"), ("missing", "are missing")):
        counts = [(row, getattr(row, name)) for row in runs if getattr(row, name)]
        if not counts:
            continue
        said.append(f"{'; ' if said else ''}{sum(n for _, n in counts):,} of {counted(n_all, 'answer')} {told} (")
        for place, (row, n) in enumerate(counts):
            said += [", " if place else "", isolated_name(findings.name_of(row)), f" {n:,}"]
        said.append(")")
    return (
        [*said, ". Each scores 0."] if said else [f"None of {counted(n_all, 'answer')} failed, is empty or is missing."]
    )


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
    papers = board.standings[0].recall.extent
    return f"No difference can be significant here: {papers}, or those on which the systems differ, are too few."
