"""The wrong-hypothesis control: compares a run with a run of the same system that was asked other hypotheses."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import join
from typing import Any

from evidencebench.errors import SystemSpecError
from evidencebench.execution.system_table import SYSTEMS
from evidencebench.pages.figures import bar_of, difference_chart
from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import (
    code,
    figure,
    isolated_name,
    list_node,
    note,
    paragraph,
    points_text,
    section,
)
from evidencebench.pages.report.findings import Findings
from evidencebench.runs.header import RunHeader, SystemHeader
from evidencebench.runs.people.people_folder import SYSTEM_NAME
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.compare import Pair, adjust_p_values, compare
from evidencebench.scoring.score_texts import percent
from evidencebench.specification import write_specification
from evidencebench.system import traits_of
from evidencebench.tables import Cell, Table


def hypotheses_section(findings: Findings, data: str) -> Node:
    """Return the section that compares each run with its partner: the same system, asked other papers' hypotheses.

    For runs without a partner it shows the command that makes one. ``data`` is the argument of ``--data`` in it.
    """
    partners = {label: _partner(run, findings) for label, run in findings.scored.runs.items()}
    pairs = _pairs(findings, partners)
    idle = [label for label in findings.swapped if label not in partners.values()]
    # Idle run -> the partner of the same system that is shown instead, with another seed; None: there is no such run.
    shown = {
        label: next((one for one in partners.values() if one and _is_same_system(findings, one, label)), None)
        for label in idle
    }
    unpaired = [isolated_name(label) for label in idle if shown[label] is None]
    unused = {
        label: node("span", None, isolated_name(one), " stands in its place") for label, one in shown.items() if one
    }
    return section(
        "hypotheses",
        "Wrong-hypothesis control",
        note(
            "The same system, asked about each paper with the hypothesis of another. A high score alone does not show "
            "that a system used the hypothesis: where recall stays and the selections overlap, it did not. Runs with "
            "wrong hypotheses are shown here only; they are on no leaderboard."
        ),
        _comparison_figure(findings, pairs) if pairs else None,
        *_runs_without_partner(findings, partners, data),
        _titled_list("Without the run of the same system and options with its own hypotheses: ", unpaired),
        _titled_list("Not used, since another seed of the same system is preferred:", _items_by_run(unused)),
    )


def _partner(run: RunFile, findings: Findings) -> str | None:
    """Return the label of a run of the same system with wrong hypotheses, if possible of the same seed; or None."""
    if run.header is None:
        return None
    alike = [
        (wrong.header.seed != run.header.seed, label)
        for label, (wrong, _) in findings.swapped.items()
        if wrong.header is not None and wrong.header.system == run.header.system
    ]
    return min(alike)[1] if alike else None


def _is_same_system(findings: Findings, first: str, second: str) -> bool:
    """Say whether two runs with wrong hypotheses are of one system; ``first`` and ``second`` are their labels."""
    (one, _), (other, _) = findings.swapped[first], findings.swapped[second]
    return one.header is not None and other.header is not None and one.header.system == other.header.system


def _pairs(findings: Findings, partners: Mapping[str, str | None]) -> tuple[Pair, ...]:
    """Compare each run with its partner, if it has one, on every task; p-values are adjusted over all these tests."""
    return adjust_p_values(
        (
            label,
            partner,
            compare(
                findings.scored.scores[label][task.name],
                findings.swapped[partner][1][task.name],
                resampling=findings.resampling,
            ),
        )
        for label, partner in partners.items()
        if partner is not None
        for task in findings.tasks
    )


def _comparison_figure(findings: Findings, pairs: Sequence[Pair]) -> Node:
    task = findings.tasks[0].name
    bars = [
        bar_of(
            pair.first,
            pair.comparison.test.difference,
            note=f"p = {pair.p_value:.4f}",
            series=findings.series_of(pair.first, is_control=False),
        )
        for pair in pairs
        if pair.comparison.task.name == task
    ]
    sides = ("wrong hypothesis", "own hypothesis")
    table = Table(
        title="Own against wrong hypothesis: aspect recall in %",
        columns=["system", "task", "own", "wrong", "own - wrong, points", "p (Holm)", "overlap, %", "n"],
        rows=list(map(_row, pairs)),
    )
    chart = difference_chart(bars, title=f"{task}: own hypothesis - wrong hypothesis", sides=sides)
    return figure(chart, table, is_open=True)


def _row(pair: Pair) -> list[Cell]:
    found, difference = pair.comparison, pair.comparison.test.difference
    means = (100 * found.first.mean, 100 * found.second.mean)
    overlap = percent(found.overlap, alone="")
    return [pair.first, found.task.name, *means, points_text(difference), f"{pair.p_value:.4f}", overlap, difference.n]


def _runs_without_partner(findings: Findings, partners: Mapping[str, str | None], data: str) -> Iterator[Node]:
    """Yield a list of the commands that make missing partners, and a list of the runs that can have no partner."""
    said = "Not measured" if any(partners.values()) else "Not measured for any run"
    commands: dict[str, Child] = {}
    reasons: dict[str, Child] = {}
    for number, (label, partner) in enumerate(partners.items(), 1):
        if partner is None:
            header = findings.scored.runs[label].header
            reason = "the file does not say what made it" if header is None else _why_no_partner(header.system)
            if header is None or reason:
                reasons[label] = reason
            else:
                commands[label] = code(_command(header, data, number))
    if commands:
        yield paragraph(f"{said}. To measure it, make these runs and add them to the report:")
        yield list_node(*_items_by_run(commands))
    if reasons:
        yield paragraph("Not to be measured:" if commands else f"{said}:")
        yield list_node(*_items_by_run(reasons))


def _why_no_partner(system: SystemHeader) -> str:
    """Return the reason why a system cannot or need not be asked wrong hypotheses; empty where it can."""
    if system.name == SYSTEM_NAME:
        return "people are asked each paper's own hypothesis only"
    if "stored" in _names_in({"name": system.name, "options": system.options}):
        return "it builds on stored answers, which are for each paper's own hypothesis"
    if system.name in SYSTEMS and not traits_of(SYSTEMS[system.name]).reads_hypothesis:
        return "it never reads the hypothesis, so its answers would be the same"
    if system.name not in SYSTEMS and ":" not in system.name:
        return "this version of evidencebench has no system of that name"
    try:
        write_specification(system.name, system.options)
    except SystemSpecError:
        return "its options cannot be written in a command"
    return ""


def _names_in(value: Any) -> set[str]:
    """Return the names of a system and of all systems nested in its options; ``value`` is a header's JSON."""
    names, waiting = set(), [value]  # no recursion: a header made by hand may be nested deeper than Python's stack
    while waiting:
        match waiting.pop():
            case {"name": str(name), "options": dict() as options}:
                names.add(name)
                waiting += options.values()
            case list() as members:
                waiting += members
            case dict() as members:
                waiting += members.values()
    return names


def _command(header: RunHeader, data: str, number: int) -> str:
    """Return the command that makes the partner of a run; ``number`` is part of its output file's name."""
    system = write_specification(header.system.name, header.system.options)
    words = ["evidencebench", "run", system, "--data", data, "--hypothesis", "wrong"]
    if header.per_task:
        words += [word for task in header.tasks for word in ("--task", task)]
    if header.limit is not None:
        words += ["--limit", str(header.limit)]
    if header.seed:
        words += ["--seed", str(header.seed)]
    return join([*words, "-o", f"wrong_{number}.jsonl"])


def _items_by_run(texts: Mapping[str, Child]) -> list[Node]:
    return [node("span", None, isolated_name(label), ": ", text) for label, text in texts.items()]


def _titled_list(title: str, items: Sequence[Node]) -> Node | None:
    return node("div", None, paragraph(title), list_node(*items)) if items else None
