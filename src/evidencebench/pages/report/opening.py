"""The opening of the report: which run is best, whether it reads the hypothesis, what all missed, and what it cost."""

from collections.abc import Mapping, Sequence

from evidencebench.data.tasks import Task
from evidencebench.pages.html import Child, Node, node
from evidencebench.pages.report.blocks import code, isolated_name, isolated_names, points_text, terms_node
from evidencebench.pages.report.data import Findings, Missed
from evidencebench.pages.report.failures import Spent
from evidencebench.pages.report.hypotheses import WRONG, control_command, uses_of
from evidencebench.scoring.compare import USES, ControlResult
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.score_runs import NOT_MEASURED
from evidencebench.scoring.significance import p_text, percent
from evidencebench.wording import counted

_LEVEL = 0.0005  # a difference of recalls that is shown as 0.0 points
_MOST_NAMED = 5


def head(title: str, *children: Child) -> Node:
    heading = node("h1", {"id": "summary-title", "class": "foreign", "dir": "auto"}, title)
    attributes = {"id": "summary", "aria-labelledby": "summary-title", "tabindex": "-1"}
    return node("section", attributes, heading, *children)


def answers_of(
    findings: Findings,
    task: Task,
    data: str,
    *,
    results: Sequence[ControlResult],
    missed: Missed,
    spent: Sequence[Spent],
) -> Node:
    """Return the questions that the opening answers on a task, each with a link to where more of it stands."""
    ranked, controls = findings.boards[task.name].ranked, findings.label_free_controls(task)
    runs = [row for row in ranked if not row.is_control and findings.name_of(row) not in controls]  # that compete
    facts: dict[str, list[Child]] = {"Which system is best, and how certain is that?": _best(findings, task, runs)}
    if runs:
        facts["Does it use the hypothesis?"] = _reading(findings, task, runs, results, data)
    facts["What did all systems miss?"] = _missed(missed)
    if spent:
        costs = {one.bar.name: f" {one.words}" for one in spent}
        facts["What did it cost?"] = [*_named(costs), ": ", _link("#costs", "cost against recall"), "."]
    if lacking := _lacking(findings, runs):
        facts["Are there failed or missing answers?"] = lacking
    return node("div", {"class": "finding"}, terms_node(facts.items()))


def _link(address: str, words: str) -> Node:
    return node("a", {"href": address}, words)


def _named(names: Sequence[str] | Mapping[str, str]) -> list[Child]:
    """Return a few names from files, each with its text behind it, and how many more there are."""
    ends = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, "")
    more = f", and {len(ends) - _MOST_NAMED} more" if len(ends) > _MOST_NAMED else ""
    return [*isolated_names(dict(list(ends.items())[:_MOST_NAMED])), more]


# Which system is best, and how certain is that?


def _best(findings: Findings, task: Task, runs: Sequence[Standing]) -> list[Child]:
    controls, board = findings.label_free_controls(task), findings.boards[task.name]
    if not runs:
        return [f"On {task.name}, no run can be ranked: each is a baseline or knows the labels."]
    leader = runs[0]
    level = [row for row in board.level_with(leader) if row in runs]
    words = _top(findings, runs, level)
    if level and (beaten := [findings.name_of(row) for row in runs[1:] if row not in level]):
        words += [" Significantly below: ", *_named(beaten), "."]
    if controls:
        whose = isolated_name(findings.name_of(leader)) if level else "It"
        words += [" ", whose, *_against_controls(findings, task, leader, controls[0])]
    else:
        words.append(" There is no baseline to compare with on this task.")
    if board.pairs and not board.can_tell_apart:
        words.append(
            f" No difference can be significant here: {board.standings[0].recall.extent}, or those on which the "
            "systems differ, are too few."
        )
    return [*words, " ", _link("#pairs", "All pairs"), "."]


def _top(findings: Findings, runs: Sequence[Standing], level: Sequence[Standing]) -> list[Child]:
    leader = runs[0]
    if not level:
        whose = " is the best" if len(runs) > 1 else ""
        covers = f"{':' if whose else ''} {'it ' if whose else ''}covers {_mean(leader)} of the aspects on average"
        than = ", significantly more than every other run." if whose else "."
        return [node("strong", None, isolated_name(findings.name_of(leader)), whose), f"{covers}{than}"]
    n_level = len(level) + 1  # the best one is level with itself
    whose = f"{n_level} runs" if n_level < len(runs) else f"All {n_level} runs" if level[1:] else "Both runs"
    return [
        node("strong", None, f"{whose} share the top"),
        ": ",
        *_named({findings.name_of(row): f" {_mean(row)}" for row in (leader, *level)}),
        " of the aspects on average. None of them differs significantly from ",
        isolated_name(findings.name_of(leader)),
        ".",
    ]


