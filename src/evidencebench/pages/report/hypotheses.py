"""The wrong-hypothesis control: what a run scores when each paper is asked another paper's hypothesis."""

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
    note,
    paragraph,
    points,
    section,
    shown_list,
)
from evidencebench.pages.report.findings import Findings
from evidencebench.runs.header import RunHeader, SystemHeader
from evidencebench.runs.people.people_folder import SYSTEM_NAME
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.compare import Pair, adjusted, compare
from evidencebench.scoring.score_texts import percent
from evidencebench.specification import write_specification
from evidencebench.system import traits_of
from evidencebench.tables import Cell, Table


def hypotheses_section(findings: Findings, data: str) -> Node:
    """Return each run against itself asked with other papers' hypotheses, and what is not measured.

    ``data`` is what a command line calls the data.
    """
    partners = {label: _partner(run, findings) for label, run in findings.scored.runs.items()}
    pairs = _pairs(findings, partners)
    idle = [label for label in findings.swapped if label not in partners.values()]
    # Of each run that stands back, the run of the same system, but of another seed, that is shown in its place.
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
        _measured(findings, pairs) if pairs else None,
        *_unmeasured(findings, partners, data),
        _listed("Without the run of the same system and options with its own hypotheses: ", unpaired),
        _listed("Not used, since another seed of the same system is preferred:", _by_run(unused)),
    )


def _partner(run: RunFile, findings: Findings) -> str | None:
    """Return the label of the run of the same system with wrong hypotheses, one of the same seed if there is one."""
    if run.header is None:
        return None
    alike = [
        (wrong.header.seed != run.header.seed, label)
        for label, (wrong, _) in findings.swapped.items()
        if wrong.header is not None and wrong.header.system == run.header.system
    ]
    return min(alike)[1] if alike else None


def _is_same_system(findings: Findings, first: str, second: str) -> bool:
    """Say whether two runs with wrong hypotheses, which have headers, are of one system."""
    (one, _), (other, _) = findings.swapped[first], findings.swapped[second]
    return one.header is not None and other.header is not None and one.header.system == other.header.system


def _pairs(findings: Findings, partners: Mapping[str, str | None]) -> tuple[Pair, ...]:
    """Compare each run that has a partner with it, task by task."""
    return adjusted(
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


def _measured(findings: Findings, pairs: Sequence[Pair]) -> Node:
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
    return [pair.first, found.task.name, *means, points(difference), f"{pair.p_value:.4f}", overlap, difference.n]


def _unmeasured(findings: Findings, partners: Mapping[str, str | None], data: str) -> Iterator[Node]:
    """Yield the commands that make the partners of runs without one, and why some cannot have one."""
    said = "Not measured" if any(partners.values()) else "Not measured for any run"
    commands: dict[str, Child] = {}
    reasons: dict[str, Child] = {}
    for number, (label, partner) in enumerate(partners.items(), 1):
        if partner is None:
            header = findings.scored.runs[label].header
            reason = "the file does not say what made it" if header is None else _hindrance(header.system)
            if header is None or reason:
                reasons[label] = reason
            else:
                commands[label] = code(_command(header, data, number))
    if commands:
        yield paragraph(f"{said}. To measure it, make these runs and add them to the report:")
        yield shown_list(*_by_run(commands))
    if reasons:
        yield paragraph("Not to be measured:" if commands else f"{said}:")
        yield shown_list(*_by_run(reasons))


def _hindrance(system: SystemHeader) -> str:
    """Return why a system cannot be asked wrong hypotheses, or need not be; empty: it can."""
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
    """Return the names of a system and of all that are nested in it, as a header holds them."""
    names, waiting = set(), [value]  # a header made by hand may nest without end
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
    """Return the command that makes the partner of a run."""
    system = write_specification(header.system.name, header.system.options)
    words = ["evidencebench", "run", system, "--data", data, "--hypothesis", "wrong"]
    if header.per_task:
        words += [word for task in header.tasks for word in ("--task", task)]
    if header.limit is not None:
        words += ["--limit", str(header.limit)]
    if header.seed:
        words += ["--seed", str(header.seed)]
    return join([*words, "-o", f"wrong_{number}.jsonl"])


def _by_run(told: Mapping[str, Child]) -> list[Node]:
    return [node("span", None, isolated_name(label), ": ", one) for label, one in told.items()]


def _listed(said: str, items: Sequence[Node]) -> Node | None:
    return node("div", None, paragraph(said), shown_list(*items)) if items else None