def _mean(row: Standing) -> str:
    alone = "" if row.recall.interval else f" ({row.recall.alone}: no interval)"
    return f"{percent(row.recall, alone='')} %{alone}"


def _against_controls(findings: Findings, task: Task, leader: Standing, control: str) -> list[Child]:
    board = findings.boards[task.name]
    pair = board.pair(leader, next(row for row in board.ranked if findings.name_of(row) == control))
    difference = pair.test.difference if pair.first is leader else pair.test.difference.negated
    how = f"{'' if pair.is_significant else 'not '}significantly {'above' if difference.mean > 0 else 'below'}"
    if not pair.is_significant and abs(difference.mean) < _LEVEL:
        how = "equal to"
    p = "too few papers differ for a test" if pair.adjusted is None else p_text(pair.adjusted, "p")
    return [
        " is ",
        node("strong", None, how),
        " the best baseline, ",
        isolated_name(control),
        f": {points_text(difference)} points, {p}.",
    ]


# Does it read the hypothesis? What did all miss? Did each answer?


def _reading(
    findings: Findings, task: Task, runs: Sequence[Standing], results: Sequence[ControlResult], data: str
) -> list[Child]:
    of_label, words = uses_of(findings, task, results), list[Child]()
    measured = {
        row.system: [one for one in row.systems if of_label.get(one) not in (None, NOT_MEASURED)] for row in runs
    }
    uses = {row.system: of_label.get(next(iter(measured[row.system]), row.system)) for row in runs}
    gain_of = {
        result.system: f" {points_text(result.comparison.test.difference)} points"
        for result in results
        if result.comparison.task == task and result.control == WRONG
    }
    gains = {row.system: next((gain_of[one] for one in row.systems if one in gain_of), "") for row in runs}
    for use in USES:
        if named := {findings.name_of(row): gains[row.system] for row in runs if uses.get(row.system) == use}:
            words += ["; " if words else "", node("strong", None, use), ": ", *_named(named)]
    words += [". "] if words else []
    if unknown := [row.system for row in runs if uses.get(row.system) == NOT_MEASURED]:
        words += ["Not known for ", *_named(unknown)]
        order = list(findings.scored.runs)
        commands = (control_command(findings.scored.runs[name], data, order.index(name) + 1) for name in unknown)
        if command := next(filter(None, commands), ""):
            words += ["; to find out, run it with another paper's hypothesis: "]
            frame = {"class": "one-line", "tabindex": 0, "role": "group", "aria-label": "Command"}
            words.append(node("pre", frame, code(command)))
        else:
            words.append(", and cannot be measured. ")
    return [*words, _link("#hypotheses", "All runs"), "."]


def _missed(missed: Missed) -> list[Child]:
    if not missed.n_stated:
        return ["No sentence states an aspect, so there was nothing to find."]
    words = f"{missed.n_missed:,} of the {counted(missed.n_stated, 'findable aspect')}"
    shown = _link("#/missed", words) if missed.is_listed else words
    where = "." if missed.is_listed else "; the list is left out with the papers, which this page does not contain."
    who = f"All {missed.n_systems:,} systems" if missed.n_systems > 1 else "The system"
    return [f"{who} missed ", node("strong", None, shown), where]


def _lacking(findings: Findings, runs: Sequence[Standing]) -> list[Child]:
    n_all = sum(row.n for row in runs)
    words: list[Child] = []
    for name, verb in (("failed", "failed"), ("empty", "are empty"), ("missing", "are missing")):
        counts = {findings.name_of(row): n for row in runs if (n := getattr(row, name))}
        if counts:
            words.append(f"{'; ' if words else ''}{sum(counts.values()):,} of {counted(n_all, 'answer')} {verb} (")
            words += [*_named({label: f" {n:,}" for label, n in counts.items()}), ")"]
    return [*words, ". They score 0. ", _link("#failures", "Why"), "."] if words else []
